//! `Skillfile.lock`: the commit and content digest of every skill of a project.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use skill::json::{Object, Text, read};
use skill::{Code, Diagnostic, Digest, Identifier, RefKind, RelPath};

use crate::{Commit, Declaration, Reference};

/// The file name of the lockfile.
pub const LOCKFILE: &str = "Skillfile.lock";

/// The contents of `Skillfile.lock`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lockfile {
    /// The pinned skills, by name.
    pub skills: BTreeMap<Identifier, LockedSkill>,
}

/// The pinned version of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedSkill {
    /// The repository under `skills_root`.
    pub source: Identifier,
    /// The URL it was cloned from, if declared.
    pub git: Option<String>,
    /// The repository folder that holds the skill; `None` means the whole repository.
    pub path: Option<RelPath>,
    /// The declared reference.
    pub reference: Reference,
    /// The commit that the reference pointed to.
    pub commit: Commit,
    /// The tree of that commit, or of the skill's folder in it.
    pub tree: String,
    /// The digest of the skill's files.
    pub bundle: Digest,
}

impl Lockfile {
    /// Returns the pinned version of `declaration`, or `None` if the declaration has changed since.
    pub fn get(&self, declaration: &Declaration) -> Option<&LockedSkill> {
        self.skills.get(&declaration.name).filter(|locked| {
            locked.source == declaration.source
                && locked.git == declaration.git
                && locked.path == declaration.path
                && locked.reference == declaration.reference
        })
    }

    /// Parses the file.
    pub fn parse(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        read(file, text, |object| {
            object.schema_version(&[1])?;
            let skills = object.entries("skills", |name, entry| {
                let name = identifier(entry, name)?;
                Some((name, locked(entry)?))
            });
            Some(Self { skills: skills.into_iter().collect() })
        })
    }

    /// Serializes the lockfile: sorted, one value a line, so that branches merge cleanly.
    pub fn to_json(&self) -> String {
        let entry = |(name, locked): (&Identifier, &LockedSkill)| {
            let mut value = json!({
                "bundle_sha256": locked.bundle.to_string(),
                "commit": locked.commit.as_str(),
            });
            if let Some(git) = &locked.git {
                value["git"] = git.as_str().into();
            }
            if let Some(path) = &locked.path {
                value["path"] = path.as_str().into();
            }
            value["ref"] = locked.reference.name.as_str().into();
            value["ref_kind"] = locked.reference.kind.as_str().into();
            value["source"] = locked.source.as_str().into();
            value["tree"] = locked.tree.as_str().into();
            (name.to_string(), value)
        };
        let skills: Map<String, Value> = self.skills.iter().map(entry).collect();
        format!("{:#}\n", json!({ "schema_version": 1, "skills": skills }))
    }
}

fn identifier(entry: &mut Object<'_, '_, '_>, name: &Text) -> Option<Identifier> {
    Identifier::new(name.value.as_str())
        .map_err(|error| {
            let message = format!("`{}` is not a valid skill name: {error}", name.value);
            entry.problem(Code::BadIdentifier, name.range.clone(), message);
        })
        .ok()
}

fn locked(entry: &mut Object<'_, '_, '_>) -> Option<LockedSkill> {
    let source = entry.required_identifier("source");
    let git = entry.text("git").map(|text| text.value);
    let path = entry.text("path");
    let kind = entry.required("ref_kind");
    let name = entry.required("ref");
    let (commit, tree) = (entry.required("commit"), entry.required("tree"));
    let bundle = entry.required("bundle_sha256");
    let has_path = path.is_some();
    let mut check = |text: Option<Text>, expected: &str, is_good: fn(&str) -> bool| {
        let text = text?;
        if is_good(&text.value) {
            return Some(text.value);
        }
        let message = format!("`{}` is not {expected}", text.value);
        entry.problem(Code::BadValue, text.range, message);
        None
    };
    let kind = check(kind, "`tag`, `branch` or `revision`", |text| RefKind::parse(text).is_some());
    let commit = check(commit, "a full commit ID", is_id);
    let tree = check(tree, "a full tree ID", is_id);
    let bundle = check(bundle, "a digest", |text| text.parse::<Digest>().is_ok());
    let path = match check(path, "a folder in a repository", |text| RelPath::new(text).is_ok()) {
        None if has_path => return None,
        path => path.and_then(|path| RelPath::new(path).ok()),
    };
    Some(LockedSkill {
        source: source?,
        git,
        path,
        reference: Reference { kind: RefKind::parse(&kind?)?, name: name?.value },
        commit: Commit::new(&commit?)?,
        tree: tree?,
        bundle: bundle?.parse().ok()?,
    })
}

fn is_id(text: &str) -> bool {
    Commit::new(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_written_sorted_and_read_back() {
        let locked = |name: &str| LockedSkill {
            source: Identifier::new(name).unwrap(),
            git: (name == "b").then(|| "https://x.test/b".to_owned()),
            path: (name == "b").then(|| RelPath::new("skills/b").unwrap()),
            reference: Reference { kind: RefKind::Tag, name: "v1".into() },
            commit: Commit::new(&"a".repeat(40)).unwrap(),
            tree: "b".repeat(40),
            bundle: Digest::of(b"x"),
        };
        let skills = ["b", "a"].map(|name| (Identifier::new(name).unwrap(), locked(name)));
        let lock = Lockfile { skills: skills.into_iter().collect() };
        let text = lock.to_json();
        assert!(text.find("\"a\": {").unwrap() < text.find("\"b\": {").unwrap());
        assert_eq!(Lockfile::parse(LOCKFILE, &text), (Some(lock), Vec::new()));
        for (good, bad) in [
            ("\"ref_kind\": \"tag\"", "\"ref_kind\": \"tags\""),
            (&"a".repeat(40), "abc"),
            ("sha256:", "md5:"),
            ("skills/b", "../b"),
            ("\"a\": {", "\"../a\": {"),
            ("\"schema_version\": 1", "\"schema_version\": 2"),
        ] {
            let (lock, problems) = Lockfile::parse(LOCKFILE, &text.replace(good, bad));
            assert_eq!(lock, None, "{bad}");
            assert!(problems[0].span.is_some());
        }
    }
}
