//! What of a snapshot are commands: the manifest, the files that go into the runtime store, and the file of
//! each command in it.

use std::collections::{BTreeMap, BTreeSet};

use skill::{
    Command, CommandKind, Diagnostic, Identifier, LEGACY_MANIFEST_FILE, MANIFEST_FILE, Manifest,
    RelPath, Severity,
};

use crate::snapshot::{File, FileKind, Snapshot, stray_link};

/// For which system commands are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and macOS: `unix_path`, links as shims.
    Unix,
    /// Windows: `win_path`, `.cmd` files as shims.
    Windows,
}

impl Platform {
    /// The system that this program was built for.
    pub const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };

    /// Returns the name of a command's shim.
    pub fn shim_name(self, command: &Identifier) -> String {
        match self {
            Self::Unix => command.to_string(),
            Self::Windows => format!("{command}.cmd"),
        }
    }

    /// Returns the text of a shim that is a file, not a link.
    pub fn shim_text(self, target: &str) -> Option<String> {
        match self {
            Self::Unix => None,
            Self::Windows => Some(format!("@echo off\r\n\"{target}\" %*\r\n")),
        }
    }
}

/// Why the commands of a skill cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// The manifest is wrong.
    #[error("{MANIFEST_FILE} cannot be used: {}", .problems.join("; "))]
    Manifest {
        /// Every problem, with its line and column.
        problems: Vec<String>,
        /// What to do about the first.
        hint: Option<String>,
    },
    /// A command has no file for this system.
    #[error("the command `{command}` has no `{key}`, which this system needs")]
    Platform {
        /// Which.
        command: Identifier,
        /// What is missing.
        key: &'static str,
    },
    /// A link of the runtime leads to something that is not part of it.
    #[error("the link {link} -> {target} leads out of the runtime roots")]
    Link {
        /// The link.
        link: String,
        /// Where it points.
        target: String,
    },
}

/// The files of a skill's commands, as they stand in the runtime store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// All files, sorted.
    pub files: Vec<File>,
    /// The commands that the skill brings, each with its file.
    pub commands: BTreeMap<Identifier, RelPath>,
}

/// Reads the manifest of a skill, and what to tell of it. A skill without one has no commands.
pub fn manifest(snapshot: &Snapshot) -> Result<(Option<Manifest>, Vec<String>), RuntimeError> {
    let tree = |path: &str| snapshot.entry(path);
    let told = |file: &str, problems: &[Diagnostic], severity: Severity| -> Vec<String> {
        let wanted = problems.iter().filter(|problem| problem.severity == severity);
        wanted.map(|problem| shown(file, problem)).collect()
    };
    if let Some(file) = snapshot.file(MANIFEST_FILE) {
        let Some(text) = file.text().filter(|_| file.kind != FileKind::Link) else {
            let problems = vec!["it is no text file, or too large".to_owned()];
            return Err(RuntimeError::Manifest { problems, hint: None });
        };
        let (manifest, problems) = Manifest::parse(MANIFEST_FILE, &text, &tree);
        let warnings = told(MANIFEST_FILE, &problems, Severity::Warning);
        return manifest.map(|manifest| (Some(manifest), warnings)).ok_or_else(|| {
            RuntimeError::Manifest {
                hint: problems.iter().find_map(|problem| problem.hint.clone()),
                problems: told("", &problems, Severity::Error),
            }
        });
    }
    let legacy = snapshot.file(LEGACY_MANIFEST_FILE).filter(|file| file.kind != FileKind::Link);
    Ok(match legacy.and_then(File::text) {
        None => (None, Vec::new()),
        Some(text) => {
            let (manifest, problems) = Manifest::parse_legacy(LEGACY_MANIFEST_FILE, &text, &tree);
            (Some(manifest), told(LEGACY_MANIFEST_FILE, &problems, Severity::Warning))
        }
    })
}

fn shown(file: &str, problem: &Diagnostic) -> String {
    let place = problem
        .span
        .map_or_else(String::new, |span| format!("{}:{}: ", span.start.line, span.start.column));
    let file = if file.is_empty() { String::new() } else { format!("{file}:") };
    format!("{file}{place}{}", problem.message)
}

/// Returns what goes into the runtime store; none if the skill brings no command.
pub fn runtime(
    snapshot: &Snapshot,
    manifest: &Manifest,
    platform: Platform,
) -> Result<Option<Runtime>, RuntimeError> {
    let mut commands = BTreeMap::new();
    for command in &manifest.commands {
        if let Some(path) = script(command, platform)? {
            commands.insert(command.name.clone(), path.clone());
        }
    }
    let mut files: Vec<File>;
    if manifest.runtime_roots.is_empty() {
        // Each command is one file of its own.
        files = Vec::new();
        for (name, path) in &mut commands {
            let Some(found) = snapshot.file(path.as_str()) else { continue };
            *path = RelPath::new(format!("bin/{}", platform.shim_name(name)))
                .expect("an identifier is a plain name");
            files.push(File {
                path: path.clone(),
                kind: FileKind::Executable,
                content: found.content.clone(),
            });
        }
    } else {
        let is_wanted = |file: &&File| manifest.is_runtime(&file.path);
        files = snapshot.files().iter().filter(is_wanted).cloned().collect();
        let entries: BTreeSet<&RelPath> = commands.values().collect();
        for file in files.iter_mut().filter(|file| entries.contains(&file.path)) {
            file.kind = FileKind::Executable;
        }
        if let Some(link) = stray_link(&files) {
            let target = link.text().unwrap_or_default();
            return Err(RuntimeError::Link { link: link.path.to_string(), target });
        }
    }
    Ok(Some(Runtime { files, commands }).filter(|runtime| !runtime.files.is_empty()))
}

/// Returns the file of a command that the skill brings.
fn script(command: &Command, platform: Platform) -> Result<Option<&RelPath>, RuntimeError> {
    let CommandKind::Script { unix, windows } = &command.kind else { return Ok(None) };
    let (path, key) = match platform {
        Platform::Unix => (unix, "unix_path"),
        Platform::Windows => (windows, "win_path"),
    };
    let missing = || RuntimeError::Platform { command: command.name.clone(), key };
    path.as_ref().map(Some).ok_or_else(missing)
}
