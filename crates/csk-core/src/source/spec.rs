//! Parses the source of skills that a user typed or pasted: `owner/repo`, a URL of a repository or of a page in one, a
//! folder, or the name of a cloned repository.

use skill::{Identifier, RelPath};
use skill_fs::AbsPath;

use crate::git::url::is_relative_path;

/// A source, as a user specified it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSpec {
    /// Where the repository is.
    pub location: SourceLocation,
    /// Which version and folder of it, if specified.
    pub within: VersionAndFolder,
}

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLocation {
    /// At a URL.
    Url(String),
    /// In a folder of this machine: the repository itself, or a folder in one.
    Folder(AbsPath),
    /// Already cloned, under this name.
    Cloned(Identifier),
}

/// The version and the folder in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionAndFolder {
    /// Each is known or missing.
    Known {
        /// The tag, branch or commit.
        reference: Option<String>,
        /// The folder, or a file in it.
        path: Option<RelPath>,
    },
    /// From the URL of a web page: the reference, then the path. References may contain slashes, so only the repository
    /// tells them apart.
    Page(String),
}

/// Why a text is not a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid source `{text}`: {reason}")]
pub struct SourceSpecError {
    text: String,
    reason: String,
    hint: &'static str,
}

impl SourceSpecError {
    /// Returns how to fix it.
    pub fn hint(&self) -> Option<String> {
        Some(self.hint.to_owned())
    }
}

const SPELLINGS: &str =
    "use owner/repo, owner/repo/folder, owner/repo@version, a repository's URL, or ./folder";

/// Hosts that can be abbreviated, with the number of path segments that name a repository if it is fixed.
const HOSTS: [(&str, &str, Option<usize>); 4] = [
    ("github", "github.com", Some(2)),
    ("gitlab", "gitlab.com", None),
    ("bitbucket", "bitbucket.org", Some(2)),
    ("codeberg", "codeberg.org", Some(2)),
];

/// GitHub serves the content of files from this host.
const RAW_HOST: &str = "raw.githubusercontent.com";

impl VersionAndFolder {
    /// Returns true if a version is specified.
    pub fn has_reference(&self) -> bool {
        match self {
            Self::Known { reference, .. } => reference.is_some(),
            Self::Page(_) => true,
        }
    }
}

impl SourceSpec {
    /// Parses `text`. Relative folders are relative to `cwd`; `~` is `home`.
    pub fn parse(
        text: &str,
        cwd: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Result<Self, SourceSpecError> {
        let error = |reason: &str, hint: &'static str| SourceSpecError {
            text: crate::redacted(text),
            reason: reason.to_owned(),
            hint,
        };
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
            return Err(error("it is empty, an option, or contains control characters", SPELLINGS));
        }
        let parsed = match folder(text, cwd, home) {
            Some(parsed) => Ok(parsed),
            None => remote(text),
        };
        parsed.map_err(|reason| error(&reason, SPELLINGS))
    }

    fn url(url: String, reference: Option<&str>) -> Self {
        let reference = reference.map(str::to_owned);
        Self {
            location: SourceLocation::Url(url),
            within: VersionAndFolder::Known { reference, path: None },
        }
    }
}

/// Parses a folder: `.`, `..`, or a path that starts with `./`, `../`, `/`, `~/` or `file://`.
fn folder(text: &str, cwd: &AbsPath, home: Option<&AbsPath>) -> Option<SourceSpec> {
    let local = if text.starts_with("file://") { skill_state::local_path(text) } else { None };
    let path = local.as_deref().unwrap_or(text);
    // On Windows, people type either separator.
    let path = &if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let is_relative = matches!(path.as_str(), "." | "..") || is_relative_path(path);
    let is_folder = is_relative || AbsPath::new(path).is_ok() || path.starts_with("~/");
    if !is_folder && path != "~" {
        return None;
    }
    let absolute = |path: &str| match (path.strip_prefix('~'), home) {
        (Some(below), Some(home)) => home.join(below.trim_start_matches('/')),
        // Messages show the path.
        _ => match path.trim_start_matches("./") {
            "" | "." => cwd.clone(),
            below => cwd.join(below),
        },
    };
    let at = |path: &str, reference: Option<&str>| SourceSpec {
        location: SourceLocation::Folder(absolute(path)),
        within: VersionAndFolder::Known { reference: reference.map(str::to_owned), path: None },
    };
    // A folder's name may contain an `@`.
    let exists = absolute(path).as_path().exists();
    match path.rsplit_once('@').filter(|(_, reference)| !exists && !reference.is_empty()) {
        Some((path, reference)) => Some(at(path, Some(reference))),
        None => Some(at(path, None)),
    }
}

