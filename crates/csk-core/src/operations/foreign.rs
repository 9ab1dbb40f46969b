//! Reads the lockfiles of other skill managers and converts them to Skillfile declarations.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess};
use serde_json::{Map, Value};
use skill::{Identifier, RefKind, RelPath};
use skill_state::without_password;

use crate::text::read_json;

/// A skill in another manager's lockfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSkill {
    /// The name of the skill.
    pub name: String,
    /// Where it can be fetched, or why that is unknown.
    pub origin: Result<ForeignOrigin, String>,
}

/// Where a skill can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignOrigin {
    /// The name of the repository under `skills_root`.
    pub source: Identifier,
    /// The URL to clone from.
    pub git: String,
    /// The repository folder that holds the skill; `None` means the whole repository.
    pub path: Option<RelPath>,
    /// The recorded tag, branch or commit, if any.
    pub reference: Option<String>,
    /// The type of the reference, if known.
    pub kind: Option<RefKind>,
}

/// Parses `skills-lock.json` (version 1) or `.skill-lock.json` (version 3).
pub fn read_foreign_lock(file: &str, text: &str) -> Result<Vec<ForeignSkill>, String> {
    let lock: ForeignLock = read_json(text)
        .map_err(|error| format!("{file}:{}:{}: {}", error.line, error.column, error.what))?;
    if !matches!(lock.version.as_u64(), Some(1 | 3)) {
        let found = &lock.version;
        return Err(format!("{file}: `version` is {found}; expected the number 1 or 3"));
    }
    let skill = |(name, entry): (String, Value)| ForeignSkill {
        name,
        origin: match &entry {
            Value::Object(entry) => origin(entry),
            _ => Err("its entry is not an object".to_owned()),
        },
    };
    Ok(lock.skills.0.into_iter().map(skill).collect())
}

/// Another manager's lockfile; other keys are ignored.
#[derive(Deserialize)]
struct ForeignLock {
    version: Value,
    skills: UniqueEntries,
}

/// An object without duplicate keys; otherwise one of two entries would be lost silently.
struct UniqueEntries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for UniqueEntries {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = UniqueEntries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a key for each skill")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueEntries, A::Error> {
                let (mut entries, mut seen) = (Vec::new(), BTreeSet::new());
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if !seen.insert(name.clone()) {
                        return Err(de::Error::custom(format!("duplicate skill `{name}`")));
                    }
                    entries.push((name, value));
                }
                Ok(UniqueEntries(entries))
            }
        }
        from.deserialize_map(Visitor)
    }
}

fn origin(entry: &Map<String, Value>) -> Result<ForeignOrigin, String> {
    // Ignoring a value of the wrong type would lose a pin.
    let text = |key: &str| match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(other) => Err(format!("`{key}` is {other}; expected a string")),
    };
    let kind = text("sourceType")?.unwrap_or("github");
    let url = match (text("sourceUrl")?, text("source")?, kind) {
        (Some(url), _, "github" | "gitlab" | "git" | "bitbucket") => git_url(url),
        (None, Some(source), "github") => git_url(&format!("https://github.com/{source}")),
        (None, Some(source), "gitlab") => git_url(&format!("https://gitlab.com/{source}")),
        (None, Some(source), "git") => git_url(source),
        (_, _, other) => {
            return Err(format!(
                "source type `{other}` is not supported; only git repositories can be imported"
            ));
        }
    };
    let url = url.ok_or_else(|| {
        "no usable repository URL; expected https://, ssh:// or user@host:path".to_owned()
    })?;
    let path = match text("skillPath")?.map(folder_of) {
        None | Some(None) => None,
        Some(Some(path)) => Some(
            RelPath::new(path)
                .map_err(|error| format!("`skillPath` is not a valid path: {error}"))?,
        ),
    };
    let source =
        source_name(&url).ok_or_else(|| format!("cannot derive a repository name from `{url}`"))?;
    let reference = text("ref")?.map(str::to_owned);
    Ok(ForeignOrigin { source, git: url, path, reference, kind: None })
}

