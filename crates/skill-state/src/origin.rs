//! Origins of skills, normalized so that equivalent URLs and paths are equal.

use skill_fs::{AbsPath, real_path};

/// Hosts that serve the same repositories as another one.
const ALIASES: [(&str, &str); 3] = [
    ("ssh.github.com", "github.com"),
    ("altssh.gitlab.com", "gitlab.com"),
    ("altssh.bitbucket.org", "bitbucket.org"),
];

/// Returns a URL without any password or token.
pub fn without_password(url: &str) -> String {
    let Some((scheme @ ("https" | "http"), rest)) = url.split_once("://") else {
        return match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, user(rest)?))) {
            Some((scheme, (user, rest))) if user.contains(':') => {
                let name = user.split(':').next().unwrap_or_default();
                format!("{scheme}://{name}@{rest}")
            }
            _ => url.to_owned(),
        };
    };
    user(rest).map_or_else(|| url.to_owned(), |(_, rest)| format!("{scheme}://{rest}"))
}

/// Splits the user information before the host from the rest.
fn user(rest: &str) -> Option<(&str, &str)> {
    let end = rest.find('/').unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    Some((&rest[..at], &rest[at + 1..]))
}

/// Normalizes the URL of a repository: drops the scheme, user, port, `www.` and `.git`, lower-cases the host and
/// simplifies the path. `git@github.com:a/b.git` and `https://github.com/a/x/../b` have the same key. A folder stays a
/// path.
pub fn origin_key(origin: &str) -> String {
    if let Some(path) = local_path(origin) {
        let path = plain_path(&path);
        let path =
            path.strip_suffix("/.git").or_else(|| path.strip_suffix(".git")).unwrap_or(&path);
        return format!("/{path}");
    }
    let origin = decoded(origin);
    let origin = origin.split(['?', '#']).next().unwrap_or_default();
    let (is_url, rest) = match origin.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, origin),
    };
    // ssh accepts `[user@host:port]:path`.
    let unwrapped = rest
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .filter(|(inner, _)| !is_url && (inner.contains('@') || inner.matches(':').count() < 2));
    let unwrapped = unwrapped.map(|(inner, path)| {
        let host = inner.rsplit('@').next().unwrap_or(inner);
        format!("{}:{path}", host.split(':').next().unwrap_or(host))
    });
    let rest = unwrapped.as_deref().unwrap_or(rest);
    let start = rest.find('/').unwrap_or(rest.len());
    let rest = match rest[..start].rfind('@') {
        Some(at) => &rest[at + 1..],
        None => rest,
    };
    // An IPv6 address contains colons.
    let from = if rest.starts_with('[') { rest.find(']').unwrap_or(0) } else { 0 };
    let at = rest[from..].find([':', '/']).map_or(rest.len(), |at| from + at);
    let (host, path) = rest.split_at(at);
    // In a URL a port follows the colon, otherwise a path.
    let path = match path.strip_prefix(':') {
        Some(port) if is_url => port.find('/').map_or("", |slash| &port[slash..]),
        Some(path) => path,
        None => path,
    };
    let path = plain_path(path);
    let path = path.trim_end_matches(".git").trim_end_matches('/');
    let host = host.trim_end_matches('.').to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let host = ALIASES.iter().find(|(alias, _)| *alias == host).map_or(host, |(_, host)| host);
    if path.is_empty() { host.to_owned() } else { format!("{host}/{path}") }
}

/// Returns true if two origins are equivalent. Folders are also compared by their real paths.
pub(crate) fn is_same_origin(one: &str, other: &str) -> bool {
    let real = |origin: &str| {
        let path = AbsPath::new(std::path::Path::new(&local_path(origin)?)).ok()?;
        real_path(&path).ok().map(|path| origin_key(path.as_str()))
    };
    let is_same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    is_same(&origin_key(one), &origin_key(other))
        || matches!((real(one), real(other)), (Some(one), Some(other)) if is_same(&one, &other))
}

/// Returns the path of a local origin, with slashes: a folder, or a `file:` URL.
pub fn local_path(origin: &str) -> Option<String> {
    let system = if cfg!(windows) { System::Windows } else { System::Unix };
    local_path_on(system, origin)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    Unix,
    Windows,
}

