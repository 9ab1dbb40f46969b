//! Names that no run may write, however a file system folds them.

use std::ffi::OsStr;

use crate::PROTECTED;

/// Returns true for a name that is protected, or that some file system takes for one: by other letters of the same kind, dots and blanks
/// at its end, characters that nobody sees, or the short names of old systems.
pub(super) fn is_protected(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let seen: String =
        name.chars().filter(|c| !is_unseen(*c)).flat_map(char::to_lowercase).collect();
    let plain = seen.trim_end_matches(['.', ' ']);
    // What comes after a colon is a part of the same file to some.
    let plain = plain.split(':').next().unwrap_or(plain);
    PROTECTED.iter().any(|known| {
        let known = known.to_lowercase();
        plain == known || is_short_for(plain, &known)
    })
}

/// `git~1` is `.git` where names have eight letters.
fn is_short_for(name: &str, known: &str) -> bool {
    let Some((start, number)) = name.split_once('~') else { return false };
    let letters: String = known.chars().filter(char::is_ascii_alphanumeric).collect();
    let number = number.split('.').next().unwrap_or(number);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && start.len() >= 2 && letters.starts_with(start)
}

fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
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
        ] {
            assert!(is_protected(OsStr::new(name)), "{name}");
        }
        for name in ["git", ".gitignore", "readme.md", "a~1", "notes~", ".github"] {
            assert!(!is_protected(OsStr::new(name)), "{name}");
        }
    }
}
