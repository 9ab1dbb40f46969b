//! Goes through a log again: is what was activated and run still what it was?

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::decide::permit::Asked;
use crate::record::log::{Entry, Key, LogError, Source, verify};
use crate::{OpenSkillRuntime, RuntimeError, WasmExecution};

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
pub(crate) type Told = (Replayed, Option<Box<Executed>>);

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
        Ok(self.replayed(source, key)?.into_iter().map(|(event, _)| event).collect())
    }

    /// The same, each module that ran with what the log tells of it.
    pub(crate) fn replayed(
        &self,
        source: &Source,
        key: Option<&Key>,
    ) -> Result<Vec<Told>, RuntimeError> {
        let report = verify(source, key)?;
        if let Some(problem) = report.problems.first() {
            let what = format!("{}: {}", problem.file, problem.message);
            return Err(LogError::Broken { what }.into());
        }
        let mut known: HashMap<String, Today> = HashMap::new();
        let mut all = Vec::new();
        for entry in source.entries(1)? {
            let entry = entry?;
            let field = match entry.event.as_str() {
                "skill.activated" => "hash",
                "skill.script_executed" => "bundleSha256",
                _ => continue,
            };
            let id = required(&entry, "skillId")?;
            let recorded = required(&entry, field)?;
            let today = known.entry(id.clone()).or_insert_with(|| self.today(&id));
            let (fate, today) = match today {
                Today::Gone => (Fate::Gone, None),
                Today::Broken => (Fate::Drifted, None),
                Today::Is { content, bundle } => {
                    let digest =
                        if field == "hash" { Some(content.clone()) } else { bundle.clone() };
                    let is_same = digest.as_ref() == Some(&recorded);
                    (if is_same { Fate::Same } else { Fate::Drifted }, digest)
                }
            };
            let executed = executed(&entry)?;
            let Entry { seq, time, event, .. } = entry;
            let (skill_id, repeated) = (id, None);
            let event = Replayed { seq, time, event, skill_id, recorded, today, fate, repeated };
            all.push((event, executed));
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

/// Reads what an event tells of a module that ran, unless that was a repetition.
fn executed(entry: &Entry) -> Result<Option<Box<Executed>>, LogError> {
    let Some(wasm) = entry.fields.get("wasm") else { return Ok(None) };
    let broken = |what: String| LogError::Broken { what: format!("event {}: {what}", entry.seq) };
    let wasm: WasmExecution =
        serde_json::from_value(wasm.clone()).map_err(|error| broken(error.to_string()))?;
    if wasm.repeats.is_some() {
        return Ok(None);
    }
    let record = |key: &str| {
        let value = entry.fields.get("record").and_then(|record| record.get(key));
        let text = value.and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| broken(format!("its record has no `{key}`")))
    };
    let script = required(entry, "script")?;
    let (input_hash, output_hash) = (record("input_hash")?, record("output_hash")?);
    let exit_status = record("exit_status")?;
    Ok(Some(Box::new(Executed { script, input_hash, output_hash, exit_status, wasm })))
}

fn required(entry: &Entry, key: &str) -> Result<String, LogError> {
    let broken = || LogError::Broken { what: format!("event {} has no `{key}`", entry.seq) };
    entry.text(key).map(str::to_owned).ok_or_else(broken)
}
