//! Reads files of a skill on demand, and nothing outside of it.

use skill::{Digest, RelPath, nearest};
use skill_fs::{Entry, FsError, Kind, Root, WalkLimits, list_files, walk};

use crate::disclose::load::open;
use crate::discover::index::SkillLocation;
use crate::served::approved::entries;
use crate::{Invoker, RuntimeError, Skill};
use skill::ByteSize;

/// The default maximum size of a file.
pub const MAX_RESOURCE_BYTES: u64 = 8 << 20;

/// How deeply nested a file may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Depth {
    /// In the skill's folder or directly in one of its subfolders, as the standard recommends.
    #[default]
    OneLevel,
    /// Anywhere below the skill's folder.
    Nested,
}

/// Options for reading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// The maximum depth.
    pub depth: Depth,
    /// The maximum size in bytes.
    pub max_bytes: u64,
    /// Who reads it. The model cannot read files of a skill that it may not invoke, unless the user activated it in
    /// this session. Nobody can read files of a skill that nobody may invoke.
    pub invoker: Invoker,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { depth: Depth::OneLevel, max_bytes: MAX_RESOURCE_BYTES, invoker: Invoker::Model }
    }
}

/// A skill file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Path relative to the skill's folder.
    pub path: String,
    /// The file's content.
    pub bytes: Vec<u8>,
    /// The digest of the content.
    pub sha256: String,
}

impl Resource {
    /// Returns the content as text; `None` for binary files.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|text| !text.contains('\0'))
    }
}

/// An entry of a skill's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceEntry {
    /// Path relative to the skill's folder.
    pub path: String,
    /// The type of entry.
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
        (SkillLocation::Builtin(builtin), _) => builtin
            .file(&relative)
            .map(|text| text.as_bytes().to_vec())
            .ok_or_else(|| not_found(skill, path, builtin.files.iter().map(|(path, _)| *path)))?,
        (SkillLocation::Folder { .. }, Some(root)) if root.is_repository(&relative) => {
            return Err(RuntimeError::PermissionDenied {
                message: format!(
                    "cannot read `{path}` in `{}`: the skill's git repository is not part of the skill",
                    skill.id
                ),
                hint: None,
            });
        }
        (SkillLocation::Folder { .. }, Some(root)) => root
            .read(&relative, options.max_bytes)
            .map_err(|error| refused(skill, path, &root, error))?,
        (SkillLocation::Folder { .. } | SkillLocation::Served(_), _) => {
            return Err(not_found(skill, path, []));
        }
    };
    let sha256 = Digest::of(&bytes).to_string();
    Ok(Resource { path: relative.to_string(), bytes, sha256 })
}

/// Returns every file and symlink of a skill, sorted.
pub(crate) fn files(skill: &Skill) -> Result<Vec<ResourceEntry>, RuntimeError> {
    match (&skill.place, open(skill)?) {
        (SkillLocation::Builtin(builtin), _) => Ok(builtin
            .files
            .iter()
            .map(|(path, text)| ResourceEntry {
                path: (*path).to_owned(),
                kind: Kind::File { size: text.len() as u64, executable: false },
            })
            .collect()),
        (SkillLocation::Served(served), _) => Ok(entries(served)),
        (SkillLocation::Folder { .. }, None) => Ok(Vec::new()),
        (SkillLocation::Folder { .. }, Some(root)) => {
            let entry = |Entry { path, kind }| ResourceEntry { path: path.to_string(), kind };
            let all = walk(&root, &WalkLimits::SKILL)?.into_iter();
            Ok(all.filter(|entry| entry.kind != Kind::Folder).map(entry).collect())
        }
    }
}

fn relative(skill: &Skill, path: &str, depth: Depth) -> Result<RelPath, RuntimeError> {
    let denied = |why: &str, hint: &str| RuntimeError::PermissionDenied {
        message: format!("cannot read `{path}` in `{}`: {why}", skill.id),
        hint: Some(hint.to_owned()),
    };
    let trimmed = path.strip_prefix("./").unwrap_or(path);
    let relative = RelPath::new(trimmed)
        .map_err(|error| denied(&error.to_string(), "use a path relative to the skill's folder"))?;
    match depth {
        Depth::OneLevel if relative.parts().count() > 2 => {
            Err(RuntimeError::TooDeep { skill: skill.id.clone(), path: path.to_owned() })
        }
        Depth::OneLevel | Depth::Nested => Ok(relative),
    }
}

fn refused(skill: &Skill, path: &str, root: &Root, error: FsError) -> RuntimeError {
    let denied = |why: String, hint: Option<&str>| RuntimeError::PermissionDenied {
        message: format!("cannot read `{path}` in `{}`: {why}", skill.id),
        hint: hint.map(str::to_owned),
    };
    match error {
        FsError::NotFound { .. } | FsError::NotAFolder { .. } => {
            let files = list_files(root, &WalkLimits::SKILL).unwrap_or_default();
            not_found(skill, path, files.iter().map(RelPath::as_str))
        }
        FsError::Escapes { .. } => {
            denied("the path goes through a symlink that points outside the skill".to_owned(), None)
        }
        FsError::NotRegular { kind, .. } => denied(format!("it is {kind}"), None),
        FsError::TooLarge { size, limit, .. } => denied(
            format!("too large: {} (limit: {})", ByteSize(size), ByteSize(limit)),
            Some("raise the limit with --max-bytes"),
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
    // The most common mistake is the right name in the wrong folder.
    let moved = files.iter().find(|file| name(file) == name(path)).copied();
    let nearest = moved.or_else(|| nearest(path, files.iter().copied())).map(str::to_owned);
    RuntimeError::ResourceNotFound { skill: skill.id.clone(), path: path.to_owned(), nearest }
}
