//! Opens the repository of a source: an existing clone of it, or a new one. One clone serves all skills of a repository.

#![expect(clippy::disallowed_methods, reason = "looks for a repository on this machine")]

use skill::{Digest, Identifier, RelPath};
use skill_fs::AbsPath;

use super::SourceLocation;
use crate::install::sources::{clone_repository, fetch_repository};
use crate::install::{Environment, Network, repositories};
use crate::{
    GitError, LocalSources, Progress, Repository, SourceError, check_declared_url,
    is_same_repository, long_source_name, origin, redacted, source_name,
};

/// The repository of a source.
pub struct OpenedSource {
    /// Its name under `skills_root`.
    pub name: Identifier,
    /// The URL to declare. A repository without an origin has none.
    pub url: Option<String>,
    /// The folder in it that the source specifies, for a folder on this machine.
    pub below: Option<RelPath>,
    /// The clone.
    pub repository: Repository,
}

/// Why the repository of a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is not allowed.
    #[error(transparent)]
    Url(GitError),
    /// The folder does not exist.
    #[error("no folder `{0}`")]
    NoFolder(AbsPath),
    /// The folder is not in a git repository.
    #[error("`{0}` is not in a git repository")]
    NotGit(AbsPath),
    /// No repository of this name was cloned.
    #[error("no repository named `{name}` in `{skills_root}`")]
    NotCloned {
        /// The name.
        name: Identifier,
        /// The folder of repositories.
        skills_root: AbsPath,
        /// The closest name, for a "did you mean" hint.
        nearest: Option<String>,
        /// Whether a folder of that name is in the working folder.
        is_folder: bool,
    },
    /// It would have to be cloned, but the network is disabled.
    #[error("`{0}` is not cloned yet, and the network is disabled")]
    Offline(String),
    /// It cannot be cloned or fetched.
    #[error("cannot {action} `{url}`: {reason}")]
    Git {
        /// Clone or fetch.
        action: &'static str,
        /// The URL, without a password.
        url: String,
        /// Git's message.
        reason: String,
        /// How to fix it.
        hint: Option<String>,
    },
    /// The clone cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl OpenError {
    /// Returns how to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Url(_) => None,
            Self::NoFolder(_) => Some("check the path; `ls` shows what exists".to_owned()),
            Self::NotGit(folder) => Some(format!(
                "csk installs commits; run `git init`, `git add` and `git commit` in `{folder}` first"
            )),
            Self::NotCloned { name, is_folder: true, .. } => {
                Some(format!("to use the folder in this folder, write `./{name}`"))
            }
            Self::NotCloned { nearest: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::NotCloned { .. } => Some(
                "use owner/repo, a repository's URL, or ./folder; `csk find` searches the skills on this machine"
                    .to_owned(),
            ),
            Self::Offline(_) => Some("run the command without --offline".to_owned()),
            Self::Git { hint, .. } => hint.clone(),
            Self::Source(error) => error.hint(),
        }
    }
}

/// Opens the repository of a source: clones it if it is missing, else fetches new tags and branches. Without the network,
/// an existing clone is used as it is, and so is one that the user named.
pub fn open(
    environment: &Environment,
    location: &SourceLocation,
    network: Network,
    progress: &dyn Progress,
) -> Result<OpenedSource, OpenError> {
    let (url, below, environment) = match location {
        SourceLocation::Cloned(name) => return open_clone(environment, name, None),
        SourceLocation::Url(url) => {
            check_declared_url(url, LocalSources::Refused).map_err(OpenError::Url)?;
            (url.clone(), None, environment.clone())
        }
        SourceLocation::Folder(folder) => {
            let (root, below) = repository_of(folder)?;
            if root.parent().as_ref() == Some(&environment.skills_root)
                && let Some(name) = root.file_name().and_then(|name| Identifier::new(name).ok())
            {
                return open_clone(environment, &name, below);
            }
            // The user named the folder, which is all the consent that a clone of it needs.
            let local = environment.local.of_clone();
            (root.to_string(), below, Environment { local, ..environment.clone() })
        }
    };
    let name = name_for(&environment, &url)?;
    let path = environment.skills_root.join(name.as_str());
    let failed = |action: &'static str| {
        let url = url.clone();
        move |error: GitError| git_error(action, &url, &error)
    };
    match (path.as_path().exists(), network) {
        (true, Network::Allowed) => {
            fetch_repository(&environment, name.as_str(), progress).map_err(failed("fetch"))?;
        }
        (true, Network::Refused) => {}
        (false, Network::Allowed) => {
            clone_repository(&environment, &name, &url, progress).map_err(failed("clone"))?;
        }
        (false, Network::Refused) => return Err(OpenError::Offline(redacted(&url))),
    }
    let repository = Repository::open(&path)?;
    Ok(OpenedSource { name, url: Some(url), below, repository })
}

/// Opens the repository that a folder is in where it is, to read it without cloning it; returns the folder above it as
/// well. `None` if its name cannot be the name of a repository.
pub fn open_in_place(folder: &AbsPath) -> Result<Option<(AbsPath, OpenedSource)>, OpenError> {
    let (root, below) = repository_of(folder)?;
    let name = root.file_name().and_then(|name| Identifier::new(name).ok());
    let Some((name, above)) = name.zip(root.parent()) else { return Ok(None) };
    let repository = Repository::open(&root)?;
    Ok(Some((above, OpenedSource { name, url: None, below, repository })))
}

