//! A word: what it becomes, as far as that is known.

use tree_sitter::Node;

use crate::Refusal;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its text with quotes and escapes resolved; what expands stands as it was written.
    pub text: String,
    /// How much of that is for sure.
    pub certainty: Certainty,
}

/// How much is known about what a word becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Exactly its text, as one word.
    Exact,
    /// One or more words, each of which begins as its text does up to the first thing that expands.
    Begins,
    /// Any number of words.
    Unknown,
}

/// What begins a pattern of file names.
const PATTERN: [char; 3] = ['*', '?', '['];

/// Reads a word out of the tree.
pub(crate) fn word(node: Node<'_>, source: &str) -> Result<Word, Refusal> {
    let mut word = Word { text: String::new(), certainty: Certainty::Exact };
    piece(node, source, &mut word)?;
    if may_be_several(&source[node.byte_range()]) {
        word.certainty = Certainty::Unknown;
    }
    Ok(word)
}

/// Braces make several words of one only with a comma or two dots between them: `{a,b}`, `{1..3}`, and not `stash@{0}`. Quotes are
/// not looked at, so this is true for more than need be.
fn may_be_several(text: &str) -> bool {
    let Some(start) = text.find('{') else { return false };
    let Some(end) = text.rfind('}') else { return false };
    // `${NAME}` is an expansion, which is read as such.
    start < end && (text[start..end].contains(',') || text[start..end].contains(".."))
}

fn piece(node: Node<'_>, source: &str, word: &mut Word) -> Result<(), Refusal> {
    let text = &source[node.byte_range()];
    match node.kind() {
        "concatenation" => {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                piece(child, source, word)?;
            }
            Ok(())
        }
        "raw_string" => {
            let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
            word.text.push_str(inner.ok_or_else(|| Refusal::new("a quote is not closed"))?);
            Ok(())
        }
        "string" => quoted(node, source, word),
        "simple_expansion" => {
            word.certainty = Certainty::Unknown;
            word.text.push_str(text);
            Ok(())
        }
        "expansion" if is_plain_expansion(text) => {
            word.certainty = Certainty::Unknown;
            word.text.push_str(text);
            Ok(())
        }
        "word" | "number" => plain(text, word),
        // Parts of patterns that the grammar keeps apart.
        "[" | "]" | "{" | "}" | "*" | "?" | "," => plain(text, word),
        kind => Err(Refusal::new(format!("`{text}` ({kind}) is more than a plain word"))),
    }
}

/// `${NAME}` and nothing else: other forms can set variables and run commands.
fn is_plain_expansion(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Reads text without quotes: backslashes, patterns, braces and the home.
fn plain(text: &str, word: &mut Word) -> Result<(), Refusal> {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let next = characters.next();
                word.text.push(next.ok_or_else(|| Refusal::new("the line ends in a backslash"))?);
            }
            '~' if word.text.is_empty() => {
                word.certainty = word.certainty.max(Certainty::Begins);
                word.text.push(character);
            }
            _ if PATTERN.contains(&character) => {
                // A pattern at the start could become an option.
                let least =
                    if word.text.is_empty() { Certainty::Unknown } else { Certainty::Begins };
                word.certainty = word.certainty.max(least);
                word.text.push(character);
            }
            // Inside a word it is nothing but itself; at its start it makes a comment.
            '#' if !word.text.is_empty() => word.text.push(character),
            '$' | '`' | '"' | '\'' | '<' | '>' | '|' | '&' | ';' | '(' | ')' | '#' => {
                return Err(Refusal::new(format!(
                    "`{character}` stands where it may mean something"
                )));
            }
            _ => word.text.push(character),
        }
    }
    Ok(())
}

/// Reads text in double quotes. What expands in there is one word, and may be anything.
fn quoted(node: Node<'_>, source: &str, word: &mut Word) -> Result<(), Refusal> {
    let range = node.byte_range();
    let text = &source[range.clone()];
    let is_closed = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    if !is_closed {
        return Err(Refusal::new("a quote is not closed"));
    }
    let (end, mut at) = (range.end - 1, range.start + 1);
    let mut cursor = node.walk();
    let expansions: Vec<Node<'_>> =
        node.named_children(&mut cursor).filter(|child| child.kind() != "string_content").collect();
    for expansion in expansions {
        let inner = &source[expansion.byte_range()];
        let is_plain = match expansion.kind() {
            "simple_expansion" => true,
            "expansion" => is_plain_expansion(inner),
            _ => false,
        };
        if !is_plain {
            return Err(Refusal::new(format!("`{inner}` is more than a plain word")));
        }
        literal(&source[at..expansion.start_byte()], word)?;
        let least = if word.text.is_empty() { Certainty::Unknown } else { Certainty::Begins };
        word.certainty = word.certainty.max(least);
        word.text.push_str(inner);
        at = expansion.end_byte();
    }
    literal(&source[at..end], word)
}

fn literal(text: &str, word: &mut Word) -> Result<(), Refusal> {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.peek() {
                Some('$' | '`' | '"' | '\\') => word.text.extend(characters.next()),
                _ => word.text.push('\\'),
            },
            '$' | '`' | '"' => {
                return Err(Refusal::new(format!("`{character}` stands in quotes unread")));
            }
            _ => word.text.push(character),
        }
    }
    Ok(())
}
