//! Declarations to commits, from what is on this machine. Each repository is opened once.

use std::collections::BTreeMap;

use rayon::prelude::*;
use skill::Identifier;
use skill_fs::AbsPath;

use super::{PrepareError, Target};
use crate::git::redacted;
use crate::{Commit, Declaration, GitError, Reference, Repository, SourceError};

/// Why one skill cannot be installed. Others go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// Its repository, or something in it, cannot be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its repository is going to be cloned by the next install.
    #[error("the repository is not cloned yet; `csk install` clones it from {url}")]
    NotCloned {
        /// From where.
        url: String,
    },
    /// Its repository cannot be cloned.
    #[error("Failed to clone {skill} from {url}: {source}")]
    Clone {
        /// The skill.
        skill: String,
        /// From where.
        url: String,
        /// What git says.
        source: GitError,
    },
    /// Its content cannot be installed.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A tag names another commit than before, and that is not allowed.
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
    /// Something of the user's is in the way.
    #[error("{path} exists and was not made by csk")]
    Foreign {
        /// What.
        path: String,
    },
    /// What is installed cannot be understood.
    #[error("{0}")]
    Marker(String),
    /// A file cannot be written.
    #[error("{0}")]
    Write(String),
}

impl SkillError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Prepare(error) => error.hint(),
            Self::NotCloned { .. } => None,
            Self::Foreign { .. } => {
                Some("move it away, or choose another name for the skill".to_owned())
            }
            Self::MovedTag { .. } => {
                Some("ask the skill's author why, or install without --strict-tags".to_owned())
            }
            Self::Clone { source: GitError::Url { .. }, .. } | Self::Marker(_) | Self::Write(_) => {
                None
            }
            Self::Clone { .. } => Some("check the URL and your access to it".to_owned()),
        }
    }
}

/// A skill and the commit that is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What was declared.
    pub declaration: Declaration,
    /// The commit, or why there is none.
    pub commit: Result<Commit, SkillError>,
}

/// The commit of every declared reference.
#[derive(Debug, Default)]
pub struct Resolution {
    commits: BTreeMap<(Identifier, Reference), Result<Commit, SkillError>>,
}

impl Resolution {
    /// Returns what a declaration resolved to.
    pub fn get(&self, declaration: &Declaration) -> Resolved {
        let key = (declaration.source.clone(), declaration.reference.clone());
        let missing = || {
            Err(SkillError::Source(SourceError::Missing { path: declaration.source.to_string() }))
        };
        let mut commit = self.commits.get(&key).cloned().unwrap_or_else(missing);
        if let (Err(SkillError::Source(SourceError::Missing { .. })), Some(url)) =
            (&commit, &declaration.git)
        {
            commit = Err(SkillError::NotCloned { url: redacted(url) });
        }
        Resolved { declaration: declaration.clone(), commit }
    }
}

/// Resolves every declaration of `targets` against the repositories under `skills_root`.
///
/// `failed` are sources that could not be cloned, with the reason.
pub fn resolve(
    skills_root: &AbsPath,
    targets: &[Target],
    failed: &BTreeMap<Identifier, SkillError>,
) -> Resolution {
    let mut wanted: BTreeMap<Identifier, Vec<Reference>> = BTreeMap::new();
    for declaration in targets.iter().flat_map(|target| &target.skills) {
        let references = wanted.entry(declaration.source.clone()).or_default();
        if !references.contains(&declaration.reference) {
            references.push(declaration.reference.clone());
        }
    }
    let resolve_source = |(source, references): (Identifier, Vec<Reference>)| -> Vec<_> {
        let repository = match failed.get(&source) {
            Some(error) => Err(error.clone()),
            None => Repository::open(&skills_root.join(source.as_str())).map_err(SkillError::from),
        };
        let resolve = |reference: Reference| {
            let commit = match &repository {
                Ok(repository) => repository.resolve(&reference).map_err(SkillError::from),
                Err(error) => Err(error.clone()),
            };
            ((source.clone(), reference), commit)
        };
        references.into_iter().map(resolve).collect()
    };
    let commits = wanted.into_par_iter().flat_map_iter(resolve_source).collect();
    Resolution { commits }
}
