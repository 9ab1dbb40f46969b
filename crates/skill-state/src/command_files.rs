//! The list of digests in each folder of the command store. csk writes it, and both programs trust a folder only if it
//! matches its list.

use std::io::{self, Read};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use skill::{Digest, RelPath};
use skill_fs::{AbsPath, FsError, Kind, Root, WalkLimits, walk};

/// File name of the list.
pub const COMMAND_FILES_LIST: &str = ".csk-runtime.json";
/// Maximum size of a list.
const MAX_LIST: u64 = 64 << 20;

/// File modes in git's notation.
const PLAIN: &str = "100644";
const EXECUTABLE: &str = "100755";

/// Returns the folder under csk's home folder with the command files of one commit of a skill.
pub fn command_files_path(home: &AbsPath, skill: &str, commit: &str) -> AbsPath {
    home.join("runtime").join(skill).join(commit)
}

/// Returns the list entry of a symbolic link.
pub fn link_line(target: &str) -> String {
    format!("120000 {target}")
}

/// Returns the list entry of a file.
pub fn file_line(mode: CommandFileMode, sha: [u8; 32]) -> String {
    let mode = match mode {
        CommandFileMode::Plain => PLAIN,
        CommandFileMode::Executable => EXECUTABLE,
    };
    format!("{mode} {}", Digest::from_bytes(sha))
}

/// The mode of a command file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandFileMode {
    /// Not executable.
    Plain,
    /// Executable by its owner.
    Executable,
}

/// Compares a folder with its list; returns the digest of the list, or the first difference.
pub fn compare_command_files(root: &Root) -> Result<Result<Digest, String>, FsError> {
    let list = RelPath::new(COMMAND_FILES_LIST).expect("it is a plain name");
    let bytes = match root.read(&list, MAX_LIST) {
        Ok(bytes) => bytes,
        Err(FsError::NotFound { .. }) => {
            return Ok(Err(format!("`{COMMAND_FILES_LIST}` is missing")));
        }
        Err(error) => return Err(error),
    };
    let value: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let Some(files) = value["files"].as_object().filter(|_| value["schema_version"] == 1) else {
        return Ok(Err(format!("`{COMMAND_FILES_LIST}` is malformed")));
    };
    let mut found = 0;
    for entry in walk(root, &WalkLimits::SKILL)? {
        let path = entry.path.as_str();
        let line = match &entry.kind {
            Kind::Folder => continue,
            _ if path == COMMAND_FILES_LIST => continue,
            Kind::Link(target) => link_line(target),
            Kind::Other(kind) => return Ok(Err(format!("`{path}` is {kind}"))),
            Kind::File { executable, .. } => {
                let sha = sha_of(root.file(&entry.path)?)
                    .map_err(|source| FsError::Io { path: path.to_owned(), source })?;
                let mode =
                    if *executable { CommandFileMode::Executable } else { CommandFileMode::Plain };
                file_line(mode, sha)
            }
        };
        match files.get(path) {
            None => return Ok(Err(format!("`{path}` was added"))),
            Some(expected) if *expected != line.as_str() => {
                return Ok(Err(format!("`{path}` was changed")));
            }
            Some(_) => found += 1,
        }
    }
    if found == files.len() {
        return Ok(Ok(Digest::of(&bytes)));
    }
    let missing = files.keys().find(|path| {
        RelPath::new(path.as_str()).is_ok_and(|path| !root.has(&path).unwrap_or(false))
    });
    let missing = missing
        .map_or_else(|| "files are missing".to_owned(), |path| format!("`{path}` is missing"));
    Ok(Err(missing))
}

fn sha_of(mut file: impl Read) -> io::Result<[u8; 32]> {
    let mut sha = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(sha.finalize().into());
        }
        sha.update(&buffer[..read]);
    }
}
