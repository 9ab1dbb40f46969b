//! JSDoc comments.

use tree_sitter::Node;

use crate::library::first_sentence;
use crate::syntax::text;
use crate::{Argument, Topic};

/// Returns the JSDoc comment before a statement; empty if there is none.
pub(super) fn comment(node: Node<'_>, source: &str) -> String {
    let before = node.prev_named_sibling().filter(|before| before.kind() == "comment");
    let written = before.map_or("", |before| text(before, source));
    let Some(written) = written.strip_prefix("/**") else { return String::new() };
    let lines = written.trim_end_matches("*/").lines();
    let plain = lines.map(|line| line.trim().trim_start_matches('*').trim_start_matches(' '));
    let plain = plain.collect::<Vec<_>>().join("\n").trim().to_owned();
    // All tags may be on one line.
    ["@param", "@return"]
        .iter()
        .fold(plain, |text, tag| text.replace(&format!(" {tag}"), &format!("\n{tag}")))
}

/// Returns a page with the content of a JSDoc comment.
pub(super) fn topic(name: &str, comment: &str, usage: String) -> Topic {
    let (mut prose, mut arguments, mut value) = (Vec::new(), Vec::<Argument>::new(), String::new());
    let mut is_in_tags = false;
    for line in comment.lines() {
        if let Some(rest) = line.strip_prefix("@param") {
            let rest = rest.trim();
            let rest = if rest.starts_with('{') {
                rest.split_once('}').map_or(rest, |(_, rest)| rest)
            } else {
                rest
            };
            let (name, text) =
                rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            let text = text.trim().trim_start_matches('-').trim().to_owned();
            arguments.push(Argument { name: name.trim_matches(['[', ']']).to_owned(), text });
            is_in_tags = true;
        } else if let Some(rest) =
            line.strip_prefix("@returns").or_else(|| line.strip_prefix("@return"))
        {
            value = rest.trim().to_owned();
            is_in_tags = true;
        } else if line.starts_with('@') {
            is_in_tags = true;
        } else if !is_in_tags {
            prose.push(line);
        } else if let Some(last) = arguments.last_mut().filter(|_| value.is_empty()) {
            last.text = format!("{} {}", last.text, line.trim()).trim().to_owned();
        }
    }
    let description = prose.join("\n").trim().to_owned();
    let title = first_sentence(&description);
    let title =
        if title.is_empty() { usage.lines().next().unwrap_or_default().to_owned() } else { title };
    Topic { name: name.to_owned(), title, usage, description, arguments, value, ..Topic::default() }
}
