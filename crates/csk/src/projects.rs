//! Resolves command-line targets to projects and reads their Skillfiles.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;

use csk_core::install::{AgentsFrom, Target};
use csk_core::project::{Checkout, checkout, find_root};
use csk_core::{
    AgentSigns, Config, LOCKFILE, Lockfile, SKILLFILE, Scope, Skillfile, detected_agents,
};
use skill::{Code, Diagnostic, Identifier, Strictness, nearest};
use skill_fs::{AbsPath, read_text};

use term::Failure;

use crate::commands::global;
use crate::context::Context;

/// The flags that select projects.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// Project alias, or a path inside a project [default: the enclosing project, else all configured projects]
    #[arg(value_name = "TARGET", add = term::names(crate::completion::projects))]
    pub(crate) target: Option<String>,
    /// Select all configured projects
    #[arg(long, conflicts_with = "target")]
    pub(crate) all: bool,
    /// Select the global scope instead of a project
    #[arg(long, conflicts_with_all = ["target", "all"])]
    pub(crate) global: bool,
}

/// The selected projects.
#[derive(Debug, Default)]
pub(crate) struct SelectedProjects {
    pub(crate) targets: Vec<Target>,
    /// Whether a project could not be read. The others are still processed.
    pub(crate) failed: bool,
    /// Projects without a Skillfile.json, by alias. A message about each was printed.
    pub(crate) skipped: Vec<(String, AbsPath)>,
    /// Projects whose files cannot be read.
    pub(crate) unreadable: Vec<UnreadableProject>,
}

/// A project whose files cannot be read.
#[derive(Debug)]
pub(crate) struct UnreadableProject {
    pub(crate) alias: String,
    pub(crate) root: AbsPath,
    pub(crate) problems: Vec<Diagnostic>,
}

/// Where a project is, before its Skillfile is read.
#[derive(Debug, Clone)]
pub(crate) struct ProjectLocation {
    /// The alias in the config; `None` for a project that is not configured.
    pub(crate) alias: Option<Identifier>,
    pub(crate) root: AbsPath,
    pub(crate) agents: Vec<String>,
}

/// The result of reading a Skillfile and its lockfile.
pub(crate) enum SkillfileState {
    Valid { file: Skillfile, lock: Option<Lockfile>, text: String, warnings: Vec<Diagnostic> },
    Missing,
    Invalid { text: String, problems: Vec<Diagnostic> },
}

impl SkillfileState {
    /// Returns the project alias that the Skillfile declares.
    fn project_alias(&self) -> Option<&Identifier> {
        match self {
            Self::Valid { file, .. } => file.project_alias.as_ref(),
            Self::Missing | Self::Invalid { .. } => None,
        }
    }
}

impl UnreadableProject {
    /// Returns the first problem on one line.
    pub(crate) fn message(&self) -> String {
        let problem = self.problems.first().map(located_message).unwrap_or_default();
        format!("{}: {problem}", self.alias)
    }
}

/// Returns a problem as `file:line:column: message`.
pub(crate) fn located_message(problem: &Diagnostic) -> String {
    let position = problem.span.map(|span| format!(":{}:{}", span.start.line, span.start.column));
    format!("{}{}: {}", problem.file, position.unwrap_or_default(), problem.message)
}

/// Finds the projects and reads their Skillfiles. Selecting no project is an error.
pub(crate) fn select(
    context: &mut Context,
    config: &Config,
    selection: &Selection,
) -> anyhow::Result<SelectedProjects> {
    let selected = select_any(context, config, selection)?;
    if !selected.targets.is_empty() || selected.failed || !selected.skipped.is_empty() {
        return Ok(selected);
    }
    let no_project = if selection.all {
        "no project is configured".to_owned()
    } else {
        format!(
            "no {SKILLFILE} in `{}` or any parent folder, and no project is configured",
            context.cwd
        )
    };
    Err(Failure::usage(no_project)
        .with_hint(
            "to add a skill, run `csk add SOURCE`; to start without one, run `csk init` here; for a project elsewhere, run \
             `csk project add ALIAS PATH`",
        )
        .into())
}

