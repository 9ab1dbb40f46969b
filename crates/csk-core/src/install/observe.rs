//! Reads the state of a project: ledgers, markers, digests of installed skills, agent entries.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use rayon::prelude::*;
use skill::{
    Digest, Identifier, LEDGER_FILE, MARKER_FILE, MAX_SKILL_FILE_BYTES, Marker, RelPath, SKILL_FILE,
};
use skill_fs::{AbsPath, Digests, FsError, Root, read_text};

use super::fingerprint_cache::{FolderInspection, FolderRecord};
use super::journal::{Journal, journaled_entries};
use super::prepare::name_warning;
use super::project_checks::symlink_on_path;
use super::shim::read_shim;
use super::{
    BIN, CommandFilesState, Environment, FingerprintCache, Receipts, SKILLS, Store, Target,
};
use crate::env_files::is_generated;
use crate::sys::read_link;
use crate::{Agents, Ledger, Platform};

/// The start of the message about a marker that a newer csk wrote.
const NEWER: &str = "Unsupported installed marker schema";
/// The size limit of a marker or a ledger.
const MAX_FILE: u64 = 16 << 20;

/// The state of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The skills that csk installed.
    pub ledger: Ledger,
    /// Every skill that is declared or installed.
    pub contexts: BTreeMap<Identifier, ContextState>,
    /// The agents' folders, by path.
    pub adapters: BTreeMap<String, ObservedAdapter>,
    /// The command folder, with all its entries.
    pub bin: ObservedAdapter,
    /// The env files that are missing or differ.
    pub env: Vec<EnvFile>,
    /// The receipts of what csk installed here.
    pub receipts: Receipts,
    /// The fingerprints to store, so that the next run can skip unchanged folders.
    pub seen: FingerprintCache,
}

/// What is at the path of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextState {
    /// Nothing.
    Missing,
    /// Something that csk did not create.
    Foreign,
    /// Installed by a newer csk; it is left alone.
    Newer(String),
    /// Installed by csk but damaged; the text says why.
    Broken(String),
    /// An installed skill.
    Installed {
        /// The marker that the install wrote.
        marker: Box<Marker>,
        /// The digests of the current files.
        content: Digests,
        /// A warning to report.
        warning: Option<String>,
        /// The state of its command files, if it has any.
        runtime: Option<CommandFilesState>,
        /// The digest of the marker itself.
        marker_digest: Digest,
        /// Whether csk has a receipt for the marker. If not, anyone may have written it.
        is_receipted: bool,
    },
}

/// An agent's folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedAdapter {
    /// The entries that csk created.
    pub ledger: Ledger,
    /// Every entry that is declared or that csk created.
    pub entries: BTreeMap<Identifier, AdapterState>,
}

/// An env file that is missing or differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvFile {
    /// The path below the root.
    pub path: &'static str,
    /// The expected text.
    pub text: String,
    /// Whether a file of the user's is in its place.
    pub is_foreign: bool,
}

/// What is at the path of an agent's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdapterState {
    /// Nothing.
    Missing,
    /// A link and its target.
    Link(String),
    /// A folder and its digests.
    Folder(Digests),
    /// Something else.
    Other,
}

/// What csk stores about a project between runs.
#[derive(Debug, Clone)]
pub struct ProjectMemory {
    /// The fingerprints of the last run: unchanged folders are not read again.
    pub seen: FingerprintCache,
    /// The receipts of what csk installed here.
    pub receipts: Receipts,
}

impl ProjectMemory {
    /// Loads both from csk's home folder.
    pub fn load(home: &AbsPath, root: &AbsPath) -> Self {
        Self { seen: FingerprintCache::load(home, root), receipts: Receipts::load(home, root) }
    }
}

/// Reads a project, using what the last run stored.
pub fn observe_project(environment: &Environment, target: &Target) -> Result<Observed, FsError> {
    let home = &environment.home;
    let memory = ProjectMemory::load(home, &target.root);
    observe(target, &environment.agents, &Store::new(home), memory)
}

