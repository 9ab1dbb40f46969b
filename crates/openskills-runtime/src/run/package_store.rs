//! Prepared packages in the cache folder: one folder for each set, named by its digest, and a record of which set a
//! request led to. A record stays until the cache is cleared, so that an approval and later runs use the same packages.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skill::Digest;
use skill::json::read;
use skill_fs::{AbsPath, FsError, make_private_folder, read_text, write_file};
use skill_state::{PackageSet, PackageSource};

use super::package_index::PackageIndex;
use super::run_folder::remove_all;

/// The folder in the cache folder.
pub(crate) const FOLDER: &str = "packages";
/// The folder with the records.
const REQUESTS: &str = "requests";

/// The prepared packages of this machine.
pub(crate) struct PackageStore {
    base: AbsPath,
}

impl PackageStore {
    pub(crate) fn new(cache: &AbsPath) -> Self {
        Self { base: cache.join(FOLDER) }
    }

    /// Returns the folder of a set, if it was prepared: Python's packages, or a folder `node_modules`.
    pub(crate) fn folder(&self, set: &PackageSet) -> Option<PathBuf> {
        let folder = self.base.join(name(&set.digest())).join(subfolder(set.source));
        folder.as_path().is_dir().then(|| folder.as_path().to_owned())
    }

    /// Returns the set that the same requests led to earlier, if it is still there.
    pub(crate) fn known(&self, key: &Digest) -> Option<PackageSet> {
        let file = self.record(key);
        let text = read_text(&file).ok().flatten()?;
        let (set, _) = read(file.as_str(), &text, PackageSet::read);
        set.filter(|set| self.folder(set).is_some())
    }

    /// Keeps the packages in `prepared`, which is on the same file system.
    pub(crate) fn keep(
        &self,
        key: &Digest,
        set: &PackageSet,
        prepared: &Path,
    ) -> Result<(), FsError> {
        let folder = self.base.join(name(&set.digest()));
        make_private_folder(&folder)?;
        let target = folder.join(subfolder(set.source));
        let failed = |source| FsError::Io { path: target.to_string(), source };
        match fs::rename(prepared, target.as_path()) {
            Ok(()) => {}
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                remove_all(prepared).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        make_private_folder(&self.base.join(REQUESTS))?;
        write_file(&self.record(key), format!("{:#}\n", set.to_json()).as_bytes())?;
        Ok(())
    }

    fn record(&self, key: &Digest) -> AbsPath {
        self.base.join(REQUESTS).join(format!("{}.json", name(key)))
    }
}

/// Returns the key of requests: the same key leads to the same packages.
pub(crate) fn key(index: &PackageIndex, specs: &[String], interpreter: &Path) -> Digest {
    let interpreter = interpreter.to_string_lossy();
    let parts = [index.source.as_str(), &index.url, &interpreter];
    let parts = parts.into_iter().chain(specs.iter().map(String::as_str));
    let text: String = parts.map(|part| format!("{}:{part}", part.len())).collect();
    Digest::of(text.as_bytes())
}

fn name(digest: &Digest) -> String {
    digest.to_string().replace(':', "-")
}

fn subfolder(source: PackageSource) -> &'static str {
    match source {
        PackageSource::Pypi => "python",
        PackageSource::Npm => "node_modules",
    }
}
