//! Finds subfolders of a project with skills of their own, such as packages of a monorepo.
//!
//! The search skips `node_modules`, hidden folders and folders that git ignores, follows no symlinks and is limited.
//! The skill folders themselves may be ignored by git, like the ones that csk creates.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use skill::{Diagnostic, RelPath};
use skill_fs::{AbsPath, EntryType, FsError, Root};

use crate::problem::file_problem;

/// The maximum depth of the search.
const MAX_DEPTH: usize = 16;
/// The maximum number of folders to search.
const MAX_FOLDERS: usize = 20_000;
/// The maximum number of entries, including files.
const MAX_ENTRIES: usize = 1_000_000;
/// The maximum size of a file with ignore rules.
const MAX_RULES: u64 = 64 << 10;
/// The maximum total size of ignore rules in a project. Parsing them is expensive.
const MAX_ALL_RULES: usize = 256 << 10;
/// The hidden folders that can contain skills.
const AGENT_FOLDERS: [&str; 4] = [".agents", ".claude", ".corteza", ".keep-up"];

/// The result of a search.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// Subfolders of the project that contain skills.
    pub(crate) folders: Vec<AbsPath>,
    /// Every searched folder, starting with the project folder.
    pub(crate) searched: Vec<AbsPath>,
    pub(crate) problems: Vec<Diagnostic>,
}

/// Searches the subfolders of `project`.
pub(crate) fn find_nested(project: &AbsPath) -> Nested {
    let mut search = Search { found: Nested::default(), entries: 0, read: 0, rules: Vec::new() };
    match Root::open(project) {
        Ok(root) => {
            let exclude = RelPath::new(".git/info/exclude").expect("it is a relative path");
            let rules = search.rules_in(&root, &exclude);
            search.rules.extend(rules);
            search.folder(&root, 0);
        }
        Err(error) => search.report(&error),
    }
    search.found
}

struct Search {
    found: Nested,
    entries: usize,
    /// Bytes of ignore rules read so far.
    read: usize,
    /// The ignore rules of the current folder and its parents, outermost first.
    rules: Vec<Gitignore>,
}

impl Search {
    /// Searches a folder; returns false once a limit is reached.
    fn folder(&mut self, root: &Root, depth: usize) -> bool {
        let entries = match root.entries() {
            Ok(entries) => entries.named,
            Err(error) => {
                self.report(&error);
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
                self.report(&FsError::Limit { path: root.path().to_string(), what, limit });
                return false;
            }
        }
        let has = |name: &str| entries.iter().any(|(entry, _)| entry == name);
        if depth > 0 && AGENT_FOLDERS.iter().any(|folder| has(folder)) {
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
        let continues = self.children(root, entries, depth);
        if is_pushed {
            self.rules.pop();
        }
        continues
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
                let (path, what) = (root.path().to_string(), "nested folder levels");
                self.report(&FsError::Limit { path, what, limit: MAX_DEPTH });
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
                Err(error) => self.report(&error),
            }
        }
        true
    }

    /// Returns true if a folder is ignored. The innermost file with a matching rule decides.
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
                self.report(&error);
                return None;
            }
        };
        let before = self.read;
        self.read += text.len();
        if self.read > MAX_ALL_RULES {
            if before <= MAX_ALL_RULES {
                let path = root.path().join(name.as_str()).to_string();
                let what = "bytes of ignore rules in one project";
                self.report(&FsError::Limit { path, what, limit: MAX_ALL_RULES });
            }
            return None;
        }
        let mut builder = GitignoreBuilder::new(root.path().as_path());
        for line in text.lines() {
            // Like git, ignore invalid lines.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok()
    }

    fn report(&mut self, error: &FsError) {
        self.found.problems.push(file_problem(error, error.path()));
    }
}
