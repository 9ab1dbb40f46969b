//! Finds the repository around a folder by its `.git` entry.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use skill_fs::AbsPath;

use super::ExcludeFile;
use super::files::{Links, is_folder, is_missing, read};
use crate::GitError;

/// The size limit of a gitfile, `commondir` or `HEAD`.
const MAX_POINTER: u64 = 64 << 10;
/// The size limit of a configuration file.
const MAX_CONFIG: u64 = 4 << 20;

/// A work tree and its git folders.
#[derive(Debug)]
pub(super) struct WorkTree {
    /// The folder that contains `.git`.
    pub(super) root: PathBuf,
    /// The queried folder, relative to the root.
    pub(super) inside: PathBuf,
    /// The folder with `HEAD` and the index.
    pub(super) git_dir: PathBuf,
    /// The folder with the configuration; differs from `git_dir` if several work trees share a repository.
    pub(super) common: PathBuf,
    /// Whether `.git` is a gitfile (`gitdir: <path>`).
    is_gitfile: bool,
}

/// The only values taken from a repository's own configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RepositorySettings {
    /// Whether ignore rules match case-insensitively.
    pub(super) ignores_case: bool,
    /// The length of an object id in bytes.
    pub(super) id_length: usize,
}

impl WorkTree {
    /// Finds the work tree that contains `folder`. Bare repositories on the way are ignored.
    pub(super) fn containing(folder: &AbsPath) -> Result<Option<Self>, GitError> {
        let failed = |error: &dyn std::fmt::Display| {
            GitError::Failed(format!("cannot read `{folder}`: {error}"))
        };
        // Resolved like git, which uses the real working directory.
        let real = fs::canonicalize(folder.as_path()).map_err(|error| failed(&error))?;
        for root in real.ancestors() {
            let entry = root.join(".git");
            let found = match fs::metadata(&entry) {
                Ok(found) => found,
                Err(error) if is_missing(&error) => continue,
                Err(error) => return Err(failed(&error)),
            };
            let is_gitfile = !found.is_dir();
            let git_dir = if is_gitfile { read_gitfile(root, &entry)? } else { entry };
            let Some(common) = common_dir(&git_dir)? else {
                // Git skips a folder that is not a repository, but stops at a gitfile that points to none.
                if is_gitfile {
                    return Ok(None);
                }
                continue;
            };
            let inside = real.strip_prefix(root).map_err(|error| failed(&error))?.to_owned();
            return Ok(Some(Self { root: root.to_owned(), inside, git_dir, common, is_gitfile }));
        }
        Ok(None)
    }

    /// Returns the checked-out branch.
    pub(super) fn branch(&self) -> Option<String> {
        let head = read_head(&self.git_dir).ok().flatten()?;
        let name = head.strip_prefix("ref:")?.trim().strip_prefix("refs/heads/")?.to_owned();
        // With reftables, HEAD is stored elsewhere and this file contains a placeholder.
        Some(name).filter(|name| !name.is_empty() && name != ".invalid")
    }

    pub(super) fn settings(&self) -> Result<RepositorySettings, GitError> {
        let path = self.common.join("config");
        let failed = |what: &dyn std::fmt::Display| {
            GitError::Failed(format!("cannot read `{}`: {what}", path.display()))
        };
        let bytes = read(&path, MAX_CONFIG, Links::Followed)?.unwrap_or_default();
        let meta = gix::config::file::Metadata::from(gix::config::Source::Local);
        // Includes are not followed.
        let options = gix::config::file::init::Options::default();
        let config = gix::config::File::from_bytes_no_includes(&bytes, meta, options)
            .map_err(|error| failed(&error))?;
        let ignores_case = config.boolean("core.ignoreCase").map_err(|error| failed(&error))?;
        let id_length = match config.string("extensions.objectFormat") {
            None => 20,
            Some(format) if format.eq_ignore_ascii_case(b"sha1") => 20,
            Some(format) if format.eq_ignore_ascii_case(b"sha256") => 32,
            Some(format) => {
                return Err(failed(&format!("unsupported object format `{format}`")));
            }
        };
        Ok(RepositorySettings { ignores_case: ignores_case.unwrap_or(false), id_length })
    }