/// Returns the folder of a SKILL.md, or `None` if it is the repository's root.
fn folder_of(path: &str) -> Option<&str> {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let folder = match path.rsplit_once('/') {
        Some((folder, last)) if last.eq_ignore_ascii_case("skill.md") => folder,
        None if path.eq_ignore_ascii_case("skill.md") => "",
        _ => path,
    };
    Some(folder).filter(|folder| !folder.is_empty() && *folder != ".")
}

/// Returns a URL that git accepts.
fn git_url(url: &str) -> Option<String> {
    let is_git = ["https://", "ssh://", "file://", "/"].iter().any(|start| url.starts_with(start))
        || (url.contains('@') && url.contains(':'));
    let plain = url.split(['#', '?']).next().unwrap_or(url).trim_end_matches('/');
    is_git.then(|| without_password(plain))
}

/// Derives a repository name from a URL: its owner and its own name.
pub fn source_name(url: &str) -> Option<Identifier> {
    name_of(url, 2)
}

/// Derives a longer name that includes the host, if [`source_name`] is already taken.
pub fn long_source_name(url: &str) -> Option<Identifier> {
    name_of(url, usize::MAX)
}

fn name_of(url: &str, max_parts: usize) -> Option<Identifier> {
    let plain = url.trim_end_matches(".git");
    let rest = plain.split_once("://").map_or(plain, |(_, rest)| rest);
    let mut parts: Vec<&str> =
        rest.split(['/', ':']).filter(|part| !part.is_empty() && !part.contains('@')).collect();
    if parts.len() > max_parts {
        parts = parts.split_off(parts.len() - max_parts);
    }
    let name: String = parts
        .join("-")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect();
    Identifier::new(name.trim_matches(['-', '.', '_'])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lockfiles_of_other_managers_are_read() {
        let text = r#"{"version": 1, "skills": {
            "pdf": {"source": "acme/skills", "sourceType": "github", "skillPath": "skills/pdf/SKILL.md", "ref": "v1", "computedHash": "x"},
            "whole": {"source": "acme/whole", "sourceUrl": "git@git.example.com:acme/whole.git", "sourceType": "git", "skillPath": "SKILL.md"},
            "near": {"source": "./here", "sourceType": "local"},
            "odd": 1}}"#;
        let found = read_foreign_lock("skills-lock.json", text).unwrap();
        let origin = found[0].origin.as_ref().unwrap();
        assert_eq!(
            (origin.git.as_str(), origin.source.as_str(), origin.reference.as_deref()),
            ("https://github.com/acme/skills", "acme-skills", Some("v1"))
        );
        assert_eq!(origin.path.as_ref().map(RelPath::as_str), Some("skills/pdf"));
        let origin = found[1].origin.as_ref().unwrap();
        assert_eq!((origin.source.as_str(), &origin.path), ("acme-whole", &None));
        assert!(found[2].origin.as_ref().unwrap_err().contains("`local`"));
        assert!(found[3].origin.is_err());
        for (key, value) in [("ref", "5"), ("skillPath", "[]"), ("sourceType", "1")] {
            let text = format!(
                r#"{{"version": 1, "skills": {{"a": {{"source": "b/c", "{key}": {value}}}}}}}"#
            );
            let found = read_foreign_lock("skills-lock.json", &text).unwrap();
            let error = found[0].origin.as_ref().unwrap_err();
            assert!(error.contains(&format!("`{key}` is {value}; expected a string")), "{error}");
        }
        assert_eq!(source_name("https://a.test/o/n").unwrap().as_str(), "o-n");
        assert_eq!(long_source_name("https://a.test/o/n").unwrap().as_str(), "a.test-o-n");
        for (text, message) in [
            ("{", "skills-lock.json:1:"),
            ("{\"version\": 2, \"skills\": {}}", "`version` is 2"),
            ("{\"version\": \"1\", \"skills\": {}}", "`version` is \"1\""),
            ("{\"version\": 1}", "missing key `skills`"),
            ("{\"version\": 1, \"skills\": {\"a\": {}, \"a\": {}}}", "duplicate skill `a`"),
        ] {
            let error = read_foreign_lock("skills-lock.json", text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
