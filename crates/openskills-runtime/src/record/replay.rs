//! Goes through a log again: is what was activated and run still what it was?

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::decide::permit::Asked;
use crate::record::log::{Key, LogError, Source, verify};
use crate::{
    Event, OpenSkillRuntime, RuntimeError, ScriptExecution, SkillActivation, WasmExecution,
};

/// An event of a log, beside today's skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replayed {
    /// The number of the event.
    pub seq: u64,
    /// When it was.
    pub time: String,
    /// `skill.activated` or `skill.script_executed`.
    pub event: String,
    /// The skill's id.
    pub skill_id: String,
    /// The digest that it had: of the content for an activation, of the whole bundle for an execution.
    pub recorded: String,
    /// The digest that it has today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub today: Option<String>,
    /// What became of it.
    pub fate: Fate,
    /// What came of running it again, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
}

/// What the log tells of a module that ran.
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) script: String,
    pub(crate) input_hash: String,
    pub(crate) output_hash: String,
    pub(crate) exit_status: String,
    pub(crate) wasm: WasmExecution,
}

/// What came of running something again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Repeated {
    /// Whether it wrote the same.
    pub repetition: Repetition,
    /// The digest of what it wrote now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// An event beside today's skill, with what the log tells of a module that ran.
pub(crate) struct ReplayStep {
    pub(crate) replayed: Replayed,
    pub(crate) module: Option<Box<Executed>>,
}

/// Whether something that was run again wrote the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Repetition {
    /// Byte by byte.
    Same,
    /// It did not.
    Different,
    /// It cannot be run again.
    NotRun,
}

/// What became of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is what it was: the same activation gives the same text.
    Same,
    /// It is another version, or cannot be loaded any more.
    Drifted,
    /// It is not there.
    Gone,
}

/// The digests of today's skill.
#[derive(Debug, Clone)]
enum Today {
    Gone,
    Broken,
    Is { content: String, bundle: Option<String> },
}

impl OpenSkillRuntime {
    /// Holds every activation and execution of a log to today's skills. A log that was changed is refused.
    pub fn replay(
        &self,
        source: &Source,
        key: Option<&Key>,
    ) -> Result<Vec<Replayed>, RuntimeError> {
        Ok(self.replayed(source, key)?.into_iter().map(|step| step.replayed).collect())
    }

    /// The same, each module that ran with what the log tells of it.
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
        let mut known: HashMap<String, Today> = HashMap::new();
        let mut all = Vec::new();
        for entry in source.entries(1)? {
            let entry = entry?;
            if let Some(reason) = &entry.unreadable {
                let what = format!("event {}: {reason}", entry.seq);
                return Err(LogError::Broken { what }.into());
            }
            let Some(subject) = subject(&entry.event) else { continue };
            let id = subject.skill_id.to_owned();
            let today = known.entry(id.clone()).or_insert_with(|| self.today(&id));
            let (fate, today) = match today {
                Today::Gone => (Fate::Gone, None),
                Today::Broken => (Fate::Drifted, None),
                Today::Is { content, bundle } => {
                    let digest = match subject.covers {
                        Covers::Content => Some(content.clone()),
                        Covers::Bundle => bundle.clone(),
                    };
                    let is_same = digest.as_deref() == Some(subject.digest);
                    (if is_same { Fate::Same } else { Fate::Drifted }, digest)
                }
            };
            let replayed = Replayed {
                seq: entry.seq,
                recorded: subject.digest.to_owned(),
                time: entry.time,
                event: entry.name,
                skill_id: id,
                today,
                fate,
                repeated: None,
            };
            all.push(ReplayStep { replayed, module: executed(entry.event) });
        }
        Ok(all)
    }

    /// Finds today's version of a skill, switched off or not.
    fn today(&self, id: &str) -> Today {
        let Some(skill) = self.all_skills().iter().find(|skill| skill.id == id) else {
            let is_broken = self.refused_skills().iter().any(|refused| refused.id == id);
            return if is_broken { Today::Broken } else { Today::Gone };
        };
        let Ok(content) = self.hash(skill) else { return Today::Broken };
        let plan = self.plan_run(id, None, Asked::default());
        let bundle = plan.ok().map(|plan| plan.subject.bundle.to_string());
        Today::Is { content, bundle }
    }
}

/// What an event says of a skill that can be compared with today's.
struct Subject<'a> {
    skill_id: &'a str,
    digest: &'a str,
    covers: Covers,
}

/// What a recorded digest is of.
enum Covers {
    Content,
    Bundle,
}

/// Returns the skill of an activation or an execution; other events are not replayed.
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

/// Returns what an event tells of a module that ran, unless that was a repetition.
fn executed(event: Event) -> Option<Box<Executed>> {
    let Event::ScriptExecuted(execution) = event else { return None };
    let ScriptExecution { script, record, wasm, .. } = *execution;
    let wasm = wasm.filter(|wasm| wasm.repeats.is_none())?;
    Some(Box::new(Executed {
        script,
        input_hash: record.input_hash,
        output_hash: record.output_hash,
        exit_status: record.exit_status.as_str().to_owned(),
        wasm,
    }))
}
