//! Quotes untrusted text for commands that are shown to be pasted into a shell.

use std::borrow::Cow;

/// Returns `text` quoted as a single shell word.
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
    fn names_cannot_inject_commands() {
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
