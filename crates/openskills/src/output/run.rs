//! JSON output of the commands that run something, and of `cache`, `conflicts`, `new`, `sandbox check`, `undo` and `deactivate`.

use std::collections::BTreeMap;

use openskills_runtime::{ExecutionRecord, KeptChanges};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Output of `openskills run --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunJson {
    /// Version of this format.
    pub version: u32,
    /// The log record.
    pub record: ExecutionRecord,
    /// Exit code of the command.
    pub exit_code: u8,
    /// The signal that interrupted openskills and the script. No changes were applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<i32>,
    /// The script's output, if it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Whether the script wrote more output than openskills keeps.
    pub output_truncated: bool,
    /// Blocked system calls.
    pub violations: Vec<ViolationJson>,
    /// Changes in the workspace.
    pub changes: Vec<ChangeJson>,
    /// Side effects beyond files that a dry run withheld: `network` or `external`; `unknown` if the skill declares none.
    pub withheld: Vec<String>,
    /// Whether the changes were applied to the workspace.
    pub applied: bool,
    /// Whether `openskills undo` can revert the changes.
    pub can_undo: bool,
    /// Why the changes cannot be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot_undo: Option<String>,
    /// Why the changes could not be applied although the script succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applied: Option<String>,
    /// Likely causes of a failure, and how to fix them.
    pub causes: Vec<String>,
    /// The interpreter, if it is a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// Sandbox guarantees that were enforced.
    pub enforced: Vec<String>,
    /// Hosts that the script tried to reach, and whether access was allowed.
    pub hosts: BTreeMap<String, bool>,
    /// Declared capabilities that were not granted, such as `env: TOKEN`.
    pub not_granted: Vec<String>,
    /// Audit findings that need review, unless a stored approval already covers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Details of a WebAssembly run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasm: Option<WasmJson>,
    /// Duration of each step in milliseconds.
    pub timings_ms: BTreeMap<String, f64>,
}

/// Details of a WebAssembly run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WasmJson {
    /// Module digest.
    pub module_sha256: String,
    /// Fuel consumed.
    pub fuel: u64,
    /// Peak memory in bytes.
    pub memory_bytes: u64,
    /// Whether the module also ran inside the operating system's sandbox.
    pub staged: bool,
    /// Whether the compiled module came from the cache.
    pub cached: bool,
    /// The trap that ended the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trap: Option<String>,
}

/// A blocked system call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViolationJson {
    /// The system call.
    pub call: String,
    /// Process name.
    pub process: String,
}

/// A change in the workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeJson {
    /// Path relative to the workspace; for a link also its target, for a changed folder mode both modes.
    pub path: String,
    /// `added`, `modified`, `deleted`, `folder`, `link` or `mode` (new mode of an existing folder).
    pub change: String,
    /// Why the change is not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Output of `openskills cache --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheJson {
    /// Version of this format.
    pub version: u32,
    /// Whether the listed caches were cleared.
    pub cleared: bool,
    /// Every cache.
    pub caches: Vec<CacheKindJson>,
}

/// One cache.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheKindJson {
    /// `index`, `index-strict`, `hashes`, `wasm`, `served`, `runs` (leftovers of killed runs) or `command-homes` (home folders of command lines).
    pub kind: String,
    /// Cache folder.
    pub folder: String,
    /// Number of files; for `runs`, number of folders.
    pub files: usize,
    /// Total size in bytes.
    pub bytes: u64,
}

/// Output of `openskills new --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewJson {
    /// Version of this format.
    pub version: u32,
    /// Absolute path of the skill's folder.
    pub path: String,
    /// Created files, relative to the folder, sorted.
    pub files: Vec<String>,
    /// Suggested next commands.
    pub next: Vec<String>,
}

/// Output of `openskills sandbox check --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SandboxJson {
    /// Version of this format.
    pub version: u32,
    /// Strongest available sandbox tier: `A` or `B`; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// Every guarantee, and whether this tier provides it.
    pub guarantees: BTreeMap<String, bool>,
    /// What this tier does not enforce or does differently; empty for tier A.
    pub limitations: Vec<String>,
    /// Why tier A is not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How to make tier A available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Output of `openskills undo --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoJson {
    /// Version of this format.
    pub version: u32,
    /// The workspace.
    pub workspace: String,
    /// Skill ID.
    pub skill_id: String,
    /// ID of the undone run.
    pub execution_id: String,
    /// Whether this was a dry run, which changes nothing.
    pub dry_run: bool,
    /// Reverted paths.
    pub paths: Vec<UndonePathJson>,
    /// Folders created by the run that are kept because they are not empty.
    pub kept: Vec<String>,
}

/// A reverted path.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndonePathJson {
    /// Path relative to the workspace.
    pub path: String,
    /// `removed`, `restored` or `reverted`.
    pub action: String,
}

/// Output of `openskills conflicts --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConflictsJson {
    /// Version of this format.
    pub version: u32,
    /// The kept changes; for `apply` and `drop`, those that were resolved.
    pub kept: Vec<KeptChanges>,
}

/// Output of `openskills hook install --json` and `openskills hook remove --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookJson {
    /// Version of this format.
    pub version: u32,
    /// Agent name.
    pub agent: String,
    /// The agent's settings file.
    pub file: String,
    /// The change as a diff; empty if nothing changes.
    pub diff: String,
    /// Whether the file was written.
    pub written: bool,
}

/// Output of `openskills deactivate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeactivateJson {
    /// Version of this format.
    pub version: u32,
    /// ID of the deactivated skill.
    pub skill_id: String,
    /// Session ID.
    pub session_id: String,
}
