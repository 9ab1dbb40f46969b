//! Which characters no text of a stranger may carry to a terminal, a prompt or a reviewer unnoticed.

use crate::Code;

/// Returns true for characters that would steer a terminal or change what a reader sees:
/// control characters other than tab and line feed, and marks that change the direction of writing.
pub fn is_unsafe_to_show(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{2028}' | '\u{2029}' | '\u{feff}' => true,
        _ => character.is_control() || is_bidi(character) || is_tag(character),
    }
}

/// Returns true for marks that reorder the text around them.
fn is_bidi(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true for the invisible copies of ASCII that can hide instructions from a reader.
fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}

/// Where text stands decides how bad a strange character in it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Frontmatter,
    Body,
}

/// Returns the rule that a suspicious character breaks.
pub(crate) fn code_of(character: char, place: Place) -> Code {
    match (character, place) {
        ('\0', _) => Code::NulCharacter,
        _ if is_bidi(character) || is_tag(character) => Code::HiddenCharacter,
        (_, Place::Frontmatter) => Code::ControlCharacter,
        (_, Place::Body) => Code::BodyControlCharacter,
    }
}

/// Returns what to say about a suspicious character.
pub(crate) fn describe(character: char) -> String {
    let name = format!("U+{:04X}", character as u32);
    match character {
        '\0' => "a NUL character".to_owned(),
        _ if is_bidi(character) => format!("{name} changes the direction of the text around it"),
        _ if is_tag(character) => format!("{name} is an invisible copy of a letter"),
        _ => format!("the control character {name}"),
    }
}

/// Returns the offset and the character of each control, direction or tag character in `text`.
pub(crate) fn suspicious(text: &str) -> impl Iterator<Item = (usize, char)> {
    // Most text has none: a plain look at the bytes keeps the common case cheap.
    let maybe = text.bytes().any(|byte| {
        (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'))
            || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xf3)
    });
    let text = if maybe { text } else { "" };
    text.char_indices().filter(|&(_, character)| {
        let control = character.is_control() && !matches!(character, '\t' | '\n' | '\r');
        control || is_bidi(character) || is_tag(character)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_look_misses_nothing_the_slow_one_finds() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let slow = (character.is_control() && !matches!(character, '\t' | '\n' | '\r'))
                || is_bidi(character)
                || is_tag(character);
            let text = format!("a{character}b");
            assert_eq!(suspicious(&text).count() == 1, slow, "U+{:04X}", character as u32);
        }
    }
}
