//! Source text as a tree.

use tree_sitter::{Language, Node, Parser, Tree};

/// The longest text that is read.
const MAX_TEXT: usize = 4 << 20;

/// Returns the tree of a text.
pub(crate) fn parse(language: &Language, text: &str) -> Option<Tree> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    parser.parse(text, None)
}

/// Returns what a node is written as.
pub(crate) fn text<'a>(node: Node<'_>, source: &'a str) -> &'a str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// Returns the named children of a node.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Returns what is written of a node before its body, on one line.
pub(crate) fn head(node: Node<'_>, source: &str) -> String {
    let end = node.child_by_field_name("body").map_or(node.end_byte(), |body| body.start_byte());
    let text = source.get(node.start_byte()..end).unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches([':', '{', ' ', ';']).to_owned()
}
