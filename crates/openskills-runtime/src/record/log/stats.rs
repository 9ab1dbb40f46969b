//! Event counts for each skill in a log.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, LogError};
use crate::decide::policy::Decision;
use crate::{Event, ExitStatus};

/// Event counts of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stats {
    /// Number of events counted.
    pub events: u64,
    /// Counts by skill ID.
    pub skills: BTreeMap<String, SkillStats>,
}

/// Event counts of one skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillStats {
    /// How often it was activated, repeated activations included.
    pub activations: u64,
    /// How often an activation failed.
    pub activation_failures: u64,
    /// How often one of its files was read.
    pub resource_reads: u64,
    /// How often one of its scripts was started.
    pub script_runs: u64,
    /// How many script runs failed, could not be started, or were interrupted.
    pub script_failures: u64,
    /// Policy decisions that allowed a request.
    pub allowed: u64,
    /// Policy decisions to ask the user.
    pub asked: u64,
    /// Policy decisions that denied a request.
    pub denied: u64,
    /// Time of the last event, RFC 3339.
    pub last: String,
}

/// Counts the events of each skill.
pub fn stats(
    entries: impl IntoIterator<Item = Result<Entry, LogError>>,
) -> Result<Stats, LogError> {
    let mut all = Stats::default();
    for entry in entries {
        let entry = entry?;
        all.events += 1;
        let Some(id) = entry.skill() else { continue };
        let skill = all.skills.entry(id.to_owned()).or_default();
        skill.count(&entry.event);
        skill.last = entry.time;
    }
    Ok(all)
}

impl SkillStats {
    fn count(&mut self, event: &Event) {
        match event {
            Event::Activated(_) => self.activations += 1,
            Event::ActivationFailed(_) => self.activation_failures += 1,
            Event::ResourceRead(_) => self.resource_reads += 1,
            Event::ScriptExecuted(execution) => {
                self.script_runs += 1;
                match execution.record.exit_status {
                    ExitStatus::Success => {}
                    ExitStatus::Failed | ExitStatus::Timeout => self.script_failures += 1,
                }
            }
            Event::ScriptFailed(_) | Event::ScriptInterrupted(_) => {
                self.script_runs += 1;
                self.script_failures += 1;
            }
            Event::PolicyDecided(decided) => match decided.decision {
                Decision::Allow => self.allowed += 1,
                Decision::Ask => self.asked += 1,
                Decision::Deny => self.denied += 1,
            },
            // A start is counted by the event that ends it.
            Event::ScriptStarted(_)
            | Event::Discovered { .. }
            | Event::Removed { .. }
            | Event::Deactivated { .. }
            | Event::ApplyFailed(_)
            | Event::Applied(_)
            | Event::Undone { .. }
            | Event::ApplyInterrupted(_)
            | Event::BeyondLimits { .. }
            | Event::NotListed { .. }
            | Event::ServedChanged { .. }
            | Event::Installed(_)
            | Event::Uninstalled(_)
            | Event::Called { .. }
            | Event::PackagesPrepared(_)
            | Event::ApprovalGranted(_)
            | Event::ApprovalRevoked(_)
            // A command line is restricted by several skills and run by none.
            | Event::CommandStarted(_)
            | Event::CommandExecuted(_)
            | Event::CommandFailed(_)
            | Event::CommandInterrupted(_)
            | Event::CommandUnconfined(_)
            | Event::LogStarted(_)
            | Event::LogRecovered(_)
            | Event::CheckpointFailed(_)
            | Event::Unknown => {}
        }
    }
}
