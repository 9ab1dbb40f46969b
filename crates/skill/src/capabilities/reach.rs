//! The extent of one kind of capability.

use std::collections::BTreeSet;

/// An item that can include others: a folder includes its contents, `*.x.y` includes the subdomains of `x.y`.
pub trait Cover: Clone + Ord {
    /// Returns true if `other` is included in this item.
    fn covers(&self, other: &Self) -> bool;
}

impl Cover for String {
    fn covers(&self, other: &Self) -> bool {
        self == other
    }
}

/// Everything, or only the listed items. No item covers another one, so equal capabilities are equal values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach<T> {
    /// No limit.
    Everything,
    /// Only these. Built by [`Reach::only`].
    Only(BTreeSet<T>),
}

impl<T: Cover> Reach<T> {
    /// Returns a value that allows nothing.
    pub fn nothing() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Returns `Everything` if `may` is true, otherwise nothing.
    #[expect(clippy::fn_params_excessive_bools, reason = "a condition, not an option")]
    pub(super) fn all_if(may: bool) -> Self {
        if may { Self::Everything } else { Self::nothing() }
    }

    /// Returns a value that allows only `items`; items that another one covers are dropped.
    pub fn only(items: impl IntoIterator<Item = T>) -> Self {
        let all: BTreeSet<T> = items.into_iter().collect();
        let is_part = |item: &T| all.iter().any(|other| other != item && other.covers(item));
        Self::Only(all.iter().filter(|item| !is_part(item)).cloned().collect())
    }

    /// Returns what both allow. Two items overlap only if one covers the other.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let (ours, theirs) = match (self, other) {
            (Self::Everything, reach) | (reach, Self::Everything) => return reach.clone(),
            (Self::Only(ours), Self::Only(theirs)) => (ours, theirs),
        };
        let both = |one: &T, other: &T| match (one.covers(other), other.covers(one)) {
            (true, _) => Some(other.clone()),
            (false, true) => Some(one.clone()),
            (false, false) => None,
        };
        Self::only(
            ours.iter().flat_map(|one| theirs.iter().filter_map(move |other| both(one, other))),
        )
    }

    /// Returns true if this allows everything that `other` allows.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everything, _) => true,
            (Self::Only(_), Self::Everything) => false,
            (Self::Only(ours), Self::Only(theirs)) => {
                theirs.iter().all(|item| ours.iter().any(|our| our.covers(item)))
            }
        }
    }

    /// Returns true if `item` is allowed.
    pub fn has(&self, item: &T) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(items) => items.iter().any(|own| own.covers(item)),
        }
    }

    /// Returns true if nothing is allowed.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Only(items) if items.is_empty())
    }
}
