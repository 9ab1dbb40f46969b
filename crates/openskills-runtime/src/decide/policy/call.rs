//! A call of a tool, as a host describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use shell::{Certainty, Line, Refusal};
use skill::capabilities::Host;

use super::input;
use super::path::plain;

/// A tool and what it is called with.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// What it is called with, as far as rules can be about it.
    pub input: ToolInput,
}

/// What a tool is called with.
#[derive(Debug, Clone)]
pub enum ToolInput {
    /// A line for a shell.
    Command {
        /// As it was given.
        text: String,
        /// What it would run, as far as that can be said.
        line: Result<Line, Refusal>,
        /// What the disk says about its words.
        seen: Seen,
        /// Keys of the input that change how the line runs, and are not read here.
        unread: Vec<String>,
    },
    /// Files and folders: all that are named, wherever in the input.
    Files(Vec<FileArgument>),
    /// Hosts on the network: all that are named; absent where an address cannot be read.
    Hosts(Vec<Option<Host>>),
    /// Anything else.
    Other,
}

/// What the disk says about the words of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Words that name something in the working folder, and where that really is.
    pub found: BTreeMap<String, PathBuf>,
    /// Texts that may be paths, and where those really lead or would.
    pub real: BTreeMap<String, PathBuf>,
    /// Of those, the texts that name something which is there.
    pub existing: BTreeSet<String>,
    /// Words that name a folder.
    pub folders: BTreeSet<String>,
    /// Folders on the way to any of these that hold a `HEAD`: git takes them for repositories.
    pub repositories: BTreeSet<PathBuf>,
}

/// A file that a tool is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileArgument {
    /// Every path that it may mean, all absolute: as it was named, and where it really is if a link is on the way.
    pub paths: Vec<PathBuf>,
    /// Whether the tool looks at everything below it.
    pub is_searched: bool,
    /// How the names of what it looks at end, where that is said.
    pub ending: Option<String>,
    /// Whether it may be no file at all: a text under an unknown key. Rules that deny count it, rules that allow do not need it.
    pub may_be_text: bool,
    /// Whether it is in a folder that git takes for a repository.
    pub is_in_repository: bool,
}

/// What paths and rules are relative to. Each folder is given as it is named and, if that is elsewhere, where it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The project, which rules are relative to.
    pub workspace: Vec<PathBuf>,
    /// The folder that the call is made in, which its paths are relative to.
    pub cwd: Vec<PathBuf>,
    /// The user's home; empty if it is not known.
    pub home: Vec<PathBuf>,
    /// What git would work with in that folder.
    pub git: GitSurroundings,
}

/// What git would work with where a call is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitSurroundings {
    /// The remotes that the project's repository has. Any other name is a folder to git.
    pub remotes: BTreeSet<String>,
    /// A folder between the project and the call that git takes for a repository of its own.
    pub nested: Option<PathBuf>,
}

