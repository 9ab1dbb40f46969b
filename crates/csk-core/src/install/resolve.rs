//! Resolves declarations to commits from local data. Each repository is opened once.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use skill::{Identifier, RefKind, RelPath};
use skill_fs::AbsPath;

use super::locking::PinState;
use super::{PrepareError, Target};
use crate::git::program::expanded_url;
use crate::git::quick_ref::quick_ref;
use crate::git::url::is_same_repository;
use crate::{
    Commit, Declaration, GitError, LockedSkill, Reference, Repository, SourceError, origin,
    redacted,
};

/// Why one skill cannot be installed. Other skills are not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// Its repository, or something in it, cannot be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Another skill provides the same command.
    #[error("Command collision: `{with}` also provides the command `{command}`")]
    Collision {
        /// The command.
        command: Identifier,
        /// The other skill.
        with: Identifier,
    },
    /// Its repository is missing; the next install clones it.
    #[error("repository not cloned yet; run `csk install` to clone it from `{url}`")]
    NotCloned {
        /// The URL to clone from.
        url: String,
    },
    /// Its repository cannot be cloned.
    #[error("Failed to clone {skill} from `{url}`: {source}")]
    Clone {
        /// The skill.
        skill: String,
        /// The URL to clone from.
        url: String,
        /// Git's error.
        source: GitError,
    },
    /// Its repository is not the declared one.
    #[error("`{path}` was cloned from `{found}`, but Skillfile.json declares `{declared}`")]
    OtherOrigin {
        /// The path of the repository.
        path: String,
        /// Its origin.
        found: String,
        /// The declared URL.
        declared: String,
    },
    /// Its content cannot be installed.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The audit refuses it.
    #[error("{reason}")]
    Audit {
        /// The audit's reason.
        reason: String,
        /// How to proceed.
        hint: String,
    },
    /// A tag points to another commit than before, and strict tags are requested.
    #[error("Moved tag for {skill}: {tag} {old} -> {new}")]
    MovedTag {
        /// The skill.
        skill: String,
        /// The tag.
        tag: String,
        /// The commit before.
        old: String,
        /// The commit now.
        new: String,
    },
    /// The required lockfile has no matching entry for it.
    #[error("Skillfile.lock is out of date for `{skill}`")]
    NotLocked {
        /// The skill.
        skill: String,
    },
    /// The pinned commit is not in the repository.
    #[error("locked commit {commit} of `{skill}` is not in its repository")]
    LockedAbsent {
        /// The skill.
        skill: String,
        /// The commit.
        commit: String,
    },
    /// The pinned commit does not have the pinned tree.
    #[error("locked commit {commit} of `{skill}` does not match the locked tree")]
    LockedTree {
        /// The skill.
        skill: String,
        /// The commit.
        commit: String,
    },
    /// A reference no longer points to the pinned commit.
    #[error("Moved {kind} for {skill}: {name} {old} -> {new}")]
    LockMoved {
        /// Tag, branch or revision.
        kind: &'static str,
        /// The skill.
        skill: String,
        /// The reference.
        name: String,
        /// The pinned commit.
        old: String,
        /// The commit that it points to now.
        new: String,
    },
    /// The files do not match the pinned digest.
    #[error(
        "the files of `{skill}` at {commit} do not match Skillfile.lock: expected {expected}, found {found}"
    )]
    LockBundle {
        /// The skill.
        skill: String,
        /// The commit.
        commit: String,
        /// The digest of the files.
        found: String,
        /// The pinned digest.
        expected: String,
    },
    /// A file of the user blocks it.
    #[error("`{path}` exists and was not created by csk")]
    Foreign {
        /// The path of the file.
        path: String,
    },
    /// The installed marker cannot be read.
    #[error("{0}")]
    Marker(String),
    /// A file cannot be written.
    #[error("{0}")]
    Write(String),
}

