//! A path inside a skill: relative, `/`-separated, and unable to leave the skill.

use std::fmt;

/// A relative path that stays below its root: no `..`, no empty or `.` component, no backslash, no drive letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

/// Why a text is not a [`RelPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelPathError {
    /// It is empty.
    #[error("the path is empty")]
    Empty,
    /// It starts at the filesystem root or with a drive letter.
    #[error("the path `{0}` is absolute")]
    Absolute(String),
    /// It contains `..`.
    #[error("the path `{0}` contains `..`")]
    Parent(String),
    /// It contains an empty component or `.`.
    #[error("the path `{0}` contains an empty or `.` component")]
    EmptyPart(String),
    /// It contains a backslash or a control character.
    #[error("the path {0:?} contains a backslash or a control character")]
    Character(String),
}

impl RelPathError {
    /// Returns the reason without the path, for messages that already show it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "it is empty",
            Self::Absolute(_) => "it is absolute",
            Self::Parent(_) => "it contains `..`",
            Self::EmptyPart(_) => "it contains an empty or `.` component",
            Self::Character(_) => "it contains a backslash or a control character",
        }
    }
}

impl RelPath {
    /// Checks `text`.
    pub fn new(text: impl Into<String>) -> Result<Self, RelPathError> {
        let text = text.into();
        if text.is_empty() {
            return Err(RelPathError::Empty);
        }
        if text.chars().any(|character| character == '\\' || character.is_control()) {
            return Err(RelPathError::Character(text));
        }
        let drive =
            text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic();
        if text.starts_with('/') || drive {
            return Err(RelPathError::Absolute(text));
        }
        if text.split('/').any(|part| part == "..") {
            return Err(RelPathError::Parent(text));
        }
        if text.split('/').any(|part| part.is_empty() || part == ".") {
            return Err(RelPathError::EmptyPart(text));
        }
        Ok(Self(text))
    }

    /// Returns this path with `name` appended.
    pub fn join(&self, name: &str) -> Result<Self, RelPathError> {
        Self::new(format!("{}/{name}", self.0))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the components, outermost first.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_stay_inside_are_accepted() {
        for good in ["a", "a/b.md", ".hidden/x", "a b/ü", "..a/b..", "ab:c"] {
            assert!(RelPath::new(good).is_ok(), "{good}");
        }
        for bad in [
            "", "/a", "a//b", "a/", "./a", "a/./b", "..", "a/../b", "a\\b", "C:/x", "c:x", "a\nb",
            "a\0b",
        ] {
            assert!(RelPath::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn join_cannot_leave_the_root() {
        let path = RelPath::new("a").unwrap();
        assert_eq!(path.join("b").unwrap().as_str(), "a/b");
        assert!(path.join("..").is_err());
        assert!(path.join("").is_err());
    }
}
