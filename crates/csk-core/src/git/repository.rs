//! A skill's git repository, read in this process: from references to commits. What commits hold is [`Objects`].
//!
//! Nothing is checked out and nothing is changed.

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
    /// All that git keeps beside them, opened when it is asked for.
    git: OnceCell<gix::Repository>,
}

/// A commit, by its full id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(String);

impl Commit {
    /// Checks a full id: forty lower-case hexadecimal digits.
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

/// Why a skill cannot be had from its repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// There is no folder.
    #[error("Skill repository not found: {path}")]
    Missing {
        /// Where it should be.
        path: String,
        /// A repository there whose name is near to it.
        nearest: Option<String>,
    },
    /// There is a folder, but no repository in it.
    #[error("Local skill path exists but is not a git repository: {path}: {reason}")]
    NotARepository {
        /// Where.
        path: String,
        /// What git says.
        reason: String,
    },
    /// The repository uses object ids that are not read.
    #[error("the repository {path} uses SHA-256 object ids, which are not supported")]
    Sha256 {
        /// Where.
        path: String,
    },
    /// The repository is of a kind that is not read.
    #[error("the repository {path} is not supported: {what}")]
    Unsupported {
        /// Where.
        path: String,
        /// Why.
        what: &'static str,
    },
    /// There is no such tag, branch or commit.
    #[error("{kind} `{name}` not found in {path}")]
    UnknownReference {
        /// Which of the three.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Where it was looked for.
        path: String,
        /// A name near to it.
        nearest: Option<String>,
        /// Some of the names there are.
        known: Vec<String>,
    },
    /// Several commits start with the given digits.
    #[error("revision `{name}` is ambiguous in {path}")]
    Ambiguous {
        /// The digits.
        name: String,
        /// Where.
        path: String,
    },
    /// The commit has no such folder.
    #[error("there is no folder `{folder}` in the commit {commit} of {path}")]
    NoFolder {
        /// The folder.
        folder: String,
        /// The commit, shortened.
        commit: String,
        /// The repository.
        path: String,
        /// A folder near to it.
        nearest: Option<String>,
    },
    /// The repository has submodules.
    #[error("Submodules are not supported: {path} has {entry}")]
    Submodules {
        /// Where.
        path: String,
        /// What shows it.
        entry: String,
    },
    /// A file has a name that no skill may use.
    #[error("{path} holds a file whose name is not allowed: {reason}")]
    BadName {
        /// Where.
        path: String,
        /// Which, and why.
        reason: String,
    },
    /// A link leads out of the skill.
    #[error("the link {link} -> {target} leads out of the skill")]
    Link {
        /// The link.
        link: String,
        /// Where it points.
        target: String,
    },
    /// Bytes of a skill cannot be handed on.
    #[error("cannot copy a file of the skill: {0}")]
    Copy(String),
    /// Git's data cannot be read.
    #[error("cannot read the repository {path}: {reason}")]
    Broken {
        /// Where.
        path: String,
        /// What git says.
        reason: String,
    },
}

impl SourceError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { nearest: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::Missing { nearest: None, .. } => Some(
                "clone it there, or give its URL: `git` in Skillfile.json, `--git` of `csk add`"
                    .to_owned(),
            ),
            Self::UnknownReference { nearest: Some(near), .. } => Some(format!(
                "did you mean `{near}`? If it is new at the origin, `csk update` fetches it"
            )),
            Self::UnknownReference { nearest: None, known, .. } if known.is_empty() => {
                Some("if it is new at the origin, `csk update` fetches it".to_owned())
            }
            Self::UnknownReference { nearest: None, known, .. } => Some(format!(
                "it has: {}; if it is new at the origin, `csk update` fetches it",
                known.join(", ")
            )),
            Self::NoFolder { nearest, .. } => {
                nearest.as_ref().map(|near| format!("did you mean `{near}`?"))
            }
            Self::Ambiguous { .. } => Some("give more digits of the commit".to_owned()),
            Self::Submodules { .. } => {
                Some("bring the files into the skill's repository itself".to_owned())
            }
            Self::Link { .. } => Some("links in a skill must stay inside it".to_owned()),
            Self::Unsupported { .. } => {
                Some("clone it again, whole, with plain `git clone`".to_owned())
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
    /// Opens the repository at `path`. Where git's own files are plain, references are not looked at before they are
    /// asked for: that costs as much as reading a small skill.
    pub fn open(path: &AbsPath) -> Result<Self, SourceError> {
        if let Some(folder) = plain_objects(path) {
            let objects = Objects::new(path.clone(), folder);
            return Ok(Self { objects, git: OnceCell::new() });
        }
        let git = whole(path)?;
        let objects = Objects::new(path.clone(), git.objects.store_ref().path().to_owned());
        Ok(Self { objects, git: OnceCell::from(git) })
    }

    fn git(&self) -> Result<&gix::Repository, SourceError> {
        match self.git.get() {
            Some(git) => Ok(git),
            None => {
                let git = whole(self.path())?;
                Ok(self.git.get_or_init(|| git))
            }
        }
    }

    /// Returns what commits hold.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Returns where the repository is.
    pub fn path(&self) -> &AbsPath {
        self.objects.repository()
    }

    /// Finds the commit that a reference means, from what is there: nothing is fetched.
    pub fn resolve(&self, reference: &Reference) -> Result<Commit, SourceError> {
        let name = &reference.name;
        let id = match reference.kind {
            RefKind::Tag => self.peel(&format!("refs/tags/{name}"))?,
            RefKind::Branch => match self.peel(&format!("refs/remotes/origin/{name}"))? {
                Some(id) => Some(id),
                // A branch that followed one of the origin's is old when that one is gone.
                None if self.follows_origin(name) => None,
                None => self.peel(&format!("refs/heads/{name}"))?,
            },
            RefKind::Revision => self.revision(name)?,
        };
        id.map(|id| Commit(id.to_string())).ok_or_else(|| self.unknown(reference))
    }

    /// Returns the branch that the origin has checked out, or else this repository.
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

    /// Returns the commit that is checked out.
    pub fn head_commit(&self) -> Option<Commit> {
        Commit::new(&self.git().ok()?.head_id().ok()?.to_string())
    }

    /// Returns what is checked out: a branch, or else a commit.
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

    /// Returns true if `new` comes from `old`.
    pub fn comes_from(&self, new: &Commit, old: &Commit) -> Result<bool, SourceError> {
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

    fn follows_origin(&self, branch: &str) -> bool {
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
        let nearest = nearest(&reference.name, names.iter().map(String::as_str)).map(str::to_owned);
        let (kind, name) = (reference.kind.as_str(), reference.name.clone());
        const SHOWN: usize = 8;
        names.sort_unstable();
        names.dedup();
        names.retain(|name| name != "HEAD");
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        names.extend((more > 0).then(|| format!("and {more} more")));
        let (path, known) = (self.path().to_string(), names);
        SourceError::UnknownReference { kind, name, path, nearest, known }
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> SourceError {
        broken(self.path(), error)
    }
}

/// Opens a repository with all that git keeps in it.
fn whole(path: &AbsPath) -> Result<gix::Repository, SourceError> {
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
            let what = match (reftable, is_partial.then_some(())) {
                (Some(_), _) => "it keeps its references in a reftable",
                (None, Some(_)) => "it is a partial clone, which lacks files",
                (None, None) => return Ok(git),
            };
            Err(SourceError::Unsupported { path: shown, what })
        }
        Ok(_) => Err(SourceError::Sha256 { path: shown }),
        Err(error) => {
            let reason = error.to_string();
            // Without support for it, the format is an unknown value of the configuration.
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