fn local_path_on(system: System, origin: &str) -> Option<String> {
    // On Unix `c:/a` is a path on the host `c`.
    if system == System::Windows && is_windows_path(origin) {
        return Some(origin.replace('\\', "/"));
    }
    if origin.starts_with('/') {
        return Some(origin.to_owned());
    }
    let (scheme, rest) = origin.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = decoded(rest.strip_prefix("localhost").unwrap_or(rest));
    // `file:///C:/a` and, as some write it, `file://C:/a`.
    let drive = path.strip_prefix('/').unwrap_or(&path);
    if system == System::Windows && is_windows_path(drive) {
        return Some(drive.replace('\\', "/"));
    }
    path.starts_with('/').then_some(path)
}

/// Returns true for `C:\a`, `C:/a` and `\\server\share`.
fn is_windows_path(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_separator = |at: usize| matches!(bytes.get(at), Some(b'/' | b'\\'));
    let has_drive =
        bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':');
    (has_drive && is_separator(2)) || text.starts_with(r"\\")
}

/// Returns a path without `.`, `..` and empty components, and without leading or trailing slashes.
pub fn plain_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Decodes percent-encoding.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                plain.push(byte);
                at += 3;
            }
            _ => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A pattern in which `*` matches any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Creates a pattern.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the pattern matches all of `text`, ignoring case.
    pub fn matches_any_case(&self, text: &str) -> bool {
        Self(self.0.to_lowercase()).matches(&text.to_lowercase())
    }

    /// Returns true if the pattern matches all of `text`.
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
    fn windows_paths_are_local_only_on_windows() {
        for (origin, path) in [
            (r"C:\a\b", Some("C:/a/b")),
            ("c:/a", Some("c:/a")),
            (r"\\server\share", Some("//server/share")),
            ("file:///C:/a%20b", Some("C:/a b")),
            ("file://C:/a", Some("C:/a")),
            ("/a", Some("/a")),
            ("c:a", None),
            ("git@host:a", None),
        ] {
            assert_eq!(local_path_on(System::Windows, origin).as_deref(), path, "{origin}");
        }
        for origin in [r"C:\a\b", "c:/a", r"\\server\share", "c:a"] {
            assert_eq!(local_path_on(System::Unix, origin), None, "{origin}");
        }
    }

    #[test]
    fn equivalent_origins_have_one_key() {
        for (origin, expected) in [
            ("https://github.com/a/b", "github.com/a/b"),
            ("https://GitHub.com/a/b.git/", "github.com/a/b"),
            ("git@github.com:a/b.git", "github.com/a/b"),
            ("ssh://git@github.com:22/a/b", "github.com/a/b"),
            ("ssh://git@ssh.github.com:443/a/b", "github.com/a/b"),
            ("https://www.github.com/a/b", "github.com/a/b"),
            ("https://github.com/x/../a/b", "github.com/a/b"),
            ("https://github.com/%61/b", "github.com/a/b"),
            ("https://me:secret@github.com//a/./b", "github.com/a/b"),
            ("https://github.com./a/b", "github.com/a/b"),
            ("https://[2001:db8::bad]:443/a/b", "[2001:db8::bad]/a/b"),
            ("https://h/%", "h/%"),
            ("/srv/skills/", "/srv/skills"),
            ("/srv//x/./../skills", "/srv/skills"),
            ("/srv/skills/.git", "/srv/skills"),
            ("file:///srv/skills.git", "/srv/skills"),
            ("file://localhost/srv/%73kills", "/srv/skills"),
            ("https://github.com/a/b.git?x=1", "github.com/a/b"),
            ("https://github.com/a/b.git/.", "github.com/a/b"),
            ("[git@github.com]:a/b.git", "github.com/a/b"),
            ("[git@github.com:22]:a/b.git", "github.com/a/b"),
            ("https://github.com/a/b.git.git#x", "github.com/a/b"),
            ("https://github.com/*", "github.com/*"),
            ("https://github.com", "github.com"),
            ("", ""),
        ] {
            assert_eq!(origin_key(origin), expected, "{origin}");
        }
    }

    #[test]
    fn a_pattern_matches_the_whole_text() {
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
        assert!(Pattern::new("github.com/Evil/*").matches_any_case("github.com/eviL/x"));
    }
}
