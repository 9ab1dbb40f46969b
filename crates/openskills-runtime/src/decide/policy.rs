//! Who may call what: one pure function from a call and the limits that hold to a decision and its reason.
//!
//! Strictest wins: a rule that denies beats everything, then every list must allow the call. What cannot be understood is
//! not allowed by a list; no list means no restriction.

mod bash;
mod call;
mod deny;
mod forms;
mod input;
mod own;
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

pub use call::{FileArgument, GitSurroundings, Seen, Surroundings, ToolCall, ToolInput};

/// What becomes of a call, from the strictest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It must not happen.
    Deny,
    /// The user must say so.
    Ask,
    /// It may happen.
    Allow,
}

/// A decision and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verdict {
    /// What becomes of the call.
    pub decision: Decision,
    /// Why, in words.
    pub because: String,
    /// Whether it is only that a list does not name it.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_unlisted: bool,
    /// Whether an approval that showed `exec: any` would answer it.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_launcher: bool,
}

/// Whether the user has approved that a skill's tools run arbitrary code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launchers {
    /// Not that anybody knows: rules that mean arbitrary code ask.
    Ask,
    /// The approval of exactly this skill showed `exec: any`.
    Approved,
}

impl Verdict {
    pub(crate) fn new(decision: Decision, because: impl Into<String>) -> Self {
        Self { decision, because: because.into(), is_unlisted: false, is_launcher: false }
    }

    /// Returns the stricter of two; of equally strict ones the first.
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

/// Returns the strictest of several verdicts; `None` if there is none.
pub fn strictest(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    verdicts.into_iter().reduce(Verdict::stricter)
}

/// What a list of allowed tools means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolLists {
    /// What is not in it is denied.
    #[default]
    Allowlist,
    /// What is in it needs no question; everything else is asked about.
    Preapprove,
}

/// Decides about a call.
pub fn decide(
    call: &ToolCall,
    limits: &ToolLimits,
    lists: ToolLists,
    launchers: Launchers,
    around: &Surroundings,
) -> Verdict {
    let denied = limits.deny.iter().filter_map(|rule| {
        let (decision, what) = match rule::denies(rule, call, around)? {
            Decision::Deny => (Decision::Deny, "denies it"),
            Decision::Ask => (Decision::Ask, "denies a part of what it may reach"),
            Decision::Allow => return None,
        };
        let shown = match rule {
            ToolRule::Malformed(text) if text.is_empty() => "a rule that cannot be read".to_owned(),
            rule => format!("`{rule}`"),
        };
        Some(Verdict::new(decision, format!("{shown} {what}")))
    });
    let allowed = limits.allow.iter().map(|list| {
        let rules: Vec<&ToolRule> = list.iter().collect();
        let verdict = rule::allows(&rules, call, around, launchers);
        match (lists, verdict.decision) {
            (ToolLists::Preapprove, Decision::Deny) => {
                Verdict { is_unlisted: true, ..Verdict::new(Decision::Ask, verdict.because) }
            }
            _ => verdict,
        }
    });
    let own = own::asks(call, around);
    let none = Verdict::new(Decision::Allow, "no rule restricts it");
    strictest(denied.chain(allowed).chain(own)).unwrap_or(none)
}

/// `*` stands for any characters, blanks too.
fn glob(pattern: &str, text: &str) -> bool {
    skill_state::Pattern::new(pattern).matches(text)
}

#[cfg(test)]
mod tests;
