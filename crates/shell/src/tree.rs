//! The first reading: bash's grammar, of which only plain commands are taken.

use std::ops::Range;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::lex::spans;
use crate::word::{word, words};
use crate::{Assignment, Certainty, Command, Line, Redirect, Refusal, Word};

/// The longest line that is read.
const MAX_BYTES: usize = 16 << 10;
/// The most commands of one line.
const MAX_COMMANDS: usize = 256;
/// The most words of one command.
const MAX_WORDS: usize = 2000;
/// How much work the grammar may be for one line: so many hundreds of steps, and one more for so many bytes.
const STEPS: usize = 32;
const BYTES_A_STEP: usize = 16;

/// Words that are no programs where a program is expected.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "until", "while", "{", "}", "((",
];

/// Takes a line apart.
pub fn read(text: &str) -> Result<Line, Refusal> {
    check_characters(text)?;
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).map_err(|error| Refusal::new(error.to_string()))?;
    let tree = parse(&mut parser, text)?;
    if tree.root_node().has_error() {
        return Err(Refusal::new("the line is not valid bash"));
    }
    let mut reading = Reading { text, commands: Vec::new(), places: Vec::new() };
    reading.all(tree.root_node())?;
    reading.finish()
}

/// Parses a line, unless that is more work than any honest line needs: some make the grammar try very many ways.
pub(crate) fn parse(parser: &mut Parser, text: &str) -> Result<Tree, Refusal> {
    let tree = parse_within(parser, text, STEPS + text.len() / BYTES_A_STEP);
    tree.ok_or_else(|| Refusal::new("the line takes too long to read"))
}

/// Parses a text by whatever grammar the parser has, in so many hundreds of steps at most; `None` if that is not enough.
pub fn parse_within(parser: &mut Parser, text: &str, steps: usize) -> Option<Tree> {
    let mut left = steps;
    let mut is_too_much = |_: &ParseState| match left.checked_sub(1) {
        Some(less) => {
            left = less;
            false
        }
        None => true,
    };
    let options = ParseOptions::new().progress_callback(&mut is_too_much);
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut rest, None, Some(options))
}

/// Refuses what the two readers, or bash in another locale, could see differently.
fn check_characters(text: &str) -> Result<(), Refusal> {
    if text.len() > MAX_BYTES {
        return Err(Refusal::new(format!("the line is longer than {MAX_BYTES} bytes")));
    }
    if text.contains("\\\n") {
        return Err(Refusal::new("a backslash joins two lines"));
    }
    let is_odd = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || (c.is_whitespace() && !c.is_ascii())
    };
    match text.chars().find(|c| is_odd(*c)) {
        Some(odd) => Err(Refusal::new(format!("the line holds U+{:04X}", u32::from(odd)))),
        None => Ok(()),
    }
}

struct Reading<'a> {
    text: &'a str,
    commands: Vec<Command>,
    /// Where the words and operators are that were understood, in the order of the line.
    places: Vec<Range<usize>>,
}

