//! What every event has in common, by one exhaustive `match` each: a new event does not compile before it has its answers.

use super::{CallOutcome, Event, ExitStatus};
use crate::decide::policy::Decision;

/// Whether somebody should look at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSeverity {
    /// What is expected to happen.
    Info,
    /// Something failed, was denied, or is not what it should be.
    Warning,
}

impl Event {
    /// Returns the id of the skill that it is about, if it is about one.
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
            Self::CommitFailed(failure) => Some(&failure.skill_id),
            Self::Committed(committed) => Some(&committed.skill_id),
            Self::CommitInterrupted(interruption) => Some(&interruption.skill_id),
            Self::PolicyDecided(decision) => decision.skill_id.as_deref(),
            Self::ApprovalGranted(change) | Self::ApprovalRevoked(change) => Some(&change.skill_id),
            Self::LogStarted(_)
            | Self::LogRecovered(_)
            | Self::CheckpointFailed(_)
            | Self::Unknown => None,
        }
    }

    /// Returns what to call the skill that it is about: its id, or the name where there is no id.
    pub fn skill(&self) -> Option<&str> {
        match self {
            // What was asked for may be no skill at all.
            Self::ActivationFailed(failure) => self.skill_id().or(Some(&failure.name)),
            Self::Installed(record) | Self::Uninstalled(record) => Some(&record.installed.name),
            other => other.skill_id(),
        }
    }

    /// Returns the session that it happened in.
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
            Self::CommitFailed(failure) => Some(&failure.session_id),
            Self::Committed(committed) => Some(&committed.session_id),
            Self::CommitInterrupted(interruption) => Some(&interruption.session_id),
            Self::PolicyDecided(decision) => Some(&decision.session_id),
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

    /// Returns whether somebody should look at it.
    pub fn severity(&self) -> EventSeverity {
        match self {
            Self::ActivationFailed(_)
            | Self::ScriptFailed(_)
            | Self::ScriptInterrupted(_)
            | Self::CommitFailed(_)
            | Self::CommitInterrupted(_)
            | Self::BeyondLimits { .. }
            | Self::NotListed { .. }
            | Self::ServedChanged { .. }
            | Self::LogRecovered(_)
            | Self::CheckpointFailed(_)
            // What it is cannot be told, so it may be anything.
            | Self::Unknown => EventSeverity::Warning,
            Self::ScriptExecuted(execution) => match execution.record.exit_status {
                ExitStatus::Success => EventSeverity::Info,
                ExitStatus::Failed | ExitStatus::Timeout => EventSeverity::Warning,
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
            | Self::Committed(_)
            | Self::Undone { .. }
            | Self::Installed(_)
            | Self::Uninstalled(_)
            | Self::ApprovalGranted(_)
            | Self::ApprovalRevoked(_)
            | Self::LogStarted(_) => EventSeverity::Info,
        }
    }
}
