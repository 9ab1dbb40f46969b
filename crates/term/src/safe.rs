//! Makes untrusted text safe to show on a terminal.
//!
//! Each character is replaced with exactly one character, so columns stay aligned.

use std::borrow::Cow;

use skill::is_unsafe_to_show;

/// Returns `text` with control and bidirectional characters made visible. Line breaks and tabs are kept.
pub fn safe_text(text: &str) -> Cow<'_, str> {
    if text.contains(is_unsafe_to_show) {
        text.chars().map(visible).collect()
    } else {
        Cow::Borrowed(text)
    }
}

/// Same as [`safe_text`], but line breaks and tabs become spaces, so that the result is one line.
pub fn safe_line(text: &str) -> Cow<'_, str> {
    let breaks = |character| matches!(character, '\n' | '\t');
    if !text.contains(|character| breaks(character) || is_unsafe_to_show(character)) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|character| if breaks(character) { ' ' } else { visible(character) }).collect()
}

fn visible(character: char) -> char {
    if !is_unsafe_to_show(character) {
        return character;
    }
    match u32::from(character) {
        // The Unicode block "Control Pictures".
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        for (text, safe) in [
            ("plain ж 技", "plain ж 技"),
            ("\u{1b}[2J", "␛[2J"),
            ("a\rb", "a␍b"),
            ("a\u{7f}", "a␡"),
            ("a\u{9b}31m", "a\u{fffd}31m"),
            ("a\u{202e}b\u{2066}c", "a\u{fffd}b\u{fffd}c"),
            ("\u{e0041}", "\u{fffd}"),
            ("\u{feff}x\u{2028}", "\u{fffd}x\u{fffd}"),
            ("a\n\tb", "a\n\tb"),
        ] {
            assert_eq!(safe_text(text), safe, "{text:?}");
            assert_eq!(safe_text(text).chars().count(), text.chars().count());
        }
        assert_eq!(safe_line("a\n\tb"), "a  b");
    }
}
