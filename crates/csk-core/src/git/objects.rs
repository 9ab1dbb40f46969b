//! Reads the contents of commits in this process.
//!
//! Files are read straight from git's objects, so no attribute, filter, replacement or line-ending setting of the
//! machine can change a byte.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use flate2::Decompress;
use gix::bstr::ByteSlice;
use gix::hash::ObjectId;
use gix::objs::tree::EntryKind;
use gix::objs::{CommitRefIter, FindExt, Kind, TreeRefIter};
use gix::odb::HeaderExt;
use skill::{ByteSize, RelPath, is_git_folder, nearest};
use skill_fs::AbsPath;

use crate::content::snapshot::{Content, File, FileKind, Snapshot};
use crate::git::object::{LargeFile, LooseObject, Object};
use crate::git::repository::broken;
use crate::{Commit, SourceError};

/// Files up to this size are kept in memory; larger ones are streamed.
pub(crate) const LARGE: u64 = 1 << 20;

/// The most files and folders read from a commit.
const MAX_ENTRIES: usize = 200_000;
/// The most nested folder levels.
const MAX_DEPTH: usize = 30;
/// The most bytes read from a commit.
const MAX_BYTES: u64 = 1 << 30;

/// The object store of a repository.
pub struct Objects {
    repository: AbsPath,
    folder: PathBuf,
    /// Packs and alternates, opened when an object is not loose.
    store: OnceCell<gix::odb::Handle>,
}

impl Objects {
    /// Returns the objects of `repository`, which are stored in `folder`.
    pub(crate) fn new(repository: AbsPath, folder: PathBuf) -> Self {
        Self { repository, folder, store: OnceCell::new() }
    }

    /// Returns the path of the repository.
    pub(crate) fn repository(&self) -> &AbsPath {
        &self.repository
    }

    /// Returns the id of a commit's tree, or of a folder in it; the same id means the same files.
    pub fn tree(&self, commit: &Commit, folder: Option<&RelPath>) -> Result<String, SourceError> {
        let id = self.id(commit.as_str())?;
        let mut zlib = Decompress::new(true);
        let found = self.find(id, Kind::Commit, &mut zlib)?;
        let tree = CommitRefIter::from_bytes(&found, id.kind()).tree_id();
        let tree = tree.map_err(|error| self.broken(&error))?;
        let Some(folder) = folder else { return Ok(tree.to_string()) };
        let no_folder = |nearest: Option<String>| SourceError::NoFolder {
            folder: folder.to_string(),
            commit: commit.short().to_owned(),
            path: self.repository.to_string(),
            nearest,
        };
        let mut id = tree;
        let mut around = String::new();
        for part in folder.parts() {
            let tree = self.find(id, Kind::Tree, &mut zlib)?;
            let entries = TreeRefIter::from_bytes(&tree, id.kind());
            let folders = entries.filter_map(Result::ok).filter(|entry| entry.mode.is_tree());
            let names: Vec<(String, ObjectId)> =
                folders.map(|entry| (entry.filename.to_string(), entry.oid.to_owned())).collect();
            let Some((_, next)) = names.iter().find(|(name, _)| name == part) else {
                let near = nearest(part, names.iter().map(|(name, _)| name.as_str()));
                return Err(no_folder(near.map(|near| format!("{around}{near}"))));
            };
            id = *next;
            around += &format!("{part}/");
        }
        Ok(id.to_string())
    }

    /// Returns true if the repository contains this commit.
    pub(crate) fn has_commit(&self, commit: &Commit) -> bool {
        let id = self.id(commit.as_str());
        id.is_ok_and(|id| self.find(id, Kind::Commit, &mut Decompress::new(true)).is_ok())
    }

