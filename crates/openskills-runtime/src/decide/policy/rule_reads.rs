//! Finds out which files a line may read or write without naming them, for rules that deny files.

use std::path::Path;

use shell::{Certainty, Line, Word};

use super::path::{FileRule, plain};
use super::programs::{base_name, without_wrappers};
use super::{CallContext, PathLookup};

/// Git commands that print file contents.
const SHOWS_FILES: [&str; 16] = [
    "annotate",
    "archive",
    "blame",
    "cat-file",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "format-patch",
    "grep",
    "merge-tree",
    "range-diff",
    "rebase",
    "show",
    "stash",
    "whatchanged",
];
/// Options with which `git log` and similar commands print file contents: short letters, and prefixes of long options.
const SHOWS_LETTERS: [char; 7] = ['p', 'u', 'U', 'W', 'L', 'c', 'm'];
const SHOWS_LONG: [&str; 12] = [
    "--check",
    "--patch",
    "--unified",
    "--word-diff",
    "--color-words",
    "--cc",
    "--remerge-diff",
    "--binary",
    "--function-context",
    "--diff-merges",
    "--raw",
    "--full-diff",
];
/// Options with which git lists only file names.
const NAMES_ONLY: [&str; 9] = [
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--no-patch",
    "-s",
    "--quiet",
    "--summary",
];

/// A rule that denies files, with what is known about a line.
pub(super) struct FileDenyRule<'a> {
    pub(super) files: &'a FileRule,
    pub(super) lookup: &'a PathLookup,
    pub(super) context: &'a CallContext,
    pub(super) specifier: &'a str,
}

