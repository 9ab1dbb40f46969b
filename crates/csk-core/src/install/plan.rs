//! Decides what an install changes, without touching the disk.
//!
//! Input: what was resolved and what was observed. Output: a [`Plan`], one group a skill. Removals come
//! first.

use std::collections::{BTreeMap, BTreeSet};

use skill::{Digest, Identifier, Marker, RefKind};
use skill_fs::Digests;

use super::hook::can_be_on_path;
use super::locking::{Choice, LockUse, choose, wrong_bundle};
use super::observe::{EnvFile, ObservedAdapter};
use super::shims::Shim;
use super::{AdapterState, ContextState, Observed, Resolution, RuntimeState, SkillError, Target};
use crate::content::context::CONTEXT_RULES;
use crate::{AdapterMode, Commit, Declaration};

/// Everything that is to be done in one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Skills that are not declared any more.
    pub removals: Vec<Group>,
    /// Declared skills, in the order of the Skillfile.
    pub skills: Vec<Group>,
    /// Commands that appear, change or go.
    pub shims: Vec<Shim>,
    /// Every command that is going to be there, with its skill and where it leads.
    pub commands: BTreeMap<Identifier, (Identifier, String)>,
    /// Files that put the commands on PATH and are written.
    pub env: Vec<EnvFile>,
    /// What to tell of the project, though it stops nothing.
    pub warnings: Vec<String>,
    /// What is worth knowing of it.
    pub notes: Vec<String>,
}

impl Plan {
    /// Returns true if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removals.is_empty()
            && self.skills.iter().all(Group::is_empty)
            && self.shims.is_empty()
            && self.env.is_empty()
    }

    /// Returns true if everything is as declared.
    pub fn is_current(&self) -> bool {
        self.is_empty() && self.skills.iter().all(|group| group.label == Label::UpToDate)
    }
}

/// What is to be done for one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The skill.
    pub name: Identifier,
    /// The commit that is wanted; none for a removal.
    pub commit: Option<Commit>,
    /// Whether that commit is the one of the lock.
    pub is_locked: bool,
    /// Why its files are written anew, if they are.
    pub install: Option<Reason>,
    /// Why the files of its commands are written anew, though the skill is not.
    pub repair: Option<String>,
    /// Whether its files are removed.
    pub remove: bool,
    /// Whether what is there was changed by hand, and must be kept aside.
    pub edited: bool,
    /// Whether csk has no receipt for what is there.
    pub is_unknown: bool,
    /// The commit that is installed.
    pub installed: Option<String>,
    /// The digest of everything that the installed version is.
    pub bundle: Option<Digest>,
    /// The files that are installed.
    pub old_files: Vec<String>,
    /// The digests of what is installed now.
    pub content: Option<Digests>,
    /// The entries of agents that change.
    pub adapters: Vec<Adapter>,
    /// What to tell, though it stops nothing.
    pub warnings: Vec<String>,
    /// Skills that must be changed before it: it takes over their commands.
    pub after: BTreeSet<Identifier>,
    /// Why nothing can be done for this skill.
    pub error: Option<SkillError>,
    /// The state before, for `status`.
    pub label: Label,
}

/// Why files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// There are none.
    New,
    /// The commit, the reference, the locale or the agents differ.
    Changed,
    /// They are not what was installed.
    Drift,
}

/// A change of an agent's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// The agent's folder.
    pub folder: String,
    /// Make it, or take it away.
    pub present: bool,
}

/// The state of a skill, as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// Everything is as declared.
    UpToDate,
    /// Not installed.
    Missing,
    /// Another commit is wanted.
    UpdateAvailable,
    /// Not what was installed; the text says what differs, where that is not the content.
    ContentDrift(Option<String>),
    /// Not declared any more; an install removes it.
    Removed,
    /// It cannot be told.
    Error,
}

impl Label {
    /// Returns the stable word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::UpToDate => "up-to-date",
            Self::Missing => "missing",
            Self::UpdateAvailable => "update-available",
            Self::ContentDrift(_) => "content-drift",
            Self::Removed => "removed",
            Self::Error => "error",
        }
    }
}

/// What a tag that moved means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tags {
    /// A warning.
    MayMove,
    /// An error.
    Strict,
}

