//! `skills.run_script`.

use std::ffi::OsString;
use std::time::Duration;

use openskills_runtime::{
    Caller, Cancel, Execution, ExecutionOptions, Input, Invocation, OpenSkillRuntime, Reader, Stage,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};

use super::inputs::{RunScriptInput, parse};
use super::outputs::RunOutput;
use super::{Failure, answered};
use crate::commands::run::code_of;
use crate::mcp::server::Served;

/// How many changes of the workspace are named in the text.
const MAX_CHANGES: usize = 50;
/// The longest that a script may take.
pub(in crate::mcp) const MAX_SECONDS: u64 = 600;

/// Runs a script of a skill, until it ends or is cancelled.
pub(in crate::mcp) fn run_script(
    runtime: &mut OpenSkillRuntime,
    served: &Served,
    arguments: JsonObject,
    cancel: Cancel,
) -> Result<CallToolResult, Failure> {
    let given: RunScriptInput = parse(arguments)?;
    let name = given.skill.chosen()?;
    let workspace = served.workspace.clone().filter(|_| given.use_workspace);
    if given.use_workspace && workspace.is_none() {
        let what =
            "this server was started without a workspace; `openskills mcp --workspace DIR` has one";
        return Err(Failure::Arguments(what.to_owned()));
    }
    let invocation = Invocation {
        args: given.args.into_iter().map(OsString::from).collect(),
        input: Some(given.input).filter(|input| !input.is_null()).map(Input::from),
        workspace,
        timeout: given.timeout_seconds.map(Duration::from_secs),
        dry_run: given.dry_run,
        seed: given.seed,
        // Where it ends with its client: a process can be ended, a thread cannot.
        stage: Stage::Always,
        ..Invocation::default()
    };
    let caller = Caller { cancel, reader: Reader::Model, ..Caller::default() };
    let options = ExecutionOptions {
        script: given.script,
        invocation,
        caller,
        ..ExecutionOptions::default()
    };
    runtime.check_model_starts(runtime.skill_for_model(&name)?)?;
    let done = runtime.execute_skill(&name, options);
    executed(&done?)
}

fn executed(done: &Execution) -> Result<CallToolResult, Failure> {
    let code = code_of(done).number();
    // A model needs no secret that a script was given, and what it reads may be kept elsewhere.
    let clean = |text: &str| done.for_model(text).into_owned();
    let [stdout, stderr] = done.streams_for_model();
    let change =
        |change: &sandbox::Change| clean(&format!("{} {}", change.kind.as_str(), change.shown()));
    let output = if stdout == done.output {
        done.json.clone()
    } else {
        serde_json::from_str(stdout.trim()).ok()
    };
    let changes: Vec<String> = done.changes.iter().take(1000).map(change).collect();
    let streams = ["stdout", "stderr"].into_iter().zip(done.written);
    let streams = streams.zip([done.stdout.len(), done.stderr.len()]);
    let cut: Vec<&'static str> = streams
        .filter(|((_, written), kept)| *written > *kept as u64)
        .map(|((name, _), _)| name)
        .collect();
    let not_committed = done.not_committed.as_ref().map(|error| clean(&error.to_string()));
    let about = RunOutput {
        exit_code: code,
        exit_status: done.record.exit_status,
        skill_id: &done.record.skill_id,
        changes: &changes,
        committed: done.committed,
        tried: done.violations.iter().map(|violation| violation.call.as_str()).collect(),
        not_granted: &done.left_out,
        cut: &cut,
        output,
        note: done.note.as_deref().map(clean),
        diff: done.diff.as_deref().map(clean),
        not_committed: not_committed.clone(),
        review: done.review.as_deref().map(clean),
    };
    let mut text = stdout;
    if !stderr.is_empty() {
        text += &format!("\n[standard error]\n{stderr}");
    }
    if !cut.is_empty() {
        let written = done.written;
        text += &format!(
            "\n[it wrote too much: {} cut; there were {} bytes of stdout and {} of stderr; for the rest, have it write less, or a file in the workspace]",
            if cut.len() == 1 {
                format!("{} is", cut[0])
            } else {
                "stdout and stderr are".to_owned()
            },
            written[0],
            written[1]
        );
    }
    if let Some(error) = &not_committed {
        text += &format!("\n[{error}]");
    } else if code != 0 {
        text += &format!("\n[it ended with code {code}]");
    }
    if !changes.is_empty() {
        let what = if done.committed { "changed" } else { "would change" };
        let more = changes.len().saturating_sub(MAX_CHANGES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let first = changes.iter().take(MAX_CHANGES).map(String::as_str);
        text +=
            &format!("\n[{what} in the workspace: {}{more}]", first.collect::<Vec<_>>().join(", "));
    }
    if done.is_dropped() {
        text += "\n[it failed, so nothing that it wrote to the workspace was kept]";
    }
    for cause in &done.causes {
        text += &format!("\n[{}]", clean(cause));
    }
    let mut result = answered(vec![ContentBlock::text(text)], &about)?;
    result.is_error = Some(code != 0);
    Ok(result)
}
