//! Origin URLs of packages, stripped of anything that could be a secret before they are stored.
//!
//! A malformed URL could contain a password anywhere, so it is rejected and never shown.

use std::fmt;

use crate::record::log::redact;

/// Why a URL is rejected. The messages never quote the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OriginUrlError {
    /// It is neither a URL nor an ssh address.
    #[error("not a URL or git remote")]
    NotAnAddress,
    /// The host is missing or invalid.
    #[error("no valid host")]
    Host,
    /// Something in it looks like a password or a token.
    #[error("it may contain a password or a token")]
    Secret,
}

/// The origin of a package, without password, token, query and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginUrl(String);

/// The maximum length of a user name; longer ones could be tokens.
const MAX_USER: usize = 32;
/// The maximum length of a URL.
const MAX_LENGTH: usize = 2048;

impl OriginUrl {
    /// Parses `https://host/path`, `ssh://git@host/path` and the like, or `git@host:path`. Credentials are removed,
    /// except a plain ssh user.
    pub fn parse(text: &str) -> Result<Self, OriginUrlError> {
        let text = text.trim();
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "\\\"'<>^`{|}".contains(c);
        if text.is_empty() || text.len() > MAX_LENGTH || text.contains(is_odd) {
            return Err(OriginUrlError::NotAnAddress);
        }
        match text.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => of_url(&scheme.to_ascii_lowercase(), rest),
            Some(_) => Err(OriginUrlError::NotAnAddress),
            None => of_ssh(text),
        }
        .map(Self)
    }

    /// Returns the URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OriginUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn of_url(scheme: &str, rest: &str) -> Result<String, OriginUrlError> {
    let (rest, dropped) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // Part of a password, as in `https://me:12?34@host`.
    if path.is_empty() && dropped.contains('@') {
        return Err(OriginUrlError::Secret);
    }
    let (user, address) = match authority.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, authority),
    };
    let (host, port) = host_and_port(address).ok_or(OriginUrlError::Host)?;
    // Local files have no host.
    let has_no_host = host.is_empty() && !(scheme == "file" && address.is_empty());
    if has_no_host || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(OriginUrlError::Host);
    }
    // A password with a `/` makes the user look like the host: `https://me:12/34@host`. But hosts with a dot and without a port may have paths such as `lodash@4`.
    let could_be_user = port.is_some() || !host.contains('.');
    let is_login = |part: &str| match part.split_once('@') {
        Some((before, _)) => before.contains(':') || (could_be_user && !before.is_empty()),
        None => false,
    };
    if path.split('/').any(is_login) || redact(path) != path {
        return Err(OriginUrlError::Secret);
    }
    let is_ssh = scheme.split('+').any(|part| part == "ssh");
    let user = user.filter(|user| is_ssh && is_plain_user(user));
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    Ok(format!("{scheme}://{user}{address}{path}"))
}

/// Parses `user@host:path`. Without a user it could not be distinguished from a user and a password.
fn of_ssh(text: &str) -> Result<String, OriginUrlError> {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let (login, path) = text.split_once(':').ok_or(OriginUrlError::NotAnAddress)?;
    let (user, host) = login.split_once('@').ok_or(OriginUrlError::NotAnAddress)?;
    if !is_plain_user(user) {
        return Err(OriginUrlError::Secret);
    }
    if !is_host(host) {
        return Err(OriginUrlError::Host);
    }
    if path.is_empty() || path.starts_with("//") {
        return Err(OriginUrlError::NotAnAddress);
    }
    if path.contains('@') || redact(path) != path {
        return Err(OriginUrlError::Secret);
    }
    Ok(format!("{user}@{host}:{path}"))
}

/// Splits off the port; `None` if the host is invalid.
fn host_and_port(address: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = address.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        let is_address = inside.parse::<std::net::Ipv6Addr>().is_ok();
        let port = if after.is_empty() { None } else { Some(after.strip_prefix(':')?) };
        return is_address.then_some((inside, port));
    }
    let (host, port) = match address.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (address, None),
    };
    (host.is_empty() || is_host(host)).then_some((host, port))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn is_host(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric)
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

/// Returns true for a user name such as `git`, and false for a token in its place.
fn is_plain_user(text: &str) -> bool {
    text.len() <= MAX_USER
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        && redact(text) == text
        && !TOKENS.iter().any(|start| text.starts_with(start))
}

/// Prefixes of tokens that are used as user names.
const TOKENS: [&str; 7] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_removed() {
        for (text, kept) in [
            ("https://example.com/a", "https://example.com/a"),
            ("https://me:hunter2@example.com/a?token=x#y", "https://example.com/a"),
            ("https://me:hun@ter2@example.com/a", "https://example.com/a"),
            ("HTTPS://ghp_x@example.com/a", "https://example.com/a"),
            ("git+https://x@example.com/a", "git+https://example.com/a"),
            ("ftp://x@h/a", "ftp://h/a"),
            ("ssh://git@example.com:22/a.git", "ssh://git@example.com:22/a.git"),
            ("git+ssh://git@h/a", "git+ssh://git@h/a"),
            ("ssh://git:hunter2@example.com/a", "ssh://example.com/a"),
            ("ssh://ghp_x@example.com/a", "ssh://example.com/a"),
            ("git@github.com:a/b.git", "git@github.com:a/b.git"),
            ("https://me:hunter2@[::1]:8080/a", "https://[::1]:8080/a"),
            ("https://unpkg.com/@scope/lodash@4.17/x", "https://unpkg.com/@scope/lodash@4.17/x"),
            ("http://localhost:4873/@scope/x.tgz", "http://localhost:4873/@scope/x.tgz"),
            ("file:///srv/pdf.zip", "file:///srv/pdf.zip"),
            ("https://bücher.example/a", "https://bücher.example/a"),
            (" https://example.com ", "https://example.com"),
        ] {
            assert_eq!(OriginUrl::parse(text).unwrap().as_str(), kept, "{text}");
        }
    }

    #[test]
    fn malformed_addresses_are_rejected() {
        for text in [
            "me:hunter2@example.com/a",
            "me:hunter2@example.com:x.git",
            "me:hunter2",
            "hunter2",
            "//me:hunter2@h/x",
            "https:/me:hunter2@example.com/a",
            "https:me:hunter2@example.com/a",
            "https:///me:hunter2@example.com/a",
            "https://me:hun/ter2@example.com/a",
            "https://me:123/ter2@example.com/a",
            "https://me/hunter2@example.com/a",
            "https://me:hun?ter2@example.com/a",
            "https://me:hun#ter2@example.com/a",
            "https://me:12?34@example.com/a",
            "https://me.you?hunter2@example.com/a",
            "https://me:hun\\ter2@example.com/a",
            "https://me%3Ahunter2%40example.com/a",
            "https://proxy.example/https://me:hunter2@example.com/a",
            "https://h.example/me:hunter2@example.com/a",
            "ghp_x@github.com:a/b.git",
            "ghp_0123456789012345678901234567890123456789@github.com:a/b.git",
            "git@github.com:me:hunter2@h",
            "git@@h:a",
            "://h/a",
            "1x://h/a",
            "https://",
            "https://h:99999/a",
            "https://h h/a",
            "",
        ] {
            let error = OriginUrl::parse(text).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{text}");
        }
    }
}
