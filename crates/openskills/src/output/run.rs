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
    /// The script's output, where it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What it tried and was not let.
    pub violations: Vec<ViolationJson>,
    /// What it changed in its workspace.
    pub changes: Vec<ChangeJson>,
    /// Whether those changes were made.
    pub committed: bool,
    /// What held while it ran.
    pub enforced: Vec<String>,
    /// Hosts that it asked for, and whether it was let.
    pub reached: BTreeMap<String, bool>,
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
    /// Where, seen from the workspace.
    pub path: String,
    /// `added`, `modified`, `deleted`, `folder` or `link`.
    pub change: String,
    /// Why it cannot be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
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
    /// Why the strongest kind is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}
