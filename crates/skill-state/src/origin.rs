//! Where skills come from, written so that one place has one spelling.

/// Returns an address of a repository without what does not matter: scheme, user, port, `.git`, capitals of the host.
/// `git@github.com:a/b.git` and `https://github.com/a/b` are one place. A folder stays as it is.
pub fn origin_key(origin: &str) -> String {
    if origin.starts_with('/') {
        return origin.trim_end_matches('/').to_owned();
    }
    let (is_url, rest) = match origin.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, origin),
    };
    let start = rest.find('/').unwrap_or(rest.len());
    let rest = match rest[..start].rfind('@') {
        Some(at) => &rest[at + 1..],
        None => rest,
    };
    // In a URL a port follows the colon, else a path.
    let at = rest.find([':', '/']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(at);
    let path = match path.strip_prefix(':') {
        Some(port) if is_url => port.find('/').map_or("", |slash| &port[slash..]),
        Some(path) => path,
        None => path,
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let host = host.trim_end_matches('.').to_lowercase();
    if parts.is_empty() { host } else { format!("{host}/{}", parts.join("/")) }
}

/// A text in which `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Makes a pattern.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if it stands for the whole of `text`.
    pub fn matches(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.len() >= last.len() && rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_has_one_spelling() {
        for (origin, expected) in [
            ("https://github.com/a/b", "github.com/a/b"),
            ("https://GitHub.com/a/b.git/", "github.com/a/b"),
            ("git@github.com:a/b.git", "github.com/a/b"),
            ("ssh://git@github.com:22/a/b", "github.com/a/b"),
            ("https://me:secret@github.com//a/./b", "github.com/a/b"),
            ("https://github.com./a/b", "github.com/a/b"),
            ("/srv/skills/", "/srv/skills"),
            ("https://github.com/*", "github.com/*"),
            ("https://github.com", "github.com"),
            ("", ""),
        ] {
            assert_eq!(origin_key(origin), expected, "{origin}");
        }
    }

    #[test]
    fn a_pattern_stands_for_the_whole_text() {
        for (pattern, text, matches) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("github.com/acme/*", "github.com/acme/x/y", true),
            ("github.com/acme/*", "github.com/acmeevil/x", false),
            ("*.internal/*", "git.internal/x", true),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), matches, "{pattern} {text}");
        }
    }
}
