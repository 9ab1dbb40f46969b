//! Repository URLs: which ones are allowed, which refer to the same repository, and how they are displayed.

use skill_state::without_password;
use skill_state::{origin_key, plain_path};

use crate::GitError;

/// Whether cloning from local paths is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalSources {
    /// Allowed by the config or the environment.
    Allowed,
    /// Not allowed.
    Refused,
    /// Forbidden by the system config.
    Forbidden,
}

impl LocalSources {
    /// Returns the setting for the origin of an existing clone: whoever put it under `skills_root` chose its origin.
    /// The system config still takes precedence.
    pub(crate) fn of_clone(self) -> Self {
        match self {
            Self::Allowed | Self::Refused => Self::Allowed,
            Self::Forbidden => Self::Forbidden,
        }
    }
}

/// Checks that git may use a URL: https, ssh, or a local path if allowed.
pub(crate) fn check_url(url: &str, local: LocalSources) -> Result<(), GitError> {
    let refuse = |reason| Err(GitError::Url { url: redacted(url), reason });
    if url.starts_with('-') || url.contains(char::is_control) {
        return refuse("it looks like an option or contains control characters");
    }
    if url.starts_with("https://") || url.starts_with("ssh://") || is_scp(url) {
        return Ok(());
    }
    let is_path = skill_state::local_path(url).is_some() || is_relative_path(url);
    match (url.starts_with("file://") || is_path, local) {
        (true, LocalSources::Allowed) => Ok(()),
        (true, LocalSources::Refused) => refuse(
            "cloning from local paths requires `allow_local_sources` in config.json or CSK_ALLOW_FILE=1",
        ),
        (true, LocalSources::Forbidden) => {
            refuse("the system config disables `allow_local_sources`")
        }
        (false, _) => refuse("use https://, ssh:// or user@host:path"),
    }
}

/// Returns true for `./path`, `../path`, and on Windows `.\path`.
pub(crate) fn is_relative_path(text: &str) -> bool {
    let rest = text.strip_prefix("..").or_else(|| text.strip_prefix('.'));
    rest.is_some_and(|rest| rest.starts_with('/') || (cfg!(windows) && rest.starts_with('\\')))
}

/// Returns a URL without its password, for messages.
pub fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{}", &rest[end..]),
        None => url.to_owned(),
    }
}

