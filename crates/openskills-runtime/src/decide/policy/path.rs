//! Whether a rule about files is about a path, by the rules of gitignore.

use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Surroundings;

/// A rule about files, as far as it can be applied.
pub(super) enum Files {
    /// Patterns, each below a folder; what they start with before a `*`, if they are about one place; their last part.
    Rules(Vec<(PathBuf, Gitignore)>, Option<PathBuf>, String),
    /// It cannot be applied.
    Unclear,
}

/// What a path is looked at as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// A file.
    AsFile,
    /// A file, or a folder with everything in it.
    AsFolder,
}

impl Files {
    /// Reads a rule: `//x` is absolute, `~/x` in the home, all else in one of `roots`.
    pub(super) fn new(pattern: &str, roots: &[PathBuf], around: &Surroundings) -> Self {
        let (roots, mut below) = match (pattern.strip_prefix("//"), pattern.strip_prefix("~/")) {
            (Some(below), _) => (vec![PathBuf::from("/")], format!("/{below}")),
            (None, Some(below)) => (around.home.clone(), format!("/{below}")),
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
        // A leading `#` would make a comment of it, a `!` the opposite.
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

    /// Returns true if a path is part of what the rule is about. A folder is, if whatever is in it is.
    pub(super) fn holds(&self, path: &Path, kind: Looked) -> bool {
        let Self::Rules(rules, ..) = self else { return false };
        let path = plain(path);
        rules.iter().filter(|(root, _)| path.starts_with(root)).any(|(_, rules)| {
            let is_it = |is_folder| rules.matched_path_or_any_parents(&path, is_folder).is_ignore();
            let is_folder = || is_it(true) || rules.matched(path.join(ANY_NAME), false).is_ignore();
            is_it(false) || (kind == Looked::AsFolder && is_folder())
        })
    }

    /// Returns true if something that the rule is about may be below a path. A rule with a folder in it is about that folder, any
    /// other about names wherever they stand.
    pub(super) fn may_be_below(&self, path: &Path, ending: Option<&str>) -> bool {
        let Self::Rules(rules, start, last) = self else { return true };
        let path = plain(path);
        // What is looked for by its ending is not what is called otherwise.
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

/// Returns the folder that a pattern is about: one with a slash in it starts at its root.
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

/// Returns a pattern without `.` and `..` inside; `None` where it is not known what a `..` leaves.
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
    // A pattern with a slash starts at its root, so it needs one still.
    let leveled = parts.join("/");
    Some(if leveled.contains('/') { leveled } else { format!("/{leveled}") })
}

/// A name that no rule is about in particular.
const ANY_NAME: &str = "\u{1}any\u{1}";

/// Returns a path without `.`, `..` and doubled slashes, by its text alone.
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
