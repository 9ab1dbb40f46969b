//! Addresses that packages come from, as they may be written down: without anything that could be a secret.
//!
//! An address that is not put together as one could hold a password anywhere, so it is refused and never shown.

use std::fmt;

use crate::record::log::redact;

/// Why an address is not remembered. It says nothing of what stands in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OriginUrlError {
    /// It is neither a URL nor an address that ssh takes.
    #[error("it is neither a URL nor a git address")]
    NotAnAddress,
    /// Where the host should stand is something else.
    #[error("it has no proper host")]
    Host,
    /// Something after the host looks like a password or a token.
    #[error("it may hold a password or a token")]
    Secret,
}

/// Where a package is from: no password, no token, no query and no fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginUrl(String);

/// The longest name of a user that is not taken for a token.
const MAX_USER: usize = 32;
/// The longest address.
const MAX_LENGTH: usize = 2048;

impl OriginUrl {
    /// Reads `https://host/path`, `ssh://git@host/path` and the like, or `git@host:path`. Whoever logs in is left out, except a plain user of ssh.
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

    /// Returns it as text.
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
    // The rest of a password: `https://me:12?34@host`.
    if path.is_empty() && dropped.contains('@') {
        return Err(OriginUrlError::Secret);
    }
    let (user, address) = match authority.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, authority),
    };
    let (host, port) = host_and_port(address).ok_or(OriginUrlError::Host)?;
    // A folder of this machine has no host.
    let is_nowhere = host.is_empty() && !(scheme == "file" && address.is_empty());
    if is_nowhere || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(OriginUrlError::Host);
    }
    // A password with a `/` in it makes a host of the user: `https://me:12/34@host`. Hosts with a dot and no port have such paths: `lodash@4`.
    let is_doubtful = port.is_some() || !host.contains('.');
    let is_login = |part: &str| match part.split_once('@') {
        Some((before, _)) => before.contains(':') || (is_doubtful && !before.is_empty()),
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

/// Reads `user@host:path`. Without a user nothing tells it from a user and a password.
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

/// Splits a port off; `None` where what stands before it is no host.
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

/// Returns true for the name of a user, as `git` is one. A token takes the same place.
fn is_plain_user(text: &str) -> bool {
    text.len() <= MAX_USER
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        && redact(text) == text
        && !TOKENS.iter().any(|start| text.starts_with(start))
}

/// How tokens begin that take the place of a user.
const TOKENS: [&str; 7] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out() {
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
    fn what_is_no_address_is_refused() {
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
