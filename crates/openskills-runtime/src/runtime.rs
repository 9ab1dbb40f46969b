//! [`OpenSkillRuntime`]: everything the library does, behind one value.

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

use crate::disclose::activate::{Given, check_invoker, content, instructions, resources};
use crate::disclose::load::{load, model_may_invoke};
use crate::disclose::prompt::prompt;
use crate::disclose::schema_arguments::{ArgumentSchema, Fitting, fit};
use crate::disclose::session::Session;
use crate::disclose::uri::uri;
use crate::discover::discovery::{Discovery, discover, hash_folders, problems};
use crate::discover::index::Place;
use crate::discover::watch::{Watching, watch};
use crate::problem::problem_of;
use crate::record::log::Log;
use crate::{
    ActivateOptions, Addressing, Change, Directory, Disclosed, Event, LoadedSkill, Places, Prompt,
    PromptOptions, ReadOptions, RefusedSkill, Requests, Resource, ResourceEntry, ResourceRead,
    RuntimeConfig, RuntimeError, SearchHit, Skill, SkillActivation, SkillIndexEntry, SkillRoot,
    disclose::resource, disclose::search, is_showable_path,
};

type Observer = Box<dyn FnMut(&Event) + Send>;

/// The runtime: finds skills, tells a model of them, activates them and reads their files.
///
/// Nothing is found before [`discover_skills`](Self::discover_skills) was called.
pub struct OpenSkillRuntime {
    pub(crate) config: RuntimeConfig,
    pub(crate) places: Option<Places>,
    /// Why there are no places.
    pub(crate) lost: String,
    pub(crate) found: Discovery,
    pub(crate) session: Session,
    pub(crate) observer: Option<Observer>,
    pub(crate) log: Option<Log>,
    /// Why what was discovered is not in the log.
    pub(crate) not_logged: Option<RuntimeError>,
    /// Skills that the log was warned of.
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
    /// Returns a runtime that looks in the standard places around the working folder.
    pub fn new() -> Self {
        Self::with_config(RuntimeConfig::default())
    }

    /// Returns a runtime as `config` says. Reads the environment where `config` leaves the places open; a problem with
    /// that is told by [`discover_skills`](Self::discover_skills).
    pub fn with_config(config: RuntimeConfig) -> Self {
        let (places, lost) = match config.places.clone().map_or_else(Places::from_environment, Ok) {
            Ok(places) => (Some(places), String::new()),
            Err(error) => (None, error.to_string()),
        };
        let state = places.as_ref().and_then(|places| places.state.as_ref());
        let session = Session::new(config.session_id.clone(), made_session_id(), state);
        Self {
            config,
            places,
            lost,
            found: Discovery::default(),
            session,
            observer: None,
            log: None,
            not_logged: None,
            warned: HashSet::new(),
        }
    }

