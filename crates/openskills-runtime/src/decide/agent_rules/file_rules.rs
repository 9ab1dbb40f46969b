//! What the user's rules about files (`Read(…)`, `Edit(…)`) have to do with a command line.

use std::path::Path;

use serde_json::json;
use skill::AllowedTools;
use skill::capabilities::ToolLimits;

use super::AgentLine;
use crate::decide::policy::{Decision, Launchers, ToolLists, decide};
use crate::decide::tools::CheckedCall;
use crate::runtime::OpenSkillRuntime;
use crate::{RuntimeError, ToolContext};

/// Tools whose rules name files.
const TOOLS: [&str; 7] = ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep"];

/// A command line, as rules about files see it.
pub(super) struct FileRules {
    /// `None` if the line is not a list of plain commands.
    call: Option<CheckedCall>,
}

impl FileRules {
    pub(super) fn new(
        runtime: &OpenSkillRuntime,
        agent: AgentLine<'_>,
    ) -> Result<Self, RuntimeError> {
        let AgentLine { line, cwd, project, .. } = agent;
        if shell::read(line).is_err() {
            return Ok(Self { call: None });
        }
        let context = ToolContext {
            cwd: Some(cwd.to_owned()),
            project: project.map(Path::to_owned),
            ..ToolContext::default()
        };
        Ok(Self {
            call: Some(runtime.checked_call(&context, "Bash", &json!({ "command": line }))?),
        })
    }

    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { call: None }
    }

    /// Returns true if a rule about files applies to the line.
    pub(super) fn concerns(&self, rule: &str) -> bool {
        let Some(CheckedCall { call, context }) = self.call.as_ref().filter(|_| is_file_rule(rule))
        else {
            return false;
        };
        let denied = AllowedTools::from_items([rule]).rules;
        let limits = ToolLimits { deny: denied.into_iter().collect(), ..ToolLimits::default() };
        let verdict = decide(call, &limits, ToolLists::Allowlist, Launchers::Approved, context);
        verdict.decision == Decision::Deny
    }

    /// Returns true if it is not known whether a rule applies to the line.
    pub(super) fn is_unclear_for(&self, rule: &str) -> bool {
        self.call.is_none() && is_file_rule(rule)
    }
}

/// Returns true for a rule about files.
pub(super) fn is_file_rule(rule: &str) -> bool {
    let tool = rule.split('(').next().unwrap_or_default();
    TOOLS.contains(&tool)
}