impl Group {
    fn new(name: Identifier) -> Self {
        Self {
            name,
            commit: None,
            is_locked: false,
            install: None,
            repair: None,
            remove: false,
            edited: false,
            is_unknown: false,
            installed: None,
            bundle: None,
            old_files: Vec::new(),
            content: None,
            adapters: Vec::new(),
            warnings: Vec::new(),
            after: BTreeSet::new(),
            error: None,
            label: Label::UpToDate,
        }
    }

    /// Returns true if the files of the skill are needed.
    pub(super) fn needs_files(&self) -> bool {
        self.error.is_none() && (self.install.is_some() || self.repair.is_some())
    }

    /// Takes back everything that was going to be done, and says why.
    pub(super) fn refuse(&mut self, error: SkillError) {
        // A label that says more than "error" stays: an update that is refused is still available.
        if self.label == Label::UpToDate {
            self.label = Label::Error;
        }
        self.error = Some(error);
        self.install = None;
        self.repair = None;
        self.adapters.clear();
    }

    /// Returns true if nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.install.is_none() && self.repair.is_none() && !self.remove && self.adapters.is_empty()
    }
}

/// Returns the steps that turn what was observed into what is wanted.
pub fn plan(
    target: &Target,
    resolution: &Resolution,
    observed: &Observed,
    (tags, lock): (Tags, LockUse),
) -> Plan {
    let is_declared = |name: &Identifier| target.skills.iter().any(|skill| skill.name == *name);
    let orphans = observed.adapters.values().flat_map(|adapter| &adapter.ledger.entries);
    let gone: BTreeSet<&Identifier> =
        observed.ledger.entries.iter().chain(orphans).filter(|name| !is_declared(name)).collect();
    let planner = Planner { target, observed, tags };
    Plan {
        removals: gone.into_iter().map(|name| removal(name.clone(), target, observed)).collect(),
        skills: target
            .skills
            .iter()
            .map(|skill| planner.group(skill, choose(target, skill, resolution, (tags, lock))))
            .collect(),
        shims: Vec::new(),
        commands: BTreeMap::new(),
        notes: Vec::new(),
        env: observed.env.iter().filter(|file| !file.is_foreign).cloned().collect(),
        warnings: observed
            .env
            .iter()
            .filter(|file| file.is_foreign)
            .map(|file| format!("{} was not made by csk, and is left as it is", file.path))
            .chain((!can_be_on_path(&target.root)).then(|| {
                "commands of skills cannot be on PATH here: the project's path holds `:`, `;` or a line break".to_owned()
            }))
            .collect(),
    }
}

fn removal(name: Identifier, target: &Target, observed: &Observed) -> Group {
    let state = observed.contexts.get(&name).unwrap_or(&ContextState::Missing);
    let mut group = Group::new(name);
    // A marker of the skill's own says whose folder it is where the ledger was lost.
    group.remove = observed.ledger.entries.contains(&group.name)
        || matches!(state, ContextState::Installed { .. });
    group.label = Label::Removed;
    group.edited = match state {
        ContextState::Installed { marker, content, .. } => {
            group.installed = Some(marker.commit.clone());
            group.old_files.clone_from(&marker.files);
            group.content = Some(*content);
            is_edited(marker, content)
        }
        ContextState::Newer(reason) => {
            // Only the csk that made it can clean it up.
            group.remove = false;
            group.error = Some(SkillError::Marker(reason.clone()));
            group.label = Label::Error;
            return group;
        }
        // What cannot be told from the user's work is kept aside.
        ContextState::Broken(_) => true,
        ContextState::Missing | ContextState::Foreign => false,
    };
    for (folder, adapter) in &observed.adapters {
        if is_ours(&group, target, folder, adapter) {
            group.adapters.push(Adapter { folder: folder.clone(), present: false });
        } else if group.remove && leads_to(&group, target, folder, adapter) {
            let what = "no ledger says that csk made it; remove it yourself";
            group.warnings.push(format!("the link {folder}/{} stays: {what}", group.name));
        }
    }
    group
}

/// Decides about declared skills, one by one.
struct Planner<'a> {
    target: &'a Target,
    observed: &'a Observed,
    tags: Tags,
}

