//! A tool call, as the host describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use shell::{Certainty, Line, Refusal};
use skill::capabilities::Host;

use super::input;
use super::path::plain;

/// A tool call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// The parts of its input that rules can match.
    pub input: ToolInput,
}

/// The input of a tool call.
#[derive(Debug, Clone)]
pub enum ToolInput {
    /// A shell command line.
    Command {
        /// The original text.
        text: String,
        /// The parsed line, or why it cannot be parsed.
        line: Result<Line, Refusal>,
        /// Where its paths lead on disk.
        lookup: PathLookup,
        /// Input keys that may change how the line runs and are not supported.
        unsupported_keys: Vec<String>,
    },
    /// Every file and folder mentioned anywhere in the input.
    Files(Vec<FileArgument>),
    /// Every host mentioned in the input; `None` for a URL that cannot be parsed.
    Hosts(Vec<Option<Host>>),
    /// Anything else.
    Other,
}

/// What the file system knows about the words of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathLookup {
    /// Words that name an existing file in the working folder, with its real path.
    pub found: BTreeMap<String, PathBuf>,
    /// Texts that may be paths, with the real path they lead to or would lead to.
    pub real: BTreeMap<String, PathBuf>,
    /// The texts in `real` that name something that exists.
    pub existing: BTreeSet<String>,
    /// Words that name a folder.
    pub folders: BTreeSet<String>,
    /// Folders on the way to any of these that contain a `HEAD`, so that git treats them as repositories.
    pub repositories: BTreeSet<PathBuf>,
}

/// A file in the input of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileArgument {
    /// Every path that it may refer to, all absolute: as written, and its real path if a link is on the way.
    pub paths: Vec<PathBuf>,
    /// Whether the tool searches everything below it.
    pub is_searched: bool,
    /// The file name suffix that the search is limited to, if any.
    pub ending: Option<String>,
    /// Whether it may not be a file at all: a text under an unknown key. Deny rules apply to it; allow rules need not
    /// cover it.
    pub may_be_text: bool,
    /// Whether it is in a folder that git treats as a repository.
    pub is_in_repository: bool,
}

/// What paths and rules are relative to. Each folder is listed as named and, if different, by its real path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContext {
    /// The project; rules are relative to it.
    pub workspace: Vec<PathBuf>,
    /// The working folder of the call; its paths are relative to it.
    pub cwd: Vec<PathBuf>,
    /// The user's home folder; empty if unknown.
    pub home: Vec<PathBuf>,
    /// What git would use in that folder.
    pub git: GitContext,
}

/// What git would use in the folder where a call is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitContext {
    /// The remotes of the project's repository. Git treats any other name as a folder.
    pub remotes: BTreeSet<String>,
    /// A folder between the project and the working folder that git treats as a separate repository.
    pub nested: Option<PathBuf>,
}

impl CallContext {
    /// Creates the context of a call made in `cwd`. `real` resolves the real path of a folder.
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
            git: GitContext::default(),
        }
    }

    /// Adds what git would use.
    #[must_use]
    pub fn with_git(self, git: GitContext) -> Self {
        Self { git, ..self }
    }

    /// Returns true if the project is the user's home.
    pub(super) fn is_home(&self) -> bool {
        self.home.iter().any(|home| self.workspace.contains(home))
    }

    /// Returns true if calls are made in the project's root folder.
    pub(super) fn is_at_root(&self) -> bool {
        self.cwd.iter().any(|cwd| self.workspace.contains(cwd))
    }

    /// Returns every path that a text may refer to, without expanding `~`.
    pub(super) fn plain_paths(&self, text: &str) -> Option<Vec<PathBuf>> {
        let is_path = text.len() <= MAX_PATH && !text.contains('\0');
        is_path.then(|| self.cwd.iter().map(|cwd| cwd.join(text)).collect())
    }

    /// Returns every path that a text may refer to; `None` if it could be any path.
    pub(super) fn paths(&self, text: &str) -> Option<Vec<PathBuf>> {
        if text.len() > MAX_PATH || text.contains('\0') {
            return None;
        }
        let mut paths: Vec<PathBuf> = self.cwd.iter().map(|cwd| cwd.join(text)).collect();
        if let Some(below) = text.strip_prefix('~') {
            // Another user's home folder is not known here.
            let below = below.strip_prefix('/').or(below.is_empty().then_some(""))?;
            if self.home.is_empty() {
                return None;
            }
            paths.extend(self.home.iter().map(|home| home.join(below)));
        }
        Some(paths)
    }
}

