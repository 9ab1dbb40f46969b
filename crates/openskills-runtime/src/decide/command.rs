//! Decides with which capabilities a command line of an agent runs: a pure function from the decisions about every
//! active skill to a permit or a refusal.
//!
//! Nothing of a command line starts without a [`CommandPermit`], and only `authorize_command` creates one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::ProcessId;
use skill::Digest;
use skill::capabilities::{Anchor, AnchoredFolder, Capabilities, Host, Reach};

use super::permit::{Authorization, Refusal};

/// A planned command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPlan {
    /// The command line, for bash.
    pub line: String,
    /// The folder that it starts in.
    pub cwd: PathBuf,
    /// The folder that it may change: the project.
    pub workspace: PathBuf,
    /// The caller's time limit, if it has one.
    pub timeout: Option<Duration>,
    /// The call of the agent that it belongs to.
    pub tool_use_id: Option<String>,
    /// What happens to processes that are still running when the command ends.
    pub background: Leftovers,
    /// Its standard streams.
    pub streams: CommandStreams,
    /// When its writes are applied.
    pub applies: ApplyTime,
    /// The process whose end ends them too, if the session does not end before.
    pub owner: Option<ProcessId>,
}

/// What happens to processes that a command leaves running in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// They are ended with the command.
    End,
    /// They run until the session ends.
    KeepForSession,
}

/// The standard streams of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommandStreams {
    /// Those of this process.
    #[default]
    Shared,
    /// No input; the output is captured.
    Captured,
}

/// When the writes of a command line are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApplyTime {
    /// When it has ended. If it is stopped, nothing is applied.
    #[default]
    AtEnd,
    /// Also before each later command of the session: the agent does not wait for this one.
    WhileRunning,
}

/// An active skill, as the decision about it sees it.
#[derive(Debug)]
pub(crate) struct ActiveSkill {
    /// The skill's id.
    pub(crate) id: String,
    /// The digest of its content.
    pub(crate) content: Digest,
    /// The digest of everything in it.
    pub(crate) bundle: Digest,
    /// Its folder, unless it is built in or served.
    pub(crate) folder: Option<PathBuf>,
    /// What its scripts may do.
    pub(crate) decision: Authorization,
}

/// A skill that restricts a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestrictingSkill {
    /// The skill's id.
    pub id: String,
    /// The digest of its content.
    pub content: Digest,
    /// The digest of everything in it.
    pub bundle: Digest,
}

/// Permission to run one command line with these capabilities and no others. Only `authorize_command` creates one:
///
/// ```compile_fail
/// # fn forged(plan: openskills_runtime::CommandPlan, real: openskills_runtime::CommandPermit) {
/// let permit = openskills_runtime::CommandPermit { plan, ..real };
/// # }
/// ```
#[derive(Debug)]
pub struct CommandPermit {
    plan: CommandPlan,
    skills: Vec<RestrictingSkill>,
    folders: Vec<PathBuf>,
    capabilities: Capabilities,
}

impl CommandPermit {
    /// Returns the plan.
    pub fn plan(&self) -> &CommandPlan {
        &self.plan
    }

    /// Returns the skills whose capabilities restrict the command line.
    pub fn skills(&self) -> &[RestrictingSkill] {
        &self.skills
    }

    /// Returns what the command line may do: what every active skill may do.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns the folders of the active skills, which it may read.
    pub(crate) fn skill_folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// Returns whether it may write to the workspace.
    pub fn may_write(&self) -> bool {
        self.capabilities.write.has(&AnchoredFolder::at(Anchor::Workspace))
    }

    /// Returns the hosts that it may reach.
    pub fn hosts(&self) -> &Reach<Host> {
        &self.capabilities.network
    }
}

/// Decides about a command line: it may do what the scripts of every active skill may do. A skill that needs an
/// approval and has none contributes what it may do without one; a skill that is refused refuses every command line.
pub(crate) fn authorize_command(
    plan: CommandPlan,
    active: Vec<ActiveSkill>,
) -> Result<CommandPermit, Refusal> {
    let mut refusal = Refusal::default();
    let (mut skills, mut folders) = (Vec::new(), Vec::new());
    let mut capabilities = without_skills();
    let mut is_first = true;
    for skill in active {
        let own = match &skill.decision {
            Authorization::Permit(permit) => permit.capabilities().clone(),
            Authorization::Ask(request) => request.without_approval(),
            Authorization::Refusal(refused) => {
                refusal.reasons.extend(refused.reasons.iter().cloned());
                refusal.hints.extend(refused.hints.iter().cloned());
                continue;
            }
        };
        // Each skill may read its own folder, whatever the others may read.
        capabilities = if is_first { own } else { capabilities.meet(&own) };
        is_first = false;
        folders.extend(skill.folder);
        skills.push(RestrictingSkill {
            id: skill.id,
            content: skill.content,
            bundle: skill.bundle,
        });
    }
    if !refusal.reasons.is_empty() {
        return Err(refusal);
    }
    Ok(CommandPermit { plan, skills, folders, capabilities })
}

/// Returns what a command line may do if no skill is active: work in the workspace.
fn without_skills() -> Capabilities {
    let workspace = || Reach::only([AnchoredFolder::at(Anchor::Workspace)]);
    Capabilities { read: workspace(), write: workspace(), ..Capabilities::nothing() }
}