/// Reads a project. Folders that have not changed since the last run are not read again.
pub fn observe(
    target: &Target,
    agents: &Agents,
    store: &Store,
    ProjectMemory { mut seen, receipts }: ProjectMemory,
) -> Result<Observed, FsError> {
    let folder = target.skills_folder();
    let mut ledger = read_ledger(&folder)?;
    // What an interrupted install created belongs to csk, even before a ledger lists it.
    let pending = Journal::read(target)?;
    ledger.entries.extend(journaled_entries(&pending, target, SKILLS, store));
    let skills = open_folder(&folder)?;
    let declared: BTreeSet<Identifier> =
        target.skills.iter().map(|skill| skill.name.clone()).collect();
    let wanted = target.adapters();
    // A removed agent leaves its ledger behind, so every folder that may have one is checked.
    let known = agents.adapter_folders(target.scope).into_iter().chain(wanted.iter().cloned());
    let mut ledgers = BTreeMap::new();
    for path in known.collect::<BTreeSet<String>>() {
        // Nothing behind a symlink belongs to csk; the wanted folders have been checked before.
        let is_linked = || !matches!(symlink_on_path(target, &path), Ok(None));
        if !wanted.contains(&path) && is_linked() {
            continue;
        }
        let mut ledger = read_ledger(&target.folder(&path))?;
        ledger.entries.extend(journaled_entries(&pending, target, &path, store));
        ledgers.insert(path, ledger);
    }
    // Some ledgers may have been lost, so the entries of all of them count.
    let made = ledgers.values().flat_map(|ledger| &ledger.entries).chain(&ledger.entries);
    let names: BTreeSet<&Identifier> = declared.iter().chain(made).collect();
    let observer = Observer { ledger: &ledger, seen: &seen, store, receipts: &receipts };
    let observe_one = |name: &Identifier| match &skills {
        Some(skills) => observer.context(skills, name),
        None => Ok((ContextState::Missing, None)),
    };
    let states: Result<Vec<_>, FsError> =
        names.par_iter().map(|name| Ok(((*name).clone(), observe_one(name)?))).collect();
    let mut contexts = BTreeMap::new();
    for (name, (state, record)) in states? {
        seen.remember(format!("{SKILLS}/{name}"), record);
        contexts.insert(name, state);
    }
    let mut adapters = BTreeMap::new();
    for (path, own) in ledgers {
        let is_wanted = wanted.contains(&path);
        if !is_wanted && own.entries.is_empty() {
            continue;
        }
        let root = target.folder(&path);
        let mut names = own.entries.clone();
        if is_wanted {
            names.extend(declared.iter().chain(&ledger.entries).cloned());
        }
        let mut entries = BTreeMap::new();
        for name in names {
            let at = format!("{path}/{name}");
            let (state, record) = adapter(&root.join(name.as_str()), &at, &seen)?;
            seen.remember(at, record);
            entries.insert(name, state);
        }
        adapters.insert(path, ObservedAdapter { ledger: own, entries });
    }
    let mut bin = commands(target)?;
    bin.ledger.entries.extend(journaled_entries(&pending, target, BIN, store));
    Ok(Observed { ledger, contexts, adapters, bin, env: env_files(target)?, receipts, seen })
}

/// Opens a folder; `None` if it does not exist.
fn open_folder(path: &AbsPath) -> Result<Option<Root>, FsError> {
    match Root::open(path) {
        Ok(root) => Ok(Some(root)),
        Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the command folder.
fn commands(target: &Target) -> Result<ObservedAdapter, FsError> {
    let folder = target.folder(BIN);
    let mut bin = ObservedAdapter { ledger: read_ledger(&folder)?, entries: BTreeMap::new() };
    let failed = |source: io::Error| FsError::Io { path: folder.to_string(), source };
    let entries = match fs::read_dir(folder.as_path()) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(bin),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        // A name that no command can have never collides.
        let Ok(file) = entry.file_name().into_string() else { continue };
        let Some(name) = Platform::CURRENT.command_of(&file) else { continue };
        let place = folder.join(file);
        let state = match read_shim(&place) {
            Ok(Some(target)) => AdapterState::Link(target),
            Ok(None) => AdapterState::Other,
            Err(source) => return Err(FsError::Io { path: place.to_string(), source }),
        };
        bin.entries.insert(name, state);
    }
    Ok(bin)
}

/// Returns the env files that are missing, different, or the user's.
fn env_files(target: &Target) -> Result<Vec<EnvFile>, FsError> {
    let mut files = Vec::new();
    if target.skills.is_empty() {
        return Ok(files);
    }
    for (path, text) in target.env_files() {
        let is_foreign = match read_text(&target.root.join(path)) {
            Ok(Some(found)) if found == text => continue,
            Ok(Some(found)) => !is_generated(&found),
            Ok(None) => false,
            Err(FsError::NotRegular { .. } | FsError::Escapes { .. }) => true,
            Err(error) => return Err(error),
        };
        files.push(EnvFile { path, text, is_foreign });
    }
    Ok(files)
}

/// What is needed to judge the state of a skill's folder.
struct Observer<'a> {
    ledger: &'a Ledger,
    seen: &'a FingerprintCache,
    store: &'a Store,
    receipts: &'a Receipts,
}