/// The kernel rejects longer paths.
pub(super) const MAX_PATH: usize = 4096;
/// Calls with more files are not analyzed.
pub(super) const MAX_FILES: usize = 256;

/// Tools that read files.
pub(super) const READERS: [&str; 5] = ["Read", "Grep", "Glob", "LS", "NotebookRead"];
/// Tools that run bash command lines.
pub(super) const SHELLS: [&str; 2] = ["Bash", "Terminal"];
/// Input keys of a shell tool that do not affect what runs.
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
/// Shell tools of other hosts. Their input is not parsed, so a rule that denies some commands denies the whole tool.
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
    /// Parses the input of a tool as agents write it. `real` resolves a path even if it does not exist yet; `found`
    /// only if it exists.
    pub fn from_json(
        tool: &str,
        input: &Value,
        context: &CallContext,
        real: impl Fn(&Path) -> Option<PathBuf>,
        found: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Self {
        let read = match tool {
            // Other shells parse lines differently, so rules about commands cannot be applied to them.
            "Bash" | "Terminal" => input.get("command").and_then(Value::as_str).map(|command| {
                let line = shell::read(command);
                let lookup = lookup(&line, context, &real, &found);
                let unsupported_keys = unsupported_keys_of(input);
                ToolInput::Command { text: command.to_owned(), line, lookup, unsupported_keys }
            }),
            _ if READERS.contains(&tool) || WRITERS.contains(&tool) => {
                let mut files = input::files(tool, input, context, &real);
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

    /// Returns the input on one line, for people and logs.
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

/// Looks up the words of a line on disk.
fn lookup(
    line: &Result<Line, Refusal>,
    context: &CallContext,
    real: impl Fn(&Path) -> Option<PathBuf>,
    found: impl Fn(&Path) -> Option<PathBuf>,
) -> PathLookup {
    let commands = || line.iter().flat_map(|line| &line.commands);
    let words = commands().flat_map(|command| command.words.iter().skip(1));
    let targets = commands().flat_map(|command| &command.redirects);
    let words = words.chain(targets.map(|redirect| &redirect.target));
    let exact =
        words.filter(|word| word.certainty == Certainty::Exact && word.text.len() <= MAX_PATH);
    let mut lookup = PathLookup { real: leading(line, context, real), ..PathLookup::default() };
    for word in exact.filter(|word| !word.text.is_empty() && !word.text.contains('\0')) {
        let paths = || context.cwd.iter().map(|cwd| cwd.join(&word.text));
        if let Some(real) = paths().find_map(|path| found(&path)) {
            lookup.found.insert(word.text.clone(), real);
        }
        // Only folders contain a `.`.
        if paths().any(|path| found(&path.join(".")).is_some()) {
            lookup.folders.insert(word.text.clone());
        }
    }
    let is_there = |text: &&String| {
        let mut paths = context.cwd.iter().map(|cwd| cwd.join(text));
        paths.any(|path| found(&path).is_some() || found(&plain(&path)).is_some())
    };
    lookup.existing = lookup.real.keys().filter(is_there).cloned().collect();
    let named =
        lookup.real.keys().flat_map(|text| context.cwd.iter().map(move |cwd| cwd.join(text)));
    let all: BTreeSet<PathBuf> =
        named.map(|path| plain(&path)).chain(lookup.real.values().cloned()).collect();
    let ways: BTreeSet<&Path> = all.iter().flat_map(|path| path.ancestors()).collect();
    let is_repository = |way: &&Path| found(&way.join("HEAD")).is_some();
    lookup.repositories = ways.into_iter().filter(is_repository).map(Path::to_owned).collect();
    lookup
}

/// Returns the input keys of a shell tool that may set the folder, the variables or the shell that the line runs in.
fn unsupported_keys_of(input: &Value) -> Vec<String> {
    let keys = input.as_object().into_iter().flatten();
    let is_plain = |key: &str, value: &Value| {
        PLAIN_KEYS.contains(&key) && !value.is_object() && !value.is_array()
    };
    keys.filter(|(key, value)| !is_plain(key, value) && !value.is_null())
        .map(|(key, _)| key.clone())
        .collect()
}

/// Resolves every text in a line that may be a path.
fn leading(
    line: &Result<Line, Refusal>,
    context: &CallContext,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> BTreeMap<String, PathBuf> {
    let commands = || line.iter().flat_map(|line| &line.commands);
    let words = commands().flat_map(|command| command.words.iter().skip(1));
    let targets = commands().flat_map(|command| &command.redirects).map(|file| &file.target);
    let mut all = BTreeMap::new();
    for word in words.chain(targets).take(MAX_FILES) {
        for text in attached(&word.text) {
            let text = text.as_str();
            // For a pattern, at least the folder it searches is known.
            let folder = before_pattern(text);
            let folder = if folder.len() < text.len() && !folder.is_empty() {
                format!("{folder}/")
            } else {
                folder.to_owned()
            };
            for path in [text, folder.as_str()] {
                let is_path = !path.is_empty() && !path.contains('\0') && !all.contains_key(path);
                let lead = || context.cwd.last().and_then(|cwd| real(&cwd.join(path)));
                if is_path && let Some(lead) = lead() {
                    all.insert(path.to_owned(), lead);
                }
            }
        }
    }
    // A file copied into a folder may meet a link with its name there.
    for command in commands().take(MAX_FILES) {
        let Some((folder, files)) = command.words.split_last() else { continue };
        for file in files.iter().skip(1).take(MAX_FILES) {
            let path = copy_in(&folder.text, &file.text);
            if !path.contains('\0')
                && let Some(lead) = context.cwd.last().and_then(|cwd| real(&cwd.join(&path)))
            {
                all.insert(path, lead);
            }
        }
    }
    all
}

/// Returns every text in a word that may be a path: the whole word, the part attached to an option, a name or an `@`,
/// and the names of files that programs create from it when they unpack, pack or clone it.
pub(super) fn attached(word: &str) -> Vec<String> {
    let dashed = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    // Any of the letters may be the option that takes the rest as its argument.
    let after_option = dashed
        .into_iter()
        .flat_map(|rest| rest.char_indices().skip(1).take(8).map(move |(at, _)| &rest[at..]));
    let parts = word.char_indices().filter(|(_, c)| matches!(c, '=' | ':' | '@' | '<'));
    let parts = parts.take(8).map(|(at, _)| &word[at + 1..]);
    let all = std::iter::once(word).chain(after_option).chain(parts).map(str::to_owned);
    let made = cloned(word).into_iter().chain(packed(word));
    all.chain(made).filter(|text| !text.is_empty() && text.len() <= MAX_PATH).collect()
}

/// Returns the path of a file after it is copied into a folder.
pub(super) fn copy_in(folder: &str, file: &str) -> String {
    let name = file.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    format!("{}/{name}", folder.trim_end_matches('/'))
}

/// Returns the default folder that cloning a URL creates.
pub(super) fn cloned(address: &str) -> Option<String> {
    address.contains(':').then_some(())?;
    let path = address.trim_end_matches('/');
    let path = path.strip_suffix("/.git").unwrap_or(path).trim_end_matches('/');
    // Git drops the port of a URL that is only a host.
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let path = match path.rsplit_once(':') {
        Some((host, port)) if is_port(port) && !port.contains('/') => host,
        _ => path,
    };
    let last = path.rsplit(['/', ':', '@']).next()?;
    Some(last.strip_suffix(".git").unwrap_or(last).to_owned())
}

/// Returns the files that packing or unpacking a file may create.
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
    // gzip also strips these suffixes; bzip2 adds `.out` to names it does not recognize.
    let dashed = ["-gz", "-z", "_z"].iter().filter_map(|ending| file.strip_suffix(ending));
    let dashed = dashed.filter(|stem| !stem.is_empty()).map(str::to_owned);
    let longer = ["out", "gz", "bz2", "xz", "zst", "zip"].map(|ending| format!("{file}.{ending}"));
    shorter.into_iter().chain(dashed).chain(longer).collect()
}

/// Returns the folder that a pattern searches.
pub(super) fn before_pattern(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '!']).unwrap_or(pattern.len());
    let start = &pattern[..end];
    if end == pattern.len() { start } else { start.rfind('/').map_or("", |slash| &start[..slash]) }
}