impl Planner<'_> {
    fn group(&self, skill: &Declaration, choice: Choice) -> Group {
        let mut group = Group::new(skill.name.clone());
        group.is_locked = choice.is_locked;
        group.warnings.extend(choice.warning);
        match choice.commit {
            Ok(commit) => self.wanted(&mut group, skill, &commit),
            Err(error) => {
                let is_coming = matches!(error, SkillError::NotCloned { .. });
                group.error = Some(error);
                if is_coming {
                    group.label = Label::Missing;
                    return group;
                }
            }
        }
        if group.error.is_some() {
            // A label that says more than "error" stays: an update that is refused is still available.
            if group.label == Label::UpToDate || group.label == Label::Missing {
                group.label = Label::Error;
            }
            group.install = None;
            group.repair = None;
            group.adapters.clear();
        }
        group
    }

    fn wanted(&self, group: &mut Group, skill: &Declaration, commit: &Commit) {
        group.commit = Some(commit.clone());
        match self.observed.contexts.get(&skill.name).unwrap_or(&ContextState::Missing) {
            ContextState::Missing => {
                group.install = Some(Reason::New);
                group.label = Label::Missing;
            }
            ContextState::Foreign => {
                let path = self.target.skills_folder().join(skill.name.as_str()).to_string();
                group.error = Some(SkillError::Foreign { path });
            }
            ContextState::Newer(reason) => group.error = Some(SkillError::Marker(reason.clone())),
            ContextState::Broken(reason) => {
                group.edited = true;
                group.install = Some(Reason::Drift);
                group.label = Label::ContentDrift(Some(reason.clone()));
            }

            ContextState::Installed { marker, content, warning, runtime, is_receipted, .. } => {
                group.edited = is_edited(marker, content);
                group.content = Some(*content);
                group.installed = Some(marker.commit.clone());
                group.bundle = marker.bundle_sha256;
                group.old_files.clone_from(&marker.files);
                self.check_lock(group, skill, marker);
                self.installed(group, skill, commit, marker);
                if !is_receipted {
                    // Another csk installed it, or a checkout brought it: it is built again, and what is not as its marker says is kept.
                    let what = "csk did not install it here, or has lost its receipt";
                    group.label = Label::ContentDrift(Some(what.to_owned()));
                    group.install = Some(Reason::Drift);
                    group.is_unknown = true;
                }
                if group.install.is_none() {
                    // A new version brings its own warnings.
                    group.warnings.extend(warning.clone());
                    repair(group, runtime.as_ref(), marker.runtime_sha256);
                }
            }
        }
        if group.error.is_none() {
            adapters(group, self.target, self.observed);
        }
    }

    /// What is installed at the locked commit must have the digest that is locked.
    fn check_lock(&self, group: &mut Group, skill: &Declaration, marker: &Marker) {
        let is_it =
            group.is_locked && group.commit.as_ref().is_some_and(|it| it.as_str() == marker.commit);
        let found = marker.bundle_sha256.filter(|_| is_it);
        if let Some(error) = found.and_then(|found| wrong_bundle(self.target, skill, found)) {
            group.error = Some(error);
        }
    }

    fn installed(&self, group: &mut Group, skill: &Declaration, commit: &Commit, marker: &Marker) {
        let same_reference = marker.ref_kind == skill.reference.kind
            && marker.reference == skill.reference.name
            && marker.source == skill.source
            && marker.git == skill.git
            && marker.part.as_ref().map(|part| &part.path) == skill.path.as_ref();
        let same_commit = marker.commit == commit.as_str();
        let same_shape =
            marker.locale == self.target.locale && marker.agents == self.target.agent_ids();
        // Another implementation does not say where the files of commands are.
        let is_partial = !marker.commands.is_empty() && marker.skill_schema_version.is_none();
        // Other rules may have left out what the skill needs.
        let is_older = marker.context_rules != Some(CONTEXT_RULES);
        let is_stale = !same_shape || is_partial || is_older;
        if !same_commit || !same_reference || (is_stale && !group.edited) {
            group.label = Label::UpdateAvailable;
            group.install = Some(Reason::Changed);
        } else if group.edited {
            group.label = Label::ContentDrift(None);
            group.install = Some(Reason::Drift);
        }
        // What is locked was agreed to.
        let is_free = !group.is_locked;
        if is_free && same_reference && !same_commit && skill.reference.kind == RefKind::Tag {
            let (skill, tag) = (skill.name.to_string(), skill.reference.name.clone());
            let (old, new) = (short(&marker.commit).to_owned(), commit.short().to_owned());
            let moved = SkillError::MovedTag { skill, tag, old, new };
            match self.tags {
                Tags::MayMove => group.warnings.push(moved.to_string()),
                Tags::Strict => group.error = Some(moved),
            }
        }
    }
}

