//! Libraries that a skill needs.

/// The package ecosystem of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryKind {
    /// An R package.
    R,
    /// A Python package.
    Python,
    /// A Node.js package.
    Node,
}

/// A library that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededLibrary {
    /// Its kind.
    pub kind: LibraryKind,
    /// Its name.
    pub name: String,
    /// The minimum version, if one is required.
    pub min_version: Option<String>,
}

impl NeededLibrary {
    /// Parses `name`, `r:name`, `python:name` or `node:name`, optionally followed by `>=version`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, min_version) = match text.split_once(">=") {
            Some((name, min_version)) => (name.trim(), Some(min_version.trim().to_owned())),
            None => (text.trim(), None),
        };
        let (kind, name) = match name.split_once(':') {
            None => (LibraryKind::R, name),
            Some(("r" | "R", name)) => (LibraryKind::R, name),
            Some(("python", name)) => (LibraryKind::Python, name),
            Some(("node", name)) => (LibraryKind::Node, name),
            Some(_) => return None,
        };
        let is_scoped =
            kind == LibraryKind::Node && name.starts_with('@') && name.matches('/').count() == 1;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let plain = if is_scoped { name[1..].replacen('/', "", 1) } else { name.to_owned() };
        let is_good = plain.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && plain.chars().all(is_plain);
        let is_version = |min_version: &String| {
            min_version.starts_with(|c: char| c.is_ascii_digit())
                && min_version.chars().all(is_plain)
        };
        let is_good = is_good && min_version.as_ref().is_none_or(is_version);
        is_good.then(|| Self { kind, name: name.to_owned(), min_version })
    }
}
