//! The text of a file, with conversion from byte offsets to lines and columns.

use std::cell::OnceCell;
use std::ops::Range;

use crate::{Position, Span};

/// The text of a file. Line starts are computed when the first position is requested.
#[derive(Debug)]
pub struct Source<'a> {
    text: &'a str,
    line_starts: OnceCell<Vec<usize>>,
}

impl<'a> Source<'a> {
    /// Wraps `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, line_starts: OnceCell::new() }
    }

    /// Returns the whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the line and column of both ends of `range`. An offset inside a character moves to its start.
    pub fn span(&self, range: Range<usize>) -> Span {
        let start = self.position(range.start);
        Span { start, end: if range.end <= range.start { start } else { self.position(range.end) } }
    }

    /// Returns the text of line `line` (from 1), without its line break.
    pub fn line(&self, line: usize) -> &'a str {
        let starts = self.line_starts();
        let from = starts.get(line - 1).copied().unwrap_or(self.text.len());
        let to = starts.get(line).copied().unwrap_or(self.text.len());
        self.text[from..to].trim_end_matches(['\n', '\r'])
    }

    fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let starts = self.line_starts();
        let line = starts.partition_point(|&start| start <= offset);
        let column = self.text[starts[line - 1]..offset].chars().count() + 1;
        Position { line, column, offset }
    }

    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_offsets_count_bytes() {
        let source = Source::new("a\nжук x\n");
        let span = source.span(9..10);
        assert_eq!((span.start.line, span.start.column, span.start.offset), (2, 5, 9));
        assert_eq!(source.line(2), "жук x");
    }

    #[test]
    fn an_offset_past_the_end_is_the_end() {
        let source = Source::new("ab");
        assert_eq!(source.span(7..9).start, Position { line: 1, column: 3, offset: 2 });
    }
}
