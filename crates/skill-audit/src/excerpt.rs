//! Excerpts of text.

use std::ops::Range;

pub(crate) use shell::{floor, slice};

/// Returns the range of the line around a match, limited to `distance` bytes on each side.
pub(crate) fn line(text: &str, range: &Range<usize>, distance: usize) -> Range<usize> {
    let (start, end) = (floor(text, range.start), floor(text, range.end.max(range.start)));
    let first = floor(text, start.saturating_sub(distance));
    let last = floor(text, end + distance).max(end);
    let start = slice(text, first..start).rfind('\n').map_or(first, |at| first + at + 1);
    let end = slice(text, end..last).find('\n').map_or(last, |at| end + at);
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
                let line = line(text, &(start..end), 3);
                assert!(text.is_char_boundary(line.start) && text.is_char_boundary(line.end));
                let line = slice(text, line);
                assert!(start == end || !line.starts_with('\n'), "{start} {end} {line:?}");
            }
        }
        assert_eq!(slice(text, line(text, &(5..6), 100)), "бв г");
    }
}
