//! Fingerprints from the last run, so that unchanged folders need not be read again.
//!
//! StoreResults in csk's own home, where no checkout can place one, and safe to delete: unknown folders are simply read. An
//! entry is valid only as long as the folder's fingerprint has not changed.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::collections::BTreeMap;
use std::fs;
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use skill::Digest;
use skill_fs::{
    AbsPath, Digests, Fingerprint, FsError, Root, WalkLimits, digests, fingerprint, read_text,
    walk, write_file,
};
use skill_state::key_of;

/// The folder below csk's home folder. No source name starts with a dot.
const FOLDER: &str = "cache/.seen";

/// What csk remembers of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FolderRecord {
    /// Changes whenever the folder is touched.
    pub(super) fingerprint: Digest,
    /// The digests of its content.
    pub(super) content: Digests,
    /// A warning to report.
    pub(super) warning: Option<String>,
}

impl FolderRecord {
    /// Returns the record of command files that match their list.
    pub(super) fn of_command_files(fingerprint: Digest, list: Digest) -> Self {
        let content = Digests { content: list, bundle: list };
        Self { fingerprint, content, warning: None }
    }
}

/// The result of inspecting a folder.
#[derive(Debug)]
pub(super) struct FolderInspection {
    /// The digests of its content.
    pub(super) content: Digests,
    /// A warning to report.
    pub(super) warning: Option<String>,
    /// The record to remember, if the folder is old enough to be trusted.
    pub(super) record: Option<FolderRecord>,
}

/// The records of one project, by folder path below its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FingerprintCache {
    /// From the last run.
    previous: BTreeMap<String, FolderRecord>,
    /// From this run.
    current: BTreeMap<String, FolderRecord>,
}

impl FingerprintCache {
    /// Loads the records of the project at `root`. A malformed file counts as empty.
    pub fn load(home: &AbsPath, root: &AbsPath) -> Self {
        let text = read_text(&path_of(home, root)).ok().flatten();
        let value: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
        if value["schema_version"] != 1 || value["project"] != root.as_str() {
            return Self::default();
        }
        let record = |(path, value): (&String, &Value)| {
            let digest = |key: &str| value[key].as_str()?.parse().ok();
            let (fingerprint, content, bundle) =
                (digest("fingerprint")?, digest("content")?, digest("bundle")?);
            let content = Digests { content, bundle };
            let warning = value["warning"].as_str().map(str::to_owned);
            Some((path.clone(), FolderRecord { fingerprint, content, warning }))
        };
        let folders = value["folders"].as_object().into_iter().flatten();
        Self { previous: folders.filter_map(record).collect(), current: BTreeMap::new() }
    }

    /// Inspects `folder`, which is at `path`. It is read only if it has changed; then `warn` is called for a warning.
    pub(super) fn inspect(
        &self,
        folder: &Root,
        path: &str,
        warn: impl FnOnce(&Root) -> Option<String>,
    ) -> Result<FolderInspection, FsError> {
        let now = SystemTime::now();
        let print = fingerprint(folder)?;
        if let Some(record) = print.and_then(|print| self.recall(path, &print)) {
            let (content, warning) = (record.content, record.warning.clone());
            return Ok(FolderInspection { content, warning, record: Some(record) });
        }
        let content = digests(folder, &walk(folder, &WalkLimits::SKILL)?)?;
        let warning = warn(folder);
        let settled = print.filter(|print| print.is_settled(now));
        let record = settled.map(|print| FolderRecord {
            fingerprint: print.digest,
            content,
            warning: warning.clone(),
        });
        Ok(FolderInspection { content, warning, record })
    }

    /// Returns the record of the folder at `path` if the fingerprint matches.
    pub(super) fn recall(&self, path: &str, print: &Fingerprint) -> Option<FolderRecord> {
        self.previous.get(path).filter(|record| record.fingerprint == print.digest).cloned()
    }

    /// Keeps the records of folders that this run did not inspect.
    pub(super) fn keep_unvisited(&mut self) {
        for (path, record) in &self.previous {
            self.current.entry(path.clone()).or_insert_with(|| record.clone());
        }
    }

    /// Stores the record of the folder at `path`, or removes it.
    pub(super) fn remember(&mut self, path: String, record: Option<FolderRecord>) {
        match record {
            Some(record) => self.current.insert(path, record),
            None => self.current.remove(&path),
        };
    }

    /// Writes the records of the project at `root` if they have changed.
    pub(super) fn save(&self, home: &AbsPath, root: &AbsPath) {
        if self.current == self.previous {
            return;
        }
        let folder = |(path, record): (&String, &FolderRecord)| {
            let mut value = json!({
                "bundle": record.content.bundle.to_string(),
                "content": record.content.content.to_string(),
                "fingerprint": record.fingerprint.to_string(),
            });
            if let Some(warning) = &record.warning {
                value["warning"] = warning.as_str().into();
            }
            (path.clone(), value)
        };
        let folders: Map<String, Value> = self.current.iter().map(folder).collect();
        let value = json!({ "folders": folders, "project": root.as_str(), "schema_version": 1 });
        // The records only save time: if they cannot be written, the next run reads the files.
        let _ = fs::create_dir_all(home.join(FOLDER).as_path());
        let _ = write_file(&path_of(home, root), format!("{value:#}\n").as_bytes());
    }
}

/// Returns the folder with the records of all projects.
pub(crate) fn folder(home: &AbsPath) -> AbsPath {
    home.join(FOLDER)
}

fn path_of(home: &AbsPath, root: &AbsPath) -> AbsPath {
    folder(home).join(format!("{}.json", key_of(root)))
}
