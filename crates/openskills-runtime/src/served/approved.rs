//! Approval of skills from MCP servers. A model sees nothing of them until the user approves the current version.

use std::cell::OnceCell;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use skill::{Digest, Document, SKILL_FILE};
use skill_fs::{AbsPath, Kind};
use skill_state::{ApprovalKey, Approvals};

use crate::discover::index::SkillLocation;
use crate::quote::shell_word;
use crate::run::unpacked::Unpacked;
use crate::runtime::OpenSkillRuntime;
use crate::served::{
    ChangedSkills, FOLDER, Fetch, FetchError, PendingStep, ServedFile, ServedSkill, SyncedSkills,
    server_of,
};
use crate::state::decisions::lock_state;
use crate::{Depth, Event, ReadOptions, Resource, ResourceEntry, RuntimeError, ServedEntry, Skill};
use skill::ByteSize;

/// Whether a skill from a server may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// It may be used: the user approved the current version, or it is not from a server.
    Approved,
    /// The user has not approved it.
    Needed,
    /// The user approved an earlier version.
    NeededAgain,
}

/// The user's approvals, and the skills that are suspended because their server sent different content.
pub(crate) struct ApprovalRecords {
    approvals: Approvals,
    changed: ChangedSkills,
}

impl OpenSkillRuntime {
    /// Returns whether a skill may be shown to a model. Only skills from MCP servers need approval for that.
    pub fn approval_state(&self, skill: &Skill) -> Result<ApprovalState, RuntimeError> {
        match &skill.place {
            SkillLocation::Served(served) => {
                Ok(self.approval_state_by(skill, served, &self.approval_records()?))
            }
            SkillLocation::Builtin(_) | SkillLocation::Folder { .. } => Ok(ApprovalState::Approved),
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
        if changed.pending(&served.origin).is_some() {
            ApprovalState::NeededAgain
        } else if approvals.find(key, Timestamp::now(), &self.session.id).is_some() {
            ApprovalState::Approved
        } else if approvals.last_of(&served.origin, &skill.name).is_some() {
            ApprovalState::NeededAgain
        } else {
            ApprovalState::Needed
        }
    }

    /// Returns which server serves a skill, and whether it may be used. If the approvals cannot be read, it is not
    /// approved.
    pub fn served(&self, skill: &Skill) -> Option<ServedEntry> {
        let (server, uri) = skill.served_by()?;
        let approval = self.approval_state(skill).unwrap_or(ApprovalState::Needed);
        Some(ServedEntry { server: server.to_owned(), uri: uri.to_owned(), approval })
    }

    /// Returns whether a model may see a skill. Skills from servers need approval first. The approvals are read once;
    /// if they cannot be read, nothing is approved.
    pub(crate) fn is_visible_to_model(
        &self,
        skill: &Skill,
        records: &OnceCell<Option<ApprovalRecords>>,
    ) -> bool {
        let SkillLocation::Served(served) = &skill.place else { return true };
        let records = records.get_or_init(|| self.approval_records().ok()).as_ref();
        records.is_some_and(|records| {
            self.approval_state_by(skill, served, records) == ApprovalState::Approved
        })
    }

    /// Returns the usable skills, without those from servers that need approval.
    pub fn approved_skills(&self) -> Vec<Arc<Skill>> {
        let records = OnceCell::new();
        self.list_skills()
            .into_iter()
            .filter(|skill| self.is_visible_to_model(skill, &records))
            .collect()
    }

    /// Fails if a skill is from a server and the user has not approved the current version.
    pub(crate) fn check_approved(&self, skill: &Skill) -> Result<(), RuntimeError> {
        let SkillLocation::Served(served) = &skill.place else { return Ok(()) };
        self.check_unchanged(&skill.id, &served.origin)?;
        let what = match self.approval_state(skill)? {
            ApprovalState::Approved => return Ok(()),
            ApprovalState::Needed => "is not approved",
            ApprovalState::NeededAgain => "has changed and needs approval again",
        };
        Err(RuntimeError::NeedsApproval {
            message: format!("`{}` from MCP server `{}` {what}", skill.id, served.server),
            hint: Some(format!("run `openskills approve {}`", shell_word(&skill.id))),
        })
    }

    /// Fails if the skill's server sent different content than was approved. Until the user syncs and approves it
    /// again, nothing of it is used, not even cached files.
    pub(crate) fn check_unchanged(&self, id: &str, origin: &str) -> Result<(), RuntimeError> {
        // Only skills from servers can be suspended.
        let Some(server) = server_of(origin) else { return Ok(()) };
        match ChangedSkills::load(self.places()?.state.as_ref())?.pending(origin) {
            None => Ok(()),
            Some(pending) => Err(changed(id, server, "", pending)),
        }
    }

    /// Fails if the user must sync before approving: outdated content cannot be approved.
    pub(crate) fn check_synced(&self, id: &str, origin: &str) -> Result<(), RuntimeError> {
        let Some(server) = server_of(origin) else { return Ok(()) };
        match ChangedSkills::load(self.places()?.state.as_ref())?.pending(origin) {
            Some(PendingStep::Sync) => Err(changed(id, server, "", PendingStep::Sync)),
            Some(PendingStep::Approval) | None => Ok(()),
        }
    }

    /// Fetches and parses the SKILL.md of a skill from a server.
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

    /// Reads a file of a skill from a server. Files of a nested skill need separate approval.
    pub(crate) fn served_resource(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        path: &str,
        options: &ReadOptions,
    ) -> Result<Resource, RuntimeError> {
        let denied = |why: String, hint: &str| RuntimeError::PermissionDenied {
            message: format!("cannot read `{path}` in `{}`: {why}", skill.id),
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
            let (size, limit) = (ByteSize(file.size), ByteSize(options.max_bytes));
            let why = format!("too large: {size} (limit: {limit})");
            return Err(denied(why, "raise the limit with --max-bytes"));
        }
        let bytes = self.served_bytes(skill, served, path)?;
        // Audit the text before a model sees it.
        let folder = Unpacked::new(self.places()?)?;
        folder.write(path, &bytes)?;
        self.check_fetched(skill, &folder.root()?)?;
        let sha256 = Digest::of(&bytes).to_string();
        Ok(Resource { path: path.to_owned(), bytes, sha256 })
    }

    /// Fetches all files of a skill from a server into a temporary folder for a run, and audits them. Files of nested
    /// skills are included only if those are approved too.
    pub(crate) fn unpack(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        permitted: Digest,
    ) -> Result<Unpacked, RuntimeError> {
        self.check_unchanged(&skill.id, &served.origin)?;
        // The permit covers only this content.
        if served.digest() != permitted {
            let (skill, what) = (skill.id.clone(), "the server lists different content".to_owned());
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
            matches!(&other.place, SkillLocation::Served(other) if other.server == served.server && other.uri == uri)
        });
        match inner {
            Some(inner) => self.check_approved(inner),
            None => Err(RuntimeError::PermissionDenied {
                message: format!(
                    "cannot read `{path}` in `{}`: it belongs to the skill `{uri}`, which the server does not list",
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

    /// Returns true if a file must be fetched before it can be read, and fetching is allowed.
    pub fn needs_fetch(&self, name: &str, path: &str) -> bool {
        let Ok(skill) = self.skill(name) else { return false };
        let (SkillLocation::Served(served), Ok(places)) = (&skill.place, self.places()) else {
            return false;
        };
        let fetch = Fetch { places, fetcher: None };
        self.check_approved(skill).is_ok()
            && served.file(path).is_some_and(|file| !fetch.is_kept(served, file))
    }

    /// Fetches a file of a skill from a server into the cache.
    pub fn fetch_file(&mut self, name: &str, path: &str) -> Result<(), RuntimeError> {
        let skill = Arc::clone(self.skill(name)?);
        self.check_approved(&skill)?;
        match &skill.place {
            SkillLocation::Served(served) => self.served_bytes(&skill, served, path).map(|_| ()),
            SkillLocation::Builtin(_) | SkillLocation::Folder { .. } => Ok(()),
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
                let what = format!(": `{path}` differs from what was approved: {why}");
                Err(changed(&skill.id, &served.server, &what, PendingStep::Sync))
            }
        }
    }

    /// Suspends a skill because its server sent different content than was approved, and logs it. The suspension
    /// survives restarts.
    fn suspend(
        &mut self,
        skill: &Skill,
        served: &ServedSkill,
        path: &str,
        why: &str,
    ) -> Result<(), RuntimeError> {
        let state = self.places()?.state.clone();
        let lock = lock_state(state.as_ref())?;
        // If the user synced in the meantime, the mismatch is about an outdated list.
        let held = SyncedSkills::load(state.as_ref(), &served.server)?;
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

/// Returns the error for a skill whose server sent different content than was approved; `what` may add details.
fn changed(id: &str, server: &str, what: &str, pending: PendingStep) -> RuntimeError {
    let approve = format!("openskills approve {}", shell_word(id));
    let command = match pending {
        PendingStep::Sync => format!("openskills mcp sync {server} && {approve}"),
        PendingStep::Approval => approve,
    };
    RuntimeError::NeedsApproval {
        message: format!(
            "`{id}` from MCP server `{server}` has changed and needs approval again{what}"
        ),
        hint: Some(format!("run `{command}`")),
    }
}

/// Returns the files of a skill from a server as folder entries.
pub(crate) fn entries(served: &ServedSkill) -> Vec<ResourceEntry> {
    let entry = |file: &ServedFile| ResourceEntry {
        path: file.path.clone(),
        kind: Kind::File { size: file.size, executable: false },
    };
    served.files.iter().map(entry).collect()
}

/// Returns the folder to watch for changes of servers' lists.
pub(crate) fn watched(state: &AbsPath) -> AbsPath {
    state.join(FOLDER)
}
