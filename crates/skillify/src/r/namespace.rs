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
    let plain: String = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
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

/// Returns where the bracket that is open ends.
fn closing(text: &str) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return at,
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
    }
    text.len()
}

fn words(text: &str) -> Vec<String> {
    let plain = |word: &str| word.trim().trim_matches(['"', '\'', '`']).to_owned();
    text.split(',').map(plain).filter(|word| !word.is_empty()).collect()
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
}
