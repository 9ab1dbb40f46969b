//! Checks tool calls against what active skills declare.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;
use skill::capabilities::{CapabilityKind, Declared, Extent, ToolLimits};
use skill_fs::AbsPath;
use skill_state::Approvals;
use skill_state::audit::Clearance;

use crate::decide::approvals::{origin, subject};
use crate::decide::permit::{AuthorizeContext, approval};
use crate::decide::policy::{
    CallContext, Decision, GitContext, Launchers, ToolCall, ToolLists, Verdict, decide, strictest,
};
use crate::disclose::load::{Loaded, load};
use crate::discover::git_files::config_around;
use crate::discover::project::find_project;
use crate::quote::shell_word;
use crate::record::log::redact;
use crate::runtime::OpenSkillRuntime;
use crate::state::settings::Settings;
use crate::{Event, Places, PolicyDecision, RuntimeError, Skill};

/// The log keeps at most this much of a call's input, in bytes.
const MAX_INPUT: usize = 4096;

/// The skill, task and folder that a tool call belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolContext {
    /// The calling skill, by name or id. Without one, the call is checked against every skill that is active in the
    /// session.
    pub skill: Option<String>,
    /// The task, if the host specifies one.
    pub task_id: Option<String>,
    /// The working folder of the call; by default the runtime's.
    pub cwd: Option<PathBuf>,
    /// The project that file rules are relative to; by default the git repository that contains `cwd`.
    pub project: Option<PathBuf>,
}

/// A tool call, and what its paths are relative to.
#[derive(Debug)]
pub struct CheckedCall {
    /// The call.
    pub call: ToolCall,
    /// What its paths are relative to.
    pub context: CallContext,
}

impl OpenSkillRuntime {
    /// Decides whether a tool may be called. A call that names its skill is checked against that skill, any other call
    /// against every skill that is active in the session. Returns `None` if no skill is active.
    ///
    /// The decision is logged before it is returned.
    pub fn check_tool(
        &mut self,
        context: &ToolContext,
        tool: &str,
        input: &Value,
    ) -> Result<Option<Verdict>, RuntimeError> {
        let CheckedCall { call, context: call_context } =
            self.checked_call(context, tool, input)?;
        let lists = self.tool_lists()?;
        let verdict = match &context.skill {
            Some(name) => Some(self.judge(self.skill(name)?, &call, lists, &call_context)?),
            None => self.judge_active(&call, lists, &call_context)?,
        };
        let Some(verdict) = verdict else { return Ok(None) };
        let skill_id = context.skill.as_ref().and_then(|name| self.skill(name).ok());
        let input = call.summary().map(|text| cut(&redact(&text)).to_owned());
        self.record(&Event::PolicyDecided(PolicyDecision {
            skill_id: skill_id.map(|skill| skill.id.clone()),
            session_id: self.session.id.clone(),
            task_id: context.task_id.clone(),
            action: tool.to_owned(),
            input,
            decision: verdict.decision,
            reason: redact(&verdict.reason).into_owned(),
        }))?;
        Ok(Some(verdict))
    }

    /// Looks up what a tool call refers to, so that rules can be applied to it.
    pub fn checked_call(
        &self,
        context: &ToolContext,
        tool: &str,
        input: &Value,
    ) -> Result<CheckedCall, RuntimeError> {
        let context = self.call_context(context)?;
        let found = |path: &Path| fs::canonicalize(path).ok();
        let call = ToolCall::from_json(tool, input, &context, |path| Some(real(path)), found);
        Ok(CheckedCall { call, context })
    }

    fn judge(
        &self,
        skill: &Skill,
        call: &ToolCall,
        lists: ToolLists,
        call_context: &CallContext,
    ) -> Result<Verdict, RuntimeError> {
        let loaded = load(skill, self.config.strictness())?;
        let declared = Declared::of(&loaded.document.frontmatter, None);
        // A served skill can restrict tools but never preapprove one.
        let lists = if skill.served_by().is_some() { ToolLists::Allowlist } else { lists };
        let denied = self.found.policy.denied_tools.iter().cloned().collect();
        let org = ToolLimits { deny: denied, ..ToolLimits::default() };
        let limits = declared.tools.meet(&org);
        let mut verdict = decide(call, &limits, lists, Launchers::Ask, call_context);
        // Computing the digest reads the whole skill, so do it only if the answer matters.
        if verdict.is_launcher && self.showed_any_code(skill, &loaded)? {
            verdict = decide(call, &limits, lists, Launchers::Approved, call_context);
        }
        Ok(Verdict { reason: format!("{}: {}", skill.id, verdict.reason), ..verdict })
    }

