//! Checks the links from a body to files in its skill (F10): they must exist, stay inside the skill and not be too
//! deep.

mod html;

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use crate::{Body, Code, Diagnostic, Input, RelPath, RelPathError, Report, Source, Strictness};

/// How much of a body is searched for links. A longer body is reported as too long anyway.
const MAX_SEARCHED_BYTES: usize = 256 << 10;

/// A link in the body to a path that is not a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reference {
    /// The path as written, without its fragment and percent-decoded.
    path: String,
    /// Byte range of the link in the file.
    range: Range<usize>,
}

/// What is at a path in the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// A file or a folder.
    Present,
    /// Nothing.
    Missing,
    /// A symbolic link to a target outside the skill.
    Outside,
    /// Cannot be determined.
    Unknown,
}

/// Reports links to missing files, outside the skill, or deep inside it. `look` returns what is at a path.
pub fn check_references(
    input: &Input<'_>,
    body: &Body,
    strictness: Strictness,
    look: impl Fn(&RelPath) -> Existence,
) -> Vec<Diagnostic> {
    if Code::ReferenceMissing.severity(strictness).is_none() {
        return Vec::new();
    }
    let Ok(text) = std::str::from_utf8(input.bytes) else { return Vec::new() };
    let source = Source::new(text);
    let mut report = Report::new(input.file, &source, strictness);
    // A body may link to the same file many times; look it up only once.
    let mut links = references(body);
    let mut known = HashSet::new();
    links.retain(|link| known.insert(link.path.clone()));
    for link in &links {
        check(link, &look, &mut report);
    }
    report.finish()
}

fn check(reference: &Reference, look: &impl Fn(&RelPath) -> Existence, report: &mut Report<'_>) {
    let (path, range) = (&reference.path, reference.range.clone());
    let escapes = || {
        let hint = "copy the file into the skill, and link to it with a path relative to SKILL.md";
        (format!("`{path}` points outside the skill"), Some(hint.to_owned()))
    };
    if path.contains('\\') {
        return report.add_lazily(Code::ReferenceMissing, range, || {
            (
                format!("`{path}` contains a backslash"),
                Some(format!("write `{}`", path.replace('\\', "/"))),
            )
        });
    }
    let inside = match resolved(path) {
        Resolved::Inside(inside) => inside,
        Resolved::Root => return,
        Resolved::Outside => return report.add_lazily(Code::ReferenceEscapes, range, escapes),
    };
    match look(&inside) {
        Existence::Outside => report.add_lazily(Code::ReferenceEscapes, range, escapes),
        Existence::Missing => report.add_lazily(Code::ReferenceMissing, range, || {
            let hint = "create the file, or write its path relative to SKILL.md";
            (format!("`{path}` does not exist in the skill"), Some(hint.to_owned()))
        }),
        Existence::Present | Existence::Unknown if inside.parts().count() > 2 => {
            report.add_lazily(Code::ReferenceDeep, range, || {
                (format!("`{path}` is more than one folder deep; one level is recommended"), None)
            });
        }
        Existence::Present | Existence::Unknown => {}
    }
}

enum Resolved {
    Inside(RelPath),
    /// The skill's root folder.
    Root,
    Outside,
}

/// Resolves `.` and `..` in a link, relative to the folder of SKILL.md.
fn resolved(path: &str) -> Resolved {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Resolved::Outside,
            ".." => {}
            _ => parts.push(part),
        }
    }
    match RelPath::new(parts.join("/")) {
        Ok(_) if path.starts_with('/') => Resolved::Outside,
        Ok(inside) => Resolved::Inside(inside),
        Err(RelPathError::Empty) => Resolved::Root,
        Err(_) => Resolved::Outside,
    }
}

/// Returns the link targets in a Markdown text that are paths, as written: first Markdown links, then those in
/// embedded HTML. URLs, anchors and mail addresses are left out.
pub fn linked_paths(text: &str) -> Vec<String> {
    let markdown = links(text).into_iter().map(|(path, _)| path);
    markdown.chain(html::links(text).iter().filter_map(|url| as_path(url))).collect()
}

/// Returns the links from a body to paths, in order.
fn references(body: &Body) -> Vec<Reference> {
    let all = links(&body.text[..body.text.floor_char_boundary(MAX_SEARCHED_BYTES)]);
    all.into_iter()
        .map(|(path, range)| Reference {
            path,
            range: body.start + range.start..body.start + range.end,
        })
        .collect()
}

