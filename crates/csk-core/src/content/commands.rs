//! The commands of a skill: its manifest, the files that go into the command store, and the file of each command.

use std::collections::{BTreeMap, BTreeSet};

use skill::{
    Command, CommandKind, Diagnostic, FileNameError, Identifier, LEGACY_MANIFEST_FILE,
    MANIFEST_FILE, Manifest, RelPath, Severity,
};

use crate::content::snapshot::{
    Content, File, FileKind, Snapshot, check_names, is_there, stray_link,
};

/// The platform that commands are installed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and macOS: uses `unix_path`; shims are symlinks.
    Unix,
    /// Windows: uses `win_path`; shims are `.cmd` files.
    Windows,
}

impl Platform {
    /// The platform that this program was built for.
    pub const CURRENT: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };

    /// Returns the file name of a command's shim.
    pub fn shim_name(self, command: &Identifier) -> String {
        match self {
            Self::Unix => command.to_string(),
            Self::Windows => format!("{command}.cmd"),
        }
    }

    /// Returns the command of a shim by its file name; `None` if no command has such a shim.
    pub fn command_of(self, shim_name: &str) -> Option<Identifier> {
        let name = match self {
            Self::Unix => shim_name,
            Self::Windows => {
                let (name, extension) = shim_name.rsplit_once('.')?;
                extension.eq_ignore_ascii_case("cmd").then_some(name)?
            }
        };
        Identifier::new(name).ok()
    }

    /// Returns the text of the shim, or `None` if shims are symlinks on this platform.
    ///
    /// `cmd.exe` ends with the exit code of the program, because it is the last command of the file.
    pub fn shim_text(self, target: &str) -> Option<String> {
        // cmd.exe reads the file in the console's code page, which is UTF-8 only on request.
        let utf8 = if target.is_ascii() { "" } else { "chcp 65001 > nul\r\n" };
        match self {
            Self::Unix => None,
            Self::Windows => {
                let quoted = target.replace('%', "%%");
                Some(format!("@echo off\r\n{utf8}\"{quoted}\" %*\r\n"))
            }
        }
    }

    /// Returns the target of a shim that csk wrote; `None` for any other text.
    pub fn shim_target(self, text: &str) -> Option<String> {
        let quoted = text.lines().last()?.strip_prefix('"')?.strip_suffix("\" %*")?;
        let target = quoted.replace("%%", "%");
        (self.shim_text(&target)? == text).then_some(target)
    }
}

/// Why a skill's commands cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandFilesError {
    /// The manifest is invalid.
    #[error("`{file}` is invalid: {}", .problems.join("; "))]
    Manifest {
        /// The name of the manifest file.
        file: String,
        /// Every problem, with its line and column.
        problems: Vec<String>,
        /// How to fix the first problem.
        hint: Option<String>,
    },
    /// A command has no file for this platform.
    #[error("command `{command}` has no `{key}`, which is required on this platform")]
    Platform {
        /// The command.
        command: Identifier,
        /// The missing key.
        key: &'static str,
    },
    /// A file name is not allowed in a skill.
    #[error(transparent)]
    Name(#[from] FileNameError),
    /// A symlink points outside the runtime roots.
    #[error("symlink `{link}` -> `{target}` points outside the runtime roots")]
    Link {
        /// The symlink.
        link: String,
        /// Its target.
        target: String,
    },
}

/// A skill's command files, as laid out in the command store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFiles {
    /// All files, sorted by path.
    pub files: Vec<File>,
    /// The file of each command that the skill provides.
    pub commands: BTreeMap<Identifier, RelPath>,
}

