//! The second reading: where words and operators begin and end, by the rules of the shell's own lexer.
//!
//! It knows nothing of grammar. Its only work is to disagree with a grammar that sees two words where bash sees one.

use std::ops::Range;

use crate::Refusal;

/// What makes up operators outside of quotes.
const OPERATORS: &[u8] = b"|&;<>";

/// Returns the places of words and of runs of operators; line feeds are for the grammar. Inside quotes everything belongs to the word.
pub(crate) fn spans(text: &str) -> Result<Vec<Range<usize>>, Refusal> {
    let bytes = text.as_bytes();
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b' ' | b'\t' | b'\n' => {
                at += 1;
                continue;
            }
            // A comment goes to the end of its line.
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            byte if OPERATORS.contains(&byte) => {
                while at < bytes.len() && OPERATORS.contains(&bytes[at]) {
                    at += 1;
                }
            }
            _ => at = word_end(bytes, at)?,
        }
        all.push(start..at);
    }
    Ok(all)
}

fn word_end(bytes: &[u8], mut at: usize) -> Result<usize, Refusal> {
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\n' => break,
            byte if OPERATORS.contains(&byte) => break,
            b'\\' => at += 2,
            b'\'' => at = closing(bytes, at + 1, b'\'')? + 1,
            b'"' => at = closing(bytes, at + 1, b'"')? + 1,
            _ => at += 1,
        }
    }
    if at > bytes.len() { Err(Refusal::new("the line ends in a backslash")) } else { Ok(at) }
}

fn closing(bytes: &[u8], mut at: usize, quote: u8) -> Result<usize, Refusal> {
    while at < bytes.len() {
        match bytes[at] {
            byte if byte == quote => return Ok(at),
            b'\\' if quote == b'"' => at += 2,
            _ => at += 1,
        }
    }
    Err(Refusal::new("a quote is not closed"))
}
