//! A word, and what it expands to as far as that is known.

use tree_sitter::Node;

use crate::Refusal;
use crate::braces::expand;
use crate::slice;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its text, with quotes and escapes resolved; expansions stay as written.
    pub text: String,
    /// How much of the text is certain.
    pub certainty: Certainty,
}

/// How much is known about what a word expands to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Exactly its text, as one word.
    Exact,
    /// One or more words that start with the text before the first expansion.
    Prefix,
    /// Any number of words.
    Unknown,
}

/// Characters that start a file name pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// Reads a word from the tree; brace expansion may produce several.
pub(crate) fn words(node: Node<'_>, source: &str) -> Result<Vec<Word>, Refusal> {
    let new = || Word { text: String::new(), certainty: Certainty::Exact };
    match expand(slice(source, node.byte_range()))? {
        // Text next to braces is plain, or it was refused. bash drops words that expand to nothing.
        Some(all) => all
            .iter()
            .filter(|raw| !raw.is_empty())
            .map(|raw| {
                let mut word = new();
                plain(raw, &mut word).map(|()| word)
            })
            .collect(),
        None => {
            let mut word = new();
            piece(node, source, &mut word)?;
            Ok(vec![word])
        }
    }
}

/// Reads exactly one word from the tree.
pub(crate) fn word(node: Node<'_>, source: &str) -> Result<Word, Refusal> {
    match <[Word; 1]>::try_from(words(node, source)?) {
        Ok([word]) => Ok(word),
        Err(_) => Err(Refusal::new("brace expansion produces several words where one is expected")),
    }
}

fn piece(node: Node<'_>, source: &str, word: &mut Word) -> Result<(), Refusal> {
    let text = slice(source, node.byte_range());
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
            word.text.push_str(inner.ok_or_else(|| Refusal::new("unclosed quote"))?);
            Ok(())
        }
        "string" => quoted(node, source, word),
        "ansi_c_string" => ansi(text, word),
        "simple_expansion" | "expansion" if is_set_by_line(text) => {
            Err(Refusal::new(format!("the value of `{text}` depends on the line itself")))
        }
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
        // Parts of patterns that the grammar parses separately.
        "[" | "]" | "{" | "}" | "*" | "?" | "," => plain(text, word),
        kind => Err(Refusal::new(format!("`{text}` ({kind}) is not a plain word"))),
    }
}

/// Reads `$'…'`; only common escapes are supported.
fn ansi(text: &str, word: &mut Word) -> Result<(), Refusal> {
    let inner = text.strip_prefix("$'").and_then(|text| text.strip_suffix('\''));
    let inner = inner.ok_or_else(|| Refusal::new("unclosed quote"))?;
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => return Err(Refusal::new("unexpected quote in `$'…'`")),
            '\\' => match characters.next() {
                Some('n') => word.text.push('\n'),
                Some('t') => word.text.push('\t'),
                Some(same @ ('\\' | '"')) => word.text.push(same),
                _ => {
                    return Err(Refusal::new(format!("`{text}` contains an unsupported escape")));
                }
            },
            _ => word.text.push(character),
        }
    }
    Ok(())
}

/// Returns true for variables that bash sets from the line itself: they could contain words that were not checked.
fn is_set_by_line(expansion: &str) -> bool {
    let name = expansion.trim_start_matches(['$', '{']).trim_end_matches('}');
    matches!(name, "_" | "DIRSTACK" | "OLDPWD" | "OPTARG" | "REPLY" | "MAPFILE")
        || name.starts_with("BASH")
}

/// Returns true only for `${NAME}`: other forms can set variables and run commands.
fn is_plain_expansion(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Reads unquoted text: backslashes, patterns, braces and `~`.
fn plain(text: &str, word: &mut Word) -> Result<(), Refusal> {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let next = characters.next();
                word.text.push(next.ok_or_else(|| Refusal::new("the line ends with a backslash"))?);
            }
            '~' if word.text.is_empty() => {
                word.certainty = word.certainty.max(Certainty::Prefix);
                word.text.push(character);
            }
            _ if PATTERN.contains(&character) => {
                // A pattern at the start could become an option.
                let certainty =
                    if word.text.is_empty() { Certainty::Unknown } else { Certainty::Prefix };
                word.certainty = word.certainty.max(certainty);
                word.text.push(character);
            }
            // Inside a word it is literal; at the start it begins a comment.
            '#' if !word.text.is_empty() => word.text.push(character),
            '$' | '`' | '"' | '\'' | '<' | '>' | '|' | '&' | ';' | '(' | ')' | '#' => {
                return Err(Refusal::new(format!(
                    "unquoted `{character}` may have a special meaning"
                )));
            }
            _ => word.text.push(character),
        }
    }
    Ok(())
}

/// Reads text in double quotes. An expansion inside stays one word, and can be anything.
fn quoted(node: Node<'_>, source: &str, word: &mut Word) -> Result<(), Refusal> {
    let range = node.byte_range();
    let text = slice(source, range.clone());
    let is_closed = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    if !is_closed {
        return Err(Refusal::new("unclosed quote"));
    }
    let (end, mut at) = (range.end - 1, range.start + 1);
    let mut cursor = node.walk();
    let expansions: Vec<Node<'_>> =
        node.named_children(&mut cursor).filter(|child| child.kind() != "string_content").collect();
    for expansion in expansions {
        let inner = slice(source, expansion.byte_range());
        let is_plain = match expansion.kind() {
            _ if is_set_by_line(inner) => false,
            "simple_expansion" => true,
            "expansion" => is_plain_expansion(inner),
            _ => false,
        };
        if !is_plain {
            return Err(Refusal::new(format!("`{inner}` is not a plain word")));
        }
        literal(slice(source, at..expansion.start_byte()), word)?;
        let certainty = if word.text.is_empty() { Certainty::Unknown } else { Certainty::Prefix };
        word.certainty = word.certainty.max(certainty);
        word.text.push_str(inner);
        at = expansion.end_byte();
    }
    literal(slice(source, at..end), word)
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
                return Err(Refusal::new(format!("unexpected `{character}` in double quotes")));
            }
            _ => word.text.push(character),
        }
    }
    Ok(())
}
