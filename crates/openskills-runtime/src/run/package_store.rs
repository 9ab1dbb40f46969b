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

use super::fetch_packages::unpacked_digest;
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
        // A script sees the real path.
        let real = fs::canonicalize(cache.as_path()).ok().and_then(|path| AbsPath::new(path).ok());
        Self { base: real.as_ref().unwrap_or(cache).join(FOLDER) }
    }

    /// Returns the folder of a set, if it was prepared: Python's packages, or a folder `node_modules`.
    pub(crate) fn folder(&self, set: &PackageSet) -> Option<PathBuf> {
        let folder = self.base.join(name(&set.digest())).join(subfolder(set.source));
        is_real_folder(folder.as_path()).then(|| folder.as_path().to_owned())
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
        if !is_real_folder(prepared) {
            let (path, kind) = (prepared.display().to_string(), "not a folder");
            return Err(FsError::NotRegular { path, kind });
        }
        let folder = self.base.join(name(&set.digest()));
        make_private_folder(&folder)?;
        let target = folder.join(subfolder(set.source));
        let failed = |source| FsError::Io { path: target.to_string(), source };
        match fs::rename(prepared, target.as_path()) {
            Ok(()) => {}
            // Another process was faster, unless what is there is only a part.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                if unpacked_digest(target.as_path()) == Ok(set.files) {
                    remove_all(prepared).map_err(failed)?;
                } else {
                    set_aside(target.as_path()).map_err(failed)?;
                    fs::rename(prepared, target.as_path()).map_err(failed)?;
                }
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

/// Removes a folder in such a way that no part of it is ever used: an interrupted removal leaves another name.
pub(crate) fn set_aside(folder: &Path) -> io::Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let aside = folder.with_file_name(format!(".removed-{}-{name}", std::process::id()));
    remove_all(&aside)?;
    fs::rename(folder, &aside)?;
    remove_all(&aside)
}

/// Returns the key of requests: the same key leads to the same packages.
pub(crate) fn key(index: &PackageIndex, specs: &[String], interpreter: &Path) -> Digest {
    let interpreter = interpreter.to_string_lossy();
    let parts = [index.source.as_str(), &index.url, &interpreter];
    let label = index.label();
    let scopes = index.scopes.iter().flat_map(|(key, url)| [key.as_str(), url.as_str()]);
    let parts = parts.into_iter().chain([label.as_str()]).chain(scopes);
    let parts = parts.chain(specs.iter().map(String::as_str));
    let text: String = parts.map(|part| format!("{}:{part}", part.len())).collect();
    Digest::of(text.as_bytes())
}

/// Returns true for a folder that is not a link: a script would read what a link leads to.
fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
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

#[cfg(all(test, unix))]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn only_real_folders_are_kept_and_used() {
        let scratch = tempfile::tempdir().unwrap();
        let base = AbsPath::new(fs::canonicalize(scratch.path()).unwrap()).unwrap();
        let store = PackageStore::new(&base);
        let set = PackageSet {
            source: PackageSource::Pypi,
            requests: BTreeSet::from(["tiny".parse().unwrap()]),
            index: "pypi.org".to_owned(),
            packages: BTreeMap::from([("tiny-1.0-py3-none-any.whl".to_owned(), "x".to_owned())]),
            files: Digest::of(b"files"),
        };
        let key = Digest::of(b"key");
        let secrets = base.join("secrets");
        let link = base.join("link");
        fs::create_dir(secrets.as_path()).unwrap();
        std::os::unix::fs::symlink(secrets.as_path(), link.as_path()).unwrap();
        assert!(store.keep(&key, &set, link.as_path()).is_err());
        assert_eq!((store.folder(&set), store.known(&key)), (None, None));
        let prepared = base.join("prepared");
        fs::create_dir(prepared.as_path()).unwrap();
        store.keep(&key, &set, prepared.as_path()).unwrap();
        assert_eq!(store.known(&key), Some(set.clone()));
        let folder = store.folder(&set).unwrap();
        // A link in its place is not used.
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(secrets.as_path(), &folder).unwrap();
        assert_eq!((store.folder(&set), store.known(&key)), (None, None));
    }
}
