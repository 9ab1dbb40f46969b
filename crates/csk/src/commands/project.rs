//! `csk project`: adds, removes and names projects.

use std::path::Path;

use csk_core::output::{ResolveJson, VERSION};
use csk_core::{ProjectEntry, SKILLFILE, Skillfile};
use skill::{Identifier, nearest};
use skill_fs::write_file;
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Read, Selection, clean, named, places, read_skillfile};

const ADD: HelpText = HelpText {
    text: "\
Purpose: adds a project to the config, and makes an empty Skillfile.json in it if there is none. The folder \
must exist.

Reads:  config.json
Writes: config.json, the project's Skillfile.json if it is missing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("the alias is taken or malformed, or the folder does not exist"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk project add demo-app ~/projects/demo-app",
        "csk project add here .",
    ],
};

const REMOVE: HelpText = HelpText {
    text: "\
Purpose: takes a project out of the config. Its files stay as they are.

Reads:  config.json
Writes: config.json",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("there is no such project"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk project remove demo-app"],
};

const RESOLVE: HelpText = HelpText {
    text: "\
Purpose: shows which project a folder belongs to and what its working copy is called. Nothing is saved.

Reads:  config.json, Skillfile.json, the project's branch
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("there is no Skillfile.json in or above the folder"),
    ],
    examples: &[
        "csk project resolve",
        "csk project resolve ../worktree",
    ],
};

const GROUP: HelpText = HelpText {
    text: "\
Purpose: projects that are in the config are meant by --all, and by an alias from anywhere.

Keys of Skillfile.json, which stands in a project:
  schema_version  1
  project         {alias}: what to call the project
  agents          the agents of the project, by id
  locale          the locale that skills are rendered in
  skills          [{name, source, git, tag | branch | revision}]: source is the repository under skills_root \
where its name differs, git is where to clone it from, and exactly one of the three references is given

Keys of .csk-install.json, which stands in an installed skill: name, source, git, ref_kind, ref, commit, \
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

/// Add, remove and name projects
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
        /// What to call it
        alias: String,
        /// Its folder
        path: String,
    },
    /// Take a project out of the config
    #[command(after_help = REMOVE)]
    Remove {
        /// What it is called
        #[arg(add = term::names(crate::completion::projects))]
        alias: String,
    },
    /// Show which project a folder belongs to
    #[command(after_help = RESOLVE)]
    Resolve {
        /// A project: its alias, or a path in it
        #[arg(default_value = ".", add = term::names(crate::completion::projects))]
        target: String,
        /// Write it as JSON
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
                tell(context, &found)?;
            }
            Ok(ExitCode::Done)
        }
    }
}

fn add(context: &mut Context, alias: &str, path: &str) -> anyhow::Result<ExitCode> {
    let _lock = context.lock()?;
    let config = context.config()?;
    let alias = Identifier::new(alias)
        .map_err(|error| Failure::usage(format!("`{alias}` is not an alias: {error}")))?;
    let given = context.cwd.join(path);
    if !given.as_path().is_dir() {
        return Err(Failure::usage(format!("the folder {given} does not exist"))
            .with_hint("make it first; csk does not")
            .into());
    }
    let root = clean(&given);
    if let Some(other) = config.projects.get(&alias).filter(|other| other.path != root) {
        return Err(Failure::usage(format!("the alias `{alias}` is taken by {}", other.path))
            .with_hint(format!("choose another, or run `csk project remove {alias}` first"))
            .into());
    }
    // On a file system that folds case the two would share what csk keeps of them.
    let is_twin = |known: &&Identifier| {
        **known != alias && known.as_str().eq_ignore_ascii_case(alias.as_str())
    };
    if let Some(twin) = config.projects.keys().find(is_twin) {
        let what = format!("the alias `{alias}` differs from `{twin}` only in case");
        return Err(Failure::usage(what).with_hint("choose another alias").into());
    }
    let file = root.join(SKILLFILE);
    let made = !Path::new(file.as_str()).exists();
    if made {
        write_file(&file, Skillfile::minimal().as_bytes())?;
    }
    let declared = match read_skillfile(&root, &config) {
        Read::Good { file, .. } => file.project_alias,
        Read::Missing | Read::Bad { .. } => None,
    };
    // One that is there already keeps what the user has said of it.
    let entry = config.projects.get(&alias).cloned().unwrap_or_else(|| ProjectEntry {
        path: root.clone(),
        agents: Vec::new(),
        project_alias: declared.unwrap_or_else(|| alias.clone()),
        checkout_alias: alias.clone(),
    });
    context.save_project(&alias, Some(&entry))?;
    let note = if made { format!(", with an empty {SKILLFILE}") } else { String::new() };
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
        let failure = Failure::usage(format!("there is no project `{alias}`"));
        return Err(match nearest(alias, config.projects.keys().map(Identifier::as_str)) {
            Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
            None => failure.with_hint("`csk list` shows the configured projects"),
        }
        .into());
    };
    context.save_project(&alias, None)?;
    context.ui.done(&format!(
        "removed {} ({}); its files stay\n",
        alias,
        safe_line(entry.path.as_str())
    ))?;
    Ok(ExitCode::Done)
}

fn resolved(context: &mut Context, target: &str) -> anyhow::Result<ResolveJson> {
    let config = context.config()?;
    let selection = Selection { target: Some(target.to_owned()), ..Selection::default() };
    let Some(place) = places(context, &config, &selection)?.pop() else {
        return Err(Failure::usage(format!("there is no project `{target}`")).into());
    };
    let root = &place.root;
    let declared = match read_skillfile(root, &config) {
        Read::Good { file, .. } => file.project_alias,
        Read::Missing => None,
        Read::Bad { text, problems } => return Err(Failure::malformed(text, problems).into()),
    };
    let found = named(&place, declared.as_ref(), &config);
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

fn tell(context: &mut Context, found: &ResolveJson) -> anyhow::Result<()> {
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
