//! JSON output of `log` and `replay`.

use openskills_runtime::Replayed;
use openskills_runtime::log::{LogReport, Stats};
use schemars::JsonSchema;
use serde::Serialize;

use super::VERSION;

/// An event as one line of `openskills log show --json` or `openskills discover --watch --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventLine<'a, E> {
    #[serde(flatten)]
    event: &'a E,
    /// Version of this format. Not `version`, which in some events is the skill's version.
    format_version: u32,
}

impl<'a, E: Serialize> EventLine<'a, E> {
    pub(crate) fn new(event: &'a E) -> Self {
        Self { event, format_version: VERSION }
    }
}

/// Output of `openskills log verify --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogVerifyJson {
    /// Version of this format.
    pub version: u32,
    /// Result of the verification.
    pub report: LogReport,
}

/// Output of `openskills log stats --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogStatsJson {
    /// Version of this format.
    pub version: u32,
    /// The statistics.
    pub stats: Stats,
}

/// Output of `openskills log archive --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogArchiveJson {
    /// Version of this format.
    pub version: u32,
    /// Folder of the archived log; absent if there was no log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Output of `openskills replay --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayJson {
    /// Version of this format.
    pub version: u32,
    /// Number of events whose skill is unchanged.
    pub same: usize,
    /// Number of events whose skill has changed.
    pub drifted: usize,
    /// Number of events whose skill no longer exists.
    pub gone: usize,
    /// Results of rerunning modules; only with `--execute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<RepeatedJson>,
    /// Events, in order.
    pub events: Vec<Replayed>,
}

/// Results of rerunning modules.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatedJson {
    /// Number of modules with the same output.
    pub same: usize,
    /// Number of modules with different output.
    pub different: usize,
    /// Number of executions that cannot be repeated.
    pub not_run: usize,
}
