//! Names that become folders and commands: skills, sources, commands, aliases.

use std::fmt;

/// Maximum number of characters in an identifier.
const MAX: usize = 128;

/// An identifier: an ASCII letter or digit, then letters, digits, `.`, `_`, `-`. Never a path or a Windows device
/// name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(String);

/// Why a text is not an [`Identifier`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentifierError {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// More than 128 characters.
    #[error("it has more than {MAX} characters")]
    TooLong,
    /// It does not start with a letter or digit.
    #[error("it starts with {0:?}; expected an ASCII letter or digit")]
    Start(char),
    /// It contains any other character.
    #[error("it contains {0:?}; expected only ASCII letters, digits, `.`, `_` and `-`")]
    Character(char),
    /// It ends with a dot.
    #[error("it ends with a dot")]
    TrailingDot,
    /// It is a Windows device name.
    #[error("it is a Windows device name")]
    Device,
}

impl Identifier {
    /// The regular expression for schemas; it does not exclude Windows device names, which the parser rejects.
    pub const PATTERN: &str = r"^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$";

    /// Checks `text`.
    pub fn new(text: impl Into<String>) -> Result<Self, IdentifierError> {
        let text = text.into();
        let first = text.chars().next().ok_or(IdentifierError::Empty)?;
        if !first.is_ascii_alphanumeric() {
            return Err(IdentifierError::Start(first));
        }
        if let Some(found) =
            text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'))
        {
            return Err(IdentifierError::Character(found));
        }
        if text.len() > MAX {
            return Err(IdentifierError::TooLong);
        }
        if text.ends_with('.') {
            return Err(IdentifierError::TrailingDot);
        }
        if is_device(&text) { Err(IdentifierError::Device) } else { Ok(Self(text)) }
    }

    /// Returns the identifier.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns true for `CON`, `nul.txt`, `COM1` and similar names.
fn is_device(text: &str) -> bool {
    let stem = text.split('.').next().unwrap_or(text).to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && matches!(rest.as_bytes()[0], b'1'..=b'9'))
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_never_become_paths() {
        for good in ["a", "skill-tracker", "9", "A.b_c-d", "console", "com0", "com10", "nula"] {
            assert!(Identifier::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(129);
        for bad in [
            "", ".", "..", "../x", "a/b", "a\\b", "-a", "_a", "a b", "ü", "a.", "CON", "nul.txt",
            "Com1", &long,
        ] {
            assert!(Identifier::new(bad).is_err(), "{bad}");
        }
    }
}
