//! A folder with everything in it, relative to an anchor instead of an absolute path.

use std::fmt;

use super::Cover;

/// What a path is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anchor {
    /// The skill's own folder.
    Skill,
    /// The folder in which the user lets the skill work.
    Workspace,
    /// The user's configuration, `~/.config`.
    HomeConfig,
    /// The user's home.
    Home,
    /// The root of the filesystem.
    Root,
}

/// A folder with everything in it. Folders with different anchors never cover each other, even if they overlap on
/// disk: anything that is not known to be allowed is refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnchoredFolder {
    anchor: Anchor,
    parts: Vec<String>,
}

impl AnchoredFolder {
    /// Returns the anchor's own folder.
    pub fn at(anchor: Anchor) -> Self {
        Self { anchor, parts: Vec::new() }
    }

    /// Parses a path as written in a manifest: absolute, `~/` for the home folder, or relative to the workspace.
    /// Returns `None` for ambiguous paths: with `..`, with control characters, or empty.
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

    /// Returns what the path is relative to.
    pub fn anchor(&self) -> Anchor {
        self.anchor
    }

    /// Returns the path components below the anchor.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }
}

impl Cover for AnchoredFolder {
    fn covers(&self, other: &Self) -> bool {
        self.anchor == other.anchor && other.parts.starts_with(&self.parts)
    }
}

impl fmt::Display for AnchoredFolder {
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
