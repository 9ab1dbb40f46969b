//! What running writes.

use std::collections::BTreeMap;

use openskills_runtime::ExecutionRecord;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// `openskills run --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunJson {
    /// The version of this format.
    pub version: u32,
    /// The record that is in the log.
    pub record: ExecutionRecord,
    /// The code that the command ends with.
    pub exit_code: u8,
    /// The signal that openskills got, and that ended the script: nothing of it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<i32>,
    /// The script's output, where it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Whether it wrote more than is kept.
    pub output_cut: bool,
    /// What it tried and was not let.
    pub violations: Vec<ViolationJson>,
    /// What it changed in its workspace.
    pub changes: Vec<ChangeJson>,
    /// What a dry run kept from happening, of what the skill says that it does beyond files: `network`, `external`; `unknown` where it says nothing.
    pub held_back: Vec<String>,
    /// Whether those changes were made.
    pub committed: bool,
    /// Whether `openskills undo` can take them back.
    pub can_undo: bool,
    /// Why it cannot, where they were made or files were written directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot_undo: Option<String>,
    /// Why they were not, where the run ended well and they should have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_committed: Option<String>,
    /// Why it most likely failed, and what to do about it.
    pub causes: Vec<String>,
    /// The interpreter that ran it, where it is a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// What held while it ran.
    pub enforced: Vec<String>,
    /// Hosts that it asked for, and whether it was let.
    pub reached: BTreeMap<String, bool>,
    /// What the skill declares and the user did not grant, such as `env: TOKEN`.
    pub not_granted: Vec<String>,
    /// What the audit wants reviewed, unless a stored approval was made in view of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// More of it, if it was WebAssembly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasm: Option<WasmJson>,
    /// How long each step took, in milliseconds.
    pub timings_ms: BTreeMap<String, f64>,
}

/// What there is to know of a module that ran.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WasmJson {
    /// The digest of the module.
    pub module_sha256: String,
    /// How many steps it took.
    pub fuel: u64,
    /// The most memory that it had, in bytes.
    pub memory_bytes: u64,
    /// Whether it ran inside the operating system's sandbox.
    pub staged: bool,
    /// Whether its code was in the cache.
    pub cached: bool,
    /// What it did that it may not, if it was ended for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trap: Option<String>,
}

/// Something that a script tried and was not let.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViolationJson {
    /// The system call.
    pub call: String,
    /// The name of the process.
    pub process: String,
}

/// A change of the workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeJson {
    /// Where, seen from the workspace; of a link also its target, of a folder with another mode both modes.
    pub path: String,
    /// `added`, `modified`, `deleted`, `folder`, `link` or `mode` (of a folder that was there).
    pub change: String,
    /// Why it cannot be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// `openskills cache --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheJson {
    /// The version of this format.
    pub version: u32,
    /// Whether what is listed was removed.
    pub cleared: bool,
    /// Every cache.
    pub caches: Vec<CacheKindJson>,
}

/// One cache.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheKindJson {
    /// `index`, `index-strict`, `hashes`, `wasm`, `served`, or `runs` for what killed runs left.
    pub kind: String,
    /// Where it is.
    pub folder: String,
    /// How many files it has; of `runs` how many folders.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
}

/// `openskills new --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewJson {
    /// The version of this format.
    pub version: u32,
    /// The folder of the skill, absolute.
    pub path: String,
    /// Its files, seen from there, sorted.
    pub files: Vec<String>,
    /// What to type next.
    pub next: Vec<String>,
}

/// `openskills sandbox check --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SandboxJson {
    /// The version of this format.
    pub version: u32,
    /// The strongest kind of sandbox there is: `A` or `B`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// What it guarantees.
    pub guarantees: BTreeMap<String, bool>,
    /// What this kind of sandbox does not enforce, or does differently; empty for the strongest.
    pub limitations: Vec<String>,
    /// Why the strongest kind is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// `openskills undo --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoJson {
    /// The version of this format.
    pub version: u32,
    /// The workspace.
    pub workspace: String,
    /// The skill.
    pub skill_id: String,
    /// The run that committed it.
    pub execution_id: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// What is taken back.
    pub paths: Vec<UndonePathJson>,
    /// Folders that the run made and that stay, since something else is in them.
    pub stay: Vec<String>,
}

/// A path that is taken back.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndonePathJson {
    /// Where, seen from the workspace.
    pub path: String,
    /// `removed`, `restored` or `reverted`.
    pub done: String,
}

/// `openskills deactivate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeactivateJson {
    /// The version of this format.
    pub version: u32,
    /// The skill that is not active any more.
    pub skill_id: String,
    /// The session.
    pub session_id: String,
}
