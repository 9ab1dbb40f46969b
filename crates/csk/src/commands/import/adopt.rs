//! Plain folders become repositories, and what is in the way goes to the backups.

#![expect(clippy::disallowed_methods, reason = "the edge: folders of the user's")]

use std::fs;
use std::path::Path;

use csk_core::install::{Environment, Network, Target, stage_clone};
use csk_core::operations::{Inspection, inspect};
use csk_core::{Declaration, Ledger, Repository, Silent, make_repository, origin};
use skill::{Identifier, LEDGER_FILE, SKILL_FILE};
use skill_fs::{AbsPath, read_text};

/// Makes a repository of a plain folder, looks at it, and moves it to its place: it is there whole or not at all.
pub(super) fn adopt(
    environment: &Environment,
    declaration: &Declaration,
    folder: &AbsPath,
) -> Result<Inspection, String> {
    let name = &declaration.source;
    let place = environment.skills_root.join(name.as_str());
    let (_lock, stage) = stage_clone(environment, name).map_err(|error| error.to_string())?;
    let made = make(&stage.join(name.as_str()), name, folder).and_then(|()| {
        let staged = Environment { skills_root: stage.clone(), ..environment.clone() };
        let looked = inspect(&staged, declaration, Network::Refused, &Silent);
        let looked = looked.map_err(|error| {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{error}{hint}")
        })?;
        put(&stage.join(name.as_str()), &place)?;
        Ok(looked)
    });
    let _ = fs::remove_dir_all(stage.as_path());
    made
}

fn make(place: &AbsPath, name: &Identifier, folder: &AbsPath) -> Result<(), String> {
    copy(folder.as_path(), place.as_path())
        .map_err(|error| format!("it cannot be copied to {place}: {error}"))?;
    make_repository(place, &format!("{name}, as it was imported"))
        .map_err(|error| error.to_string())
}

/// Moves a repository to its place. One that is there already and holds the same is as good: an import that was
/// interrupted has left it.
fn put(staged: &AbsPath, place: &AbsPath) -> Result<(), String> {
    if fs::symlink_metadata(place.as_path()).is_err() {
        return fs::rename(staged.as_path(), place.as_path())
            .map_err(|error| format!("it cannot be moved to {place}: {error}"));
    }
    let tree = |path: &AbsPath| {
        let repository = Repository::open(path).ok()?;
        let head = repository.head()?;
        repository.objects().tree(&repository.resolve(&head).ok()?, None).ok()
    };
    let is_own = origin(place).is_ok_and(|url| url.is_none());
    if is_own && tree(place).is_some_and(|found| tree(staged) == Some(found)) {
        return Ok(());
    }
    Err(format!("{place} is there already, and holds something else"))
}

/// Checks that a folder can be made a repository: there are only files and folders in it, and no other repository.
pub(super) fn check_skill(folder: &Path) -> Result<(), String> {
    let has_file = folder.join(SKILL_FILE).symlink_metadata().is_ok_and(|found| found.is_file());
    if !has_file {
        return Err(format!("it has no {SKILL_FILE}; call its file so"));
    }
    check_folder(folder)
}

fn check_folder(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", folder.display());
    let inside =
        |path: &Path| format!("{} is a repository inside it; move it away first", path.display());
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
            return Err(format!("{} is a link, or no file", path.display()));
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
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &place)?;
        } else {
            fs::copy(&path, &place)?;
        }
    }
    Ok(())
}

/// Returns what stands where csk would put a skill, and is not csk's.
pub(super) fn in_the_way(target: &Target, name: &Identifier) -> Vec<AbsPath> {
    let folders = target.adapters().into_iter().map(|folder| target.folder(&folder));
    let place = |folder: AbsPath| {
        let text = read_text(&folder.join(LEDGER_FILE)).ok()?;
        let ledger = match text {
            None => Ledger::default(),
            Some(text) => Ledger::parse(LEDGER_FILE, &text).0?,
        };
        (!ledger.entries.contains(name)).then(|| folder.join(name.as_str()))
    };
    let mut all: Vec<AbsPath> =
        [target.skills_folder()].into_iter().chain(folders).filter_map(place).collect();
    all.retain(|path| fs::symlink_metadata(path.as_path()).is_ok());
    all
}

/// Moves a folder to the backups, so that csk's entry can take its place.
pub(super) fn put_away(
    root: &AbsPath,
    name: &Identifier,
    folder: &AbsPath,
) -> Result<AbsPath, String> {
    let failed = |why: &dyn std::fmt::Display| {
        format!(
            "it is declared, but {folder} cannot be moved to .agents/backups: {why}; move it away yourself, then run `csk install`"
        )
    };
    let backups = root.join(".agents/backups");
    fs::create_dir_all(backups.as_path()).map_err(|error| failed(&error))?;
    let place = (0..1000)
        .map(|number| backups.join(format!("{name}-imported-{number}")))
        .find(|place| fs::symlink_metadata(place.as_path()).is_err())
        .ok_or_else(|| failed(&"there are too many"))?;
    fs::rename(folder.as_path(), place.as_path()).map_err(|error| failed(&error))?;
    Ok(place)
}
