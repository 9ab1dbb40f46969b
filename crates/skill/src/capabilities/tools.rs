//! Limits on tool calls: every allowlist must allow the call, and no rule may deny it.

use std::collections::BTreeSet;

use crate::{AllowedTools, ToolRule};

/// Limits on tools. Lists are never merged: each of them must allow a call, so combining two limits can only narrow
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolLimits {
    /// A call must match a rule in every list. No list means no restriction; an empty list allows nothing.
    pub allow: BTreeSet<BTreeSet<ToolRule>>,
    /// A call must not match any of these.
    pub deny: BTreeSet<ToolRule>,
}

impl ToolLimits {
    /// Returns limits that allow no tool.
    pub fn nothing() -> Self {
        Self { allow: BTreeSet::from([BTreeSet::new()]), deny: BTreeSet::new() }
    }

    /// Returns limits with one allowlist. A malformed rule matches nothing.
    pub fn allowing(tools: &AllowedTools) -> Self {
        let is_rule = |rule: &&ToolRule| matches!(rule, ToolRule::Rule { .. });
        let list = tools.rules.iter().filter(is_rule).cloned().collect();
        Self { allow: BTreeSet::from([list]), deny: BTreeSet::new() }
    }

    /// Returns limits that deny tools. Malformed rules are kept, because a deny rule that cannot be parsed denies
    /// every tool.
    pub fn denying(tools: &AllowedTools) -> Self {
        Self { allow: BTreeSet::new(), deny: tools.rules.iter().cloned().collect() }
    }

    /// Returns what both allow.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let nothing = BTreeSet::new();
        let mut allow: BTreeSet<_> = self.allow.union(&other.allow).cloned().collect();
        // A list that allows nothing makes the others redundant.
        if allow.contains(&nothing) {
            allow = BTreeSet::from([nothing]);
        }
        Self { allow, deny: self.deny.union(&other.deny).cloned().collect() }
    }

    /// Returns true if this is certain to allow everything that `other` allows: `other` has all the lists and rules of
    /// this one.
    pub fn covers(&self, other: &Self) -> bool {
        let is_kept =
            |list: &BTreeSet<ToolRule>| other.allow.iter().any(|theirs| theirs.is_subset(list));
        let is_nothing = other.allow.iter().any(BTreeSet::is_empty);
        is_nothing || (self.allow.iter().all(is_kept) && self.deny.is_subset(&other.deny))
    }
}
