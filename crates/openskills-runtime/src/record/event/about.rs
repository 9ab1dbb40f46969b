//! Properties that every event has. Each is one exhaustive `match`, so a new event does not compile until it is
//! handled.

use super::{CallOutcome, CommandWrites, Event, ExitStatus};
use crate::decide::policy::Decision;

/// Whether an event needs review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSeverity {
    /// Expected activity.
    Info,
    /// Something failed, was denied, or is not as it should be.
    Warning,
}

impl Event {
    /// Returns the ID of the skill that the event is about, if any.
    pub fn skill_id(&self) -> Option<&str> {
        match self {
            Self::Discovered { skill_id, .. }
            | Self::Removed { skill_id, .. }
            | Self::Deactivated { skill_id, .. }
            | Self::Undone { skill_id, .. }
            | Self::ServedChanged { skill_id, .. }
            | Self::BeyondLimits { skill_id, .. }
            | Self::NotListed { skill_id, .. } => Some(skill_id),
            Self::Activated(activation) => Some(&activation.skill_id),
            Self::Installed(_) | Self::Uninstalled(_) | Self::Called { .. } => None,
            Self::ActivationFailed(failure) => failure.skill_id.as_deref(),
            Self::ResourceRead(read) => Some(&read.skill_id),
            Self::ScriptStarted(start) => Some(&start.skill_id),
            Self::ScriptExecuted(execution) => Some(&execution.skill_id),
            Self::ScriptFailed(failure) => Some(&failure.skill_id),
            Self::ScriptInterrupted(interruption) => Some(&interruption.skill_id),
            Self::ApplyFailed(failure) => Some(&failure.skill_id),
            Self::Applied(applied) => Some(&applied.skill_id),
            Self::ApplyInterrupted(interruption) => Some(&interruption.skill_id),
            Self::PolicyDecided(decision) => decision.skill_id.as_deref(),
            Self::PackagesPrepared(prepared) => Some(&prepared.skill_id),
            Self::ApprovalGranted(change) | Self::ApprovalRevoked(change) => Some(&change.skill_id),
            // They are about every active skill.
            Self::CommandStarted(_)
            | Self::CommandExecuted(_)
            | Self::CommandFailed(_)
            | Self::CommandInterrupted(_)
            | Self::CommandUnconfined(_)
            | Self::LogStarted(_)
            | Self::LogRecovered(_)
            | Self::CheckpointFailed(_)
            | Self::Unknown => None,
        }
    }

    /// Returns the ID of the skill that the event is about, or its name if there is no ID.
    pub fn skill(&self) -> Option<&str> {
        match self {
            // The requested name may not be a skill at all.
            Self::ActivationFailed(failure) => self.skill_id().or(Some(&failure.name)),
            Self::Installed(record) | Self::Uninstalled(record) => Some(&record.installed.name),
            other => other.skill_id(),
        }
    }

    /// Returns the ID of the session, if the event has one.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::Deactivated { session_id, .. }
            | Self::Undone { session_id, .. }
            | Self::BeyondLimits { session_id, .. }
            | Self::NotListed { session_id, .. }
            | Self::ServedChanged { session_id, .. }
            | Self::Called { session_id, .. } => Some(session_id),
            Self::Activated(activation) => Some(&activation.session_id),
            Self::ActivationFailed(failure) => Some(&failure.session_id),
            Self::ResourceRead(read) => Some(&read.session_id),
            Self::ScriptStarted(start) => Some(&start.session_id),
            Self::ScriptExecuted(execution) => Some(&execution.session_id),
            Self::ScriptFailed(failure) => Some(&failure.session_id),
            Self::ScriptInterrupted(interruption) => Some(&interruption.session_id),
            Self::ApplyFailed(failure) => Some(&failure.session_id),
            Self::Applied(applied) => Some(&applied.session_id),
            Self::ApplyInterrupted(interruption) => Some(&interruption.session_id),
            Self::PolicyDecided(decision) => Some(&decision.session_id),
            Self::PackagesPrepared(prepared) => Some(&prepared.session_id),
            Self::CommandStarted(start) => Some(&start.session_id),
            Self::CommandExecuted(execution) => Some(&execution.session_id),
            Self::CommandFailed(failure) => Some(&failure.session_id),
            Self::CommandInterrupted(interruption) => Some(&interruption.session_id),
            Self::CommandUnconfined(unconfined) => Some(&unconfined.session_id),
            Self::Discovered { .. }
            | Self::Removed { .. }
            | Self::Installed(_)
            | Self::Uninstalled(_)
            | Self::ApprovalGranted(_)
            | Self::ApprovalRevoked(_)
            | Self::LogStarted(_)
            | Self::LogRecovered(_)
            | Self::CheckpointFailed(_)
            | Self::Unknown => None,
        }
    }

    /// Returns whether the event needs review.
    pub fn severity(&self) -> EventSeverity {
        match self {
            Self::ActivationFailed(_)
            | Self::ScriptFailed(_)
            | Self::ScriptInterrupted(_)
            | Self::ApplyFailed(_)
            | Self::ApplyInterrupted(_)
            | Self::BeyondLimits { .. }
            | Self::NotListed { .. }
            | Self::ServedChanged { .. }
            | Self::LogRecovered(_)
            | Self::CheckpointFailed(_)
            | Self::CommandFailed(_)
            | Self::CommandInterrupted(_)
            | Self::CommandUnconfined(_)
            // It could be anything.
            | Self::Unknown => EventSeverity::Warning,
            Self::ScriptExecuted(execution) => match execution.record.exit_status {
                ExitStatus::Success => EventSeverity::Info,
                ExitStatus::Failed | ExitStatus::Timeout => EventSeverity::Warning,
            },
            Self::CommandExecuted(execution) => match execution.writes {
                CommandWrites::Kept => EventSeverity::Warning,
                CommandWrites::Nothing | CommandWrites::Applied | CommandWrites::Dropped => {
                    EventSeverity::Info
                }
            },
            Self::PolicyDecided(decided) => match decided.decision {
                Decision::Allow | Decision::Ask => EventSeverity::Info,
                Decision::Deny => EventSeverity::Warning,
            },
            Self::Called { outcome, .. } => match outcome {
                CallOutcome::Answered | CallOutcome::Asked => EventSeverity::Info,
                CallOutcome::Failed => EventSeverity::Warning,
            },
            Self::Discovered { .. }
            | Self::Removed { .. }
            | Self::Activated(_)
            | Self::Deactivated { .. }
            | Self::ResourceRead(_)
            | Self::ScriptStarted(_)
            | Self::CommandStarted(_)
            | Self::Applied(_)
            | Self::Undone { .. }
            | Self::Installed(_)
            | Self::Uninstalled(_)
            | Self::PackagesPrepared(_)
            | Self::ApprovalGranted(_)
            | Self::ApprovalRevoked(_)
            | Self::LogStarted(_) => EventSeverity::Info,
        }
    }
}
