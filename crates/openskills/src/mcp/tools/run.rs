//! `skills.run_script`.

use std::ffi::OsString;
use std::time::Duration;

use openskills_runtime::permit::Asked;
use openskills_runtime::{
    Cancel, Execution, ExecutionOptions, Input, OpenSkillRuntime, Reader, Stage,
};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{Arguments, Failure, answered};
use crate::commands::run::code_of;
use crate::mcp::server::Served;

/// How many changes of the workspace are named in the text.
const MOST_CHANGES: usize = 50;
/// The longest that a script may take.
pub(in crate::mcp) const MOST_SECONDS: u64 = 600;

/// Runs a script of a skill, until it ends or is cancelled.
pub(in crate::mcp) fn run_script(
    runtime: &mut OpenSkillRuntime,
    served: &Served,
    arguments: JsonObject,
    cancel: Cancel,
) -> Result<CallToolResult, Failure> {
    let mut arguments = Arguments(arguments);
    let name = arguments.skill()?;
    let script = arguments.text("script")?;
    let args = arguments.texts("args")?.into_iter().map(OsString::from).collect();
    let input = arguments.0.remove("input").filter(|input| !input.is_null()).map(Input::from);
    let timeout = arguments.number("timeout_seconds")?;
    let seed = arguments.number("seed")?;
    let (use_workspace, dry_run) = (arguments.flag("use_workspace")?, arguments.flag("dry_run")?);
    arguments.end()?;
    if timeout.is_some_and(|seconds| seconds == 0 || seconds > MOST_SECONDS) {
        return Err(Failure::Arguments(format!(
            "`timeout_seconds` must be between 1 and {MOST_SECONDS}"
        )));
    }
    let workspace = served.workspace.clone().filter(|_| use_workspace);
    if use_workspace && workspace.is_none() {
        let what =
            "this server was started without a workspace; `openskills mcp --workspace DIR` has one";
        return Err(Failure::Arguments(what.to_owned()));
    }
    let options = ExecutionOptions {
        script,
        args,
        input,
        workspace,
        timeout: timeout.map(Duration::from_secs),
        asked: Asked::default(),
        dry_run,
        seed,
        // Where it ends with its client: a process can be ended, a thread cannot.
        stage: Stage::Always,
        cancel,
        reader: Reader::Model,
        ..ExecutionOptions::default()
    };
    runtime.check_model_starts(runtime.skill_for_model(&name)?)?;
    let done = runtime.execute_skill(&name, options);
    Ok(executed(&done?))
}

fn executed(done: &Execution) -> CallToolResult {
    let code = code_of(done).number();
    // A model needs no secret that a script was given, and what it reads may be kept elsewhere.
    let clean = |text: &str| done.for_model(text).into_owned();
    let [stdout, stderr] = done.streams_for_model();
    let change = |change: &openskills_runtime::sandbox::Change| {
        clean(&format!("{} {}", change.kind.as_str(), change.shown()))
    };
    let output = if stdout == done.output {
        done.json.clone()
    } else {
        serde_json::from_str(stdout.trim()).ok()
    };
    let changes: Vec<String> = done.changes.iter().take(1000).map(change).collect();
    let tried: std::collections::BTreeSet<&str> =
        done.violations.iter().map(|violation| violation.call.as_str()).collect();
    let mut data = json!({
        "exitCode": code,
        "exitStatus": done.record.exit_status,
        "skillId": done.record.skill_id,
        "changes": changes,
        "committed": done.committed,
        "tried": tried,
        "notGranted": done.left_out,
    });
    let streams = ["stdout", "stderr"].into_iter().zip(done.written);
    let streams = streams.zip([done.stdout.len(), done.stderr.len()]);
    let cut: Vec<&str> = streams
        .filter(|((_, written), kept)| *written > *kept as u64)
        .map(|((name, _), _)| name)
        .collect();
    if !cut.is_empty() {
        data["cut"] = json!(cut);
    }
    for (key, value) in [
        ("output", output),
        ("note", done.note.as_deref().map(clean).map(Value::from)),
        ("diff", done.diff.as_deref().map(clean).map(Value::from)),
        ("notCommitted", done.not_committed.as_ref().map(|error| clean(&error.to_string()).into())),
        ("review", done.review.as_deref().map(clean).map(Value::from)),
    ] {
        if let Some(value) = value {
            data[key] = value;
        }
    }
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
    if let Some(error) = &done.not_committed {
        text += &format!("\n[{}]", clean(&error.to_string()));
    } else if code != 0 {
        text += &format!("\n[it ended with code {code}]");
    }
    if !changes.is_empty() {
        let what = if done.committed { "changed" } else { "would change" };
        let more = changes.len().saturating_sub(MOST_CHANGES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let first = changes.iter().take(MOST_CHANGES).map(String::as_str);
        text +=
            &format!("\n[{what} in the workspace: {}{more}]", first.collect::<Vec<_>>().join(", "));
    }
    if done.is_dropped() {
        text += "\n[it failed, so nothing that it wrote to the workspace was kept]";
    }
    for cause in &done.causes {
        text += &format!("\n[{}]", clean(cause));
    }
    let mut result = answered(text, data);
    result.is_error = Some(code != 0);
    result
}
