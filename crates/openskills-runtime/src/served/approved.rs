//! Skills of other MCP servers: nothing of them is shown to a model before the user approved them as they are.

use std::cell::OnceCell;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use skill::{Digest, Document, SKILL_FILE};
use skill_fs::{AbsPath, Kind};
use skill_state::{ApprovalKey, Approvals};

use crate::discover::index::Place;
use crate::quote::shell_word;
use crate::run::unpacked::Unpacked;
use crate::runtime::OpenSkillRuntime;
use crate::served::{
    ChangedSkills, FOLDER, Fetch, FetchError, KeptSkills, ServedFile, ServedSkill, Waits, server_of,
};
use crate::state::decided::lock_state;
use crate::{Depth, Event, ReadOptions, Resource, ResourceEntry, RuntimeError, ServedEntry, Skill};

/// Whether a skill of a server may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// It may: the user approved it as it is, or it is no server's.
    Given,
    /// The user has not said so.
    Needed,
    /// The user approved what it was before.
    NeededAgain,
}

/// What the user approved, and which skills are suspended since because their server sent something else.
pub(crate) struct ApprovalRecords {
    approvals: Approvals,
    changed: ChangedSkills,
}

impl OpenSkillRuntime {
    /// Returns whether a skill may be shown to a model. Only those of MCP servers need an approval for that.
    pub fn approval_state(&self, skill: &Skill) -> Result<ApprovalState, RuntimeError> {
        match &skill.place {
            Place::Served(served) => {
                Ok(self.approval_state_by(skill, served, &self.approval_records()?))
            }
            Place::Builtin(_) | Place::Folder { .. } => Ok(ApprovalState::Given),
        }
    }

    fn approval_records(&self) -> Result<ApprovalRecords, RuntimeError> {
        let changed = ChangedSkills::load(self.places()?.state.as_ref())?;
        Ok(ApprovalRecords { approvals: self.approvals()?, changed })
    }

    fn approval_state_by(
        &self,
        skill: &Skill,
        served: &ServedSkill,
        records: &ApprovalRecords,
    ) -> ApprovalState {
        let ApprovalRecords { approvals, changed } = records;
        let (origin, digest) = (served.origin.as_str(), served.digest());
        let key = ApprovalKey { origin, skill: &skill.name, bundle: &digest };
        if changed.waits(&served.origin).is_some() {
            ApprovalState::NeededAgain
        } else if approvals.find(key, Timestamp::now(), &self.session.id).is_some() {
            ApprovalState::Given
        } else if approvals.last_of(&served.origin, &skill.name).is_some() {
            ApprovalState::NeededAgain
        } else {
            ApprovalState::Needed
        }
    }

    /// Returns which server serves a skill, and whether it may be used. Where no approval can be read, none was given.
    pub fn served(&self, skill: &Skill) -> Option<ServedEntry> {
        let (server, uri) = skill.served_by()?;
        let approval = self.approval_state(skill).unwrap_or(ApprovalState::Needed);
        Some(ServedEntry { server: server.to_owned(), uri: uri.to_owned(), approval })
    }

    /// Returns whether a model may be told of a skill: of what servers serve it hears after the user approved it. The approvals are read once; where none can be read,
    /// none was given.
    pub(crate) fn is_told(
        &self,
        skill: &Skill,
        records: &OnceCell<Option<ApprovalRecords>>,
    ) -> bool {
        let Place::Served(served) = &skill.place else { return true };
        let records = records.get_or_init(|| self.approval_records().ok()).as_ref();
        records.is_some_and(|records| {
            self.approval_state_by(skill, served, records) == ApprovalState::Given
        })
    }

    /// Returns the skills that can be used, without those of servers that need approval.
    pub fn approved_skills(&self) -> Vec<Arc<Skill>> {
        let records = OnceCell::new();
        self.list_skills().into_iter().filter(|skill| self.is_told(skill, &records)).collect()
    }

    /// Refuses a skill of a server that the user has not approved as it is.
    pub(crate) fn check_approved(&self, skill: &Skill) -> Result<(), RuntimeError> {
        let Place::Served(served) = &skill.place else { return Ok(()) };
        self.check_unchanged(&skill.id, &served.origin)?;
        let what = match self.approval_state(skill)? {
            ApprovalState::Given => return Ok(()),
            ApprovalState::Needed => "is not approved yet",
            ApprovalState::NeededAgain => "has changed and needs approval again",
        };
        Err(RuntimeError::NeedsApproval {
            message: format!("`{}` of the MCP server `{}` {what}", skill.id, served.server),
            hint: Some(format!("approve it: openskills approve {}", shell_word(&skill.id))),
        })
    }

