//! Text of a stranger in a command that is shown to be typed.

use std::borrow::Cow;

/// Returns `text` as one word of a shell, whatever it holds.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '@' | '+');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_bring_a_command() {
        for (text, word) in [
            ("project/pdf", "project/pdf"),
            ("nested-a~2/x", "'nested-a~2/x'"),
            ("CSV Tools", "'CSV Tools'"),
            ("x; touch y", "'x; touch y'"),
            ("$(x)", "'$(x)'"),
            ("it's", "'it'\\''s'"),
            ("-rf", "'-rf'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