    /// Returns true if an active skill or the organization denies any tool. Then a call that cannot be inspected may do
    /// in the workspace what is denied, which the sandbox does not prevent.
    pub fn active_skills_deny_tools(&self) -> Result<bool, RuntimeError> {
        if !self.found.policy.denied_tools.is_empty() {
            return Ok(true);
        }
        for (id, _) in self.session.active()? {
            let loaded = load(self.skill(&id)?, self.config.strictness())?;
            if !Declared::of(&loaded.document.frontmatter, None).tools.deny.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if the user approved exactly this content and was shown that it may run any code.
    fn showed_any_code(&self, skill: &Skill, loaded: &Loaded) -> Result<bool, RuntimeError> {
        let Some(state) = self.places()?.state.clone() else { return Ok(false) };
        let approvals = Approvals::load(&state)?;
        // Most skills have no approval, and then nothing has to be read.
        if approvals.last_of(&origin(skill), skill.name.as_ref()).is_none() {
            return Ok(false);
        }
        let subject = subject(skill, loaded)?;
        let (now, session) = (Timestamp::now(), self.session.id.clone());
        let context = AuthorizeContext { now, session, once: None };
        let found = approval(&subject, &self.found.policy, &approvals, &context);
        let is_shown = found
            .is_some_and(|found| *found.capabilities.of(CapabilityKind::Exec) == Extent::Anything);
        // No approval overrides a blocking audit or a revocation.
        Ok(is_shown
            && match self.inspect(skill, &subject)?.clearance {
                Clearance::Clear | Clearance::Review(_) => true,
                Clearance::Refused { .. } => false,
            })
    }

    fn judge_active(
        &self,
        call: &ToolCall,
        lists: ToolLists,
        call_context: &CallContext,
    ) -> Result<Option<Verdict>, RuntimeError> {
        let mut verdicts = Vec::new();
        for (id, hash) in self.session.active()? {
            // A skill that changed after it was activated denies every call.
            let same = self.skill(&id).and_then(|skill| {
                let is_same = self.hash(skill)? == hash;
                is_same.then(|| self.judge(skill, call, lists, call_context)).transpose()
            });
            let gone = || Verdict::new(Decision::Deny, self.changed_skill(&id));
            verdicts.push(same.ok().flatten().unwrap_or_else(gone));
        }
        Ok(strictest(verdicts))
    }

    /// Returns how lists of tools are interpreted: the user's setting, unless the organization enforces one.
    pub fn tool_lists(&self) -> Result<ToolLists, RuntimeError> {
        if self.found.policy.tools_are_allowlists {
            return Ok(ToolLists::Allowlist);
        }
        Ok(Settings::load(self.places()?)?.allowed_tools)
    }

    /// Returns why an active skill that was removed or changed denies every call.
    pub(crate) fn changed_skill(&self, id: &str) -> String {
        format!(
            "{id}: the active skill was removed or changed; activate it again, or ask the user to run `openskills deactivate {} --session {}`",
            shell_word(id),
            shell_word(&self.session.id)
        )
    }

    /// Returns the project and the working folder of a call.
    pub(crate) fn call_folders(
        &self,
        context: &ToolContext,
    ) -> Result<(PathBuf, PathBuf), RuntimeError> {
        let places = self.places()?;
        let cwd = match &context.cwd {
            Some(cwd) => places.cwd.as_path().join(cwd),
            None => places.cwd.as_path().to_owned(),
        };
        let project = match (&context.project, &self.config.project_root) {
            (Some(project), _) | (None, Some(project)) => places.cwd.as_path().join(project),
            (None, None) => enclosing_project(&cwd, places)?,
        };
        Ok((project, cwd))
    }

    fn call_context(&self, context: &ToolContext) -> Result<CallContext, RuntimeError> {
        let (project, cwd) = self.call_folders(context)?;
        let places = self.places()?;
        let home = places.home.as_ref().map(AbsPath::as_path);
        let call_context =
            CallContext::new(&project, &cwd, home, |folder| fs::canonicalize(folder).ok());
        Ok(call_context.with_git(git_context(&project, &cwd)))
    }
}

/// Finds out what git would use in a folder of a project.
fn git_context(project: &Path, cwd: &Path) -> GitContext {
    let (project, cwd) = (real(project), real(cwd));
    let between =
        cwd.ancestors().take_while(|folder| **folder != project && folder.starts_with(&project));
    let is_repository = |folder: &&Path| {
        [".git", "HEAD"].iter().any(|name| fs::symlink_metadata(folder.join(name)).is_ok())
    };
    GitContext {
        nested: between.into_iter().find(is_repository).map(Path::to_owned),
        remotes: config_around(&project).map_or_else(BTreeSet::new, |config| remotes(&config)),
    }
}

/// Returns the names of the remotes in a repository's configuration.
fn remotes(config: &str) -> BTreeSet<String> {
    let names = config.lines().filter_map(|line| {
        let (section, rest) = line.trim().strip_prefix('[')?.split_once('"')?;
        let (name, _) = rest.split_once('"')?;
        let is_plain = !name.is_empty() && !name.contains(['\\', '/', ':']);
        (section.trim().eq_ignore_ascii_case("remote") && is_plain).then(|| name.to_owned())
    });
    names.collect()
}

fn enclosing_project(cwd: &Path, places: &Places) -> Result<PathBuf, RuntimeError> {
    let cwd = AbsPath::new(cwd)
        .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })?;
    let project = find_project(None, &Places { cwd, ..places.clone() })?;
    Ok(project.root.as_path().to_owned())
}

/// Returns the real path of a file, resolving links. For a file that does not exist yet, its nearest existing folder is
/// resolved. A dangling link could lead anywhere, so it maps to `/`, which no rule allows.
fn real(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        if let Ok(real) = fs::canonicalize(folder) {
            let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        if fs::symlink_metadata(folder).is_ok() {
            break;
        }
    }
    PathBuf::from("/")
}

/// Truncates a text for the log.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_INPUT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
