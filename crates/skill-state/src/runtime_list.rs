//! The list of digests in a folder of the runtime store: csk writes it, and both programs believe a folder only as far as it fits.

use std::io::{self, Read};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use skill::{Digest, RelPath};
use skill_fs::{AbsPath, FsError, Kind, Root, WalkLimits, walk};

/// The name of the list.
pub const RUNTIME_LIST: &str = ".csk-runtime.json";
/// The most that is read of a list.
const MAX_LIST: u64 = 64 << 20;

/// How git writes the mode of a file.
const PLAIN: &str = "100644";
const EXECUTABLE: &str = "100755";

/// Returns where the runtime of a skill's commit is, below csk's home.
pub fn runtime_place(home: &AbsPath, skill: &str, commit: &str) -> AbsPath {
    home.join("runtime").join(skill).join(commit)
}

/// Returns what the list says of a link.
pub fn link_line(target: &str) -> String {
    format!("120000 {target}")
}

/// Returns what the list says of a file that its owner may execute, or not.
pub fn file_line(kind: RuntimeFile, sha: [u8; 32]) -> String {
    let mode = match kind {
        RuntimeFile::Plain => PLAIN,
        RuntimeFile::Executable => EXECUTABLE,
    };
    format!("{mode} {}", Digest::from_bytes(sha))
}

/// A file of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeFile {
    /// To be read.
    Plain,
    /// To be run.
    Executable,
}

/// Compares a folder with its list; returns the list's digest, or the first difference.
pub fn compare_runtime(root: &Root) -> Result<Result<Digest, String>, FsError> {
    let list = RelPath::new(RUNTIME_LIST).expect("it is a plain name");
    let bytes = match root.read(&list, MAX_LIST) {
        Ok(bytes) => bytes,
        Err(FsError::NotFound { .. }) => return Ok(Err(format!("{RUNTIME_LIST} is missing"))),
        Err(error) => return Err(error),
    };
    let value: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let Some(files) = value["files"].as_object().filter(|_| value["schema_version"] == 1) else {
        return Ok(Err(format!("{RUNTIME_LIST} cannot be read")));
    };
    let mut found = 0;
    for entry in walk(root, &WalkLimits::SKILL)? {
        let path = entry.path.as_str();
        let line = match &entry.kind {
            Kind::Folder => continue,
            _ if path == RUNTIME_LIST => continue,
            Kind::Link(target) => link_line(target),
            Kind::Other(kind) => return Ok(Err(format!("{path} is {kind}"))),
            Kind::File { executable, .. } => {
                let sha = sha_of(root.file(&entry.path)?)
                    .map_err(|source| FsError::Io { path: path.to_owned(), source })?;
                let kind = if *executable { RuntimeFile::Executable } else { RuntimeFile::Plain };
                file_line(kind, sha)
            }
        };
        match files.get(path) {
            None => return Ok(Err(format!("{path} was added"))),
            Some(expected) if *expected != line.as_str() => {
                return Ok(Err(format!("{path} was changed")));
            }
            Some(_) => found += 1,
        }
    }
    if found == files.len() {
        return Ok(Ok(Digest::of(&bytes)));
    }
    let gone = files.keys().find(|path| {
        RelPath::new(path.as_str()).is_ok_and(|path| !root.has(&path).unwrap_or(false))
    });
    let gone =
        gone.map_or_else(|| "files are missing".to_owned(), |path| format!("{path} is missing"));
    Ok(Err(gone))
}

fn sha_of(mut file: impl Read) -> io::Result<[u8; 32]> {
    let mut sha = Sha256::new();
    let mut space = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut space)?;
        if read == 0 {
            return Ok(sha.finalize().into());
        }
        sha.update(&space[..read]);
    }
}
