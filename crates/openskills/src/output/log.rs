//! What the commands about the log write.

use openskills_runtime::Replayed;
use openskills_runtime::log::{LogReport, Stats};
use schemars::JsonSchema;
use serde::Serialize;

use super::VERSION;

/// A line of events, as `openskills log show --json` and `discover --watch --json` write them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventLine<'a, E> {
    #[serde(flatten)]
    event: &'a E,
    /// The version of this format. An event may have a `version` that is a skill's.
    format_version: u32,
}

impl<'a, E: Serialize> EventLine<'a, E> {
    pub(crate) fn new(event: &'a E) -> Self {
        Self { event, format_version: VERSION }
    }
}

/// `openskills log verify --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogVerifyJson {
    /// The version of this format.
    pub version: u32,
    /// What was found.
    pub report: LogReport,
}

/// `openskills log stats --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogStatsJson {
    /// The version of this format.
    pub version: u32,
    /// The numbers.
    pub stats: Stats,
}

/// `openskills log archive --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogArchiveJson {
    /// The version of this format.
    pub version: u32,
    /// Where the old log is now; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// `openskills replay --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayJson {
    /// The version of this format.
    pub version: u32,
    /// How many events are of a skill that is what it was.
    pub same: usize,
    /// How many are of one that is another version.
    pub drifted: usize,
    /// How many are of one that is not there.
    pub gone: usize,
    /// What came of running modules again, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<RepeatedJson>,
    /// The events, in order.
    pub events: Vec<Replayed>,
}

/// What came of running modules again.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatedJson {
    /// How many wrote the same bytes.
    pub same: usize,
    /// How many wrote something else.
    pub different: usize,
    /// How many executions cannot be run again.
    pub not_run: usize,
}
