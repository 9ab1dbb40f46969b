//! Snapshots on disk, by tree id: `cache/<source>/<tree>/snapshot/`. Only snapshots with a large file are cached, since
//! git would have to unpack it every time.
//!
//! A git tree id is a hash over every name, mode and byte in the tree. It is recomputed before an entry is used, so a
//! modified entry is never used but created again. Everything here may be deleted at any time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sha1::{Digest, Sha1};
use skill::{Identifier, RelPath};
use skill_fs::{AbsPath, FsError, Kind, Root, WalkLimits, walk};

use super::SkillError;
use super::journal::remove_tree;
use super::write::{FileMode, io_error, write_error, write_files};
use crate::git::object::{LargeFile, blob_hasher, hex, pump};
use crate::git::objects::LARGE;
use crate::{Content, File, FileKind, Objects, Snapshot};

/// The snapshot cache. Each snapshot is read once, however many projects need it.
#[derive(Debug)]
pub struct Cache {
    folder: AbsPath,
    mode: CacheMode,
    read: Mutex<BTreeMap<(Identifier, String), Arc<Slot>>>,
}

type Slot = OnceLock<Result<Arc<Snapshot>, SkillError>>;

/// How the cache is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheMode {
    /// Entries are read and added.
    ReadWrite,
    /// Entries are read, but nothing is written.
    ReadOnly,
    /// The cache is neither read nor written.
    Disabled,
}

impl Cache {
    /// Returns the cache below csk's home folder.
    pub fn new(home: &AbsPath, mode: CacheMode) -> Self {
        Self { folder: home.join("cache"), mode, read: Mutex::default() }
    }

    /// Returns the files of `tree` from the cache, or else from `objects`.
    pub(crate) fn snapshot(
        &self,
        source: &Identifier,
        objects: &Objects,
        tree: &str,
    ) -> Result<Arc<Snapshot>, SkillError> {
        let slot = {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(read.entry((source.clone(), tree.to_owned())).or_default())
        };
        slot.get_or_init(|| self.load(source, objects, tree).map(Arc::new)).clone()
    }

    fn load(
        &self,
        source: &Identifier,
        objects: &Objects,
        tree: &str,
    ) -> Result<Snapshot, SkillError> {
        let place = self.folder.join(source.as_str()).join(tree);
        let known = || read(&place.join("snapshot"), tree, objects);
        if let Some(files) = (self.mode != CacheMode::Disabled).then(known).flatten() {
            return Ok(Snapshot::new(tree.to_owned(), files)?);
        }
        let snapshot = objects.snapshot(tree)?;
        let has_large =
            snapshot.files().iter().any(|file| matches!(file.content, Content::Large(_)));
        // Small files are read from git's objects as fast as from a copy.
        if self.mode == CacheMode::ReadWrite && has_large {
            match store(&place, &snapshot) {
                Ok(kept) => return Ok(kept),
                // The cache only saves time: if it cannot be written, the files come from the repository.
                Err(_) => drop(remove_tree(&place)),
            }
        }
        Ok(snapshot)
    }
}

/// Writes a snapshot next to its destination, then moves it there. Large files are read from the copy afterwards.
fn store(place: &AbsPath, snapshot: &Snapshot) -> Result<Snapshot, SkillError> {
    let (staged, kept) = (place.join("new"), place.join("snapshot"));
    for old in [&staged, &kept] {
        remove_tree(old).map_err(|error| write_error(&error))?;
    }
    write_files(&staged, snapshot.files(), FileMode::Default)?;
    skill_fs::rename(&staged, &kept).map_err(|error| io_error(&kept, &error))?;
    let mut files = snapshot.files().to_vec();
    for file in &mut files {
        if let Content::Large(large) = &mut file.content {
            large.cached = Some(kept.join(file.path.as_str()));
        }
    }
    Ok(Snapshot::new(snapshot.tree.clone(), files)?)
}

/// Reads an entry; `None` if it is missing or does not match the tree id.
fn read(folder: &AbsPath, tree: &str, objects: &Objects) -> Option<Vec<File>> {
    let root = Root::open(folder).ok()?;
    let mut files = Vec::new();
    let mut top = Tree::default();
    for entry in walk(&root, &WalkLimits::SKILL).ok()? {
        let (kind, mode) = match &entry.kind {
            Kind::Folder => continue,
            Kind::File { executable: false, .. } => (FileKind::Plain, "100644"),
            Kind::File { executable: true, .. } => (FileKind::Executable, "100755"),
            Kind::Link(_) => (FileKind::Link, "120000"),
            Kind::Other(_) => return None,
        };
        let (content, id) = match &entry.kind {
            Kind::Link(target) => {
                let bytes = target.clone().into_bytes();
                let id = blob_hasher(bytes.len() as u64).chain_update(&bytes).finalize().into();
                (Content::Memory(bytes.into()), id)
            }
            _ => blob(&root, &entry.path, objects).ok()?,
        };
        let parts: Vec<&str> = entry.path.parts().collect();
        top.insert(&parts, mode, id);
        files.push(File { path: entry.path, kind, content });
    }
    (hex(&top.id()) == tree).then_some(files)
}

/// Reads a file, keeps it in memory unless it is large, and returns its blob id.
fn blob(root: &Root, path: &RelPath, objects: &Objects) -> Result<(Content, [u8; 20]), FsError> {
    let shown = root.path().join(path.as_str());
    let failed = |source| FsError::Io { path: shown.to_string(), source };
    let file = root.file(path)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut sha = blob_hasher(size);
    let mut bytes = Vec::new();
    let taken = pump(file, |chunk| {
        sha.update(chunk);
        if size <= LARGE {
            bytes.extend_from_slice(chunk);
        }
        Ok(())
    });
    taken.map_err(failed)?;
    let id: [u8; 20] = sha.finalize().into();
    if size <= LARGE {
        return Ok((Content::Memory(bytes.into()), id));
    }
    let object = objects.object(&hex(&id));
    Ok((Content::Large(LargeFile { object, size, cached: Some(shown.clone()) }), id))
}

/// A folder, as git hashes it.
#[derive(Default)]
struct Tree {
    /// Mode and id by sort key; git sorts folders as if their name ended with a slash.
    files: BTreeMap<String, (&'static str, [u8; 20])>,
    folders: BTreeMap<String, Tree>,
}

impl Tree {
    fn insert(&mut self, parts: &[&str], mode: &'static str, id: [u8; 20]) {
        match parts {
            [] => {}
            [name] => {
                self.files.insert((*name).to_owned(), (mode, id));
            }
            [folder, rest @ ..] => {
                self.folders.entry((*folder).to_owned()).or_default().insert(rest, mode, id);
            }
        }
    }

    fn id(mut self) -> [u8; 20] {
        for (name, folder) in self.folders {
            self.files.insert(format!("{name}/"), ("40000", folder.id()));
        }
        let mut body = Vec::new();
        for (name, (mode, id)) in &self.files {
            body.extend_from_slice(format!("{mode} {}\0", name.trim_end_matches('/')).as_bytes());
            body.extend_from_slice(id);
        }
        let mut sha = Sha1::new();
        sha.update(format!("tree {}\0", body.len()));
        sha.update(&body);
        sha.finalize().into()
    }
}
