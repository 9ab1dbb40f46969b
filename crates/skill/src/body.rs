//! The instructions of a skill: everything after the frontmatter.

use std::ops::Range;

/// The most lines a body should have (F8).
pub const MAX_BODY_LINES: usize = 500;
/// About the most tokens a body should have (F8).
pub const MAX_BODY_TOKENS: usize = 5_000;
/// Bytes that make about one token of English text or code.
const BYTES_PER_TOKEN: usize = 4;

/// A body, trimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The Markdown, without blank lines around it.
    pub text: String,
    /// Where in the file it starts, in bytes.
    pub start: usize,
}

impl Body {
    /// Takes the body out of `text[range]`.
    pub(crate) fn new(text: &str, range: Range<usize>) -> Self {
        let inside = &text[range.clone()];
        let start = range.start + inside.len() - inside.trim_start().len();
        Self { text: inside.trim().to_owned(), start }
    }

    /// Returns how many lines it has.
    pub fn lines(&self) -> usize {
        self.text.bytes().filter(|&byte| byte == b'\n').count() + usize::from(!self.text.is_empty())
    }

    /// Returns about how many tokens it has.
    pub fn tokens(&self) -> usize {
        self.text.len().div_ceil(BYTES_PER_TOKEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_trimmed_and_counted() {
        let text = "\n\n  one\ntwo\n\n";
        let body = Body::new(text, 0..text.len());
        assert_eq!((body.text.as_str(), body.lines(), body.tokens()), ("one\ntwo", 2, 2));
        assert_eq!(Body::new("", 0..0).lines(), 0);
    }
}
