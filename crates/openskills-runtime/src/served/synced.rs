//! The last synced list of each server, one file per server in the state folder.

#![expect(clippy::disallowed_methods, reason = "the edge: a file is removed")]

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};
use skill::Digest;
use skill_fs::{AbsPath, FsError, make_private_folder, read_own_file, write_file};
use skill_state::Approvals;

use super::entry::origin;
use super::{ChangedSkills, DropSummary, MAX_SERVED, ServedSkill};
use crate::state::decisions::no_state_folder;
use crate::{Places, RuntimeError, rfc3339};
use skill::ByteSize;

/// The subfolder of the state folder.
pub(crate) const FOLDER: &str = "mcp";
/// The maximum size of a file.
const MAX_BYTES: u64 = 64 << 20;

/// A server's responses during a sync.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The entries of its list.
    pub listed: Vec<Value>,
    /// The entries for individually requested URIs, or the reason why one is missing.
    pub requested: Vec<(String, Result<Value, String>)>,
}

/// The skills from a server's last sync.
#[derive(Debug, Clone)]
pub struct SyncedSkills {
    pub(crate) skills: Vec<ServedSkill>,
    /// URIs of skills that were requested individually and are not in the server's list.
    unlisted: BTreeSet<String>,
    /// Rejected skills: the URI and the reason.
    pub refused: Vec<(String, String)>,
    /// The time of the sync.
    pub synced_at: Timestamp,
}

/// A change in a server's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncChange {
    /// The skill was not listed before.
    New(String),
    /// The skill has different files or content, so earlier approvals no longer apply.
    Changed(String),
    /// The skill is no longer listed.
    Gone(String),
}

impl SyncChange {
    /// Returns the URI and the kind of change.
    pub fn parts(&self) -> (&str, &'static str) {
        match self {
            Self::New(uri) => (uri, "new"),
            Self::Changed(uri) => (uri, "changed"),
            Self::Gone(uri) => (uri, "gone"),
        }
    }
}

impl SyncedSkills {
    /// Parses a server's responses.
    pub fn read(label: &str, listing: &Listing, synced_at: Timestamp) -> Self {
        let (mut skills, mut refused) = (BTreeMap::new(), Vec::new());
        for (number, entry) in listing.listed.iter().enumerate() {
            let uri = entry.get("uri").and_then(Value::as_str);
            let uri = uri.map_or_else(|| format!("entry {}", number + 1), str::to_owned);
            match ServedSkill::read(label, entry) {
                Ok(_) if skills.len() >= MAX_SERVED => {
                    refused.push((uri, format!("the server lists more than {MAX_SERVED} skills")));
                }
                Ok(_) if skills.contains_key(&uri) => {
                    refused.push((uri, "listed twice".to_owned()));
                }
                Ok(skill) => {
                    skills.insert(uri, skill);
                }
                Err(reason) => refused.push((uri, reason)),
            }
        }
        let mut unlisted = BTreeSet::new();
        for (uri, answer) in &listing.requested {
            if skills.contains_key(uri) {
                continue;
            }
            let read = answer.clone().and_then(|entry| match entry.get("uri") {
                Some(Value::String(named)) if named == uri => ServedSkill::read(label, &entry),
                _ => Err("the server returned a different skill".to_owned()),
            });
            match read {
                Ok(skill) => {
                    unlisted.insert(uri.clone());
                    skills.insert(uri.clone(), skill);
                }
                Err(reason) => refused.push((uri.clone(), reason)),
            }
        }
        Self { skills: skills.into_values().collect(), unlisted, refused, synced_at }
    }

    /// Removes individually requested skills. Skills in the server's list stay.
    pub fn drop_unlisted(
        &mut self,
        places: &Places,
        label: &str,
        uris: &[String],
    ) -> Result<DropSummary, RuntimeError> {
        let is_gone = |uri: &String| uris.contains(uri) && self.unlisted.contains(uri);
        let (gone, left): (Vec<ServedSkill>, Vec<ServedSkill>) =
            self.skills.iter().cloned().partition(|skill| is_gone(&skill.uri));
        self.unlisted.retain(|uri| !uris.contains(uri));
        self.refused.retain(|(uri, _)| !uris.contains(uri));
        self.skills = left;
        self.save(places.state.as_ref(), label)?;
        DropSummary::skills(places, &gone, &self.skills)
    }

    /// Returns the number of accepted skills.
    pub fn len(&self) -> usize {
        self.skills.len()
    }

    /// Returns true if there are no accepted skills.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Returns true if it contains exactly this version of a skill.
    pub(crate) fn has(&self, skill: &ServedSkill) -> bool {
        self.skills.iter().any(|held| held.uri == skill.uri && held.digest() == skill.digest())
    }

    /// Returns the changes since an earlier sync.
    pub fn changes_since(&self, before: Option<&Self>) -> Vec<SyncChange> {
        let digests = |kept: &Self| -> BTreeMap<String, Digest> {
            kept.skills.iter().map(|skill| (skill.uri.clone(), skill.digest())).collect()
        };
        let (was, is) = (before.map(digests).unwrap_or_default(), digests(self));
        let mut changes: Vec<SyncChange> = is
            .iter()
            .filter_map(|(uri, digest)| match was.get(uri) {
                None => Some(SyncChange::New(uri.clone())),
                Some(old) if old != digest => Some(SyncChange::Changed(uri.clone())),
                Some(_) => None,
            })
            .collect();
        let gone = was.keys().filter(|uri| !is.contains_key(*uri)).cloned();
        changes.extend(gone.map(SyncChange::Gone));
        changes
    }