/// Returns true for `user@host:path`.
fn is_scp(url: &str) -> bool {
    let Some((place, path)) = url.split_once(':') else { return false };
    let Some((user, host)) = place.split_once('@') else { return false };
    let is_word = |text: &str| {
        !text.is_empty()
            && !text.starts_with('-')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    is_word(user)
        && is_word(host)
        && !path.is_empty()
        && !path.starts_with(':')
        && !path.starts_with("//")
}

/// Checks a URL that is going to be stored: such files are shared, so it must not contain a password.
pub fn check_declared_url(url: &str, local: LocalSources) -> Result<(), GitError> {
    check_url(url, local)?;
    if without_password(url) == url {
        return Ok(());
    }
    let reason =
        "it contains a password, and Skillfile.json is shared; use a git credential helper instead";
    Err(GitError::Url { url: redacted(url), reason })
}

/// Returns true if two URLs refer to the same repository, whatever the transport.
pub fn is_same_repository(one: &str, other: &str) -> bool {
    if let (Some(one), Some(other)) = (local_path(one), local_path(other)) {
        return one == other;
    }
    // An unencrypted transport is never equivalent to an encrypted one.
    if one.starts_with("http://") != other.starts_with("http://") || port(one) != port(other) {
        return false;
    }
    if let (Some(one), Some(other)) = (login(one), login(other))
        && one != other
    {
        return false;
    }
    let (one, other) = (origin_key(one), origin_key(other));
    let is_any_case = CASE_INSENSITIVE_HOSTS.iter().any(|host| one.starts_with(host));
    one == other || (is_any_case && one.eq_ignore_ascii_case(&other))
}

/// Hosts whose paths are case-insensitive.
const CASE_INSENSITIVE_HOSTS: [&str; 3] = ["github.com/", "gitlab.com/", "bitbucket.org/"];

/// Returns a local path in normalized form.
fn local_path(url: &str) -> Option<String> {
    let path = plain_path(&skill_state::local_path(url)?);
    let plain = path.strip_suffix(".git").unwrap_or(&path).trim_end_matches('/');
    Some(plain.to_owned())
}

/// Returns the port of a URL unless it is a default one.
fn port(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let (_, port) = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'))?;
    Some(port).filter(|port| !["", "22", "80", "443"].contains(port))
}

/// Returns the user of an ssh URL, whose home the path is relative to, unless it is `git`.
fn login(url: &str) -> Option<&str> {
    let rest = match url.split_once("://") {
        Some(("ssh", rest)) => rest,
        Some(_) => return None,
        None => url,
    };
    let (user, _) = rest.split('/').next()?.split_once('@')?;
    Some(user).filter(|user| *user != "git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(redacted("https://me:secret@x.test/a.git"), "https://***@x.test/a.git");
        assert_eq!(redacted("https://x.test/a@b"), "https://x.test/a@b");
    }

    #[test]
    fn passwords_are_removed() {
        for (url, left) in [
            ("https://me:secret@x.test/a", "https://x.test/a"),
            ("https://ghp_TOKEN@x.test/a", "https://x.test/a"),
            ("https://x.test/a@b", "https://x.test/a@b"),
            ("ssh://git@x.test/a", "ssh://git@x.test/a"),
            ("ssh://git:secret@x.test/a", "ssh://git@x.test/a"),
            ("git@x.test:a", "git@x.test:a"),
        ] {
            assert_eq!(without_password(url), left);
            let checked = check_declared_url(url, LocalSources::Refused);
            assert_eq!(checked.is_ok(), url == left, "{url}");
        }
    }

    #[test]
    fn one_repository_has_many_urls() {
        for other in [
            "https://git.test/acme/skills.git",
            "https://me@GIT.test/acme/skills/",
            "ssh://git@git.test/acme/skills",
            "git@git.test:acme/skills.git",
        ] {
            assert!(is_same_repository("https://git.test/acme/skills", other), "{other}");
        }
        assert!(is_same_repository("file:///a/b", "/a/b/"));
        assert!(is_same_repository("/w/p/../up//a", "/w/up/a"));
        assert!(is_same_repository(
            "https://github.com:443/Acme/x",
            "git@ssh.github.com:acme/x.git"
        ));
        for (one, other) in [
            ("https://a.test/acme/skills", "https://b.test/acme/skills"),
            ("https://a.test/acme/skills", "https://a.test/other/skills"),
            ("https://a.test/a/b", "/a/b"),
            ("https://a.test:8443/a", "https://a.test/a"),
            ("http://a.test/a", "https://a.test/a"),
            ("bob@a.test:a", "alice@a.test:a"),
            ("https://a.test/Acme/skills", "https://a.test/acme/skills"),
        ] {
            assert!(!is_same_repository(one, other), "{one} {other}");
        }
    }

    #[test]
    fn only_known_transports_are_allowed() {
        for good in [
            "https://x.test/a.git",
            "ssh://git@x.test/a.git",
            "git@gitlab.example.com:skills/a.git",
        ] {
            assert_eq!(check_url(good, LocalSources::Refused), Ok(()), "{good}");
        }
        for local in ["file:///a", "/a/b", "./a", "../a"] {
            assert!(check_url(local, LocalSources::Refused).is_err(), "{local}");
            assert_eq!(check_url(local, LocalSources::Allowed), Ok(()), "{local}");
        }
        for bad in [
            "ext::sh -c x",
            "-u",
            "git://x/a",
            "http://x/a",
            "a@-oProxyCommand=x:y",
            "fd::3",
            "x\ny",
            "",
            "a",
        ] {
            assert!(check_url(bad, LocalSources::Allowed).is_err(), "{bad}");
        }
    }
}
