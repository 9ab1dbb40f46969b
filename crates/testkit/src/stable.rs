//! Makes the output of a program comparable between runs.

/// Returns `text` with everything that differs between runs replaced: digests and IDs, times, durations and sizes of
/// temporary files. Widths that depend on them become two spaces.
pub fn stable(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words = pieces(line);
        let is_duration =
            |at: usize| words.get(at + 1) == Some(&" ") && words.get(at + 2) == Some(&"ms");
        let stable = words.iter().enumerate().map(|(at, word)| match word.parse::<f64>() {
            Ok(_) if is_duration(at) => "N".to_owned(),
            _ => stable_piece(word),
        });
        let replaced: String = stable.collect();
        if replaced == line { replaced } else { narrow(&replaced) }
    });
    lines.fold(String::new(), |all, line| all + &line + "\n")
}

/// Splits a line into words of letters, digits, `.`, `:`, `-` and `_`, and everything between them.
fn pieces(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '_');
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_first = is_word(first);
        let end = rest.find(|c| is_word(c) != is_first).unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

fn stable_piece(piece: &str) -> String {
    if is_time(piece) {
        return "TIME".to_owned();
    }
    // Each part of `sha256:…`, `log-…` or `name-1a2b3c4` may be an ID of its own.
    let parts = piece.split_inclusive(['.', ':', '-', '_']);
    parts
        .map(|part| {
            let (name, end) = match part.strip_suffix(['.', ':', '-', '_']) {
                Some(name) => (name, &part[name.len()..]),
                None => (part, ""),
            };
            if is_time(name) {
                format!("TIME{end}")
            } else if is_id(name) {
                format!("ID{end}")
            } else {
                part.to_owned()
            }
        })
        .collect()
}

fn is_id(word: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    word.len() >= 7 && word.bytes().all(is_hex)
}

/// Returns true for `2026-11-16` and longer forms, and for `20261116T114949Z`.
fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_compact = bytes.len() >= 16 && bytes[8] == b'T' && bytes.ends_with(b"Z");
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    if is_compact && digits == bytes.len() - 2 {
        return true;
    }
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn narrow(line: &str) -> String {
    // The name of a stream, and the indentation of its line.
    let name = if line.starts_with("std") { line.find(' ').unwrap_or(0) } else { 0 };
    let text = line[name..].trim_start();
    let (start, mut rest) = line.split_at(line.len() - text.len());
    let mut narrowed = start.to_owned();
    while let Some(at) = rest.find("  ") {
        narrowed += &rest[..at];
        narrowed += "  ";
        rest = rest[at..].trim_start();
    }
    narrowed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_runs_is_replaced() {
        for (text, expected) in [
            ("pdf  tag v1          8d40883  up-to-date", "pdf  tag v1  ID  up-to-date"),
            ("bundle sha256:0011aabb22", "bundle sha256:ID"),
            ("at 2026-11-16T11:49:49.12Z: done", "at TIME done"),
            ("a word: feed, 12 in 6 ms", "a word: feed, 12 in N ms"),
            ("  nothing   to replace", "  nothing   to replace"),
            ("stdout:   pdf   8d40883    x", "stdout:   pdf  ID  x"),
            ("backups/pdf-20261118T231058Z", "backups/pdf-TIME"),
        ] {
            assert_eq!(stable(text), format!("{expected}\n"));
        }
    }
}
