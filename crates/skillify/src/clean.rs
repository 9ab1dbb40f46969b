//! Removes invisible characters from the text of a package.
//!
//! Control characters, bidirectional marks, tag characters and invisible spaces are removed. A joiner or a variation
//! selector stays only where it changes what is shown: inside an emoji, or between letters of a script that uses
//! joiners.

use skill::{is_ignorable, is_invisible, is_unsafe_to_show};

/// Joins two emoji, or two letters.
const JOINER: char = '\u{200d}';
/// Keeps two letters from joining.
const NON_JOINER: char = '\u{200c}';
/// Select the text and the emoji form of the character before them.
const SELECTORS: [char; 2] = ['\u{fe0e}', '\u{fe0f}'];
/// Draws a key around the character before it.
const KEYCAP: char = '\u{20e3}';
/// A Braille cell without dots: looks like a space but is not one.
const EMPTY_BRAILLE: char = '\u{2800}';

/// Returns a text without control characters and invisible ones.
pub(crate) fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\t', "    ").replace(EMPTY_BRAILLE, " ");
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let is_shown = match c {
            '\n' => true,
            JOINER => joins(&kept, next) || is_between_joined_letters(&kept, next),
            NON_JOINER => is_between_joined_letters(&kept, next),
            _ if SELECTORS.contains(&c) => is_selected(&kept, next),
            _ => !c.is_control() && !is_unsafe_to_show(c) && !is_invisible(c) && !is_ignorable(c),
        };
        if is_shown {
            kept.push(c);
        }
    }
    kept
}

/// Returns true for a joiner that combines two emoji into one.
fn joins(before: &str, next: Option<char>) -> bool {
    let mut before = before.chars().rev().skip_while(|c| SELECTORS.contains(c) || is_tone(*c));
    before.next().is_some_and(is_emoji) && next.is_some_and(is_emoji)
}

/// Returns true for a selector that changes how a character is shown. A second one in a row does not.
fn is_selected(before: &str, next: Option<char>) -> bool {
    before.chars().next_back().is_some_and(|last| {
        let is_key = last.is_ascii_digit() || last == '#' || last == '*';
        (is_emoji(last) && !is_tone(last)) || (is_key && next == Some(KEYCAP))
    })
}

fn is_between_joined_letters(before: &str, next: Option<char>) -> bool {
    before.chars().next_back().is_some_and(has_joined_letters)
        && next.is_some_and(has_joined_letters)
}

/// Returns true for a character of a script that uses joiners: Arabic, Syriac, the scripts of India, Khmer, Mongolian.
fn has_joined_letters(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1780}'..='\u{18aa}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}')
        && !is_ignorable(c)
}

/// Returns true for the characters that may be shown as an emoji.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns true for a skin tone modifier.
fn is_tone(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_invisible_characters_with_an_effect_stay() {
        for (text, shown) in [
            ("a\u{200b}b\u{200c}c\u{200d}d\u{fe0f}e\u{2060}f", "abcdef"),
            ("a\u{2800}b", "a b"),
            ("\u{200d}\u{fe0f}\u{200c}x", "x"),
            // A family and a flag are one emoji each.
            (
                "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
                "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
            ),
            ("\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}", "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}"),
            (
                "\u{1f44b}\u{1f3fd}\u{200d}\u{2642}\u{fe0f}",
                "\u{1f44b}\u{1f3fd}\u{200d}\u{2642}\u{fe0f}",
            ),
            ("\u{26a0}\u{fe0f} 1\u{fe0f}\u{20e3}", "\u{26a0}\u{fe0f} 1\u{fe0f}\u{20e3}"),
            // A run of selectors can carry a message.
            ("\u{26a0}\u{fe0f}\u{fe0f}\u{fe01}\u{e0100}", "\u{26a0}\u{fe0f}"),
            ("\u{1f468}\u{200d}\u{200d}\u{1f469}", "\u{1f468}\u{200d}\u{1f469}"),
            // Persian: "I want".
            (
                "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
                "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            ),
        ] {
            assert_eq!(clean(text), shown, "{text:?}");
        }
    }
}
