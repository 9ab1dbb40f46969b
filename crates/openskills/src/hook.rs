//! Answers the hooks of an agent (Claude Code): which skills it loads, what a tool call may do, and how calls went.
//!
//! An answer only ever restricts. Everything that fails stops the call.

mod after;
mod agent;
mod before;
mod event;
mod loading;
mod settings;
mod tools;
mod user_rules;

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, RuntimeError};
use serde_json::Value;

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover, discover_active};

pub(crate) use event::{HookEvent, Occasion, ToolUse};
pub(crate) use settings::{with_hooks, without_hooks};

/// Answers an event of an agent whose calls are enforced. `None` leaves the decision to the agent.
pub(crate) fn answer(
    context: &Context,
    discovery: &DiscoveryArgs,
    event: &HookEvent,
) -> Result<Option<Value>, RuntimeError> {
    let project = event.project.clone().filter(|_| discovery.project.is_none());
    let config = discovery.config(context)?;
    let config = RuntimeConfig {
        session_id: Some(event.session.clone()),
        project_root: project.or(config.project_root),
        ..config
    };
    match &event.occasion {
        Occasion::SessionEnd => {
            OpenSkillRuntime::with_config(config).end_session()?;
            Ok(None)
        }
        Occasion::BeforeTool(call) => {
            let runtime = match loading::may_load_skill(call, &event.cwd) {
                true => discover(config)?,
                false => discover_active(config)?,
            };
            before::before_tool(runtime, event, call)
        }
        Occasion::AfterTool(call) => {
            after::after_tool(&mut OpenSkillRuntime::with_config(config), event, call)
        }
        Occasion::Expansion(command) => {
            let runtime = discover(config)?;
            runtime.check_not_stopped()?;
            loading::load_skill(runtime, event, &command.name, &command.arguments)?;
            Ok(None)
        }
        Occasion::Other => Ok(None),
    }
}