    /// Refuses a skill whose server sent something else than what was approved: until the user has synced and approved it, nothing of it is used, not even what
    /// is in the cache.
    pub(crate) fn check_unchanged(&self, id: &str, origin: &str) -> Result<(), RuntimeError> {
        // Other skills have no server that could send something else.
        let Some(server) = server_of(origin) else { return Ok(()) };
        match ChangedSkills::load(self.places()?.state.as_ref())?.waits(origin) {
            None => Ok(()),
            Some(waits) => Err(changed(id, server, "", waits)),
        }
    }

    /// The same for an approval: what is not served any more cannot be approved.
    pub(crate) fn check_synced(&self, id: &str, origin: &str) -> Result<(), RuntimeError> {
        let Some(server) = server_of(origin) else { return Ok(()) };
        match ChangedSkills::load(self.places()?.state.as_ref())?.waits(origin) {
            Some(Waits::ForSync) => Err(changed(id, server, "", Waits::ForSync)),
            Some(Waits::ForApproval) | None => Ok(()),
        }
    }

    /// Fetches the SKILL.md of a skill of a server, and reads it.
    pub(crate) fn served_document(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
    ) -> Result<Document, RuntimeError> {
        let bytes = self.served_bytes(skill, served, SKILL_FILE)?;
        let folder = Unpacked::new(self.places()?)?;
        folder.write(SKILL_FILE, &bytes)?;
        self.check_fetched(skill, &folder.root()?)?;
        served.parsed(&bytes).map_err(|diagnostics| RuntimeError::InvalidManifest {
            file: served.origin.clone(),
            diagnostics,
        })
    }

    /// Reads a file of a skill of a server. One of a skill inside it needs a word of its own.
    pub(crate) fn served_resource(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        path: &str,
        options: &ReadOptions,
    ) -> Result<Resource, RuntimeError> {
        let denied = |why: String, hint: &str| RuntimeError::PermissionDenied {
            message: format!("`{path}` of `{}` is not read: {why}", skill.id),
            hint: Some(hint.to_owned()),
        };
        let path = path.strip_prefix("./").unwrap_or(path);
        if options.depth == Depth::OneLevel && path.split('/').count() > 2 {
            return Err(RuntimeError::TooDeep { skill: skill.id.clone(), path: path.to_owned() });
        }
        if let Some(uri) = served.nested(path) {
            self.check_nested(skill, served, path, &uri)?;
        }
        if let Some(file) = served.file(path).filter(|file| file.size > options.max_bytes) {
            let why =
                format!("it has {} bytes, and at most {} are read", file.size, options.max_bytes);
            return Err(denied(why, "allow more with --max-bytes"));
        }
        let bytes = self.served_bytes(skill, served, path)?;
        // A text that is given to a model is looked at when it comes.
        let folder = Unpacked::new(self.places()?)?;
        folder.write(path, &bytes)?;
        self.check_fetched(skill, &folder.root()?)?;
        let sha256 = Digest::of(&bytes).to_string();
        Ok(Resource { path: path.to_owned(), bytes, sha256 })
    }

    /// Fetches everything that runs with a skill of a server into a folder of its own, and looks at it. Files of skills inside it come along only if they were
    /// approved as well.
    pub(crate) fn unpack(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        permitted: Digest,
    ) -> Result<Unpacked, RuntimeError> {
        self.check_unchanged(&skill.id, &served.origin)?;
        // The permit is the user's word, for this content.
        if served.digest() != permitted {
            let (skill, what) = (skill.id.clone(), "the server lists another".to_owned());
            return Err(RuntimeError::SkillChanged { skill, what });
        }
        let is_open = |file: &&ServedFile| {
            let nested = served.nested(&file.path);
            nested.is_none_or(|uri| self.check_nested(skill, served, &file.path, &uri).is_ok())
        };
        let files: Vec<&ServedFile> = served.files.iter().filter(is_open).collect();
        let folder = Unpacked::new(self.places()?)?;
        for (file, bytes) in files.iter().zip(self.fetch(skill, served, &files)?) {
            folder.write(&file.path, &bytes)?;
        }
        self.check_fetched(skill, &folder.root()?)?;
        Ok(folder)
    }

