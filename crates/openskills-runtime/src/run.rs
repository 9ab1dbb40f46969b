//! Runs scripts of skills. A run is permitted by [`authorize`](crate::decide::permit::authorize), starts in the sandbox
//! from a private copy of the permitted files, and is logged before its result is returned.

mod cancel;
pub(crate) mod carry_out;
mod cause;
mod choose;
mod copy;
mod diff;
mod environment;
mod execute;
mod fetch_packages;
mod input;
mod interpreter;
mod interpreter_cache;
pub(crate) mod libraries;
pub(crate) mod linked;
pub(crate) mod module;
pub(crate) mod module_cache;
mod options;
mod outside;
mod package_index;
pub(crate) mod package_store;
pub(crate) mod packages;
mod permitted;
pub(crate) mod prepare;
mod protected_names;
pub(crate) mod repeat;
pub(crate) mod run_folder;
pub(crate) mod run_result;
mod spec;
pub mod undo;
mod undone;
pub(crate) mod unpacked;
mod variables;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Change, Ended, Guarantee, Violation};
use serde_json::Value;
use skill::Digest;
use skill_state::Grant;

use crate::decide::permit::Request;
use crate::record::log::Redactor;
use crate::{ExecutionRecord, RuntimeError};

pub use cancel::Cancel;
pub use cause::Audience;
pub(crate) use cause::FailedRun;
pub(crate) use choose::{Candidate, ChosenScript, RunMethod, add_typescript_flag, choose};
pub(crate) use copy::{ExpectedDigest, PrivateCopy};
pub(crate) use diff::diff;
pub(crate) use environment::{PROXIES, is_locale};
pub use input::Input;
pub(crate) use input::OtherInput;
pub(crate) use interpreter::{Interpreter, Search, interpreter};
pub(crate) use module_cache::ModuleCache;
pub use options::{Caller, ExecutionOptions, Invocation, Stage};
pub use outside::OutsidePaths;
pub(crate) use outside::{overlaps, own_folders, path_of, real_home};
pub(crate) use package_index::{IndexLocation, PackageIndex};
pub(crate) use permitted::{
    FinishedCommand, Permitted, PermittedCommand, ProvidedPaths, ProvidedToCommand,
};
pub(crate) use prepare::real_workspace;
pub(crate) use run_folder::RunFolder;
pub(crate) use spec::{RunInputs, spec};
pub(crate) use variables::forbidden_variable;

/// Takes over this process if it was started as a sandbox stage or as the runner of a module inside a sandbox. Call it
/// first in `main`; without it nothing can run in a sandbox.
pub fn init() {
    sandbox::init();
    sandbox_wasm::init();
}

/// Prepares a sandbox in the background while the skill is being looked up. It runs nothing and is discarded if no run
/// follows.
pub fn prepare() {
    sandbox::prepare(sandbox::Streams::Captured);
}

/// Prepares a sandbox in the background for a command line.
pub fn prepare_command() {
    sandbox::prepare(sandbox::Streams::Shared);
}

