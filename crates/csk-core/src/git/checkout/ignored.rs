//! Git's ignore rules: the user's, `info/exclude`, and every `.gitignore` on the way.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::BStr;
use gix::glob::pattern::Case;
use gix_ignore::Search;
use gix_ignore::search::{Ignore, Match};

use super::files::{Links, read};
use super::work_tree::WorkTree;
use crate::GitError;
use crate::git::user::user_rules;

/// The size limit of a rules file.
const MAX_RULES: u64 = 16 << 20;
/// The most wildcards in one rule: each makes matching slower.
const MAX_WILDCARDS: usize = 32;

/// A path that git does not ignore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unignored {
    /// The path, relative to the project.
    pub path: String,
    /// The rule responsible, if it is in a subfolder of the project. A rule in the project's own `.gitignore`, or above
    /// it, can be overridden by a later one.
    pub rule: Option<NegatedRule>,
}

/// A negated rule (`!pattern`) that keeps git from ignoring a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NegatedRule {
    /// The folder of the rule's file, relative to the project.
    pub folder: PathBuf,
    /// The rule with its file and line.
    pub shown: String,
}

/// Returns those of `paths`, relative to the project's folder in the work tree, that are not ignored.
pub(super) fn not_ignored(tree: &WorkTree, paths: &[String]) -> Result<Vec<Unignored>, GitError> {
    let case = if tree.settings()?.ignores_case { Case::Fold } else { Case::Sensitive };
    let mut rules = Search::default();
    for file in user_rules(&tree.git_dir)?.into_iter().chain([tree.common.join("info/exclude")]) {
        add(&mut rules, &file, None, Links::Followed)?;
    }
    let mut open = Vec::new();
    for path in paths {
        let path_inside = tree.inside.join(path);
        if let Verdict::NotIgnored(rule) = verdict(tree, rules.clone(), &path_inside, case)? {
            open.push(Unignored { path: path.clone(), rule });
        }
    }
    Ok(open)
}

/// Whether git ignores a path.
enum Verdict {
    Ignored,
    /// The rule that excludes it from being ignored, if any.
    NotIgnored(Option<NegatedRule>),
}

/// Walks down from the root: everything below an ignored folder is ignored, whatever rules it contains.
fn verdict(
    tree: &WorkTree,
    mut rules: Search,
    path: &Path,
    case: Case,
) -> Result<Verdict, GitError> {
    let mut rule = None;
    add(&mut rules, &tree.root.join(".gitignore"), Some(&tree.root), Links::Skipped)?;
    let mut at = PathBuf::new();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let is_last = parts.peek().is_none();
        let place = tree.root.join(&at);
        let is_folder = !is_last || fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir());
        let text = at.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        let found = rules.pattern_matching_relative_path(BStr::new(&text), Some(is_folder), case);
        match found {
            Some(found) if !found.pattern.is_negative() => return Ok(Verdict::Ignored),
            Some(found) => rule = rule_in_subfolder(tree, &found),
            None => {}
        }
        if !is_last {
            add(&mut rules, &place.join(".gitignore"), Some(&tree.root), Links::Skipped)?;
        }
    }
    Ok(Verdict::NotIgnored(rule))
}

/// Returns a rule from a file in a subfolder of the project.
fn rule_in_subfolder(tree: &WorkTree, found: &Match<'_>) -> Option<NegatedRule> {
    let file = found.source?.strip_prefix(tree.root.join(&tree.inside)).ok()?;
    let folder = file.parent().filter(|folder| *folder != Path::new(""))?.to_owned();
    let path: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
    let shown = format!("`{}` in {}:{}", found.pattern, path.join("/"), found.sequence_number);
    (!file.starts_with(".git")).then_some(NegatedRule { folder, shown })
}

fn add(rules: &mut Search, file: &Path, root: Option<&Path>, links: Links) -> Result<(), GitError> {
    let Some(bytes) = read(file, MAX_RULES, links)? else { return Ok(()) };
    let failed = |what: &str| {
        GitError::Failed(format!("cannot use the ignore rules in `{}`: {what}", file.display()))
    };
    let is_wild = |line: &[u8]| {
        let wildcards = line.iter().filter(|byte| **byte == b'*').count();
        !line.starts_with(b"#") && wildcards > MAX_WILDCARDS
    };
    if bytes.split(|byte| *byte == b'\n').any(is_wild) {
        return Err(failed(&format!("a rule has more than {MAX_WILDCARDS} wildcards")));
    }
    rules
        .add_patterns_buffer(&bytes, file, root, Ignore::default())
        .map_err(|error| failed(&error.to_string()))
}
