//! Excerpts of text. Range ends inside a character move to its start.

use std::ops::Range;

/// Returns the start of the character at an offset.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the text of a range.
pub(crate) fn slice<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    let start = floor(text, range.start);
    &text[start..floor(text, range.end).max(start)]
}

/// Returns the range of the line around a match, limited to `distance` bytes on each side.
pub(crate) fn line(text: &str, range: &Range<usize>, distance: usize) -> Range<usize> {
    let (start, end) = (floor(text, range.start), floor(text, range.end.max(range.start)));
    let first = floor(text, start.saturating_sub(distance));
    let last = floor(text, end + distance).max(end);
    let start = text[first..start].rfind('\n').map_or(first, |at| first + at + 1);
    let end = text[end..last].find('\n').map_or(last, |at| end + at);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_ends_are_on_character_boundaries() {
        let text = "aé\nбв г\nd";
        for start in 0..text.len() + 3 {
            for end in start..text.len() + 3 {
                slice(text, &(start..end));
                let line = &text[line(text, &(start..end), 3)];
                assert!(start == end || !line.starts_with('\n'), "{start} {end} {line:?}");
            }
        }
        assert_eq!(&text[line(text, &(5..6), 100)], "бв г");
    }
}
