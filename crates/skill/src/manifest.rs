//! `csk-skill.json`: the commands that a skill provides, the folders they run in, and its declared capabilities.
//!
//! Version 1 copies single files; version 2 installs whole folders and is strict; version 3 adds capabilities. If the
//! file is missing, the commands of `agents/runtime.json` are used instead.

pub(crate) mod declared;
mod legacy;
mod schema;

use std::ops::Range;

use crate::interpreters::{self, InterpreterLocation};
use crate::json::{self, Object, Text, UnknownKeys};
use crate::rel_path::RelPathError;
use crate::{Code, Diagnostic, Identifier, RelPath, Strictness};

pub use declared::{DeclaredCapabilities, DeclaredFilesystem, DeclaredList};
pub use schema::manifest_schema;

/// File name of the manifest.
pub const MANIFEST_FILE: &str = "csk-skill.json";
/// Alternative name of the same file, which takes precedence.
pub const AGENT_MANIFEST_FILE: &str = "agent-skill.json";
/// The older file that is used if there is no manifest.
pub const LEGACY_MANIFEST_FILE: &str = "agents/runtime.json";

/// Commands that no skill may provide, because anyone who types them expects the system's.
pub const RESERVED_COMMANDS: &[&str] = &[
    "Rscript",
    "ash",
    "awk",
    "bash",
    "bun",
    "bunx",
    "cargo",
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "claude",
    "cmd",
    "codex",
    "command",
    "corepack",
    "cp",
    "csh",
    "csk",
    "curl",
    "dash",
    "dd",
    "deno",
    "doas",
    "docker",
    "echo",
    "env",
    "eval",
    "exec",
    "find",
    "fish",
    "gawk",
    "gcc",
    "gh",
    "git",
    "grep",
    "gsudo",
    "head",
    "helm",
    "install",
    "ionice",
    "jq",
    "kill",
    "ksh",
    "kubectl",
    "ln",
    "ls",
    "lua",
    "luajit",
    "make",
    "man",
    "mawk",
    "mkdir",
    "mkfifo",
    "more",
    "mv",
    "nc",
    "nice",
    "node",
    "nohup",
    "npm",
    "npx",
    "openskills",
    "openssl",
    "passwd",
    "perl",
    "php",
    "pip",
    "pip3",
    "pipx",
    "pkexec",
    "pnpm",
    "podman",
    "powershell",
    "printf",
    "ps",
    "pwd",
    "pwsh",
    "python",
    "python3",
    "rg",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "scp",
    "sed",
    "setsid",
    "sftp",
    "sh",
    "shred",
    "sort",
    "ssh",
    "ssh-add",
    "ssh-agent",
    "ssh-keygen",
    "su",
    "sudo",
    "sudoedit",
    "tail",
    "tar",
    "tclsh",
    "tcsh",
    "tee",
    "test",
    "time",
    "timeout",
    "touch",
    "true",
    "tsx",
    "umount",
    "uniq",
    "unzip",
    "uv",
    "uvx",
    "vi",
    "vim",
    "wc",
    "wget",
    "which",
    "xargs",
    "yarn",
    "zip",
    "zsh",
];

/// Fields that would make csk run something. They are always rejected.
const FORBIDDEN_FIELDS: &[&str] = &["install", "check", "post_install", "script", "command_args"];

/// What is at a path in a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEntry {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// Returns what is at a path in the skill.
pub type Tree<'a> = &'a dyn Fn(&str) -> Option<TreeEntry>;

/// The commands and capabilities that a skill declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version of the file.
    pub schema_version: u64,
    /// Folders with command files, which are not part of the agent's context, in file order.
    pub runtime_roots: Vec<RelPath>,
    /// The commands, in file order.
    pub commands: Vec<Command>,
    /// The declared capabilities; `None` if there are none.
    pub capabilities: Option<DeclaredCapabilities>,
    /// Whether this comes from `agents/runtime.json`, from which unusable entries are skipped.
    pub is_legacy: bool,
}

/// A command that a skill provides or requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The name that users type.
    pub name: Identifier,
    /// Who provides it.
    pub kind: CommandKind,
}

