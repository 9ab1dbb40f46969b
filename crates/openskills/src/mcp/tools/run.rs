//! `skills.run_script`: runs a script of a skill in the sandbox.

use std::ffi::OsString;
use std::time::Duration;

use openskills_runtime::{
    Audience, Caller, Cancel, Execution, ExecutionOptions, Input, Invocation, OpenSkillRuntime,
    Stage,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use skill::ByteSize;

use super::inputs::{RunScriptInput, parse};
use super::outputs::RunOutput;
use super::{Failure, with_meta};
use crate::commands::run::code_of;
use crate::mcp::server::ServeConfig;

/// The maximum number of workspace changes in the text.
const MAX_CHANGES: usize = 50;
/// The maximum timeout of a script, in seconds.
pub(in crate::mcp) const MAX_SECONDS: u64 = 600;

/// Runs a script until it ends or is canceled.
pub(in crate::mcp) fn run_script(
    runtime: &mut OpenSkillRuntime,
    config: &ServeConfig,
    arguments: JsonObject,
    cancel: Cancel,
) -> Result<CallToolResult, Failure> {
    let input: RunScriptInput = parse(arguments)?;
    let name = input.skill.name_or_id()?;
    let workspace = config.workspace.clone().filter(|_| input.use_workspace);
    if input.use_workspace && workspace.is_none() {
        let message = "this server has no workspace; the user can restart it with `openskills mcp --workspace DIR`";
        return Err(Failure::Arguments(message.to_owned()));
    }
    let invocation = Invocation {
        args: input.args.into_iter().map(OsString::from).collect(),
        input: Some(input.input).filter(|input| !input.is_null()).map(Input::from),
        workspace,
        timeout: input.timeout_seconds.map(Duration::from_secs),
        dry_run: input.dry_run,
        seed: input.seed,
        // A separate process can be killed when the client disconnects; a thread cannot.
        stage: Stage::Always,
        ..Invocation::default()
    };
    let caller = Caller { cancel, audience: Audience::Model, ..Caller::default() };
    let options = ExecutionOptions {
        script: input.script,
        invocation,
        caller,
        ..ExecutionOptions::default()
    };
    runtime.check_model_starts(runtime.skill_for_model(&name)?)?;
    let execution = runtime.execute_skill(&name, options)?;
    run_result(&execution)
}

fn run_result(execution: &Execution) -> Result<CallToolResult, Failure> {
    let code = code_of(execution).number();
    // The model must not see the script's secrets: it does not need them, and what it reads may be stored elsewhere.
    let redact = |text: &str| execution.for_model(text).into_owned();
    let [stdout, stderr] = execution.streams_for_model();
    let change =
        |change: &sandbox::Change| redact(&format!("{} {}", change.kind.as_str(), change.shown()));
    let json = if stdout == execution.output {
        execution.json.clone()
    } else {
        serde_json::from_str(stdout.trim()).ok()
    };
    let changes: Vec<String> = execution.changes.iter().take(1000).map(change).collect();
    let streams = ["stdout", "stderr"].into_iter().zip(execution.written);
    let streams = streams.zip([execution.stdout.len(), execution.stderr.len()]);
    let truncated: Vec<&'static str> = streams
        .filter(|((_, written), kept)| *written > *kept as u64)
        .map(|((name, _), _)| name)
        .collect();
    let apply_error = execution.not_applied.as_ref().map(|error| redact(&error.to_string()));
    let output = RunOutput {
        exit_code: code,
        exit_status: execution.record.exit_status,
        skill_id: &execution.record.skill_id,
        changes: &changes,
        applied: execution.applied,
        blocked_calls: execution
            .violations
            .iter()
            .map(|violation| violation.call.as_str())
            .collect(),
        not_granted: &execution.not_granted,
        truncated: &truncated,
        output: json,
        note: execution.note.as_deref().map(redact),
        diff: execution.diff.as_deref().map(redact),
        not_applied: apply_error.clone(),
        review: execution.review.as_deref().map(redact),
    };
    let mut text = stdout;
    if !stderr.is_empty() {
        text += &format!("\n[stderr]\n{stderr}");
    }
    if !truncated.is_empty() {
        let [stdout, stderr] = execution.written.map(ByteSize);
        text += &format!(
            "\n[truncated: {}; the script wrote {stdout} to stdout and {stderr} to stderr; \
             to see the rest, make it write less, or write to a file in the workspace]",
            truncated.join(" and "),
        );
    }
    if let Some(error) = &apply_error {
        text += &format!("\n[{error}]");
    } else if code != 0 {
        text += &format!("\n[the script exited with code {code}]");
    }
    if !changes.is_empty() {
        let verb = if execution.applied { "changed" } else { "would change" };
        let more = changes.len().saturating_sub(MAX_CHANGES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let first = changes.iter().take(MAX_CHANGES).map(String::as_str);
        text +=
            &format!("\n[{verb} in the workspace: {}{more}]", first.collect::<Vec<_>>().join(", "));
    }
    if execution.is_dropped() {
        text += "\n[the script failed, so its changes to the workspace were discarded]";
    }
    for cause in &execution.causes {
        text += &format!("\n[{}]", redact(cause));
    }
    let mut result = with_meta(vec![ContentBlock::text(text)], &output)?;
    result.is_error = Some(code != 0);
    Ok(result)
}