/// Opens a repository that was cloned before.
fn open_clone(
    environment: &Environment,
    name: &Identifier,
    below: Option<RelPath>,
) -> Result<OpenedSource, OpenError> {
    let path = environment.skills_root.join(name.as_str());
    if !path.as_path().exists() {
        let known = repositories(&environment.skills_root);
        let nearest = skill::nearest(name.as_str(), known.iter().map(String::as_str));
        return Err(OpenError::NotCloned {
            name: name.clone(),
            skills_root: environment.skills_root.clone(),
            nearest: nearest.map(str::to_owned),
            is_folder: std::path::Path::new(name.as_str()).is_dir(),
        });
    }
    let repository = Repository::open(&path)?;
    Ok(OpenedSource { name: name.clone(), url: public_origin(&path), below, repository })
}

/// Returns the URL that a repository was cloned from. A path on this machine, or a URL with a password, is of no use to
/// others.
pub(crate) fn public_origin(repository: &AbsPath) -> Option<String> {
    let url = origin(repository).ok().flatten();
    url.filter(|url| check_declared_url(url, LocalSources::Refused).is_ok())
}

/// Returns the root of the repository that a folder is in, and the folder's path in it.
fn repository_of(folder: &AbsPath) -> Result<(AbsPath, Option<RelPath>), OpenError> {
    let real = std::fs::canonicalize(folder.as_path()).ok();
    let real = real.and_then(|path| AbsPath::new(path).ok());
    // A file means the skill that it is in.
    let real =
        real.and_then(|path| if path.as_path().is_dir() { Some(path) } else { path.parent() });
    let real = real.ok_or_else(|| OpenError::NoFolder(folder.clone()))?;
    let is_root = |path: &AbsPath| {
        let has = |name: &str| path.join(name).as_path().exists();
        has(".git") || (has("HEAD") && has("objects") && has("refs"))
    };
    let mut current = Some(real.clone());
    while let Some(root) = current {
        if is_root(&root) {
            let below = real.as_path().strip_prefix(root.as_path()).ok();
            let below = below.and_then(|below| RelPath::new(below.to_str()?).ok());
            return Ok((root, below));
        }
        current = root.parent();
    }
    Err(OpenError::NotGit(real))
}

/// Returns true if a repository under `skills_root` was cloned from this location.
pub fn is_cloned(environment: &Environment, location: &SourceLocation) -> bool {
    match location {
        SourceLocation::Cloned(_) => true,
        SourceLocation::Url(url) => name_for(environment, url)
            .is_ok_and(|name| environment.skills_root.join(name.as_str()).as_path().exists()),
        SourceLocation::Folder(folder) => repository_of(folder)
            .is_ok_and(|(root, _)| root.parent().as_ref() == Some(&environment.skills_root)),
    }
}

/// Returns the name of the clone of `url`: the existing one, or a name that no other repository has.
fn name_for(environment: &Environment, url: &str) -> Result<Identifier, OpenError> {
    let root = &environment.skills_root;
    let is_same = |name: &str| {
        origin(&root.join(name)).ok().flatten().is_some_and(|own| is_same_repository(&own, url))
    };
    let names: Vec<Identifier> =
        [source_name(url), long_source_name(url)].into_iter().flatten().collect();
    let exists = |name: &str| root.join(name).as_path().symlink_metadata().is_ok();
    if let Some(own) = names.iter().find(|name| exists(name.as_str()) && is_same(name.as_str())) {
        return Ok(own.clone());
    }
    let other = repositories(root).into_iter().find(|name| is_same(name));
    if let Some(other) = other.and_then(|name| Identifier::new(name).ok()) {
        return Ok(other);
    }
    let digest = Digest::of(url.as_bytes()).to_string();
    let digest = digest.rsplit(':').next().unwrap_or_default().chars().take(8).collect::<String>();
    let unique = names.first().map(|name| format!("{name}-{digest}"));
    let unique = unique.and_then(|name| Identifier::new(name).ok());
    let free = names.into_iter().chain(unique).find(|name| !exists(name.as_str()));
    free.ok_or_else(|| OpenError::Git {
        action: "name the clone of",
        url: redacted(url),
        reason: "all names for it are taken".to_owned(),
        hint: Some(format!("remove unused repositories from `{root}`")),
    })
}

/// Condenses git's message to one line and explains the usual causes.
fn git_error(action: &'static str, url: &str, error: &GitError) -> OpenError {
    let text = error.to_string();
    let fatal = text.lines().rev().find_map(|line| line.strip_prefix("fatal: "));
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    let reason = fatal.or(last).unwrap_or(&text).trim().to_owned();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let hint = if text.starts_with("cannot create ") {
        None
    } else if has(&["transport 'file' not allowed"]) {
        Some(
            "your git config rewrites this URL to a local path; to allow that, set CSK_ALLOW_FILE=1"
                .to_owned(),
        )
    } else if has(&[
        "Could not resolve host",
        "unable to access",
        "Connection refused",
        "Network is unreachable",
        "Connection timed out",
        "Could not resolve hostname",
    ]) && !has(&["error: 40", "error: 50"])
    {
        Some("check your network connection and proxy settings".to_owned())
    } else if has(&[
        "could not read Username",
        "could not read Password",
        "Authentication failed",
        "Permission denied",
        "not found",
        "does not appear to be a git repository",
        "error: 403",
        "error: 404",
    ]) {
        Some(format!(
            "check the name; if the repository is private, make sure that `git ls-remote {}` works",
            redacted(url)
        ))
    } else {
        None
    };
    OpenError::Git { action, url: redacted(url), reason, hint }
}
