//! What csk itself installed in a project: the digest of each marker it wrote, kept under its own home.
//!
//! A marker in a checkout may be a stranger's, with digests that fit whatever stands beside it. One without a
//! receipt is not believed: the skill is installed again from its repository, and brings no command until then.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

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
    /// Where they are kept; nowhere in a default one.
    place: Option<AbsPath>,
    project: String,
    /// By skill: markers and the commits that they name.
    markers: BTreeMap<String, BTreeSet<(String, String)>>,
    /// By skill: where its repository says that it comes from, which a Skillfile need not say.
    origins: BTreeMap<String, BTreeSet<String>>,
}

impl Receipts {
    /// Returns the folder of the receipts of every project.
    pub fn folder(home: &AbsPath) -> AbsPath {
        home.join(FOLDER)
    }

    /// Reads the receipts of the project at `root`. What cannot be understood is no receipt.
    pub fn load(home: &AbsPath, root: &AbsPath) -> Self {
        let place = Self::folder(home).join(format!("{}.json", key_of(root)));
        let text = read_text(&place).ok().flatten();
        let value: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
        let is_it = value["schema_version"] == 1 && value["project"] == root.as_str();
        let pair =
            |pair: &Value| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()));
        let skills = value["markers"].as_object().filter(|_| is_it).into_iter().flatten();
        let markers = skills.map(|(skill, pairs)| {
            (skill.clone(), pairs.as_array().into_iter().flatten().filter_map(pair).collect())
        });
        let text = |text: &Value| text.as_str().map(str::to_owned);
        let origins = value["origins"].as_object().filter(|_| is_it).into_iter().flatten();
        let origins = origins.map(|(skill, all)| {
            (skill.clone(), all.as_array().into_iter().flatten().filter_map(text).collect())
        });
        let (markers, origins) = (markers.collect(), origins.collect());
        Self { place: Some(place), project: root.to_string(), markers, origins }
    }

    /// Returns true if csk wrote a marker of that digest for the skill.
    pub fn has(&self, skill: &Identifier, marker: Digest) -> bool {
        let marker = marker.to_string();
        let known = self.markers.get(skill.as_str());
        known.is_some_and(|known| known.iter().any(|(digest, _)| *digest == marker))
    }

    /// Returns the skills and commits that were installed.
    pub fn commits(&self) -> impl Iterator<Item = (&str, &str)> {
        self.markers.iter().flat_map(|(skill, pairs)| {
            pairs.iter().map(move |(_, commit)| (skill.as_str(), commit.as_str()))
        })
    }

    /// Returns where a skill of that name came from when csk installed it, whatever stands in its place now.
    pub fn origins(&self, skill: &str) -> impl Iterator<Item = &str> {
        self.origins.get(skill).into_iter().flatten().map(String::as_str)
    }

    /// Notes where a skill comes from.
    pub fn add_origin(&mut self, skill: &Identifier, origin: &str) {
        self.origins.entry(skill.to_string()).or_default().insert(origin.to_owned());
    }

    /// Adds a receipt; those before it stay until [`Self::settle`].
    pub fn add(&mut self, skill: &Identifier, marker: Digest, commit: &str) {
        let pair = (marker.to_string(), commit.to_owned());
        self.markers.entry(skill.to_string()).or_default().insert(pair);
    }

    /// Keeps, of each skill in `current`, only the receipt of that marker, and nothing of others.
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

    /// Writes them, unless the file says the same already.
    pub fn save(&self) -> Result<(), FsError> {
        let Some(place) = &self.place else { return Ok(()) };
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder.as_path())
                .map_err(|source| FsError::Io { path: folder.to_string(), source })?;
        }
        let skills = self.markers.iter().map(|(skill, pairs)| (skill.clone(), json!(pairs)));
        let markers: Map<String, Value> = skills.collect();
        let (origins, project) = (&self.origins, &self.project);
        let value = json!({ "markers": markers, "origins": origins, "project": project, "schema_version": 1 });
        write_file(place, format!("{value:#}\n").as_bytes()).map(|_| ())
    }
}
