//! What a log says of every skill, in numbers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, LogError};

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
        // A failed activation may be of something that is no skill at all: then by what was asked for.
        let Some(id) = entry.text("skillId").or_else(|| entry.text("name")) else { continue };
        let skill = all.skills.entry(id.to_owned()).or_default();
        let count = match entry.event.as_str() {
            "skill.activated" => &mut skill.activations,
            "skill.activation_failed" => &mut skill.activation_failures,
            "skill.resource_read" => &mut skill.resource_reads,
            "skill.script_executed" => {
                let record = entry.fields.get("record");
                if record.is_none_or(|record| record["exit_status"] != "success") {
                    skill.script_failures += 1;
                }
                &mut skill.script_runs
            }
            "skill.script_failed" | "skill.script_interrupted" => {
                skill.script_failures += 1;
                &mut skill.script_runs
            }
            "policy.decided" => match entry.text("decision") {
                Some("allow") => &mut skill.allowed,
                Some("ask") => &mut skill.asked,
                _ => &mut skill.denied,
            },
            _ => {
                skill.last.clone_from(&entry.time);
                continue;
            }
        };
        *count += 1;
        skill.last = entry.time;
    }
    Ok(all)
}
