//! Scripts of sed that only print, delete and replace.

use shell::{Certainty, Word};

/// Returns the first script that may do more than that.
pub(super) fn unclear_script(words: &[Word]) -> Option<String> {
    let mut scripts: Vec<&Word> = Vec::new();
    let mut arguments = words[1..].iter();
    let mut has_option = false;
    while let Some(word) = arguments.next() {
        match word.text.as_str() {
            "-e" | "--expression" => {
                has_option = true;
                scripts.extend(arguments.next());
            }
            // Written together, a script may follow at once.
            text if text.starts_with("-e") || text.starts_with("--e") => {
                return Some(word.text.clone());
            }
            text if text.starts_with('-') => {}
            _ => {
                if !has_option && scripts.is_empty() {
                    scripts.push(word);
                }
            }
        }
    }
    let is_unclear = |word: &&Word| word.certainty != Certainty::Exact || !is_plain(&word.text);
    scripts.into_iter().find(is_unclear).map(|word| word.text.clone())
}

/// Lines by number, then `p`, `d`, `q` or `=`; or one replacement without the flags that run and write.
fn is_plain(script: &str) -> bool {
    let command = script
        .trim()
        .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' '));
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
        for script in ["p", "1,3p", "$d", "5q", "s/a/b/", "s|a|b|g", "1,$s/x y/z/gi", "2!d"] {
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
