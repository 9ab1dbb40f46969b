//! What is kept to be faster, and can be thrown away: shown and cleared.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::Path;

use skill_fs::{AbsPath, FsError, own_names};

use crate::Places;
use crate::run::module_cache;
use crate::run::run_folder::{self, LeftOver};

/// How the names of files of MCP servers' skills end.
pub(crate) const SERVED_ENDING: &str = ".blob";

/// A kind of cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKind {
    /// What was read of skills.
    Index,
    /// The same, strictly.
    IndexStrict,
    /// Digests of their folders.
    Hashes,
    /// Compiled modules.
    Wasm,
    /// Files of skills of MCP servers.
    Served,
    /// What killed runs left: copies of skills, and workspaces of their own. What runs just now is not counted.
    Runs,
}

impl CacheKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Index, Self::IndexStrict, Self::Hashes, Self::Wasm, Self::Served, Self::Runs];

    /// Returns its name, which is that of its folder.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::IndexStrict => "index-strict",
            Self::Hashes => "hashes",
            Self::Wasm => module_cache::FOLDER,
            Self::Served => "served",
            Self::Runs => run_folder::FOLDER,
        }
    }

    /// Returns how the names of its files end. What ends otherwise is not ours to remove. One whose entries are folders has none.
    fn ending(self) -> Option<&'static str> {
        match self {
            Self::Index | Self::IndexStrict | Self::Hashes => Some(".bin"),
            Self::Wasm => Some(module_cache::ENDING),
            Self::Served => Some(SERVED_ENDING),
            Self::Runs => None,
        }
    }
}

/// One cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Its kind.
    pub kind: CacheKind,
    /// Where it is.
    pub folder: AbsPath,
    /// Its files, and how many bytes each has.
    pub files: Vec<(String, u64)>,
}

impl Cache {
    /// Returns how many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Returns every cache; none where there is no place for them.
pub fn caches(places: &Places) -> Result<Vec<Cache>, FsError> {
    let Some(base) = &places.cache else { return Ok(Vec::new()) };
    let look = |kind: CacheKind| {
        let folder = base.join(kind.as_str());
        // A link leads to what is somebody else's.
        if fs::symlink_metadata(folder.as_path()).is_ok_and(|it| !it.is_dir()) {
            return Ok(Cache { kind, folder, files: Vec::new() });
        }
        let Some(ending) = kind.ending() else {
            let failed = |source| FsError::Io { path: folder.to_string(), source };
            let left = run_folder::left_over(&folder).map_err(failed)?;
            let entry = |left: &LeftOver| {
                let name = left.path.file_name().unwrap_or_default();
                (name.to_string_lossy().into_owned(), left.bytes())
            };
            let files = left.iter().map(entry).collect();
            return Ok(Cache { kind, folder, files });
        };
        let names = own_names(&folder)?.into_iter().filter(|name| name.ends_with(ending));
        let size = |name: String| {
            // One that another process removed meanwhile is gone.
            let metadata = fs::symlink_metadata(folder.join(&name).as_path()).ok()?;
            metadata.is_file().then_some((name, metadata.len()))
        };
        let files = names.filter_map(size).collect();
        Ok(Cache { kind, folder, files })
    };
    CacheKind::ALL.into_iter().map(look).collect()
}

/// Removes the files of a cache. One that another process removed meanwhile is gone all the same.
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
        match fs::remove_file(path.as_path()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(FsError::Io { path: path.to_string(), source }),
        }
    }
    Ok(())
}
