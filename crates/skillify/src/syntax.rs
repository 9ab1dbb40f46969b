//! Parses source text into a syntax tree.

use tree_sitter::{Language, Node, Parser, Tree};

/// The maximum length of a source text.
const MAX_TEXT: usize = 4 << 20;

/// Returns the syntax tree of a text; `None` if the text is too long.
pub(crate) fn parse(language: &Language, text: &str) -> Option<Tree> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    parser.parse(text, None)
}

/// Returns the source text of a node.
pub(crate) fn text<'a>(node: Node<'_>, source: &'a str) -> &'a str {
    source.get(node.byte_range()).unwrap_or_default()
}

pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Returns the text of a node before its body, on one line.
pub(crate) fn head(node: Node<'_>, source: &str) -> String {
    let end = node.child_by_field_name("body").map_or(node.end_byte(), |body| body.start_byte());
    let text = source.get(node.start_byte()..end).unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches([':', '{', ' ', ';']).to_owned()
}
