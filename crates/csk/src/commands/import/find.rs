//! Finds skills to import, in lockfiles of other skill managers and in folders of skills.

#![expect(clippy::disallowed_methods, reason = "the edge: files of other programs")]

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use csk_core::output::SkippedJson;
use csk_core::{
    ForeignOrigin, Ledger, Repository, origin, read_foreign_lock, redacted, source_name,
};
use skill::{LEDGER_FILE, RefKind, SKILL_FILE, SKILL_FILE_FALLBACK};
use skill_fs::{AbsPath, read_text};
use skill_state::without_password;

use term::Failure;

use super::ImportArgs;
use crate::context::Context;

/// A skill to import.
pub(super) struct Candidate {
    pub(super) name: String,
    /// The lockfile that lists it, or the folder it was found in.
    pub(super) from: String,
    pub(super) origin: CandidateOrigin,
    /// A note to print about it.
    pub(super) note: Option<String>,
}

/// Where a skill can be fetched from.
pub(super) enum CandidateOrigin {
    /// A git repository.
    Git(ForeignOrigin),
    /// A plain folder.
    Folder(AbsPath),
}

/// The result of a search for skills to import.
#[derive(Default)]
pub(super) struct ImportSearch {
    pub(super) candidates: Vec<Candidate>,
    /// Skills that cannot be imported, with the reasons.
    pub(super) skipped: Vec<SkippedJson>,
}

