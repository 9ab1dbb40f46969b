//! Matches the pattern of a rule against the words of a command.
//!
//! Paths are compared without `.`, `..` and repeated slashes. A `*` inside a word never matches `..`. If it ends a
//! path, the real path must also be in that folder.

use std::path::Path;

use shell::{Certainty, Word};

use super::path::plain;
use super::programs::Locations;

/// Replaces `..` in compared texts; `*` never matches it.
const UP: char = '\u{1}';

/// Returns true if a rule without `*` is exactly this command.
pub(super) fn is_exactly(rule: &str, words: &[Word]) -> bool {
    if rule.contains('*') {
        return false;
    }
    let wanted: Vec<&str> = rule.split_whitespace().collect();
    wanted.len() == words.len() && start_with(words, &wanted)
}

/// Returns true if a command starts with exactly these words.
fn start_with(words: &[Word], wanted: &[&str]) -> bool {
    wanted.len() <= words.len()
        && words
            .iter()
            .zip(wanted)
            .all(|(word, wanted)| word.certainty == Certainty::Exact && word.text == *wanted)
}

/// Matches a rule that contains `*`. At the end, after a space or a colon, it matches any arguments or none; elsewhere
/// it matches any characters except `..`.
pub(super) fn is_like(rule: &str, words: &[Word], at: &Locations<'_>) -> bool {
    let rule = rule.strip_suffix(":*").map_or_else(|| rule.to_owned(), |rule| format!("{rule} *"));
    if let Some(start) = rule.strip_suffix(" *").filter(|start| !start.contains('*')) {
        let wanted: Vec<&str> = start.split_whitespace().collect();
        return !wanted.is_empty() && start_with(words, &wanted);
    }
    // A word with a space in it would look like two words.
    let is_odd = |word: &Word| word.text.contains(|c: char| c.is_whitespace() || c == UP);
    if !rule.contains('*') || words.iter().any(is_odd) {
        return false;
    }
    let (pattern, any_arguments) = match rule.strip_suffix(" *") {
        Some(start) => (start, true),
        None => (rule.as_str(), false),
    };
    let pattern = pattern.split_whitespace().map(level).collect::<Vec<_>>();
    let leveled: Vec<String> = words.iter().map(|word| level(&word.text)).collect();
    let joined = pattern.join(" ");
    let is_match = |count: usize| {
        let text = leveled[..count].join(" ");
        glob(&joined, &text) && are_there(&pattern, &words[..count], at)
    };
    match any_arguments {
        true => (1..=words.len()).any(is_match),
        false => is_match(words.len()),
    }
}

/// Normalizes the path in a word and marks each remaining `..`.
fn level(text: &str) -> String {
    if !text.contains('/') && text != ".." {
        return text.to_owned();
    }
    let folder = if text.ends_with('/') { "/" } else { "" };
    // The option name stays; the value after `=` is the path.
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if name.starts_with('-') => (format!("{name}="), path),
        _ => (String::new(), text),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "*")) => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    let shown =
        parts.iter().map(|part| if *part == ".." { UP.to_string() } else { (*part).to_owned() });
    // `./x` and `x` are the same file but not the same program: `./x` is in this folder, `x` is found on PATH.
    let here = if path.starts_with("./") { "./" } else { "" };
    format!("{name}{start}{here}{}{folder}", shown.collect::<Vec<_>>().join("/"))
}

/// Checks that no link leads out of the folder that a trailing `*` matches in.
fn are_there(pattern: &[String], words: &[Word], at: &Locations<'_>) -> bool {
    pattern.iter().filter(|part| part.contains('/') && part.ends_with('*')).all(|part| {
        let folder = part.split('*').next().unwrap_or_default();
        let folder = folder.rfind('/').map_or("", |slash| &folder[..=slash]);
        words.iter().filter(|word| level(&word.text).starts_with(folder)).all(|word| {
            let Some(real) = at.lookup.real.get(&word.text) else { return true };
            at.context.cwd.iter().any(|cwd| real.starts_with(plain(&cwd.join(Path::new(folder)))))
        })
    })
}

/// Matches `*` against any characters including spaces, but never against a marked `..`.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut next) = (0, 0);
    // The position of the last `*`, and how far it has matched.
    let mut star: Option<(usize, usize)> = None;
    while next < text.len() {
        if at < pattern.len() && pattern[at] == '*' {
            star = Some((at, next));
            at += 1;
        } else if at < pattern.len() && pattern[at] == text[next] {
            at += 1;
            next += 1;
        } else if let Some((place, reach)) = star.filter(|(_, reach)| text[*reach] != UP) {
            star = Some((place, reach + 1));
            at = place + 1;
            next = reach + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_never_matches_a_parent_folder() {
        for (pattern, text, is_match) in [
            ("cat src/*", "cat src/a", true),
            ("cat src/*", "cat src/../x", false),
            ("cat src/*", "cat ./src/a", true),
            ("cat src/*", "cat src/a/../../../etc/passwd", false),
            ("cat /proc/*", "cat /proc/../etc/shadow", false),
            ("cat /proc/*", "cat /proc//cpuinfo", true),
            ("*/run.sh", "../../run.sh", false),
            ("node *x/y.js", "node a/../x/y.js", true),
            ("node *x/y.js", "node ../x/y.js", false),
            ("ls*", "ls -la", true),
            ("a*b*c", "axxbxxc", true),
            ("a*b*c", "axxbxx", false),
        ] {
            let words = |text: &str| text.split(' ').map(level).collect::<Vec<_>>().join(" ");
            let text = words(text).replace("./src", "src");
            assert_eq!(glob(&words(pattern), &text), is_match, "{pattern}: {text}");
        }
    }
}
