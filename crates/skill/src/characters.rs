//! Characters that untrusted text could use to mislead a terminal, a prompt or a reviewer.

use crate::Code;

/// Returns true for characters that control a terminal or change what a reader sees: control characters other than tab
/// and line feed, and bidirectional formatting characters.
pub fn is_unsafe_to_show(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{2028}' | '\u{2029}' | '\u{feff}' => true,
        _ => character.is_control() || is_bidi(character) || is_tag(character),
    }
}

/// Returns true for characters that reorder the text around them.
fn is_bidi(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true for the invisible copies of ASCII that can hide instructions from a reader.
fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}

/// Returns true for characters that have no width and no meaning, so that different texts look the same. Joiners and
/// emoji selectors are excluded: they change how the surrounding text is displayed.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'
            | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns true for characters that make no visible difference in a name: everything that Unicode calls
/// default-ignorable (invisible characters, joiners, selectors) and everything that reorders the surrounding text.
pub fn is_ignorable(character: char) -> bool {
    is_unsafe_to_show(character)
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
                | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns true for characters that only some YAML parsers treat as a line break.
fn is_ambiguous_line_break(character: char) -> bool {
    matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The part of the file a character is in, which decides how serious a suspicious character is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSection {
    Frontmatter,
    Body,
}

/// Returns the rule that a suspicious character breaks.
pub(crate) fn code_of(character: char, place: FileSection) -> Code {
    match (character, place) {
        ('\0', _) => Code::NulCharacter,
        _ if is_bidi(character) || is_tag(character) || is_invisible(character) => {
            Code::HiddenCharacter
        }
        ('\u{2028}' | '\u{2029}', FileSection::Body) => Code::HiddenCharacter,
        (_, FileSection::Frontmatter) => Code::ControlCharacter,
        (_, FileSection::Body) => Code::BodyControlCharacter,
    }
}

/// Returns the message about a suspicious character.
pub(crate) fn describe(character: char) -> String {
    let name = format!("U+{:04X}", character as u32);
    match character {
        '\0' => "a NUL character".to_owned(),
        '\r' => "a carriage return without a line feed".to_owned(),
        _ if is_ambiguous_line_break(character) => {
            format!("{name}, which only some YAML parsers treat as a line break")
        }
        _ if is_bidi(character) => format!("{name} changes the text direction"),
        _ if is_tag(character) => format!("{name} is an invisible copy of an ASCII character"),
        _ if is_invisible(character) => format!("{name} is invisible"),
        _ => format!("the control character {name}"),
    }
}

/// Returns the offset and the character of each control, direction or invisible character in `text`.
pub(crate) fn suspicious(text: &str) -> impl Iterator<Item = (usize, char)> {
    // Most text has none, so scanning the bytes first keeps the common case cheap. The list contains the first bytes
    // of all characters in question.
    let maybe = text.bytes().any(|byte| {
        (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'))
            || matches!(byte, 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf3)
    });
    let text = if maybe { text } else { "" };
    text.char_indices().filter(|&(_, character)| is_suspicious(character))
}

fn is_suspicious(character: char) -> bool {
    let control = character.is_control() && !matches!(character, '\t' | '\n' | '\r');
    control
        || is_bidi(character)
        || is_tag(character)
        || is_invisible(character)
        || is_ambiguous_line_break(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_scan_misses_no_suspicious_character() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let slow = is_suspicious(character);
            let text = format!("a{character}b");
            assert_eq!(suspicious(&text).count() == 1, slow, "U+{:04X}", character as u32);
        }
    }
}
