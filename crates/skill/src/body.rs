//! The instructions of a skill: everything after the frontmatter.

use std::ops::Range;

/// Recommended maximum number of lines in a body (F8).
pub const MAX_BODY_LINES: usize = 500;
/// Recommended maximum number of tokens in a body, approximately (F8).
pub const MAX_BODY_TOKENS: usize = 5_000;
/// Approximate number of bytes per token of English text or code.
const BYTES_PER_TOKEN: usize = 4;

/// The Markdown after the frontmatter, trimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The Markdown, without surrounding blank lines.
    pub text: String,
    /// Byte offset in the file where the body starts.
    pub start: usize,
}

impl Body {
    /// Extracts the body from `text[range]`.
    pub(crate) fn new(text: &str, range: Range<usize>) -> Self {
        let inside = &text[range.clone()];
        let start = range.start + inside.len() - inside.trim_start().len();
        Self { text: inside.trim().to_owned(), start }
    }

    /// Returns the number of lines.
    pub fn lines(&self) -> usize {
        self.text.bytes().filter(|&byte| byte == b'\n').count() + usize::from(!self.text.is_empty())
    }

    /// Returns the approximate number of tokens.
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
