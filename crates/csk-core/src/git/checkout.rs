//! What git knows about a project's folder, answered in this process.
//!
//! A checkout, or an unpacked archive, brings a repository whose configuration names programs. So the git program never
//! runs in a project: csk finds the repository by its `.git` alone (a folder with `HEAD`, `objects` and `refs` is none),
//! reads the index and the ignore rules, and takes nothing from the repository's own configuration but two facts that
//! are no paths and no programs: whether names are matched without case, and how long object ids are.

mod files;
mod ignored;
mod index;
mod work_tree;

pub use ignored::{OpeningRule, Unignored};

use skill_fs::AbsPath;
use work_tree::WorkTree;

use crate::GitError;

/// Returns those of `paths`, seen from `root`, that git would not ignore; none outside a work tree.
pub fn not_ignored(root: &AbsPath, paths: &[String]) -> Result<Vec<Unignored>, GitError> {
    match WorkTree::around(root)? {
        None => Ok(Vec::new()),
        Some(tree) => ignored::not_ignored(&tree, paths),
    }
}

/// Returns true if `root` is in a work tree.
pub fn work_tree(root: &AbsPath) -> Result<bool, GitError> {
    WorkTree::around(root).map(|tree| tree.is_some())
}

/// The file of ignore rules that is this machine's alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExcludeFile {
    /// There is no repository.
    NoRepository,
    /// It is here.
    File(AbsPath),
    /// It may not be written: what `.git` leads to does not lead back, so it may be anybody's.
    Elsewhere(String),
}

/// Returns the file of ignore rules that is this machine's alone.
pub fn exclude_file(root: &AbsPath) -> Result<ExcludeFile, GitError> {
    match WorkTree::around(root)? {
        None => Ok(ExcludeFile::NoRepository),
        Some(tree) => tree.exclude_file(),
    }
}

/// Returns the first entry at or below `folder` that git has in the work tree around `root`, or a submodule, link or
/// sparse folder that would bring it; none outside a work tree.
pub fn tracked(root: &AbsPath, folder: &str) -> Result<Option<String>, GitError> {
    match WorkTree::around(root)? {
        None => Ok(None),
        Some(tree) => index::tracked(&tree, folder),
    }
}

/// Returns the branch that is checked out; none where the head is detached, or there is no repository.
pub(crate) fn branch(root: &AbsPath) -> Option<String> {
    WorkTree::around(root).ok().flatten()?.branch()
}
