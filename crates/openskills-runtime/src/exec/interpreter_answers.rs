//! What interpreters said about themselves, kept until one of their files changes: to ask one takes as long as a small script.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use skill_fs::{AbsPath, read_text, write_file};

/// The file in the cache folder.
const FILE: &str = "interpreters.json";
/// More interpreters than this are not kept.
const MAX_KEPT: usize = 64;

/// The answers that are known.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    file: Option<AbsPath>,
    known: BTreeMap<String, Vec<String>>,
}

impl Answers {
    /// Reads what is known. A file that cannot be read is made again.
    pub(crate) fn load(cache: Option<&AbsPath>) -> Self {
        let file = cache.map(|cache| cache.join(FILE));
        let text = file.as_ref().and_then(|file| read_text(file).ok().flatten());
        let value: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        let entries = value.as_ref().and_then(Value::as_object).into_iter().flatten();
        let known = entries.filter_map(|(key, lines)| {
            let lines = lines.as_array()?.iter().map(|line| line.as_str().map(str::to_owned));
            Some((key.clone(), lines.collect::<Option<Vec<String>>>()?))
        });
        Self { known: known.collect(), file }
    }

    /// Returns what a program said.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<String>> {
        self.known.get(key).cloned()
    }

    /// Keeps what a program said. What cannot be kept is asked again.
    pub(crate) fn keep(&mut self, key: String, lines: &[String]) {
        let Some(file) = &self.file else { return };
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        self.known.insert(key, lines.to_vec());
        let text = format!("{:#}\n", serde_json::json!(self.known));
        let _ = write_file(file, text.as_bytes());
    }
}

/// Returns what an answer is kept under: the program by its path, with the stamps of the file that it really is and of the settings of a virtual
/// environment around it. `None` where the system has no such stamps.
pub(crate) fn key(program: &Path) -> Option<String> {
    let around = program.parent()?.parent()?.join("pyvenv.cfg");
    let settings = stamp(&around).unwrap_or_else(|| "-".to_owned());
    Some(format!("{} {} {settings}", program.display(), stamp(program)?))
}

#[cfg(unix)]
fn stamp(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some(format!(
        "{}:{}:{}:{}.{}:{}.{}",
        found.dev(),
        found.ino(),
        found.size(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec()
    ))
}

#[cfg(not(unix))]
fn stamp(_: &Path) -> Option<String> {
    None
}