fn links(text: &str) -> Vec<(String, Range<usize>)> {
    // Parse the Markdown only if it can contain a link.
    if !text.contains("](") && !text.contains("]:") {
        return Vec::new();
    }
    let links =
        Parser::new_ext(text, Options::empty()).into_offset_iter().filter_map(|(event, range)| {
            match event {
                // `<a@b.c>` is a mail address without `mailto:`.
                Event::Start(Tag::Link { link_type: LinkType::Email, .. }) => None,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    Some((dest_url, range))
                }
                _ => None,
            }
        });
    links.filter_map(|(url, range)| Some((as_path(&url)?, range))).collect()
}

/// Returns the decoded path of a link to a file; `None` for URLs and anchors.
fn as_path(url: &str) -> Option<String> {
    let path = url.split(['#', '?']).next().unwrap_or("");
    let scheme = path.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_url = !scheme.is_empty()
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    // A target with blanks, variables or placeholders is an example, not a file.
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
    use crate::parse;

    #[test]
    fn only_links_to_files_are_references() {
        let text = "\
            See [a](references/a.md#top), ![b](assets/b%20c.png), [u](https://x.test/a.md), [m](mailto:a@b.c), <a@b.c>,\n\
            [anchor](#x), [var]({baseDir}/x), [r][r] and `[code](no.md)`.\n\n\
            ```\n[fenced](no.md)\n```\n\n[r]: scripts/run.py\n";
        let body = Body { text: text.to_owned(), start: 0 };
        let paths: Vec<String> =
            references(&body).into_iter().map(|reference| reference.path).collect();
        assert_eq!(paths, ["references/a.md", "assets/b c.png", "scripts/run.py"]);
    }

    #[test]
    fn paths_in_html_links_are_found() {
        let text = "[a](a.md) <a href='b.md#x'>b</a> <A HREF = c.md>c</A> `<a href=\"no.md\">`\n\n\
                    <p>\n<img alt=\"a\" src=\"d%20e.png\"/> <a href=\"https://x.test/\">u</a>\n<!-- <a href=\"no.md\"> -->\n</p>\n\n\
                    <a data-href=\"no.md\" href=\"{url}\">\n\n```\n<a href=\"no.md\">\n```\n\n<a href=\"\n";
        assert_eq!(linked_paths(text), ["a.md", "b.md", "c.md", "d e.png"]);
    }

    #[test]
    fn a_long_body_is_searched_up_to_the_limit() {
        let text = format!("[a](a.md){}[b](b.md)", "ж".repeat(MAX_SEARCHED_BYTES / 2));
        assert_eq!(references(&Body { text, start: 0 }).len(), 1);
    }

    #[test]
    fn links_are_checked_by_their_targets() {
        let bytes = b"---\nname: x\ndescription: d\n---\n[ok](a.md) [up](../a.md) [abs](/etc/passwd) [no](no.md)\n\
                      [out](out.md) [deep](a/b/c.md) [dir](./a/)\n\
                      [back](a/../b.md) [slash](scripts\\\\run.py) [odd](a//no.md) [top](.)\n";
        let input = Input { file: "SKILL.md", directory: None, bytes };
        let body = parse(&input, Strictness::Strict).body.unwrap();
        let look = |path: &RelPath| match path.as_str() {
            "no.md" | "a/no.md" => Existence::Missing,
            "out.md" => Existence::Outside,
            _ => Existence::Present,
        };
        let found: Vec<String> = check_references(&input, &body, Strictness::Strict, look)
            .iter()
            .map(|problem| {
                let span = problem.span.unwrap();
                format!(
                    "{} {}",
                    problem.code,
                    &std::str::from_utf8(bytes).unwrap()[span.start.offset..span.end.offset]
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                "reference-escapes [up](../a.md)",
                "reference-escapes [abs](/etc/passwd)",
                "reference-missing [no](no.md)",
                "reference-escapes [out](out.md)",
                "reference-deep [deep](a/b/c.md)",
                "reference-missing [slash](scripts\\\\run.py)",
                "reference-missing [odd](a//no.md)",
            ]
        );
        assert!(check_references(&input, &body, Strictness::Lenient, look).is_empty());
    }
}
