//! Changes the declared skills of a project and installs the result: completely, or not at all.

#![expect(clippy::disallowed_methods, reason = "creates the folder of the global scope")]

mod saved;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use csk_core::install::{
    AgentsFrom, Environment, IgnorePolicy, IgnoreRules, InstallOptions, LockOptions, LockfileMode,
    Mode, Network, Outcome, ProjectReport, ResolveRules, SkillError, SkillReport, TagPolicy,
    Target, Upgrade, add_ignore_rules, install, lock,
};
use csk_core::{
    Agent, Config, LOCKFILE, Lockfile, Reference, SKILLFILE, Scope, Skillfile, remove_skill,
    work_tree, work_tree_root,
};
use skill::Identifier;
use skill_fs::{AbsPath, read_text, write_file};
use skill_state::audit::AuditMode;
use term::Failure;

use self::saved::SavedProject;

use crate::commands::global;
use crate::context::Context;
use crate::projects::{ProjectLocation, SkillfileState, location_of, read_skillfile, target};

/// What is changed: a project, or the skills of the user's account.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Project(AbsPath),
    Global,
}

impl Place {
    /// Returns the flag that selects it in other commands.
    pub(crate) fn flag(&self) -> &'static str {
        match self {
            Self::Project(_) => "",
            Self::Global => " --global",
        }
    }
}

/// The declared skills of a place, before and after a change.
#[derive(Debug)]
pub(crate) struct ProjectEdit {
    pub(crate) place: Place,
    pub(crate) root: AbsPath,
    /// The current text of its Skillfile, if it has one.
    pub(crate) old: Option<String>,
    /// The new text of its Skillfile.
    pub(crate) text: String,
    pub(crate) lock: Option<Lockfile>,
    /// The current lockfile.
    old_lock: Option<Lockfile>,
    /// The current tag, branch or commit of every skill.
    old_references: BTreeMap<Identifier, Reference>,
}

/// How a change is applied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditOptions {
    pub(crate) mode: Mode,
    pub(crate) network: Network,
    /// Whether the result is installed, or only declared and locked.
    pub(crate) is_installed: bool,
}

/// The result of a change.
pub(crate) struct EditReport {
    /// What the install did. `None` if nothing was installed.
    pub(crate) installed: Option<ProjectReport>,
    /// The ignore rules that were added.
    pub(crate) ignored: IgnoreRules,
    /// Whether the place has a lockfile.
    pub(crate) is_locked: bool,
    pub(crate) target: Target,
}

/// Returns the project for the current folder: the enclosing one, else the git repository, else the folder itself.
pub(crate) fn project_here(context: &Context) -> anyhow::Result<AbsPath> {
    if let Some(root) = csk_core::project::find_root(&context.cwd) {
        return Ok(root);
    }
    let real = |path: &AbsPath| fs::canonicalize(path.as_path()).ok();
    let is_home =
        |path: &AbsPath| context.user_home.as_ref().is_some_and(|home| real(home) == real(path));
    // A home folder may be a repository of settings; that does not make it a project.
    let root = work_tree_root(&context.cwd)?.filter(|root| !is_home(root));
    let root = root.unwrap_or_else(|| context.cwd.clone());
    if is_in_git_folder(&context.cwd) {
        return Err(Failure::usage(format!("`{}` is inside git's own data", context.cwd))
            .with_hint("change to a project")
            .into());
    }
    if is_home(&root) || root.parent().is_none() {
        return Err(Failure::usage(format!("`{root}` is not a project folder"))
            .with_hint("change to a project, or use --global for skills in all projects")
            .into());
    }
    Ok(root)
}

/// Returns true in a `.git` folder and in a bare repository.
fn is_in_git_folder(folder: &AbsPath) -> bool {
    folder.as_path().ancestors().any(|folder| {
        let has = |name: &str| folder.join(name).exists();
        has("HEAD") && has("objects") && has("refs")
    })
}

impl ProjectEdit {
    /// Reads the Skillfile of a place. Without one, the edit starts with an empty Skillfile and a lockfile.
    pub(crate) fn begin(context: &Context, config: &Config, place: Place) -> anyhow::Result<Self> {
        let root = match &place {
            Place::Project(root) => root.clone(),
            Place::Global => context.home.join("global"),
        };
        match read_skillfile(&root, config) {
            SkillfileState::Valid { text, lock, file, .. } => {
                let references = file.skills.into_iter();
                let old_references =
                    references.map(|skill| (skill.name, skill.reference)).collect();
                let (old, old_lock) = (Some(text.clone()), lock.clone());
                Ok(Self { place, root, old, text, old_lock, lock, old_references })
            }
            SkillfileState::Invalid { text, problems } => {
                Err(Failure::malformed(text, problems).into())
            }
            SkillfileState::Missing => {
                let text = match place {
                    Place::Project(_) => Skillfile::empty(&shared_agents(config)),
                    Place::Global => Skillfile::minimal(),
                };
                // An interrupted change may have left an empty lockfile.
                let lock = read_text(&root.join(LOCKFILE))?;
                if lock.is_some_and(|text| text != Lockfile::default().to_json()) {
                    return Err(Failure::usage(format!(
                        "`{root}` has a {LOCKFILE} but no {SKILLFILE}"
                    ))
                    .with_hint("restore the Skillfile, or remove the lockfile")
                    .into());
                }
                Ok(Self {
                    place,
                    root,
                    old: None,
                    text,
                    lock: Some(Lockfile::default()),
                    old_lock: None,
                    old_references: BTreeMap::new(),
                })
            }
        }
    }