/// Who provides a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// The skill provides it.
    Script {
        /// The file on Linux and macOS.
        unix: Option<RelPath>,
        /// The file on Windows.
        windows: Option<RelPath>,
    },
    /// It must be installed on the system.
    System {
        /// The program to look up on the PATH.
        program: String,
        /// How to install it, shown if it is missing.
        hint: Option<String>,
    },
}

/// A parsed manifest, if no problem is an error, and every problem.
pub type ParsedManifest = (Option<Manifest>, Vec<Diagnostic>);

impl Manifest {
    /// Parses `csk-skill.json`. `tree` returns what is at a path in the skill. The manifest is `Some` exactly when no
    /// problem is an error.
    pub fn parse(file: &str, text: &str, tree: Tree<'_>) -> (Option<Self>, Vec<Diagnostic>) {
        json::read(file, text, |object| {
            let schema_version = object.schema_version_or(&[1, 2, 3], |found| {
                if !found.parse::<u64>().is_ok_and(|version| version > 3) {
                    let message = format!("`schema_version` is {found}; expected 1, 2 or 3");
                    return (message, "write a whole number, without quotes".to_owned());
                }
                let name = file.rsplit('/').next().unwrap_or(file);
                let message = format!(
                    "Unsupported {name} schema_version {found}; this skill requires a newer csk."
                );
                (message, "Upgrade csk: pull its repository and rebuild it.".to_owned())
            })?;
            let unknown =
                if schema_version == 1 { UnknownKeys::Ignored } else { UnknownKeys::Refused };
            object.unknown_keys(unknown);
            let runtime_roots = if schema_version == 1 { Vec::new() } else { roots(object, tree) };
            let reader = Reader { tree, unknown, roots: &runtime_roots };
            let commands = object.entries("commands", |name, inner| reader.command(name, inner));
            let capabilities = (schema_version >= 3)
                .then(|| object.object("capabilities", declared::read))
                .flatten();
            let is_legacy = false;
            Some(Self { schema_version, runtime_roots, commands, capabilities, is_legacy })
        })
    }