    /// Reads all files of a tree.
    pub fn snapshot(&self, tree: &str) -> Result<Snapshot, SourceError> {
        let tree_id = self.id(tree)?;
        let mut files = Vec::new();
        let mut bytes = 0;
        let mut zlib = Decompress::new(true);
        // Trees are walked one by one, so that one that expands to millions of files is caught in time.
        let mut folders = vec![(String::new(), tree_id)];
        let mut entries = 0;
        while let Some((prefix, id)) = folders.pop() {
            let found = self.find(id, Kind::Tree, &mut zlib)?;
            for entry in TreeRefIter::from_bytes(&found, id.kind()) {
                let entry = entry.map_err(|error| self.broken(&error))?;
                // Folders count as well: nested empty folders could go on forever.
                entries += 1;
                if entries > MAX_ENTRIES {
                    let what =
                        format!("the commit contains more than {MAX_ENTRIES} files and folders");
                    return Err(self.broken(&what));
                }
                let name = entry
                    .filename
                    .to_str()
                    .map_err(|_| self.bad_name(entry.filename, "not valid UTF-8"))?;
                let text = format!("{prefix}{name}");
                if text == ".gitmodules" || entry.mode.kind() == EntryKind::Commit {
                    return Err(SourceError::Submodules {
                        path: self.repository.to_string(),
                        entry: text,
                    });
                }
                // Git itself refuses to check out such a name.
                if is_git_folder(name) {
                    let reason = "a skill cannot contain a git repository";
                    return Err(self.bad_name(text.as_bytes(), reason));
                }
                if text.matches('/').count() >= MAX_DEPTH {
                    let what =
                        format!("the commit contains more than {MAX_DEPTH} nested folder levels");
                    return Err(self.broken(&what));
                }
                let path = RelPath::new(text.as_str())
                    .map_err(|error| self.bad_name(text.as_bytes(), &error.to_string()))?;
                let kind = match entry.mode.kind() {
                    EntryKind::Blob => FileKind::Plain,
                    EntryKind::BlobExecutable => FileKind::Executable,
                    EntryKind::Link => FileKind::Link,
                    EntryKind::Tree | EntryKind::Commit => {
                        folders.push((format!("{text}/"), entry.oid.to_owned()));
                        continue;
                    }
                };
                let content = self.content(entry.oid.to_owned(), &mut zlib)?;
                bytes += content.len();
                if bytes > MAX_BYTES {
                    let limit = ByteSize(MAX_BYTES);
                    let what = format!("the commit contains more than {limit} of files");
                    return Err(self.broken(&what));
                }
                files.push(File { path, kind, content });
            }
        }
        Snapshot::new(tree.to_owned(), files)
    }

    pub(super) fn content(
        &self,
        id: ObjectId,
        zlib: &mut Decompress,
    ) -> Result<Content, SourceError> {
        let object = self.object(&id);
        // Most objects of a small repository are loose.
        let size = match object.loose(Kind::Blob, zlib)? {
            Some(LooseObject::Small(bytes)) => return Ok(Content::Memory(bytes)),
            Some(LooseObject::Large(size)) => size,
            None => self.store()?.header(id).map_err(|error| self.broken(&error))?.size(),
        };
        if size > LARGE {
            return Ok(Content::Large(LargeFile { object, size, cached: None }));
        }
        Ok(Content::Memory(self.packed(id, Kind::Blob)?))
    }

    /// Returns the object with this 40-digit id.
    pub(crate) fn object(&self, id: &impl ToString) -> Object {
        let id = id.to_string();
        let loose = self.folder.join(&id[..2]).join(&id[2..]);
        Object { repository: self.repository.clone(), id, loose }
    }

    /// Reads a commit or a tree.
    pub(super) fn find(
        &self,
        id: ObjectId,
        kind: Kind,
        zlib: &mut Decompress,
    ) -> Result<Arc<[u8]>, SourceError> {
        match self.object(&id).loose(kind, zlib)? {
            Some(LooseObject::Small(bytes)) => Ok(bytes),
            Some(LooseObject::Large(_)) | None => self.packed(id, kind),
        }
    }

    /// Reads an object from a pack or an alternate.
    fn packed(&self, id: ObjectId, kind: Kind) -> Result<Arc<[u8]>, SourceError> {
        let mut bytes = Vec::new();
        let found = self.store()?.find(&id, &mut bytes).map_err(|error| self.broken(&error))?;
        if found.kind != kind {
            return Err(self.broken(&format!("object {id} is not a {kind}")));
        }
        Ok(found.data.into())
    }

    /// Returns the full object store. It is opened once per process and still picks up new packs.
    fn store(&self) -> Result<&gix::odb::Handle, SourceError> {
        type Stores = Mutex<HashMap<PathBuf, gix::parallel::OwnShared<gix::odb::Store>>>;
        static STORES: LazyLock<Stores> = LazyLock::new(Mutex::default);
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match stores.get(&self.folder) {
            Some(store) => store.to_cache(),
            None => {
                let (sha1, options) =
                    (gix::hash::Kind::Sha1, gix::odb::store::init::Options::default());
                let opened = gix::odb::at_opts(&self.folder, sha1, [], options);
                let opened = opened.map_err(|error| self.broken(&error))?;
                stores.insert(self.folder.clone(), opened.store());
                opened
            }
        };
        Ok(self.store.get_or_init(|| handle))
    }

    pub(super) fn id(&self, digits: &str) -> Result<ObjectId, SourceError> {
        ObjectId::from_hex(digits.as_bytes()).map_err(|error| self.broken(&error))
    }

    fn bad_name(&self, name: &[u8], reason: &str) -> SourceError {
        let reason = format!("{:?}: {reason}", String::from_utf8_lossy(name));
        SourceError::BadName { path: self.repository.to_string(), reason }
    }

    pub(super) fn broken(&self, error: &dyn std::fmt::Display) -> SourceError {
        broken(&self.repository, error)
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").field("folder", &self.folder).finish_non_exhaustive()
    }
}
