//! A folder and everything in it, by what it means and not by where it happens to be.

use std::fmt;

use super::Cover;

/// What a path starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anchor {
    /// The skill's own folder.
    Skill,
    /// The folder that the user lets the skill work in.
    Workspace,
    /// The user's configuration, `~/.config`.
    HomeConfig,
    /// The user's home.
    Home,
    /// The root of the file system.
    Root,
}

/// A folder and everything in it. Places of different anchors are different places here, even if they turn out to
/// overlap: what is not known to be allowed is not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    anchor: Anchor,
    parts: Vec<String>,
}

impl Place {
    /// Returns the place that an anchor means.
    pub fn at(anchor: Anchor) -> Self {
        Self { anchor, parts: Vec::new() }
    }

    /// Reads a path as a manifest writes it: absolute, below the home by `~/`, or in the workspace. `None` for one that
    /// could mean more than it says: with `..`, with control characters, or empty.
    pub fn parse(text: &str) -> Option<Self> {
        let (anchor, path) = match text {
            "~" => (Anchor::Home, ""),
            _ => match (text.strip_prefix("~/"), text.strip_prefix('/')) {
                (Some(below), _) => (Anchor::Home, below),
                (None, Some(below)) => (Anchor::Root, below),
                (None, None) => (Anchor::Workspace, text),
            },
        };
        let parts: Vec<String> =
            path.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
        let is_plain =
            |part: &String| part != ".." && !part.contains(|c: char| c.is_control() || c == '\\');
        (!text.is_empty() && parts.iter().all(is_plain)).then_some(Self { anchor, parts })
    }

    /// Returns what the path starts at.
    pub fn anchor(&self) -> Anchor {
        self.anchor
    }

    /// Returns the names on the way from the anchor.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }
}

impl Cover for Place {
    fn covers(&self, other: &Self) -> bool {
        self.anchor == other.anchor && other.parts.starts_with(&self.parts)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = match self.anchor {
            Anchor::Skill => "the skill's folder",
            Anchor::Workspace => "the workspace",
            Anchor::HomeConfig => "~/.config",
            Anchor::Home => "~",
            Anchor::Root => "",
        };
        f.write_str(start)?;
        self.parts.iter().try_for_each(|part| write!(f, "/{part}"))?;
        if self.anchor == Anchor::Root && self.parts.is_empty() { f.write_str("/") } else { Ok(()) }
    }
}
