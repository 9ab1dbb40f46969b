//! Scripts of sed that only print, delete and replace.

use shell::{Certainty, Word};

/// Options that only change how lines are read and shown.
const PLAIN: [&str; 7] =
    ["--quiet", "--silent", "--regexp-extended", "--null-data", "--posix", "--sandbox", "--debug"];

/// Returns the word by which sed may do more than print, delete and replace.
pub(super) fn unclear(arguments: &[Word]) -> Option<String> {
    let mut scripts: Vec<&Word> = Vec::new();
    let mut rest = arguments.iter();
    let mut files: Vec<&Word> = Vec::new();
    let mut has_option = false;
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let is_cluster = text.strip_prefix('-').is_some_and(|letters| {
            !letters.is_empty() && letters.chars().all(|c| matches!(c, 'n' | 'E' | 'r' | 'z' | 'u'))
        });
        if text == "-e" || text == "--expression" {
            has_option = true;
            scripts.extend(rest.next());
        } else if text.starts_with('-') && text != "-" {
            if !is_cluster && !PLAIN.contains(&text) {
                return Some(text.to_owned());
            }
        } else {
            files.push(word);
        }
    }
    if !has_option {
        scripts.extend(files.first());
    }
    let is_unclear = |word: &&Word| word.certainty != Certainty::Exact || !are_plain(&word.text);
    scripts.into_iter().find(is_unclear).map(|word| word.text.clone())
}

/// Several commands stand one after the other.
fn are_plain(script: &str) -> bool {
    // A replacement may hold the sign between commands, so those with one are looked at as a whole.
    let is_one = is_plain(script);
    is_one || script.split(';').all(|part| is_plain(part.trim()))
}

/// Returns what follows the lines that a command is about: numbers, the last one, and patterns between slashes.
fn after_address(script: &str) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' '));
        let Some(pattern) = rest.strip_prefix('/') else { return Some(rest) };
        let end = pattern.find('/')?;
        if pattern[..end].contains('\\') && pattern[..end].ends_with('\\') {
            return None;
        }
        rest = &pattern[end + 1..];
    }
}

/// Lines by number or pattern, then `p`, `d`, `q` or `=`; or one replacement without the flags that run and write.
fn is_plain(script: &str) -> bool {
    let Some(command) = after_address(script.trim()) else { return false };
    if matches!(command, "" | "p" | "d" | "q" | "=") {
        return true;
    }
    let Some(rest) = command.strip_prefix('s') else { return false };
    let Some(mark) = rest.chars().next().filter(char::is_ascii_punctuation) else { return false };
    let parts: Vec<&str> = rest[1..].split(mark).collect();
    // An escaped mark or a line break makes parts that are not what they seem.
    parts.len() == 3
        && mark != '\\'
        && !parts[..2].iter().any(|part| part.ends_with('\\'))
        && !script.contains('\n')
        && parts[2].chars().all(|c| matches!(c, 'g' | 'i' | 'I' | 'p') || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_scripts_are_plain() {
        for script in [
            "p",
            "1,3p",
            "$d",
            "5q",
            "s/a/b/",
            "s|a|b|g",
            "1,$s/x y/z/gi",
            "2!d",
            "/foo/p",
            "/^$/d",
            "/a/,/b/p",
        ] {
            assert!(is_plain(script), "{script}");
        }
        for script in [
            "1e touch p",
            "s/.*/touch p/e",
            "w p",
            "s/a/b/w out",
            "r /etc/passwd",
            "s/a/b/;e x",
            "s/a/b\\/e",
            "p;e",
            "s\\a\\b\\e",
            "y/a/b/;w x",
            "a\nw x",
        ] {
            assert!(!is_plain(script), "{script}");
        }
    }
}
