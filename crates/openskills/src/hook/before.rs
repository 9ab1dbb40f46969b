//! Decides about a tool call before it runs.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the path of this program, and what paths lead to"
)]

use std::fs;
use std::path::{Component, Path, PathBuf};

use openskills_runtime::policy::{Decision, ToolInput, Verdict};
use openskills_runtime::{
    AgentLine, CheckedCall, OpenSkillRuntime, RuntimeError, TicketRecord, TicketState, ToolContext,
    UnconfinedState, UserDecision, shell_word, unconfined,
};
use serde_json::{Value, json};
use skill::Digest;

use super::agent::agent_process;
use super::event::{BYPASS, HookEvent, ToolUse};
use super::loading::activate_loaded;
use super::tools::{is_known, is_shell, is_writer, protected_file};
use super::user_rules::load_rules;

/// Folders of the system that contain nothing private.
const VISIBLE: [&str; 3] = ["/usr", "/bin", "/lib"];
/// How the names of the agent's own folders in `/tmp` begin.
const AGENT_TEMPORARY: &str = "claude";
/// Longer lines are kept in the ticket: the agent does not match permission rules against longer ones.
const MAX_LINE: usize = 8000;

/// Answers the event before a tool call; `None` leaves the decision to the agent.
pub(super) fn before_tool(
    runtime: &mut OpenSkillRuntime,
    event: &HookEvent,
    call: &ToolUse,
) -> Result<Option<Value>, RuntimeError> {
    runtime.check_not_stopped()?;
    let context = ToolContext {
        cwd: Some(event.cwd.clone()),
        project: event.project.clone(),
        ..ToolContext::default()
    };
    let verdict = runtime.check_tool(&context, &call.tool, &call.input)?;
    let is_denied = matches!(&verdict, Some(Verdict { decision: Decision::Deny, .. }));
    if !is_denied {
        activate_loaded(runtime, event, call)?;
    }
    if is_shell(&call.tool) {
        return command(runtime, event, call, verdict);
    }
    let Some(verdict) = verdict else { return Ok(None) };
    if is_denied {
        return Ok(Some(decision("deny", &verdict.reason)));
    }
    let own = runtime.own_folders()?;
    if let Some(file) = protected_file(&call.tool, &call.input, &event.cwd, &own, meanings) {
        let reason = format!(
            "`{file}` controls what may run; no tool may change it while a skill is active"
        );
        return Ok(Some(decision("deny", &reason)));
    }
    if verdict.decision == Decision::Ask && !verdict.is_unlisted {
        return Ok(Some(ask(event, &verdict.reason)));
    }
    if let Some(reason) = unusual_file(runtime, event, call, &context)? {
        return Ok(Some(ask(event, &reason)));
    }
    // While a skill is active, the user decides about tools that openskills does not know, and about those of servers.
    let is_known = is_known(&call.tool) || load_rules(event)?.allows_tool(&call.tool);
    Ok((!is_known).then(|| {
        let reason = format!("openskills does not know what the tool `{}` can do", call.tool);
        ask(event, &reason)
    }))
}

/// Returns why the user decides about the files of a call: they are not in the project, or other programs run or obey
/// them. A command line could not reach the ones or change the others.
fn unusual_file(
    runtime: &OpenSkillRuntime,
    event: &HookEvent,
    call: &ToolUse,
    context: &ToolContext,
) -> Result<Option<String>, RuntimeError> {
    let CheckedCall { call: checked, context } =
        runtime.checked_call(context, &call.tool, &call.input)?;
    let ToolInput::Files(files) = &checked.input else { return Ok(None) };
    let mut visible = context.workspace.clone();
    visible.extend(runtime.active_folders()?);
    visible.extend(VISIBLE.map(PathBuf::from));
    // Long output of tools, which the agent tells the model to read.
    visible.extend(event.transcript.as_ref().map(|file| file.with_extension("")));
    let temporary = |path: &Path| {
        let first = path.strip_prefix("/tmp").ok().and_then(|path| path.iter().next());
        first.is_some_and(|name| name.to_string_lossy().starts_with(AGENT_TEMPORARY))
    };
    let named = files.iter().filter(|file| !file.may_be_text).flat_map(|file| &file.paths);
    for path in named.flat_map(|path| meanings(path)) {
        let (path, shown) = (path.as_path(), path.display());
        if !temporary(path) && !visible.iter().any(|folder| path.starts_with(folder)) {
            return Ok(Some(format!("`{shown}` is not in the project")));
        }
        let is_protected =
            |path: &Path| path.iter().any(|name| sandbox::is_protected(&name.to_string_lossy()));
        let inside = context.workspace.iter().find_map(|folder| path.strip_prefix(folder).ok());
        if is_writer(&call.tool) && inside.is_some_and(is_protected) {
            return Ok(Some(format!(
                "other programs run `{shown}` or read their configuration from it"
            )));
        }
    }
    Ok(None)
}

