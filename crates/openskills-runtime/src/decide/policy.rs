//! Decides whether a tool call is allowed: a pure function from the call and the limits in force to a decision and its
//! reason.
//!
//! The strictest rule wins: a deny rule beats everything else, and then every allowlist must allow the call. A list
//! never allows a call that cannot be parsed. Without a list there is no restriction.

mod bash;
mod call;
mod deny;
mod forms;
mod input;
mod own_programs;
mod path;
mod pattern;
mod programs;
mod rule;
mod rule_reads;
mod url;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::ToolRule;
use skill::capabilities::ToolLimits;

pub use call::{CallContext, FileArgument, GitContext, PathLookup, ToolCall, ToolInput};

/// A policy decision, strictest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call is blocked.
    Deny,
    /// The user has to approve the call.
    Ask,
    /// The call is allowed.
    Allow,
}

/// A decision and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// The reason, for people.
    pub reason: String,
    /// Whether the only objection is that a list does not mention the call.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_unlisted: bool,
    /// Whether an approval that showed `exec: any` would allow the call.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_launcher: bool,
}

/// Whether the user has approved arbitrary code execution by a skill's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launchers {
    /// Not approved: rules that amount to arbitrary code need approval.
    Ask,
    /// The approval of this exact skill showed `exec: any`.
    Approved,
}

impl Verdict {
    pub(crate) fn new(decision: Decision, reason: impl Into<String>) -> Self {
        Self { decision, reason: reason.into(), is_unlisted: false, is_launcher: false }
    }

    /// Returns the stricter of two verdicts, or the first if they are equally strict.
    fn stricter(self, other: Self) -> Self {
        let is_stricter = (other.decision, other.is_unlisted) < (self.decision, self.is_unlisted);
        if is_stricter { other } else { self }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        })
    }
}

/// Returns the strictest of several verdicts; `None` if there are none.
pub fn strictest(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    verdicts.into_iter().reduce(Verdict::stricter)
}

/// How a list of allowed tools is interpreted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolLists {
    /// Calls that are not listed are denied.
    #[default]
    Allowlist,
    /// Listed calls need no approval; all others do.
    Preapprove,
}

/// Decides whether a call is allowed.
pub fn decide(
    call: &ToolCall,
    limits: &ToolLimits,
    lists: ToolLists,
    launchers: Launchers,
    context: &CallContext,
) -> Verdict {
    let denied = limits.deny.iter().filter_map(|rule| {
        let (decision, what) = match rule::denies(rule, call, context)? {
            Decision::Deny => (Decision::Deny, "denies this call"),
            Decision::Ask => (Decision::Ask, "denies part of what this call could access"),
            Decision::Allow => return None,
        };
        let shown = match rule {
            ToolRule::Malformed(text) if text.is_empty() => "a malformed rule".to_owned(),
            rule => format!("`{rule}`"),
        };
        Some(Verdict::new(decision, format!("{shown} {what}")))
    });
    let allowed = limits.allow.iter().map(|list| {
        let rules: Vec<&ToolRule> = list.iter().collect();
        let verdict = rule::allows(&rules, call, context, launchers);
        match (lists, verdict.decision) {
            (ToolLists::Preapprove, Decision::Deny) => {
                Verdict { is_unlisted: true, ..Verdict::new(Decision::Ask, verdict.reason) }
            }
            _ => verdict,
        }
    });
    let own = own_programs::asks(call, context);
    let none = Verdict::new(Decision::Allow, "no rule restricts this call");
    strictest(denied.chain(allowed).chain(own)).unwrap_or(none)
}

/// Matches a pattern in which `*` stands for any characters, including spaces.
fn glob(pattern: &str, text: &str) -> bool {
    skill_state::Pattern::new(pattern).matches(text)
}

#[cfg(test)]
mod tests;
