//! An R help page as a tree, and its conversion to Markdown.

use crate::Argument;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rd {
    Text(String),
    /// A tag, with the content of each pair of its braces.
    Tag {
        tag: String,
        groups: Vec<Vec<Rd>>,
    },
}

/// The maximum nesting of a page.
pub(super) const MAX_DEPTH: usize = 100;

/// Returns the content of the first section with a tag.
pub(super) fn section<'a>(tree: &'a [Rd], tag: &str) -> Option<&'a [Rd]> {
    let mut found = sections(tree, tag);
    found.next()
}

/// Returns the content of every section with a tag.
pub(super) fn sections<'a>(tree: &'a [Rd], tag: &str) -> impl Iterator<Item = &'a [Rd]> {
    tree.iter().filter_map(move |part| match part {
        Rd::Tag { tag: found, groups } if found == tag => Some(groups.first()?.as_slice()),
        _ => None,
    })
}

/// Returns the arguments documented on a page.
pub(super) fn arguments(tree: &[Rd]) -> Vec<Argument> {
    let items = section(tree, "\\arguments").unwrap_or_default();
    items
        .iter()
        .filter_map(|part| match part {
            Rd::Tag { tag, groups } if tag == "\\item" => {
                let [name, text, ..] = groups.as_slice() else { return None };
                Some(Argument {
                    name: self::text(name).trim().to_owned(),
                    text: self::text(text).trim().to_owned(),
                })
            }
            _ => None,
        })
        .collect()
}

/// Returns code as plain text.
pub(super) fn code(parts: &[Rd]) -> String {
    let mut text = String::new();
    push_code(parts, &mut text, 0);
    text.trim().to_owned()
}

fn push_code(parts: &[Rd], text: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    for part in parts {
        match part {
            Rd::Text(plain) => text.push_str(plain),
            Rd::Tag { tag, groups } => match tag.as_str() {
                "\\dots" | "\\ldots" => text.push_str("..."),
                "\\method" | "\\S3method" | "\\S4method" => {
                    if let [generic, class, ..] = groups.as_slice() {
                        text.push_str("## S3 method for class '");
                        push_code(class, text, depth + 1);
                        text.push_str("'\n");
                        push_code(generic, text, depth + 1);
                    }
                }
                _ => groups.iter().for_each(|group| push_code(group, text, depth + 1)),
            },
        }
    }
}

/// Returns prose as Markdown.
pub(super) fn text(parts: &[Rd]) -> String {
    let mut text = String::new();
    push(parts, &mut text, 0);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

fn push(parts: &[Rd], text: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    for part in parts {
        let Rd::Tag { tag, groups } = part else {
            let Rd::Text(plain) = part else { continue };
            text.push_str(plain);
            continue;
        };
        let first = groups.first().map_or(&[][..], Vec::as_slice);
        let surround = |text: &mut String, mark: &str| {
            text.push_str(mark);
            push(first, text, depth + 1);
            text.push_str(mark);
        };
        match tag.as_str() {
            "\\code" | "\\verb" | "\\samp" | "\\command" | "\\option" | "\\env" | "\\file"
            | "\\kbd" | "\\preformatted" | "\\var" => {
                text.push('`');
                push_code(first, text, depth + 1);
                text.push('`');
            }
            "\\emph" | "\\dfn" | "\\cite" => surround(text, "*"),
            "\\strong" | "\\bold" => surround(text, "**"),
            "\\dQuote" | "\\sQuote" => surround(text, "\""),
            "\\dots" | "\\ldots" => text.push_str("..."),
            "\\R" => text.push('R'),
            "\\cr" => text.push('\n'),
            "\\tab" => text.push_str("    "),
            "\\item" => match groups.as_slice() {
                [name, what, ..] => {
                    text.push_str("\n- `");
                    push_code(name, text, depth + 1);
                    text.push_str("`: ");
                    push(what, text, depth + 1);
                }
                [_] => {
                    text.push_str("\n- ");
                    push(first, text, depth + 1);
                }
                // The text of the item follows, beginning with a space.
                [] => text.push_str("\n-"),
            },
            "\\href" => match groups.as_slice() {
                [address, shown, ..] => {
                    push(shown, text, depth + 1);
                    text.push_str(" (");
                    push_code(address, text, depth + 1);
                    text.push(')');
                }
                _ => push(first, text, depth + 1),
            },
            "\\if" => {
                // Use the variant for plain text.
                let [format, shown, ..] = groups.as_slice() else { continue };
                if code(format).contains("text") {
                    push(shown, text, depth + 1);
                }
            }
            "\\ifelse" => {
                let [format, yes, no, ..] = groups.as_slice() else { continue };
                push(if code(format).contains("text") { yes } else { no }, text, depth + 1);
            }
            "\\Sexpr" | "\\figure" | "COMMENT" | "\\out" => {}
            "\\section" | "\\subsection" => match groups.as_slice() {
                [title, body, ..] => {
                    text.push_str("\n\n");
                    push(title, text, depth + 1);
                    text.push_str("\n\n");
                    push(body, text, depth + 1);
                }
                _ => push(first, text, depth + 1),
            },
            "\\eqn" | "\\deqn" => push_code(first, text, depth + 1),
            _ => groups.iter().for_each(|group| push(group, text, depth + 1)),
        }
    }
}
