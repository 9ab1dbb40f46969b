//! A skill's git repository, read in this process: resolves references to commits. [`Objects`] reads their contents.
//!
//! Nothing is checked out or changed.

#![expect(clippy::disallowed_methods, reason = "the edge to git")]

use std::cell::OnceCell;

use gix::hash::{ObjectId, Prefix};
use skill::{RefKind, is_commit_id, nearest};
use skill_fs::AbsPath;

use crate::Reference;
use crate::git::objects::Objects;
use crate::git::quick_ref::plain_objects;
use crate::install::repositories;

/// A repository under `skills_root`.
pub struct Repository {
    objects: Objects,
    /// The full repository, opened on demand.
    git: OnceCell<gix::Repository>,
}

/// A commit, by its full id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(String);

impl Commit {
    /// Parses a full id: forty lower-case hexadecimal digits.
    pub fn new(text: &str) -> Option<Self> {
        is_commit_id(text).then(|| Self(text.to_owned()))
    }

    /// Returns the full id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first seven characters.
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }
}

/// Why a skill cannot be read from its repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The repository's folder does not exist.
    #[error("Skill repository not found: `{path}`")]
    Missing {
        /// The expected path.
        path: String,
        /// The closest repository name, for a "did you mean" hint.
        nearest: Option<String>,
    },
    /// The folder exists but is not a git repository.
    #[error("Local skill path exists but is not a git repository: `{path}`: {reason}")]
    NotARepository {
        /// The path of the folder.
        path: String,
        /// Git's message.
        reason: String,
    },
    /// The repository uses SHA-256 object ids.
    #[error("repository `{path}` uses SHA-256 object IDs, which are not supported")]
    Sha256 {
        /// The path of the repository.
        path: String,
    },
    /// The type of repository is not supported.
    #[error("repository `{path}` is not supported: {reason}")]
    Unsupported {
        /// The path of the repository.
        path: String,
        /// Why it is not supported.
        reason: &'static str,
    },
    /// The tag, branch or commit does not exist.
    #[error("{kind} `{name}` not found in `{path}`")]
    UnknownReference {
        /// Tag, branch or revision.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The path of the repository.
        path: String,
        /// The closest name, for a "did you mean" hint.
        nearest: Option<String>,
        /// Some of the available names.
        available: Vec<String>,
    },
    /// Several commits start with the given digits.
    #[error("revision `{name}` is ambiguous in `{path}`")]
    Ambiguous {
        /// The digits.
        name: String,
        /// The path of the repository.
        path: String,
    },
    /// The commit has no such folder.
    #[error("no folder `{folder}` in commit {commit} of `{path}`")]
    NoFolder {
        /// The folder.
        folder: String,
        /// The abbreviated commit id.
        commit: String,
        /// The path of the repository.
        path: String,
        /// The closest folder name, for a "did you mean" hint.
        nearest: Option<String>,
    },
    /// The repository has submodules.
    #[error("Submodules are not supported: `{path}` has {entry}")]
    Submodules {
        /// The path of the repository.
        path: String,
        /// The entry that declares a submodule.
        entry: String,
    },
    /// A file name is not allowed in a skill.
    #[error("invalid file name in `{path}`: {reason}")]
    BadName {
        /// The path of the repository.
        path: String,
        /// The file name, and why it is not allowed.
        reason: String,
    },
    /// A symlink points outside the skill.
    #[error("symlink `{link}` -> `{target}` points outside the skill")]
    Link {
        /// The symlink.
        link: String,
        /// Its target.
        target: String,
    },
    /// A file's content could not be written to its destination.
    #[error("cannot copy a skill file: {0}")]
    Copy(String),
    /// Git's data cannot be read.
    #[error("cannot read repository `{path}`: {reason}")]
    Broken {
        /// The path of the repository.
        path: String,
        /// The cause.
        reason: String,
    },
}

impl SourceError {
    /// Returns how to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { nearest: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::Missing { nearest: None, .. } => Some(
                "clone it there, or set its URL with `git` in Skillfile.json or `csk add --git URL`"
                    .to_owned(),
            ),
            Self::UnknownReference { nearest: Some(near), .. } => Some(format!(
                "did you mean `{near}`? If it is new, run `csk update` to fetch it"
            )),
            Self::UnknownReference { nearest: None, available, .. } if available.is_empty() => {
                Some("if it is new, run `csk update` to fetch it".to_owned())
            }
            Self::UnknownReference { nearest: None, available, .. } => Some(format!(
                "available: {}; if it is new, run `csk update` to fetch it",
                available.join(", ")
            )),
            Self::NoFolder { nearest, .. } => {
                nearest.as_ref().map(|near| format!("did you mean `{near}`?"))
            }
            Self::Ambiguous { .. } => Some("use more digits of the commit ID".to_owned()),
            Self::Submodules { .. } => {
                Some("add the files to the skill's own repository".to_owned())
            }
            Self::Link { .. } => Some("make the symlink point to a file inside the skill".to_owned()),
            Self::Unsupported { .. } => {
                Some("clone it again with a plain `git clone`".to_owned())
            }
            Self::NotARepository { .. }
            | Self::Sha256 { .. }
            | Self::BadName { .. }
            | Self::Copy(_)
            | Self::Broken { .. } => None,
        }
    }
}

