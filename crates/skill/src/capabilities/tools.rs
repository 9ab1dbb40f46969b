//! Which tools may be called: every list must allow it, and no rule deny it.

use std::collections::BTreeSet;

use crate::{AllowedTools, ToolRule};

/// Limits on tools. Lists are never merged: a call must be allowed by each of them, so that meeting two narrows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolLimits {
    /// A call must match a rule of every list. No list means no restriction, an empty list means nothing.
    pub allow: BTreeSet<BTreeSet<ToolRule>>,
    /// A call must match none of these.
    pub deny: BTreeSet<ToolRule>,
}

impl ToolLimits {
    /// Returns limits that allow no tool.
    pub fn nothing() -> Self {
        Self { allow: BTreeSet::from([BTreeSet::new()]), deny: BTreeSet::new() }
    }

    /// Returns limits of one allowlist. What is no rule matches nothing.
    pub fn allowing(tools: &AllowedTools) -> Self {
        let is_rule = |rule: &&ToolRule| matches!(rule, ToolRule::Rule { .. });
        let list = tools.rules.iter().filter(is_rule).cloned().collect();
        Self { allow: BTreeSet::from([list]), deny: BTreeSet::new() }
    }

    /// Returns limits that take tools away. What is no rule stays one that cannot be understood: it denies all.
    pub fn denying(tools: &AllowedTools) -> Self {
        Self { allow: BTreeSet::new(), deny: tools.rules.iter().cloned().collect() }
    }

    /// Returns what both allow.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let nothing = BTreeSet::new();
        let mut allow: BTreeSet<_> = self.allow.union(&other.allow).cloned().collect();
        // A list that allows nothing says it all.
        if allow.contains(&nothing) {
            allow = BTreeSet::from([nothing]);
        }
        Self { allow, deny: self.deny.union(&other.deny).cloned().collect() }
    }

    /// Returns true if whatever `other` allows is surely allowed here: it keeps all the lists and rules that hold here.
    pub fn covers(&self, other: &Self) -> bool {
        let is_kept =
            |list: &BTreeSet<ToolRule>| other.allow.iter().any(|theirs| theirs.is_subset(list));
        let is_nothing = other.allow.iter().any(BTreeSet::is_empty);
        is_nothing || (self.allow.iter().all(is_kept) && self.deny.is_subset(&other.deny))
    }
}
