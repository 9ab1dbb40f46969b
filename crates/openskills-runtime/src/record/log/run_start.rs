//! The event that starts an execution, and the one that ends it if nothing could be started after all.

use super::LogError;
use crate::Event;
use crate::record::event::{CommandFailure, CommandStart, ScriptFailure, ScriptStart};

/// The start of an execution.
#[derive(Debug, Clone)]
pub(crate) enum RunStart {
    /// A script of a skill.
    Script(Box<ScriptStart>),
    /// A command line of an agent.
    Command(Box<CommandStart>),
}

impl RunStart {
    pub(super) fn execution_id(&self) -> &str {
        match self {
            Self::Script(start) => &start.execution_id,
            Self::Command(start) => &start.execution_id,
        }
    }

    /// Returns the event that starts it.
    pub(crate) fn event(&self) -> Event {
        match self {
            Self::Script(start) => Event::ScriptStarted(start.clone()),
            Self::Command(start) => Event::CommandStarted(start.clone()),
        }
    }

    /// Returns the event that ends it because it could not be logged properly. Nothing was started.
    pub(super) fn failed(&self, error: &LogError) -> Event {
        let (code, reason) = ("log".to_owned(), error.to_string());
        match self {
            Self::Script(start) => Event::ScriptFailed(Box::new(ScriptFailure {
                execution_id: start.execution_id.clone(),
                skill_id: start.skill_id.clone(),
                session_id: start.session_id.clone(),
                task_id: start.task_id.clone(),
                script: start.script.clone(),
                code,
                reason,
                may_have_written: false,
            })),
            Self::Command(start) => Event::CommandFailed(Box::new(CommandFailure {
                execution_id: start.execution_id.clone(),
                session_id: start.session_id.clone(),
                tool_use_id: start.tool_use_id.clone(),
                command: start.command.clone(),
                code,
                reason,
            })),
        }
    }
}