impl Repository {
    /// Opens the repository at `path`. If it is self-contained, references are opened on demand, since that costs as
    /// much as reading a small skill.
    pub fn open(path: &AbsPath) -> Result<Self, SourceError> {
        if let Some(folder) = plain_objects(path) {
            let objects = Objects::new(path.clone(), folder);
            return Ok(Self { objects, git: OnceCell::new() });
        }
        let git = open_full(path)?;
        let objects = Objects::new(path.clone(), git.objects.store_ref().path().to_owned());
        Ok(Self { objects, git: OnceCell::from(git) })
    }

    fn git(&self) -> Result<&gix::Repository, SourceError> {
        match self.git.get() {
            Some(git) => Ok(git),
            None => {
                let git = open_full(self.path())?;
                Ok(self.git.get_or_init(|| git))
            }
        }
    }

    /// Returns the objects of the repository.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Returns the path of the repository.
    pub fn path(&self) -> &AbsPath {
        self.objects.repository()
    }

    /// Resolves a reference from local data; nothing is fetched.
    pub fn resolve(&self, reference: &Reference) -> Result<Commit, SourceError> {
        let name = &reference.name;
        let id = match reference.kind {
            RefKind::Tag => self.peel(&format!("refs/tags/{name}"))?,
            RefKind::Branch => match self.peel(&format!("refs/remotes/origin/{name}"))? {
                Some(id) => Some(id),
                // A local branch that tracks a deleted branch of the origin is stale.
                None if self.tracks_origin(name) => None,
                None => self.peel(&format!("refs/heads/{name}"))?,
            },
            RefKind::Revision => self.revision(name)?,
        };
        id.map(|id| Commit(id.to_string())).ok_or_else(|| self.unknown(reference))
    }

    /// Returns the default branch of the origin, or else the checked-out branch.
    pub fn default_branch(&self) -> Option<String> {
        let target = |name: &str| {
            let reference = self.git().ok()?.try_find_reference(name).ok().flatten()?;
            Some(reference.target().try_name()?.as_bstr().to_string())
        };
        let remote = target("refs/remotes/origin/HEAD");
        let remote =
            remote.and_then(|name| Some(name.strip_prefix("refs/remotes/origin/")?.to_owned()));
        remote.or_else(|| Some(target("HEAD")?.strip_prefix("refs/heads/")?.to_owned()))
    }

    /// Returns true if the origin had a default branch that no longer exists.
    pub(crate) fn is_default_branch_gone(&self) -> bool {
        let Ok(git) = self.git() else { return false };
        let head = git.try_find_reference("refs/remotes/origin/HEAD").ok().flatten();
        let branch = head.and_then(|head| Some(head.target().try_name()?.as_bstr().to_string()));
        branch.is_some_and(|branch| {
            !git.try_find_reference(&branch).is_ok_and(|found| found.is_some())
        })
    }

    /// Returns the checked-out commit.
    pub fn head_commit(&self) -> Option<Commit> {
        Commit::new(&self.git().ok()?.head_id().ok()?.to_string())
    }

    /// Returns what is checked out: a branch, or a commit if HEAD is detached.
    pub fn head(&self) -> Option<Reference> {
        let git = self.git().ok()?;
        let branch = git.head_name().ok()?;
        let branch = branch.and_then(|name| {
            Some(name.as_bstr().to_string().strip_prefix("refs/heads/")?.to_owned())
        });
        match branch {
            Some(name) => Some(Reference { kind: RefKind::Branch, name }),
            None => {
                Some(Reference { kind: RefKind::Revision, name: git.head_id().ok()?.to_string() })
            }
        }
    }

    /// Returns the names of all tags.
    pub fn tags(&self) -> Result<Vec<String>, SourceError> {
        let references = self.git()?.references().map_err(|error| self.broken(&error))?;
        let tags = references.tags().map_err(|error| self.broken(&error))?;
        let names = tags.filter_map(Result::ok).map(|tag| tag.name().shorten().to_string());
        Ok(names.collect())
    }

