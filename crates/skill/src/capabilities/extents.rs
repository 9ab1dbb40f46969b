//! Capabilities as shown to people, and the differences between two versions.

use std::collections::BTreeSet;
use std::fmt;

use super::{CapabilityKind, Cover, Declared, Reach, ToolLimits};

/// The declared extent of one kind of capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// Not declared.
    Undeclared,
    /// No limit.
    Anything,
    /// Only these.
    Only(BTreeSet<String>),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undeclared => f.write_str("not declared"),
            Self::Anything => f.write_str("anything"),
            Self::Only(items) if items.is_empty() => f.write_str("nothing"),
            Self::Only(items) => {
                f.write_str(&items.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// All capabilities that a skill declares: one extent for each of [`CapabilityKind::ALL`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityExtents([Extent; CapabilityKind::ALL.len()]);

/// The difference in one kind of capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityChange {
    /// The kind.
    pub kind: CapabilityKind,
    /// Items that were added.
    pub gained: Vec<String>,
    /// Items that were removed.
    pub lost: Vec<String>,
}

impl CapabilityExtents {
    /// Builds the extents by calling `extent` for every kind.
    pub fn new(extent: impl FnMut(CapabilityKind) -> Extent) -> Self {
        Self(CapabilityKind::ALL.map(extent))
    }

    /// Returns the extent of one kind.
    pub fn of(&self, kind: CapabilityKind) -> &Extent {
        let place = CapabilityKind::ALL.iter().position(|known| *known == kind);
        place.map_or(&Extent::Undeclared, |place| &self.0[place])
    }

    /// Returns every kind with its extent.
    pub fn iter(&self) -> impl Iterator<Item = (CapabilityKind, &Extent)> {
        CapabilityKind::ALL.into_iter().zip(&self.0)
    }

    /// Returns the differences from `before`.
    pub fn changes_since(&self, before: &Self) -> Vec<CapabilityChange> {
        let all = self.iter().zip(&before.0).filter(|((_, now), before)| now != before);
        all.map(|((kind, now), before)| {
            let (now, before) = (items(now), items(before));
            let gained = now.difference(&before).cloned().collect();
            let lost = before.difference(&now).cloned().collect();
            CapabilityChange { kind, gained, lost }
        })
        .collect()
    }
}

/// Returns the items of an extent. An extent that is not a list counts as one item that cannot occur in a list.
fn items(extent: &Extent) -> BTreeSet<String> {
    match extent {
        Extent::Undeclared | Extent::Anything => BTreeSet::from([format!("<{extent}>")]),
        Extent::Only(items) => items.clone(),
    }
}

impl Declared {
    /// Returns the declared extents, for display.
    pub fn extents(&self) -> CapabilityExtents {
        fn shown<T: Cover + fmt::Display>(reach: Option<&Reach<T>>) -> Extent {
            match reach {
                None => Extent::Undeclared,
                Some(Reach::Everything) => Extent::Anything,
                Some(Reach::Only(items)) => {
                    Extent::Only(items.iter().map(ToString::to_string).collect())
                }
            }
        }
        CapabilityExtents::new(|kind| match kind {
            CapabilityKind::Read => shown(self.read.as_ref()),
            CapabilityKind::Write => shown(self.write.as_ref()),
            CapabilityKind::Network => shown(self.network.as_ref()),
            CapabilityKind::Exec => shown(self.exec.as_ref()),
            CapabilityKind::Env => shown(self.env.as_ref()),
            CapabilityKind::Secrets => shown(self.secrets.as_ref()),
            CapabilityKind::Tools => tools(&self.tools),
        })
    }
}

fn tools(limits: &ToolLimits) -> Extent {
    if limits.allow.is_empty() && limits.deny.is_empty() {
        return Extent::Undeclared;
    }
    let any = limits.allow.is_empty().then(|| "any tool".to_owned());
    let allowed = limits.allow.iter().flatten().map(ToString::to_string);
    let denied = limits.deny.iter().map(|rule| format!("not {rule}"));
    Extent::Only(any.into_iter().chain(allowed).chain(denied).collect())
}