    /// Adds a folder of skills of the user's own.
    #[must_use]
    pub fn with_custom_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.custom_directories.push(Directory::new(path));
        self
    }

    /// Sets the project.
    #[must_use]
    pub fn with_project_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.project_root = Some(path.into());
        self
    }

    /// Hands every event to `observer`, as it happens.
    pub fn on_event(&mut self, observer: impl FnMut(&Event) + Send + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// Returns where things are.
    pub fn places(&self) -> Result<&Places, RuntimeError> {
        let lost = || RuntimeError::Setup { message: self.lost.clone(), hint: None };
        self.places.as_ref().ok_or_else(lost)
    }

    /// Returns the session that activations belong to.
    pub fn session_id(&self) -> &str {
        &self.session.id
    }

    /// Looks for skills and returns those that can be used. Only frontmatter is read, and not even that of a file that
    /// is as it was. One bad skill stops no other: see [`problems`](Self::problems).
    pub fn discover_skills(&mut self) -> Result<Vec<Arc<Skill>>, RuntimeError> {
        self.rediscover()?;
        Ok(self.list_skills())
    }

    /// As [`discover_skills`](Self::discover_skills); returns what is new, changed or gone since the last time, or
    /// since the index was last kept.
    pub fn rediscover(&mut self) -> Result<Vec<Event>, RuntimeError> {
        let found = discover(&self.config, self.places()?, SystemTime::now())?;
        let events = events(&self.found, &found, Timestamp::now());
        self.found = found;
        self.record_discoveries(&events);
        Ok(events)
    }

    /// Returns the skills that can be used, sorted by name: one of each name.
    pub fn list_skills(&self) -> Vec<Arc<Skill>> {
        self.found.index.skills.iter().filter(|skill| skill.is_visible()).cloned().collect()
    }

    /// Returns every skill, also those that are shadowed or switched off.
    pub fn all_skills(&self) -> &[Arc<Skill>] {
        &self.found.index.skills
    }

    /// Returns the folders whose SKILL.md cannot be loaded.
    pub fn refused_skills(&self) -> &[RefusedSkill] {
        &self.found.index.refused
    }

    /// Returns every problem that discovery found, each once.
    pub fn problems(&self) -> Vec<&Diagnostic> {
        problems(&self.found)
    }

    /// Returns the folders that were looked at, in the order of precedence inside a trust level.
    pub fn roots(&self) -> &[SkillRoot] {
        &self.found.roots.roots
    }

    /// Returns the project, and whether its skills count as the user's own.
    pub fn project(&self) -> Option<(&AbsPath, bool)> {
        let Discovery { roots, .. } = &self.found;
        roots.project.as_ref().map(|project| (project, roots.is_trusted))
    }

    /// Returns why the index could not be kept, if so. Nothing but time is lost.
    pub fn not_kept(&self) -> Option<&FsError> {
        self.found.not_kept.as_ref()
    }

    /// Returns the skill of an id, or the one that a name means.
    pub fn skill(&self, name: &str) -> Result<&Arc<Skill>, RuntimeError> {
        self.found.index.find(name)
    }

    /// Returns every skill of a name, the one that is meant first. An id is no name.
    pub fn candidates(&self, name: &str) -> &[Arc<Skill>] {
        if name.contains('/') { &[] } else { self.found.index.named(name) }
    }

    /// Returns whether the model may start a skill by itself, by all that its files say.
    pub fn model_may_invoke(&self, skill: &Skill) -> bool {
        model_may_invoke(skill)
    }

    /// Returns the digest of a skill's content. It is computed when it is first needed, and again after a change.
    pub fn hash(&self, skill: &Skill) -> Result<String, RuntimeError> {
        let mut hashes = self.hashes(&[skill]);
        let hash = hashes.pop().expect("there is one for each skill");
        Ok(hash?.to_string())
    }

    fn hashes(&self, skills: &[&Skill]) -> Vec<Result<Digest, FsError>> {
        self.all_digests(skills).into_iter().map(|digests| Ok(digests?.content)).collect()
    }

    /// Returns both digests of a skill.
    pub(crate) fn digests(&self, skill: &Skill) -> Result<Digests, FsError> {
        self.all_digests(&[skill]).pop().expect("there is one for each skill")
    }

    fn all_digests(&self, skills: &[&Skill]) -> Vec<Result<Digests, FsError>> {
        let cache = self.places.as_ref().and_then(|places| places.cache.as_ref());
        let cache = cache.filter(|_| self.config.keep_index);
        let folders: Vec<(&AbsPath, &AbsPath)> = skills
            .iter()
            .filter_map(|skill| match &skill.place {
                Place::Folder { root, folder, .. } => Some((root.as_ref(), folder)),
                Place::Builtin(_) | Place::Served(_) => None,
            })
            .collect();
        let mut folders = hash_folders(&folders, cache, SystemTime::now()).into_iter();
        let digests = |skill: &&Skill| match &skill.place {
            Place::Builtin(builtin) => {
                let digest = builtin.hash();
                Ok(Digests { content: digest, bundle: digest })
            }
            Place::Served(served) => {
                let digest = served.digest();
                Ok(Digests { content: digest, bundle: digest })
            }
            Place::Folder { .. } => folders.next().expect("there is one for each folder"),
        };
        skills.iter().map(digests).collect()
    }

    /// Returns skills as entries of an index. This needs the digest of each.
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

    /// Writes the catalogue that tells a model which skills there are. Skills that it may not start are not in it.
    pub fn prompt(&self, options: &PromptOptions) -> Result<Disclosure, RuntimeError> {
        let open = self.skills_for_model();
        let mut disclosed = Vec::new();
        let mut unfit = Vec::new();
        for skill in &open {
            let location = skill.location().filter(|_| options.addressing == Addressing::Location);
            if location.as_ref().is_some_and(|location| !is_showable_path(location)) {
                unfit.push(skill.id.clone());
                continue;
            }
            let skill_id = location.is_none().then(|| skill.id.clone());
            disclosed.push(Disclosed {
                skill_id,
                location,
                server: skill.served_by().map(|(server, _)| server.to_owned()),
                ..Disclosed::new(&skill.name, &skill.listing())
            });
        }
        let known: HashSet<&str> = open.iter().map(|skill| skill.id.as_str()).collect();
        let all = self.list_skills();
        let hidden =
            all.iter().map(|skill| skill.id.clone()).filter(|id| !known.contains(id.as_str()));
        let hidden = hidden.collect();
        Ok(Disclosure { prompt: prompt(&disclosed, options)?, hidden, unfit })
    }

    /// Activates a skill as the model does: returns its instructions, and the names of its files.
    pub fn activate_skill(&mut self, name: &str) -> Result<LoadedSkill, RuntimeError> {
        self.activate(name, &ActivateOptions::default())
    }

    /// Activates a skill. It is in the log before its instructions are returned.
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
                // What the skill was before it was edited holds no more. What took its place is not forgotten, or nothing would hold.
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
        if let Place::Served(served) = &skill.place {
            loaded.document = self.served_document(&skill, served)?;
        }
        let frontmatter = &loaded.document.frontmatter;
        // What the user started in this session is started, for the model too.
        if options.invoker == crate::Invoker::User || !self.is_active(&skill.id) {
            check_invoker(&skill, &loaded, options.invoker)?;
        }
        let fitting = fitting(&skill, frontmatter, options.arguments.as_deref())?;
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
        // The digest is of what was read only if nothing changed meanwhile.
        crate::disclose::load::open(&skill)?;
        let arguments = options.arguments.as_deref();
        let key = Session::key(&activation, skill.path(), arguments);
        activation.repeated = self.session.has(&key) && !options.again;
        let instructions = if activation.repeated {
            format!(
                "`{}` is active in this session already; its instructions have not changed.",
                skill.id
            )
        } else {
            let body = &loaded.document.body.text;
            let served_at = uri(&skill.id, "");
            let folder = if options.read_by.is_some() { &served_at } else { skill.path() };
            let given = Given {
                arguments,
                fitting: fitting.as_ref(),
                session_id: self.session.id.as_str(),
                skill_dir: folder,
            };
            instructions(body, frontmatter, &skill, &given)?
        };
        // Of two at the same time one is the first.
        let mut is_noted = false;
        if !activation.repeated {
            is_noted = !self.session.note(key, &activation)?;
            if !is_noted && !options.again {
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
                // What a server asks for beyond its text is nobody's to give.
                Place::Served(_) => Requests::default(),
                Place::Builtin(_) | Place::Folder { .. } => {
                    Requests::new(&skill, frontmatter, options)
                }
            },
            arguments: fitting.map(|fitting| fitting.data),
            activation,
            diagnostics: loaded.diagnostics.into_iter().chain(dependencies).collect(),
            is_noted,
        };
        activated.content = content(&activated, &skill, options.read_by.as_deref());
        Ok(activated)
    }

    /// Refuses a skill whose libraries are not there.
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

    /// Warns of what a skill's metadata names and is not there: nobody installs it in passing.
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
            let message =
                format!("`{}` depends on `{name}`, which is not installed here", skill.id);
            problem_of(Code::MissingDependency, &shown, message).with_hint(how)
        };
        Ok(missing.into_iter().map(warning).collect())
    }

    /// Takes an activation back: its instructions did not reach the model, so the next one gives them again. One that was
    /// active before stays so.
    pub fn forget_activation(&mut self, loaded: &LoadedSkill, arguments: Option<&str>) {
        let path = self.found.index.with_id(&loaded.id).map(|skill| skill.path().to_owned());
        if let Some(path) = path.filter(|_| loaded.is_noted) {
            self.session.forget(&Session::key(&loaded.activation, &path, arguments));
        }
    }

    /// Reads a file of a skill, for whoever may start the skill.
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
            Place::Served(served) => self.served_resource(&skill, served, path, options)?,
            Place::Builtin(_) | Place::Folder { .. } => resource::read(&skill, path, options)?,
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

    /// Returns every file of a skill; none is read.
    pub fn files(&self, name: &str) -> Result<Vec<ResourceEntry>, RuntimeError> {
        resource::files(self.skill(name)?)
    }

    /// Returns true if a skill was activated in the session, by whomever.
    pub fn is_active(&self, id: &str) -> bool {
        self.session.active().is_ok_and(|active| active.iter().any(|(active, _)| active == id))
    }

    /// Returns the skills that hold at least one of the words in `query`, the best first.
    pub fn search(&self, query: &str) -> Vec<SearchHit> {
        search::search(&self.list_skills(), query)
    }

    /// Returns the skills that the model may know of: those that can be used and that it may start by itself.
    pub fn skills_for_model(&self) -> Vec<Arc<Skill>> {
        let visible = self.list_skills();
        let by_model: Vec<bool> = visible.par_iter().map(|skill| model_may_invoke(skill)).collect();
        let open = visible.into_iter().zip(by_model).filter(|(_, may)| *may);
        let approvals = OnceCell::new();
        open.map(|(skill, _)| skill).filter(|skill| self.is_told(skill, &approvals)).collect()
    }

    /// Discovers the skills, and again whenever they change, until `on_change` breaks off. The first call is for the first
    /// discovery.
    pub fn watch(
        &mut self,
        mut on_change: impl FnMut(&Self, Watching<'_>) -> ControlFlow<()>,
    ) -> Result<(), RuntimeError> {
        watch(self, &mut on_change)
    }
}

