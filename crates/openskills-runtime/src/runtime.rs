//! [`OpenSkillRuntime`], the entry point of the library.

#![expect(clippy::disallowed_methods, reason = "the edge: the clock")]

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use rayon::prelude::*;
use skill::{Arguments, Code, Diagnostic, Digest, Frontmatter};
use skill_fs::{AbsPath, Digests, FsError};

use crate::disclose::activate::{
    PlaceholderInput, check_invoker, content, instructions, resources,
};
use crate::disclose::load::{load, model_may_invoke};
use crate::disclose::prompt::prompt;
use crate::disclose::schema_arguments::{ArgumentSchema, ParsedArguments, parse_arguments};
use crate::disclose::session::Session;
use crate::disclose::uri::uri;
use crate::discover::discovery::{Discovery, discover, hash_folders, problems};
use crate::discover::index::SkillLocation;
use crate::discover::watch::{WatchUpdate, watch};
use crate::problem::problem_of;
use crate::record::log::Log;
use crate::{
    ActivateOptions, Addressing, CatalogEntry, Change, Directory, Event, LoadedSkill, Places,
    Prompt, PromptOptions, ReadOptions, RefusedSkill, Requests, Resource, ResourceEntry,
    ResourceRead, RuntimeConfig, RuntimeError, SearchHit, Skill, SkillActivation, SkillIndexEntry,
    SkillRoot, disclose::resource, disclose::search, is_showable_path,
};

type Observer = Box<dyn FnMut(&Event) + Send>;

/// Discovers skills, lists them for a model, activates them and reads their files.
///
/// Call [`discover_skills`](Self::discover_skills) first; until then there are no skills.
pub struct OpenSkillRuntime {
    pub(crate) config: RuntimeConfig,
    pub(crate) places: Option<Places>,
    /// Why `places` is `None`.
    pub(crate) places_error: String,
    pub(crate) found: Discovery,
    pub(crate) session: Session,
    pub(crate) observer: Option<Observer>,
    pub(crate) log: Option<Log>,
    /// Set if discoveries could not be written to the log.
    pub(crate) not_logged: Option<RuntimeError>,
    /// Skills for which the log already has a warning.
    pub(crate) warned: HashSet<String>,
}

