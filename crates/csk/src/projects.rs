//! From the words of the command line to the projects they mean.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;

use csk_core::install::Target;
use csk_core::project::{Checkout, checkout, find_root};
use csk_core::{Config, LOCKFILE, Lockfile, SKILLFILE, Scope, Skillfile};
use skill::{Code, Diagnostic, Identifier, Strictness, nearest};
use skill_fs::{AbsPath, read_text};

use term::Failure;

use crate::commands::global;
use crate::context::Context;

/// Which projects a command is about.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// A project: its alias, or a path in it [default: the project here, else all configured ones]
    #[arg(value_name = "TARGET", add = term::names(crate::completion::projects))]
    pub(crate) target: Option<String>,
    /// All configured projects
    #[arg(long, conflicts_with = "target")]
    pub(crate) all: bool,
    /// The global scope
    #[arg(long, conflicts_with_all = ["target", "all"])]
    pub(crate) global: bool,
}

/// The projects that were meant.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    pub(crate) targets: Vec<Target>,
    /// Whether a project could not be read; the others go on.
    pub(crate) failed: bool,
    /// Projects that have no Skillfile.json, which was told.
    pub(crate) skipped: Vec<(String, AbsPath)>,
    /// What cannot be read, by project.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// A project whose files cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) alias: String,
    pub(crate) root: AbsPath,
    pub(crate) problems: Vec<Diagnostic>,
}

/// A project before its Skillfile is read.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The alias in the config; none for a path.
    pub(crate) alias: Option<Identifier>,
    pub(crate) root: AbsPath,
    pub(crate) agents: Vec<String>,
}

/// A Skillfile that was looked for.
pub(crate) enum Read {
    /// It can be used; the problems are warnings.
    Good {
        file: Skillfile,
        lock: Option<Lockfile>,
        text: String,
        warnings: Vec<Diagnostic>,
    },
    Missing,
    Bad {
        text: String,
        problems: Vec<Diagnostic>,
    },
}

impl Read {
    /// Returns what the file calls the project.
    fn project_alias(&self) -> Option<&Identifier> {
        match self {
            Self::Good { file, .. } => file.project_alias.as_ref(),
            Self::Missing | Self::Bad { .. } => None,
        }
    }
}

impl Unreadable {
    /// Returns what is wrong, on one line.
    pub(crate) fn words(&self) -> String {
        let problem = self.problems.first().map(located).unwrap_or_default();
        format!("{}: {problem}", self.alias)
    }
}

/// Returns a problem with its place, on one line.
pub(crate) fn located(problem: &Diagnostic) -> String {
    let place = problem.span.map(|span| format!(":{}:{}", span.start.line, span.start.column));
    format!("{}{}: {}", problem.file, place.unwrap_or_default(), problem.message)
}

/// Finds the projects and reads their Skillfiles. There must be one: to do nothing is no success.
pub(crate) fn select(
    context: &mut Context,
    config: &Config,
    selection: &Selection,
) -> anyhow::Result<Selected> {
    let selected = select_any(context, config, selection)?;
    if !selected.targets.is_empty() || selected.failed || !selected.skipped.is_empty() {
        return Ok(selected);
    }
    let no_project = if selection.all {
        "no project is configured".to_owned()
    } else {
        format!("there is no {SKILLFILE} in or above {}, and no project is configured", context.cwd)
    };
    Err(Failure::usage(no_project)
        .with_hint("`csk init` makes one here; `csk project add ALIAS PATH` names one elsewhere")
        .into())
}

