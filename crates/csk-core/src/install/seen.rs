//! What csk last saw in a project, so that folders which nobody touched need not be read again.
//!
//! Kept under csk's own home, where no checkout can bring one, and safe to delete: what is not known is
//! read. A line is believed only as long as the folder's fingerprint is the same.

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

/// Where it is kept, below the cache. No source has a name that begins with a dot.
const FOLDER: &str = "cache/.seen";

/// A folder of csk's: its fingerprint, and the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sight {
    /// What tells whether it was touched.
    pub(super) fingerprint: Digest,
    /// What it held.
    pub(super) content: Digests,
    /// What is to be told of it.
    pub(super) warning: Option<String>,
}

impl Sight {
    /// Returns what is remembered of a runtime that is what its list says.
    pub(super) fn of_runtime(fingerprint: Digest, list: Digest) -> Self {
        let content = Digests { content: list, bundle: list };
        Self { fingerprint, content, warning: None }
    }
}

/// What a look at a folder shows.
#[derive(Debug)]
pub(super) struct Look {
    /// What it holds.
    pub(super) content: Digests,
    /// What is to be told of it.
    pub(super) warning: Option<String>,
    /// What may be remembered of it.
    pub(super) sight: Option<Sight>,
}

/// What was seen in one project, by the path of the folder below its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Before.
    known: BTreeMap<String, Sight>,
    /// By now.
    current: BTreeMap<String, Sight>,
}

impl Seen {
    /// Reads what is known of the project at `root`. A file that cannot be understood tells nothing.
    pub fn load(home: &AbsPath, root: &AbsPath) -> Self {
        let text = read_text(&place(home, root)).ok().flatten();
        let value: Value =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
        if value["schema_version"] != 1 || value["project"] != root.as_str() {
            return Self::default();
        }
        let sight = |(path, value): (&String, &Value)| {
            let digest = |key: &str| value[key].as_str()?.parse().ok();
            let (fingerprint, content, bundle) =
                (digest("fingerprint")?, digest("content")?, digest("bundle")?);
            let content = Digests { content, bundle };
            let warning = value["warning"].as_str().map(str::to_owned);
            Some((path.clone(), Sight { fingerprint, content, warning }))
        };
        let folders = value["folders"].as_object().into_iter().flatten();
        Self { known: folders.filter_map(sight).collect(), current: BTreeMap::new() }
    }

    /// Looks at `folder`, which is at `path`. It is read only if it was touched; then `warn` is asked what is
    /// to be told of it.
    pub(super) fn look(
        &self,
        folder: &Root,
        path: &str,
        warn: impl FnOnce(&Root) -> Option<String>,
    ) -> Result<Look, FsError> {
        let now = SystemTime::now();
        let print = fingerprint(folder)?;
        if let Some(sight) = print.and_then(|print| self.recall(path, &print)) {
            let (content, warning) = (sight.content, sight.warning.clone());
            return Ok(Look { content, warning, sight: Some(sight) });
        }
        let content = digests(folder, &walk(folder, &WalkLimits::SKILL)?)?;
        let warning = warn(folder);
        let settled = print.filter(|print| print.is_settled(now));
        let sight = settled.map(|print| Sight {
            fingerprint: print.digest,
            content,
            warning: warning.clone(),
        });
        Ok(Look { content, warning, sight })
    }

    /// Returns what is known of the folder at `path` if it has this fingerprint.
    pub(super) fn recall(&self, path: &str, print: &Fingerprint) -> Option<Sight> {
        self.known.get(path).filter(|sight| sight.fingerprint == print.digest).cloned()
    }

    /// Keeps what was known of folders that nobody looked at now.
    pub(super) fn keep_the_rest(&mut self) {
        for (path, sight) in &self.known {
            self.current.entry(path.clone()).or_insert_with(|| sight.clone());
        }
    }

    /// Remembers the folder at `path`, or that nothing is known of it.
    pub(super) fn remember(&mut self, path: String, sight: Option<Sight>) {
        match sight {
            Some(sight) => self.current.insert(path, sight),
            None => self.current.remove(&path),
        };
    }

    /// Writes what is known of the project at `root`, unless nothing of it is new.
    pub(super) fn save(&self, home: &AbsPath, root: &AbsPath) {
        if self.current == self.known {
            return;
        }
        let folder = |(path, sight): (&String, &Sight)| {
            let mut value = json!({
                "bundle": sight.content.bundle.to_string(),
                "content": sight.content.content.to_string(),
                "fingerprint": sight.fingerprint.to_string(),
            });
            if let Some(warning) = &sight.warning {
                value["warning"] = warning.as_str().into();
            }
            (path.clone(), value)
        };
        let folders: Map<String, Value> = self.current.iter().map(folder).collect();
        let value = json!({ "folders": folders, "project": root.as_str(), "schema_version": 1 });
        // It only saves time: where it cannot be kept, the next run reads the files.
        let _ = fs::create_dir_all(home.join(FOLDER).as_path());
        let _ = write_file(&place(home, root), format!("{value:#}\n").as_bytes());
    }
}

/// Returns the folder of what is known of every project.
pub(crate) fn folder(home: &AbsPath) -> AbsPath {
    home.join(FOLDER)
}

fn place(home: &AbsPath, root: &AbsPath) -> AbsPath {
    folder(home).join(format!("{}.json", key_of(root)))
}