impl SkillError {
    /// Returns how to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Prepare(error) => error.hint(),
            Self::NotCloned { .. } => None,
            Self::OtherOrigin { .. } => Some(
                "to keep both repositories, set a different `source` for the skill; if the repository has moved, run \
                 `git -C PATH remote set-url origin URL`; to use the existing clone, remove `git` from the declaration"
                    .to_owned(),
            ),
            Self::Audit { hint, .. } => Some(hint.clone()),
            Self::Collision { .. } => {
                Some("remove one of the skills from Skillfile.json".to_owned())
            }
            Self::Foreign { .. } => {
                Some("move it elsewhere, or rename the skill".to_owned())
            }
            Self::NotLocked { .. } => {
                Some("run `csk lock` in the project, then commit Skillfile.lock".to_owned())
            }
            Self::LockedAbsent { skill, .. } => Some(format!(
                "run `csk update` to fetch it; if it no longer exists there, `csk lock --upgrade {skill}` pins another one"
            )),
            Self::LockMoved { .. } => Some(
                "ask the skill's author why it moved; to accept the new commit, run `csk lock --upgrade`".to_owned(),
            ),
            Self::LockBundle { .. } | Self::LockedTree { .. } => {
                Some("do not use the skill until you know why they differ".to_owned())
            }
            Self::MovedTag { .. } => {
                Some("ask the skill's author why the tag moved, or install without --strict-tags".to_owned())
            }
            Self::Clone { source: GitError::Url { .. }, .. } | Self::Marker(_) | Self::Write(_) => {
                None
            }
            Self::Clone { .. } => Some("check the URL and your access to it".to_owned()),
        }
    }
}

/// A skill and its wanted commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The declaration.
    pub declaration: Declaration,
    /// The commit, or why there is none.
    pub commit: Result<Commit, SkillError>,
}

/// The commit of every declared reference.
#[derive(Debug, Default)]
pub struct Resolution {
    commits: BTreeMap<(Identifier, Reference), Result<Commit, SkillError>>,
    pins: BTreeMap<(Identifier, Reference, Commit, String), PinState>,
    /// The path and origin of each repository.
    origins: BTreeMap<Identifier, (AbsPath, Result<String, SkillError>)>,
}

impl Resolution {
    /// Returns a resolution with these commits.
    #[cfg(test)]
    pub(super) fn of<'a>(
        known: impl IntoIterator<Item = (&'a Declaration, Result<Commit, SkillError>)>,
    ) -> Self {
        let key = |skill: &Declaration| (skill.source.clone(), skill.reference.clone());
        let commits = known.into_iter().map(|(skill, commit)| (key(skill), commit)).collect();
        Self { commits, ..Self::default() }
    }

    /// Returns what a declaration resolved to.
    pub fn get(&self, declaration: &Declaration) -> Resolved {
        let key = (declaration.source.clone(), declaration.reference.clone());
        let missing = || {
            let path = declaration.source.to_string();
            Err(SkillError::Source(SourceError::Missing { path, nearest: None }))
        };
        let mut commit = self.commits.get(&key).cloned().unwrap_or_else(missing);
        if let (Some((path, found)), Some(declared)) =
            (self.origins.get(&declaration.source), &declaration.git)
        {
            let checked = found.as_ref().map_err(Clone::clone);
            let checked = checked.and_then(|found| is_declared(path, found, declared));
            commit = checked.and(commit);
        }
        if let (Err(SkillError::Source(SourceError::Missing { .. })), Some(url)) =
            (&commit, &declaration.git)
        {
            commit = Err(SkillError::NotCloned { url: redacted(url) });
        }
        Resolved { declaration: declaration.clone(), commit }
    }

    /// Returns how a pinned commit relates to the resolved one, or `None` if the repository cannot be read.
    pub(super) fn pin_state(
        &self,
        declaration: &Declaration,
        locked: &LockedSkill,
    ) -> Option<PinState> {
        let (source, reference) = (declaration.source.clone(), declaration.reference.clone());
        let (commit, tree) = (locked.commit.clone(), locked.tree.clone());
        self.pins.get(&(source, reference, commit, tree)).cloned()
    }
}

