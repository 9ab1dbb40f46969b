//! Finds the folders with a SKILL.md in a commit, without reading other files.

use flate2::Decompress;
use gix::bstr::ByteSlice;
use gix::hash::ObjectId;
use gix::objs::tree::EntryKind;
use gix::objs::{Kind, TreeRefIter};
use skill::{RESOURCE_FOLDERS, RelPath, SKILL_FILE, is_git_folder};

use super::objects::Objects;
use crate::{Commit, Content, SourceError};

/// The most files and folders that a search visits.
const MAX_VISITED: usize = 1_000_000;
/// The most nested folder levels that a search visits.
const MAX_LEVELS: usize = 30;

/// A folder with a SKILL.md.
#[derive(Debug)]
pub(crate) struct SkillFolder {
    /// Its path; `None` means the root of the repository.
    pub(crate) path: Option<RelPath>,
    /// The id of its tree.
    pub(crate) tree: String,
    /// The content of its SKILL.md; `None` if that is a link, which csk does not install.
    pub(crate) skill_file: Option<Vec<u8>>,
}

/// A folder that is still to be searched.
struct Pending {
    /// Its path with a slash at the end; empty for the root.
    prefix: String,
    id: ObjectId,
}

impl Objects {
    /// Finds the skills at or below `at`, sorted by path. If there are none, `at` may be a folder or file of a skill:
    /// then it finds that skill.
    pub(crate) fn skill_folders(
        &self,
        commit: &Commit,
        at: Option<&RelPath>,
    ) -> Result<Vec<SkillFolder>, SourceError> {
        let mut at = at.cloned();
        loop {
            let found = match self.tree(commit, at.as_ref()) {
                Ok(tree) => self.below(&tree, at.as_ref())?,
                // It may be a file.
                Err(SourceError::NoFolder { .. }) if self.is_file(commit, at.as_ref())? => {
                    Vec::new()
                }
                Err(error) => return Err(error),
            };
            let Some(path) = at.filter(|_| found.is_empty()) else { return Ok(found) };
            at = match path.as_str().rsplit_once('/') {
                Some((parent, _)) => RelPath::new(parent).ok(),
                None => None,
            };
            // A folder above is meant only if it is a skill itself.
            if let Some(own) = self.only(commit, at.as_ref())? {
                return Ok(vec![own]);
            }
            if at.is_none() {
                return Ok(Vec::new());
            }
        }
    }

    /// Returns the skill in exactly this folder.
    fn only(
        &self,
        commit: &Commit,
        at: Option<&RelPath>,
    ) -> Result<Option<SkillFolder>, SourceError> {
        let tree = self.tree(commit, at)?;
        let mut zlib = Decompress::new(true);
        let id = self.id(&tree)?;
        let found = self.find(id, Kind::Tree, &mut zlib)?;
        let file = TreeRefIter::from_bytes(&found, id.kind())
            .filter_map(Result::ok)
            .find(|entry| is_skill_name(entry.filename) && is_file(entry.mode.kind()))
            .map(|entry| entry.oid.to_owned());
        let Some(file) = file else { return Ok(None) };
        let skill_file = Some(self.small_file(file, &mut zlib)?);
        Ok(Some(SkillFolder { path: at.cloned(), tree, skill_file }))
    }

    /// Returns the content of a file; empty if it is too large for a SKILL.md, which an install refuses.
    fn small_file(&self, id: ObjectId, zlib: &mut Decompress) -> Result<Vec<u8>, SourceError> {
        Ok(match self.content(id, zlib)? {
            Content::Memory(bytes) => bytes.to_vec(),
            Content::Large(_) => Vec::new(),
        })
    }

    fn is_file(&self, commit: &Commit, at: Option<&RelPath>) -> Result<bool, SourceError> {
        let Some(path) = at else { return Ok(false) };
        let (folder, name) = match path.as_str().rsplit_once('/') {
            Some((folder, name)) => (RelPath::new(folder).ok(), name),
            None => (None, path.as_str()),
        };
        let id = self.id(&self.tree(commit, folder.as_ref())?)?;
        let found = self.find(id, Kind::Tree, &mut Decompress::new(true))?;
        let mut entries = TreeRefIter::from_bytes(&found, id.kind()).filter_map(Result::ok);
        Ok(entries.any(|entry| entry.filename == name && !entry.mode.is_tree()))
    }

    /// Searches the tree of the folder `at`.
    fn below(&self, tree: &str, at: Option<&RelPath>) -> Result<Vec<SkillFolder>, SourceError> {
        let prefix = at.map_or_else(String::new, |path| format!("{path}/"));
        let levels = prefix.matches('/').count();
        let mut zlib = Decompress::new(true);
        let mut found = Vec::new();
        let mut visited = 0;
        let mut pending = vec![Pending { prefix, id: self.id(tree)? }];
        while let Some(Pending { prefix, id }) = pending.pop() {
            let bytes = self.find(id, Kind::Tree, &mut zlib)?;
            let entries = TreeRefIter::from_bytes(&bytes, id.kind()).collect::<Result<Vec<_>, _>>();
            let entries = entries.map_err(|error| self.broken(&error))?;
            visited += entries.len();
            if visited > MAX_VISITED {
                return Err(self.broken(&format!(
                    "the commit contains more than {MAX_VISITED} files and folders; specify a folder"
                )));
            }
            let file = entries
                .iter()
                .filter(|entry| is_skill_name(entry.filename) && !entry.mode.is_tree())
                .min_by_key(|entry| !is_file(entry.mode.kind()))
                .map(|entry| (entry.oid.to_owned(), is_file(entry.mode.kind())));
            if let Some((file, is_file)) = file {
                let path = RelPath::new(prefix.trim_end_matches('/')).ok();
                // Only the root of the repository has no path.
                if path.is_some() || prefix.is_empty() {
                    let read = || self.small_file(file, &mut zlib);
                    let skill_file = is_file.then(read).transpose()?;
                    found.push(SkillFolder { path, tree: id.to_string(), skill_file });
                }
            }
            for entry in entries.iter().filter(|entry| entry.mode.is_tree()) {
                let Ok(name) = entry.filename.to_str() else { continue };
                // The resource folders of a skill contain templates, not skills.
                let is_template = file.is_some() && RESOURCE_FOLDERS.contains(&name);
                let is_other = is_git_folder(name) || name == "node_modules";
                if is_template || is_other || prefix.matches('/').count() - levels > MAX_LEVELS {
                    continue;
                }
                let prefix = format!("{prefix}{name}/");
                let id = entry.oid.to_owned();
                pending.push(Pending { prefix, id });
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }
}

fn is_skill_name(name: &gix::bstr::BStr) -> bool {
    name.to_str().is_ok_and(|name| name.eq_ignore_ascii_case(SKILL_FILE))
}

fn is_file(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable)
}
