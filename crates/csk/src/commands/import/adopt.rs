//! Turns plain folders into repositories, and moves folders that block an install to the backups.

#![expect(clippy::disallowed_methods, reason = "the edge: the user's folders")]

use std::fs;
use std::path::Path;

use csk_core::install::{Environment, Network, Target, stage_clone};
use csk_core::operations::{Inspection, inspect};
use csk_core::{Declaration, Ledger, Repository, Silent, init_repository, origin};
use skill::{Identifier, LEDGER_FILE, SKILL_FILE};
use skill_fs::{AbsPath, read_text};

/// Turns a plain folder into a repository, checks it, and moves it into `skills_root` in one step.
pub(super) fn adopt(
    environment: &Environment,
    declaration: &Declaration,
    folder: &AbsPath,
) -> Result<Inspection, String> {
    let name = &declaration.source;
    let repository = environment.skills_root.join(name.as_str());
    let (_lock, stage) = stage_clone(environment, name).map_err(|error| error.to_string())?;
    let adopted = create_repository(&stage.join(name.as_str()), name, folder).and_then(|()| {
        let staged = Environment { skills_root: stage.clone(), ..environment.clone() };
        let inspection = inspect(&staged, declaration, Network::Refused, &Silent);
        let inspection = inspection.map_err(|error| {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{error}{hint}")
        })?;
        move_into_place(&stage.join(name.as_str()), &repository)?;
        Ok(inspection)
    });
    let _ = skill_fs::remove_folder(&stage);
    adopted
}

fn create_repository(path: &AbsPath, name: &Identifier, folder: &AbsPath) -> Result<(), String> {
    copy(folder.as_path(), path.as_path())
        .map_err(|error| format!("cannot copy it to `{path}`: {error}"))?;
    init_repository(path, &format!("Import {name}")).map_err(|error| error.to_string())
}

/// Moves a repository to `to`. An existing repository without a remote and with the same files is fine: an interrupted
/// import may have left it there.
fn move_into_place(staged: &AbsPath, to: &AbsPath) -> Result<(), String> {
    if fs::symlink_metadata(to.as_path()).is_err() {
        return skill_fs::rename(staged, to)
            .map_err(|error| format!("cannot move it to `{to}`: {error}"));
    }
    let tree = |path: &AbsPath| {
        let repository = Repository::open(path).ok()?;
        let head = repository.head()?;
        repository.objects().tree(&repository.resolve(&head).ok()?, None).ok()
    };
    let has_no_remote = origin(to).is_ok_and(|url| url.is_none());
    if has_no_remote && tree(to).is_some_and(|found| tree(staged) == Some(found)) {
        return Ok(());
    }
    Err(format!("`{to}` already exists with different contents"))
}

/// Checks that a folder can become a repository: it contains only files and folders, and no other repository.
pub(super) fn check_skill(folder: &Path) -> Result<(), String> {
    let has_file = folder.join(SKILL_FILE).symlink_metadata().is_ok_and(|found| found.is_file());
    if !has_file {
        return Err(format!("it has no {SKILL_FILE}; rename its skill file to {SKILL_FILE}"));
    }
    check_folder(folder)
}

fn check_folder(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    let inside = |path: &Path| {
        format!("it contains another git repository, `{}`; move it elsewhere first", path.display())
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let name = entry.file_name().to_string_lossy().into_owned();
        if skill::is_git_folder(&name) {
            return Err(inside(&path));
        }
        names.push(name);
        if kind.is_dir() {
            check_folder(&path)?;
        } else if !kind.is_file() {
            return Err(format!("`{}` is not a regular file", path.display()));
        }
    }
    if skill::is_bare_repository(names.iter().map(String::as_str)) {
        return Err(inside(folder));
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &copied)?;
        } else {
            fs::copy(&path, &copied)?;
        }
    }
    Ok(())
}

/// Returns existing paths, not created by csk, where csk would install the skill.
pub(super) fn blocking_paths(target: &Target, name: &Identifier) -> Vec<AbsPath> {
    let folders = target.adapters().into_iter().map(|folder| target.folder(&folder));
    let path_if_foreign = |folder: AbsPath| {
        let text = read_text(&folder.join(LEDGER_FILE)).ok()?;
        let ledger = match text {
            None => Ledger::default(),
            Some(text) => Ledger::parse(LEDGER_FILE, &text).0?,
        };
        (!ledger.entries.contains(name)).then(|| folder.join(name.as_str()))
    };
    let mut all: Vec<AbsPath> =
        [target.skills_folder()].into_iter().chain(folders).filter_map(path_if_foreign).collect();
    all.retain(|path| fs::symlink_metadata(path.as_path()).is_ok());
    all
}

/// Moves a folder to the backups, so that csk can install there.
pub(super) fn move_to_backups(
    root: &AbsPath,
    name: &Identifier,
    folder: &AbsPath,
) -> Result<AbsPath, String> {
    let failed = |reason: &dyn std::fmt::Display| {
        format!(
            "added, but cannot move `{folder}` to .agents/backups: {reason}; move it elsewhere, then run `csk install`"
        )
    };
    let backups = root.join(".agents/backups");
    fs::create_dir_all(backups.as_path()).map_err(|error| failed(&error))?;
    let backup = (0..1000)
        .map(|number| backups.join(format!("{name}-imported-{number}")))
        .find(|backup| fs::symlink_metadata(backup.as_path()).is_err())
        .ok_or_else(|| failed(&"too many backups exist"))?;
    skill_fs::rename(folder, &backup).map_err(|error| failed(&error))?;
    Ok(backup)
}
