//! Which project a folder belongs to, and what its working copy is called.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use sha1::{Digest as _, Sha1};
use skill::Identifier;
use skill_fs::AbsPath;

use crate::checkout::branch;
use crate::{DEFAULT_PATTERN, SKILLFILE};

/// Branches that a whole team shares.
const SHARED: [&str; 6] = ["main", "master", "develop", "development", "dev", "trunk"];

/// A working copy and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The logical project.
    pub project_alias: String,
    /// This working copy.
    pub checkout_alias: String,
    /// The folder with the Skillfile.
    pub root: AbsPath,
    /// The branch, unless the head is detached.
    pub branch: Option<String>,
    /// The task id in the branch's name.
    pub task_id: Option<String>,
    /// Four digits that stand for the path.
    pub path_hash: String,
}

/// Returns the nearest folder at or above `folder` that has a Skillfile.
pub fn find_root(folder: &AbsPath) -> Option<AbsPath> {
    let mut current = Some(folder.clone());
    while let Some(candidate) = current {
        if candidate.join(SKILLFILE).as_path().is_file() {
            return Some(candidate);
        }
        current = candidate.parent();
    }
    None
}

/// Names the working copy at `root`. `declared` is the alias of its Skillfile.
pub fn checkout(root: &AbsPath, declared: Option<&Identifier>, pattern: Option<&str>) -> Checkout {
    let folder = root.file_name().unwrap_or("project");
    let project_alias = declared.map_or_else(|| clean(folder), |alias| alias.as_str().to_owned());
    let branch = branch(root);
    let path_hash = path_hash(root);
    let task_id =
        branch.as_deref().and_then(|branch| task_id(branch, pattern.unwrap_or(DEFAULT_PATTERN)));
    let checkout_alias = alias(&project_alias, branch.as_deref(), task_id.as_deref(), &path_hash);
    Checkout { project_alias, checkout_alias, root: root.clone(), branch, task_id, path_hash }
}

/// Returns the alias of a working copy: the project's own on a shared branch, else one with the task or
/// the path in it.
fn alias(project: &str, branch: Option<&str>, task: Option<&str>, path_hash: &str) -> String {
    match (branch, task) {
        (None, _) => project.to_owned(),
        (Some(branch), _) if SHARED.contains(&branch) => project.to_owned(),
        (Some(_), Some(task)) => format!("{project}-{}-{path_hash}", clean(task)),
        (Some(_), None) => format!("{project}-worktree-{path_hash}"),
    }
}

/// Finds the task id in a branch's name: the first group of the pattern, or all it matches.
fn task_id(branch: &str, pattern: &str) -> Option<String> {
    let pattern = regex::RegexBuilder::new(pattern).case_insensitive(true).build().ok()?;
    let found = pattern.captures(branch)?;
    Some(found.get(1).or_else(|| found.get(0))?.as_str().to_lowercase())
}

fn path_hash(root: &AbsPath) -> String {
    let real = fs::canonicalize(root.as_path()).unwrap_or_else(|_| root.as_path().to_owned());
    let digest = Sha1::digest(real.as_os_str().as_encoded_bytes());
    digest.iter().take(2).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `text` as an alias may be written.
fn clean(text: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) { c.to_ascii_lowercase() } else { '-' }
    };
    let cleaned: String = text.chars().map(keep).collect();
    let cleaned = cleaned.trim_matches(['-', '.', '_']).to_owned();
    if cleaned.is_empty() { "project".to_owned() } else { cleaned }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_copy_is_named_after_branch_task_and_path() {
        for (branch, expected) in [
            (None, "demo"),
            (Some("main"), "demo"),
            (Some("trunk"), "demo"),
            (Some("feature/TASK-4242-x"), "demo-task-4242-a3f1"),
            (Some("task-7"), "demo-task-7-a3f1"),
            (Some("experiment"), "demo-worktree-a3f1"),
        ] {
            let task = branch.and_then(|branch| task_id(branch, DEFAULT_PATTERN));
            assert_eq!(alias("demo", branch, task.as_deref(), "a3f1"), expected, "{branch:?}");
        }
        assert_eq!(task_id("x/ABC_12", "([a-z]+)_[0-9]+").as_deref(), Some("abc"));
        assert_eq!(clean("Мой Проект"), "project");
        assert_eq!(clean("My App!"), "my-app");
    }
}
