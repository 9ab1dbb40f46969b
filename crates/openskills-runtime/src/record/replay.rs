//! Compares a log with the current skills: is what was activated and run still the same?

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::decide::permit::RequestedAccess;
use crate::record::log::{Key, LogError, Source, verify};
use crate::{
    Event, OpenSkillRuntime, RuntimeError, ScriptExecution, SkillActivation, WasmExecution,
};

/// A logged event, compared with the current skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replayed {
    /// Event number.
    pub seq: u64,
    /// When the event was logged.
    pub time: String,
    /// `skill.activated` or `skill.script_executed`.
    pub event: String,
    /// Skill ID.
    pub skill_id: String,
    /// Digest that was logged: of the content for an activation, of the whole bundle for an execution.
    pub recorded: String,
    /// Digest of the current skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// How the current skill compares with the logged one.
    pub status: ReplayStatus,
    /// Result of running it again, if that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
}

/// What the log records about a module that ran.
#[derive(Debug)]
pub(crate) struct RecordedExecution {
    pub(crate) script: String,
    pub(crate) input_hash: String,
    pub(crate) output_hash: String,
    pub(crate) exit_status: String,
    pub(crate) wasm: WasmExecution,
}

/// Result of running a module again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Repeated {
    /// Whether the output is the same.
    pub result: RepeatResult,
    /// Digest of the new output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A compared event, with what the log records about the module that ran.
pub(crate) struct ReplayStep {
    pub(crate) replayed: Replayed,
    pub(crate) module: Option<Box<RecordedExecution>>,
}

/// Whether a repeated run produced the same output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatResult {
    /// The output is identical, byte for byte.
    Same,
    /// The output differs.
    Different,
    /// It could not be run again.
    NotRun,
}

/// How the current skill compares with the logged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayStatus {
    /// The digest is the same, so the same activation gives the same text.
    Same,
    /// The skill has changed, or can no longer be loaded.
    Drifted,
    /// The skill no longer exists.
    Gone,
}

/// The current state of a skill.
#[derive(Debug, Clone)]
enum CurrentSkill {
    Gone,
    Broken,
    Loaded { content: String, bundle: Option<String> },
}

impl OpenSkillRuntime {
    /// Compares every activation and execution in a log with the current skills. Refuses a log that has been altered.
    pub fn replay(
        &self,
        source: &Source,
        key: Option<&Key>,
    ) -> Result<Vec<Replayed>, RuntimeError> {
        Ok(self.replayed(source, key)?.into_iter().map(|step| step.replayed).collect())
    }

    /// Does the same, and adds what the log records about each module that ran.
    pub(crate) fn replayed(
        &self,
        source: &Source,
        key: Option<&Key>,
    ) -> Result<Vec<ReplayStep>, RuntimeError> {
        let report = verify(source, key)?;
        if let Some(problem) = report.problems.first() {
            let what = format!("{}: {}", problem.file, problem.message);
            return Err(LogError::Broken { what }.into());
        }
        let mut known: HashMap<String, CurrentSkill> = HashMap::new();
        let mut all = Vec::new();
        for entry in source.entries(1)? {
            let entry = entry?;
            if let Some(reason) = &entry.unreadable {
                let what = format!("event {}: {reason}", entry.seq);
                return Err(LogError::Broken { what }.into());
            }
            let Some(subject) = subject(&entry.event) else { continue };
            let id = subject.skill_id.to_owned();
            let current = known.entry(id.clone()).or_insert_with(|| self.current_skill(&id));
            let (status, current) = match current {
                CurrentSkill::Gone => (ReplayStatus::Gone, None),
                CurrentSkill::Broken => (ReplayStatus::Drifted, None),
                CurrentSkill::Loaded { content, bundle } => {
                    let digest = match subject.covers {
                        Covers::Content => Some(content.clone()),
                        Covers::Bundle => bundle.clone(),
                    };
                    let is_same = digest.as_deref() == Some(subject.digest);
                    (if is_same { ReplayStatus::Same } else { ReplayStatus::Drifted }, digest)
                }
            };
            let replayed = Replayed {
                seq: entry.seq,
                recorded: subject.digest.to_owned(),
                time: entry.time,
                event: entry.name,
                skill_id: id,
                current,
                status,
                repeated: None,
            };
            all.push(ReplayStep { replayed, module: executed(entry.event) });
        }
        Ok(all)
    }

    /// Returns the current version of a skill, even if it is disabled.
    fn current_skill(&self, id: &str) -> CurrentSkill {
        let Some(skill) = self.all_skills().iter().find(|skill| skill.id == id) else {
            let is_broken = self.refused_skills().iter().any(|refused| refused.id == id);
            return if is_broken { CurrentSkill::Broken } else { CurrentSkill::Gone };
        };
        let Ok(content) = self.hash(skill) else { return CurrentSkill::Broken };
        let plan = self.plan_run(id, None, RequestedAccess::default());
        let bundle = plan.ok().map(|plan| plan.subject.bundle.to_string());
        CurrentSkill::Loaded { content, bundle }
    }
}

/// A digest from an event that can be compared with the current skill.
struct Subject<'a> {
    skill_id: &'a str,
    digest: &'a str,
    covers: Covers,
}

/// What a logged digest covers.
enum Covers {
    Content,
    Bundle,
}

/// Returns the skill of an activation or an execution, or `None` for events that are not replayed.
fn subject(event: &Event) -> Option<Subject<'_>> {
    match event {
        Event::Activated(SkillActivation { skill_id, hash, .. }) => {
            Some(Subject { skill_id, digest: hash, covers: Covers::Content })
        }
        Event::ScriptExecuted(execution) => Some(Subject {
            skill_id: &execution.skill_id,
            digest: &execution.bundle_sha256,
            covers: Covers::Bundle,
        }),
        _ => None,
    }
}

/// Returns what an event records about a module that ran, unless that run was itself a repetition.
fn executed(event: Event) -> Option<Box<RecordedExecution>> {
    let Event::ScriptExecuted(execution) = event else { return None };
    let ScriptExecution { script, record, wasm, .. } = *execution;
    let wasm = wasm.filter(|wasm| wasm.repeats.is_none())?;
    Some(Box::new(RecordedExecution {
        script,
        input_hash: record.input_hash,
        output_hash: record.output_hash,
        exit_status: record.exit_status.as_str().to_owned(),
        wasm,
    }))
}
