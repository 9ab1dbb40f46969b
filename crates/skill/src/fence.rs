//! Splits a SKILL.md into frontmatter and body at its two `---` lines.
//!
//! A fence is a whole line, so a `---` inside a value does not end the frontmatter.

use std::ops::Range;

use crate::{Code, Report};

/// The two parts of the file.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The YAML between the fences.
    pub(crate) frontmatter: Range<usize>,
    /// Everything after the closing fence.
    pub(crate) body: Range<usize>,
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Finds the two parts; reports a problem if they cannot be found.
pub(crate) fn split(text: &str, report: &mut Report<'_>) -> Option<Parts> {
    let mut start = 0;
    if text.starts_with(BYTE_ORDER_MARK) {
        start = BYTE_ORDER_MARK.len();
        let hint = "save the file as UTF-8 without a byte order mark";
        report.add_with_hint(
            Code::ByteOrderMark,
            0..0,
            "the file starts with a byte order mark",
            hint,
        );
    }
    let lead = lead_in(&text[start..]);
    let Some(opening) = first_line(text, start + lead).filter(|line| is_fence(line)) else {
        let range = start..start + text[start..].lines().next().map_or(0, str::len);
        let found = match text[start..].trim().lines().next() {
            None => "the file is empty".to_owned(),
            Some(line) => {
                format!("the file starts with `{}`, not with frontmatter", shortened(line))
            }
        };
        let hint = "start the file with a `---` line, then `name:` and `description:`, then another `---` line";
        report.add_with_hint(Code::NoFrontmatter, range, found, hint);
        return None;
    };
    if lead > 0 {
        let message = "there are blank lines or comments before the frontmatter";
        report.add_with_hint(
            Code::TextBeforeFrontmatter,
            start..start,
            message,
            "make `---` the first line of the file",
        );
    }
    let inside = start + lead + opening.len();
    let Some(closing) = lines(text, inside).find(|line| is_fence(&text[line.clone()])) else {
        report_unclosed(text, start + lead, inside, report);
        return None;
    };
    Some(Parts { frontmatter: inside..closing.start, body: closing.end..text.len() })
}

/// Returns the end of the closing fence, if `start_of_file` includes it. The frontmatter can then be parsed without
/// reading the body.
pub(crate) fn end_of_frontmatter(start_of_file: &[u8]) -> Option<usize> {
    if let Some(inside) = start_of_file.strip_prefix(b"---\n") {
        return closing(inside).map(|end| end + 4);
    }
    let text = match std::str::from_utf8(start_of_file) {
        Ok(text) => text,
        // The last character may be incomplete; the parser reports errors before it.
        Err(error) => std::str::from_utf8(&start_of_file[..error.valid_up_to()]).ok()?,
    };
    let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let start = start + lead_in(&text[start..]);
    let opening = first_line(text, start).filter(|line| is_fence(line))?;
    let inside = start + opening.len();
    closing(&text.as_bytes()[inside..]).map(|end| inside + end)
}

/// Returns the end of the first line that is a fence, including its line feed.
fn closing(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = &bytes[start..end];
        // Any Unicode whitespace may follow; a line that is not valid UTF-8 is not a fence.
        if line.starts_with(b"---") && std::str::from_utf8(line).is_ok_and(is_fence) {
            return Some(end + 1);
        }
        start = end + 1;
    }
    None
}

/// Returns the length of the blank lines and comments before the first fence; 0 if anything else precedes it.
fn lead_in(text: &str) -> usize {
    let mut at = 0;
    let mut in_comment = false;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        if in_comment {
            in_comment = !content.contains("-->");
        } else if let Some(rest) = content.strip_prefix("<!--") {
            in_comment = !rest.contains("-->");
        } else if is_fence(line) {
            return at;
        } else if !content.is_empty() && !content.starts_with('#') {
            return 0;
        }
        at += line.len();
    }
    0
}

fn report_unclosed(text: &str, opening: usize, inside: usize, report: &mut Report<'_>) {
    let message = "the frontmatter starts here but is never closed";
    let nearly = lines(text, inside).find(|line| {
        let content = text[line.clone()].trim();
        matches!(content, "..." | "—" | "–" | "***")
            || (content.len() >= 2 && content.chars().all(|c| "-–—".contains(c)))
    });
    let hint = match nearly {
        Some(line) => {
            let at = text[..line.start].matches('\n').count() + 1;
            format!(
                "line {at} is `{}`; it must be exactly `---`, at the start of the line",
                text[line].trim_end()
            )
        }
        None => "add a `---` line after the last field".to_owned(),
    };
    report.add_with_hint(Code::FrontmatterUnclosed, opening..opening + 3, message, hint);
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

fn first_line(text: &str, start: usize) -> Option<&str> {
    text.get(start..)?.split_inclusive('\n').next()
}

fn lines(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = start;
    text[start..].split_inclusive('\n').map(move |line| {
        let range = at..at + line.len();
        at = range.end;
        range
    })
}

fn shortened(line: &str) -> String {
    let mut shown: String = line.chars().take(40).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}