    /// Returns the local ignore file if csk may write it. A gitfile could point to any repository, so the repository
    /// must point back to this work tree, and no symlink may be on the way.
    pub(super) fn exclude_file(&self) -> Result<ExcludeFile, GitError> {
        let info = self.common.join("info");
        let file = info.join("exclude");
        let is_link =
            |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        // A `.git` folder shares nothing with another repository unless someone configured it to.
        let is_shared = !self.is_gitfile && self.common != self.git_dir;
        let is_linked = is_shared || (!self.is_gitfile && is_link(&self.root.join(".git")));
        if is_linked
            || is_link(&info)
            || is_link(&file)
            || (self.is_gitfile && !self.links_back()?)
        {
            return Ok(ExcludeFile::Elsewhere(file.display().to_string()));
        }
        AbsPath::new(file)
            .map(ExcludeFile::File)
            .map_err(|error| GitError::Failed(error.to_string()))
    }

    /// Returns true if the repository that the gitfile points to lists this work tree: `git worktree` records it in
    /// `gitdir`, a submodule in its configuration.
    fn links_back(&self) -> Result<bool, GitError> {
        let is_here = |path: PathBuf, here: &Path| {
            fs::canonicalize(path).is_ok_and(|real| fs::canonicalize(here).is_ok_and(|h| h == real))
        };
        if let Some(bytes) = read(&self.git_dir.join("gitdir"), MAX_POINTER, Links::Skipped)? {
            let text = bytes.to_str_lossy().trim_end().to_owned();
            return Ok(is_here(self.git_dir.join(text), &self.root.join(".git")));
        }
        let bytes = read(&self.git_dir.join("config"), MAX_CONFIG, Links::Skipped)?;
        let meta = gix::config::file::Metadata::from(gix::config::Source::Local);
        let options = gix::config::file::init::Options::default();
        let config =
            gix::config::File::from_bytes_no_includes(&bytes.unwrap_or_default(), meta, options);
        let place = config.ok().and_then(|config| config.string("core.worktree"));
        Ok(place.is_some_and(|place| {
            is_here(self.git_dir.join(place.to_str_lossy().as_ref()), &self.root)
        }))
    }
}

/// Reads a gitfile.
fn read_gitfile(root: &Path, entry: &Path) -> Result<PathBuf, GitError> {
    let bytes = read(entry, MAX_POINTER, Links::Followed)?.unwrap_or_default();
    let text = bytes.to_str_lossy();
    let place = text.strip_prefix("gitdir: ").map(|place| place.trim_end_matches(['\r', '\n']));
    match place.filter(|place| !place.is_empty() && !place.contains(['\0', '\n'])) {
        Some(place) => Ok(root.join(place)),
        None => {
            let what = "expected `gitdir: <path>`";
            Err(GitError::Failed(format!("cannot read `{}`: {what}", entry.display())))
        }
    }
}

/// Returns the folder that a repository shares with its other work trees, usually itself; `None` if `git_dir` is not a
/// repository.
pub(super) fn common_dir(git_dir: &Path) -> Result<Option<PathBuf>, GitError> {
    let common = match read(&git_dir.join("commondir"), MAX_POINTER, Links::Followed)? {
        Some(text) => git_dir.join(text.to_str_lossy().trim_end_matches(['\r', '\n'])),
        None => git_dir.to_owned(),
    };
    let is_one = is_folder(&common.join("objects"))
        && is_folder(&common.join("refs"))
        && read_head(git_dir)?.is_some_and(|head| is_head(&head));
    Ok(is_one.then_some(common))
}

fn is_head(head: &str) -> bool {
    let is_id = |text: &str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    head.strip_prefix("ref:").is_some_and(|name| name.trim_start().starts_with("refs/"))
        || is_id(head.trim_end())
}

/// Returns the contents of HEAD, which was a symlink in old versions of git.
fn read_head(git_dir: &Path) -> Result<Option<String>, GitError> {
    let path = git_dir.join("HEAD");
    if let Ok(target) = fs::read_link(&path) {
        return Ok(Some(format!("ref: {}", target.display())));
    }
    let bytes = read(&path, MAX_POINTER, Links::Followed)?;
    Ok(bytes.map(|bytes| bytes.to_str_lossy().into_owned()))
}