    /// Replaces the stored list; returns the changes. Approvals of changed skills become invalid, even if a skill later
    /// changes back.
    pub fn replace(
        &self,
        state: Option<&AbsPath>,
        label: &str,
    ) -> Result<Vec<SyncChange>, RuntimeError> {
        let mut suspended = ChangedSkills::load(state)?;
        let approvals = state.map(Approvals::load).transpose()?.unwrap_or_default();
        // An unreadable list is replaced.
        let before = Self::load(state, label).ok().flatten();
        let changes = self.changes_since(before.as_ref());
        let is_approved = |origin: &String| approvals.iter().any(|one| one.origin == *origin);
        let changed = changes.iter().filter_map(|change| match change {
            SyncChange::Changed(uri) => Some(origin(label, uri)).filter(is_approved),
            SyncChange::New(_) | SyncChange::Gone(_) => None,
        });
        let was = suspended.clone();
        suspended.synced(label, changed);
        // If the process is killed in between, approvals do not match the new list, which is safe.
        self.save(state, label)?;
        if suspended != was {
            suspended.save(state)?;
        }
        Ok(changes)
    }

    fn save(&self, state: Option<&AbsPath>, label: &str) -> Result<(), RuntimeError> {
        let folder = state.ok_or_else(no_state_folder)?.join(FOLDER);
        make_private_folder(&folder)?;
        let entry = |skill: &ServedSkill| {
            let file = |file: &super::ServedFile| json!({"uri": file.uri, "digest": file.digest.to_string(), "size": file.size});
            let files: Vec<Value> = skill.files.iter().map(file).collect();
            json!({"uri": skill.uri, "frontmatter": skill.frontmatter, "resources": files})
        };
        let skills: Vec<Value> = self.skills.iter().map(entry).collect();
        let refused: Vec<Value> = self
            .refused
            .iter()
            .map(|(uri, reason)| json!({"uri": uri, "reason": reason}))
            .collect();
        let synced_at = rfc3339(self.synced_at);
        let mut all = json!({"schema_version": 1, "synced_at": synced_at, "skills": skills, "refused": refused});
        if !self.unlisted.is_empty() {
            all["unlisted"] = json!(self.unlisted);
        }
        let text = format!("{all}\n");
        if text.len() as u64 > MAX_BYTES {
            return Err(RuntimeError::Server {
                server: label.to_owned(),
                message: format!("its list is larger than {}", ByteSize(MAX_BYTES)),
                hint: None,
            });
        }
        write_file(&file(&folder, label), text.as_bytes())?;
        Ok(())
    }

    /// Reads the stored list; `None` if the server was never synced.
    pub fn load(state: Option<&AbsPath>, label: &str) -> Result<Option<Self>, RuntimeError> {
        let Some(path) = state.map(|state| file(&state.join(FOLDER), label)) else {
            return Ok(None);
        };
        let Some(bytes) = read_own_file(&path, MAX_BYTES)? else { return Ok(None) };
        let broken = |why: String| RuntimeError::Setup {
            message: format!("`{path}` is malformed: {why}"),
            hint: Some(format!("run `openskills mcp sync {label}`")),
        };
        let all: Value =
            serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        let list = |key: &str| all.get(key).and_then(Value::as_array).cloned();
        let synced_at = all.get("synced_at").and_then(Value::as_str);
        let synced_at = synced_at.and_then(|text| text.parse::<Timestamp>().ok());
        let (Some(1), Some(skills), Some(refused), Some(synced_at)) = (
            all.get("schema_version").and_then(Value::as_u64),
            list("skills"),
            list("refused"),
            synced_at,
        ) else {
            return Err(broken("its content is not as openskills wrote it".to_owned()));
        };
        let listing = Listing { listed: skills, requested: Vec::new() };
        let kept = Self::read(label, &listing, synced_at);
        if let Some((uri, why)) = kept.refused.first() {
            return Err(broken(format!("{uri}: {why}")));
        }
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or("?").to_owned()
        };
        // Earlier versions wrote `why` instead of `reason`.
        let key = |one: &Value| if one.get("reason").is_some() { "reason" } else { "why" };
        let refused = refused.iter().map(|one| (text(one, "uri"), text(one, key(one)))).collect();
        let unlisted = list("unlisted").unwrap_or_default();
        let unlisted = unlisted.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(Some(Self { refused, unlisted, ..kept }))
    }

    /// Removes the stored list of a server.
    pub(super) fn forget(state: Option<&AbsPath>, label: &str) -> Result<(), RuntimeError> {
        let Some(path) = state.map(|state| file(&state.join(FOLDER), label)) else { return Ok(()) };
        match std::fs::remove_file(path.as_path()) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(FsError::Io { path: path.to_string(), source }.into())
            }
            _ => Ok(()),
        }
    }
}

fn file(folder: &AbsPath, label: &str) -> AbsPath {
    folder.join(format!("{label}.json"))
}