    /// Returns the tag, branch or commit that a skill was declared with before the change.
    pub(crate) fn old_reference(&self, name: &Identifier) -> Option<Reference> {
        self.old_references.get(name).cloned()
    }

    /// Parses the new Skillfile.
    pub(crate) fn file(&self, config: &Config) -> anyhow::Result<Skillfile> {
        self.parsed(&self.text, config)
    }

    fn parsed(&self, text: &str, config: &Config) -> anyhow::Result<Skillfile> {
        let path = self.root.join(SKILLFILE);
        match Skillfile::parse(path.as_str(), text, &config.agents) {
            (Some(file), _) => Ok(file),
            (None, problems) => Err(Failure::malformed(text.to_owned(), problems).into()),
        }
    }

    /// Removes a declared skill.
    pub(crate) fn remove(&mut self, name: &Identifier) -> anyhow::Result<()> {
        let path = self.root.join(SKILLFILE);
        self.text = remove_skill(&self.text, name)
            .ok_or_else(|| Failure::usage(format!("cannot edit `{path}`")))?;
        Ok(())
    }

    /// Forgets the locked commit of a skill, so that it is resolved anew.
    pub(crate) fn unlock(&mut self, name: &Identifier) {
        if let Some(lock) = &mut self.lock {
            lock.skills.remove(name);
        }
    }

    /// Returns the place with its new skills.
    fn target(&self, context: &Context, config: &Config) -> anyhow::Result<Target> {
        self.target_with(context, config, self.file(config)?, self.lock.clone())
    }

    /// Returns the place with the skills that it had before.
    fn old_target(&self, context: &Context, config: &Config) -> anyhow::Result<Target> {
        let file = match &self.old {
            Some(text) => self.parsed(text, config)?,
            None => self.parsed(&Skillfile::minimal(), config)?,
        };
        self.target_with(context, config, file, self.old_lock.clone())
    }

    fn target_with(
        &self,
        context: &Context,
        config: &Config,
        file: Skillfile,
        lock: Option<Lockfile>,
    ) -> anyhow::Result<Target> {
        let location = match &self.place {
            Place::Project(root) => location_of(config, root.clone()),
            Place::Global => {
                ProjectLocation { alias: None, root: self.root.clone(), agents: Vec::new() }
            }
        };
        let target = Target { lock, ..target(&location, file, config) };
        match self.place {
            Place::Project(_) => Ok(target),
            Place::Global => global::scope(context, target),
        }
    }

    /// Applies the change. If one of the `changed` skills cannot be installed, everything stays as it was.
    pub(crate) fn apply(
        &self,
        context: &mut Context,
        config: &Config,
        changed: &BTreeSet<Identifier>,
        options: EditOptions,
    ) -> anyhow::Result<EditReport> {
        let target = self.target(context, config)?;
        let mode = config.audit.max(AuditMode::Advisory);
        let auditor = context.auditor(config, Some(mode))?;
        let environment = Environment { auditor, ..context.environment(config) };
        let progress = context.progress();
        let targets = [target];
        let install_options = |mode| InstallOptions {
            rules: ResolveRules { tags: TagPolicy::Warn, lock: LockfileMode::Follow },
            mode,
            ignore: IgnorePolicy::Fix,
            network: options.network,
        };
        if options.is_installed {
            // Find what would fail before anything is written. Questions about other skills come later.
            let auditor = context.auditor_without_questions(mode)?;
            let planning = Environment { auditor, ..environment.clone() };
            let planned = install(&planning, &targets, install_options(Mode::DryRun), &progress)?;
            let planned = planned.into_iter().next();
            if let Some(error) = planned.as_ref().and_then(|one| failure(one, changed)) {
                return Err(error);
            }
            if options.mode == Mode::DryRun {
                return Ok(self.report(targets, planned, None));
            }
        } else if options.mode == Mode::DryRun {
            return Ok(self.report(targets, None, None));
        }
        let saved = self.write(context)?;
        let done = if options.is_installed {
            let done = install(&environment, &targets, install_options(Mode::Apply), &progress);
            done.map_err(anyhow::Error::from).and_then(|reports| {
                let report = reports.into_iter().next();
                match report.as_ref().and_then(|report| failure(report, changed)) {
                    Some(error) => Err(error),
                    None => Ok((report, None)),
                }
            })
        } else {
            lock_only(&environment, &targets, changed, options.network)
                .map(|ignored| (None, Some(ignored)))
        };
        match done {
            Ok((report, ignored)) => Ok(self.report(targets, report, ignored)),
            Err(error) => {
                if options.is_installed {
                    // Take back what was installed before the failure.
                    let old = [self.old_target(context, config)?];
                    let undone =
                        install(&environment, &old, install_options(Mode::Apply), &progress);
                    saved.restore()?;
                    undone?;
                } else {
                    saved.restore()?;
                }
                Err(error)
            }
        }
    }

