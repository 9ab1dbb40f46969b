//! NAMESPACE: what a package exports.

use std::collections::BTreeSet;

/// What is exported.
#[derive(Debug, Default)]
pub(super) struct Exports {
    names: BTreeSet<String>,
    /// Patterns that names may fit; which, is known to R alone.
    has_patterns: bool,
}

impl Exports {
    pub(super) fn covers(&self, name: &str) -> bool {
        self.names.contains(name) || self.has_patterns
    }

    /// Returns true if nothing is said, so that everything that is documented counts.
    pub(super) fn is_unknown(&self) -> bool {
        self.names.is_empty() && !self.has_patterns
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }
}

/// Reads the directives that export something.
pub(super) fn exports(text: &str) -> Exports {
    let plain = without_comments(text);
    let mut exports = Exports::default();
    let mut rest = plain.as_str();
    while let Some(open) = rest.find('(') {
        let directive =
            rest[..open].rsplit(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_')).next();
        let inside = &rest[open + 1..];
        let close = closing(inside);
        let arguments = words(&inside[..close]);
        match directive.unwrap_or_default() {
            "export" | "exportClasses" | "exportMethods" => exports.names.extend(arguments),
            "exportPattern" | "exportClassPattern" => exports.has_patterns = true,
            _ => {}
        }
        rest = inside.get(close + 1..).unwrap_or_default();
    }
    exports
}

/// Follows quotes through a text: a name in quotes may hold any sign.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
    is_escaped: bool,
}

impl Quotes {
    /// Returns true for a sign that is code, and neither quoted nor a quote.
    fn is_code(&mut self, c: char) -> bool {
        match self.open {
            Some(_) if self.is_escaped => self.is_escaped = false,
            Some(_) if c == '\\' => self.is_escaped = true,
            Some(open) if open == c => self.open = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'' | '`') => self.open = Some(c),
            None => return true,
        }
        false
    }
}

/// Returns a text without comments: from a `#` that is not quoted to the end of its line.
fn without_comments(text: &str) -> String {
    let (mut quotes, mut is_comment) = (Quotes::default(), false);
    let is_kept = |c: &char| {
        if is_comment {
            is_comment = *c != '\n';
        } else if quotes.is_code(*c) && *c == '#' {
            is_comment = true;
        }
        !is_comment
    };
    text.chars().filter(is_kept).collect()
}

/// Returns where the bracket that is open ends.
fn closing(text: &str) -> usize {
    let (mut depth, mut quotes) = (0_usize, Quotes::default());
    for (at, c) in text.char_indices() {
        match (quotes.is_code(c), c) {
            (true, '(') => depth += 1,
            (true, ')') if depth == 0 => return at,
            (true, ')') => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the names between the commas that are not quoted.
fn words(text: &str) -> Vec<String> {
    let mut quotes = Quotes::default();
    let plain = |word: &str| word.trim().trim_matches(['"', '\'', '`']).to_owned();
    let words = text.split(|c| quotes.is_code(c) && c == ',');
    words.map(plain).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read_however_they_are_written() {
        let text = "# comment\nexport(a, \"b.c\",\n  `%op%`)\nS3method(print, x)\nimportFrom(utils, head)\nexportMethods(show)\n";
        let exports = exports(text);
        let names: Vec<&String> = exports.names().collect();
        assert_eq!(names, ["%op%", "a", "b.c", "show"]);
        assert!(!exports.covers("print") && !exports.is_unknown());
        assert!(super::exports("exportPattern(\"^[^.]\")").covers("anything"));
        assert!(super::exports("").is_unknown());
    }

    #[test]
    fn a_quoted_name_may_hold_any_sign() {
        for (text, names) in [
            ("export(\"with#hash\", after) # comment, x(\n", &["after", "with#hash"][..]),
            ("export(\"a,b\", 'c)d', `e(f`)\nexport(g)", &["a,b", "c)d", "e(f", "g"]),
            ("# it's\nexport(a)", &["a"]),
            ("export(\"x\\\"#y\", z)", &["x\\\"#y", "z"]),
        ] {
            assert_eq!(exports(text).names().collect::<Vec<_>>(), names, "{text}");
        }
    }
}
