//! Receipts of what csk installed in a project: the digest of each marker it wrote, stored under csk's home folder.
//!
//! A marker in a checkout may be forged, with digests that match the files next to it. csk does not trust a marker
//! without a receipt: it reinstalls the skill from its repository, and provides none of its commands until then.

#![expect(clippy::disallowed_methods, reason = "the edge to the filesystem")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Map, Value, json};
use skill::{Digest, Identifier};
use skill_fs::{AbsPath, FsError, read_text, write_file};

use crate::key_of;

const FOLDER: &str = "receipts";

/// The receipts of one project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipts {
    /// The file; `None` in a default value, which is never saved.
    file: Option<AbsPath>,
    project: String,
    /// For each skill: the digest of the marker and the commit in it.
    markers: BTreeMap<String, BTreeSet<(String, String)>>,
    /// For each skill: the remote URLs of its repository, which a Skillfile need not declare.
    origins: BTreeMap<String, BTreeSet<String>>,
}

impl Receipts {
    /// Returns the folder with the receipts of all projects.
    pub fn folder(home: &AbsPath) -> AbsPath {
        home.join(FOLDER)
    }

    /// Reads the receipts of the project at `root`. Unreadable entries are ignored, since they prove nothing.
    pub fn load(home: &AbsPath, root: &AbsPath) -> Self {
        let file = Self::folder(home).join(format!("{}.json", key_of(root)));
        let text = read_text(&file).ok().flatten();
        let value: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
        let is_valid = value["schema_version"] == 1 && value["project"] == root.as_str();
        let pair =
            |pair: &Value| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()));
        let skills = value["markers"].as_object().filter(|_| is_valid).into_iter().flatten();
        let markers = skills.map(|(skill, pairs)| {
            (skill.clone(), pairs.as_array().into_iter().flatten().filter_map(pair).collect())
        });
        let text = |text: &Value| text.as_str().map(str::to_owned);
        let origins = value["origins"].as_object().filter(|_| is_valid).into_iter().flatten();
        let origins = origins.map(|(skill, all)| {
            (skill.clone(), all.as_array().into_iter().flatten().filter_map(text).collect())
        });
        let (markers, origins) = (markers.collect(), origins.collect());
        Self { file: Some(file), project: root.to_string(), markers, origins }
    }

    /// Returns true if csk wrote a marker with this digest for the skill.
    pub fn has(&self, skill: &Identifier, marker: Digest) -> bool {
        let marker = marker.to_string();
        let known = self.markers.get(skill.as_str());
        known.is_some_and(|known| known.iter().any(|(digest, _)| *digest == marker))
    }

    /// Returns the skills and commits that csk installed.
    pub fn commits(&self) -> impl Iterator<Item = (&str, &str)> {
        self.markers.iter().flat_map(|(skill, pairs)| {
            pairs.iter().map(move |(_, commit)| (skill.as_str(), commit.as_str()))
        })
    }

    /// Returns the origins of the skill when csk installed it, whatever the folder contains now.
    pub fn origins(&self, skill: &str) -> impl Iterator<Item = &str> {
        self.origins.get(skill).into_iter().flatten().map(String::as_str)
    }

    /// Records an origin of a skill.
    pub fn add_origin(&mut self, skill: &Identifier, origin: &str) {
        self.origins.entry(skill.to_string()).or_default().insert(origin.to_owned());
    }

    /// Adds a receipt; earlier ones stay until [`Self::settle`].
    pub fn add(&mut self, skill: &Identifier, marker: Digest, commit: &str) {
        let pair = (marker.to_string(), commit.to_owned());
        self.markers.entry(skill.to_string()).or_default().insert(pair);
    }

    /// Keeps only the receipts for the markers in `current`, and drops all other skills.
    pub fn settle(&mut self, current: &BTreeMap<Identifier, Digest>) {
        self.markers.retain(|skill, _| current.keys().any(|name| name.as_str() == skill));
        for (skill, marker) in current {
            if let Some(pairs) = self.markers.get_mut(skill.as_str()) {
                let marker = marker.to_string();
                pairs.retain(|(digest, _)| *digest == marker);
            }
        }
        self.markers.retain(|_, pairs| !pairs.is_empty());
        let markers = &self.markers;
        self.origins.retain(|skill, _| markers.contains_key(skill));
    }

    /// Writes the file, unless its contents are unchanged.
    pub fn save(&self) -> Result<(), FsError> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder.as_path())
                .map_err(|source| FsError::Io { path: folder.to_string(), source })?;
        }
        let skills = self.markers.iter().map(|(skill, pairs)| (skill.clone(), json!(pairs)));
        let markers: Map<String, Value> = skills.collect();
        let (origins, project) = (&self.origins, &self.project);
        let value = json!({ "markers": markers, "origins": origins, "project": project, "schema_version": 1 });
        write_file(file, format!("{value:#}\n").as_bytes()).map(|_| ())
    }
}