/// Details of a WebAssembly run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WasmRun {
    /// The digest of the module.
    pub module: Digest,
    /// The number of executed steps.
    pub fuel: u64,
    /// Its peak memory use in bytes.
    pub memory: u64,
    /// Why it trapped, if it did.
    pub trap: Option<String>,
    /// Whether it ran inside the operating system's sandbox.
    pub is_staged: bool,
    /// Whether its compiled code came from the cache.
    pub was_cached: bool,
    /// Paths that it may read but did not get, because modules can only be given folders.
    pub skipped_paths: Vec<PathBuf>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Execution {
    /// Its standard output as text.
    pub output: String,
    /// Its standard output as data, if it is JSON.
    pub json: Option<Value>,
    /// The captured bytes of standard output.
    pub stdout: Vec<u8>,
    /// The captured bytes of standard error.
    pub stderr: Vec<u8>,
    /// How many bytes it wrote to standard output and standard error; output beyond the captured part is lost.
    pub written: [u64; 2],
    /// How it ended.
    pub ended: Ended,
    /// The signal that this process received during the run and that stopped it; none of its changes were applied.
    pub interrupted: Option<i32>,
    /// The logged record.
    pub record: ExecutionRecord,
    /// Blocked system calls.
    pub violations: Vec<Violation>,
    /// Its changes to the workspace.
    pub changes: Vec<Change>,
    /// The changes as a text diff, for a dry run.
    pub diff: Option<String>,
    /// A note about the changes: why those of a dry run would be refused, or which concurrent edits were kept.
    pub note: Option<String>,
    /// Declared side effects that a dry run prevented (`network`, `external`); `unknown` if the skill declares none.
    pub withheld: Vec<&'static str>,
    /// Whether the changes were applied to the workspace.
    pub applied: bool,
    /// Whether `openskills undo` can revert the changes.
    pub can_undo: bool,
    /// Why `openskills undo` cannot revert them, if they were applied or written directly.
    pub cannot_undo: Option<String>,
    /// Why the changes were not applied although they should have been.
    pub not_applied: Option<Box<RuntimeError>>,
    /// The likely causes of a failure.
    pub causes: Vec<String>,
    /// The interpreter of the script.
    pub interpreter: Option<PathBuf>,
    /// The guarantees that were enforced during the run.
    pub enforced: Vec<Guarantee>,
    /// The sandbox tier; `None` for a module that ran in this process.
    pub tier: Option<sandbox::Tier>,
    /// Details of a WebAssembly run.
    pub wasm: Option<WasmRun>,
    /// The resource limits.
    pub limits: sandbox::Limits,
    /// The duration of each step.
    pub timings: Vec<(&'static str, Duration)>,
    /// Hosts that it tried to reach, and whether that was allowed.
    pub reached: Vec<sandbox::proxy::ProxyRequest>,
    /// What the skill declares but was not granted, one line each.
    pub not_granted: Vec<String>,
    /// The audit findings that need review, unless a stored approval already covers them.
    pub review: Option<String>,
    /// Values of granted variables that look like secrets, by name or form.
    pub(crate) secrets: Redactor,
}

impl Execution {
    /// Appends to the note.
    pub(crate) fn add_note(&mut self, text: &str) {
        let before = self.note.take().map_or_else(String::new, |note| format!("{note}; "));
        self.note = Some(before + text);
    }

    /// Returns true if the run failed and its changes to the workspace were discarded.
    pub fn is_dropped(&self) -> bool {
        let is_good = self.ended == Ended::Exited(0) && self.interrupted.is_none();
        !is_good && !self.changes.is_empty() && self.diff.is_none()
    }

    /// Redacts granted secret values in a text, so that a model may see it. The user sees the original text.
    pub fn for_model<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.secrets.redact_values(text)
    }

    /// Returns standard output and standard error with secrets redacted. If one was truncated, a possible partial
    /// secret at its end is removed too.
    pub fn streams_for_model(&self) -> [String; 2] {
        let clean = |kept: &[u8], total: u64| {
            let whole = self.secrets.whole(kept, total);
            self.for_model(&String::from_utf8_lossy(whole)).into_owned()
        };
        [clean(&self.stdout, self.written[0]), clean(&self.stderr, self.written[1])]
    }
}

/// The user's answer to an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The user declined.
    No,
    /// The user could not be prompted.
    Nothing,
    /// Approved for this run only.
    Once(Grant),
    /// Approved for this content from now on.
    Always,
}

/// Prompts the user when a run needs approval.
#[derive(Clone)]
pub struct Approver(Arc<dyn Fn(&Request) -> Answer + Send + Sync>);

impl Approver {
    /// Creates an approver that calls `ask`.
    pub fn new(ask: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Prompts the user.
    pub fn ask(&self, request: &Request) -> Answer {
        (self.0)(request)
    }
}

impl fmt::Debug for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Approver")
    }
}

impl PartialEq for Approver {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Approver {}
