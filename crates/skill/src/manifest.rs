//! `csk-skill.json`: the commands that a skill brings, the folders they run in, and what they may do.
//!
//! Version 1 copies single files; version 2 brings whole folders and is strict; version 3 adds
//! capabilities. Where the file is absent, the commands of `agents/runtime.json` stand in for it.

pub(crate) mod declared;
mod legacy;
mod schema;

use std::ops::Range;

use crate::interpreters::{self, InterpreterLocation};
use crate::json::{self, Object, Text, Unknown};
use crate::rel_path::RelPathError;
use crate::{Code, Diagnostic, Identifier, RelPath, Strictness};

pub use declared::{DeclaredCapabilities, DeclaredFilesystem, DeclaredList};
pub use schema::manifest_schema;

/// The manifest's file in a skill.
pub const MANIFEST_FILE: &str = "csk-skill.json";
/// The other name of the same file, which counts first.
pub const AGENT_MANIFEST_FILE: &str = "agent-skill.json";
/// The older file that stands in for it.
pub const LEGACY_MANIFEST_FILE: &str = "agents/runtime.json";

/// Commands that no skill may bring: whoever types them means the system's.
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

/// Fields that would make csk run something; they are refused by name.
const NEVER: &[&str] = &["install", "check", "post_install", "script", "command_args"];

/// What stands at a path of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEntry {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link.
    Link,
}

/// Tells what stands at a path of the skill.
pub type Tree<'a> = &'a dyn Fn(&str) -> Option<TreeEntry>;

/// What a skill declares about its commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version of the file.
    pub schema_version: u64,
    /// Folders that are runtime and not context, in the order of the file.
    pub runtime_roots: Vec<RelPath>,
    /// The commands, in the order of the file.
    pub commands: Vec<Command>,
    /// What the skill says it may do; none where it says nothing.
    pub capabilities: Option<DeclaredCapabilities>,
    /// Whether this stands in `agents/runtime.json`, of which only what can be used is used.
    pub is_legacy: bool,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What is typed.
    pub name: Identifier,
    /// Where it comes from.
    pub kind: CommandKind,
}

/// Where a command comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// The skill brings it.
    Script {
        /// The file on Linux and macOS.
        unix: Option<RelPath>,
        /// The file on Windows.
        windows: Option<RelPath>,
    },
    /// The system must have it.
    System {
        /// The program that is looked for.
        program: String,
        /// What to tell when it is missing.
        hint: Option<String>,
    },
}

/// A manifest that was read: the value, where no problem is an error, and every problem.
pub type ParsedManifest = (Option<Manifest>, Vec<Diagnostic>);

impl Manifest {
    /// Reads `csk-skill.json`. `tree` tells what the skill holds. The value is there exactly when no problem
    /// is an error.
    pub fn parse(file: &str, text: &str, tree: Tree<'_>) -> (Option<Self>, Vec<Diagnostic>) {
        json::read(file, text, |object| {
            let schema_version = object.schema_version_or(&[1, 2, 3], |found| {
                if !found.parse::<u64>().is_ok_and(|version| version > 3) {
                    let message = format!("`schema_version` is {found}; expected 1, 2 or 3");
                    return (message, "write the number, without quotes or a fraction".to_owned());
                }
                let name = file.rsplit('/').next().unwrap_or(file);
                let message = format!(
                    "Unsupported {name} schema_version {found}; this skill requires a newer csk."
                );
                (message, "Upgrade csk: pull its repository and build it again.".to_owned())
            })?;
            let unknown = if schema_version == 1 { Unknown::Ignored } else { Unknown::Refused };
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

    /// Reads the manifest of a skill by whichever of its two names it has; nothing if it has neither. With both, each must be valid and both
    /// must say the same. `read` returns the text of a file of the skill; `show` names the file in problems.
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
                    let hint = format!("remove {MANIFEST_FILE}, or make both say the same");
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

    /// Reads `agents/runtime.json`, which other tools use as well: what cannot be used is told and left out.
    pub fn parse_legacy(file: &str, text: &str, tree: Tree<'_>) -> (Self, Vec<Diagnostic>) {
        legacy::parse(file, text, tree)
    }

    /// Returns true if `path` belongs to the runtime and not to the context.
    pub fn is_runtime(&self, path: &RelPath) -> bool {
        self.runtime_roots.iter().any(|root| is_inside(path.as_str(), root.as_str()))
    }
}

impl Command {
    /// Returns true if the skill brings the command.
    pub fn is_script(&self) -> bool {
        matches!(self.kind, CommandKind::Script { .. })
    }
}

/// Returns true if `path` is `root` or below it.
fn is_inside(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns true if no skill may bring a command of that name.
pub(crate) fn is_reserved(name: &Identifier) -> bool {
    let lower = name.as_str().to_ascii_lowercase();
    // `python3.12` is python, and git runs whatever is called `git-x`.
    let base = lower.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    // The others are asked for by no script that the runner starts.
    let is_interpreter = interpreters::named(base)
        .is_some_and(|interpreter| interpreter.location == InterpreterLocation::Path);
    lower.starts_with("git-")
        || is_interpreter
        || RESERVED_COMMANDS.iter().any(|reserved| name.as_str().eq_ignore_ascii_case(reserved))
}

/// Commands that no version of csk has installed: a marker that names one is forged.
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

/// Returns true for a command that no skill can have brought.
pub(crate) fn is_basic(name: &Identifier) -> bool {
    BASIC_COMMANDS.iter().any(|basic| name.as_str().eq_ignore_ascii_case(basic))
}

fn roots(object: &mut Object<'_, '_, '_>, tree: Tree<'_>) -> Vec<RelPath> {
    let mut roots: Vec<RelPath> = Vec::new();
    for (at, text) in object.indexed_texts("runtime_roots") {
        let trimmed = Text { value: text.value.trim_end_matches('/').to_owned(), ..text.clone() };
        // A path of slashes alone is absolute, not empty.
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

/// Reads a path; `label` is what messages call it.
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
            format!("{label} must not contain an empty component or '.'")
        }
        RelPathError::Character(_) => {
            format!("{label} must be a POSIX-style path: no backslash, no control character")
        }
    };
    object.problem(code, text.range.clone(), message);
    None
}

/// What reading a command needs beside the command.
struct Reader<'a> {
    tree: Tree<'a>,
    unknown: Unknown,
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
                // The rest cannot be judged without the type.
                object.unknown_keys(Unknown::Ignored);
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
            let message = format!("a skill may not bring a command called `{name}`");
            let hint = "give the command a name of its own";
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

    /// Reads the path of a command: a plain file, inside a runtime root where there are any.
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
        if self.unknown == Unknown::Refused {
            for field in NEVER {
                if let Some(range) = object.key(field) {
                    let message = format!("`{}` is not allowed", object.path_of(field));
                    let hint = "csk looks a system command up on PATH and never runs anything";
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
