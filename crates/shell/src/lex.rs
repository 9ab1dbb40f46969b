//! The second parse: the boundaries of words and operators, by the rules of the shell's lexer.
//!
//! It ignores the grammar. Its only purpose is to disagree with a grammar that sees two words where bash sees one.

use std::ops::Range;

use crate::Refusal;

/// Operator characters outside quotes.
const OPERATORS: &[u8] = b"|&;<>";

/// Returns the ranges of words and of operator sequences; line feeds are left to the grammar. Quoted text is part of
/// its word.
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
            // A comment extends to the end of its line.
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
    if at > bytes.len() { Err(Refusal::new("the line ends with a backslash")) } else { Ok(at) }
}

fn closing(bytes: &[u8], mut at: usize, quote: u8) -> Result<usize, Refusal> {
    while at < bytes.len() {
        match bytes[at] {
            byte if byte == quote => return Ok(at),
            b'\\' if quote == b'"' => at += 2,
            _ => at += 1,
        }
    }
    Err(Refusal::new("unclosed quote"))
}