/// As [`select`]; there may be none.
pub(crate) fn select_any(
    context: &mut Context,
    config: &Config,
    selection: &Selection,
) -> anyhow::Result<Selected> {
    if selection.global {
        return global::selected(context, config);
    }
    let places = places(context, config, selection)?;
    let global = clean(&context.home.join("global"));
    if places.iter().any(|place| clean(&place.root) == global) {
        return Err(Failure::usage(format!("{global} is the global scope, not a project"))
            .with_hint("use `csk global`")
            .into());
    }
    let is_one = places.len() == 1 && !selection.all;
    let mut selected = Selected::default();
    // Two aliases of one folder are one project.
    let mut seen = BTreeSet::new();
    for place in places.into_iter().filter(|place| seen.insert(clean(&place.root))) {
        let read = read_skillfile(&place.root, config);
        let name = match &place.alias {
            None => place.root.to_string(),
            Some(_) => named(&place, read.project_alias(), config).checkout_alias,
        };
        match read {
            Read::Good { file, lock, text, warnings } => {
                context.ui.problems(&text, &warnings)?;
                warn_of_enforced(context, config, &name, &place, &file)?;
                selected.targets.push(Target { lock, ..target(&place, file, config) });
            }
            Read::Missing => {
                context.ui.error(&format!("{name}: {SKILLFILE} not found, skipped\n"))?;
                selected.skipped.push((name, place.root));
            }
            Read::Bad { text, problems } if is_one => {
                return Err(Failure::malformed(text, problems).into());
            }
            Read::Bad { text, problems } => {
                selected.failed = true;
                context.ui.problems(&text, &problems)?;
                let file = problems.first().map_or(SKILLFILE, |problem| {
                    if problem.file.ends_with(LOCKFILE) { LOCKFILE } else { SKILLFILE }
                });
                context.ui.error(&format!("{name}: {file} cannot be used\n"))?;
                selected.unreadable.push(Unreadable { alias: name, root: place.root, problems });
            }
        }
    }
    Ok(selected)
}

/// Warns of what a project sets to no effect, since the system's config enforces it.
fn warn_of_enforced(
    context: &mut Context,
    config: &Config,
    name: &str,
    place: &Place,
    file: &Skillfile,
) -> anyhow::Result<()> {
    let own = [&file.agents, &place.agents].into_iter().find(|ids| !ids.is_empty());
    let other_agents = own.is_some_and(|own| *own != config.default_agents);
    let other_locale = file.locale.is_some() && file.locale != config.preferred_locale;
    for (key, lock, is_other) in
        [("agents", "default_agents", other_agents), ("locale", "preferred_locale", other_locale)]
    {
        if is_other && config.is_locked(lock) {
            context.ui.error(&format!(
                "warning: {name}: `{key}` is ignored: the system's config locks `{lock}`\n"
            ))?;
        }
    }
    Ok(())
}

/// Finds the projects.
pub(crate) fn places(
    context: &Context,
    config: &Config,
    selection: &Selection,
) -> anyhow::Result<Vec<Place>> {
    let configured = || -> Vec<Place> {
        let place = |(alias, entry): (&Identifier, &csk_core::ProjectEntry)| Place {
            alias: Some(alias.clone()),
            root: entry.path.clone(),
            agents: entry.agents.clone(),
        };
        config.projects.iter().map(place).collect()
    };
    let Some(target) = &selection.target else {
        let here = find_root(&context.cwd).filter(|_| !selection.all);
        return Ok(here.map_or_else(configured, |root| vec![at(config, root)]));
    };
    if let Some(place) = configured()
        .into_iter()
        .find(|place| place.alias.as_ref().is_some_and(|alias| alias.as_str() == target))
    {
        return Ok(vec![place]);
    }
    if let Some(place) = by_name(config, target, configured())? {
        return Ok(vec![place]);
    }
    let path = clean(&context.cwd.join(target));
    if path.as_path().is_dir() {
        return match find_root(&path) {
            Some(root) => Ok(vec![at(config, root)]),
            None => Err(Failure::usage(format!("{SKILLFILE} not found in or above {path}"))
                .with_hint("run `csk project add ALIAS PATH` to make one")
                .into()),
        };
    }
    let failure =
        Failure::usage(format!("there is no project `{target}`, and no folder of that name"));
    match nearest(target, config.projects.keys().map(Identifier::as_str)) {
        Some(near) => Err(failure.with_hint(format!("did you mean `{near}`?")).into()),
        None => Err(failure.with_hint("`csk list` shows the configured projects").into()),
    }
}

