//! Slices of untrusted text by byte offsets, which come from parsers and arithmetic and can be wrong.
//!
//! The lint `clippy::string_slice` forbids `&text[a..b]` in this crate and in `skill-audit`: it panics inside a character
//! and beyond the end. This function is used instead.

use std::ops::{Bound, RangeBounds};

/// Returns the text of a byte range. A bound inside a character moves to its start, one beyond the end to the end, and a
/// range that ends before it starts is empty.
pub fn slice(text: &str, range: impl RangeBounds<usize>) -> &str {
    let start = match range.start_bound() {
        Bound::Included(at) => *at,
        Bound::Excluded(at) => at.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(at) => at.saturating_add(1),
        Bound::Excluded(at) => *at,
        Bound::Unbounded => text.len(),
    };
    let start = floor(text, start);
    text.get(start..floor(text, end).max(start)).unwrap_or_default()
}

/// Returns the start of the character at an offset, or the end of the text.
pub fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_any_text_has_a_slice() {
        let text = "aé\n🦀 …b";
        for start in 0..text.len() + 3 {
            for end in 0..text.len() + 3 {
                assert!(text.contains(slice(text, start..end)), "{start} {end}");
                assert!(text.contains(slice(text, start..=end)), "{start} {end}");
            }
            assert_eq!(slice(text, ..start).to_owned() + slice(text, start..), text);
        }
        assert_eq!((slice(text, 1..3), slice(text, 2..3)), ("é", "é"));
        assert_eq!((slice(text, 2..2), slice(text, ..), slice(text, usize::MAX..)), ("", text, ""));
    }
}
