//! Names that no run may write, however a file system folds them.

use std::ffi::OsStr;

use crate::PROTECTED;

/// Returns true for a name that is protected, or that some file system takes for one.
pub(super) fn is_protected(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    PROTECTED.iter().any(|known| skill::is_name_of(&name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_protected_however_they_are_written() {
        for name in [
            ".git",
            ".GIT",
            ".git.",
            ".git ",
            ".envrc.",
            "git~1",
            "GIT~2",
            "AGENTS.md ",
            ".g\u{200c}it",
            ".git::$INDEX_ALLOCATION",
            "CLAUDE~1.MD",
            "AGENTſ.md",
            ".proﬁle",
            ".gi\u{fe0f}t",
            ".g\u{34f}it",
            "\u{ff0e}ｇｉｔ",
        ] {
            assert!(is_protected(OsStr::new(name)), "{name}");
        }
        for name in ["git", ".gitignore", "readme.md", "a~1", "notes~", ".github"] {
            assert!(!is_protected(OsStr::new(name)), "{name}");
        }
    }
}