    fn report(
        &self,
        targets: [Target; 1],
        installed: Option<ProjectReport>,
        ignored: Option<IgnoreRules>,
    ) -> EditReport {
        let [target] = targets;
        let ignored = installed.as_ref().map(|report| report.ignored.clone()).or(ignored);
        EditReport {
            installed,
            ignored: ignored.unwrap_or_default(),
            is_locked: self.lock.is_some(),
            target,
        }
    }

    /// Writes the Skillfile. It must not have changed since it was read.
    fn write(&self, context: &Context) -> anyhow::Result<SavedProject> {
        let _lock = context.lock()?;
        let path = self.root.join(SKILLFILE);
        if matches!(self.place, Place::Global) {
            fs::create_dir_all(self.root.as_path())
                .map_err(|error| Failure::files(format!("cannot create `{}`", self.root), error))?;
        }
        let saved = SavedProject::read(&self.root)?;
        if read_text(&path)? != self.old {
            return Err(Failure::usage(format!("`{path}` has changed in the meantime"))
                .with_hint("run the command again")
                .into());
        }
        // The lockfile comes first: a project with a Skillfile and no lockfile stays without one.
        if self.old.is_none() && self.lock.is_some() {
            write_file(&self.root.join(LOCKFILE), Lockfile::default().to_json().as_bytes())?;
        }
        write_file(&path, self.text.as_bytes())?;
        Ok(saved)
    }
}

/// Locks the changed skills without installing them, and adds the ignore rules that an install needs.
fn lock_only(
    environment: &Environment,
    targets: &[Target; 1],
    changed: &BTreeSet<Identifier>,
    network: Network,
) -> anyhow::Result<IgnoreRules> {
    let [target] = targets;
    if target.lock.is_some() {
        let options = LockOptions { upgrade: Upgrade::Needed, mode: Mode::Apply, network };
        for report in lock(environment, targets, &options, &csk_core::Silent)? {
            if let Some(error) = report.error {
                return Err(error.into());
            }
            for (name, change) in report.skills {
                if let csk_core::install::LockChange::Failed(error) = change
                    && changed.contains(&name)
                {
                    return Err(of_skill(&name, &error));
                }
            }
        }
    }
    match target.scope {
        Scope::Project if work_tree(&target.root)? => Ok(add_ignore_rules(target)?),
        Scope::Project | Scope::Global => Ok(IgnoreRules::default()),
    }
}

/// A change that was not made.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refused {
    message: String,
    pub(crate) hint: Option<String>,
}

impl Refused {
    /// Returns the error for a question that the user did not answer with yes.
    pub(crate) fn declined() -> Self {
        Self { message: "not confirmed; nothing was changed".to_owned(), hint: None }
    }

    /// Returns the error about a skill.
    pub(crate) fn new(name: &Identifier, reason: &str, hint: Option<String>) -> Self {
        Self { message: format!("{name}: {reason}"), hint }
    }
}

/// Returns why a changed skill or the whole project failed.
fn failure(report: &ProjectReport, changed: &BTreeSet<Identifier>) -> Option<anyhow::Error> {
    if let Some(error) = &report.error {
        let hint = error.hint().map(str::to_owned);
        return Some(Refused { message: error.to_string(), hint }.into());
    }
    let failed = |skill: &SkillReport| match &skill.outcome {
        Outcome::Failed(error) => Some(of_skill(&skill.name, error)),
        _ => None,
    };
    report.skills.iter().filter(|skill| changed.contains(&skill.name)).find_map(failed)
}

fn of_skill(name: &Identifier, error: &SkillError) -> anyhow::Error {
    Refused::new(name, &error.to_string(), error.hint()).into()
}

/// Returns the agents to record in a new Skillfile, so that every clone uses the same ones: those of the config. An agent
/// that only this config defines is unknown elsewhere, and detected agents differ between machines.
pub(crate) fn shared_agents(config: &Config) -> Vec<&str> {
    let custom = config.agents.custom();
    let ids = config.default_agents.iter().map(String::as_str);
    ids.filter(|id| !custom.iter().any(|agent| agent.id == *id)).collect()
}

/// Returns the names of the agents that a target serves, for a message.
pub(crate) fn agent_names(target: &Target) -> Option<String> {
    // The common folder of the user account stands for no particular agent.
    let any = Agent::any().id;
    let names: Vec<String> = target.agent_ids().into_iter().filter(|id| *id != any).collect();
    let is_detected = target.agents_from == AgentsFrom::Detection;
    (!names.is_empty()).then(|| {
        let how = if is_detected { " (detected)" } else { "" };
        format!("{}{how}", names.join(", "))
    })
}
