//! What can be imported: locks of other managers, and folders of skills.

#![expect(clippy::disallowed_methods, reason = "the edge: files of other programs")]

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use csk_core::output::LeftJson;
use csk_core::{
    ForeignOrigin, Ledger, Repository, origin, read_foreign_lock, redacted, source_name,
};
use skill::{LEDGER_FILE, RefKind, SKILL_FILE, SKILL_FILE_FALLBACK};
use skill_fs::{AbsPath, read_text};
use skill_state::without_password;

use term::Failure;

use super::ImportArgs;
use crate::context::Context;

/// A skill to import, and where it was known.
pub(super) struct Candidate {
    pub(super) name: String,
    /// The file or the folder that told of it.
    pub(super) from: String,
    pub(super) origin: Origin,
    /// What to know of it.
    pub(super) note: Option<String>,
}

/// Where a skill can be had.
pub(super) enum Origin {
    /// From a repository.
    Git(ForeignOrigin),
    /// It is this plain folder.
    Folder(AbsPath),
}

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) candidates: Vec<Candidate>,
    /// What cannot be imported, and why.
    pub(super) left: Vec<LeftJson>,
}

/// Finds what can be imported.
pub(super) fn find(context: &Context, args: &ImportArgs, root: &AbsPath) -> anyhow::Result<Found> {
    let mut found = Found::default();
    if let Some(from) = &args.from {
        let path = context.cwd.join(from);
        let kind = fs::metadata(path.as_path()).map_err(|error| {
            Failure::files(format!("cannot read {from}"), error)
                .with_hint("name a lock file, or a folder of skills")
        })?;
        let is_skill = [SKILL_FILE, SKILL_FILE_FALLBACK]
            .iter()
            .any(|file| path.join(file).as_path().symlink_metadata().is_ok());
        if is_skill {
            found.entry(&path, path.file_name().unwrap_or_default().to_owned());
        } else if kind.is_dir() {
            found.in_folder(&path)?;
        } else {
            found.in_lock(&path)?;
        }
        if found.candidates.is_empty() && found.left.is_empty() {
            return Err(Failure::usage(format!("there is no skill in {from}"))
                .with_hint("name a lock file, a skill, or a folder of skills")
                .into());
        }
        return Ok(found);
    }
    let (locks, folders) = match (&context.user_home, args.global) {
        (Some(home), true) => {
            (vec![home.join(".agents/.skill-lock.json")], vec![home.join(".claude/skills")])
        }
        (None, true) => return Err(Failure::usage("HOME is not set").into()),
        (_, false) => {
            // A part of a project may have its own.
            let here = context.cwd.as_path().starts_with(root.as_path()) && context.cwd != *root;
            let roots = [Some(root), here.then_some(&context.cwd)].into_iter().flatten();
            let roots: Vec<&AbsPath> = roots.collect();
            for root in &roots {
                refuse_link(root, &[".claude", ".claude/skills"])?;
            }
            (
                roots.iter().map(|root| root.join("skills-lock.json")).collect(),
                roots.iter().map(|root| root.join(".claude/skills")).collect(),
            )
        }
    };
    for lock in locks.iter().filter(|lock| is_there(lock)) {
        found.in_lock(lock)?;
    }
    let known: BTreeSet<String> = found.candidates.iter().map(|one| one.name.clone()).collect();
    let from_locks = found.candidates.len();
    for folder in folders.iter().filter(|folder| is_there(folder)) {
        found.in_folder(folder)?;
    }
    // What a lock tells of a skill is more than its folder does.
    let mut number = 0;
    found.candidates.retain(|one| {
        number += 1;
        number <= from_locks || !known.contains(&one.name)
    });
    found.left.retain(|one| !known.contains(&one.name));
    Ok(found)
}

