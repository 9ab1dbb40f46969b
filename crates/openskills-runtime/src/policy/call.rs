//! A call of a tool, as a host describes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shell::{Certainty, Line, Refusal};
use skill::capabilities::Host;

use super::url::host_of;

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
        /// Words of it that name something in the working folder, and where that really is.
        found: BTreeMap<String, PathBuf>,
        /// Texts in it that may be paths, and where those really lead or would.
        real: BTreeMap<String, PathBuf>,
    },
    /// Files and folders: all that are named, wherever in the input.
    Files(Vec<FileArgument>),
    /// Hosts on the network: all that are named; absent where an address cannot be read.
    Hosts(Vec<Option<Host>>),
    /// Anything else.
    Other,
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
        }
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
const MAX_FILES: usize = 256;

/// Tools that read files.
pub(super) const READERS: [&str; 5] = ["Read", "Grep", "Glob", "LS", "NotebookRead"];
/// Tools that run lines of bash.
pub(super) const SHELLS: [&str; 2] = ["Bash", "Terminal"];
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
                let found = named(&line, around, found);
                let real = leading(&line, around, &real);
                ToolInput::Command { text: command.to_owned(), line, found, real }
            }),
            _ if READERS.contains(&tool) || WRITERS.contains(&tool) => {
                files(tool, input, around, &real).map(ToolInput::Files)
            }
            "WebFetch" | "Fetch" => {
                let mut urls = Vec::new();
                texts(input, &mut |key, text| {
                    if is_key(key, &["url", "urls", "uri", "uris"]) {
                        urls.push(host_of(text));
                    }
                });
                (!urls.is_empty()).then_some(ToolInput::Hosts(urls))
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

/// Finds the words of a line that name something in the working folder.
fn named(
    line: &Result<Line, Refusal>,
    around: &Surroundings,
    found: impl Fn(&Path) -> Option<PathBuf>,
) -> BTreeMap<String, PathBuf> {
    let commands = line.iter().flat_map(|line| &line.commands);
    let words = commands.flat_map(|command| command.words.iter().skip(1));
    let targets =
        line.iter().flat_map(|line| &line.commands).flat_map(|command| &command.redirects);
    let words = words.chain(targets.map(|redirect| &redirect.target));
    let exact =
        words.filter(|word| word.certainty == Certainty::Exact && word.text.len() <= MAX_PATH);
    let mut all = BTreeMap::new();
    for word in exact.filter(|word| !word.text.is_empty() && !word.text.contains('\0')) {
        let paths = around.cwd.iter().map(|cwd| cwd.join(&word.text));
        if let Some(real) = paths.into_iter().find_map(|path| found(&path)) {
            all.insert(word.text.clone(), real);
        }
    }
    all
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
    all
}

/// Returns the texts in a word that may be a path: all of it, and what is attached to an option, a name or an `@`.
pub(super) fn attached(word: &str) -> impl Iterator<Item = &str> {
    let dashed = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    // Any of the letters may be the option that takes it.
    let after_option = dashed
        .into_iter()
        .flat_map(|rest| rest.char_indices().skip(1).take(8).map(move |(at, _)| &rest[at..]));
    let parts = word.char_indices().filter(|(_, c)| matches!(c, '=' | ':' | '@' | '<'));
    let parts = parts.take(8).map(|(at, _)| &word[at + 1..]);
    std::iter::once(word)
        .chain(after_option)
        .chain(parts)
        .filter(|text| !text.is_empty() && text.len() <= MAX_PATH)
}

/// Collects every path of an input; `None` if there is none, or one that nothing can be said about.
fn files(
    tool: &str,
    input: &Value,
    around: &Surroundings,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Option<Vec<FileArgument>> {
    let mut named: Vec<(String, bool)> = Vec::new();
    let mut ending = None;
    let is_search = matches!(tool, "Grep" | "Glob" | "LS");
    texts(input, &mut |key, text| {
        let is_path = is_key(
            key,
            &[
                "filepath",
                "filepaths",
                "notebookpath",
                "path",
                "paths",
                "file",
                "files",
                "directory",
            ],
        );
        let is_pattern = is_key(key, &["glob"]) || (tool == "Glob" && is_key(key, &["pattern"]));
        if is_path {
            named.push((text.to_owned(), is_search));
        } else if is_pattern {
            named.push((before_pattern(text).to_owned(), true));
            // `*.rs` and `**/*.rs` find nothing else.
            let last = text.rsplit('/').next().unwrap_or(text);
            ending = last
                .strip_prefix('*')
                .filter(|end| !end.contains(['*', '?', '[', '{']))
                .map(str::to_owned);
        }
    });
    // A search without a folder is one of the working folder.
    if named.is_empty() && is_search {
        named.push((".".to_owned(), true));
    }
    if named.is_empty() || named.len() > MAX_FILES {
        return None;
    }
    // Patterns of a search are relative to the folder that is searched.
    let base = input.get("path").and_then(Value::as_str).filter(|_| is_search);
    let all = named.into_iter().map(|(text, is_searched)| {
        let mut paths = around.paths(&text)?;
        for base in base.map(|base| around.paths(base)).into_iter().flatten().flatten() {
            paths.push(base.join(&text));
        }
        let others: Vec<PathBuf> = paths.iter().filter_map(|path| real(path)).collect();
        paths.extend(others);
        Some(FileArgument { paths, is_searched, ending: ending.clone() })
    });
    all.collect()
}

/// Returns the folder that a pattern starts in.
fn before_pattern(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '!']).unwrap_or(pattern.len());
    let start = &pattern[..end];
    if end == pattern.len() { start } else { start.rfind('/').map_or("", |slash| &start[..slash]) }
}

/// Hands out every text of an input with the key that it stands under; those of a list stand under the list's.
fn texts(value: &Value, found: &mut impl FnMut(&str, &str)) {
    fn walk(key: &str, value: &Value, found: &mut impl FnMut(&str, &str)) {
        match value {
            Value::String(text) => found(key, text),
            Value::Array(items) => items.iter().for_each(|item| walk(key, item, found)),
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| walk(key, value, found));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    walk("", value, found);
}

/// Compares a key in whatever case it is written.
fn is_key(key: &str, names: &[&str]) -> bool {
    let key: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    names.contains(&key.as_str())
}