    /// Reads the manifest of a skill under either of its two names; `None` if it has neither. If both exist, each must
    /// be valid and their contents must be equal. `read` returns the text of a file in the skill; `show` returns the
    /// file name for diagnostics.
    pub fn read<E>(
        read: impl Fn(&'static str) -> Result<Option<String>, E>,
        show: impl Fn(&'static str) -> String,
        tree: Tree<'_>,
    ) -> Result<Option<ParsedManifest>, E> {
        let (agent, own) = (read(AGENT_MANIFEST_FILE)?, read(MANIFEST_FILE)?);
        let parse = |name, text: &str| Self::parse(&show(name), text, tree);
        Ok(match (agent, own) {
            (None, None) => None,
            (Some(text), None) => Some(parse(AGENT_MANIFEST_FILE, &text)),
            (None, Some(text)) => Some(parse(MANIFEST_FILE, &text)),
            (Some(agent), Some(own)) => {
                let (manifest, mut problems) = parse(AGENT_MANIFEST_FILE, &agent);
                let (other, more) = parse(MANIFEST_FILE, &own);
                problems.extend(more);
                let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
                let is_same = value(&agent) == value(&own);
                let is_valid = manifest.is_some() && other.is_some();
                if is_valid && !is_same {
                    let message = format!("{AGENT_MANIFEST_FILE} and {MANIFEST_FILE} differ");
                    let hint = format!("remove {MANIFEST_FILE}, or make both files identical");
                    let file = show(AGENT_MANIFEST_FILE);
                    let conflict = Diagnostic::of_file(
                        Code::ManifestConflict,
                        Strictness::Strict,
                        &file,
                        message,
                    );
                    problems.extend(conflict.map(|conflict| conflict.with_hint(hint)));
                }
                Some((manifest.filter(|_| is_valid && is_same), problems))
            }
        })
    }

    /// Reads `agents/runtime.json`. Other tools use that file too, so entries that csk cannot use are reported and
    /// skipped.
    pub fn parse_legacy(file: &str, text: &str, tree: Tree<'_>) -> (Self, Vec<Diagnostic>) {
        legacy::parse(file, text, tree)
    }

    /// Returns true if `path` is a command file and not part of the agent's context.
    pub fn is_runtime(&self, path: &RelPath) -> bool {
        self.runtime_roots.iter().any(|root| is_inside(path.as_str(), root.as_str()))
    }
}

impl Command {
    /// Returns true if the skill provides the command.
    pub fn is_script(&self) -> bool {
        matches!(self.kind, CommandKind::Script { .. })
    }
}

/// Returns true if `path` is `root` or inside it.
fn is_inside(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns true if no skill may provide a command with this name.
pub(crate) fn is_reserved(name: &Identifier) -> bool {
    let lower = name.as_str().to_ascii_lowercase();
    // `python3.12` is python, and git runs any program named `git-x`.
    let base = lower.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    // Scripts that the runner starts never request the other interpreters.
    let is_interpreter = interpreters::named(base)
        .is_some_and(|interpreter| interpreter.location == InterpreterLocation::Path);
    lower.starts_with("git-")
        || is_interpreter
        || RESERVED_COMMANDS.iter().any(|reserved| name.as_str().eq_ignore_ascii_case(reserved))
}

/// Commands that no version of csk has ever installed: a marker that lists one is forged.
const BASIC_COMMANDS: [&str; 16] = [
    "bash",
    "cat",
    "cp",
    "csk",
    "env",
    "git",
    "ls",
    "mv",
    "node",
    "openskills",
    "python",
    "python3",
    "rm",
    "sh",
    "ssh",
    "sudo",
];

/// Returns true for a command that no skill can have provided.
pub(crate) fn is_basic(name: &Identifier) -> bool {
    BASIC_COMMANDS.iter().any(|basic| name.as_str().eq_ignore_ascii_case(basic))
}

fn roots(object: &mut Object<'_, '_, '_>, tree: Tree<'_>) -> Vec<RelPath> {
    let mut roots: Vec<RelPath> = Vec::new();
    for (at, text) in object.indexed_texts("runtime_roots") {
        let trimmed = Text { value: text.value.trim_end_matches('/').to_owned(), ..text.clone() };
        // A path of only slashes is absolute, not empty.
        let text = if trimmed.value.is_empty() { text } else { trimmed };
        let label = format!("runtime_roots[{at}]");
        let Some(root) = path(object, &label, &text, Code::RuntimeRoot) else { continue };
        let mut refuse = |message: String| {
            object.problem(Code::RuntimeRoot, text.range.clone(), message);
        };
        match tree(root.as_str()) {
            None => refuse(format!("runtime root does not exist: {root}")),
            Some(TreeEntry::File | TreeEntry::Link) => {
                refuse(format!("runtime root must be a directory: {root}"));
            }
            Some(TreeEntry::Folder) => {}
        }
        for other in &roots {
            if *other == root {
                refuse(format!("runtime roots must be unique: {root}"));
            } else if is_inside(root.as_str(), other.as_str()) {
                refuse(format!("runtime roots must be disjoint: {other} contains {root}"));
            } else if is_inside(other.as_str(), root.as_str()) {
                refuse(format!("runtime roots must be disjoint: {root} contains {other}"));
            }
        }
        roots.push(root);
    }
    roots
}

/// Reads a path; `label` is its name in messages.
fn path(object: &mut Object<'_, '_, '_>, label: &str, text: &Text, code: Code) -> Option<RelPath> {
    let error = match RelPath::new(text.value.as_str()) {
        Ok(path) => return Some(path),
        Err(error) => error,
    };
    let message = match error {
        RelPathError::Empty => format!("{label} must be a non-empty string"),
        RelPathError::Absolute(_) => format!("{label} must be a relative path"),
        RelPathError::Parent(_) => format!("{label} must not contain '..'"),
        RelPathError::EmptyPart(_) => {
            format!("{label} must not contain an empty or '.' component")
        }
        RelPathError::Character(_) => {
            format!("{label} must be a POSIX-style path: no backslash, no control character")
        }
    };
    object.problem(code, text.range.clone(), message);
    None
}

/// The context for reading one command.
struct Reader<'a> {
    tree: Tree<'a>,
    unknown: UnknownKeys,
    roots: &'a [RelPath],
}

impl Reader<'_> {
    fn command(&self, name: &Text, object: &mut Object<'_, '_, '_>) -> Option<Command> {
        object.unknown_keys(self.unknown);
        let name = match Identifier::new(name.value.as_str()) {
            Ok(name) => Some(name),
            Err(error) => {
                let message = format!("the command name `{}` is not allowed: {error}", name.value);
                object.problem(Code::BadIdentifier, name.range.clone(), message);
                None
            }
        };
        let kind = object.required("type")?;
        let kind = match kind.value.as_str() {
            "script" => self.script(object, name.as_ref(), kind.range),
            "system" => self.system(object),
            other => {
                let message = format!("`type` is `{other}`; expected `script` or `system`");
                object.problem(Code::BadValue, kind.range, message);
                // The other keys cannot be checked without the type.
                object.unknown_keys(UnknownKeys::Ignored);
                None
            }
        };
        Some(Command { name: name?, kind: kind? })
    }

    fn script(
        &self,
        object: &mut Object<'_, '_, '_>,
        name: Option<&Identifier>,
        place: Range<usize>,
    ) -> Option<CommandKind> {
        if let Some(name) = name.filter(|name| is_reserved(name)) {
            let message = format!("a skill may not provide a command named `{name}`");
            let hint = "choose a different name for the command";
            object.problem_with_hint(Code::CommandReserved, place.clone(), message, hint);
        }
        let has_path = object.has("unix_path") || object.has("win_path");
        let (unix, windows) = (object.text("unix_path"), object.text("win_path"));
        if !has_path {
            let message = format!("{} must have `unix_path` or `win_path`", object.path());
            object.problem(Code::MissingKey, place, message);
            return None;
        }
        let mut file = |key: &str, text: Option<Text>| {
            text.map(|text| self.file(object, key, &text)).map_or(Some(None), |path| path.map(Some))
        };
        let (unix, windows) = (file("unix_path", unix), file("win_path", windows));
        Some(CommandKind::Script { unix: unix?, windows: windows? })
    }

    /// Reads the path of a command: a regular file, inside a runtime root if there are any.
    fn file(&self, object: &mut Object<'_, '_, '_>, key: &str, text: &Text) -> Option<RelPath> {
        let label = object.path_of(key);
        let path = path(object, &label, text, Code::CommandPath)?;
        let is_outside = !self.roots.is_empty()
            && !self.roots.iter().any(|root| is_inside(path.as_str(), root.as_str()));
        let message = match (self.tree)(path.as_str()) {
            _ if is_outside => {
                format!("command path \"{path}\" is not inside any runtime_roots")
            }
            None => format!("command path does not exist: {path}"),
            Some(TreeEntry::Folder) => format!("command path must be a file: {path}"),
            Some(TreeEntry::Link) => format!("command path must be a file, not a link: {path}"),
            Some(TreeEntry::File) => return Some(path),
        };
        object.problem(Code::CommandPath, text.range.clone(), message);
        None
    }

    fn system(&self, object: &mut Object<'_, '_, '_>) -> Option<CommandKind> {
        if self.unknown == UnknownKeys::Refused {
            for field in FORBIDDEN_FIELDS {
                if let Some(range) = object.take_key(field) {
                    let message = format!("`{}` is not allowed", object.path_of(field));
                    let hint =
                        "remove it; csk only looks up system commands on PATH and never runs them";
                    object.problem_with_hint(Code::RefusedKey, range, message, hint);
                }
            }
        }
        let program = object.required("command");
        let hint = object.text("hint").map(|text| text.value);
        let program = program?;
        let is_name = !program.value.is_empty()
            && !program.value.starts_with('-')
            && !program.value.contains(|c: char| c == '/' || c == '\\' || c.is_control());
        if !is_name {
            let label = object.path_of("command");
            let message = format!("{label} must be the name of a program, not a path");
            object.problem(Code::BadValue, program.range, message);
            return None;
        }
        Some(CommandKind::System { program: program.value, hint })
    }
}

#[cfg(test)]
mod tests;