impl fmt::Debug for OpenSkillRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSkillRuntime").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Default for OpenSkillRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenSkillRuntime {
    /// Returns a runtime that uses the standard locations for the working folder.
    pub fn new() -> Self {
        Self::with_config(RuntimeConfig::default())
    }

    /// Returns a runtime with the given configuration. Reads the environment if `config.places` is `None`; if that
    /// fails, [`discover_skills`](Self::discover_skills) returns the error.
    pub fn with_config(config: RuntimeConfig) -> Self {
        let (places, places_error) =
            match config.places.clone().map_or_else(Places::from_environment, Ok) {
                Ok(places) => (Some(places), String::new()),
                Err(error) => (None, error.to_string()),
            };
        let state = places.as_ref().and_then(|places| places.state.as_ref());
        let session = Session::new(config.session_id.clone(), new_session_id(), state);
        Self {
            config,
            places,
            places_error,
            found: Discovery::default(),
            session,
            observer: None,
            log: None,
            not_logged: None,
            warned: HashSet::new(),
        }
    }

    /// Adds a skill folder that is trusted as the user's own.
    #[must_use]
    pub fn with_custom_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.custom_directories.push(Directory::new(path));
        self
    }

    /// Sets the project folder.
    #[must_use]
    pub fn with_project_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.project_root = Some(path.into());
        self
    }

    /// Calls `observer` for every event as it happens.
    pub fn on_event(&mut self, observer: impl FnMut(&Event) + Send + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// Returns the folders that the runtime uses.
    pub fn places(&self) -> Result<&Places, RuntimeError> {
        let places_error =
            || RuntimeError::Setup { message: self.places_error.clone(), hint: None };
        self.places.as_ref().ok_or_else(places_error)
    }

    /// Returns the id of the session that activations belong to.
    pub fn session_id(&self) -> &str {
        &self.session.id
    }

    /// Discovers skills and returns the usable ones. Reads only frontmatter, and skips files that have not changed. A
    /// broken skill does not affect the others: see [`problems`](Self::problems).
    pub fn discover_skills(&mut self) -> Result<Vec<Arc<Skill>>, RuntimeError> {
        self.rediscover()?;
        Ok(self.list_skills())
    }

    /// Like [`discover_skills`](Self::discover_skills), but returns what was added, changed or removed since the last
    /// discovery or since the index was last saved.
    pub fn rediscover(&mut self) -> Result<Vec<Event>, RuntimeError> {
        let found = discover(&self.config, self.places()?, SystemTime::now())?;
        let events = events(&self.found, &found, Timestamp::now());
        self.found = found;
        self.record_discoveries(&events);
        Ok(events)
    }

    /// Discovers the skills that are active in this session. Searching the subfolders of a large project takes most of
    /// the time of a discovery, so they are searched only if an active skill is not found otherwise.
    pub fn discover_active_skills(&mut self) -> Result<(), RuntimeError> {
        let config = RuntimeConfig { search_nested: false, ..self.config.clone() };
        let found = discover(&config, self.places()?, SystemTime::now())?;
        let is_known = |id: &String| found.index.skills.iter().any(|skill| skill.id == *id);
        if self.session.active()?.iter().all(|(id, _)| is_known(id)) {
            // Nothing is logged: what was not searched is not gone.
            self.found = found;
            return Ok(());
        }
        self.rediscover().map(drop)
    }

    /// Returns the usable skills, sorted by name, one per name.
    pub fn list_skills(&self) -> Vec<Arc<Skill>> {
        self.found.index.skills.iter().filter(|skill| skill.is_visible()).cloned().collect()
    }

    /// Returns every skill, including shadowed and disabled ones.
    pub fn all_skills(&self) -> &[Arc<Skill>] {
        &self.found.index.skills
    }

    /// Returns the folders whose SKILL.md cannot be loaded.
    pub fn refused_skills(&self) -> &[RefusedSkill] {
        &self.found.index.refused
    }

    /// Returns every problem found by discovery, without duplicates.
    pub fn problems(&self) -> Vec<&Diagnostic> {
        problems(&self.found)
    }

    /// Returns the searched folders, in order of precedence within a trust level.
    pub fn roots(&self) -> &[SkillRoot] {
        &self.found.roots.roots
    }

    /// Returns the project folder and whether it is trusted.
    pub fn project(&self) -> Option<(&AbsPath, bool)> {
        let Discovery { roots, .. } = &self.found;
        roots.project.as_ref().map(|project| (project, roots.is_trusted))
    }

    /// Returns the error if the index could not be saved. That only makes the next discovery slower.
    pub fn cache_error(&self) -> Option<&FsError> {
        self.found.cache_error.as_ref()
    }

    /// Returns the skill with this id, or the one that this name refers to.
    pub fn skill(&self, name: &str) -> Result<&Arc<Skill>, RuntimeError> {
        self.found.index.find(name)
    }

    /// Returns every skill with this name, starting with the one that the name refers to. Ids are not accepted.
    pub fn candidates(&self, name: &str) -> &[Arc<Skill>] {
        if name.contains('/') { &[] } else { self.found.index.named(name) }
    }

    /// Returns whether the skill's files allow the model to invoke it.
    pub fn model_may_invoke(&self, skill: &Skill) -> bool {
        model_may_invoke(skill)
    }

    /// Returns the digest of a skill's content. It is cached until the content changes.
    pub fn hash(&self, skill: &Skill) -> Result<String, RuntimeError> {
        let mut hashes = self.hashes(&[skill]);
        let hash = hashes.pop().expect("there is one for each skill");
        Ok(hash?.to_string())
    }

    fn hashes(&self, skills: &[&Skill]) -> Vec<Result<Digest, FsError>> {
        self.all_digests(skills).into_iter().map(|digests| Ok(digests?.content)).collect()
    }

    /// Returns the content digest and the bundle digest of a skill.
    pub(crate) fn digests(&self, skill: &Skill) -> Result<Digests, FsError> {
        self.all_digests(&[skill]).pop().expect("there is one for each skill")
    }

    fn all_digests(&self, skills: &[&Skill]) -> Vec<Result<Digests, FsError>> {
        let cache = self.places.as_ref().and_then(|places| places.cache.as_ref());
        let cache = cache.filter(|_| self.config.keep_index);
        let folders: Vec<(&AbsPath, &AbsPath)> = skills
            .iter()
            .filter_map(|skill| match &skill.place {
                SkillLocation::Folder { root, folder, .. } => Some((root.as_ref(), folder)),
                SkillLocation::Builtin(_) | SkillLocation::Served(_) => None,
            })
            .collect();
        let mut folders = hash_folders(&folders, cache, SystemTime::now()).into_iter();
        let digests = |skill: &&Skill| match &skill.place {
            SkillLocation::Builtin(builtin) => {
                let digest = builtin.hash();
                Ok(Digests { content: digest, bundle: digest })
            }
            SkillLocation::Served(served) => {
                let digest = served.digest();
                Ok(Digests { content: digest, bundle: digest })
            }
            SkillLocation::Folder { .. } => folders.next().expect("there is one for each folder"),
        };
        skills.iter().map(digests).collect()
    }

    /// Returns index entries for `skills`. This computes the digest of each.
    pub fn index_entries(&self, skills: &[Arc<Skill>]) -> Vec<SkillIndexEntry> {
        let plain: Vec<&Skill> = skills.iter().map(Arc::as_ref).collect();
        let hashes = self.hashes(&plain);
        let by_model: Vec<bool> = skills.par_iter().map(|skill| model_may_invoke(skill)).collect();
        let entry = |((skill, hash), by_model): ((&Arc<Skill>, Result<Digest, FsError>), bool)| {
            let hash = hash.ok().map(|hash| hash.to_string());
            let served = self.served(skill);
            SkillIndexEntry {
                hash,
                served,
                model_may_invoke: by_model,
                ..SkillIndexEntry::new(skill)
            }
        };
        skills.iter().zip(hashes).zip(by_model).map(entry).collect()
    }

    /// Returns the catalog of skills for a model's prompt, without the skills that the model may not invoke.
    pub fn prompt(&self, options: &PromptOptions) -> Result<Disclosure, RuntimeError> {
        let open = self.skills_for_model();
        let mut disclosed = Vec::new();
        let mut unprintable = Vec::new();
        for skill in &open {
            let location = skill.location().filter(|_| options.addressing == Addressing::Location);
            if location.as_ref().is_some_and(|location| !is_showable_path(location)) {
                unprintable.push(skill.id.clone());
                continue;
            }
            let skill_id = location.is_none().then(|| skill.id.clone());
            disclosed.push(CatalogEntry {
                skill_id,
                location,
                server: skill.served_by().map(|(server, _)| server.to_owned()),
                ..CatalogEntry::new(&skill.name, &skill.listing())
            });
        }
        let known: HashSet<&str> = open.iter().map(|skill| skill.id.as_str()).collect();
        let all = self.list_skills();
        let hidden =
            all.iter().map(|skill| skill.id.clone()).filter(|id| !known.contains(id.as_str()));
        let hidden = hidden.collect();
        Ok(Disclosure { prompt: prompt(&disclosed, options)?, hidden, unprintable })
    }

    /// Activates a skill on behalf of the model; returns its instructions and the names of its files.
    pub fn activate_skill(&mut self, name: &str) -> Result<LoadedSkill, RuntimeError> {
        self.activate(name, &ActivateOptions::default())
    }

    /// Activates a skill. The activation is logged before the instructions are returned.
    pub fn activate(
        &mut self,
        name: &str,
        options: &ActivateOptions,
    ) -> Result<LoadedSkill, RuntimeError> {
        match self.activate_unrecorded(name, options) {
            Ok(mut loaded) => {
                let event = Event::Activated(loaded.activation.clone());
                if let Err(error) = self.record(&event) {
                    self.forget_activation(&loaded, options.arguments.as_deref());
                    return Err(error);
                }
                // End the activation of an earlier version of the skill, but not of this one: tool limits must stay in
                // force.
                let now = loaded.activation.hash.as_str();
                if self.session.end(&loaded.id, Some(now))? {
                    loaded.is_noted = false;
                }
                Ok(loaded)
            }
            Err(error) => {
                self.record_failure(name, options.task_id.as_deref(), &error);
                Err(error)
            }
        }
    }

    fn activate_unrecorded(
        &mut self,
        name: &str,
        options: &ActivateOptions,
    ) -> Result<LoadedSkill, RuntimeError> {
        let skill = self.skill(name)?.clone();
        self.check_approved(&skill)?;
        let mut loaded = load(&skill, self.config.strictness())?;
        if let SkillLocation::Served(served) = &skill.place {
            loaded.document = self.served_document(&skill, served)?;
        }
        let frontmatter = &loaded.document.frontmatter;
        // Once the user has activated it in this session, the model may use it too.
        if options.invoker == crate::Invoker::User || !self.is_active(&skill.id) {
            check_invoker(&skill, &loaded, options.invoker)?;
        }
        let parsed = parsed(&skill, frontmatter, options.arguments.as_deref())?;
        self.check_libraries(&skill, frontmatter)?;
        let dependencies = self.missing_dependencies(&skill, frontmatter)?;
        let mut activation = SkillActivation {
            skill_id: skill.id.clone(),
            hash: self.hash(&skill)?,
            source: skill.source,
            session_id: self.session.id.clone(),
            task_id: options.task_id.clone(),
            activated_at: Timestamp::now(),
            origin: skill.served_by().map(|_| skill.path().to_owned()),
            attached: (options.attach && frontmatter.corteza.attach == Some(true)).then_some(true),
            repeated: false,
        };
        self.check_policy(&skill, frontmatter)?;
        self.check_clearance(&skill, &loaded)?;
        let resources = resources(&skill, loaded.root.as_ref())?;
        // The digest describes what was read only if the skill has not changed in the meantime.
        crate::disclose::load::open(&skill)?;
        let arguments = options.arguments.as_deref();
        let key = Session::key(&activation, skill.path(), arguments);
        activation.repeated = self.session.has(&key) && !options.repeat;
        let instructions = if activation.repeated {
            format!(
                "`{}` is already active in this session; its instructions have not changed.",
                skill.id
            )
        } else {
            let body = &loaded.document.body.text;
            let served_at = uri(&skill.id, "");
            let folder = if options.read_hint.is_some() { &served_at } else { skill.path() };
            let given = PlaceholderInput {
                arguments,
                parsed: parsed.as_ref(),
                session_id: self.session.id.as_str(),
                skill_dir: folder,
            };
            instructions(body, frontmatter, &skill, &given)?
        };
        // If two processes activate it at the same time, only one is first.
        let mut is_noted = false;
        if !activation.repeated {
            is_noted = !self.session.note(key, &activation)?;
            if !is_noted && !options.repeat {
                return self.activate_unrecorded(name, options);
            }
        }
        let mut activated = LoadedSkill {
            id: skill.id.clone(),
            name: skill.name.to_string(),
            description: skill.description.clone(),
            directory: loaded.root.as_ref().map(|_| skill.path().to_owned()),
            instructions,
            content: String::new(),
            resources,
            requests: match &skill.place {
                // A skill from a server gets none of the settings it requests.
                SkillLocation::Served(_) => Requests::default(),
                SkillLocation::Builtin(_) | SkillLocation::Folder { .. } => {
                    Requests::new(&skill, frontmatter, options)
                }
            },
            arguments: parsed.map(|parsed| parsed.data),
            activation,
            diagnostics: loaded.diagnostics.into_iter().chain(dependencies).collect(),
            is_noted,
        };
        activated.content = content(&activated, &skill, options.read_hint.as_deref());
        Ok(activated)
    }

    /// Fails if libraries that the skill needs are not installed.
    pub(crate) fn check_libraries(
        &self,
        skill: &Skill,
        frontmatter: &Frontmatter,
    ) -> Result<(), RuntimeError> {
        let needed = &frontmatter.corteza.library_depends;
        if needed.is_empty() {
            return Ok(());
        }
        let missing = self.places()?.libraries(self.config.project_root.as_deref()).missing(needed);
        if missing.is_empty() {
            return Ok(());
        }
        let hint: Vec<&str> = missing.iter().map(|(_, how)| how.as_str()).collect();
        let names = missing.iter().map(|(name, _)| name.clone()).collect();
        let (skill, hint) = (skill.id.clone(), hint.join("; "));
        Err(RuntimeError::MissingLibraries { skill, missing: names, hint })
    }

    /// Returns a warning for each missing dependency from the skill's metadata. The runtime never installs them.
    fn missing_dependencies(
        &self,
        skill: &Skill,
        frontmatter: &Frontmatter,
    ) -> Result<Vec<Diagnostic>, RuntimeError> {
        let named = frontmatter.metadata_text("dependencies");
        if named.trim().is_empty() {
            return Ok(Vec::new());
        }
        let shown = skill.location().unwrap_or_else(|| skill.path().to_owned());
        let missing = self
            .places()?
            .libraries(self.config.project_root.as_deref())
            .missing_dependencies(&named);
        let warning = |(name, how): (String, String)| {
            let message = format!("`{}` depends on `{name}`, which is not installed", skill.id);
            problem_of(Code::MissingDependency, &shown, message).with_hint(how)
        };
        Ok(missing.into_iter().map(warning).collect())
    }

    /// Reverts an activation whose instructions did not reach the model, so that the next one returns them again. An
    /// earlier activation stays.
    pub fn forget_activation(&mut self, loaded: &LoadedSkill, arguments: Option<&str>) {
        let path = self.found.index.with_id(&loaded.id).map(|skill| skill.path().to_owned());
        if let Some(path) = path.filter(|_| loaded.is_noted) {
            self.session.forget(&Session::key(&loaded.activation, &path, arguments));
        }
    }

    /// Reads a file of a skill. The caller must be allowed to invoke the skill.
    pub fn read_resource(
        &mut self,
        name: &str,
        path: &str,
        options: &ReadOptions,
    ) -> Result<(Resource, ResourceRead), RuntimeError> {
        let skill = self.skill(name)?.clone();
        self.check_content(&skill)?;
        self.check_approved(&skill)?;
        self.check_reader(&skill, options.invoker)?;
        self.check_clearance(&skill, &load(&skill, self.config.strictness())?)?;
        let resource = match &skill.place {
            SkillLocation::Served(served) => self.served_resource(&skill, served, path, options)?,
            SkillLocation::Builtin(_) | SkillLocation::Folder { .. } => {
                resource::read(&skill, path, options)?
            }
        };
        let read = ResourceRead {
            skill_id: skill.id.clone(),
            source: skill.source,
            session_id: self.session.id.clone(),
            path: resource.path.clone(),
            size: resource.bytes.len() as u64,
            sha256: resource.sha256.clone(),
            origin: skill.served_by().map(|_| skill.path().to_owned()),
            read_at: Timestamp::now(),
        };
        self.record(&Event::ResourceRead(read.clone()))?;
        Ok((resource, read))
    }

    /// Returns the entries of a skill's folder without reading any file.
    pub fn files(&self, name: &str) -> Result<Vec<ResourceEntry>, RuntimeError> {
        resource::files(self.skill(name)?)
    }

    /// Returns true if the user or the model activated the skill in this session.
    pub fn is_active(&self, id: &str) -> bool {
        self.session.active().is_ok_and(|active| active.iter().any(|(active, _)| active == id))
    }

    /// Returns the skills that contain at least one word of `query`, best match first.
    pub fn search(&self, query: &str) -> Vec<SearchHit> {
        search::search(&self.list_skills(), query)
    }

    /// Returns the usable skills that the model may see and invoke.
    pub fn skills_for_model(&self) -> Vec<Arc<Skill>> {
        let visible = self.list_skills();
        let by_model: Vec<bool> = visible.par_iter().map(|skill| model_may_invoke(skill)).collect();
        let open = visible.into_iter().zip(by_model).filter(|(_, may)| *may);
        let approvals = OnceCell::new();
        open.map(|(skill, _)| skill)
            .filter(|skill| self.is_visible_to_model(skill, &approvals))
            .collect()
    }

    /// Discovers the skills and repeats that whenever they change, until `on_change` returns `Break`. The first call
    /// reports the initial discovery.
    pub fn watch(
        &mut self,
        mut on_change: impl FnMut(&Self, WatchUpdate<'_>) -> ControlFlow<()>,
    ) -> Result<(), RuntimeError> {
        watch(self, &mut on_change)
    }
}

/// A catalog, and the skills that are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disclosure {
    /// The catalog.
    pub prompt: Prompt,
    /// The ids of skills that the model may not invoke.
    pub hidden: Vec<String>,
    /// The ids of skills whose path cannot be shown in a prompt.
    pub unprintable: Vec<String>,
}

