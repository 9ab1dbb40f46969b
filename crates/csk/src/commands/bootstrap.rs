//! `csk bootstrap`: makes the first config.

#![expect(clippy::disallowed_methods, reason = "looks whether there is a config")]

use std::io::{self, BufRead, IsTerminal};

use csk_core::{Agents, Config, ProjectEntry};
use skill::Identifier;
use skill_fs::AbsPath;
use term::{ErrorFormat, Failure, HelpText, safe_line};

use crate::commands::shell_init::{Shell, install};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::report;
use crate::projects::clean;

const HELP: HelpText = HelpText {
    text: "\
Purpose: makes the config. On a terminal it asks for what the flags leave open; elsewhere the flags decide and \
nothing is asked.

Reads:  the answers
Writes: ~/.cocoaskills/config.json, or what CSK_CONFIG names; with --shell-hook install the file that your shell reads \
at its start. An existing one is replaced only after a \
        confirmation, or with --force.",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("something is missing or malformed, or there is a config already"),
    ],
    examples: &[
        "csk bootstrap",
        "csk bootstrap --skills-root ~/agents/skills --agents claude_code,codex_cli",
        "csk bootstrap --skills-root ~/skills --locale ru --project demo=~/projects/demo",
    ],
};

/// Make the first config, by questions or by flags
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct BootstrapArgs {
    /// The folder of the skills' repositories
    #[arg(long, value_name = "DIR")]
    skills_root: Option<String>,
    /// The locale of projects that choose none
    #[arg(long)]
    locale: Option<String>,
    /// The agents of projects that choose none
    #[arg(long, value_delimiter = ',', value_name = "AGENT,…")]
    agents: Option<Vec<String>>,
    /// A project to add
    #[arg(long = "project", value_name = "ALIAS=PATH")]
    projects: Vec<String>,
    /// What to do about the hook that puts commands of skills on PATH
    #[arg(long, value_name = "WHAT")]
    shell_hook: Option<Hook>,
    /// Replace an existing config
    #[arg(long)]
    force: bool,
}

/// What to do about the shell hook. Its words carry no help of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Hook {
    Print,
    Install,
    Skip,
}

pub(crate) fn bootstrap(context: &mut Context, args: &BootstrapArgs) -> anyhow::Result<ExitCode> {
    let asks = io::stdin().is_terminal();
    let path = context.config_path.clone();
    if std::fs::symlink_metadata(path.as_path()).is_ok() && !args.force {
        let question = format!("There is a config at {path}. Replace it? [y/N] ");
        let is_confirmed =
            asks && matches!(ask(context, &question)?.to_lowercase().as_str(), "y" | "yes");
        if !is_confirmed {
            return Err(Failure::usage(format!(
                "there is a config at {path}, and it was left as it is"
            ))
            .with_hint("edit it, or replace it with --force")
            .into());
        }
    }
    let mut config = Config::new(match (&args.skills_root, asks) {
        (Some(root), _) => folder(context, root)?,
        (None, true) => ask_until(context, "Folder of the skills' repositories: ", folder)?,
        (None, false) => {
            return Err(Failure::usage(
                "--skills-root is missing, and there is no terminal to ask on",
            )
            .with_hint("as in: csk bootstrap --skills-root ~/skills --agents claude_code")
            .into());
        }
    });
    let locale = match (&args.locale, asks) {
        (Some(locale), _) => locale.clone(),
        (None, true) => ask(context, "Preferred locale (empty for none): ")?,
        (None, false) => String::new(),
    };
    config.preferred_locale = Some(locale).filter(|locale| !locale.is_empty());
    config.default_agents = match (&args.agents, asks) {
        (Some(agents), _) => known_agents(agents.iter().map(String::as_str))?,
        (None, true) => ask_until(context, "Agents, separated by commas: ", |_, answer| {
            known_agents(answer.split(',').map(str::trim))
        })?,
        (None, false) => Vec::new(),
    };
    for project in &args.projects {
        if let Some((alias, entry)) = project_entry(context, project)?
            && config.projects.insert(alias.clone(), entry).is_some()
        {
            return Err(Failure::usage(format!("the project `{alias}` is given twice")).into());
        }
    }
    while asks && args.projects.is_empty() {
        let question = "Project as ALIAS=PATH (empty to end): ";
        match ask_until(context, question, project_entry)? {
            Some((alias, entry)) => config.projects.insert(alias, entry),
            None => break,
        };
    }
    let hook = match (args.shell_hook, asks) {
        (Some(hook), _) => hook,
        (None, true) => ask_until(context, HOOK_QUESTION, |_, answer| hook_of(answer))?,
        (None, false) => Hook::Skip,
    };
    context.save_new(&config)?;
    context.ui.done(&format!("wrote {}\n", safe_line(path.as_str())))?;
    shell_hook(context, hook)?;
    Ok(ExitCode::Done)
}

