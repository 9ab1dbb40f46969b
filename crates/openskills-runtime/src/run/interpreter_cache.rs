//! Caches what interpreters report about themselves until one of their files changes. A query takes as long as a small
//! script.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use skill_fs::{AbsPath, read_text, write_file};

use crate::state::variables::Variables;

/// The file in the cache folder.
const FILE: &str = "interpreters.json";
/// Incremented with the queries, so that answers to older queries are ignored.
const QUESTIONS: &str = "3";
/// The cache is cleared when it reaches this many interpreters.
const MAX_KEPT: usize = 64;

/// Cached answers of interpreters.
#[derive(Debug)]
pub(crate) struct InterpreterCache<'a> {
    file: Option<AbsPath>,
    variables: &'a Variables,
    known: BTreeMap<String, Vec<String>>,
}

impl<'a> InterpreterCache<'a> {
    /// Loads the cache. An unreadable file counts as empty and is rewritten.
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

    /// Returns a cached answer if it is still valid: the program, the version selection and the real interpreter have
    /// not changed.
    pub(crate) fn get(&self, program: &Path) -> Option<Vec<String>> {
        let lines = self.known.get(&key(program, self.variables)?)?;
        let (seal, lines) = lines.split_first()?;
        let itself = lines.first()?;
        (*seal == stamp(Path::new(itself))?).then(|| lines.to_vec())
    }

    /// Caches an answer. If that fails, the interpreter is queried again next time.
    pub(crate) fn keep(&mut self, program: &Path, lines: &[String]) {
        let Some(file) = &self.file else { return };
        let Some(itself) = lines.first().map(Path::new) else { return };
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        // A shim's answer is only cached if it is known how the shim selects a version.
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

/// The folder of a version manager (pyenv, rbenv, nodenv, plenv): `shims/`, `versions/`, and the selected one in
/// `version`.
struct Shims<'a> {
    root: &'a Path,
}

impl<'a> Shims<'a> {
    fn of(program: &'a Path) -> Option<Self> {
        let folder = program.parent().filter(|folder| folder.ends_with("shims"))?;
        let root = folder.parent().filter(|root| root.join("versions").is_dir())?;
        Some(Self { root })
    }

    /// Returns everything that selects a version while the working folder is `/`: files, and variables such as
    /// PYENV_VERSION.
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

/// Returns the cache key of a program: its path, with the stamps of its real file, of the enclosing virtual
/// environment's settings, and of what its shim depends on. `None` on platforms without such stamps.
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
