//! A skill as another program is told of it: its frontmatter, and every file with its digest.

use serde_json::{Map, Value};
use skill::raw_frontmatter;
use skill_fs::{Kind, WalkLimits};

use super::OpenSkillRuntime;
use crate::index::Place;
use crate::resource::{files, read};
use crate::served::ServedFile;
use crate::{Depth, ReadOptions, RuntimeError};

/// What is in a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Every field of the frontmatter, as it was written.
    pub frontmatter: Map<String, Value>,
    /// Every regular file, sorted.
    pub files: Vec<FileDigest>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigest {
    /// Its path, seen from the skill.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// The digest of its bytes: `sha256:` and 64 digits.
    pub sha256: String,
}

impl OpenSkillRuntime {
    /// Returns what is in a skill. Nothing of it is given to a model, so nothing is logged.
    pub fn contents(&self, name: &str) -> Result<Contents, RuntimeError> {
        let skill = self.skill(name)?;
        // What a server said of its files needs no fetching.
        if let Place::Served(served) = &skill.place {
            let file = |file: &ServedFile| FileDigest {
                path: file.path.clone(),
                size: file.size,
                sha256: file.digest.to_string(),
            };
            let files = served.files.iter().map(file).collect();
            return Ok(Contents { frontmatter: served.frontmatter.clone(), files });
        }
        // A digest is told of every file that a skill can have.
        let max_bytes = WalkLimits::SKILL.bytes as u64;
        let options = ReadOptions { depth: Depth::Nested, max_bytes };
        let mut contents = Contents { frontmatter: Map::new(), files: Vec::new() };
        for entry in files(skill)? {
            if !matches!(entry.kind, Kind::File { .. }) {
                continue;
            }
            let file = read(skill, &entry.path, &options)?;
            let is_skill_file = match skill.location() {
                Some(location) => location == format!("{}/{}", skill.path(), entry.path),
                None => entry.path == "SKILL.md",
            };
            if is_skill_file
                && let Some(Value::Object(fields)) =
                    file.text().and_then(raw_frontmatter).map(|raw| raw.to_json())
            {
                contents.frontmatter = fields;
            }
            let (size, sha256) = (file.bytes.len() as u64, file.sha256);
            contents.files.push(FileDigest { path: file.path, size, sha256 });
        }
        Ok(contents)
    }
}
