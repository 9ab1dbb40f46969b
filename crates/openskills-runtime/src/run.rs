//! Runs scripts of skills: chosen purely, permitted by [`authorize`](crate::decide::permit::authorize), run from a copy of what was permitted, in
//! the sandbox, and written to the log before the result is returned.

mod cancel;
pub(crate) mod carry_out;
mod cause;
mod choose;
mod copy;
mod diff;
mod environment;
mod execute;
mod input;
mod interpreter;
mod interpreter_answers;
pub(crate) mod libraries;
pub(crate) mod linked;
pub(crate) mod module;
pub(crate) mod module_cache;
mod options;
mod outside;
pub(crate) mod packages;
mod permitted;
pub(crate) mod prepare;
mod protected_names;
pub(crate) mod ran;
pub(crate) mod repeat;
pub(crate) mod run_folder;
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
pub(crate) use cause::Failed;
pub use cause::Reader;
pub(crate) use choose::{Candidate, Chosen, Runs, choose, with_types};
pub(crate) use copy::{Expected, PrivateCopy};
pub(crate) use diff::diff;
pub use input::Input;
pub(crate) use input::Otherwise;
pub(crate) use interpreter::{Interpreter, Search, interpreter};
pub(crate) use module_cache::ModuleCache;
pub use options::{Caller, ExecutionOptions, Invocation, Stage};
pub use outside::OutsidePlaces;
pub(crate) use outside::{own_places, real_home, touches};
pub(crate) use permitted::{Permitted, Provided};
pub(crate) use run_folder::RunFolder;
pub(crate) use spec::{RunInputs, spec};
pub(crate) use variables::never_given;

/// Becomes the hidden stage of a sandbox, or the runner of a module inside one, if this process was started as one. Call it first thing in
/// `main`; without it nothing runs in a sandbox.
pub fn init() {
    sandbox::init();
    sandbox_wasm::init();
}

/// Gets a sandbox ready for the run that follows, while the skill is looked for. It runs nothing, and is gone if no run follows.
pub fn prepare() {
    sandbox::prepare();
}

/// What there is to know of a run of WebAssembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WasmRun {
    /// The digest of the module.
    pub module: Digest,
    /// How many steps it took.
    pub fuel: u64,
    /// The most memory that it had, in bytes.
    pub memory: u64,
    /// What it did that it may not, if it was ended for that.
    pub trap: Option<String>,
    /// Whether it ran inside the operating system's sandbox.
    pub is_staged: bool,
    /// Whether its code was in the cache.
    pub was_cached: bool,
    /// Places that it may read and was not given, since they are no folders.
    pub left_out: Vec<PathBuf>,
}

/// What became of a run.
#[derive(Debug)]
pub struct Execution {
    /// What it wrote to standard output, as text.
    pub output: String,
    /// The same as data, where it is JSON.
    pub json: Option<Value>,
    /// The bytes of standard output, as far as they are kept.
    pub stdout: Vec<u8>,
    /// The bytes of standard error, as far as they are kept.
    pub stderr: Vec<u8>,
    /// How many bytes it wrote to each of them; what is not kept is lost.
    pub written: [u64; 2],
    /// How it ended.
    pub ended: Ended,
    /// The signal that this process got while it ran, and that ended it: nothing of it was applied.
    pub interrupted: Option<i32>,
    /// The record that is in the log.
    pub record: ExecutionRecord,
    /// What it tried and was not let.
    pub violations: Vec<Violation>,
    /// What it changed in its workspace.
    pub changes: Vec<Change>,
    /// The same as lines of text, for a dry run.
    pub diff: Option<String>,
    /// What else there is to know about them: why a dry run's would be refused, what was kept of what came meanwhile.
    pub note: Option<String>,
    /// What a dry run kept from happening, of what the skill says that it does beyond files (`network`, `external`); `unknown` where it says nothing.
    pub held_back: Vec<&'static str>,
    /// Whether those changes were made.
    pub committed: bool,
    /// Whether `openskills undo` can take them back.
    pub can_undo: bool,
    /// Why it cannot, where they were made or files were written directly.
    pub cannot_undo: Option<String>,
    /// Why they were not, where they should have been.
    pub not_committed: Option<Box<RuntimeError>>,
    /// Why it most likely failed.
    pub causes: Vec<String>,
    /// The interpreter that ran it.
    pub interpreter: Option<PathBuf>,
    /// What held while it ran.
    pub enforced: Vec<Guarantee>,
    /// The kind of sandbox that it ran in; none for a module that ran in this process.
    pub tier: Option<sandbox::Tier>,
    /// More of it, if it was a module.
    pub wasm: Option<WasmRun>,
    /// What it was held to.
    pub limits: sandbox::Limits,
    /// How long each step took.
    pub timings: Vec<(&'static str, Duration)>,
    /// What it asked the proxy for, and whether it was let.
    pub reached: Vec<sandbox::proxy::Reached>,
    /// What the skill declares and was not granted, one line each.
    pub left_out: Vec<String>,
    /// What the audit wants reviewed, if no stored approval was made in view of it.
    pub review: Option<String>,
    /// Values of granted variables whose names or forms say that they are secrets.
    pub(crate) secrets: Redactor,
}

impl Execution {
    /// Adds to the note.
    pub(crate) fn add_note(&mut self, text: &str) {
        let before = self.note.take().map_or_else(String::new, |note| format!("{note}; "));
        self.note = Some(before + text);
    }

    /// Returns true if it wrote to its workspace and nothing of that was kept, since it failed.
    pub fn is_dropped(&self) -> bool {
        let is_good = self.ended == Ended::Exited(0) && self.interrupted.is_none();
        !is_good && !self.changes.is_empty() && self.diff.is_none()
    }

    /// Returns a text of it as a model may see it: without the values of secret variables that it was granted. The user sees the text as it is.
    pub fn for_model<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.secrets.redact_values(text)
    }

    /// Returns standard output and standard error as a model may see them. Where one was cut, what may be half a secret goes too.
    pub fn streams_for_model(&self) -> [String; 2] {
        let clean = |kept: &[u8], total: u64| {
            let whole = self.secrets.whole(kept, total);
            self.for_model(&String::from_utf8_lossy(whole)).into_owned()
        };
        [clean(&self.stdout, self.written[0]), clean(&self.stderr, self.written[1])]
    }
}

/// What the user says to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// No.
    No,
    /// None: nobody could be asked.
    Nothing,
    /// For this once.
    Once(Grant),
    /// For this content, from now on.
    Always,
}

/// Asks the user where a run needs a word of theirs.
#[derive(Clone)]
pub struct Approver(Arc<dyn Fn(&Request) -> Answer + Send + Sync>);

impl Approver {
    /// Returns one that asks by `ask`.
    pub fn new(ask: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks.
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
