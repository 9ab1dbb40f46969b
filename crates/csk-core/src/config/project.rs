//! Finds the project that a folder belongs to and names its working copy.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use sha1::{Digest as _, Sha1};
use skill::Identifier;
use skill_fs::AbsPath;

use crate::git::checkout::branch;
use crate::{DEFAULT_PATTERN, ProjectEntry, SKILLFILE};

/// Branches that a whole team shares.
const SHARED: [&str; 6] = ["main", "master", "develop", "development", "dev", "trunk"];

/// A working copy and its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The alias of the logical project.
    pub project_alias: String,
    /// The alias of this working copy.
    pub checkout_alias: String,
    /// The folder with the Skillfile.
    pub root: AbsPath,
    /// The checked-out branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The task id found in the branch name.
    pub task_id: Option<String>,
    /// Four hex digits derived from the path.
    pub path_hash: String,
}

/// Returns the nearest folder at or above `folder` that contains a Skillfile. A repository ends the search: a file above
/// it belongs to another project, or to anyone who can write there.
pub fn find_root(folder: &AbsPath) -> Option<AbsPath> {
    let mut current = Some(folder.clone());
    while let Some(candidate) = current {
        if candidate.join(SKILLFILE).as_path().is_file() {
            return Some(candidate);
        }
        if candidate.join(".git").as_path().exists() {
            return None;
        }
        current = candidate.parent();
    }
    None
}

/// Names the working copy at `root`. `declared` is the alias in its Skillfile, `entry` its entry in the config.
///
/// The project is named by the Skillfile, else by the config, else after the folder. On a shared branch the working
/// copy uses its alias in the config, else the project's.
pub fn checkout(
    root: &AbsPath,
    declared: Option<&Identifier>,
    entry: Option<&ProjectEntry>,
    pattern: Option<&str>,
) -> Checkout {
    let folder = root.file_name().unwrap_or("project");
    let named = declared.or_else(|| entry.map(|entry| &entry.project_alias));
    let project_alias = named.map_or_else(|| clean(folder), |alias| alias.as_str().to_owned());
    let branch = branch(root);
    let path_hash = path_hash(root);
    let task_id =
        branch.as_deref().and_then(|branch| task_id(branch, pattern.unwrap_or(DEFAULT_PATTERN)));
    let own = entry.map_or(project_alias.as_str(), |entry| entry.checkout_alias.as_str());
    let is_shared = branch.as_deref().is_none_or(|branch| SHARED.contains(&branch));
    let checkout_alias = if is_shared {
        own.to_owned()
    } else {
        alias(&project_alias, task_id.as_deref(), &path_hash)
    };
    Checkout { project_alias, checkout_alias, root: root.clone(), branch, task_id, path_hash }
}

/// Returns the alias of a working copy on a non-shared branch, built from the task id and the path hash.
fn alias(project: &str, task: Option<&str>, path_hash: &str) -> String {
    match task {
        Some(task) => format!("{project}-{}-{path_hash}", clean(task)),
        None => format!("{project}-worktree-{path_hash}"),
    }
}

/// Finds the task id in a branch name: the first group of the pattern, or the whole match.
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

/// Converts `text` to a valid alias.
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
            ("feature/TASK-4242-x", "demo-task-4242-a3f1"),
            ("task-7", "demo-task-7-a3f1"),
            ("experiment", "demo-worktree-a3f1"),
        ] {
            let task = task_id(branch, DEFAULT_PATTERN);
            assert_eq!(alias("demo", task.as_deref(), "a3f1"), expected, "{branch:?}");
        }
        assert_eq!(task_id("x/ABC_12", "([a-z]+)_[0-9]+").as_deref(), Some("abc"));
        assert_eq!(clean("Мой Проект"), "project");
        assert_eq!(clean("My App!"), "my-app");
    }
}
