//! Parses the source of help pages: `man/*.Rd`.

use super::rd::{MAX_DEPTH, Rd};

/// Parses a page.
pub(super) fn parse(text: &str) -> Result<Vec<Rd>, String> {
    let characters: Vec<char> = text.chars().collect();
    let mut reader = Reader { characters: &characters, at: 0 };
    reader.group(0, Until::End)
}

/// What closes a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Brace,
    End,
}

struct Reader<'a> {
    characters: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek()?;
        self.at += 1;
        Some(found)
    }

    /// Parses until the closing brace, or the end.
    fn group(&mut self, depth: usize, until: Until) -> Result<Vec<Rd>, String> {
        if depth > MAX_DEPTH {
            return Err("nested too deeply".to_owned());
        }
        let (mut parts, mut plain) = (Vec::new(), String::new());
        let flush = |plain: &mut String, parts: &mut Vec<Rd>| {
            if !plain.is_empty() {
                parts.push(Rd::Text(std::mem::take(plain)));
            }
        };
        while let Some(c) = self.next() {
            match c {
                '}' if until == Until::Brace => {
                    flush(&mut plain, &mut parts);
                    return Ok(parts);
                }
                '{' => {
                    flush(&mut plain, &mut parts);
                    let inner = self.group(depth + 1, Until::Brace)?;
                    parts.push(Rd::Text("{".to_owned()));
                    parts.extend(inner);
                    parts.push(Rd::Text("}".to_owned()));
                }
                '%' => while self.next().is_some_and(|c| c != '\n') {},
                '\\' => match self.peek() {
                    Some(c @ ('\\' | '%' | '{' | '}')) => {
                        self.at += 1;
                        plain.push(c);
                    }
                    Some(c) if c.is_ascii_alphabetic() => {
                        flush(&mut plain, &mut parts);
                        parts.push(self.tag(depth)?);
                    }
                    _ => plain.push('\\'),
                },
                c => plain.push(c),
            }
        }
        if until == Until::Brace {
            return Err("unclosed brace".to_owned());
        }
        flush(&mut plain, &mut parts);
        Ok(parts)
    }

    fn tag(&mut self, depth: usize) -> Result<Rd, String> {
        let mut tag = "\\".to_owned();
        while let Some(c) = self.peek().filter(char::is_ascii_alphanumeric) {
            tag.push(c);
            self.at += 1;
        }
        // Skip options, such as the package of a link.
        if self.peek() == Some('[') {
            while self.next().is_some_and(|c| c != ']') {}
        }
        let max_groups = match tag.as_str() {
            "\\item" | "\\href" | "\\section" | "\\subsection" | "\\method" | "\\S3method"
            | "\\S4method" | "\\if" | "\\tabular" | "\\eqn" | "\\deqn" => 2,
            "\\ifelse" => 3,
            "\\R" | "\\dots" | "\\ldots" | "\\cr" | "\\tab" => 0,
            _ => 1,
        };
        let mut groups = Vec::new();
        while groups.len() < max_groups {
            let before = self.at;
            // Whitespace is allowed only between the groups of a tag.
            while groups.len() == 1 && self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            }
            if self.peek() != Some('{') {
                self.at = before;
                break;
            }
            self.at += 1;
            groups.push(self.group(depth + 1, Until::Brace)?);
        }
        if max_groups == 0 && self.characters[self.at..].starts_with(&['{', '}']) {
            self.at += 2;
        }
        Ok(Rd::Tag { tag, groups })
    }
}
