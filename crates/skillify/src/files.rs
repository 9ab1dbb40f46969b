//! Reads the relevant files of a package.

use std::collections::BTreeMap;

use skill::Digest;
use skill_fs::{AbsPath, Kind, Root, WalkLimits, walk};
use skill_pack::{Entry, PackError, tar_entries, zip_entries};

use crate::SkillifyError;

/// The maximum size of all files in bytes.
const MAX_BYTES: usize = 64 << 20;
/// The maximum size of a file in bytes; larger ones are skipped.
const MAX_FILE: usize = 16 << 20;
const MAX_FILES: usize = 20_000;

/// The files of a package, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, Vec<u8>>);

/// Returns true for a file that may describe the package or its exports.
fn is_relevant(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_excluded = |part: &str| {
        part.starts_with('.') || matches!(part, "node_modules" | "__pycache__" | "tests")
    };
    // Only at the top: further down these may be names of modules, such as `django.test`.
    let top = path.split('/').next().filter(|top| *top != path).unwrap_or_default();
    let is_in_excluded =
        path.split('/').any(is_excluded) || matches!(top, "target" | "test" | "vendor");
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
    let has_extension = matches!(
        extension,
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
    !is_in_excluded && (is_named || has_extension)
}

impl Files {
    /// Reads a folder. Follows no symlinks.
    pub fn of_folder(folder: &AbsPath) -> Result<Self, SkillifyError> {
        let root = Root::open(folder)?;
        let mut files = Self::default();
        for entry in walk(&root, &WalkLimits::SKILL)? {
            let Kind::File { size, .. } = entry.kind else { continue };
            if is_relevant(entry.path.as_str()) && size <= MAX_FILE as u64 {
                let bytes = root.read(&entry.path, MAX_FILE as u64)?;
                files.add(entry.path.to_string(), bytes)?;
            }
        }
        Ok(files)
    }

    /// Reads a tarball; the folder at its root is not part of the paths.
    pub fn of_tarball(bytes: &[u8]) -> Result<Self, SkillifyError> {
        Self::of_entries(
            |take| tar_entries(bytes, take),
            |name| name.split_once('/').map_or(name, |(_, path)| path),
        )
    }

    /// Reads a wheel: a ZIP file with the files to install.
    pub fn of_wheel(bytes: &[u8]) -> Result<Self, SkillifyError> {
        Self::of_entries(|take| zip_entries(bytes, take), |name| name)
    }

    /// Reads an installed Python package: its `.dist-info` folder, and the files listed in its RECORD.
    ///
    /// So a distribution may be a single module, contain several packages, or have a different name than its package.
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
            // RECORD also lists scripts, with paths that lead out of the folder.
            let Ok(path) = skill::RelPath::new(path) else { continue };
            if is_relevant(path.as_str()) && !files.has(path.as_str()) {
                // Skip files that were removed after the installation.
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
        let mut limit_error = None;
        read(&mut |entry| {
            let Entry::File { name, bytes, .. } = entry else { return Ok(()) };
            let path = inside(name);
            let is_plain = skill::RelPath::new(path).is_ok();
            if is_plain && is_relevant(path) && bytes.len() <= MAX_FILE {
                limit_error = files.add(path.to_owned(), bytes).err();
            }
            if limit_error.is_some() { Err(PackError::NotAnArchive) } else { Ok(()) }
        })
        .map_err(|error| limit_error.take().unwrap_or(error.into()))?;
        Ok(files)
    }

    /// Creates a value from paths and contents.
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
        // Adding up all sizes for every file would take longer than reading them.
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

    /// Returns a file as text; invalid UTF-8 is replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes(path)?).into_owned())
    }

    /// Returns the paths, sorted.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the digest of all files.
    pub(crate) fn digest(&self) -> Digest {
        let mut text = String::new();
        for (path, bytes) in &self.0 {
            text += &format!("{} {path}\n", Digest::of(bytes));
        }
        Digest::of(text.as_bytes())
    }
}
