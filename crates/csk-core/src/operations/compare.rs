//! Compares versions of a skill, or an installed skill with its commit.

use std::collections::{BTreeMap, BTreeSet};

use skill::capabilities::{CapabilityChange, CapabilityExtents, Declared, Extent};
use skill::{
    CommandKind, Identifier, Input, MARKER_FILE, Marker, RefKind, SKILL_FILE, Strictness, parse,
};
use skill_fs::{FsError, Kind, Root, WalkLimits, walk};
use skill_state::COMMAND_FILES_LIST;

use crate::content::context::{CONTEXT_RULES, listed_context};
use crate::install::resolve::check_origin;
use crate::install::{
    AdapterState, Cache, CacheMode, ContextState, Environment, Observed, PrepareError, Prepared,
    SkillError, Sources, Store, Target, prepare,
};
use crate::{Commit, Content, Declaration, File, FileKind, Reference, Repository, render};

/// The differences between two versions.
#[derive(Debug)]
pub struct Comparison {
    /// The skill.
    pub name: Identifier,
    /// The old commit; `None` if nothing is installed.
    pub from: Option<Commit>,
    /// The new commit; `None` for the files on disk.
    pub to: Option<Commit>,
    /// The changed files, by path: relative to the skill, below `runtime/` for command files, and below an agent's
    /// folder for copies there.
    pub files: BTreeMap<String, FileChange>,
    /// Commands that are added.
    pub commands_gained: Vec<String>,
    /// Commands that are removed.
    pub commands_lost: Vec<String>,
    /// System programs that it newly requires.
    pub programs_gained: Vec<String>,
    /// System programs that it no longer requires.
    pub programs_lost: Vec<String>,
    /// Changes in the declared capabilities.
    pub capabilities: Vec<CapabilityChange>,
}

impl Comparison {
    /// Returns true if nothing differs.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
            && self.capabilities.is_empty()
            && self.commands_gained.is_empty()
            && self.commands_lost.is_empty()
            && self.programs_gained.is_empty()
            && self.programs_lost.is_empty()
    }
}

/// A change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The old file.
    pub old: Option<File>,
    /// The new file.
    pub new: Option<File>,
}

impl FileChange {
    /// Returns the type of change.
    pub fn label(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "added",
            (Some(_), None) => "removed",
            (Some(old), Some(new)) if old.content == new.content => "mode",
            (Some(_), Some(_)) => "changed",
        }
    }
}

/// Why versions cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The skill cannot be read.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// A file cannot be read.
    #[error(transparent)]
    Files(#[from] FsError),
    /// The skill is not installed.
    #[error("{0} is not installed")]
    NotInstalled(Identifier),
}

impl CompareError {
    /// Returns how to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Skill(error) => error.hint(),
            Self::Files(_) => None,
            Self::NotInstalled(_) => Some("run `csk install`".to_owned()),
        }
    }
}

/// Compares the installed version of a skill with what its reference, or another one, points to now. Nothing is
/// fetched.
pub fn compare(
    environment: &Environment,
    target: &Target,
    observed: &Observed,
    skill: &Declaration,
    to: Option<&Reference>,
) -> Result<Comparison, CompareError> {
    let sources = Reader::new(environment);
    let before = match installed(target, observed, &skill.name)? {
        Some(marker) => {
            let commit = Commit::new(&marker.commit);
            commit.map(|commit| (sources.read(&of(&marker, skill), &commit, &marker), commit))
        }
        None => None,
    };
    let (old, from) = match before {
        Some((prepared, commit)) => (Some(prepared?), Some(commit)),
        None => (None, None),
    };
    let reference = to.unwrap_or(&skill.reference);
    check_origin(&environment.skills_root, skill)?;
    let repository = Repository::open(&environment.skills_root.join(skill.source.as_str()))
        .map_err(SkillError::from)?;
    let commit = repository.resolve(reference).map_err(SkillError::from)?;
    let new = sources.prepare(skill, &commit, target.locale.as_deref())?;
    let mut files = differences(old.as_ref().map_or(&[][..], |old| &old.files), &new.files);
    // Command files count as much as text.
    files.extend(below(RUNTIME, differences(old.as_ref().map_or(&[], runtime), runtime(&new))));
    let names = |of: fn(&Prepared) -> BTreeSet<String>| {
        let (had, has) = (old.as_ref().map(of).unwrap_or_default(), of(&new));
        (has.difference(&had).cloned().collect(), had.difference(&has).cloned().collect())
    };
    let (commands_gained, commands_lost) = names(commands);
    let (programs_gained, programs_lost) = names(programs);
    let now = capabilities(&new);
    let before = old.as_ref().map_or_else(|| nothing_before(&now), capabilities);
    let capabilities = now.changes_since(&before);
    Ok(Comparison {
        name: skill.name.clone(),
        from,
        to: Some(commit),
        files,
        commands_gained,
        commands_lost,
        programs_gained,
        programs_lost,
        capabilities,
    })
}