/// Returns true unless there is nothing: what cannot be read is told, and not passed over.
fn is_there(path: &AbsPath) -> bool {
    !fs::symlink_metadata(path.as_path())
        .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Refuses links in a project: a checkout may bring some that lead anywhere.
pub(super) fn refuse_link(root: &AbsPath, folders: &[&str]) -> anyhow::Result<()> {
    for folder in folders {
        let path = root.join(folder);
        if path.as_path().is_symlink() {
            return Err(Failure::usage(format!("{path} is a link, and may lead anywhere"))
                .with_hint("import what it leads to by its own path, or replace it by a folder")
                .into());
        }
    }
    Ok(())
}

impl Found {
    fn leave(&mut self, name: impl Into<String>, why: impl Into<String>) {
        self.left.push(LeftJson { name: name.into(), why: why.into() });
    }

    fn in_lock(&mut self, path: &AbsPath) -> anyhow::Result<()> {
        let text = read_text(path)?;
        let skills = read_foreign_lock(path.as_str(), &text.unwrap_or_default())
            .map_err(|why| Failure::usage(why).with_hint("mend it, or import something else"))?;
        for skill in skills {
            match skill.origin {
                Ok(origin) => self.candidates.push(Candidate {
                    name: skill.name,
                    from: path.file_name().unwrap_or_default().to_owned(),
                    origin: Origin::Git(origin),
                    note: None,
                }),
                Err(why) => self.leave(skill.name, why),
            }
        }
        Ok(())
    }

    /// Finds the skills in a folder of an agent. What csk put there is declared already.
    fn in_folder(&mut self, folder: &AbsPath) -> anyhow::Result<()> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            Failure::files(format!("cannot read {folder}"), error)
        };
        let ledger = read_text(&folder.join(LEDGER_FILE)).map_err(|error| failed(error.into()))?;
        let ledger = match ledger {
            None => Ledger::default(),
            Some(text) => match Ledger::parse(folder.join(LEDGER_FILE).as_str(), &text) {
                (Some(ledger), _) => ledger,
                // Else what csk itself put there would be taken for somebody's own.
                (None, problems) => return Err(Failure::malformed(text, problems).into()),
            },
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(folder.as_path()).map_err(|error| failed(error.into()))? {
            match entry.map_err(|error| failed(error.into()))?.file_name().into_string() {
                Ok(name) => names.push(name),
                Err(name) => self.leave(name.to_string_lossy(), "its name is not UTF-8"),
            }
        }
        names.retain(|name| !ledger.entries.iter().any(|own| own.as_str() == name));
        names.sort();
        for name in names {
            self.entry(&folder.join(&name), name);
        }
        Ok(())
    }

    fn entry(&mut self, place: &AbsPath, name: String) {
        let kind = |path: &AbsPath| fs::symlink_metadata(path.as_path()).ok();
        let skill_file =
            [SKILL_FILE, SKILL_FILE_FALLBACK].iter().find_map(|file| kind(&place.join(file)));
        let (Some(own), Some(skill_file)) = (kind(place), skill_file) else { return };
        if own.is_symlink() {
            return self.leave(name, "it is a link; import what it leads to");
        }
        if !skill_file.is_file() {
            return self.leave(name, "its SKILL.md is no regular file");
        }
        let (origin, note) = match kind(&place.join(".git")) {
            None => (Origin::Folder(place.clone()), None),
            Some(_) => match of_repository(place) {
                Ok((origin, is_pushed)) => {
                    let note = (!is_pushed).then(|| {
                        format!("{name}: {place} has commits that its origin does not have; what is declared is the origin's")
                    });
                    (Origin::Git(origin), note)
                }
                Err(why) => return self.leave(name, why),
            },
        };
        self.candidates.push(Candidate { name, from: place.to_string(), origin, note });
    }
}

/// Says where the repository that a folder is comes from, and whether its origin has what is checked out.
fn of_repository(folder: &AbsPath) -> Result<(ForeignOrigin, bool), String> {
    let git = folder.join(".git");
    let is_file =
        |path: AbsPath| fs::symlink_metadata(path.as_path()).is_ok_and(|found| found.is_file());
    // Git waits for ever for what is no file.
    let packed = git.join("packed-refs");
    let is_usual = git.as_path().is_dir()
        && is_file(git.join("HEAD"))
        && is_file(git.join("config"))
        && (!is_there(&packed) || is_file(packed));
    if !is_usual && !is_file(git.clone()) {
        return Err("its .git is no git repository".to_owned());
    }
    let url = origin(folder).map_err(|error| error.to_string())?;
    let url = url.ok_or_else(|| "it is a git repository without an origin".to_owned())?;
    let git = without_password(&url);
    let source = source_name(&git)
        .ok_or_else(|| format!("no name for a repository can be made of {}", redacted(&git)))?;
    let repository = Repository::open(folder).map_err(|error| error.to_string())?;
    let head = repository.head().ok_or_else(|| "it has nothing checked out".to_owned())?;
    let is_pushed = match head.kind {
        RefKind::Branch => repository.resolve(&head).ok() == repository.head_commit(),
        RefKind::Tag | RefKind::Revision => true,
    };
    let (reference, kind) = (Some(head.name), Some(head.kind));
    Ok((ForeignOrigin { source, git, path: None, reference, kind }, is_pushed))
}