impl FileDenyRule<'_> {
    /// Returns true if the line may read a denied file without naming it.
    pub(super) fn may_read(&self, line: &Line) -> bool {
        line.commands.iter().any(|command| {
            let words = without_wrappers(&command.words);
            let arguments = words.get(1..).unwrap_or_default();
            arguments.iter().any(|word| self.may_become_file(word) || is_of_process(&word.text))
                || command.redirects.iter().any(|file| is_of_process(&file.target.text))
                || words
                    .split_first()
                    .is_some_and(|(program, words)| self.searches(base_name(&program.text), words))
        })
    }

    /// Returns true if the line may write a denied file without naming it, for example by unpacking an archive.
    pub(super) fn may_write(&self, line: &Line) -> bool {
        line.commands.iter().any(|command| {
            let words = without_wrappers(&command.words);
            let program = words.first().map_or("", |word| base_name(&word.text));
            let is_unpacked = matches!(program, "tar" | "gtar" | "unzip");
            let is_pattern = |word: &Word| self.may_become_file(word);
            let is_reader = super::programs::only_prints(program);
            is_unpacked || (!is_reader && words.iter().skip(1).any(is_pattern))
        })
    }

    /// Returns true if a word may expand to a denied file. A variable inside a sentence rarely is a file; one in a word
    /// without spaces, or a file pattern, may be.
    fn may_become_file(&self, word: &Word) -> bool {
        if word.certainty == Certainty::Exact {
            return false;
        }
        if word.text.starts_with('~') && !word.text.contains(['*', '?', '[', '$']) {
            // `~+` is the working folder, and the home folders of other users are unknown.
            return self.context.paths(&word.text).is_none();
        }
        let is_sentence = |text: &str| text.contains(char::is_whitespace);
        let has_pattern = word.text.contains(['*', '?', '[']);
        if !has_pattern && is_sentence(&word.text) && !is_sentence(self.specifier) {
            return false;
        }
        let start = word.text.split(['*', '?', '[', '$']).next().unwrap_or_default();
        // The value attached to an option is a path on its own.
        let start = start.rsplit(['=', '@', '<']).next().unwrap_or(start);
        let folder = start.rfind('/').map_or(".", |slash| &start[..=slash]);
        let paths = self.context.paths(folder);
        paths.is_none_or(|paths| paths.iter().any(|path| self.files.may_be_below(path, None)))
    }

    /// Returns true for commands that read everything below a folder, or files named in their own language.
    fn searches(&self, program: &str, words: &[Word]) -> bool {
        let texts = || words.iter().map(|word| word.text.as_str());
        let has = |letters: &[char], long: &[&str]| {
            texts().any(|text| {
                let is_short = text.starts_with('-') && !text.starts_with("--");
                (is_short && text.contains(letters))
                    || long.iter().any(|long| text.starts_with(long))
            })
        };
        match program {
            "rg" | "ag" | "ack" | "tar" | "gtar" | "zip" | "rsync" | "scp" => true,
            "grep" | "egrep" | "fgrep" => {
                has(&['r', 'R', 'd'], &["--recursive", "--dereference-recursive", "--directories"])
            }
            "cp" => has(&['r', 'R'], &["--recursive"]),
            // Given two folders, diff compares the files in them.
            "diff" => {
                has(&['r'], &["--recursive"])
                    || texts().any(|text| self.lookup.folders.contains(text))
            }
            "jq" | "yq" => {
                has(&['f', 'L'], &["--from-file"])
                    || texts().any(|text| {
                        ["import", "include", "load", "input_filename"]
                            .iter()
                            .any(|word| text.contains(word))
                    })
            }
            "git" => self.git_shows(words),
            // A project's variables come from files that the line does not name.
            "docker" | "docker-compose" => texts().any(|text| text == "config"),
            _ => false,
        }
    }

    /// Returns true for git commands that print file contents, unless they are limited to other files.
    fn git_shows(&self, words: &[Word]) -> bool {
        let Some(position) = words.iter().position(|word| !word.text.starts_with('-')) else {
            return false;
        };
        let (command, rest) = (words[position].text.as_str(), &words[position + 1..]);
        let texts = || rest.iter().map(|word| word.text.as_str());
        let asks_for_files = || {
            texts().any(|text| match text.strip_prefix("--") {
                Some(_) => SHOWS_LONG.iter().any(|long| text.starts_with(long)),
                None => text.starts_with('-') && text.contains(SHOWS_LETTERS),
            })
        };
        let has_letter = |text: &str, letter: char| {
            text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
        };
        let shows = match command {
            "log" | "reflog" | "shortlog" | "rev-list" | "am" | "commit" | "status" => {
                // `git commit -m` takes a message, and `git status -u` lists untracked files.
                let is_shown = !matches!(command, "commit" | "status") && asks_for_files();
                is_shown
                    || texts().any(|text| {
                        matches!(text, "--verbose" | "--show-current-patch")
                            || has_letter(text, 'v')
                    })
            }
            "rebase" => texts().any(|text| text.starts_with("--show")),
            "stash" => texts().any(|text| text == "show" || text == "list") && asks_for_files(),
            _ => SHOWS_FILES.contains(&command),
        };
        let is_name_only = command != "grep"
            && command != "cat-file"
            && command != "archive"
            && texts().any(|text| NAMES_ONLY.contains(&text))
            && !asks_for_files();
        shows && !is_name_only && !self.is_limited_to_other_files(rest)
    }

    /// Returns true if files follow `--` and none of them is denied. The rule's own files were already checked.
    fn is_limited_to_other_files(&self, words: &[Word]) -> bool {
        let Some(position) = words.iter().position(|word| word.text == "--") else { return false };
        let named = &words[position + 1..];
        let is_other = |word: &Word| {
            let is_plain = word.certainty == Certainty::Exact
                && !word.text.contains(['*', '?', '[', ':', '\\']);
            let is_file = self.lookup.found.contains_key(&word.text)
                && !self.lookup.folders.contains(&word.text);
            let elsewhere = || {
                let paths = self.context.plain_paths(&word.text);
                paths.is_some_and(|paths| {
                    !paths.iter().any(|path| self.files.may_be_below(path, None))
                })
            };
            is_plain && (is_file || elsewhere())
        };
        !named.is_empty() && named.iter().all(is_other)
    }
}

/// Returns true for paths that expose the files of a process: its working folder, its root, its open files.
fn is_of_process(text: &str) -> bool {
    super::call::attached(text).iter().any(|text| {
        let path = plain(Path::new(text));
        path.starts_with("/proc") || path.starts_with("/dev/fd")
    })
}