/// Finds a configured project by the name that csk prints for it: that of its working copy, else that of the project, if it has one working copy.
fn by_name(config: &Config, target: &str, places: Vec<Place>) -> anyhow::Result<Option<Place>> {
    let mut of_project = Vec::new();
    for place in places {
        let read = read_skillfile(&place.root, config);
        let found = named(&place, read.project_alias(), config);
        if found.checkout_alias == target {
            return Ok(Some(place));
        }
        if found.project_alias == target {
            of_project.push((place, found.checkout_alias));
        }
    }
    if of_project.len() > 1 {
        let names: Vec<String> = of_project.into_iter().map(|(_, name)| name).collect();
        let what = format!("the project `{target}` has {} working copies", names.len());
        return Err(Failure::usage(what)
            .with_hint(format!("name one: {}", names.join(", ")))
            .into());
    }
    Ok(of_project.pop().map(|(place, _)| place))
}

/// Returns the place of a project that was named by a path; its entry in the config counts if it has one.
pub(crate) fn at(config: &Config, root: AbsPath) -> Place {
    let real = |path: &AbsPath| {
        fs::canonicalize(path.as_path()).unwrap_or_else(|_| path.as_path().to_owned())
    };
    let wanted = real(&root);
    match config.projects.iter().find(|(_, entry)| real(&entry.path) == wanted) {
        Some((alias, entry)) => {
            Place { alias: Some(alias.clone()), root, agents: entry.agents.clone() }
        }
        None => Place { alias: None, root, agents: Vec::new() },
    }
}

/// Returns a path without `.` and `..`.
pub(crate) fn clean(path: &AbsPath) -> AbsPath {
    let real = fs::canonicalize(path.as_path()).ok().and_then(|path| AbsPath::new(path).ok());
    real.unwrap_or_else(|| path.clone())
}

pub(crate) fn read_skillfile(root: &AbsPath, config: &Config) -> Read {
    let path = root.join(SKILLFILE);
    let text = match read_text(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return Read::Missing,
        Err(error) => return unreadable(&path, &error.to_string()),
    };
    let (file, warnings) = match Skillfile::parse(path.as_str(), &text, &config.agents) {
        (Some(file), warnings) => (file, warnings),
        (None, problems) => return Read::Bad { text, problems },
    };
    let path = root.join(LOCKFILE);
    let lock = match read_text(&path) {
        Ok(None) => None,
        Err(error) => return unreadable(&path, &error.to_string()),
        Ok(Some(text)) => match Lockfile::parse(path.as_str(), &text) {
            (Some(lock), _) => Some(lock),
            (None, problems) => return Read::Bad { text, problems },
        },
    };
    Read::Good { file, lock, text, warnings }
}

fn unreadable(path: &AbsPath, why: &str) -> Read {
    let problem =
        Diagnostic::of_file(Code::Unreadable, Strictness::Strict, path.as_str(), why.to_owned());
    Read::Bad { text: String::new(), problems: problem.into_iter().collect() }
}

/// Names the working copy of a project: by its Skillfile, the config and its branch.
pub(crate) fn named(place: &Place, declared: Option<&Identifier>, config: &Config) -> Checkout {
    let entry = place.alias.as_ref().and_then(|alias| config.projects.get(alias));
    checkout(&place.root, declared, entry, config.worktree_alias_pattern.as_deref())
}

pub(crate) fn target(place: &Place, file: Skillfile, config: &Config) -> Target {
    let alias = named(place, file.project_alias.as_ref(), config).checkout_alias;
    // What is locked for everybody, or said in the environment, is not the project's to choose.
    let own = [&file.agents, &place.agents];
    let own = own.into_iter().filter(|_| !config.is_before_projects("default_agents"));
    let ids = own.chain([&config.default_agents]).find(|ids| !ids.is_empty());
    let agents = ids.into_iter().flatten().filter_map(|id| config.agents.find(id)).collect();
    Target {
        alias,
        scope: Scope::Project,
        adapter_base: place.root.clone(),
        root: place.root.clone(),
        agents,
        adapter_mode: config.adapter_mode,
        order: config.command_order,
        locale: file
            .locale
            .filter(|_| !config.is_before_projects("preferred_locale"))
            .or_else(|| config.preferred_locale.clone()),
        skills: file.skills,
        lock: None,
    }
}
