//! Checks after a tool call that it ran as decided, and tells the model what it should know.

use openskills_runtime::{OpenSkillRuntime, RuntimeError, TicketState, UnconfinedState};
use serde_json::{Value, json};

use super::event::{HookEvent, ToolUse};
use super::tools::is_shell;

/// Answers the event after a tool call.
pub(super) fn after_tool(
    runtime: &mut OpenSkillRuntime,
    event: &HookEvent,
    call: &ToolUse,
) -> Result<Option<Value>, RuntimeError> {
    if !is_shell(&call.tool) {
        return Ok(None);
    }
    let problem = match runtime.take_call(&event.session, &call.id)? {
        Some((TicketState::Done, record)) => return Ok(note(event, &record.notes)),
        Some((TicketState::Unconfined, record)) => {
            runtime.record_unconfined(&record, UnconfinedState::HasRun)?;
            return Ok(None);
        }
        // A command in the background is still running.
        Some((TicketState::Started | TicketState::Unrestricted, _)) => return Ok(None),
        Some((TicketState::Issued, _)) => {
            "a command line ran without the sandbox, although openskills had rewritten it"
        }
        Some((TicketState::Denied, _)) => "a command line ran although openskills had denied it",
        None if runtime.active_skills()?.is_empty() => return Ok(None),
        None => "a command line ran without asking openskills",
    };
    let reason = format!("openskills stops this session: {problem} (call {})", call.id);
    // Not every agent version stops on the answer, so every further call is refused as well.
    runtime.stop_session(&reason)?;
    Ok(Some(json!({ "continue": false, "stopReason": reason })))
}

fn note(event: &HookEvent, notes: &[String]) -> Option<Value> {
    let name = if event.is_failure { "PostToolUseFailure" } else { "PostToolUse" };
    (!notes.is_empty()).then(|| {
        json!({
            "hookSpecificOutput": {
                "hookEventName": name,
                "additionalContext": format!("openskills: {}", notes.join("; ")),
            }
        })
    })
}
