//! Answers what git would say about a project's folder, without running git.
//!
//! A checkout, or an unpacked archive, may contain a repository whose configuration names programs to run. So csk never
//! runs git in a project: it finds the repository by its `.git` entry (a bare folder with `HEAD`, `objects` and `refs`
//! does not count) and reads the index and the ignore rules itself. From the repository's own configuration it takes
//! only two values, neither a path nor a program: whether names match case-insensitively, and the length of object ids.

mod files;
mod ignored;
mod index;
mod work_tree;

pub use ignored::{NegatedRule, Unignored};

use skill_fs::AbsPath;
use work_tree::WorkTree;

use crate::GitError;

/// Returns those of `paths`, relative to `root`, that git would not ignore; empty outside a work tree.
pub fn not_ignored(root: &AbsPath, paths: &[String]) -> Result<Vec<Unignored>, GitError> {
    match WorkTree::containing(root)? {
        None => Ok(Vec::new()),
        Some(tree) => ignored::not_ignored(&tree, paths),
    }
}

/// Returns the root of the work tree that `folder` is in.
pub fn work_tree_root(folder: &AbsPath) -> Result<Option<AbsPath>, GitError> {
    let tree = WorkTree::containing(folder)?;
    Ok(tree.and_then(|tree| AbsPath::new(tree.root).ok()))
}

/// Returns true if `root` is in a work tree.
pub fn work_tree(root: &AbsPath) -> Result<bool, GitError> {
    WorkTree::containing(root).map(|tree| tree.is_some())
}

/// The local ignore file, `.git/info/exclude`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExcludeFile {
    /// There is no repository.
    NoRepository,
    /// The path of the file.
    File(AbsPath),
    /// It must not be written: the gitfile points to a repository that does not point back, which may be anyone's.
    Elsewhere(String),
}

/// Returns the local ignore file, `.git/info/exclude`.
pub fn exclude_file(root: &AbsPath) -> Result<ExcludeFile, GitError> {
    match WorkTree::containing(root)? {
        None => Ok(ExcludeFile::NoRepository),
        Some(tree) => tree.exclude_file(),
    }
}

/// Returns the first tracked entry at or below `folder`, or a submodule, symlink or sparse folder that could put one
/// there; `None` outside a work tree.
pub fn tracked(root: &AbsPath, folder: &str) -> Result<Option<String>, GitError> {
    match WorkTree::containing(root)? {
        None => Ok(None),
        Some(tree) => index::tracked(&tree, folder),
    }
}

/// Returns the checked-out branch; `None` if HEAD is detached or there is no repository.
pub(crate) fn branch(root: &AbsPath) -> Option<String> {
    WorkTree::containing(root).ok().flatten()?.branch()
}
