//! The instructions of a skill: everything after the frontmatter.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

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

/// A link of the body to a path that is not a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The path as written, without its fragment, percent signs decoded.
    pub path: String,
    /// Where in the file the link stands, in bytes.
    pub range: Range<usize>,
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

    /// Returns the links to paths, in order. Links to URLs, anchors and mail addresses are left out.
    pub fn references(&self) -> Vec<Reference> {
        // Markdown is parsed only where there can be a link at all.
        if !self.text.contains("](") && !self.text.contains("]:") {
            return Vec::new();
        }
        let events = Parser::new_ext(&self.text, Options::empty()).into_offset_iter();
        let links = events.filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((dest_url, range))
            }
            _ => None,
        });
        let paths = links.filter_map(|(url, range)| Some((as_path(&url)?, range)));
        paths
            .map(|(path, range)| Reference {
                path,
                range: self.start + range.start..self.start + range.end,
            })
            .collect()
    }
}

/// Returns the path of a link that names a file, decoded; `None` for URLs and anchors.
fn as_path(url: &str) -> Option<String> {
    let path = url.split(['#', '?']).next().unwrap_or("");
    let scheme = path.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_url = !scheme.is_empty()
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    // What holds blanks, variables or placeholders is an example, not a file.
    let is_example = path.contains(|c: char| c.is_whitespace() || "<>{}$*|".contains(c));
    if path.is_empty() || is_url || is_example || path.starts_with("//") {
        return None;
    }
    Some(percent_decoded(path))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let decoded =
            pair.filter(|_| first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(decoded.unwrap_or(first));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Body {
        Body::new(text, 0..text.len())
    }

    #[test]
    fn only_links_to_files_are_references() {
        let text = "\
            See [a](references/a.md#top), ![b](assets/b%20c.png), [u](https://x.test/a.md), [m](mailto:a@b.c),\n\
            [anchor](#x), [var]({baseDir}/x), [r][r] and `[code](no.md)`.\n\n\
            ```\n[fenced](no.md)\n```\n\n[r]: scripts/run.py\n";
        let paths: Vec<String> =
            body(text).references().into_iter().map(|reference| reference.path).collect();
        assert_eq!(paths, ["references/a.md", "assets/b c.png", "scripts/run.py"]);
    }

    #[test]
    fn a_reference_knows_its_place_in_the_file() {
        let file = "---\n---\n\nSee [a](x.md).\n";
        let references = Body::new(file, 8..file.len()).references();
        assert_eq!(&file[references[0].range.clone()], "[a](x.md)");
    }

    #[test]
    fn a_body_is_trimmed_and_counted() {
        let body = body("\n\n  one\ntwo\n\n");
        assert_eq!((body.text.as_str(), body.lines(), body.tokens()), ("one\ntwo", 2, 2));
        assert_eq!(Body::new("", 0..0).lines(), 0);
    }
}