/// Parses a source that is not a folder.
fn remote(text: &str) -> Result<SourceSpec, String> {
    let text = text.strip_prefix("git+").unwrap_or(text);
    if let Some((scheme, rest)) = text.split_once("://") {
        return match scheme.to_ascii_lowercase().as_str() {
            "https" => page(rest),
            "ssh" => {
                let (rest, reference) = split_reference(rest, after_host(rest));
                Ok(SourceSpec::url(format!("ssh://{rest}"), reference))
            }
            "http" => Err("http:// is not encrypted; use https://".to_owned()),
            "git" => Err("git:// is not encrypted; use https:// or ssh://".to_owned()),
            other => Err(format!("sources of the kind `{other}://` are not supported")),
        };
    }
    if let Some((place, rest)) = text.split_once(':') {
        if let Some((_, host, _)) = HOSTS.iter().find(|(name, ..)| *name == place) {
            return shorthand(host, rest);
        }
        if place.contains('@') && !place.contains('/') {
            let (rest, reference) = split_reference(rest, 0);
            return Ok(SourceSpec::url(format!("{place}:{rest}"), reference));
        }
        return Err(format!("sources of the kind `{place}:` are not supported"));
    }
    let first = text.split(['/', '@', '#']).next().unwrap_or(text);
    match text.contains('/') {
        // Owners on GitHub contain no dots, host names do.
        true if first.contains('.') => {
            page(text).or_else(|reason| without_scheme(text).ok_or(reason))
        }
        true => shorthand("github.com", text),
        false => cloned(text),
    }
}

/// Parses `github.com/owner/repo/folder`.
fn without_scheme(text: &str) -> Option<SourceSpec> {
    let (host, rest) = text.split_once('/')?;
    let (_, host, _) = HOSTS.iter().find(|(_, known, _)| host.eq_ignore_ascii_case(known))?;
    shorthand(host, rest).ok()
}

/// Parses the name of a cloned repository, with an optional version.
fn cloned(text: &str) -> Result<SourceSpec, String> {
    let (name, reference) = split_reference(text, 0);
    let name = Identifier::new(name).map_err(|error| error.to_string())?;
    let reference = reference.map(str::to_owned);
    Ok(SourceSpec {
        location: SourceLocation::Cloned(name),
        within: VersionAndFolder::Known { reference, path: None },
    })
}

/// Parses `owner/repo`, `owner/repo/folder` or either with `@version`, on a host.
fn shorthand(host: &str, text: &str) -> Result<SourceSpec, String> {
    let (text, reference) = split_reference(text, 0);
    let segments: Vec<&str> = text.trim_matches('/').split('/').collect();
    let fixed = HOSTS.iter().find(|(_, known, _)| *known == host).and_then(|(.., fixed)| *fixed);
    let count = fixed.unwrap_or(segments.len());
    if segments.len() < 2 || segments.iter().take(count).any(|part| !is_repository_name(part)) {
        return Err("expected an owner and a repository, such as `acme/skills`".to_owned());
    }
    let (repository, below) = segments.split_at(count.min(segments.len()));
    // People copy the path of a page.
    if let (["tree" | "blob", rest @ ..], None) = (below, reference)
        && !rest.is_empty()
    {
        return on_page(host, repository, rest);
    }
    let path = match below {
        [] => None,
        below => Some(rel_path(&below.join("/"))?),
    };
    Ok(SourceSpec {
        location: SourceLocation::Url(repository_url(host, repository)),
        within: VersionAndFolder::Known { reference: reference.map(str::to_owned), path },
    })
}

