//! Skill names as defined by the standard (F2).

use std::fmt;

use unicode_normalization::{UnicodeNormalization, is_nfkc};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::Code;
use crate::characters::is_ignorable;

/// Maximum number of characters in a name.
pub const MAX_NAME: usize = 64;

/// A valid skill name: NFKC, 1 to 64 lower-case letters, digits and single inner hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

/// Why a text is not a skill name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty.
    #[error("the name is empty")]
    Empty,
    /// More than [`MAX_NAME`] characters.
    #[error("the name has {length} characters; the limit is {MAX_NAME}")]
    TooLong {
        /// The number of characters.
        length: usize,
    },
    /// It contains capital letters.
    #[error("the name contains capital letters")]
    NotLowercase,
    /// A leading, trailing or double hyphen.
    #[error("the name starts or ends with a hyphen, or contains two in a row")]
    Hyphens,
    /// A character that is not a letter, a digit or a hyphen.
    #[error("the name contains {found:?}; only letters, digits and hyphens are allowed")]
    Character {
        /// The first such character.
        found: char,
    },
}

impl NameError {
    /// Returns the rule that the name breaks.
    pub fn code(&self) -> Code {
        match self {
            Self::Empty => Code::NameMissing,
            Self::TooLong { .. } => Code::NameTooLong,
            Self::NotLowercase => Code::NameNotLowercase,
            Self::Hyphens => Code::NameHyphens,
            Self::Character { .. } => Code::NameCharacters,
        }
    }
}

impl SkillName {
    /// Checks `text`, trimmed and normalized first; returns every rule it breaks.
    pub fn parse(text: &str) -> Result<Self, Vec<NameError>> {
        let name = normalised(text);
        let errors = problems(&name);
        if errors.is_empty() { Ok(Self(name)) } else { Err(errors) }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns `text` trimmed and in NFKC, the form in which names are compared.
pub fn normalised(text: &str) -> String {
    let text = text.trim();
    if text.is_ascii() || is_nfkc(text) { text.to_owned() } else { text.nfkc().collect() }
}

/// Returns a valid name similar to `text`, for suggestions.
pub(crate) fn suggestion(text: &str) -> Option<SkillName> {
    let spaced: String = normalised(text)
        .to_lowercase()
        .chars()
        .map(|c| if is_word(c) || is_mark(c) { c } else { '-' })
        .collect();
    let joined: Vec<&str> = spaced.split('-').filter(|part| !part.is_empty()).collect();
    SkillName::parse(&joined.join("-")).ok()
}

fn problems(name: &str) -> Vec<NameError> {
    if name.is_empty() {
        return vec![NameError::Empty];
    }
    let mut errors = Vec::new();
    let length = name.chars().count();
    if length > MAX_NAME {
        errors.push(NameError::TooLong { length });
    }
    if name.to_lowercase() != name {
        errors.push(NameError::NotLowercase);
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        errors.push(NameError::Hyphens);
    }
    // A combining mark belongs to the letter before it (`हिंदी`); alone it is not part of a word.
    let mut inside_word = false;
    for found in name.chars() {
        let fits = found == '-' || is_word(found) || (inside_word && is_mark(found));
        // An invisible character would make two names look the same.
        let fits = fits && !is_ignorable(found);
        if !fits {
            errors.push(NameError::Character { found });
            break;
        }
        inside_word = found != '-';
    }
    errors
}

fn is_word(character: char) -> bool {
    // Nearly all names are ASCII, and the table of all letters is large.
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    matches!(
        character.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

fn is_mark(character: char) -> bool {
    character.general_category_group() == GeneralCategoryGroup::Mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_against_every_rule() {
        for (text, broken) in [
            ("pdf", ""),
            ("pdf-2-text", ""),
            ("技能", ""),
            ("мой-навык", ""),
            ("हिंदी", ""),
            ("ｐｄｆ", ""),
            ("  pdf ", ""),
            ("", "name-missing"),
            (" ", "name-missing"),
            ("PDF", "name-not-lowercase"),
            ("НАВЫК", "name-not-lowercase"),
            ("-pdf", "name-hyphens"),
            ("pdf-", "name-hyphens"),
            ("pdf--x", "name-hyphens"),
            ("my skill", "name-characters"),
            ("my_skill", "name-characters"),
            ("../etc", "name-characters"),
            ("\u{301}a", "name-characters"),
            ("a-\u{301}b", "name-characters"),
            ("📄", "name-characters"),
            ("pdf\u{fe0f}", "name-characters"),
            ("pd\u{34f}f", "name-characters"),
            ("pdf\u{3164}", "name-characters"),
            ("My--Skill!", "name-not-lowercase name-hyphens name-characters"),
        ] {
            let errors = SkillName::parse(text).err().unwrap_or_default();
            let codes: Vec<&str> = errors.iter().map(|error| error.code().as_str()).collect();
            assert_eq!(codes.join(" "), broken, "{text:?}");
        }
    }

    #[test]
    fn sixty_four_characters_are_the_limit() {
        assert!(SkillName::parse(&"я".repeat(64)).is_ok());
        assert_eq!(SkillName::parse(&"я".repeat(65)), Err(vec![NameError::TooLong { length: 65 }]));
    }

    #[test]
    fn a_similar_name_is_suggested() {
        for (text, near) in [
            ("My Skill", Some("my-skill")),
            ("a__b", Some("a-b")),
            ("ns:Tool.x", Some("ns-tool-x")),
        ] {
            assert_eq!(suggestion(text).as_ref().map(SkillName::as_str), near, "{text}");
        }
        assert_eq!(suggestion("!!!"), None);
    }
}