/// Same as [`select`], but selecting no project is not an error.
pub(crate) fn select_any(
    context: &mut Context,
    config: &Config,
    selection: &Selection,
) -> anyhow::Result<SelectedProjects> {
    if selection.global {
        return global::selected(context, config);
    }
    let locations = locate_projects(context, config, selection)?;
    let global = canonical(&context.home.join("global"));
    if locations.iter().any(|location| canonical(&location.root) == global) {
        return Err(Failure::usage(format!("`{global}` is the global scope, not a project"))
            .with_hint("run `csk global` instead")
            .into());
    }
    let is_one = locations.len() == 1 && !selection.all;
    let mut selected = SelectedProjects::default();
    // Two aliases of the same folder are one project.
    let mut seen = BTreeSet::new();
    for location in locations.into_iter().filter(|location| seen.insert(canonical(&location.root)))
    {
        let read = read_skillfile(&location.root, config);
        let name = match &location.alias {
            None => location.root.to_string(),
            Some(_) => checkout_of(&location, read.project_alias(), config).checkout_alias,
        };
        match read {
            SkillfileState::Valid { file, lock, text, warnings } => {
                context.ui.problems(&text, &warnings)?;
                warn_about_enforced_keys(context, config, &name, &location, &file)?;
                selected.targets.push(Target { lock, ..target(&location, file, config) });
            }
            SkillfileState::Missing => {
                context.ui.error(&format!("{name}: {SKILLFILE} not found, skipped\n"))?;
                selected.skipped.push((name, location.root));
            }
            SkillfileState::Invalid { text, problems } if is_one => {
                return Err(Failure::malformed(text, problems).into());
            }
            SkillfileState::Invalid { text, problems } => {
                selected.failed = true;
                context.ui.problems(&text, &problems)?;
                let file = problems.first().map_or(SKILLFILE, |problem| {
                    if problem.file.ends_with(LOCKFILE) { LOCKFILE } else { SKILLFILE }
                });
                context.ui.error(&format!("{name}: {file} is invalid\n"))?;
                selected.unreadable.push(UnreadableProject {
                    alias: name,
                    root: location.root,
                    problems,
                });
            }
        }
    }
    Ok(selected)
}

/// Warns about keys that a project sets without effect because the system config enforces them.
fn warn_about_enforced_keys(
    context: &mut Context,
    config: &Config,
    name: &str,
    location: &ProjectLocation,
    file: &Skillfile,
) -> anyhow::Result<()> {
    let own = [&file.agents, &location.agents].into_iter().find(|ids| !ids.is_empty());
    let other_agents = own.is_some_and(|own| *own != config.default_agents);
    let other_locale = file.locale.is_some() && file.locale != config.preferred_locale;
    for (key, lock, is_other) in
        [("agents", "default_agents", other_agents), ("locale", "preferred_locale", other_locale)]
    {
        if is_other && config.is_locked(lock) {
            context.ui.error(&format!(
                "warning: {name}: `{key}` is ignored: the system config enforces `{lock}`\n"
            ))?;
        }
    }
    Ok(())
}

/// Finds the selected projects.
pub(crate) fn locate_projects(
    context: &Context,
    config: &Config,
    selection: &Selection,
) -> anyhow::Result<Vec<ProjectLocation>> {
    let configured = || -> Vec<ProjectLocation> {
        let location = |(alias, entry): (&Identifier, &csk_core::ProjectEntry)| ProjectLocation {
            alias: Some(alias.clone()),
            root: entry.path.clone(),
            agents: entry.agents.clone(),
        };
        config.projects.iter().map(location).collect()
    };
    let Some(target) = &selection.target else {
        let here = find_root(&context.cwd).filter(|_| !selection.all);
        return Ok(here.map_or_else(configured, |root| vec![location_of(config, root)]));
    };
    if let Some(location) = configured()
        .into_iter()
        .find(|location| location.alias.as_ref().is_some_and(|alias| alias.as_str() == target))
    {
        return Ok(vec![location]);
    }
    if let Some(location) = by_name(config, target, configured())? {
        return Ok(vec![location]);
    }
    let path = canonical(&context.cwd.join(target));
    if path.as_path().is_dir() {
        return match find_root(&path) {
            Some(root) => Ok(vec![location_of(config, root)]),
            None => Err(Failure::usage(format!(
                "{SKILLFILE} not found in `{path}` or any parent folder"
            ))
            .with_hint("run `csk init` there, or `csk project add ALIAS PATH`")
            .into()),
        };
    }
    let failure = Failure::usage(format!("no project or folder named `{target}`"));
    match nearest(target, config.projects.keys().map(Identifier::as_str)) {
        Some(near) => Err(failure.with_hint(format!("did you mean `{near}`?")).into()),
        None => Err(failure
            .with_hint("run `csk list` to see the configured projects; to add a skill, run `csk add SOURCE`")
            .into()),
    }
}

