//! Libraries that a skill says it needs.

/// A kind of library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryKind {
    /// A package of R.
    R,
    /// A package of Python.
    Python,
    /// A package of Node.js.
    Node,
}

/// A library that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededLibrary {
    /// Its kind.
    pub kind: LibraryKind,
    /// Its name.
    pub name: String,
    /// The least version that will do.
    pub least: Option<String>,
}

impl NeededLibrary {
    /// Reads `name`, `r:name`, `python:name` or `node:name`, with `>=version` after it.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, least) = match text.split_once(">=") {
            Some((name, least)) => (name.trim(), Some(least.trim().to_owned())),
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
        let is_version = |least: &String| {
            least.starts_with(|c: char| c.is_ascii_digit()) && least.chars().all(is_plain)
        };
        let is_good = is_good && least.as_ref().is_none_or(is_version);
        is_good.then(|| Self { kind, name: name.to_owned(), least })
    }
}