/// Compares an installed skill with the files on disk: the skill, its command files, and the copies in agents' folders.
pub fn compare_local(
    environment: &Environment,
    target: &Target,
    observed: &Observed,
    name: &Identifier,
) -> Result<Comparison, CompareError> {
    let marker = installed(target, observed, name)?
        .ok_or_else(|| CompareError::NotInstalled(name.clone()))?;
    let commit = Commit::new(&marker.commit).ok_or_else(|| {
        SkillError::Marker("its install marker has no valid commit ID".to_owned())
    })?;
    let skill = Declaration {
        name: name.clone(),
        source: marker.source.clone(),
        git: None,
        path: marker.part.as_ref().map(|part| part.path.clone()),
        reference: Reference { kind: RefKind::Revision, name: marker.commit.clone() },
    };
    let built = Reader::new(environment).read(&skill, &commit, &marker)?;
    let found = on_disk(&Root::open(&target.skills_folder().join(name.as_str()))?)?;
    let mut files = differences(&built.files, &found);
    if !runtime(&built).is_empty() {
        let store = Store::new(&environment.home);
        match Root::open(&store.path(name, marker.runtime_id())) {
            Ok(root) => {
                files.extend(below(RUNTIME, differences(runtime(&built), &on_disk(&root)?)));
            }
            // Missing files are not edits; `csk status` reports them.
            Err(FsError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for (folder, adapter) in &observed.adapters {
        if !matches!(adapter.entries.get(name), Some(AdapterState::Folder(_)))
            || !adapter.ledger.entries.contains(name)
        {
            continue;
        }
        let found = on_disk(&Root::open(&target.folder(folder).join(name.as_str()))?)?;
        files.extend(below(&format!("{folder}/{name}"), differences(&built.files, &found)));
    }
    Ok(Comparison {
        name: name.clone(),
        from: Some(commit),
        to: None,
        files,
        commands_gained: Vec::new(),
        commands_lost: Vec::new(),
        programs_gained: Vec::new(),
        programs_lost: Vec::new(),
        capabilities: Vec::new(),
    })
}

/// The path prefix of command files.
const RUNTIME: &str = "runtime";

fn runtime(prepared: &Prepared) -> &[File] {
    prepared.runtime.as_ref().map_or(&[], |runtime| &runtime.files)
}

fn below(
    folder: &str,
    files: BTreeMap<String, FileChange>,
) -> impl Iterator<Item = (String, FileChange)> {
    files.into_iter().map(move |(path, change)| (format!("{folder}/{path}"), change))
}

/// Returns the declaration that an install's marker records.
fn of(marker: &Marker, skill: &Declaration) -> Declaration {
    Declaration {
        source: marker.source.clone(),
        path: marker.part.as_ref().map(|part| part.path.clone()),
        ..skill.clone()
    }
}

/// Returns the marker of an installed skill.
fn installed(
    target: &Target,
    observed: &Observed,
    name: &Identifier,
) -> Result<Option<Marker>, CompareError> {
    match observed.contexts.get(name) {
        Some(ContextState::Installed { marker, .. }) => Ok(Some((**marker).clone())),
        Some(ContextState::Newer(reason) | ContextState::Broken(reason)) => {
            Err(SkillError::Marker(reason.clone()).into())
        }
        Some(ContextState::Foreign) => {
            let path = target.skills_folder().join(name.as_str()).to_string();
            Err(SkillError::Foreign { path }.into())
        }
        Some(ContextState::Missing) | None => Ok(None),
    }
}

/// Builds versions from git's objects without writing anything.
struct Reader<'a> {
    environment: &'a Environment,
    cache: Cache,
}

impl<'a> Reader<'a> {
    fn new(environment: &'a Environment) -> Self {
        Self { environment, cache: Cache::new(&environment.home, CacheMode::ReadOnly) }
    }

    /// Builds what a marker records as installed. Other rules may have selected other files of the commit: the marker
    /// lists them.
    fn read(
        &self,
        skill: &Declaration,
        commit: &Commit,
        marker: &Marker,
    ) -> Result<Prepared, SkillError> {
        let locale = marker.locale.as_deref();
        let mut prepared = self.prepare(skill, commit, locale)?;
        if marker.context_rules != Some(CONTEXT_RULES) {
            let repository =
                Repository::open(&self.environment.skills_root.join(skill.source.as_str()))?;
            let tree = repository.objects().tree(commit, skill.path.as_ref())?;
            let snapshot = self.cache.snapshot(&skill.source, repository.objects(), &tree)?;
            prepared.files = listed_context(&snapshot, &marker.files);
            render(&mut prepared.files, &snapshot, locale).map_err(PrepareError::from)?;
        }
        Ok(prepared)
    }

    fn prepare(
        &self,
        skill: &Declaration,
        commit: &Commit,
        locale: Option<&str>,
    ) -> Result<Prepared, SkillError> {
        let sources = Sources {
            skills_root: &self.environment.skills_root,
            cache: &self.cache,
            path: None,
            except: &[],
            auditor: None,
            is_adopting: false,
        };
        prepare(&sources, skill, commit, locale)
    }
}

/// Returns the files of a folder, without csk's own.
fn on_disk(root: &Root) -> Result<Vec<File>, FsError> {
    let mut files = Vec::new();
    for entry in walk(root, &WalkLimits::SKILL)? {
        if [MARKER_FILE, COMMAND_FILES_LIST].contains(&entry.path.as_str()) {
            continue;
        }
        let (kind, bytes) = match &entry.kind {
            Kind::Folder => continue,
            Kind::File { executable, size } => {
                let kind = if *executable { FileKind::Executable } else { FileKind::Plain };
                (kind, root.read(&entry.path, *size)?)
            }
            Kind::Link(target) => (FileKind::Link, target.clone().into_bytes()),
            Kind::Other(kind) => {
                return Err(FsError::NotRegular { path: entry.path.to_string(), kind });
            }
        };
        files.push(File { path: entry.path, kind, content: Content::Memory(bytes.into()) });
    }
    Ok(files)
}

fn differences(old: &[File], new: &[File]) -> BTreeMap<String, FileChange> {
    let by_path = |files: &[File]| -> BTreeMap<String, File> {
        files.iter().map(|file| (file.path.to_string(), file.clone())).collect()
    };
    let (old, new) = (by_path(old), by_path(new));
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change =
        |path: &String| FileChange { old: old.get(path).cloned(), new: new.get(path).cloned() };
    let all = paths.into_iter().map(|path| (path.clone(), change(path)));
    all.filter(|(_, change)| change.old != change.new).collect()
}

fn commands(prepared: &Prepared) -> BTreeSet<String> {
    let commands = prepared.manifest.iter().flat_map(|manifest| &manifest.commands);
    let own = commands.filter(|command| matches!(command.kind, CommandKind::Script { .. }));
    own.map(|command| command.name.to_string()).collect()
}

fn programs(prepared: &Prepared) -> BTreeSet<String> {
    let commands = prepared.manifest.iter().flat_map(|manifest| &manifest.commands);
    let needed = commands.filter_map(|command| match &command.kind {
        CommandKind::System { program, .. } => Some(program.clone()),
        CommandKind::Script { .. } => None,
    });
    needed.collect()
}

/// Returns the capabilities of a skill that was not installed: none. What it does not declare is not a change.
fn nothing_before(now: &CapabilityExtents) -> CapabilityExtents {
    let mut extents = now.iter().map(|(_, extent)| match extent {
        Extent::Undeclared => Extent::Undeclared,
        Extent::Anything | Extent::Only(_) => Extent::Only(BTreeSet::new()),
    });
    CapabilityExtents::new(|_| extents.next().unwrap_or(Extent::Undeclared))
}

/// Returns the capabilities that a version declares.
fn capabilities(prepared: &Prepared) -> CapabilityExtents {
    let capabilities =
        prepared.manifest.as_ref().and_then(|manifest| manifest.capabilities.as_ref());
    let file = prepared.files.iter().find(|file| file.path.as_str() == SKILL_FILE);
    let document = match file.map(|file| &file.content) {
        Some(Content::Memory(bytes)) => {
            let input = Input { file: SKILL_FILE, directory: None, bytes };
            parse(&input, Strictness::Lenient).document
        }
        _ => None,
    };
    match document {
        Some(document) => Declared::of(&document.frontmatter, capabilities).extents(),
        None => capabilities.map(Declared::of_manifest).unwrap_or_default().extents(),
    }
}
