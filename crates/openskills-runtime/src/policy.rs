//! Who may call what: one pure function from a call and the limits that hold to a decision and its reason.
//!
//! Strictest wins: a rule that denies beats everything, then every list must allow the call. What cannot be understood is
//! not allowed by a list; no list means no restriction.

mod bash;
mod call;
mod programs;
mod rule;

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use skill::ToolRule;
use skill::capabilities::ToolLimits;

pub use call::{Surroundings, ToolCall, ToolInput};

/// What becomes of a call, from the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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
}

impl Verdict {
    pub(crate) fn new(decision: Decision, because: impl Into<String>) -> Self {
        Self { decision, because: because.into() }
    }

    /// Returns the stricter of two; of equally strict ones the first.
    fn stricter(self, other: Self) -> Self {
        if other.decision < self.decision { other } else { self }
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

/// Decides about a call.
pub fn decide(call: &ToolCall, limits: &ToolLimits, around: &Surroundings) -> Verdict {
    for rule in &limits.deny {
        if rule::denies(rule, call, around) || rule::denies_writing(rule, call) {
            return Verdict::new(Decision::Deny, format!("`{rule}` denies it"));
        }
    }
    let none = Verdict::new(Decision::Allow, "no rule restricts it");
    let lists = limits.allow.iter().map(|list| {
        let rules: Vec<&ToolRule> = list.iter().collect();
        rule::allows(&rules, call, around)
    });
    lists.reduce(Verdict::stricter).unwrap_or(none)
}

#[cfg(test)]
mod tests;