/// Resolves every declaration of `targets` against the repositories under `skills_root`.
///
/// `failed` contains the sources that could not be cloned, with the reason.
pub fn resolve(
    skills_root: &AbsPath,
    targets: &[Target],
    failed: &BTreeMap<Identifier, SkillError>,
) -> Resolution {
    let mut wanted: BTreeMap<Identifier, Wanted> = BTreeMap::new();
    let mut with_url: BTreeSet<Identifier> = BTreeSet::new();
    for target in targets {
        for declaration in &target.skills {
            if declaration.git.is_some() {
                with_url.insert(declaration.source.clone());
            }
            let references = wanted.entry(declaration.source.clone()).or_default();
            let locked = references.entry(declaration.reference.clone()).or_default();
            let lock = target.lock.as_ref().and_then(|lock| lock.get(declaration));
            locked.extend(lock.map(LockedTree::of));
        }
    }
    let resolve_source = |(source, references): (Identifier, Wanted)| -> Resolution {
        let path = skills_root.join(source.as_str());
        let repository = LazyCell::new(|| match failed.get(&source) {
            Some(error) => Err(error.clone()),
            None => Repository::open(&path).map_err(SkillError::from),
        });
        let mut resolution = Resolution::default();
        if with_url.contains(&source)
            && path.as_path().exists()
            && let Some(url) = origin_of(&path).transpose()
        {
            resolution.origins.insert(source.clone(), (path.clone(), url));
        }
        for (reference, locked) in references {
            let quick = || quick_ref(&path, &reference).filter(|_| !failed.contains_key(&source));
            let commit = match quick() {
                Some(commit) => Ok(commit),
                None => match &*repository {
                    Ok(repository) => repository.resolve(&reference).map_err(SkillError::from),
                    Err(error) => Err(error.clone()),
                },
            };
            for locked in locked {
                let found = repository.as_ref().ok().map(|repository| {
                    pin_state(repository, &reference, &locked, commit.as_ref().ok())
                });
                let key = (source.clone(), reference.clone(), locked.commit, locked.tree);
                resolution.pins.extend(found.map(|found| (key, found)));
            }
            resolution.commits.insert((source.clone(), reference), commit);
        }
        resolution
    };
    let merge = |mut one: Resolution, other: Resolution| {
        one.commits.extend(other.commits);
        one.pins.extend(other.pins);
        one.origins.extend(other.origins);
        one
    };
    wanted.into_par_iter().map(resolve_source).reduce(Resolution::default, merge)
}

/// Returns the origin of a repository, or `None` if it was created locally.
fn origin_of(repository: &AbsPath) -> Result<Option<String>, SkillError> {
    match origin(repository) {
        Ok(url) => Ok(url),
        // Opening the repository reports the problem.
        Err(_) if Repository::open(repository).is_err() => Ok(None),
        Err(error) => {
            let path = repository.to_string();
            Err(SourceError::Broken { path, reason: error.to_string() }.into())
        }
    }
}

/// Refuses a repository whose origin is not the declared URL: a name under `skills_root` belongs to whichever
/// repository came first.
fn is_declared(path: &AbsPath, found: &str, declared: &str) -> Result<(), SkillError> {
    // A relative path depends on the folder it was used in.
    let is_relative = declared.starts_with("./") || declared.starts_with("../");
    let is_expanded =
        || expanded_url(path, found).is_some_and(|found| is_same_repository(&found, declared));
    if is_relative || is_same_repository(found, declared) || is_expanded() {
        return Ok(());
    }
    Err(SkillError::OtherOrigin {
        path: path.to_string(),
        found: redacted(found),
        declared: redacted(declared),
    })
}

/// Checks that the repository of a declaration has the declared origin.
pub fn check_origin(skills_root: &AbsPath, declaration: &Declaration) -> Result<(), SkillError> {
    let path = skills_root.join(declaration.source.as_str());
    let Some(declared) = declaration.git.as_ref().filter(|_| path.as_path().exists()) else {
        return Ok(());
    };
    match origin_of(&path)? {
        Some(found) => is_declared(&path, &found, declared),
        None => Ok(()),
    }
}

/// The wanted references of a repository, each with its pinned commits and trees.
type Wanted = BTreeMap<Reference, BTreeSet<LockedTree>>;

/// A pinned commit with the tree of the installed folder.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LockedTree {
    commit: Commit,
    tree: String,
    path: Option<RelPath>,
}

impl LockedTree {
    fn of(locked: &LockedSkill) -> Self {
        let (commit, tree) = (locked.commit.clone(), locked.tree.clone());
        Self { commit, tree, path: locked.path.clone() }
    }
}

fn pin_state(
    repository: &Repository,
    reference: &Reference,
    LockedTree { commit: locked, tree, path }: &LockedTree,
    now: Option<&Commit>,
) -> PinState {
    match repository.objects().tree(locked, path.as_ref()) {
        Err(_) => return PinState::Missing,
        Ok(found) if found != *tree => return PinState::TreeMismatch,
        Ok(_) => {}
    }
    match now {
        Some(now) if now == locked => PinState::Valid,
        // A branch is expected to advance; any other reference is not.
        Some(now)
            if reference.kind == RefKind::Branch
                && repository.is_descendant(now, locked).unwrap_or(false) =>
        {
            PinState::Valid
        }
        other => PinState::Moved(other.cloned()),
    }
}
