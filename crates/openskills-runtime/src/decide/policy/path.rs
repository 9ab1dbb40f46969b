//! Matches paths against file rules, with gitignore semantics.

use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::CallContext;

/// A parsed file rule.
pub(super) enum FileRule {
    /// The pattern compiled for each root; its fixed prefix before the first `*`, if it is anchored; and its last
    /// component.
    Rules(Vec<(PathBuf, Gitignore)>, Option<PathBuf>, String),
    /// The rule cannot be applied.
    Unclear,
}

/// How a path is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    /// As a file.
    File,
    /// As a file, or as a folder with everything in it.
    FileOrFolder,
}

impl FileRule {
    /// Parses a rule: `//x` is absolute, `~/x` is in the home folder, anything else is relative to each of `roots`.
    pub(super) fn new(pattern: &str, roots: &[PathBuf], context: &CallContext) -> Self {
        let (roots, mut below) = match (pattern.strip_prefix("//"), pattern.strip_prefix("~/")) {
            (Some(below), _) => (vec![PathBuf::from("/")], format!("/{below}")),
            (None, Some(below)) => (context.home.clone(), format!("/{below}")),
            (None, None) => {
                (roots.to_vec(), pattern.strip_prefix("./").unwrap_or(pattern).to_owned())
            }
        };
        let mut roots: Vec<PathBuf> = roots.iter().map(|root| plain(root)).collect();
        while let Some(rest) = below.strip_prefix("../") {
            let is_up = roots.iter_mut().all(PathBuf::pop);
            if !is_up {
                return Self::Unclear;
            }
            below = if rest.starts_with("../") { rest.to_owned() } else { format!("/{rest}") };
        }
        match level(&below) {
            Some(leveled) => below = leveled,
            None => return Self::Unclear,
        }
        // In gitignore syntax, a leading `#` starts a comment and `!` negates the pattern.
        if below.starts_with(['#', '!']) {
            below.insert(0, '\\');
        }
        let compiled = roots.into_iter().map(|root| {
            let mut builder = GitignoreBuilder::new(&root);
            builder.add_line(None, &below).ok()?;
            let rules = builder.build().ok().filter(|rules| !rules.is_empty())?;
            Some((root, rules))
        });
        match compiled.collect::<Option<Vec<_>>>() {
            Some(rules) if !rules.is_empty() => {
                let last = below.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                Self::Rules(rules, place_of(&below), last.to_owned())
            }
            _ => Self::Unclear,
        }
    }

    /// Returns true if the rule matches a path. It matches a folder if it matches everything in it.
    pub(super) fn holds(&self, path: &Path, kind: PathKind) -> bool {
        let Self::Rules(rules, ..) = self else { return false };
        let path = plain(path);
        rules.iter().filter(|(root, _)| path.starts_with(root)).any(|(_, rules)| {
            let is_it = |is_folder| rules.matched_path_or_any_parents(&path, is_folder).is_ignore();
            let is_folder = || is_it(true) || rules.matched(path.join(ANY_NAME), false).is_ignore();
            is_it(false) || (kind == PathKind::FileOrFolder && is_folder())
        })
    }

    /// Returns true if the rule may match something below a path. A rule that contains a folder is anchored there; any
    /// other rule matches names at any depth.
    pub(super) fn may_be_below(&self, path: &Path, ending: Option<&str>) -> bool {
        let Self::Rules(rules, start, last) = self else { return true };
        let path = plain(path);
        // A search limited to a suffix cannot find names with another suffix.
        let is_other = ending.is_some_and(|ending| {
            !ending.is_empty() && !last.contains('*') && !last.ends_with(ending)
        });
        !is_other
            && rules.iter().any(|(root, _)| match start {
                Some(start) => {
                    let place = root.join(start);
                    place.starts_with(&path) || path.starts_with(&place)
                }
                None => root.starts_with(&path) || path.starts_with(root),
            })
    }

    /// Returns true if the rule cannot be applied.
    pub(super) fn is_unclear(&self) -> bool {
        matches!(self, Self::Unclear)
    }
}

/// Returns the folder that a pattern is anchored to. Only a pattern that contains a slash is anchored.
fn place_of(pattern: &str) -> Option<PathBuf> {
    let inner = pattern.trim_end_matches('/');
    if !inner.contains('/') || inner.starts_with("**/") {
        return None;
    }
    let plain: PathBuf = inner
        .trim_start_matches('/')
        .split('/')
        .take_while(|part| !part.contains(['*', '?', '[']))
        .collect();
    Some(plain)
}

/// Returns a pattern without `.` and `..`; `None` if it is unclear what a `..` removes.
fn level(pattern: &str) -> Option<String> {
    if !pattern.split('/').any(|part| matches!(part, "." | "..")) {
        return Some(pattern.to_owned());
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "." => {}
            ".." => {
                let left = parts.pop()?;
                let is_plain = !left.is_empty() && !left.contains(['*', '?', '[']);
                is_plain.then_some(())?;
            }
            other => parts.push(other),
        }
    }
    // A pattern with a slash is anchored, so keep one.
    let leveled = parts.join("/");
    Some(if leveled.contains('/') { leveled } else { format!("/{leveled}") })
}

/// A name that no rule mentions.
const ANY_NAME: &str = "\u{1}any\u{1}";

/// Returns a path without `.`, `..` and repeated slashes, without touching the disk.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                all.pop();
            }
            other => all.push(other),
        }
    }
    all
}