/// Returns true if a folder is not what was installed. The seeded digest alone would not see a mode, or a file
/// that swallowed another.
pub(crate) fn is_edited(marker: &Marker, found: &Digests) -> bool {
    marker.content_sha256 != found.content
        || marker.context_sha256.is_some_and(|context| context != found.bundle)
}

/// Decides about the files of a skill's commands.
fn repair(group: &mut Group, runtime: Option<&RuntimeState>, recorded: Option<Digest>) {
    let reason = match runtime {
        None => return,
        Some(RuntimeState::Intact(list)) if recorded.is_none_or(|recorded| recorded == *list) => {
            return;
        }
        Some(RuntimeState::Intact(_)) => {
            "its runtime differs: its list of files was changed".to_owned()
        }
        Some(RuntimeState::Missing) => "its runtime is missing".to_owned(),
        Some(RuntimeState::Tampered(what)) => format!("its runtime differs: {what}"),
    };
    group.label = Label::ContentDrift(Some(reason.clone()));
    group.repair = Some(reason);
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// Decides about the entries of agents: those wanted must be there and right, those not wanted go.
fn adapters(group: &mut Group, target: &Target, observed: &Observed) {
    let wanted = target.adapters();
    for (folder, adapter) in &observed.adapters {
        let is_ours = is_ours(group, target, folder, adapter);
        if !wanted.contains(folder) {
            if is_ours {
                group.adapters.push(Adapter { folder: folder.clone(), present: false });
            }
            continue;
        }
        match entry_state(group, target, folder, adapter) {
            // The entry of a skill that is adopted is adopted with it.
            Entry::Right if is_ours && group.is_unknown => {
                group.adapters.push(Adapter { folder: folder.clone(), present: true });
            }
            // A link of the user's own that says the same stays the user's.
            Entry::Right => {}
            Entry::Absent => {
                group.adapters.push(Adapter { folder: folder.clone(), present: true });
            }
            Entry::Wrong if is_ours => {
                group.adapters.push(Adapter { folder: folder.clone(), present: true });
            }
            Entry::Wrong => {
                let path = target.folder(folder).join(group.name.as_str()).to_string();
                group.error = Some(SkillError::Foreign { path });
                group.label = Label::Error;
                return;
            }
        }
    }
    if let Some(adapter) = group.adapters.first().filter(|_| group.label == Label::UpToDate) {
        let what = if adapter.present { "is missing or wrong" } else { "is not wanted any more" };
        group.label =
            Label::ContentDrift(Some(format!("{}/{} {what}", adapter.folder, group.name)));
    }
}

/// Returns true if an agent's entry is csk's: a ledger says so, or it is a copy of the installed skill. A link to it is csk's where another csk
/// installed the skill; else the user may have made it.
fn is_ours(group: &Group, target: &Target, folder: &str, adapter: &ObservedAdapter) -> bool {
    if adapter.ledger.entries.contains(&group.name) {
        return true;
    }
    match adapter.entries.get(&group.name) {
        Some(AdapterState::Link(_)) => group.is_unknown && leads_to(group, target, folder, adapter),
        Some(AdapterState::Folder(digest)) => group.content == Some(*digest),
        Some(AdapterState::Missing | AdapterState::Other) | None => false,
    }
}

/// Returns true if an agent's entry is a link to the installed skill.
fn leads_to(group: &Group, target: &Target, folder: &str, adapter: &ObservedAdapter) -> bool {
    let Some(AdapterState::Link(to)) = adapter.entries.get(&group.name) else { return false };
    let place = target.skills_folder().join(group.name.as_str());
    *to == target.link_text(folder, &group.name) || *to == place.as_str()
}

enum Entry {
    Right,
    Wrong,
    Absent,
}

fn entry_state(group: &Group, target: &Target, folder: &str, adapter: &ObservedAdapter) -> Entry {
    let links = target.adapter_mode.links();
    match adapter.entries.get(&group.name) {
        None | Some(AdapterState::Missing) => Entry::Absent,
        Some(AdapterState::Link(to)) if links && *to == target.link_text(folder, &group.name) => {
            Entry::Right
        }
        // A copy is right if it holds what is going to stay; without a choice it is as good as a link.
        Some(AdapterState::Folder(digest))
            if (!links || target.adapter_mode == AdapterMode::Auto)
                && group.install.is_none()
                && group.content == Some(*digest) =>
        {
            Entry::Right
        }
        Some(AdapterState::Link(_) | AdapterState::Folder(_) | AdapterState::Other) => Entry::Wrong,
    }
}
