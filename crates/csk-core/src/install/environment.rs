//! What an install works with, and how it is asked for.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use skill::Identifier;
use skill_fs::{AbsPath, FsError, Lock, LockError};

use super::sources::{clone_missing, declared};
use super::{Rules, SkillError, Target};
use crate::operations::audit::Auditor;
use crate::{Agents, LocalSources, Progress};

/// What an install works with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The folder of csk's own state.
    pub home: AbsPath,
    /// The folder of the repositories.
    pub skills_root: AbsPath,
    /// The agents that csk supports.
    pub agents: Agents,
    /// Whether repositories on this machine may be cloned.
    pub local: LocalSources,
    /// How long to wait for another csk that changes projects.
    pub lock_timeout: Duration,
    /// How long to wait for another csk that works on the same repository.
    pub source_timeout: Duration,
    /// The time now, as RFC 3339 in UTC.
    pub now: String,
    /// Where programs are looked for: the user's `PATH`.
    pub path: Option<OsString>,
    /// The roots of all configured projects.
    pub projects: Vec<AbsPath>,
    /// Audits what is new.
    pub auditor: Auditor,
}

/// How to install.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How references and locks become commits.
    pub rules: Rules,
    /// Whether the plan is only shown.
    pub mode: Mode,
    /// Whether missing ignore entries are added.
    pub ignore: Ignore,
    /// Whether repositories that are missing are cloned.
    pub network: Network,
}

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Yes.
    Allowed,
    /// No.
    Refused,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Yes.
    Apply,
    /// No: the plan is returned.
    DryRun,
}

/// What to do about entries that git does not ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignore {
    /// Refuse the project.
    Require,
    /// Add them to `.gitignore`.
    Fix,
}

/// Why no project was processed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another csk is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is nothing to install from.
    #[error("{0}")]
    SkillsRoot(String),
    /// csk's own files cannot be read or written.
    #[error(transparent)]
    Home(#[from] FsError),
}

impl Environment {
    /// Clones what is missing, where that is allowed, then takes csk's lock. Returns what could not be cloned.
    pub(super) fn begin(
        &self,
        targets: &[Target],
        mode: Mode,
        network: Network,
        progress: &dyn Progress,
    ) -> Result<(BTreeMap<Identifier, SkillError>, Option<Lock>), RunError> {
        let failed = match (mode, network) {
            (Mode::Apply, Network::Allowed) => clone_missing(self, declared(targets), progress),
            (Mode::DryRun, _) | (_, Network::Refused) => BTreeMap::new(),
        };
        Ok((failed, self.lock_for(mode)?))
    }

    /// Takes csk's lock, unless nothing is written: a dry run writes no lock either.
    pub fn lock_for(&self, mode: Mode) -> Result<Option<Lock>, LockError> {
        match mode {
            Mode::Apply => self.lock().map(Some),
            Mode::DryRun => Ok(None),
        }
    }

    /// Takes csk's lock.
    fn lock(&self) -> Result<Lock, LockError> {
        fs::create_dir_all(self.home.as_path())
            .map_err(|source| FsError::Io { path: self.home.to_string(), source })?;
        Lock::acquire(&self.home.join(".lock"), self.lock_timeout)
    }
}
