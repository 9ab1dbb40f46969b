//! Plans command lines and decides about them.

#![expect(clippy::disallowed_methods, reason = "the edge: what a path leads to")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use sandbox::ProcessId;
use skill_state::Approvals;

use crate::decide::command::{
    ActiveSkill, ApplyTime, CommandPermit, CommandPlan, CommandStreams, Leftovers,
    authorize_command,
};
use crate::decide::permit::{AuthorizeContext, RequestedAccess, authorize};
use crate::discover::index::SkillLocation;
use crate::run::{overlaps, own_folders, real_home, real_workspace};
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::{RuntimeError, ToolContext};

/// A command line that an agent wants to run.
#[derive(Debug, Clone, Default)]
pub struct CommandRequest {
    /// The command line, for bash.
    pub line: String,
    /// The folder that it starts in; by default the runtime's.
    pub cwd: Option<PathBuf>,
    /// The folder that it may change; by default the git repository that contains `cwd`, or `cwd`.
    pub workspace: Option<PathBuf>,
    /// The caller's time limit, if it has one.
    pub timeout: Option<Duration>,
    /// The call of the agent that it belongs to.
    pub tool_use_id: Option<String>,
    /// Its standard streams.
    pub streams: CommandStreams,
    /// When its writes are applied.
    pub applies: ApplyTime,
    /// The process that the session belongs to. When it ends, so do processes in the background.
    pub owner: Option<ProcessId>,
}

impl OpenSkillRuntime {
    /// Plans to run a command line.
    pub fn plan_command(&self, request: &CommandRequest) -> Result<CommandPlan, RuntimeError> {
        let places = self.places()?;
        let context = ToolContext {
            cwd: request.cwd.clone(),
            project: request.workspace.clone(),
            ..ToolContext::default()
        };
        let (project, cwd) = self.call_folders(&context)?;
        let (home, own) = (real_home(places.home.as_ref()), own_folders(places));
        let workspace = real_workspace(&project, home.as_deref(), &own)?;
        let cwd = fs::canonicalize(&cwd).map_err(|error| RuntimeError::Setup {
            message: format!("cannot open the folder `{}`: {error}", cwd.display()),
            hint: None,
        })?;
        // A folder elsewhere is visible only if it belongs to the system.
        if !cwd.starts_with(&workspace) && overlaps(&cwd, &own) {
            return Err(RuntimeError::Setup {
                message: format!(
                    "cannot run commands in `{}`: it contains openskills or csk files",
                    cwd.display()
                ),
                hint: None,
            });
        }
        let is_in = cwd.starts_with(&workspace);
        Ok(CommandPlan {
            line: request.line.clone(),
            cwd: if is_in { cwd } else { workspace.clone() },
            workspace,
            timeout: request.timeout,
            tool_use_id: request.tool_use_id.clone(),
            background: match self.config.session_id {
                Some(_) => Leftovers::KeepForSession,
                None => Leftovers::End,
            },
            streams: request.streams,
            applies: match self.config.session_id {
                Some(_) => request.applies,
                None => ApplyTime::AtEnd,
            },
            owner: request.owner,
        })
    }

    /// Returns the folders of the active skills, which the agent may read.
    pub fn active_folders(&self) -> Result<Vec<PathBuf>, RuntimeError> {
        let mut folders = Vec::new();
        for (id, _) in self.session.active()? {
            if let SkillLocation::Folder { folder, .. } = &self.skill(&id)?.place {
                folders.push(folder.as_path().to_owned());
                folders.extend(fs::canonicalize(folder.as_path()).ok());
            }
        }
        Ok(folders)
    }

    /// Remembers the folder that a command line ended in. The session's next command line starts there, unless its
    /// caller has moved to another folder meanwhile.
    pub fn remember_folder(&self, caller: &Path, folder: &Path) -> Result<(), RuntimeError> {
        Ok(self.session.remember_folder(caller, folder)?)
    }

    /// Returns the folder in which the session's next command line starts.
    pub fn next_folder(&self, caller: &Path) -> PathBuf {
        self.session.last_folder(caller).unwrap_or_else(|| caller.to_owned())
    }

    /// Decides whether a command line may run, and what it may do: what the scripts of every active skill may do.
    pub fn authorize_command(&self, plan: CommandPlan) -> Result<CommandPermit, RuntimeError> {
        let places = self.places()?;
        let state = places.state.as_ref().ok_or_else(no_state_folder)?;
        let approvals = Approvals::load(state)?;
        let (now, session) = (Timestamp::now(), self.session.id.clone());
        let context = AuthorizeContext { now, session, once: None };
        let mut active = Vec::new();
        for (id, hash) in self.session.active()? {
            let run = self.plan_run(&id, None, RequestedAccess::default());
            let plan = match run {
                Ok(plan) if plan.subject.content.to_string() == hash => plan,
                Ok(_) | Err(RuntimeError::SkillNotFound { .. }) => {
                    let message = self.changed_skill(&id);
                    return Err(RuntimeError::PermissionDenied { message, hint: None });
                }
                Err(error) => return Err(error),
            };
            self.check_unchanged(&id, &plan.subject.origin)?;
            let folder = match &self.skill(&id)?.place {
                SkillLocation::Folder { folder, .. } => fs::canonicalize(folder.as_path()).ok(),
                SkillLocation::Builtin(_) | SkillLocation::Served(_) => None,
            };
            let (content, bundle) = (plan.subject.content, plan.subject.bundle);
            let decision = authorize(plan, &self.found.policy, &approvals, &context);
            active.push(ActiveSkill { id, content, bundle, folder, decision });
        }
        authorize_command(plan, active).map_err(|refusal| refusal.error())
    }
}