/// Answers a call that runs a command line: it is rewritten so that it runs in the sandbox.
fn command(
    runtime: &mut OpenSkillRuntime,
    event: &HookEvent,
    call: &ToolUse,
    verdict: Option<Verdict>,
) -> Result<Option<Value>, RuntimeError> {
    let line = call.input["command"].as_str();
    let mut record = TicketRecord {
        session_id: event.session.clone(),
        tool_use_id: call.id.clone(),
        caller: event.cwd.clone(),
        cwd: runtime.next_folder(&event.cwd),
        project: event.project.clone(),
        line_sha256: Digest::of(line.unwrap_or_default().as_bytes()).to_string(),
        line: None,
        skills: runtime.active_skills()?,
        is_background: call.tool == "Monitor" || call.input["run_in_background"] == true,
        owner: agent_process(),
        secret_sha256: String::new(),
        notes: Vec::new(),
    };
    let Some(verdict) = verdict else {
        runtime.record_tool_call(TicketState::Unrestricted, &record)?;
        return Ok(None);
    };
    let deny = |runtime: &OpenSkillRuntime, record: &TicketRecord, reason: &str| {
        runtime.record_tool_call(TicketState::Denied, record)?;
        Ok(Some(decision("deny", reason)))
    };
    if verdict.decision == Decision::Deny {
        return deny(runtime, &record, &verdict.reason);
    }
    let Some(line) = line else {
        return deny(runtime, &record, "the call has no command line");
    };
    let agent_line = AgentLine {
        line,
        cwd: &record.cwd,
        project: event.project.as_deref(),
        mode: event.mode.as_deref(),
    };
    let users = load_rules(event)?.decide(agent_line, runtime)?;
    if let UserDecision::Deny(reason) = users {
        return deny(runtime, &record, &reason);
    }
    // The sandbox restricts what the matcher cannot see, except what rules of skills deny in the project itself.
    let is_asked = verdict.decision == Decision::Ask
        && !verdict.is_unlisted
        && runtime.active_skills_deny_tools()?;
    if let Some(reason) = unconfined(line) {
        if event.is_never_asked() {
            runtime.record_tool_call(TicketState::Denied, &record)?;
            return Ok(Some(ask(event, &reason)));
        }
        record.notes = vec![reason.clone()];
        record.line = Some(line.to_owned());
        runtime.record_tool_call(TicketState::Unconfined, &record)?;
        runtime.record_unconfined(&record, UnconfinedState::Asked)?;
        let reason = format!("{reason}; if you allow it, it runs without the sandbox");
        return Ok(Some(ask(event, &reason)));
    }
    let reason = match (is_asked, users) {
        (true, _) => Some(verdict.reason),
        (false, UserDecision::Ask(reason)) => Some(reason),
        (false, UserDecision::Allow | UserDecision::Deny(_)) => None,
    };
    if let Some(reason) = reason.as_ref().filter(|_| event.is_never_asked()) {
        runtime.record_tool_call(TicketState::Denied, &record)?;
        return Ok(Some(ask(event, reason)));
    }
    if line.len() > MAX_LINE {
        record.line = Some(line.to_owned());
    }
    let ticket = runtime.issue_ticket(record)?;
    let program = std::env::current_exe().and_then(fs::canonicalize);
    let program = program.map_err(|error| RuntimeError::Setup {
        message: format!("cannot determine the path of this program: {error}"),
        hint: None,
    })?;
    let program = program.to_string_lossy().into_owned();
    let program = shell_word(&program);
    let end = if line.len() > MAX_LINE { String::new() } else { format!(" -- {}", quoted(line)) };
    let mut input = call.input.clone();
    input["command"] = format!("{program} exec --ticket {}{end}", ticket.as_str()).into();
    let mut answer = json!({ "hookEventName": "PreToolUse", "updatedInput": input });
    if let Some(reason) = reason {
        answer["permissionDecision"] = "ask".into();
        answer["permissionDecisionReason"] = reason.into();
    }
    Ok(Some(json!({ "hookSpecificOutput": answer })))
}

/// Quotes a line as one word. Nothing in single quotes has a meaning to a shell.
fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

/// Asks the user. In the mode in which the agent does not ask, it would take the question for a yes, so the call is
/// denied.
fn ask(event: &HookEvent, reason: &str) -> Value {
    if event.is_never_asked() {
        let reason = format!("{reason}; in {BYPASS} mode, the agent cannot ask the user");
        return decision("deny", &reason);
    }
    decision("ask", reason)
}

fn decision(decision: &str, reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    })
}

/// Returns every path that a text may stand for: agents remove `..` from it, and the kernel follows symlinks first.
pub(super) fn meanings(path: &Path) -> Vec<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let mut all = vec![real(&plain), plain];
    // Without `..` in it, the kernel's meaning is among them.
    if let Ok(followed) = fs::canonicalize(path) {
        all.push(followed);
    }
    all.dedup();
    all
}

/// Returns where a path without `..` leads, whether it exists or not.
fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for folder in path.ancestors() {
        if let Ok(found) = fs::canonicalize(folder) {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        missing.extend(folder.file_name().map(std::ffi::OsStr::to_owned));
    }
    path.to_owned()
}
