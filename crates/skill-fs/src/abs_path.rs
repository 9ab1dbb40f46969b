//! Absolute paths.

use std::fmt;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

/// An absolute path that is valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath(Utf8PathBuf);

/// The reason why a path is not an [`AbsPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AbsPathError {
    /// The path is relative.
    #[error("the path `{0}` is not absolute")]
    Relative(String),
    /// The path is not UTF-8; contains replacement characters.
    #[error("the path `{0}` is not valid UTF-8")]
    NotUtf8(String),
}

impl AbsPath {
    /// Returns `path` if it is absolute and valid UTF-8.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, AbsPathError> {
        let path = Utf8PathBuf::from_path_buf(path.into())
            .map_err(|path| AbsPathError::NotUtf8(path.to_string_lossy().into_owned()))?;
        if path.is_absolute() {
            Ok(Self(path))
        } else {
            Err(AbsPathError::Relative(path.into_string()))
        }
    }

    /// Returns `path` resolved against this one; an absolute `path` is returned unchanged.
    pub fn join(&self, path: impl AsRef<Utf8Path>) -> Self {
        Self(self.0.join(path))
    }

    /// Returns the last component, unless it is `..` or there is none.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file_name()
    }

    /// Returns the parent folder.
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|parent| Self(parent.to_owned()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the path for functions of the standard library.
    pub fn as_path(&self) -> &Path {
        self.0.as_std_path()
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn relative_and_non_utf8_paths_are_rejected() {
        assert!(AbsPath::new("/a/b").is_ok());
        assert!(matches!(AbsPath::new("a"), Err(AbsPathError::Relative(_))));
        let bad: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"/a\xff".to_vec());
        assert_eq!(AbsPath::new(bad), Err(AbsPathError::NotUtf8("/a\u{fffd}".into())));
    }

    #[test]
    fn joining_an_absolute_path_returns_it_unchanged() {
        let base = AbsPath::new("/a").unwrap();
        assert_eq!(base.join("b/../c").as_str(), "/a/b/../c");
        assert_eq!(base.join("/x").as_str(), "/x");
    }
}
