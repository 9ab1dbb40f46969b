//! The inputs and options of an install.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use skill::Identifier;
use skill_fs::{AbsPath, FsError, Lock, LockError};

use super::sources::{clone_missing, declared, fetch_locked};
use super::{ResolveRules, SkillError, Target};
use crate::operations::audit::Auditor;
use crate::{Agents, LocalSources, Progress};

/// The inputs of an install.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The folder with csk's own state.
    pub home: AbsPath,
    /// The folder with the skill repositories.
    pub skills_root: AbsPath,
    /// Whether the repositories are csk's own, so that an install may fetch a missing commit.
    pub owns_repositories: bool,
    /// The agents that csk supports.
    pub agents: Agents,
    /// Whether cloning from local paths is allowed.
    pub local: LocalSources,
    /// How long to wait for another csk that is changing projects.
    pub lock_timeout: Duration,
    /// How long to wait for another csk that is using the same repository.
    pub source_timeout: Duration,
    /// The current time, as RFC 3339 in UTC.
    pub now: String,
    /// The user's `PATH`, used to find programs.
    pub path: Option<OsString>,
    /// The roots of all configured projects.
    pub projects: Vec<AbsPath>,
    /// Audits new skills.
    pub auditor: Auditor,
}

/// How to install.
#[derive(Debug, Clone, Copy)]
pub struct InstallOptions {
    /// How references and lockfiles are turned into commits.
    pub rules: ResolveRules,
    /// Whether the plan is applied or only returned.
    pub mode: Mode,
    /// Whether missing ignore entries are added.
    pub ignore: IgnorePolicy,
    /// Whether missing repositories are cloned.
    pub network: Network,
}

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The network may be used.
    Allowed,
    /// The network is not used.
    Refused,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Apply the plan.
    Apply,
    /// Write nothing and return the plan.
    DryRun,
}

/// What to do about files that git does not ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnorePolicy {
    /// Refuse the project.
    Require,
    /// Add them to `.gitignore`.
    Fix,
}

/// Why no project was processed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another csk is running.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There are no skill repositories to install from.
    #[error("{0}")]
    SkillsRoot(String),
    /// csk's own files cannot be read or written.
    #[error(transparent)]
    Home(#[from] FsError),
}

impl Environment {
    /// Clones missing repositories if allowed, then acquires the process lock. Returns the clones that failed.
    pub(super) fn begin(
        &self,
        targets: &[Target],
        mode: Mode,
        network: Network,
        progress: &dyn Progress,
    ) -> Result<(BTreeMap<Identifier, SkillError>, Option<Lock>), RunError> {
        let failed = match (mode, network) {
            (Mode::Apply, Network::Allowed) => {
                let mut failed = clone_missing(self, declared(targets), progress);
                if self.owns_repositories {
                    failed.extend(fetch_locked(self, targets, progress));
                }
                failed
            }
            (Mode::DryRun, _) | (_, Network::Refused) => BTreeMap::new(),
        };
        Ok((failed, self.lock_for(mode)?))
    }

    /// Acquires the process lock unless this is a dry run, which writes nothing, not even a lock.
    pub fn lock_for(&self, mode: Mode) -> Result<Option<Lock>, LockError> {
        match mode {
            Mode::Apply => self.lock().map(Some),
            Mode::DryRun => Ok(None),
        }
    }

    fn lock(&self) -> Result<Lock, LockError> {
        fs::create_dir_all(self.home.as_path())
            .map_err(|source| FsError::Io { path: self.home.to_string(), source })?;
        Lock::acquire(&self.home.join(".lock"), self.lock_timeout)
    }
}