const HOOK_QUESTION: &str =
    "Shell hook, which puts commands of skills on PATH: print, install or skip [print]: ";

fn hook_of(answer: &str) -> anyhow::Result<Hook> {
    match answer.to_lowercase().as_str() {
        "" | "p" | "print" => Ok(Hook::Print),
        "i" | "install" => Ok(Hook::Install),
        "s" | "skip" => Ok(Hook::Skip),
        other => {
            Err(Failure::usage(format!("`{other}` is none of print, install and skip")).into())
        }
    }
}

/// Tells how to have the commands of skills on PATH, or sees to it.
fn shell_hook(context: &mut Context, hook: Hook) -> anyhow::Result<()> {
    let shell = context.shell.as_deref().and_then(Shell::of_path);
    match (hook, shell) {
        (Hook::Skip, _) => Ok(()),
        (Hook::Install, Some(shell)) => install(context, shell),
        (Hook::Install, None) => Err(Failure::usage("SHELL does not name a shell with a hook")
            .with_hint("run `csk shell-init SHELL --install`; the config is written")
            .into()),
        (Hook::Print, shell) => {
            let (line, file) = shell.unwrap_or(Shell::Bash).start();
            let file = file.map_or_else(String::new, |file| format!(" into ~/{file}"));
            Ok(context.ui.done(&format!(
                "to have commands of skills on PATH, put this{file}:\n  {line}\n"
            ))?)
        }
    }
}

fn known_agents<'a>(ids: impl Iterator<Item = &'a str>) -> anyhow::Result<Vec<String>> {
    let agents = Agents::default();
    let ids: Vec<String> = ids.filter(|id| !id.is_empty()).map(str::to_owned).collect();
    match ids.iter().find(|id| agents.find(id).is_none()) {
        None => Ok(ids),
        Some(id) => {
            let failure = Failure::usage(format!("the agent `{id}` is not known"));
            Err(match agents.nearest(id) {
                Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                None => failure,
            }
            .into())
        }
    }
}

/// Reads `ALIAS=PATH`; nothing is none.
fn project_entry(
    context: &Context,
    text: &str,
) -> anyhow::Result<Option<(Identifier, ProjectEntry)>> {
    if text.is_empty() {
        return Ok(None);
    }
    let (alias, path) = text
        .split_once('=')
        .ok_or_else(|| Failure::usage(format!("`{text}` is not ALIAS=PATH")))?;
    let alias = Identifier::new(alias.trim())
        .map_err(|error| Failure::usage(format!("`{alias}` is not an alias: {error}")))?;
    let path = folder(context, path.trim())?;
    if !path.as_path().is_dir() {
        return Err(Failure::usage(format!("the folder {path} does not exist")).into());
    }
    let entry = ProjectEntry {
        path: clean(&path),
        agents: Vec::new(),
        project_alias: alias.clone(),
        checkout_alias: alias.clone(),
    };
    Ok(Some((alias, entry)))
}

fn folder(context: &Context, text: &str) -> anyhow::Result<AbsPath> {
    match (text.strip_prefix("~/"), &context.user_home) {
        _ if text.is_empty() => Err(Failure::usage("the folder is missing").into()),
        (_, Some(home)) if text == "~" => Ok(home.clone()),
        (Some(rest), Some(home)) => Ok(home.join(rest)),
        _ => Ok(context.cwd.join(text)),
    }
    .and_then(|path| {
        let is_other = path.as_path().exists() && !path.as_path().is_dir();
        if is_other { Err(Failure::usage(format!("{path} is no folder")).into()) } else { Ok(path) }
    })
}

/// Asks until `read` can make something of the answer.
fn ask_until<T>(
    context: &mut Context,
    question: &str,
    read: impl Fn(&Context, &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    loop {
        let answer = ask(context, question)?;
        match read(context, &answer) {
            Ok(value) => return Ok(value),
            Err(error) => report(&error).print(&mut context.ui, ErrorFormat::Words),
        };
    }
}

fn ask(context: &mut Context, question: &str) -> anyhow::Result<String> {
    context.ui.error(question)?;
    let mut answer = String::new();
    if io::stdin().lock().read_line(&mut answer)? == 0 {
        return Err(Failure::usage("no answer was given, and nothing was written").into());
    }
    Ok(answer.trim().to_owned())
}