/// Parses an https URL, given without its scheme: of a repository, or of a page in one.
fn page(rest: &str) -> Result<SourceSpec, String> {
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || path.trim_matches('/').is_empty() {
        return Err("the URL names no repository".to_owned());
    }
    // Anything after `.git` is not part of a page.
    if let Some((_, after)) = path.split_once(".git").filter(|(_, after)| is_version_suffix(after))
    {
        let reference = after.get(1..).filter(|reference| !reference.is_empty());
        let end = rest.len() - after.len();
        return Ok(SourceSpec::url(format!("https://{}", &rest[..end]), reference));
    }
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_matches('/');
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if host.eq_ignore_ascii_case(RAW_HOST) {
        return match segments.as_slice() {
            [owner, name, "refs", "heads" | "tags", rest @ ..] | [owner, name, rest @ ..]
                if !rest.is_empty() =>
            {
                on_page("github.com", &[owner, name], rest)
            }
            _ => Err("the URL names no file in a repository".to_owned()),
        };
    }
    if let Some(marker) = segments.iter().position(|part| *part == "-")
        && let [kind, rest @ ..] = &segments[marker + 1..]
    {
        return match *kind {
            "tree" | "blob" | "raw" => on_page(host, &segments[..marker], rest),
            "tags" | "commit" => at_version(host, &segments[..marker], rest),
            _ => Err("the URL is not of a repository, a folder or a file".to_owned()),
        };
    }
    match segments.as_slice() {
        [owner, name, "tree" | "blob" | "raw", rest @ ..] if !rest.is_empty() => {
            on_page(host, &[owner, name], rest)
        }
        [owner, name, "src", "branch" | "tag" | "commit", rest @ ..]
        | [owner, name, "src", rest @ ..]
            if !rest.is_empty() =>
        {
            on_page(host, &[owner, name], rest)
        }
        [owner, name, "releases", "tag", rest @ ..] | [owner, name, "commit", rest @ ..]
            if !rest.is_empty() =>
        {
            at_version(host, &[owner, name], rest)
        }
        _ => {
            let known = HOSTS.iter().find(|(_, known, _)| host.eq_ignore_ascii_case(known));
            let fixed = known.and_then(|(.., fixed)| *fixed);
            let (last, reference) = match segments.split_last() {
                Some((last, _)) => split_reference(last, 0),
                None => return Err("the URL names no repository".to_owned()),
            };
            let mut repository = segments.clone();
            if let Some(end) = repository.last_mut() {
                *end = last;
            }
            if known.is_some() && fixed.unwrap_or(repository.len()) != repository.len()
                || repository.len() < 2 && known.is_some()
            {
                return Err("the URL is not of a repository, a folder or a file".to_owned());
            }
            Ok(SourceSpec::url(repository_url(host, &repository), reference))
        }
    }
}

/// Returns the source of a page that shows a folder or a file: the reference, then its path.
fn on_page(host: &str, repository: &[&str], rest: &[&str]) -> Result<SourceSpec, String> {
    let decoded = percent_encoding::percent_decode_str(&rest.join("/"))
        .decode_utf8()
        .map_err(|_| "the path is not valid UTF-8".to_owned())?
        .into_owned();
    Ok(SourceSpec {
        location: SourceLocation::Url(repository_url(host, repository)),
        within: VersionAndFolder::Page(decoded),
    })
}

/// Returns the source of a page that shows a version.
fn at_version(host: &str, repository: &[&str], rest: &[&str]) -> Result<SourceSpec, String> {
    let VersionAndFolder::Page(reference) = on_page(host, repository, rest)?.within else {
        return Err("the URL names no version".to_owned());
    };
    Ok(SourceSpec::url(repository_url(host, repository), Some(&reference)))
}

fn repository_url(host: &str, repository: &[&str]) -> String {
    format!("https://{host}/{}", repository.join("/"))
}

/// Splits a version off at the first `@` or `#` at or after `start`.
fn split_reference(text: &str, start: usize) -> (&str, Option<&str>) {
    let at = text[start..].find(['@', '#']).map(|at| start + at);
    match at.map(|at| (&text[..at], &text[at + 1..])) {
        Some((text, reference)) if !reference.is_empty() => (text, Some(reference)),
        _ => (text, None),
    }
}

/// Returns where the path of `user@host/path` begins.
fn after_host(rest: &str) -> usize {
    rest.find('/').unwrap_or(rest.len())
}

fn is_version_suffix(text: &str) -> bool {
    text.is_empty() || text == "/" || text.starts_with(['@', '#'])
}

fn is_repository_name(text: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_good) && text != ".."
}

fn rel_path(text: &str) -> Result<RelPath, String> {
    RelPath::new(text).map_err(|error| format!("`{text}` is not a folder: {}", error.reason()))
}

#[cfg(test)]
mod tests;
