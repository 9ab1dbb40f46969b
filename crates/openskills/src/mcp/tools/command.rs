//! `skills.run_command`: runs a command line in the sandbox, restricted to what the active skills may do.

use std::time::Duration;

use openskills_runtime::policy::Decision;
use openskills_runtime::{
    Cancel, CommandRequest, CommandResult, CommandStreams, OpenSkillRuntime, RuntimeError,
    ToolContext, unconfined,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use sandbox::ProcessId;
use serde_json::json;
use skill::ByteSize;

use super::inputs::{RunCommandInput, parse};
use super::outputs::CommandOutput;
use super::{Failure, with_meta};
use crate::commands::exec::{code_of, notes};
use crate::mcp::server::ServeConfig;

/// Runs a command line until it ends or is canceled.
pub(in crate::mcp) fn run_command(
    runtime: &mut OpenSkillRuntime,
    config: &ServeConfig,
    arguments: JsonObject,
    cancel: &Cancel,
) -> Result<CallToolResult, Failure> {
    let RunCommandInput { command, timeout_seconds } = parse(arguments)?;
    let refused =
        |message: String| Failure::Runtime(RuntimeError::PermissionDenied { message, hint: None });
    let Some(workspace) = config.workspace.clone() else {
        return Err(refused("this server has no workspace".to_owned()));
    };
    let cwd = runtime.next_folder(&workspace);
    let context = ToolContext {
        cwd: Some(cwd.clone()),
        project: Some(workspace.clone()),
        ..ToolContext::default()
    };
    let verdict = runtime.check_tool(&context, "Bash", &json!({ "command": command }))?;
    if let Some(verdict) = verdict {
        // The sandbox restricts what the matcher cannot see, except what rules of skills deny in the project itself.
        let is_refused = match verdict.decision {
            Decision::Allow => false,
            Decision::Ask => runtime.active_skills_deny_tools()?,
            Decision::Deny => true,
        };
        if is_refused {
            return Err(refused(verdict.reason));
        }
    }
    if let Some(reason) = unconfined(&command) {
        return Err(refused(format!("{reason}, which the sandbox does not provide")));
    }
    let request = CommandRequest {
        line: command,
        cwd: Some(cwd),
        workspace: Some(workspace.clone()),
        timeout: timeout_seconds.map(Duration::from_secs),
        streams: CommandStreams::Captured,
        owner: ProcessId::of(std::process::id().cast_signed()),
        ..CommandRequest::default()
    };
    let plan = runtime.plan_command(&request)?;
    let permit = runtime.authorize_command(plan)?;
    let done = runtime.run_command(permit, cancel)?;
    if let Some(cwd) = &done.cwd {
        runtime.remember_folder(&workspace, cwd)?;
    }
    result(&done)
}

fn result(done: &CommandResult) -> Result<CallToolResult, Failure> {
    let code = code_of(done).number();
    let text = |captured: &sandbox::Captured| String::from_utf8_lossy(&captured.bytes).into_owned();
    let mut shown = text(&done.stdout);
    if !done.stderr.bytes.is_empty() {
        shown += &format!("\n[stderr]\n{}", text(&done.stderr));
    }
    let mut truncated = Vec::new();
    for (name, stream) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
        if stream.is_truncated() {
            truncated.push(name);
            shown +=
                &format!("\n[{name} is truncated: the command wrote {}]", ByteSize(stream.total));
        }
    }
    if code != 0 {
        shown += &format!("\n[the command exited with code {code}]");
    }
    let notes = notes(done);
    for note in &notes {
        shown += &format!("\n[{note}]");
    }
    let output =
        CommandOutput { exit_code: code, truncated, notes, left_running: done.left_running };
    let mut result = with_meta(vec![ContentBlock::text(shown)], &output)?;
    result.is_error = Some(code != 0);
    Ok(result)
}
