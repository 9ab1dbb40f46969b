//! Files of a skill, read on demand and never from anywhere else.

use skill::{Digest, RelPath, nearest};
use skill_fs::{Entry, FsError, Kind, Root, WalkLimits, list_files, walk};

use crate::disclose::load::open;
use crate::discover::index::Place;
use crate::served::approved::entries;
use crate::{Invoker, RuntimeError, Skill};

/// The largest file that is read unless the caller says otherwise.
pub const MAX_RESOURCE_BYTES: u64 = 8 << 20;

/// How deep a file may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Depth {
    /// In the skill's folder, or in a folder of it: what the standard recommends.
    #[default]
    OneLevel,
    /// Anywhere below the skill's folder.
    Nested,
}

/// How to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// How deep it may be.
    pub depth: Depth,
    /// How large it may be.
    pub max_bytes: u64,
    /// Who reads it. The model reads nothing of a skill that it may not start, unless the user started it in the session; of one that nobody may
    /// start, nobody reads anything.
    pub invoker: Invoker,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { depth: Depth::OneLevel, max_bytes: MAX_RESOURCE_BYTES, invoker: Invoker::Model }
    }
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its path, seen from the skill.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The digest of its bytes.
    pub sha256: String,
}

impl Resource {
    /// Returns it as text, if it is.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|text| !text.contains('\0'))
    }
}

/// One entry of a skill's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceEntry {
    /// Its path, seen from the skill.
    pub path: String,
    /// What it is.
    pub kind: Kind,
}

/// Reads a file of a skill.
pub(crate) fn read(
    skill: &Skill,
    path: &str,
    options: &ReadOptions,
) -> Result<Resource, RuntimeError> {
    let relative = relative(skill, path, options.depth)?;
    let bytes = match (&skill.place, open(skill)?) {
        (Place::Builtin(builtin), _) => builtin
            .file(&relative)
            .map(|text| text.as_bytes().to_vec())
            .ok_or_else(|| not_found(skill, path, builtin.files.iter().map(|(path, _)| *path)))?,
        (Place::Folder { .. }, Some(root)) if root.is_repository(&relative) => {
            return Err(RuntimeError::PermissionDenied {
                message: format!(
                    "`{path}` of `{}` is not read: the repository that a skill is written in is no part of it",
                    skill.id
                ),
                hint: None,
            });
        }
        (Place::Folder { .. }, Some(root)) => root
            .read(&relative, options.max_bytes)
            .map_err(|error| refused(skill, path, &root, error))?,
        (Place::Folder { .. } | Place::Served(_), _) => return Err(not_found(skill, path, [])),
    };
    let sha256 = Digest::of(&bytes).to_string();
    Ok(Resource { path: relative.to_string(), bytes, sha256 })
}

/// Returns every file and link of a skill, sorted.
pub(crate) fn files(skill: &Skill) -> Result<Vec<ResourceEntry>, RuntimeError> {
    match (&skill.place, open(skill)?) {
        (Place::Builtin(builtin), _) => Ok(builtin
            .files
            .iter()
            .map(|(path, text)| ResourceEntry {
                path: (*path).to_owned(),
                kind: Kind::File { size: text.len() as u64, executable: false },
            })
            .collect()),
        (Place::Served(served), _) => Ok(entries(served)),
        (Place::Folder { .. }, None) => Ok(Vec::new()),
        (Place::Folder { .. }, Some(root)) => {
            let entry = |Entry { path, kind }| ResourceEntry { path: path.to_string(), kind };
            let all = walk(&root, &WalkLimits::SKILL)?.into_iter();
            Ok(all.filter(|entry| entry.kind != Kind::Folder).map(entry).collect())
        }
    }
}

fn relative(skill: &Skill, path: &str, depth: Depth) -> Result<RelPath, RuntimeError> {
    let denied = |why: &str, hint: &str| RuntimeError::PermissionDenied {
        message: format!("`{path}` of `{}` is not read: {why}", skill.id),
        hint: Some(hint.to_owned()),
    };
    let trimmed = path.strip_prefix("./").unwrap_or(path);
    let relative = RelPath::new(trimmed).map_err(|error| {
        denied(&error.to_string(), "name a file by its path below the skill's folder")
    })?;
    match depth {
        Depth::OneLevel if relative.parts().count() > 2 => {
            Err(RuntimeError::TooDeep { skill: skill.id.clone(), path: path.to_owned() })
        }
        Depth::OneLevel | Depth::Nested => Ok(relative),
    }
}

fn refused(skill: &Skill, path: &str, root: &Root, error: FsError) -> RuntimeError {
    let denied = |why: String, hint: Option<&str>| RuntimeError::PermissionDenied {
        message: format!("`{path}` of `{}` is not read: {why}", skill.id),
        hint: hint.map(str::to_owned),
    };
    match error {
        FsError::NotFound { .. } | FsError::NotAFolder { .. } => {
            let files = list_files(root, &WalkLimits::SKILL).unwrap_or_default();
            not_found(skill, path, files.iter().map(RelPath::as_str))
        }
        FsError::Escapes { .. } => {
            denied("it is, or goes through, a link that leads out of the skill".to_owned(), None)
        }
        FsError::NotRegular { kind, .. } => denied(format!("it is {kind}"), None),
        FsError::TooLarge { size, limit, .. } => denied(
            format!("it has {size} bytes, and at most {limit} are read"),
            Some("allow more with --max-bytes"),
        ),
        other => other.into(),
    }
}

pub(crate) fn not_found<'a>(
    skill: &Skill,
    path: &str,
    files: impl IntoIterator<Item = &'a str>,
) -> RuntimeError {
    let files: Vec<&str> = files.into_iter().collect();
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    // The right name in the wrong folder is the most common slip.
    let moved = files.iter().find(|file| name(file) == name(path)).copied();
    let nearest = moved.or_else(|| nearest(path, files.iter().copied())).map(str::to_owned);
    RuntimeError::ResourceNotFound { skill: skill.id.clone(), path: path.to_owned(), nearest }
}