impl Surroundings {
    /// Describes a call made in `cwd` on a project. `real` says where a folder really is.
    pub fn new(
        workspace: &Path,
        cwd: &Path,
        home: Option<&Path>,
        real: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Self {
        let both = |folder: &Path| {
            let real = real(folder).filter(|real| real != folder);
            std::iter::once(folder.to_owned()).chain(real).collect::<Vec<PathBuf>>()
        };
        Self {
            workspace: both(workspace),
            cwd: both(cwd),
            home: home.map(both).into_iter().flatten().collect(),
            git: GitSurroundings::default(),
        }
    }

    /// Adds what git would work with.
    #[must_use]
    pub fn with_git(self, git: GitSurroundings) -> Self {
        Self { git, ..self }
    }

    /// Returns true if the project is the user's home.
    pub(super) fn is_home(&self) -> bool {
        self.home.iter().any(|home| self.workspace.contains(home))
    }

    /// Returns true if calls are made in the project's own folder.
    pub(super) fn is_at_root(&self) -> bool {
        self.cwd.iter().any(|cwd| self.workspace.contains(cwd))
    }

    /// Returns every path that a text means where a `~` is a letter.
    pub(super) fn plain_paths(&self, text: &str) -> Option<Vec<PathBuf>> {
        let is_path = text.len() <= MAX_PATH && !text.contains('\0');
        is_path.then(|| self.cwd.iter().map(|cwd| cwd.join(text)).collect())
    }

    /// Returns every path that a text may mean; `None` where it may mean any.
    pub(super) fn paths(&self, text: &str) -> Option<Vec<PathBuf>> {
        if text.len() > MAX_PATH || text.contains('\0') {
            return None;
        }
        let mut paths: Vec<PathBuf> = self.cwd.iter().map(|cwd| cwd.join(text)).collect();
        if let Some(below) = text.strip_prefix('~') {
            // Another user's home is nowhere that is known here.
            let below = below.strip_prefix('/').or(below.is_empty().then_some(""))?;
            if self.home.is_empty() {
                return None;
            }
            paths.extend(self.home.iter().map(|home| home.join(below)));
        }
        Some(paths)
    }
}

/// The longest path that is looked at; the kernel takes no longer one.
pub(super) const MAX_PATH: usize = 4096;
/// The most files of one call.
pub(super) const MAX_FILES: usize = 256;

/// Tools that read files.
pub(super) const READERS: [&str; 5] = ["Read", "Grep", "Glob", "LS", "NotebookRead"];
/// Tools that run lines of bash.
pub(super) const SHELLS: [&str; 2] = ["Bash", "Terminal"];
/// Keys of a shell's input that change nothing about what runs.
const PLAIN_KEYS: [&str; 8] = [
    "command",
    "description",
    "explanation",
    "is_background",
    "run_in_background",
    "timeout",
    "timeout_ms",
    "title",
];
/// Tools of other hosts that run lines. Their input is not read, so a rule that denies a part of a shell denies them.
pub(super) const OTHER_SHELLS: [&str; 10] = [
    "exec",
    "exec_command",
    "execute_command",
    "local_shell",
    "powershell",
    "run_command",
    "run_in_terminal",
    "run_shell_command",
    "run_terminal_cmd",
    "shell",
];
/// Tools that write files.
pub(super) const WRITERS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

impl ToolCall {
    /// Reads the input of a tool as agents write it. `real` says where a path really is or would be, `found` where one is that is
    /// there.
    pub fn from_json(
        tool: &str,
        input: &Value,
        around: &Surroundings,
        real: impl Fn(&Path) -> Option<PathBuf>,
        found: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Self {
        let read = match tool {
            // Other shells read lines otherwise: rules about parts of them are not understood.
            "Bash" | "Terminal" => input.get("command").and_then(Value::as_str).map(|command| {
                let line = shell::read(command);
                let seen = seen(&line, around, &real, &found);
                let unread = unread_keys(input);
                ToolInput::Command { text: command.to_owned(), line, seen, unread }
            }),
            _ if READERS.contains(&tool) || WRITERS.contains(&tool) => {
                let mut files = input::files(tool, input, around, &real);
                for file in files.iter_mut().flatten() {
                    let mut ways = file.paths.iter().flat_map(|path| path.ancestors());
                    file.is_in_repository = ways.any(|way| found(&way.join("HEAD")).is_some());
                }
                files.map(ToolInput::Files)
            }
            "WebFetch" | "Fetch" => {
                let hosts = input::hosts(input);
                (!hosts.is_empty()).then_some(ToolInput::Hosts(hosts))
            }
            _ => None,
        };
        Self { tool: tool.to_owned(), input: read.unwrap_or(ToolInput::Other) }
    }

    /// Returns what it is called with in one line, for people and logs.
    pub fn summary(&self) -> Option<String> {
        let paths = |files: &[FileArgument]| {
            let first = files.iter().filter_map(|file| file.paths.first());
            first.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        match &self.input {
            ToolInput::Command { text, .. } => Some(text.clone()),
            ToolInput::Files(files) => Some(paths(files)),
            ToolInput::Hosts(hosts) => {
                let shown = |host: &Option<Host>| {
                    host.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string)
                };
                Some(hosts.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
            ToolInput::Other => None,
        }
    }
}

/// Looks the words of a line up.
fn seen(
    line: &Result<Line, Refusal>,
    around: &Surroundings,
    real: impl Fn(&Path) -> Option<PathBuf>,
    found: impl Fn(&Path) -> Option<PathBuf>,
) -> Seen {
    let commands = || line.iter().flat_map(|line| &line.commands);
    let words = commands().flat_map(|command| command.words.iter().skip(1));
    let targets = commands().flat_map(|command| &command.redirects);
    let words = words.chain(targets.map(|redirect| &redirect.target));
    let exact =
        words.filter(|word| word.certainty == Certainty::Exact && word.text.len() <= MAX_PATH);
    let mut seen = Seen { real: leading(line, around, real), ..Seen::default() };
    for word in exact.filter(|word| !word.text.is_empty() && !word.text.contains('\0')) {
        let paths = || around.cwd.iter().map(|cwd| cwd.join(&word.text));
        if let Some(real) = paths().find_map(|path| found(&path)) {
            seen.found.insert(word.text.clone(), real);
        }
        // Only below a folder there is a `.`.
        if paths().any(|path| found(&path.join(".")).is_some()) {
            seen.folders.insert(word.text.clone());
        }
    }
    let is_there = |text: &&String| {
        let mut paths = around.cwd.iter().map(|cwd| cwd.join(text));
        paths.any(|path| found(&path).is_some() || found(&plain(&path)).is_some())
    };
    seen.existing = seen.real.keys().filter(is_there).cloned().collect();
    let named = seen.real.keys().flat_map(|text| around.cwd.iter().map(move |cwd| cwd.join(text)));
    let all: BTreeSet<PathBuf> =
        named.map(|path| plain(&path)).chain(seen.real.values().cloned()).collect();
    let ways: BTreeSet<&Path> = all.iter().flat_map(|path| path.ancestors()).collect();
    let is_repository = |way: &&Path| found(&way.join("HEAD")).is_some();
    seen.repositories = ways.into_iter().filter(is_repository).map(Path::to_owned).collect();
    seen
}

/// Returns the keys of a shell's input that may say in which folder, with which variables or in which shell the line runs.
fn unread_keys(input: &Value) -> Vec<String> {
    let keys = input.as_object().into_iter().flatten();
    let is_plain = |key: &str, value: &Value| {
        PLAIN_KEYS.contains(&key) && !value.is_object() && !value.is_array()
    };
    keys.filter(|(key, value)| !is_plain(key, value) && !value.is_null())
        .map(|(key, _)| key.clone())
        .collect()
}

/// Finds where the texts of a line lead that may be paths.
fn leading(
    line: &Result<Line, Refusal>,
    around: &Surroundings,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> BTreeMap<String, PathBuf> {
    let commands = || line.iter().flat_map(|line| &line.commands);
    let words = commands().flat_map(|command| command.words.iter().skip(1));
    let targets = commands().flat_map(|command| &command.redirects).map(|file| &file.target);
    let mut all = BTreeMap::new();
    for word in words.chain(targets).take(MAX_FILES) {
        for text in attached(&word.text) {
            let text = text.as_str();
            // Of a pattern the folder is known that it looks in.
            let folder = before_pattern(text);
            let folder = if folder.len() < text.len() && !folder.is_empty() {
                format!("{folder}/")
            } else {
                folder.to_owned()
            };
            for path in [text, folder.as_str()] {
                let is_path = !path.is_empty() && !path.contains('\0') && !all.contains_key(path);
                let lead = || around.cwd.last().and_then(|cwd| real(&cwd.join(path)));
                if is_path && let Some(lead) = lead() {
                    all.insert(path.to_owned(), lead);
                }
            }
        }
    }
    // What is copied into a folder may meet a link of its own name there.
    for command in commands().take(MAX_FILES) {
        let Some((folder, files)) = command.words.split_last() else { continue };
        for file in files.iter().skip(1).take(MAX_FILES) {
            let path = copy_in(&folder.text, &file.text);
            if !path.contains('\0')
                && let Some(lead) = around.cwd.last().and_then(|cwd| real(&cwd.join(&path)))
            {
                all.insert(path, lead);
            }
        }
    }
    all
}

/// Returns the texts in a word that may be a path: all of it, what is attached to an option, a name or an `@`, and what programs
/// make of it when they unpack, pack or clone it.
pub(super) fn attached(word: &str) -> Vec<String> {
    let dashed = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    // Any of the letters may be the option that takes it.
    let after_option = dashed
        .into_iter()
        .flat_map(|rest| rest.char_indices().skip(1).take(8).map(move |(at, _)| &rest[at..]));
    let parts = word.char_indices().filter(|(_, c)| matches!(c, '=' | ':' | '@' | '<'));
    let parts = parts.take(8).map(|(at, _)| &word[at + 1..]);
    let all = std::iter::once(word).chain(after_option).chain(parts).map(str::to_owned);
    let made = cloned(word).into_iter().chain(packed(word));
    all.chain(made).filter(|text| !text.is_empty() && text.len() <= MAX_PATH).collect()
}

/// Returns where a file goes that is copied into a folder.
pub(super) fn copy_in(folder: &str, file: &str) -> String {
    let name = file.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    format!("{}/{name}", folder.trim_end_matches('/'))
}

/// Returns the folder that a clone of an address makes by itself.
pub(super) fn cloned(address: &str) -> Option<String> {
    address.contains(':').then_some(())?;
    let path = address.trim_end_matches('/');
    let path = path.strip_suffix("/.git").unwrap_or(path).trim_end_matches('/');
    // Of a host alone the port is left out.
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let path = match path.rsplit_once(':') {
        Some((host, port)) if is_port(port) && !port.contains('/') => host,
        _ => path,
    };
    let last = path.rsplit(['/', ':', '@']).next()?;
    Some(last.strip_suffix(".git").unwrap_or(last).to_owned())
}

/// Returns the files that packing or unpacking a file makes.
pub(super) fn packed(file: &str) -> Vec<String> {
    let is_plain = !file.is_empty() && !file.starts_with('-') && !file.contains([' ', ':']);
    if !is_plain || file.ends_with('/') {
        return Vec::new();
    }
    let shorter = file.rsplit_once('.').and_then(|(stem, ending)| match ending {
        "gz" | "bz2" | "xz" | "zst" | "Z" | "z" | "lzma" | "bz" | "lz4" => Some(stem.to_owned()),
        "tgz" | "tbz2" | "tbz" | "txz" | "tzst" | "taz" | "tlz" => Some(format!("{stem}.tar")),
        _ => None,
    });
    // gzip takes these off as well; bzip2 adds `.out` to what it does not know.
    let dashed = ["-gz", "-z", "_z"].iter().filter_map(|ending| file.strip_suffix(ending));
    let dashed = dashed.filter(|stem| !stem.is_empty()).map(str::to_owned);
    let longer = ["out", "gz", "bz2", "xz", "zst", "zip"].map(|ending| format!("{file}.{ending}"));
    shorter.into_iter().chain(dashed).chain(longer).collect()
}

/// Returns the folder that a pattern starts in.
pub(super) fn before_pattern(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '!']).unwrap_or(pattern.len());
    let start = &pattern[..end];
    if end == pattern.len() { start } else { start.rfind('/').map_or("", |slash| &start[..slash]) }
}
