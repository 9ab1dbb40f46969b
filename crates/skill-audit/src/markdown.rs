//! Splits Markdown into code, hidden text, links and sections.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::excerpt::slice;
use crate::op::Role;

/// A part of a document that is not plain prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) span: Range<usize>,
    pub(crate) role: Role,
    /// The language label of a code block.
    pub(crate) language: String,
}

/// A link or image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) span: Range<usize>,
    pub(crate) target: String,
    pub(crate) label: String,
    pub(crate) is_image: bool,
}

/// A parsed document.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) links: Vec<Link>,
    /// The offsets of the section headings.
    sections: Vec<usize>,
}

impl Document {
    /// Returns the role of the text at an offset.
    pub(crate) fn role_at(&self, at: usize) -> Role {
        let piece = self.pieces.partition_point(|piece| piece.span.start <= at);
        match piece.checked_sub(1).map(|before| &self.pieces[before]) {
            Some(piece) if piece.span.contains(&at) => piece.role,
            _ => Role::Prose,
        }
    }

    /// Returns the section around an offset.
    pub(crate) fn section(&self, at: usize, length: usize) -> Range<usize> {
        let next = self.sections.partition_point(|start| *start <= at);
        let start = next.checked_sub(1).map_or(0, |before| self.sections[before]);
        start..self.sections.get(next).copied().unwrap_or(length)
    }
}

/// Parses a document. The frontmatter, if any, is a separate piece.
pub(crate) fn document(text: &str) -> Document {
    let mut document = Document::default();
    let body = frontmatter_end(text);
    if body > 0 {
        document.pieces.push(Piece {
            span: 0..body,
            role: Role::Frontmatter,
            language: "yaml".to_owned(),
        });
    }
    let mut link: Option<Link> = None;
    let mut fence: Option<String> = None;
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    for (event, range) in Parser::new_ext(slice(text, body..), options).into_offset_iter() {
        let span = range.start + body..range.end + body;
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                fence = Some(match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase()
                    }
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Event::End(TagEnd::CodeBlock) => fence = None,
            Event::Text(_) if fence.is_some() => {
                document.add_fence(span, fence.clone().unwrap_or_default());
            }
            Event::Code(_) => {
                document.pieces.push(Piece { span, role: Role::Inline, language: String::new() });
            }
            Event::Html(html) | Event::InlineHtml(html) => document.add_html(&html, span),
            Event::Start(Tag::Heading { .. }) => document.sections.push(span.start),
            Event::Start(Tag::Link { dest_url, .. }) => {
                link = Some(Link {
                    span,
                    target: dest_url.to_string(),
                    label: String::new(),
                    is_image: false,
                });
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                document.links.push(Link {
                    span,
                    target: dest_url.to_string(),
                    label: String::new(),
                    is_image: true,
                });
            }
            Event::End(TagEnd::Link) => document.links.extend(link.take()),
            Event::Text(words) => {
                if let Some(link) = &mut link {
                    link.label.push_str(&words);
                }
            }
            _ => {}
        }
    }
    document.pieces.sort_by_key(|piece| piece.span.start);
    document
}

impl Document {
    /// Merges the lines of a code block, which the parser reports one by one.
    fn add_fence(&mut self, span: Range<usize>, language: String) {
        match self.pieces.last_mut() {
            Some(last)
                if last.role == Role::Fence
                    && last.language == language
                    && last.span.end == span.start =>
            {
                last.span.end = span.end;
            }
            _ => self.pieces.push(Piece { span, role: Role::Fence, language }),
        }
    }

    fn add_html(&mut self, html: &str, span: Range<usize>) {
        let lower = html.to_lowercase();
        let is_comment = lower.trim_start().starts_with("<!--")
            || self.pieces.last().is_some_and(|last| {
                last.role == Role::Comment
                    && last.span.end == span.start
                    && !last.language.is_empty()
            });
        let is_unseen = [
            "display:none",
            "display: none",
            "font-size:0",
            "font-size: 0",
            "color:white",
            "color: white",
            "color:#fff",
            "opacity:0",
            "opacity: 0",
            "visibility:hidden",
            "visibility: hidden",
        ]
        .iter()
        .any(|style| lower.contains(style))
            || lower.trim_start().starts_with("<div hidden")
            || lower.trim_start().starts_with("<span hidden");
        if is_comment || is_unseen {
            // The parser reports multi-line comments line by line; `language` marks one that is still open.
            let open = if is_comment && !lower.contains("-->") {
                "open".to_owned()
            } else {
                String::new()
            };
            match self.pieces.last_mut() {
                Some(last)
                    if last.role == Role::Comment
                        && last.span.end == span.start
                        && !last.language.is_empty() =>
                {
                    last.span.end = span.end;
                    last.language = open;
                }
                _ => self.pieces.push(Piece { span, role: Role::Comment, language: open }),
            }
        }
    }
}

/// Returns the offset of the body: after the second `---` line, if there are two.
fn frontmatter_end(text: &str) -> usize {
    let start = text.len() - text.trim_start_matches(['\u{feff}', '\n', '\r', ' ']).len();
    let Some(rest) = slice(text, start..).strip_prefix("---") else { return 0 };
    if !rest.starts_with(['\n', '\r']) {
        return 0;
    }
    let mut at = start + 3;
    for line in slice(text, at..).split_inclusive('\n') {
        at += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return at;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_split_into_pieces() {
        let text = "---\nname: x\n---\n# A\nprose `inline` [label](https://x.y)\n```bash\ncurl x\nls\n```\n<!-- hidden\nmore -->\n## B\nend\n";
        let document = document(text);
        let shown: Vec<(Role, &str)> = document
            .pieces
            .iter()
            .map(|piece| (piece.role, slice(text, piece.span.clone())))
            .collect();
        assert_eq!(
            shown,
            [
                (Role::Frontmatter, "---\nname: x\n---\n"),
                (Role::Inline, "`inline`"),
                (Role::Fence, "curl x\nls\n"),
                (Role::Comment, "<!-- hidden\nmore -->\n"),
            ]
        );
        assert_eq!(document.links[0].label, "label");
        let at = text.find("prose").unwrap();
        assert_eq!(document.role_at(at), Role::Prose);
        assert!(slice(text, document.section(at, text.len())).starts_with("# A"));
        assert!(!slice(text, document.section(at, text.len())).contains("## B"));
    }
}