    /// Returns true if `old` is `new` or an ancestor of it.
    pub fn is_descendant(&self, new: &Commit, old: &Commit) -> Result<bool, SourceError> {
        let id = |commit: &Commit| {
            ObjectId::from_hex(commit.0.as_bytes()).map_err(|error| self.broken(&error))
        };
        let (new, old) = (id(new)?, id(old)?);
        for info in self.git()?.rev_walk([new]).all().map_err(|error| self.broken(&error))? {
            if info.map_err(|error| self.broken(&error))?.id == old {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn tracks_origin(&self, branch: &str) -> bool {
        let Ok(git) = self.git() else { return false };
        let config = git.config_snapshot();
        config
            .string(format!("branch.{branch}.remote").as_str())
            .is_some_and(|remote| remote.as_slice() == b"origin")
    }

    fn peel(&self, name: &str) -> Result<Option<ObjectId>, SourceError> {
        let found = self.git()?.try_find_reference(name).map_err(|error| self.broken(&error))?;
        let Some(mut reference) = found else { return Ok(None) };
        Ok(Some(reference.peel_to_commit().map_err(|error| self.broken(&error))?.id))
    }

    fn revision(&self, digits: &str) -> Result<Option<ObjectId>, SourceError> {
        let Ok(prefix) = Prefix::from_hex(&digits.to_ascii_lowercase()) else { return Ok(None) };
        let mut found = std::collections::HashSet::new();
        let git = self.git()?;
        git.objects.lookup_prefix(prefix, Some(&mut found)).map_err(|error| self.broken(&error))?;
        // Trees and blobs may share the digits; only commits count, and a tag counts as its commit.
        let mut commits: Vec<ObjectId> = found
            .into_iter()
            .filter_map(|id| Some(git.find_object(id).ok()?.peel_to_commit().ok()?.id))
            .collect();
        commits.sort_unstable();
        commits.dedup();
        match commits.as_slice() {
            [] => Ok(None),
            [id] => Ok(Some(*id)),
            [..] => Err(SourceError::Ambiguous {
                name: digits.to_owned(),
                path: self.path().to_string(),
            }),
        }
    }

    fn unknown(&self, reference: &Reference) -> SourceError {
        let prefixes: &[&str] = match reference.kind {
            RefKind::Tag => &["refs/tags/"],
            RefKind::Branch => &["refs/heads/", "refs/remotes/origin/"],
            RefKind::Revision => &[],
        };
        let mut names: Vec<String> = Vec::new();
        if let Some(platform) = self.git().ok().and_then(|git| git.references().ok()) {
            let all = platform.all().into_iter().flatten().flatten();
            names.extend(all.filter_map(|known| {
                let name = known.name().as_bstr().to_string();
                prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).map(str::to_owned)
            }));
        }
        // A branch that is gone may still have a local name.
        names.retain(|name| *name != reference.name);
        let nearest = nearest(&reference.name, names.iter().map(String::as_str)).map(str::to_owned);
        let (kind, name) = (reference.kind.as_str(), reference.name.clone());
        const SHOWN: usize = 8;
        names.sort_unstable();
        names.dedup();
        names.retain(|name| name != "HEAD");
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        names.extend((more > 0).then(|| format!("and {more} more")));
        let (path, available) = (self.path().to_string(), names);
        SourceError::UnknownReference { kind, name, path, nearest, available }
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> SourceError {
        broken(self.path(), error)
    }
}

/// Opens a repository including its references and configuration.
fn open_full(path: &AbsPath) -> Result<gix::Repository, SourceError> {
    let shown = path.to_string();
    if !path.as_path().exists() {
        let names = path.parent().map(|parent| repositories(&parent)).unwrap_or_default();
        let own = path.file_name().unwrap_or_default();
        let nearest = nearest(own, names.iter().map(String::as_str)).map(str::to_owned);
        return Err(SourceError::Missing { path: shown, nearest });
    }
    match gix::open_opts(path.as_path(), gix::open::Options::isolated()) {
        Ok(git) if git.object_hash() == gix::hash::Kind::Sha1 => {
            let has = |key: &str| git.config_snapshot().string(key);
            let reftable = has("extensions.refStorage").filter(|kind| *kind != "files");
            let is_partial =
                has("extensions.partialClone").is_some() || has("remote.origin.promisor").is_some();
            let reason = match (reftable, is_partial.then_some(())) {
                (Some(_), _) => "it stores references in reftables",
                (None, Some(_)) => "it is a partial clone",
                (None, None) => return Ok(git),
            };
            Err(SourceError::Unsupported { path: shown, reason })
        }
        Ok(_) => Err(SourceError::Sha256 { path: shown }),
        Err(error) => {
            let reason = error.to_string();
            // gix reports an unsupported object format only as an unknown configuration value.
            let config = std::fs::read_to_string(path.join(".git/config").as_path())
                .or_else(|_| std::fs::read_to_string(path.join("config").as_path()));
            let is_sha256 = config.is_ok_and(|text| {
                text.lines().any(|line| {
                    line.replace(' ', "").trim().eq_ignore_ascii_case("objectformat=sha256")
                })
            });
            if is_sha256 {
                Err(SourceError::Sha256 { path: shown })
            } else {
                Err(SourceError::NotARepository { path: shown, reason })
            }
        }
    }
}

pub(crate) fn broken(repository: &AbsPath, error: &dyn std::fmt::Display) -> SourceError {
    SourceError::Broken { path: repository.to_string(), reason: error.to_string() }
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository").field("path", self.path()).finish_non_exhaustive()
    }
}
