//! A skill as another program is told of it: its frontmatter, and every file with its digest.

use serde_json::{Map, Value};
use skill::raw_frontmatter;
use skill_fs::{Kind, WalkLimits};

use super::OpenSkillRuntime;
use crate::index::Place;
use crate::resource::{files, read};
use crate::served::ServedFile;
use crate::{Depth, Event, ReadOptions, RuntimeError};

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

/// How many files and bytes of a skill every MCP host accepts.
const MCP_FILES: usize = 512;
const MCP_BYTES: u64 = 16 << 20;

/// Says how a skill is larger than what every MCP host accepts, if it is.
pub fn beyond_mcp_limits(files: usize, bytes: u64) -> Option<String> {
    let is_beyond = files > MCP_FILES || bytes > MCP_BYTES;
    is_beyond.then(|| {
        format!(
            "it has {files} files with {bytes} bytes; every MCP host accepts {MCP_FILES} files with {MCP_BYTES} bytes, and some no more"
        )
    })
}

impl OpenSkillRuntime {
    /// Writes to the log that a skill is served which not every MCP host accepts; once for each as long as this runtime lives.
    pub fn warn_beyond_limits(
        &mut self,
        id: &str,
        contents: &Contents,
    ) -> Result<(), RuntimeError> {
        let bytes = contents.files.iter().map(|file| file.size).sum();
        let Some(warning) = beyond_mcp_limits(contents.files.len(), bytes) else { return Ok(()) };
        if !self.warned.insert(id.to_owned()) {
            return Ok(());
        }
        let (skill_id, session_id) = (id.to_owned(), self.session.id.clone());
        self.record(&Event::BeyondLimits { skill_id, session_id, warning })
    }

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
        let options = ReadOptions { depth: Depth::Nested, max_bytes, ..ReadOptions::default() };
        let mut contents = Contents { frontmatter: Map::new(), files: Vec::new() };
        for entry in files(skill)? {
            if !matches!(entry.kind, Kind::File { .. }) {
                continue;
            }
            let file = read(skill, &entry.path, &options)?;
            if entry.path == skill.skill_file()
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