/// Finds the skills to import.
pub(super) fn find(
    context: &Context,
    args: &ImportArgs,
    root: &AbsPath,
) -> anyhow::Result<ImportSearch> {
    let mut found = ImportSearch::default();
    if let Some(from) = &args.from {
        let path = context.cwd.join(from);
        let kind = fs::metadata(path.as_path()).map_err(|error| {
            Failure::files(format!("cannot read `{from}`"), error)
                .with_hint("specify a lockfile, a skill or a folder of skills")
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
        if found.candidates.is_empty() && found.skipped.is_empty() {
            return Err(Failure::usage(format!("no skills found in `{from}`"))
                .with_hint("specify a lockfile, a skill or a folder of skills")
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
            // A subfolder of a project may have sources of its own.
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
    for lock in locks.iter().filter(|lock| exists(lock)) {
        found.in_lock(lock)?;
    }
    let known: BTreeSet<String> = found.candidates.iter().map(|one| one.name.clone()).collect();
    let from_locks = found.candidates.len();
    for folder in folders.iter().filter(|folder| exists(folder)) {
        found.in_folder(folder)?;
    }
    // A lockfile has more information about a skill than its folder.
    let mut number = 0;
    found.candidates.retain(|one| {
        number += 1;
        number <= from_locks || !known.contains(&one.name)
    });
    found.skipped.retain(|one| !known.contains(&one.name));
    Ok(found)
}

/// Returns true unless the path does not exist. An unreadable path is reported later instead of being ignored.
fn exists(path: &AbsPath) -> bool {
    !fs::symlink_metadata(path.as_path())
        .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Refuses symlinks in a project, because a checkout may contain symlinks to any place.
pub(super) fn refuse_link(root: &AbsPath, folders: &[&str]) -> anyhow::Result<()> {
    for folder in folders {
        let path = root.join(folder);
        if path.as_path().is_symlink() {
            return Err(Failure::usage(format!("refusing to follow symlink `{path}`"))
                .with_hint("import its target by path, or replace it with a folder")
                .into());
        }
    }
    Ok(())
}

impl ImportSearch {
    fn skip(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(SkippedJson { name: name.into(), reason: reason.into() });
    }

    fn in_lock(&mut self, path: &AbsPath) -> anyhow::Result<()> {
        let text = read_text(path)?;
        let skills =
            read_foreign_lock(path.as_str(), &text.unwrap_or_default()).map_err(|error| {
                Failure::usage(error).with_hint("fix the file, or import from another source")
            })?;
        for skill in skills {
            match skill.origin {
                Ok(origin) => self.candidates.push(Candidate {
                    name: skill.name,
                    from: path.file_name().unwrap_or_default().to_owned(),
                    origin: CandidateOrigin::Git(origin),
                    note: None,
                }),
                Err(reason) => self.skip(skill.name, reason),
            }
        }
        Ok(())
    }

    /// Finds the skills in the folder of an agent. Entries that csk created are declared already, so they are skipped.
    fn in_folder(&mut self, folder: &AbsPath) -> anyhow::Result<()> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            Failure::files(format!("cannot read `{folder}`"), error)
        };
        let ledger = read_text(&folder.join(LEDGER_FILE)).map_err(|error| failed(error.into()))?;
        let ledger = match ledger {
            None => Ledger::default(),
            Some(text) => match Ledger::parse(folder.join(LEDGER_FILE).as_str(), &text) {
                (Some(ledger), _) => ledger,
                // Without the ledger, csk's own entries would look like the user's.
                (None, problems) => return Err(Failure::malformed(text, problems).into()),
            },
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(folder.as_path()).map_err(|error| failed(error.into()))? {
            match entry.map_err(|error| failed(error.into()))?.file_name().into_string() {
                Ok(name) => names.push(name),
                Err(name) => self.skip(name.to_string_lossy(), "its name is not valid UTF-8"),
            }
        }
        names.retain(|name| !ledger.entries.iter().any(|own| own.as_str() == name));
        names.sort();
        for name in names {
            self.entry(&folder.join(&name), name);
        }
        Ok(())
    }

    fn entry(&mut self, folder: &AbsPath, name: String) {
        let kind = |path: &AbsPath| fs::symlink_metadata(path.as_path()).ok();
        let skill_file =
            [SKILL_FILE, SKILL_FILE_FALLBACK].iter().find_map(|file| kind(&folder.join(file)));
        let (Some(own), Some(skill_file)) = (kind(folder), skill_file) else { return };
        if own.is_symlink() {
            return self.skip(name, "symlink; import its target instead");
        }
        if !skill_file.is_file() {
            return self.skip(name, "its SKILL.md is not a regular file");
        }
        let (origin, note) = match kind(&folder.join(".git")) {
            None => (CandidateOrigin::Folder(folder.clone()), None),
            Some(_) => match origin_of(folder) {
                Ok((origin, is_pushed)) => {
                    let note = (!is_pushed).then(|| {
                        format!("{name}: `{folder}` has unpushed commits, which are not imported; push them to include them")
                    });
                    (CandidateOrigin::Git(origin), note)
                }
                Err(reason) => return self.skip(name, reason),
            },
        };
        self.candidates.push(Candidate { name, from: folder.to_string(), origin, note });
    }
}

/// Returns the origin of a repository, and whether its checked-out commit has been pushed.
fn origin_of(folder: &AbsPath) -> Result<(ForeignOrigin, bool), String> {
    let git = folder.join(".git");
    let is_file =
        |path: AbsPath| fs::symlink_metadata(path.as_path()).is_ok_and(|found| found.is_file());
    // Git hangs on files that are not regular, such as a FIFO.
    let packed = git.join("packed-refs");
    let is_usual = git.as_path().is_dir()
        && is_file(git.join("HEAD"))
        && is_file(git.join("config"))
        && (!exists(&packed) || is_file(packed));
    if !is_usual && !is_file(git.clone()) {
        return Err("its .git is not a git repository".to_owned());
    }
    let url = origin(folder).map_err(|error| error.to_string())?;
    let url = url.ok_or_else(|| "git repository without an `origin` remote".to_owned())?;
    let git = without_password(&url);
    let source = source_name(&git)
        .ok_or_else(|| format!("cannot derive a repository name from `{}`", redacted(&git)))?;
    let repository = Repository::open(folder).map_err(|error| error.to_string())?;
    let head =
        repository.head().ok_or_else(|| "nothing is checked out in its repository".to_owned())?;
    let is_pushed = match head.kind {
        RefKind::Branch => repository.resolve(&head).ok() == repository.head_commit(),
        RefKind::Tag | RefKind::Revision => true,
    };
    let (reference, kind) = (Some(head.name), Some(head.kind));
    Ok((ForeignOrigin { source, git, path: None, reference, kind }, is_pushed))
}