/// Returns the events for the differences between two discoveries.
fn events(before: &Discovery, now: &Discovery, at: Timestamp) -> Vec<Event> {
    let mut events = Vec::new();
    if before.index.skills.is_empty() {
        let event = |skill: &Arc<Skill>| Some(Event::discovered(skill, skill.change?, at));
        let gone = now.gone.iter().map(|gone| Event::Removed {
            skill_id: gone.id.clone(),
            name: gone.name.clone(),
            path: gone.path.clone(),
            removed_at: at,
        });
        return now.index.skills.iter().filter_map(event).chain(gone).collect();
    }
    let was: HashMap<&str, &Arc<Skill>> =
        before.index.skills.iter().map(|skill| (skill.id.as_str(), skill)).collect();
    let is: HashSet<&str> = now.index.skills.iter().map(|skill| skill.id.as_str()).collect();
    for skill in &now.index.skills {
        let change = match was.get(skill.id.as_str()) {
            None => Some(Change::New),
            Some(old) => (old.place != skill.place).then_some(Change::Changed),
        };
        events.extend(change.map(|change| Event::discovered(skill, change, at)));
    }
    let is_gone = |old: &&Arc<Skill>| !is.contains(old.id.as_str());
    events.extend(before.index.skills.iter().filter(is_gone).map(|old| Event::removed(old, at)));
    events
}

/// Parses and validates the arguments of a skill that has an argument schema.
fn parsed(
    skill: &Skill,
    frontmatter: &Frontmatter,
    given: Option<&str>,
) -> Result<Option<ParsedArguments>, RuntimeError> {
    let Some(Arguments::Schema(schema)) = &frontmatter.arguments else { return Ok(None) };
    let schema = ArgumentSchema::of(schema);
    parse_arguments(&schema, given)
        .map(Some)
        .map_err(|message| RuntimeError::arguments(&skill.id, message, &schema.json))
}

fn new_session_id() -> String {
    let now = Timestamp::now().as_nanosecond();
    let digest = Digest::of(format!("{now} {}", std::process::id()).as_bytes());
    format!("session-{}", &digest.short()[..16])
}
