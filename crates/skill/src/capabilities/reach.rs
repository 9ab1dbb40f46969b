//! How far one kind of capability reaches.

use std::collections::BTreeSet;

/// Something that may stand for more than itself: a folder for what is in it, `*.x.y` for hosts below `x.y`.
pub trait Cover: Clone + Ord {
    /// Returns true if `other` is part of this.
    fn covers(&self, other: &Self) -> bool;
}

impl Cover for String {
    fn covers(&self, other: &Self) -> bool {
        self == other
    }
}

/// Everything, or these and no others. No item covers another one, so that equal capabilities are equal values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach<T> {
    /// Whatever there is.
    Everything,
    /// These alone. Made by [`Reach::only`].
    Only(BTreeSet<T>),
}

impl<T: Cover> Reach<T> {
    /// Returns a capability that reaches nothing.
    pub fn nothing() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Returns all or nothing.
    #[expect(clippy::fn_params_excessive_bools, reason = "a condition, not an option")]
    pub(super) fn all_if(may: bool) -> Self {
        if may { Self::Everything } else { Self::nothing() }
    }

    /// Returns a capability that reaches `items`; those that another one covers are left out.
    pub fn only(items: impl IntoIterator<Item = T>) -> Self {
        let all: BTreeSet<T> = items.into_iter().collect();
        let is_part = |item: &T| all.iter().any(|other| other != item && other.covers(item));
        Self::Only(all.iter().filter(|item| !is_part(item)).cloned().collect())
    }

    /// Returns what both reach. Two items overlap only if one covers the other.
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

    /// Returns true if everything that `other` reaches is reached.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everything, _) => true,
            (Self::Only(_), Self::Everything) => false,
            (Self::Only(ours), Self::Only(theirs)) => {
                theirs.iter().all(|item| ours.iter().any(|our| our.covers(item)))
            }
        }
    }

    /// Returns true if `item` is reached.
    pub fn has(&self, item: &T) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(items) => items.iter().any(|own| own.covers(item)),
        }
    }

    /// Returns true if nothing is reached.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Only(items) if items.is_empty())
    }
}