/// A catalogue, and who is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disclosure {
    /// The catalogue.
    pub prompt: Prompt,
    /// The ids of skills that the model may not start by itself.
    pub hidden: Vec<String>,
    /// The ids of skills whose path cannot stand in a prompt.
    pub unfit: Vec<String>,
}

/// Returns what is different between two discoveries.
fn events(before: &Discovery, now: &Discovery, at: Timestamp) -> Vec<Event> {
    let mut events = Vec::new();
    if before.index.skills.is_empty() {
        let event = |skill: &Arc<Skill>| Some(Event::discovered(skill, skill.news?, at));
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

/// Reads the arguments of a skill that describes them, and holds them to that.
fn fitting(
    skill: &Skill,
    frontmatter: &Frontmatter,
    given: Option<&str>,
) -> Result<Option<Fitting>, RuntimeError> {
    let Some(Arguments::Schema(schema)) = &frontmatter.arguments else { return Ok(None) };
    let schema = ArgumentSchema::of(schema);
    fit(&schema, given)
        .map(Some)
        .map_err(|message| RuntimeError::arguments(&skill.id, message, &schema.json))
}

fn made_session_id() -> String {
    let now = Timestamp::now().as_nanosecond();
    let digest = Digest::of(format!("{now} {}", std::process::id()).as_bytes());
    format!("session-{}", &digest.short()[..16])
}
