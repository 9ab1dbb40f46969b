//! The first parse: the bash grammar, of which only plain commands are accepted.

use std::borrow::Cow;
use std::ops::Range;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::lex::spans;
use crate::word::{word, words};
use crate::{Assignment, Certainty, Command, Line, Redirect, Refusal, Word, slice};

/// Maximum length of a line.
const MAX_BYTES: usize = 16 << 10;
/// Maximum number of commands in a line.
const MAX_COMMANDS: usize = 256;
/// Maximum number of words in a command.
const MAX_WORDS: usize = 2000;
/// The parser's budget for one line, in hundreds of steps: a base amount, plus one for every `BYTES_PER_STEP` bytes.
const BASE_STEPS: usize = 32;
const BYTES_PER_STEP: usize = 16;

/// Shell keywords, which are not programs.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "until", "while", "{", "}", "((",
];

/// Parses a line.
pub fn read(text: &str) -> Result<Line, Refusal> {
    check_characters(text)?;
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).map_err(|error| Refusal::new(error.to_string()))?;
    let tree = parse(&mut parser, text)?;
    if tree.root_node().has_error() {
        return Err(Refusal::new("the line is not valid bash"));
    }
    let mut reader = LineReader { text, commands: Vec::new(), ranges: Vec::new() };
    reader.all(tree.root_node())?;
    reader.finish()
}

/// Parses a line, unless that takes more work than any legitimate line needs: some inputs make the parser backtrack
/// excessively.
pub(crate) fn parse(parser: &mut Parser, text: &str) -> Result<Tree, Refusal> {
    let tree = parse_within(parser, &plain(text), BASE_STEPS + text.len() / BYTES_PER_STEP);
    tree.ok_or_else(|| Refusal::new("parsing the line takes too long"))
}

/// Returns the text with every byte of a character beyond ASCII replaced, so that all offsets stay the same.
///
/// The scanner of the bash grammar passes characters to C functions that are defined for bytes only, and reads beyond
/// their tables. To the grammar, `%` is what the characters are to bash: a part of a word, but not of a name.
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let bytes = text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { '%' });
    Cow::Owned(bytes.collect())
}

/// Parses a text with the parser's grammar in at most `steps` hundred steps; `None` if that is not enough.
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

/// Refuses characters that the two parsers, or bash in another locale, could read differently.
fn check_characters(text: &str) -> Result<(), Refusal> {
    if text.len() > MAX_BYTES {
        return Err(Refusal::new(format!("the line is longer than {} KiB", MAX_BYTES >> 10)));
    }
    if text.contains("\\\n") {
        return Err(Refusal::new("line continuations with a backslash are not supported"));
    }
    let is_ambiguous = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || (c.is_whitespace() && !c.is_ascii())
    };
    match text.chars().find(|c| is_ambiguous(*c)) {
        Some(c) => Err(Refusal::new(format!("the line contains U+{:04X}", u32::from(c)))),
        None => Ok(()),
    }
}

struct LineReader<'a> {
    text: &'a str,
    commands: Vec<Command>,
    /// The ranges of the words and operators that were parsed, in line order.
    ranges: Vec<Range<usize>>,
}