impl<'a> Reading<'a> {
    /// Looks at every statement. What is nested is put on a list, so that a long line costs no stack.
    fn all(&mut self, root: Node<'a>) -> Result<(), Refusal> {
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            let mut cursor = node.walk();
            match node.kind() {
                "program" | "list" | "pipeline" => open.extend(node.children(&mut cursor)),
                "redirected_statement" => {
                    let children: Vec<Node<'a>> = node.children(&mut cursor).collect();
                    let (redirects, bodies): (Vec<_>, Vec<_>) =
                        children.into_iter().partition(|child| child.kind() == "file_redirect");
                    // A file that is opened for several commands is opened by the first of them as well as by any other.
                    let redirects = redirects.into_iter().map(|node| self.redirect(node));
                    let redirects = redirects.collect::<Result<Vec<_>, _>>()?;
                    self.commands.push(Command { redirects, ..Command::default() });
                    open.extend(bodies);
                }
                "command" => self.command(node)?,
                "test_command" => self.test(node)?,
                "variable_assignment" => {
                    let assignments = vec![self.assignment(node)?];
                    self.commands.push(Command { assignments, ..Command::default() });
                }
                "\n" | "comment" => {}
                "&&" | "||" | ";" | "|" | "|&" | "&" => self.places.push(node.byte_range()),
                kind => return Err(Refusal::new(format!("`{kind}` is more than a plain command"))),
            }
            if self.commands.len() > MAX_COMMANDS {
                return Err(Refusal::new(format!("there are more than {MAX_COMMANDS} commands")));
            }
        }
        Ok(())
    }

    fn command(&mut self, node: Node<'a>) -> Result<(), Refusal> {
        let mut command = Command::default();
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => command.assignments.push(self.assignment(child)?),
                "file_redirect" => command.redirects.push(self.redirect(child)?),
                "command_name" => {
                    let inner =
                        child.child(0).ok_or_else(|| Refusal::new("there is no program"))?;
                    let name = word(inner, self.text)?;
                    if name.certainty != Certainty::Exact {
                        let reason = format!("`{}` may become any program", name.text);
                        return Err(Refusal::new(reason));
                    }
                    if RESERVED.contains(&&self.text[child.byte_range()]) {
                        let reason = format!("`{}` is a word of the shell itself", name.text);
                        return Err(Refusal::new(reason));
                    }
                    command.words.push(name);
                    places.push(child.byte_range());
                }
                _ => {
                    command.words.extend(words(child, self.text)?);
                    places.push(child.byte_range());
                }
            }
        }
        // After this word of the shell another one may stand.
        let raw = |place: &Range<usize>| &self.text[place.clone()];
        if places.first().is_some_and(|first| raw(first) == "time")
            && let Some(word) = places[1..].iter().map(raw).find(|word| !word.starts_with('-'))
            && RESERVED.contains(&word)
        {
            return Err(Refusal::new(format!("`{word}` is a word of the shell itself")));
        }
        if command.words.len() > MAX_WORDS {
            return Err(Refusal::new(format!("a command has more than {MAX_WORDS} words")));
        }
        // A line feed between two words would end the command.
        let is_joined =
            |pair: &[Range<usize>]| !self.text[pair[0].end..pair[1].start].contains('\n');
        if !places.windows(2).all(is_joined) {
            return Err(Refusal::new("a command goes over several lines"));
        }
        if let (Some(first), Some(last)) = (places.first(), places.last()) {
            command.text = self.text[first.start..last.end].to_owned();
        }
        self.places.extend(places);
        self.commands.push(command);
        Ok(())
    }

    /// Reads `[ … ]`, which is a program like any other: the grammar keeps its words apart as an expression. `[[` and `((` are
    /// words of the shell itself, and not read.
    fn test(&mut self, node: Node<'a>) -> Result<(), Refusal> {
        let mut command = Command::default();
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let text = &self.text[node.byte_range()];
            let mut cursor = node.walk();
            match node.kind() {
                "test_command" | "unary_expression" | "binary_expression" => {
                    let children: Vec<Node<'a>> = node.children(&mut cursor).collect();
                    open.extend(children.into_iter().rev());
                }
                "[" | "]" | "test_operator" | "=" | "!=" | "==" | "!"
                    if node.child_count() == 0 =>
                {
                    let text = text.to_owned();
                    command.words.push(Word { text, certainty: Certainty::Exact });
                    places.push(node.byte_range());
                }
                "word" | "number" | "string" | "raw_string" | "simple_expansion" | "expansion"
                | "concatenation" => {
                    command.words.push(word(node, self.text)?);
                    places.push(node.byte_range());
                }
                kind => return Err(Refusal::new(format!("`{kind}` in `[` is not read"))),
            }
        }
        let is_whole = command.words.len() > 1
            && command.words.first().is_some_and(|word| word.text == "[")
            && command.words.last().is_some_and(|word| word.text == "]")
            && command.words.len() <= MAX_WORDS
            // The grammar splits `a=b`, which is one word to bash.
            && places.windows(2).all(|pair| pair[0].end < pair[1].start);
        if !is_whole || self.text[node.byte_range()].contains('\n') {
            return Err(Refusal::new("`[` is not written as a plain command"));
        }
        command.text = self.text[node.byte_range()].to_owned();
        self.places.extend(places);
        self.commands.push(command);
        Ok(())
    }

    fn assignment(&mut self, node: Node<'a>) -> Result<Assignment, Refusal> {
        let refused = || Refusal::new("a variable is set in a way that is more than plain");
        let name = node.child_by_field_name("name").filter(|name| name.kind() == "variable_name");
        let name = name.ok_or_else(refused)?;
        let between = &self.text[name.end_byte()..node.end_byte()];
        if !between.starts_with('=') {
            return Err(refused());
        }
        let value = match node.child_by_field_name("value") {
            Some(value) => word(value, self.text)?,
            None => Word { text: String::new(), certainty: Certainty::Exact },
        };
        self.places.push(node.byte_range());
        Ok(Assignment { name: self.text[name.byte_range()].to_owned(), value })
    }

    fn redirect(&mut self, node: Node<'a>) -> Result<Redirect, Refusal> {
        // `{PATH}>&1` sets a variable of the shell, and whatever follows runs with it.
        if self.text[..node.start_byte()].ends_with('}') {
            return Err(Refusal::new("a redirection that sets a variable"));
        }
        let target = node.child_by_field_name("destination");
        let target = target.ok_or_else(|| Refusal::new("a redirection has no file"))?;
        let mut operator = None;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).filter(|child| child.id() != target.id()) {
            match child.kind() {
                "file_descriptor" => self.places.push(child.byte_range()),
                "<" | ">" | ">>" | ">|" | ">&" | "&>" | "&>>" | "<&" => {
                    operator = Some(child.kind());
                    self.places.push(child.byte_range());
                }
                kind => {
                    return Err(Refusal::new(format!("`{kind}` is more than a plain redirection")));
                }
            }
        }
        let operator = operator.ok_or_else(|| Refusal::new("a redirection has no direction"))?;
        self.places.push(target.byte_range());
        let target = word(target, self.text)?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_open = |text: &str| text == "-" || is_number(text.strip_suffix('-').unwrap_or(text));
        let is_copy = matches!(operator, ">&" | "<&")
            && target.certainty == Certainty::Exact
            && is_open(&target.text);
        Ok(Redirect { is_read: matches!(operator, "<" | "<&"), target, is_copy })
    }

    /// Compares both readings: every word and operator of the one must be one of the other.
    fn finish(mut self) -> Result<Line, Refusal> {
        self.places.sort_by_key(|place| place.start);
        let merged = merge(&self.places, self.text);
        if merged != spans(self.text)? {
            return Err(Refusal::new("two readings of the line do not agree"));
        }
        self.commands.retain(|command| *command != Command::default());
        if self.commands.is_empty() {
            return Err(Refusal::new("there is no command"));
        }
        Ok(Line { commands: self.commands })
    }
}

/// Joins operators that touch each other, as the lexer sees them, and a descriptor with nothing: it is a word to the lexer.
fn merge(places: &[Range<usize>], text: &str) -> Vec<Range<usize>> {
    let is_operator =
        |range: &Range<usize>| text[range.clone()].bytes().all(|byte| b"|&;<>".contains(&byte));
    let mut all: Vec<Range<usize>> = Vec::new();
    for place in places.iter().filter(|place| !place.is_empty()) {
        match all.last_mut() {
            Some(last) if last.end == place.start && is_operator(last) == is_operator(place) => {
                last.end = place.end;
            }
            _ => all.push(place.clone()),
        }
    }
    all
}
