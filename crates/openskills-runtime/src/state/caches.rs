//! Lists and clears caches.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::Path;

use skill_fs::{AbsPath, FsError, own_names};

use crate::Places;
use crate::command::HOMES;
use crate::run::module_cache;
use crate::run::package_store;
use crate::run::run_folder::{self, LeftOver};

/// Suffix of cached files of MCP servers' skills.
pub(crate) const SERVED_SUFFIX: &str = ".blob";

/// A kind of cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKind {
    /// Parsed frontmatter of skills.
    Index,
    /// Frontmatter parsed in strict mode.
    IndexStrict,
    /// Digests of skill folders.
    Hashes,
    /// Compiled WASM modules.
    Wasm,
    /// Files of skills from MCP servers.
    Served,
    /// Leftovers of killed runs: copies of skills and workspaces. Current runs are not included.
    Runs,
    /// Home folders of command lines, with caches of package managers.
    CommandHomes,
    /// Packages that were prepared for scripts.
    Packages,
}

impl CacheKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Index,
        Self::IndexStrict,
        Self::Hashes,
        Self::Wasm,
        Self::Served,
        Self::Runs,
        Self::CommandHomes,
        Self::Packages,
    ];

    /// Returns the name, which is also the name of its folder.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::IndexStrict => "index-strict",
            Self::Hashes => "hashes",
            Self::Wasm => module_cache::FOLDER,
            Self::Served => "served",
            Self::Runs => run_folder::FOLDER,
            Self::CommandHomes => HOMES,
            Self::Packages => package_store::FOLDER,
        }
    }

    /// Returns true if each of its entries is a folder that is removed as a whole.
    fn has_folders(self) -> bool {
        matches!(self, Self::CommandHomes | Self::Packages)
    }

    /// Returns the suffix of its files; files with another suffix are never removed. `None` if its entries are folders.
    fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Index | Self::IndexStrict | Self::Hashes => Some(".bin"),
            Self::Wasm => Some(module_cache::ENDING),
            Self::Served => Some(SERVED_SUFFIX),
            Self::Runs | Self::CommandHomes | Self::Packages => None,
        }
    }
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// The kind of cache.
    pub kind: CacheKind,
    /// Its folder.
    pub folder: AbsPath,
    /// Its files with their sizes in bytes.
    pub files: Vec<(String, u64)>,
}

impl Cache {
    /// Returns the total size in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Returns all caches; empty if there is no cache folder.
pub fn caches(places: &Places) -> Result<Vec<Cache>, FsError> {
    let Some(base) = &places.cache else { return Ok(Vec::new()) };
    let cache = |kind: CacheKind| {
        let folder = base.join(kind.as_str());
        // Do not follow symlinks.
        if fs::symlink_metadata(folder.as_path()).is_ok_and(|it| !it.is_dir()) {
            return Ok(Cache { kind, folder, files: Vec::new() });
        }
        if kind.has_folders() {
            let size = |name: String| {
                let bytes = run_folder::size(folder.join(&name).as_path());
                (name, bytes)
            };
            let files = own_names(&folder)?.into_iter().map(size).collect();
            return Ok(Cache { kind, folder, files });
        }
        let Some(suffix) = kind.suffix() else {
            let failed = |source| FsError::Io { path: folder.to_string(), source };
            let left = run_folder::left_over(&folder).map_err(failed)?;
            let entry = |left: &LeftOver| {
                let name = left.path.file_name().unwrap_or_default();
                (name.to_string_lossy().into_owned(), left.bytes())
            };
            let files = left.iter().map(entry).collect();
            return Ok(Cache { kind, folder, files });
        };
        let names = own_names(&folder)?.into_iter().filter(|name| name.ends_with(suffix));
        let size = |name: String| {
            // Another process may have removed it.
            let metadata = fs::symlink_metadata(folder.join(&name).as_path()).ok()?;
            metadata.is_file().then_some((name, metadata.len()))
        };
        let files = names.filter_map(size).collect();
        Ok(Cache { kind, folder, files })
    };
    CacheKind::ALL.into_iter().map(cache).collect()
}

/// Removes the files of a cache. Files that another process removes at the same time are ignored.
pub fn clear_cache(cache: &Cache) -> Result<(), FsError> {
    if cache.kind == CacheKind::Runs {
        let failed = |path: &Path, source| FsError::Io { path: path.display().to_string(), source };
        let left = run_folder::left_over(&cache.folder)
            .map_err(|source| failed(cache.folder.as_path(), source))?;
        return left
            .iter()
            .try_for_each(|left| left.remove().map_err(|source| failed(&left.path, source)));
    }
    for (name, _) in &cache.files {
        let path = cache.folder.join(name);
        if cache.kind.has_folders() {
            package_store::set_aside(path.as_path())
                .or_else(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                })
                .map_err(|source| FsError::Io { path: path.to_string(), source })?;
            continue;
        }
        match fs::remove_file(path.as_path()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(FsError::Io { path: path.to_string(), source }),
        }
    }
    Ok(())
}