impl<'a> LineReader<'a> {
    /// Reads every statement. Nested ones go on a list, so that a long line does not exhaust the stack.
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
                    // A redirection of several commands is recorded as a command of its own.
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
                "&&" | "||" | ";" | "|" | "|&" | "&" => self.ranges.push(node.byte_range()),
                kind => return Err(Refusal::new(format!("`{kind}` is not a plain command"))),
            }
            if self.commands.len() > MAX_COMMANDS {
                return Err(Refusal::new(format!(
                    "the line has more than {MAX_COMMANDS} commands"
                )));
            }
        }
        Ok(())
    }

    fn command(&mut self, node: Node<'a>) -> Result<(), Refusal> {
        let mut command = Command::default();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => command.assignments.push(self.assignment(child)?),
                "file_redirect" => command.redirects.push(self.redirect(child)?),
                "command_name" => {
                    let inner =
                        child.child(0).ok_or_else(|| Refusal::new("the command has no program"))?;
                    let name = word(inner, self.text)?;
                    if name.certainty != Certainty::Exact {
                        let reason = format!("`{}` can expand to any program", name.text);
                        return Err(Refusal::new(reason));
                    }
                    if RESERVED.contains(&slice(self.text, child.byte_range())) {
                        let reason = format!("`{}` is a shell keyword", name.text);
                        return Err(Refusal::new(reason));
                    }
                    command.words.push(name);
                    ranges.push(child.byte_range());
                }
                _ => {
                    command.words.extend(words(child, self.text)?);
                    ranges.push(child.byte_range());
                }
            }
        }
        // Another keyword may follow `time`.
        let raw = |range: &Range<usize>| slice(self.text, range.clone());
        if ranges.first().is_some_and(|first| raw(first) == "time")
            && let Some(word) = ranges[1..].iter().map(raw).find(|word| !word.starts_with('-'))
            && RESERVED.contains(&word)
        {
            return Err(Refusal::new(format!("`{word}` is a shell keyword")));
        }
        if command.words.len() > MAX_WORDS {
            return Err(Refusal::new(format!("a command has more than {MAX_WORDS} words")));
        }
        // A line feed between two words would end the command.
        let is_joined =
            |pair: &[Range<usize>]| !slice(self.text, pair[0].end..pair[1].start).contains('\n');
        if !ranges.windows(2).all(is_joined) {
            return Err(Refusal::new("a command spans several lines"));
        }
        if let (Some(first), Some(last)) = (ranges.first(), ranges.last()) {
            command.text = slice(self.text, first.start..last.end).to_owned();
        }
        self.ranges.extend(ranges);
        self.commands.push(command);
        Ok(())
    }

    /// Reads `[ … ]`, which is a program like any other, although the grammar parses it as an expression. `[[` and `((`
    /// are shell keywords and not supported.
    fn test(&mut self, node: Node<'a>) -> Result<(), Refusal> {
        let mut command = Command::default();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let text = slice(self.text, node.byte_range());
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
                    ranges.push(node.byte_range());
                }
                "word" | "number" | "string" | "raw_string" | "simple_expansion" | "expansion"
                | "concatenation" => {
                    command.words.push(word(node, self.text)?);
                    ranges.push(node.byte_range());
                }
                kind => return Err(Refusal::new(format!("`{kind}` is not supported in `[`"))),
            }
        }
        let is_whole = command.words.len() > 1
            && command.words.first().is_some_and(|word| word.text == "[")
            && command.words.last().is_some_and(|word| word.text == "]")
            && command.words.len() <= MAX_WORDS
            // The grammar splits `a=b`, which is one word in bash.
            && ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
        if !is_whole || slice(self.text, node.byte_range()).contains('\n') {
            return Err(Refusal::new("`[` is not written as a plain command"));
        }
        command.text = slice(self.text, node.byte_range()).to_owned();
        self.ranges.extend(ranges);
        self.commands.push(command);
        Ok(())
    }

    fn assignment(&mut self, node: Node<'a>) -> Result<Assignment, Refusal> {
        let refused = || Refusal::new("only plain variable assignments are supported");
        let name = node.child_by_field_name("name").filter(|name| name.kind() == "variable_name");
        let name = name.ok_or_else(refused)?;
        let between = slice(self.text, name.end_byte()..node.end_byte());
        if !between.starts_with('=') {
            return Err(refused());
        }
        let value = match node.child_by_field_name("value") {
            Some(value) => word(value, self.text)?,
            None => Word { text: String::new(), certainty: Certainty::Exact },
        };
        self.ranges.push(node.byte_range());
        Ok(Assignment { name: slice(self.text, name.byte_range()).to_owned(), value })
    }

    fn redirect(&mut self, node: Node<'a>) -> Result<Redirect, Refusal> {
        // `{PATH}>&1` sets a shell variable that affects everything after it.
        if slice(self.text, ..node.start_byte()).ends_with('}') {
            return Err(Refusal::new("a redirection sets a variable"));
        }
        let target = node.child_by_field_name("destination");
        let target = target.ok_or_else(|| Refusal::new("a redirection has no target"))?;
        let mut operator = None;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).filter(|child| child.id() != target.id()) {
            match child.kind() {
                "file_descriptor" => self.ranges.push(child.byte_range()),
                "<" | ">" | ">>" | ">|" | ">&" | "&>" | "&>>" | "<&" => {
                    operator = Some(child.kind());
                    self.ranges.push(child.byte_range());
                }
                kind => {
                    return Err(Refusal::new(format!("`{kind}` is not a plain redirection")));
                }
            }
        }
        let operator = operator.ok_or_else(|| Refusal::new("a redirection has no operator"))?;
        self.ranges.push(target.byte_range());
        let target = word(target, self.text)?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_open = |text: &str| text == "-" || is_number(text.strip_suffix('-').unwrap_or(text));
        let is_copy = matches!(operator, ">&" | "<&")
            && target.certainty == Certainty::Exact
            && is_open(&target.text);
        Ok(Redirect { is_read: matches!(operator, "<" | "<&"), target, is_copy })
    }

    /// Compares both parses: they must agree on every word and operator.
    fn finish(mut self) -> Result<Line, Refusal> {
        self.ranges.sort_by_key(|range| range.start);
        let merged = merge(&self.ranges, self.text);
        if merged != spans(self.text)? {
            return Err(Refusal::new("the line is ambiguous: two parsers read it differently"));
        }
        self.commands.retain(|command| *command != Command::default());
        if self.commands.is_empty() {
            return Err(Refusal::new("the line has no command"));
        }
        Ok(Line { commands: self.commands })
    }
}

/// Joins adjacent operators, as the lexer does. A file descriptor stays separate, because it is a word to the lexer.
fn merge(ranges: &[Range<usize>], text: &str) -> Vec<Range<usize>> {
    let is_operator = |range: &Range<usize>| {
        slice(text, range.clone()).bytes().all(|byte| b"|&;<>".contains(&byte))
    };
    let mut all: Vec<Range<usize>> = Vec::new();
    for next in ranges.iter().filter(|range| !range.is_empty()) {
        match all.last_mut() {
            Some(last) if last.end == next.start && is_operator(last) == is_operator(next) => {
                last.end = next.end;
            }
            _ => all.push(next.clone()),
        }
    }
    all
}
