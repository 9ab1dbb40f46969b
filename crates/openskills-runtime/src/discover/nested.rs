//! Folders of a project that have skills of their own, as packages of a monorepo do.
//!
//! The search keeps out of what git ignores, of `node_modules` and of hidden folders, follows no link and has limits.
//! The folders of skills themselves may be ignored by git: those that csk makes are.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use skill::{Diagnostic, RelPath};
use skill_fs::{AbsPath, EntryType, FsError, Root};

use crate::problem::file_problem;

/// How many folders deep a project is searched.
const MAX_DEPTH: usize = 16;
/// How many folders of a project are searched.
const MAX_FOLDERS: usize = 20_000;
/// How many entries, files included, are looked at.
const MAX_ENTRIES: usize = 1_000_000;
/// The largest file of ignore rules that is read.
const MAX_RULES: u64 = 64 << 10;
/// How many bytes of rules of one project are read: rules cost much more to read than they weigh.
const MAX_ALL_RULES: usize = 256 << 10;
/// The hidden folders that can hold skills.
const HOLDERS: [&str; 4] = [".agents", ".claude", ".corteza", ".keep-up"];

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// Folders below the project's that hold skills.
    pub(crate) folders: Vec<AbsPath>,
    /// Every folder that was searched, the project's first.
    pub(crate) searched: Vec<AbsPath>,
    pub(crate) problems: Vec<Diagnostic>,
}

/// Searches the folders below `project`.
pub(crate) fn find_nested(project: &AbsPath) -> Nested {
    let mut search = Search { found: Nested::default(), entries: 0, read: 0, rules: Vec::new() };
    match Root::open(project) {
        Ok(root) => {
            let exclude = RelPath::new(".git/info/exclude").expect("it is a relative path");
            let rules = search.rules_in(&root, &exclude);
            search.rules.extend(rules);
            search.folder(&root, 0);
        }
        Err(error) => search.tell(&error),
    }
    search.found
}

struct Search {
    found: Nested,
    entries: usize,
    /// Bytes of rules that were read.
    read: usize,
    /// The rules of the folders around the one that is searched, the outermost first.
    rules: Vec<Gitignore>,
}

impl Search {
    /// Returns false once a limit is reached.
    fn folder(&mut self, root: &Root, depth: usize) -> bool {
        let entries = match root.entries() {
            Ok(entries) => entries.named,
            Err(error) => {
                self.tell(&error);
                return true;
            }
        };
        self.entries += entries.len();
        self.found.searched.push(root.path().clone());
        for (what, limit, reached) in [
            ("folders", MAX_FOLDERS, self.found.searched.len()),
            ("entries", MAX_ENTRIES, self.entries),
        ] {
            if reached > limit {
                self.tell(&FsError::Limit { path: root.path().to_string(), what, limit });
                return false;
            }
        }
        let has = |name: &str| entries.iter().any(|(entry, _)| entry == name);
        if depth > 0 && HOLDERS.iter().any(|holder| has(holder)) {
            self.found.folders.push(root.path().clone());
        }
        let rules = if has(".gitignore") {
            let name = RelPath::new(".gitignore").expect("it is a plain name");
            self.rules_in(root, &name)
        } else {
            None
        };
        let is_pushed = rules.is_some();
        self.rules.extend(rules);
        let goes_on = self.children(root, entries, depth);
        if is_pushed {
            self.rules.pop();
        }
        goes_on
    }

    fn children(&mut self, root: &Root, entries: Vec<(String, EntryType)>, depth: usize) -> bool {
        let mut names: Vec<String> = entries
            .into_iter()
            .filter(|(name, kind)| {
                *kind == EntryType::Folder && !name.starts_with('.') && name != "node_modules"
            })
            .map(|(name, _)| name)
            .filter(|name| !self.is_ignored(&root.path().join(name)))
            .collect();
        names.sort_unstable();
        if depth + 1 > MAX_DEPTH {
            if !names.is_empty() {
                let (path, what) = (root.path().to_string(), "folders inside each other");
                self.tell(&FsError::Limit { path, what, limit: MAX_DEPTH });
            }
            return true;
        }
        for name in names {
            match root.child(&name) {
                Ok(child) => {
                    if !self.folder(&child, depth + 1) {
                        return false;
                    }
                }
                Err(error) => self.tell(&error),
            }
        }
        true
    }

    /// The innermost file that says anything about a folder decides.
    fn is_ignored(&self, folder: &AbsPath) -> bool {
        for rules in self.rules.iter().rev() {
            match rules.matched(folder.as_path(), true) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    fn rules_in(&mut self, root: &Root, name: &RelPath) -> Option<Gitignore> {
        let text = match root.read(name, MAX_RULES) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => return None,
            Err(error) => {
                self.tell(&error);
                return None;
            }
        };
        let before = self.read;
        self.read += text.len();
        if self.read > MAX_ALL_RULES {
            if before <= MAX_ALL_RULES {
                let path = root.path().join(name.as_str()).to_string();
                let what = "bytes of ignore rules in one project";
                self.tell(&FsError::Limit { path, what, limit: MAX_ALL_RULES });
            }
            return None;
        }
        let mut builder = GitignoreBuilder::new(root.path().as_path());
        for line in text.lines() {
            // A line that is no rule ignores nothing, as with git.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok()
    }

    fn tell(&mut self, error: &FsError) {
        self.found.problems.push(file_problem(error, error.path()));
    }
}
