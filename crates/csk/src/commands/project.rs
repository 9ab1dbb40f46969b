//! `csk project`: adds, removes and resolves projects.

use std::path::Path;

use csk_core::output::{ResolveJson, VERSION};
use csk_core::{ProjectEntry, SKILLFILE, Skillfile};
use skill::{Identifier, nearest};
use skill_fs::write_file;
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{
    Selection, SkillfileState, canonical, checkout_of, locate_projects, read_skillfile,
};

const ADD: HelpText = HelpText {
    text: "\
Adds a project to the config. If the project has no Skillfile.json, csk creates an empty one. The folder must exist.

Reads:  config.json
Writes: config.json; the project's Skillfile.json if it is missing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, the alias is taken or invalid, or the folder does not exist"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk project add demo-app ~/projects/demo-app",
        "csk project add here .",
    ],
};

const REMOVE: HelpText = HelpText {
    text: "\
Removes a project from the config. Its files are not changed.

Reads:  config.json
Writes: config.json",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, or no such project"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk project remove demo-app"],
};

const RESOLVE: HelpText = HelpText {
    text: "\
Shows which project a folder belongs to, and the checkout's aliases. Nothing is saved.

Reads:  config.json, Skillfile.json, the project's current git branch
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when(
            "usage or configuration error, or no Skillfile.json in the folder or any parent folder",
        ),
    ],
    examples: &["csk project resolve", "csk project resolve ../worktree"],
};

const GROUP: HelpText = HelpText {
    text: "\
Manages the projects in the config. Other commands select a project by its alias from any folder, or all projects \
with --all.

Reads:  config.json, Skillfile.json
Writes: config.json; a new project's Skillfile.json

Keys of Skillfile.json, in a project's root folder:
  schema_version  1
  project         {alias}: project name
  agents          IDs of the agents that get the skills
  locale          locale to render skills in
  skills          [{name, source, git, path, tag | branch | revision}]: source is the repository name under \
skills_root if it differs from name, git is the URL to clone it from, path is the subfolder that contains the skill; exactly \
one of tag, branch and revision is required

Keys of .csk-install.json, in every installed skill: name, source, git, ref_kind, ref, commit, \
content_sha256, bundle_sha256, locale, agents, commands, command_paths, runtime_roots, skill_schema_version, \
capabilities, installed_at, files.",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.usual(),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk project add demo-app ~/projects/demo-app",
        "csk project resolve",
    ],
};

/// Add, remove and resolve projects
#[derive(Debug, clap::Args)]
#[command(after_help = GROUP)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    command: ProjectCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ProjectCommand {
    /// Add a project to the config
    #[command(after_help = ADD)]
    Add {
        /// Project alias
        alias: String,
        /// Project folder
        path: String,
    },
    /// Remove a project from the config
    #[command(after_help = REMOVE)]
    Remove {
        /// Project alias
        #[arg(add = term::names(crate::completion::projects))]
        alias: String,
    },
    /// Show which project a folder belongs to
    #[command(after_help = RESOLVE)]
    Resolve {
        /// Project alias, or a path inside a project
        #[arg(default_value = ".", add = term::names(crate::completion::projects))]
        target: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn project(context: &mut Context, args: &ProjectArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        ProjectCommand::Add { alias, path } => add(context, alias, path),
        ProjectCommand::Remove { alias } => remove(context, alias),
        ProjectCommand::Resolve { target, json } => {
            let found = resolved(context, target)?;
            if *json {
                context.ui.json(&found)?;
            } else {
                print_resolved(context, &found)?;
            }
            Ok(ExitCode::Done)
        }
    }
}

