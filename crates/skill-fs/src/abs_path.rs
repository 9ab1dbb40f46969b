//! Absolute paths.
//!
//! On Windows they have one spelling: `\` as separator, an uppercase drive letter, and no `\\?\` prefix unless the path
//! needs it. Paths that differ only in their spelling are then equal, and look to users as they typed them.

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
            Ok(Self(spelled(path)))
        } else {
            Err(AbsPathError::Relative(path.into_string()))
        }
    }

    /// Returns `path` resolved against this one; an absolute `path` is returned unchanged.
    pub fn join(&self, path: impl AsRef<Utf8Path>) -> Self {
        Self(spelled(self.0.join(path)))
    }

    /// Returns the part of `path` below this folder, with slashes on every system; `None` if it is not below it.
    pub fn below(&self, path: &Self) -> Option<String> {
        let below = path.0.strip_prefix(&self.0).ok()?;
        let parts: Vec<&str> = below.components().map(|part| part.as_str()).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
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

#[cfg(not(windows))]
fn spelled(path: Utf8PathBuf) -> Utf8PathBuf {
    path
}

#[cfg(windows)]
fn spelled(path: Utf8PathBuf) -> Utf8PathBuf {
    windows_spelling(path.as_str()).into()
}

/// Returns the usual spelling of an absolute Windows path.
#[cfg(any(windows, test))]
fn windows_spelling(path: &str) -> String {
    let is_literal = |part: &str| {
        !matches!(part, "." | "..")
            && !part.ends_with(['.', ' '])
            && !part.contains('/')
            && !skill::is_device_name(part)
    };
    // Only the prefix makes Windows take these names literally, so it stays if the path has one of them.
    let plain = match path.strip_prefix(r"\\?\") {
        Some(rest) if !rest.split('\\').all(is_literal) => return path.to_owned(),
        Some(rest) => match rest.strip_prefix(r"UNC\") {
            Some(share) => format!(r"\\{share}"),
            None if rest.as_bytes().get(1) == Some(&b':') => rest.to_owned(),
            // A volume by its ID, or a pipe: there is no other spelling.
            None => return path.to_owned(),
        },
        None => path.replace('/', r"\"),
    };
    match plain.split_at_checked(1) {
        Some((drive, rest)) if rest.starts_with(':') => drive.to_ascii_uppercase() + rest,
        _ => plain,
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
    fn windows_paths_have_one_spelling() {
        for (path, spelling) in [
            (r"\\?\C:\a\b", r"C:\a\b"),
            (r"\\?\UNC\server\share\a", r"\\server\share\a"),
            (r"c:/a/b", r"C:\a\b"),
            (r"\\server/share", r"\\server\share"),
            // Without the prefix, these would be other files.
            (r"\\?\C:\a\nul", r"\\?\C:\a\nul"),
            (r"\\?\C:\a.\b", r"\\?\C:\a.\b"),
            (r"\\?\C:\a\..\b", r"\\?\C:\a\..\b"),
            (r"\\?\Volume{1}\a", r"\\?\Volume{1}\a"),
            (r"\\.\pipe\x", r"\\.\pipe\x"),
        ] {
            assert_eq!(windows_spelling(path), spelling);
        }
    }

    #[test]
    fn a_path_below_a_folder_has_slashes() {
        let below = |path: &str| AbsPath::new("/a/b").unwrap().below(&AbsPath::new(path).unwrap());
        assert_eq!(below("/a/b/c/d"), Some("c/d".to_owned()));
        assert_eq!((below("/a/b"), below("/a/bc")), (None, None));
    }

    #[test]
    fn joining_an_absolute_path_returns_it_unchanged() {
        let base = AbsPath::new("/a").unwrap();
        assert_eq!(base.join("b/../c").as_str(), "/a/b/../c");
        assert_eq!(base.join("/x").as_str(), "/x");
    }
}
