//! Parses NAMESPACE: the exports of a package.

use std::collections::BTreeSet;

/// The exports of a package.
#[derive(Debug, Default)]
pub(super) struct Exports {
    names: BTreeSet<String>,
    /// Names matching a pattern are exported; only R can evaluate the patterns.
    has_patterns: bool,
}

impl Exports {
    pub(super) fn covers(&self, name: &str) -> bool {
        self.names.contains(name) || self.has_patterns
    }

    /// Returns true if nothing is declared, so that everything with documentation counts as exported.
    pub(super) fn is_unknown(&self) -> bool {
        self.names.is_empty() && !self.has_patterns
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }
}

/// Parses the export directives.
pub(super) fn exports(text: &str) -> Exports {
    let plain = without_comments(text);
    let mut exports = Exports::default();
    let mut rest = plain.as_str();
    while let Some(open) = rest.find('(') {
        let directive =
            rest[..open].rsplit(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_')).next();
        let inside = &rest[open + 1..];
        let close = closing(inside);
        let arguments = arguments(&inside[..close]);
        match directive.unwrap_or_default() {
            "export" | "exportClasses" | "exportMethods" => exports.names.extend(arguments),
            "exportPattern" | "exportClassPattern" => exports.has_patterns = true,
            _ => {}
        }
        rest = inside.get(close + 1..).unwrap_or_default();
    }
    exports
}

/// Tracks quotes in a text: a quoted name may contain any character.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
    is_escaped: bool,
}

impl Quotes {
    /// Returns true for a character that is neither quoted nor a quote.
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

/// Returns a text without comments, which extend from an unquoted `#` to the end of the line.
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

/// Returns the position of the closing parenthesis of the one that was opened before the text.
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

/// Returns the names between unquoted commas, without their quotes.
fn arguments(text: &str) -> Vec<String> {
    let mut quotes = Quotes::default();
    let unquoted = |name: &str| name.trim().trim_matches(['"', '\'', '`']).to_owned();
    let names = text.split(|c| quotes.is_code(c) && c == ',');
    names.map(unquoted).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_exports_are_read() {
        let text = "# comment\nexport(a, \"b.c\",\n  `%op%`)\nS3method(print, x)\nimportFrom(utils, head)\nexportMethods(show)\n";
        let exports = exports(text);
        let names: Vec<&String> = exports.names().collect();
        assert_eq!(names, ["%op%", "a", "b.c", "show"]);
        assert!(!exports.covers("print") && !exports.is_unknown());
        assert!(super::exports("exportPattern(\"^[^.]\")").covers("anything"));
        assert!(super::exports("").is_unknown());
    }

    #[test]
    fn a_quoted_name_may_contain_any_character() {
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
