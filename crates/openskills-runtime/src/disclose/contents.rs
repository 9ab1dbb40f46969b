//! Describes a skill to another program: its frontmatter, and every file with its digest.

use serde_json::{Map, Value};
use skill::raw_frontmatter;
use skill_fs::{Kind, WalkLimits};

use crate::disclose::resource::{files, read};
use crate::discover::index::SkillLocation;
use crate::runtime::OpenSkillRuntime;
use crate::served::ServedFile;
use crate::{Depth, Event, ReadOptions, RuntimeError};
use skill::ByteSize;

/// The contents of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Every frontmatter field, as written.
    pub frontmatter: Map<String, Value>,
    /// Every regular file, sorted by path.
    pub files: Vec<FileDigest>,
}

/// A skill file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigest {
    /// Path relative to the skill's folder.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Digest of its bytes: `sha256:` and 64 hex digits.
    pub sha256: String,
}

/// The number of files, and of bytes, that every MCP host must accept.
const MCP_FILES: usize = 512;
const MCP_BYTES: u64 = 16 << 20;

/// Returns a warning if a skill is larger than what every MCP host must accept.
pub fn beyond_mcp_limits(files: usize, bytes: u64) -> Option<String> {
    let is_beyond = files > MCP_FILES || bytes > MCP_BYTES;
    is_beyond.then(|| {
        format!(
            "it has {files} files ({} in total); some MCP hosts accept at most {MCP_FILES} files ({})",
            ByteSize(bytes),
            ByteSize(MCP_BYTES)
        )
    })
}

/// Returns which frontmatter fields violate the standard, if any. A strict MCP client rejects the whole list because of
/// one such skill.
pub fn beyond_standard(frontmatter: &Map<String, Value>) -> Option<String> {
    let wrong: Vec<&str> = STANDARD
        .iter()
        .filter(|field| match frontmatter.get(field.key) {
            None => field.is_required,
            Some(value) => !(field.fits)(value),
        })
        .map(|field| field.rule)
        .collect();
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// A frontmatter field of the standard and its rule.
struct Field {
    key: &'static str,
    is_required: bool,
    fits: fn(&Value) -> bool,
    rule: &'static str,
}

const STANDARD: [Field; 6] = [
    Field {
        key: "name",
        is_required: true,
        fits: |value| value.as_str().is_some_and(is_standard_name),
        rule: "`name` must be 1 to 64 lowercase letters and digits; single hyphens may separate words",
    },
    Field {
        key: "description",
        is_required: true,
        fits: |value| {
            value.as_str().is_some_and(|text| !text.trim().is_empty() && has_at_most(text, 1024))
        },
        rule: "`description` must be a string of 1 to 1024 characters",
    },
    Field {
        key: "license",
        is_required: false,
        fits: Value::is_string,
        rule: "`license` must be a string",
    },
    Field {
        key: "compatibility",
        is_required: false,
        fits: |value| value.as_str().is_some_and(|text| !text.is_empty() && has_at_most(text, 500)),
        rule: "`compatibility` must be a string of 1 to 500 characters",
    },
    Field {
        key: "metadata",
        is_required: false,
        fits: |value| value.as_object().is_some_and(|all| all.values().all(Value::is_string)),
        rule: "`metadata` must map strings to strings",
    },
    Field {
        key: "allowed-tools",
        is_required: false,
        fits: Value::is_string,
        rule: "`allowed-tools` must be a single string of tools separated by spaces",
    },
];

fn has_at_most(text: &str, characters: usize) -> bool {
    text.chars().nth(characters).is_none()
}

fn is_standard_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= 64 && name.split('-').all(is_part)
}

impl OpenSkillRuntime {
    /// Logs that a skill is not listed for MCP clients, once per skill in the lifetime of this runtime.
    pub fn warn_not_listed(&mut self, id: &str, warning: String) -> Result<(), RuntimeError> {
        if !self.warned.insert(format!("not listed: {id}")) {
            return Ok(());
        }
        let (skill_id, session_id) = (id.to_owned(), self.session.id.clone());
        self.record(&Event::NotListed { skill_id, session_id, warning })
    }

    /// Logs that a served skill is too large for some MCP hosts, once per skill in the lifetime of this runtime.
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

    /// Returns the frontmatter of a skill, and digest and size of its SKILL.md. Reads nothing else and logs nothing.
    pub fn head(&self, name: &str) -> Result<(Map<String, Value>, FileDigest), RuntimeError> {
        let skill = self.skill(name)?;
        if matches!(skill.place, SkillLocation::Served(_)) {
            let Contents { frontmatter, files } = self.contents(name)?;
            let file = files.into_iter().find(|file| file.path == skill.skill_file());
            let file = file.ok_or_else(|| RuntimeError::ResourceNotFound {
                skill: skill.id.clone(),
                path: skill.skill_file(),
                nearest: None,
            })?;
            return Ok((frontmatter, file));
        }
        let file = read(skill, &skill.skill_file(), &ReadOptions::default())?;
        let raw = file.text().and_then(raw_frontmatter).map(|raw| raw.to_json());
        let frontmatter = match raw {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let (path, size) = (file.path, file.bytes.len() as u64);
        Ok((frontmatter, FileDigest { path, size, sha256: file.sha256 }))
    }

    /// Returns the contents of a skill. Logs nothing, because no model sees them.
    pub fn contents(&self, name: &str) -> Result<Contents, RuntimeError> {
        let skill = self.skill(name)?;
        // The server's list already has the digests, so nothing is fetched.
        if let SkillLocation::Served(served) = &skill.place {
            let file = |file: &ServedFile| FileDigest {
                path: file.path.clone(),
                size: file.size,
                sha256: file.digest.to_string(),
            };
            let files = served.files.iter().map(file).collect();
            return Ok(Contents { frontmatter: served.frontmatter.clone(), files });
        }
        // Every file gets a digest, up to the size limit of a skill.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_violate_the_standard_are_reported() {
        for (frontmatter, wrong) in [
            (json!({"name": "a-1", "description": "d"}), None),
            (
                json!({"name": "a", "description": "d", "license": "MIT", "compatibility": "c", "metadata": {"k": "v"}, "allowed-tools": "Read Bash(git:*)", "other": [1]}),
                None,
            ),
            (json!({"description": "d"}), Some("name")),
            (json!({"name": "A", "description": "d"}), Some("name")),
            (json!({"name": "a--b", "description": "d"}), Some("name")),
            (json!({"name": "größe", "description": "d"}), Some("name")),
            (json!({"name": "a", "description": " "}), Some("description")),
            (json!({"name": "a", "description": "d".repeat(1025)}), Some("description")),
            (json!({"name": "a", "description": "d", "license": {"x": 1}}), Some("license")),
            (json!({"name": "a", "description": "d", "compatibility": ""}), Some("compatibility")),
            (json!({"name": "a", "description": "d", "metadata": {"k": 1}}), Some("metadata")),
            (json!({"name": "a", "description": "d", "metadata": null}), Some("metadata")),
            (
                json!({"name": "a", "description": "d", "allowed-tools": ["Read"]}),
                Some("allowed-tools"),
            ),
        ] {
            let Value::Object(fields) = &frontmatter else { panic!("{frontmatter}") };
            let found = beyond_standard(fields);
            assert_eq!(found.is_some(), wrong.is_some(), "{frontmatter}: {found:?}");
            if let (Some(found), Some(wrong)) = (found, wrong) {
                assert!(found.starts_with(&format!("`{wrong}`")), "{found}");
            }
        }
    }
}