/// Reads the manifest of a skill and returns it with any warnings. A skill without a manifest has no commands.
pub fn manifest(snapshot: &Snapshot) -> Result<(Option<Manifest>, Vec<String>), CommandFilesError> {
    let tree = |path: &str| snapshot.entry(path);
    let told = |file: &str, problems: &[Diagnostic], severity: Severity| -> Vec<String> {
        let wanted = problems.iter().filter(|problem| problem.severity == severity);
        wanted.map(|problem| shown(file, problem)).collect()
    };
    let read = |name: &'static str| {
        let Some(file) = snapshot.file(name) else { return Ok(None) };
        let text = file.text().filter(|_| file.kind != FileKind::Link);
        text.map(Some).ok_or_else(|| CommandFilesError::Manifest {
            file: name.to_owned(),
            problems: vec!["not a text file, or too large".to_owned()],
            hint: None,
        })
    };
    if let Some((manifest, problems)) = Manifest::read(read, str::to_owned, &tree)? {
        let warnings = problems.iter().filter(|problem| problem.severity == Severity::Warning);
        let warnings = warnings.map(|problem| shown(&problem.file, problem)).collect();
        return manifest.map(|manifest| (Some(manifest), warnings)).ok_or_else(|| {
            let is_error = |problem: &&Diagnostic| problem.severity == Severity::Error;
            let file = problems.iter().find(is_error).map(|problem| problem.file.clone());
            CommandFilesError::Manifest {
                file: file.unwrap_or_else(|| MANIFEST_FILE.to_owned()),
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

/// Returns the files for the command store, or `None` if the skill provides no commands.
pub fn command_files(
    snapshot: &Snapshot,
    manifest: &Manifest,
    platform: Platform,
) -> Result<Option<CommandFiles>, CommandFilesError> {
    let mut commands = BTreeMap::new();
    for command in &manifest.commands {
        match script(command, platform) {
            Ok(path) => commands.extend(path.map(|path| (command.name.clone(), path.clone()))),
            // A legacy manifest was written for another tool, too: commands for other platforms are skipped.
            Err(_) if manifest.is_legacy => {}
            Err(error) => return Err(error),
        }
    }
    let mut files: Vec<File>;
    if manifest.runtime_roots.is_empty() {
        // Without runtime roots, each command is a single file.
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
        let caches = python_caches(&files);
        files.extend(caches);
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        check_names(&files)?;
        if let Some(link) = stray_link(&files) {
            let target = link.text().unwrap_or_default();
            return Err(CommandFilesError::Link { link: link.path.to_string(), target });
        }
    }
    Ok(Some(CommandFiles { files, commands }).filter(|runtime| !runtime.files.is_empty()))
}

/// Returns a file for each folder path at which Python would create a bytecode cache. Read-only folders stop every user
/// but root; a file in the way stops root as well, and Python runs without a cache.
fn python_caches(files: &[File]) -> Vec<File> {
    let folders: BTreeSet<&str> = files
        .iter()
        .filter(|file| file.path.as_str().ends_with(".py"))
        .filter_map(|file| Some(file.path.as_str().rsplit_once('/')?.0))
        .collect();
    let place = |folder: &&str| RelPath::new(format!("{folder}/__pycache__")).ok();
    let is_free = |path: &RelPath| !is_there(files, path.as_str());
    let text = "Keeps Python from leaving its caches here.\n";
    folders
        .iter()
        .filter_map(place)
        .filter(is_free)
        .map(|path| File {
            path,
            kind: FileKind::Plain,
            content: Content::Memory(text.as_bytes().into()),
        })
        .collect()
}

/// Returns the script of a command, or `None` for a system command.
fn script(command: &Command, platform: Platform) -> Result<Option<&RelPath>, CommandFilesError> {
    let CommandKind::Script { unix, windows } = &command.kind else { return Ok(None) };
    let (path, key) = match platform {
        Platform::Unix => (unix, "unix_path"),
        Platform::Windows => (windows, "win_path"),
    };
    let missing = || CommandFilesError::Platform { command: command.name.clone(), key };
    path.as_ref().map(Some).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(files: &[(&str, &str)]) -> Snapshot {
        let file = |(path, text): &(&str, &str)| File {
            path: RelPath::new(*path).unwrap(),
            kind: FileKind::Plain,
            content: Content::Memory(text.as_bytes().into()),
        };
        Snapshot::new("tree".into(), files.iter().map(file).collect()).unwrap()
    }

    const MANIFEST: &str = r#"{"schema_version": 2, "runtime_roots": ["scripts"], "commands": {
        "mr": {"type": "script", "unix_path": "scripts/mr", "win_path": "scripts/gmr.cmd"}}}"#;

    #[test]
    fn windows_win_path_command_inside_runtime_root_creates_cmd_shim() {
        let files = [("SKILL.md", ""), ("scripts/mr", ""), ("scripts/gmr.cmd", "")];
        let snapshot = snapshot(&[&files[..], &[("csk-skill.json", MANIFEST)]].concat());
        let (found, _) = manifest(&snapshot).unwrap();
        let made = command_files(&snapshot, &found.unwrap(), Platform::Windows).unwrap().unwrap();
        let name = Identifier::new("mr").unwrap();
        assert_eq!(made.commands[&name].as_str(), "scripts/gmr.cmd");
        assert_eq!(Platform::Windows.shim_name(&name), "mr.cmd");
        assert_eq!(
            Platform::Windows.shim_text(r"C:\store\gmr.cmd").unwrap(),
            "@echo off\r\n\"C:\\store\\gmr.cmd\" %*\r\n"
        );
        assert_eq!(Platform::Unix.shim_text("/x"), None);
        for target in [r"C:\store\gmr.cmd", r"C:\100%\a b\x.exe", r"C:\Jörg\x.cmd"] {
            let text = Platform::Windows.shim_text(target).unwrap();
            assert_eq!(Platform::Windows.shim_target(&text).as_deref(), Some(target));
            assert_eq!(Platform::Windows.shim_target(&text.replace("echo", "Echo")), None);
        }
        let command = |file: &str| Platform::Windows.command_of(file).map(|name| name.to_string());
        assert_eq!(command("mr.CMD").as_deref(), Some("mr"));
        assert_eq!((command("mr"), command("mr.exe"), command("a b.cmd")), (None, None, None));
    }

    #[test]
    fn command_without_a_file_for_the_platform_fails() {
        let text = MANIFEST.replace(r#""unix_path": "scripts/mr", "#, "");
        let snapshot = snapshot(&[("scripts/gmr.cmd", ""), ("csk-skill.json", &text)]);
        let (found, _) = manifest(&snapshot).unwrap();
        let error = command_files(&snapshot, &found.unwrap(), Platform::Unix).unwrap_err();
        assert_eq!(
            error.to_string(),
            "command `mr` has no `unix_path`, which is required on this platform"
        );
    }

    #[test]
    fn python_cannot_create_bytecode_caches() {
        let files = [("scripts/mr", ""), ("scripts/a.py", ""), ("scripts/lib/b.py", "")];
        let more = [("scripts/own/c.py", ""), ("scripts/own/__pycache__/c.pyc", "")];
        let text = MANIFEST.replace(r#", "win_path": "scripts/gmr.cmd""#, "");
        let snapshot = snapshot(&[&files[..], &more, &[("csk-skill.json", &text)]].concat());
        let (found, _) = manifest(&snapshot).unwrap();
        let made = command_files(&snapshot, &found.unwrap(), Platform::Unix).unwrap().unwrap();
        let caches: Vec<&str> = made
            .files
            .iter()
            .map(|file| file.path.as_str())
            .filter(|path| path.contains("__pycache__"))
            .collect();
        assert_eq!(
            caches,
            ["scripts/__pycache__", "scripts/lib/__pycache__", "scripts/own/__pycache__/c.pyc"]
        );
    }
}