impl Observer<'_> {
    /// Reads a skill's folder.
    fn context(
        &self,
        skills: &Root,
        name: &Identifier,
    ) -> Result<(ContextState, Option<FolderRecord>), FsError> {
        let path = skills.path().join(name.as_str());
        let is_ours = self.ledger.entries.contains(name);
        let root = match skills.child(name.as_str()) {
            Err(FsError::NotFound { .. }) => return Ok((ContextState::Missing, None)),
            Ok(root) => root,
            Err(_) if !is_ours => return Ok((ContextState::Foreign, None)),
            Err(FsError::NotAFolder { .. } | FsError::Escapes { .. }) => {
                return Ok((ContextState::Broken(format!("`{path}` is not a folder")), None));
            }
            Err(error) => return Err(error),
        };
        let (marker, marker_digest) = match read_marker(&root, path.join(MARKER_FILE).as_str()) {
            Ok(found) => found,
            Err(reason) if reason.starts_with(NEWER) => {
                return Ok((ContextState::Newer(reason), None));
            }
            Err(_) if !is_ours => return Ok((ContextState::Foreign, None)),
            Err(reason) => return Ok((ContextState::Broken(reason), None)),
        };
        // Without a ledger entry the marker decides: another csk installed it, or the ledger was lost.
        if !is_ours && marker.name != *name {
            return Ok((ContextState::Foreign, None));
        }
        let warn = |root: &Root| {
            let path = RelPath::new(SKILL_FILE).expect("SKILL.md is a plain name");
            name_warning(&root.read(&path, MAX_SKILL_FILE_BYTES).ok()?, name.as_str())
        };
        Ok(match self.seen.inspect(&root, &format!("{SKILLS}/{name}"), warn) {
            Ok(FolderInspection { content, warning, record }) => {
                let is_receipted = self.receipts.has(name, marker_digest);
                let has_runtime = is_receipted && !marker.command_paths.is_empty();
                let runtime =
                    has_runtime.then(|| self.store.state(&marker.name, marker.runtime_id()));
                let marker = Box::new(marker);
                let state = ContextState::Installed {
                    marker,
                    content,
                    warning,
                    runtime,
                    marker_digest,
                    is_receipted,
                };
                (state, record)
            }
            Err(error) => (ContextState::Broken(error.to_string()), None),
        })
    }
}

/// Reads the marker in the folder `root` and returns it with its digest; the error says what is wrong with it.
pub(crate) fn read_marker(root: &Root, shown: &str) -> Result<(Marker, Digest), String> {
    let path = RelPath::new(MARKER_FILE).expect("the marker's name is a plain name");
    let bytes = root.read(&path, MAX_FILE).map_err(|error| error.to_string())?;
    let digest = Digest::of(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| format!("`{shown}` is not valid UTF-8"))?;
    let (marker, problems) = Marker::parse(shown, &text);
    marker.map(|marker| (marker, digest)).ok_or_else(|| {
        let is_newer = problems.iter().any(|problem| problem.code == skill::Code::SchemaVersion);
        let what = if is_newer { NEWER } else { "cannot read the install marker" };
        let reason =
            problems.first().map_or_else(String::new, |problem| format!(": {}", problem.message));
        let newer = if is_newer { "; it requires a newer csk" } else { "" };
        format!("{what} in `{shown}`{reason}{newer}")
    })
}

fn adapter(
    path: &AbsPath,
    at: &str,
    seen: &FingerprintCache,
) -> Result<(AdapterState, Option<FolderRecord>), FsError> {
    // Nearly all entries are links, so that is checked first.
    match read_link(path) {
        Ok(Some(target)) => return Ok((AdapterState::Link(target), None)),
        Ok(None) => {}
        Err(error) if is_absent(&error) => return Ok((AdapterState::Missing, None)),
        Err(source) => return Err(FsError::Io { path: path.to_string(), source }),
    }
    if !path.as_path().is_dir() {
        return Ok((AdapterState::Other, None));
    }
    let inspected = Root::open(path).and_then(|root| seen.inspect(&root, at, |_| None));
    Ok(inspected.map_or((AdapterState::Other, None), |inspected| {
        (AdapterState::Folder(inspected.content), inspected.record)
    }))
}

/// Reads the ledger of a folder; a missing folder or file means an empty ledger.
pub(super) fn read_ledger(folder: &AbsPath) -> Result<Ledger, FsError> {
    let path = folder.join(LEDGER_FILE);
    let Some(text) = read_text(&path)? else { return Ok(Ledger::default()) };
    let (ledger, problems) = Ledger::parse(path.as_str(), &text);
    ledger.ok_or_else(|| {
        // Without a ledger csk cannot tell what belongs to the user, so nothing may be touched.
        let reason = problems.first().map_or_else(String::new, |problem| problem.message.clone());
        let what = "fix the file, or delete it; csk can recognize its own entries without it";
        FsError::Io {
            path: path.to_string(),
            source: io::Error::other(format!("{reason}; {what}")),
        }
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
