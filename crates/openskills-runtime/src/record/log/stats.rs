//! What a log says of every skill, in numbers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, LogError};
use crate::decide::policy::Decision;
use crate::{Event, ExitStatus};

/// The numbers of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stats {
    /// How many events were counted.
    pub events: u64,
    /// By the id of the skill.
    pub skills: BTreeMap<String, SkillStats>,
}

/// The numbers of one skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillStats {
    /// How often it was activated, repetitions included.
    pub activations: u64,
    /// How often that failed.
    pub activation_failures: u64,
    /// How many of its files were read.
    pub resource_reads: u64,
    /// How many of its scripts were started.
    pub script_runs: u64,
    /// How many of those did not succeed, were not started, or were interrupted.
    pub script_failures: u64,
    /// Decisions of the policy: allowed.
    pub allowed: u64,
    /// Decisions of the policy: the user was to be asked.
    pub asked: u64,
    /// Decisions of the policy: denied.
    pub denied: u64,
    /// The last event, RFC 3339.
    pub last: String,
}

/// Counts events.
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
            // A start is counted by what ends it.
            Event::ScriptStarted(_)
            | Event::Discovered { .. }
            | Event::Removed { .. }
            | Event::Deactivated { .. }
            | Event::CommitFailed(_)
            | Event::Committed(_)
            | Event::Undone { .. }
            | Event::CommitInterrupted(_)
            | Event::BeyondLimits { .. }
            | Event::NotListed { .. }
            | Event::ServedChanged { .. }
            | Event::Installed(_)
            | Event::Uninstalled(_)
            | Event::Called { .. }
            | Event::ApprovalGranted(_)
            | Event::ApprovalRevoked(_)
            | Event::LogStarted(_)
            | Event::LogRecovered(_)
            | Event::CheckpointFailed(_)
            | Event::Unknown => {}
        }
    }
}