    fn check_nested(
        &self,
        skill: &Skill,
        served: &ServedSkill,
        path: &str,
        uri: &str,
    ) -> Result<(), RuntimeError> {
        let inner = self.all_skills().iter().find(|other| {
            matches!(&other.place, Place::Served(other) if other.server == served.server && other.uri == uri)
        });
        match inner {
            Some(inner) => self.check_approved(inner),
            None => Err(RuntimeError::PermissionDenied {
                message: format!(
                    "`{path}` of `{}` is not read: it belongs to the skill `{uri}`, which the server does not list",
                    skill.id
                ),
                hint: None,
            }),
        }
    }

    fn served_bytes(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        path: &str,
    ) -> Result<Vec<u8>, RuntimeError> {
        let Some(file) = served.file(path) else {
            let paths = served.files.iter().map(|file| file.path.as_str());
            return Err(crate::disclose::resource::not_found(skill, path, paths));
        };
        let mut all = self.fetch(skill, served, &[file])?;
        Ok(all.pop().unwrap_or_default())
    }

    /// Returns true if a file of a skill must be fetched before it can be read, and may be.
    pub fn is_away(&self, name: &str, path: &str) -> bool {
        let Ok(skill) = self.skill(name) else { return false };
        let (Place::Served(served), Ok(places)) = (&skill.place, self.places()) else {
            return false;
        };
        let fetch = Fetch { places, fetcher: None };
        self.check_approved(skill).is_ok()
            && served.file(path).is_some_and(|file| !fetch.is_kept(served, file))
    }

    /// Fetches a file of a skill of a server.
    pub fn fetch_file(&mut self, name: &str, path: &str) -> Result<(), RuntimeError> {
        let skill = Arc::clone(self.skill(name)?);
        self.check_approved(&skill)?;
        match &skill.place {
            Place::Served(served) => self.served_bytes(&skill, served, path).map(|_| ()),
            Place::Builtin(_) | Place::Folder { .. } => Ok(()),
        }
    }

    fn fetch(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        files: &[&ServedFile],
    ) -> Result<Vec<Vec<u8>>, RuntimeError> {
        let fetch = Fetch { places: self.places()?, fetcher: self.config.fetcher.as_ref() };
        match fetch.all(served, files) {
            Ok(all) => Ok(all),
            Err(FetchError::Failed(error)) => Err(error),
            Err(FetchError::Changed { path, why }) => {
                self.suspend(skill, served, &path, &why)?;
                let what = format!(": `{path}` is not what was approved: {why}");
                Err(changed(&skill.id, &served.server, &what, Waits::ForSync))
            }
        }
    }

    /// Notes, over restarts and in the log, that a server sent something else than what was approved.
    fn suspend(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        path: &str,
        why: &str,
    ) -> Result<(), RuntimeError> {
        let state = self.places()?.state.clone();
        let lock = lock_state(state.as_ref())?;
        // Where the user synced meanwhile, what did not fit is not what is held any more.
        let held = KeptSkills::load(state.as_ref(), &served.server)?;
        if held.is_some_and(|held| held.has(served)) {
            let mut changed = ChangedSkills::load(state.as_ref())?;
            changed.suspend(&served.origin);
            changed.save(state.as_ref())?;
        }
        drop(lock);
        self.record(&Event::ServedChanged {
            skill_id: skill.id.clone(),
            session_id: self.session.id.clone(),
            origin: served.origin.clone(),
            path: path.to_owned(),
            reason: why.to_owned(),
        })
    }
}

/// Returns the refusal of a skill whose server sent something else than what was approved; `what` may say what that is.
fn changed(id: &str, server: &str, what: &str, waits: Waits) -> RuntimeError {
    let approve = format!("openskills approve {}", shell_word(id));
    let command = match waits {
        Waits::ForSync => format!("openskills mcp sync {server} && {approve}"),
        Waits::ForApproval => approve,
    };
    RuntimeError::NeedsApproval {
        message: format!(
            "`{id}` of the MCP server `{server}` has changed and needs approval again{what}"
        ),
        hint: Some(format!("run `{command}`")),
    }
}

/// Returns the files of a skill of a server, as those of a folder.
pub(crate) fn entries(served: &ServedSkill) -> Vec<ResourceEntry> {
    let entry = |file: &ServedFile| ResourceEntry {
        path: file.path.clone(),
        kind: Kind::File { size: file.size, executable: false },
    };
    served.files.iter().map(entry).collect()
}

/// Returns where skills of servers are kept, for whoever watches.
pub(crate) fn watched(state: &AbsPath) -> AbsPath {
    state.join(FOLDER)
}