fn add(context: &mut Context, alias: &str, path: &str) -> anyhow::Result<ExitCode> {
    let _lock = context.lock()?;
    let config = context.config()?;
    let alias = Identifier::new(alias)
        .map_err(|error| Failure::usage(format!("invalid alias `{alias}`: {error}")))?;
    let folder = context.cwd.join(path);
    if !folder.as_path().is_dir() {
        return Err(Failure::usage(format!("folder `{folder}` does not exist"))
            .with_hint("create the folder first")
            .into());
    }
    let root = canonical(&folder);
    if let Some(other) = config.projects.get(&alias).filter(|other| other.path != root) {
        return Err(Failure::usage(format!(
            "alias `{alias}` is already used for `{}`",
            other.path
        ))
        .with_hint(format!("choose another alias, or run `csk project remove {alias}` first"))
        .into());
    }
    // On a case-insensitive file system the two projects would share csk's files.
    let is_twin = |known: &&Identifier| {
        **known != alias && known.as_str().eq_ignore_ascii_case(alias.as_str())
    };
    if let Some(twin) = config.projects.keys().find(is_twin) {
        let message = format!("alias `{alias}` differs from `{twin}` only in case");
        return Err(Failure::usage(message).with_hint("choose another alias").into());
    }
    let file = root.join(SKILLFILE);
    let is_new = !Path::new(file.as_str()).exists();
    if is_new {
        write_file(&file, Skillfile::minimal().as_bytes())?;
    }
    let declared = match read_skillfile(&root, &config) {
        SkillfileState::Valid { file, .. } => file.project_alias,
        SkillfileState::Missing | SkillfileState::Invalid { .. } => None,
    };
    // An existing entry keeps the user's settings.
    let entry = config.projects.get(&alias).cloned().unwrap_or_else(|| ProjectEntry {
        path: root.clone(),
        agents: Vec::new(),
        project_alias: declared.unwrap_or_else(|| alias.clone()),
        checkout_alias: alias.clone(),
    });
    context.save_project(&alias, Some(&entry))?;
    let note = if is_new { format!(" and created an empty {SKILLFILE}") } else { String::new() };
    context.ui.done(&format!("added {alias} ({}){note}\n", safe_line(root.as_str())))?;
    Ok(ExitCode::Done)
}

fn remove(context: &mut Context, alias: &str) -> anyhow::Result<ExitCode> {
    let _lock = context.lock()?;
    let config = context.config()?;
    let found = Identifier::new(alias)
        .ok()
        .and_then(|alias| Some((alias.clone(), config.projects.get(&alias)?)));
    let Some((alias, entry)) = found else {
        let failure = Failure::usage(format!("no project named `{alias}`"));
        return Err(match nearest(alias, config.projects.keys().map(Identifier::as_str)) {
            Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
            None => failure.with_hint("run `csk list` to see the configured projects"),
        }
        .into());
    };
    context.save_project(&alias, None)?;
    context.ui.done(&format!(
        "removed {} ({}); its files were not changed\n",
        alias,
        safe_line(entry.path.as_str())
    ))?;
    Ok(ExitCode::Done)
}

fn resolved(context: &mut Context, target: &str) -> anyhow::Result<ResolveJson> {
    let config = context.config()?;
    let selection = Selection { target: Some(target.to_owned()), ..Selection::default() };
    let Some(location) = locate_projects(context, &config, &selection)?.pop() else {
        return Err(Failure::usage(format!("no project named `{target}`")).into());
    };
    let root = &location.root;
    let declared = match read_skillfile(root, &config) {
        SkillfileState::Valid { file, .. } => file.project_alias,
        SkillfileState::Missing => None,
        SkillfileState::Invalid { text, problems } => {
            return Err(Failure::malformed(text, problems).into());
        }
    };
    let found = checkout_of(&location, declared.as_ref(), &config);
    Ok(ResolveJson {
        version: VERSION,
        project_alias: found.project_alias,
        checkout_alias: found.checkout_alias,
        path: root.to_string(),
        skillfile: root.join(SKILLFILE).to_string(),
        branch: found.branch,
        task_id: found.task_id,
        path_hash: found.path_hash,
        skills: root.join(csk_core::install::SKILLS).to_string(),
    })
}

fn print_resolved(context: &mut Context, found: &ResolveJson) -> anyhow::Result<()> {
    let lines = [
        ("project_alias", found.project_alias.as_str()),
        ("checkout_alias", &found.checkout_alias),
        ("path", &found.path),
        ("skillfile", &found.skillfile),
        ("branch", found.branch.as_deref().unwrap_or_default()),
        ("task_id", found.task_id.as_deref().unwrap_or_default()),
        ("path_hash", &found.path_hash),
        ("skills", &found.skills),
    ];
    for (key, value) in lines {
        context.ui.out(format!("{key}: {}", safe_line(value)).trim_end())?;
        context.ui.out("\n")?;
    }
    Ok(())
}
