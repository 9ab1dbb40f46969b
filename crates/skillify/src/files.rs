//! The files of a package that tell something of it.

use std::collections::BTreeMap;

use skill::Digest;
use skill_fs::{AbsPath, Kind, Root, WalkLimits, walk};
use skill_pack::{Entry, PackError, tar_entries, zip_entries};

use crate::SkillifyError;

/// The most that is read of a package.
const MAX_BYTES: usize = 64 << 20;
/// The largest file.
const MAX_FILE: usize = 16 << 20;
const MAX_FILES: usize = 20_000;

/// The files of a package, by their path in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, Vec<u8>>);

/// Returns true for a file that may tell something of a package.
fn is_telling(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_beside = |part: &str| {
        part.starts_with('.') || matches!(part, "node_modules" | "__pycache__" | "tests")
    };
    // Deeper down these are names of modules, such as `django.test`.
    let top = path.split('/').next().filter(|top| *top != path).unwrap_or_default();
    let hidden = path.split('/').any(is_beside) || matches!(top, "target" | "test" | "vendor");
    let is_named = matches!(
        name,
        "DESCRIPTION"
            | "NAMESPACE"
            | "INDEX"
            | "PKG-INFO"
            | "METADATA"
            | "RECORD"
            | "top_level.txt"
            | "Cargo.toml"
            | "package.json"
            | "pyproject.toml"
            | "setup.cfg"
    );
    let is_kind = matches!(
        ending,
        "Rd" | "rd"
            | "rdx"
            | "rdb"
            | "Rmd"
            | "Rnw"
            | "py"
            | "pyi"
            | "rs"
            | "ts"
            | "mts"
            | "cts"
            | "js"
            | "mjs"
            | "cjs"
            | "md"
    );
    !hidden && (is_named || is_kind)
}

impl Files {
    /// Reads a folder. Links are not followed.
    pub fn of_folder(folder: &AbsPath) -> Result<Self, SkillifyError> {
        let root = Root::open(folder)?;
        let mut files = Self::default();
        for entry in walk(&root, &WalkLimits::SKILL)? {
            let Kind::File { size, .. } = entry.kind else { continue };
            if is_telling(entry.path.as_str()) && size <= MAX_FILE as u64 {
                let bytes = root.read(&entry.path, MAX_FILE as u64)?;
                files.add(entry.path.to_string(), bytes)?;
            }
        }
        Ok(files)
    }

    /// Reads a tarball; its one folder at the root is left out.
    pub fn of_tarball(bytes: &[u8]) -> Result<Self, SkillifyError> {
        Self::of_entries(
            |take| tar_entries(bytes, take),
            |name| name.split_once('/').map_or(name, |(_, path)| path),
        )
    }

    /// Reads a wheel: a ZIP file that holds what is installed.
    pub fn of_wheel(bytes: &[u8]) -> Result<Self, SkillifyError> {
        Self::of_entries(|take| zip_entries(bytes, take), |name| name)
    }

    /// Reads an installed package of Python: its `.dist-info` folder, and the files that RECORD there lists.
    ///
    /// That is right for a package that is one module, and for one with several packages or another name than they have.
    pub fn of_installed_python(about: &AbsPath) -> Result<Self, SkillifyError> {
        let mut files = Self::default();
        let name = about.as_path().file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let own = Self::of_folder(about)?;
        let record = own.text("RECORD").unwrap_or_default();
        files.extend(&name, own);
        let Some(site) = about.parent() else { return Ok(files) };
        let site = Root::open(&site)?;
        for line in record.lines() {
            let path = line.split(',').next().unwrap_or_default();
            // RECORD also lists programs, by paths that lead out of the folder.
            let Ok(path) = skill::RelPath::new(path) else { continue };
            if is_telling(path.as_str()) && !files.has(path.as_str()) {
                // A file that was removed since cannot be read; the others can.
                if let Ok(bytes) = site.read(&path, MAX_FILE as u64) {
                    files.add(path.to_string(), bytes)?;
                }
            }
        }
        Ok(files)
    }

    fn of_entries(
        read: impl FnOnce(&mut dyn FnMut(Entry<'_>) -> Result<(), PackError>) -> Result<(), PackError>,
        inside: fn(&str) -> &str,
    ) -> Result<Self, SkillifyError> {
        let mut files = Self::default();
        let mut too_much = None;
        read(&mut |entry| {
            let Entry::File { name, bytes, .. } = entry else { return Ok(()) };
            let path = inside(name);
            let is_plain = skill::RelPath::new(path).is_ok();
            if is_plain && is_telling(path) && bytes.len() <= MAX_FILE {
                too_much = files.add(path.to_owned(), bytes).err();
            }
            if too_much.is_some() { Err(PackError::NotAnArchive) } else { Ok(()) }
        })
        .map_err(|error| too_much.take().unwrap_or(error.into()))?;
        Ok(files)
    }

    /// Returns files that are given.
    pub fn of(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Self(files.into_iter().collect())
    }

    /// Adds files below a folder.
    pub fn extend(&mut self, folder: &str, files: Self) {
        let path = |path: String| if folder.is_empty() { path } else { format!("{folder}/{path}") };
        self.0.extend(files.0.into_iter().map(|(at, bytes)| (path(at), bytes)));
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) -> Result<(), SkillifyError> {
        self.0.insert(path, bytes);
        if self.0.len() > MAX_FILES {
            return Err(SkillifyError::Limit("20,000 files"));
        }
        let size: usize = self.0.len() * 64 + self.0.values().map(Vec::len).sum::<usize>();
        // Counting all of them each time would cost more than reading them.
        if self.0.len().is_multiple_of(64) && size > MAX_BYTES {
            return Err(SkillifyError::Limit("64 MiB of files"));
        }
        Ok(())
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    /// Returns a file as text, whatever is no UTF-8 in it replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes(path)?).into_owned())
    }

    /// Returns the paths, sorted.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the digest of all of them.
    pub(crate) fn digest(&self) -> Digest {
        let mut text = String::new();
        for (path, bytes) in &self.0 {
            text += &format!("{} {path}\n", Digest::of(bytes));
        }
        Digest::of(text.as_bytes())
    }
}