/// Finds a configured project by the name that csk prints: the checkout alias, or the project alias if the project has
/// only one checkout.
fn by_name(
    config: &Config,
    target: &str,
    locations: Vec<ProjectLocation>,
) -> anyhow::Result<Option<ProjectLocation>> {
    let mut of_project = Vec::new();
    for location in locations {
        let read = read_skillfile(&location.root, config);
        let found = checkout_of(&location, read.project_alias(), config);
        if found.checkout_alias == target {
            return Ok(Some(location));
        }
        if found.project_alias == target {
            of_project.push((location, found.checkout_alias));
        }
    }
    if of_project.len() > 1 {
        let names: Vec<String> = of_project.into_iter().map(|(_, name)| name).collect();
        let what = format!("project `{target}` is ambiguous: it has {} checkouts", names.len());
        return Err(Failure::usage(what)
            .with_hint(format!("use one of: {}", names.join(", ")))
            .into());
    }
    Ok(of_project.pop().map(|(location, _)| location))
}

/// Returns the location of the project at `root`, with the alias and agents of its config entry if it has one.
pub(crate) fn location_of(config: &Config, root: AbsPath) -> ProjectLocation {
    let real = |path: &AbsPath| {
        fs::canonicalize(path.as_path()).unwrap_or_else(|_| path.as_path().to_owned())
    };
    let wanted = real(&root);
    match config.projects.iter().find(|(_, entry)| real(&entry.path) == wanted) {
        Some((alias, entry)) => {
            ProjectLocation { alias: Some(alias.clone()), root, agents: entry.agents.clone() }
        }
        None => ProjectLocation { alias: None, root, agents: Vec::new() },
    }
}

/// Returns the path with `.`, `..` and symlinks resolved, or unchanged if it does not exist.
pub(crate) fn canonical(path: &AbsPath) -> AbsPath {
    let real = fs::canonicalize(path.as_path()).ok().and_then(|path| AbsPath::new(path).ok());
    real.unwrap_or_else(|| path.clone())
}

pub(crate) fn read_skillfile(root: &AbsPath, config: &Config) -> SkillfileState {
    let path = root.join(SKILLFILE);
    let text = match read_text(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return SkillfileState::Missing,
        Err(error) => return unreadable(&path, &error.to_string()),
    };
    let (file, warnings) = match Skillfile::parse(path.as_str(), &text, &config.agents) {
        (Some(file), warnings) => (file, warnings),
        (None, problems) => return SkillfileState::Invalid { text, problems },
    };
    let path = root.join(LOCKFILE);
    let lock = match read_text(&path) {
        Ok(None) => None,
        Err(error) => return unreadable(&path, &error.to_string()),
        Ok(Some(text)) => match Lockfile::parse(path.as_str(), &text) {
            (Some(lock), _) => Some(lock),
            (None, problems) => return SkillfileState::Invalid { text, problems },
        },
    };
    SkillfileState::Valid { file, lock, text, warnings }
}

fn unreadable(path: &AbsPath, reason: &str) -> SkillfileState {
    let problem =
        Diagnostic::of_file(Code::Unreadable, Strictness::Strict, path.as_str(), reason.to_owned());
    SkillfileState::Invalid { text: String::new(), problems: problem.into_iter().collect() }
}

/// Returns the checkout of a project, with aliases from its Skillfile, the config and its branch.
pub(crate) fn checkout_of(
    location: &ProjectLocation,
    declared: Option<&Identifier>,
    config: &Config,
) -> Checkout {
    let entry = location.alias.as_ref().and_then(|alias| config.projects.get(alias));
    checkout(&location.root, declared, entry, config.worktree_alias_pattern.as_deref())
}

pub(crate) fn target(location: &ProjectLocation, file: Skillfile, config: &Config) -> Target {
    let alias = checkout_of(location, file.project_alias.as_ref(), config).checkout_alias;
    // Values from the environment or enforced by the system config override those of the project.
    let own = [&file.agents, &location.agents];
    let own = own.into_iter().filter(|_| !config.overrides_projects("default_agents"));
    let ids = own.chain([&config.default_agents]).find(|ids| !ids.is_empty());
    let (ids, agents_from) = match (ids, &config.detected_agents) {
        (None, Some(detected)) => {
            let project = Some(&location.root);
            let signs = AgentSigns { home: None, path: None, project };
            let in_project = detected_agents(&config.agents, signs);
            let all: BTreeSet<String> = detected.iter().cloned().chain(in_project).collect();
            (all.into_iter().collect(), AgentsFrom::Detection)
        }
        (ids, _) => (ids.cloned().unwrap_or_default(), AgentsFrom::Settings),
    };
    let agents = ids.iter().filter_map(|id| config.agents.find(id)).collect();
    Target {
        alias,
        scope: Scope::Project,
        adapter_base: location.root.clone(),
        root: location.root.clone(),
        agents,
        agents_from,
        adapter_mode: config.adapter_mode,
        order: config.command_order,
        locale: file
            .locale
            .filter(|_| !config.overrides_projects("preferred_locale"))
            .or_else(|| config.preferred_locale.clone()),
        skills: file.skills,
        lock: None,
    }
}
