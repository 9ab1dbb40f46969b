//! What interpreters said about themselves, kept until one of their files changes: to ask one takes as long as a small script.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use skill_fs::{AbsPath, read_text, write_file};

use crate::state::variables::Variables;

/// The file in the cache folder.
const FILE: &str = "interpreters.json";
/// Changes with the questions, so that an answer to an older one does not count.
const QUESTIONS: &str = "2";
/// More interpreters than this are not kept.
const MAX_KEPT: usize = 64;

/// The answers that are known.
#[derive(Debug)]
pub(crate) struct Answers<'a> {
    file: Option<AbsPath>,
    variables: &'a Variables,
    known: BTreeMap<String, Vec<String>>,
}

impl<'a> Answers<'a> {
    /// Reads what is known. A file that cannot be read is made again.
    pub(crate) fn load(cache: Option<&AbsPath>, variables: &'a Variables) -> Self {
        let file = cache.map(|cache| cache.join(FILE));
        let text = file.as_ref().and_then(|file| read_text(file).ok().flatten());
        let value: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        let entries = value.as_ref().and_then(Value::as_object).into_iter().flatten();
        let known = entries.filter_map(|(key, lines)| {
            let lines = lines.as_array()?.iter().map(|line| line.as_str().map(str::to_owned));
            Some((key.clone(), lines.collect::<Option<Vec<String>>>()?))
        });
        Self { known: known.collect(), file, variables }
    }

    /// Returns what a program said, if that still holds: neither it, nor what chose it, nor what it leads to has changed.
    pub(crate) fn get(&self, program: &Path) -> Option<Vec<String>> {
        let lines = self.known.get(&key(program, self.variables)?)?;
        let (seal, lines) = lines.split_first()?;
        let itself = lines.first()?;
        (*seal == stamp(Path::new(itself))?).then(|| lines.to_vec())
    }

    /// Keeps what a program said. What cannot be kept is asked again.
    pub(crate) fn keep(&mut self, program: &Path, lines: &[String]) {
        let Some(file) = &self.file else { return };
        let Some(itself) = lines.first().map(Path::new) else { return };
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        // What else a shim leads to by is known of some.
        let is_known = real(itself) == real(program) || Shims::of(program).is_some();
        let Some((key, seal)) =
            key(program, self.variables).zip(stamp(itself)).filter(|_| is_known)
        else {
            return;
        };
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        self.known.insert(key, std::iter::once(seal).chain(lines.iter().cloned()).collect());
        let text = format!("{:#}\n", serde_json::json!(self.known));
        let _ = write_file(file, text.as_bytes());
    }
}

/// The folder of a manager of versions (pyenv, rbenv, nodenv, plenv): `shims/`, `versions/`, and the chosen one in `version`.
struct Shims<'a> {
    root: &'a Path,
}

impl<'a> Shims<'a> {
    fn of(program: &'a Path) -> Option<Self> {
        let folder = program.parent().filter(|folder| folder.ends_with("shims"))?;
        let root = folder.parent().filter(|root| root.join("versions").is_dir())?;
        Some(Self { root })
    }

    /// Returns what chooses a version, where the working folder is the root: files, and variables such as PYENV_VERSION.
    fn state(&self, variables: &Variables) -> String {
        let files = [self.root.join("version"), self.root.join("versions")];
        let names = [".python-version", ".ruby-version", ".node-version", ".perl-version"];
        let of_root = names.map(|name| Path::new("/").join(name));
        let stamps = files.iter().chain(&of_root);
        let stamps = stamps.map(|file| stamp(file).unwrap_or_else(|| "-".to_owned()));
        let is_meant = |name: &str| {
            let start = name.split_once('_').map_or("", |(start, _)| start);
            ["PYENV", "RBENV", "NODENV", "PLENV"].contains(&start)
        };
        let mut variables: Vec<String> = variables
            .all()
            .iter()
            .filter(|(name, _)| name.to_str().is_some_and(is_meant))
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        variables.sort();
        stamps.chain(variables).collect::<Vec<_>>().join(" ")
    }
}

/// Returns what an answer is kept under: the program by its path, with the stamps of the file that it really is, of the settings of a virtual
/// environment around it, and of what a shim goes by. `None` where the system has no such stamps.
fn key(program: &Path, variables: &Variables) -> Option<String> {
    let around = program.parent()?.parent()?.join("pyvenv.cfg");
    let settings = stamp(&around).unwrap_or_else(|| "-".to_owned());
    let shims =
        Shims::of(program).map_or_else(String::new, |shims| format!(" {}", shims.state(variables)));
    Some(format!("{QUESTIONS} {} {} {settings}{shims}", program.display(), stamp(program)?))
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
