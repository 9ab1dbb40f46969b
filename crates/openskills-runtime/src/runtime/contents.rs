//! A skill as another program is told of it: its frontmatter, and every file with its digest.

use std::io::Read;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use skill::{RelPath, raw_frontmatter};
use skill_fs::{FsError, Kind, Root};

use super::OpenSkillRuntime;
use crate::index::Place;
use crate::load::open;
use crate::resource::files;
use crate::{RuntimeError, Skill};

/// The largest SKILL.md.
const MAX_SKILL_FILE: u64 = 1 << 20;

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
        let root = open(skill)?;
        let mut all = Vec::new();
        for entry in files(skill)? {
            if let Kind::File { size, .. } = entry.kind {
                let sha256 = digest(skill, root.as_ref(), &entry.path)?;
                all.push(FileDigest { path: entry.path, size, sha256 });
            }
        }
        let text = text(skill, root.as_ref())?;
        let raw = raw_frontmatter(&text).map(|raw| raw.to_json());
        let frontmatter = match raw {
            Some(Value::Object(fields)) => fields,
            Some(_) | None => Map::new(),
        };
        Ok(Contents { frontmatter, files: all })
    }
}

fn text(skill: &Skill, root: Option<&Root>) -> Result<String, RuntimeError> {
    let bytes = match (&skill.place, root) {
        (Place::Builtin(builtin), _) => {
            let path = RelPath::new("SKILL.md").expect("it is a relative path");
            builtin.file(&path).unwrap_or_default().as_bytes().to_vec()
        }
        (Place::Folder { file, .. }, Some(root)) => match file.path() {
            Some(path) => root.read(&path, MAX_SKILL_FILE)?,
            None => Vec::new(),
        },
        (Place::Folder { .. }, None) => Vec::new(),
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn digest(skill: &Skill, root: Option<&Root>, path: &str) -> Result<String, RuntimeError> {
    let wrong = |error: String| RuntimeError::Script { skill: skill.id.clone(), message: error };
    let relative = RelPath::new(path).map_err(|error| wrong(error.to_string()))?;
    let mut hash = Sha256::new();
    match (&skill.place, root) {
        (Place::Builtin(builtin), _) => {
            hash.update(builtin.file(&relative).unwrap_or_default().as_bytes());
        }
        (Place::Folder { .. }, Some(root)) => {
            let failed = |source| FsError::Io { path: path.to_owned(), source };
            let mut file = root.file(&relative)?;
            let mut space = vec![0; 64 << 10];
            loop {
                match file.read(&mut space).map_err(failed)? {
                    0 => break,
                    read => hash.update(&space[..read]),
                }
            }
        }
        (Place::Folder { .. }, None) => {}
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}
