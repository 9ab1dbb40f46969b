//! Links in HTML that is embedded in Markdown.

use pulldown_cmark::{Event, Options, Parser};

/// The attributes that contain a link target.
const ATTRIBUTES: [&str; 2] = ["href", "src"];

/// Returns the targets of `href` and `src` in the HTML of a Markdown text, as written. HTML in code blocks is an
/// example and is skipped.
pub(super) fn links(text: &str) -> Vec<String> {
    // Parse the Markdown only if it can contain such a link.
    let has_attribute = |name: &str| {
        text.as_bytes().windows(name.len()).any(|part| part.eq_ignore_ascii_case(name.as_bytes()))
    };
    if !text.contains('<') || !ATTRIBUTES.into_iter().any(has_attribute) {
        return Vec::new();
    }
    let mut html = String::new();
    for event in Parser::new_ext(text, Options::empty()) {
        match event {
            Event::Html(part) | Event::InlineHtml(part) => html.push_str(&part),
            // A tag does not continue after other text.
            _ => html.push('\n'),
        }
    }
    let mut found = Vec::new();
    for part in without_comments(&html).split('<').skip(1) {
        let tag = part.split('>').next().unwrap_or_default();
        let is_link = |name: &str| ATTRIBUTES.iter().any(|known| known.eq_ignore_ascii_case(name));
        let links = attributes(tag).into_iter().filter(|(name, _)| is_link(name));
        found.extend(links.map(|(_, value)| value.to_owned()));
    }
    found
}

fn without_comments(html: &str) -> String {
    let mut kept = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, comment)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Returns the attributes of a tag that have a value, in one pass.
fn attributes(tag: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let is_end = |c: char| c.is_whitespace() || c == '=';
    // The tag name comes first.
    let mut rest = tag.find(char::is_whitespace).map_or("", |at| &tag[at..]).trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
        let after = after.trim_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else {
            rest = after;
            continue;
        };
        let quote = value.chars().next().filter(|c| ['"', '\''].contains(c));
        let (value, after) = match quote {
            // A value without its closing quote is dropped, because the rest of the tag belongs to it.
            Some(quote) => value[1..].split_once(quote).unwrap_or_default(),
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        found.push((name, value));
        rest = after.trim_start();
    }
    found
}
