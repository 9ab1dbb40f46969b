//! `csk bootstrap`: creates the config file.

#![expect(clippy::disallowed_methods, reason = "checks whether a config exists")]

use std::io::{self, BufRead, IsTerminal};

use csk_core::{Agents, Config, ProjectEntry};
use skill::Identifier;
use skill_fs::AbsPath;
use term::{ErrorFormat, Failure, HelpText, safe_line};

use crate::commands::shell_init::{Shell, install};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::report;
use crate::projects::canonical;

const HELP: HelpText = HelpText {
    text: "\
Creates a config file with your preferences. csk needs none: without one it uses its own folder for repositories and \
the agents it finds on this machine. In a terminal, csk prompts for values not set by flags; otherwise it uses only the \
flags. An existing config is replaced only after confirmation, or with --force.

Reads:  stdin
Writes: ~/.cocoaskills/config.json (or the file in CSK_CONFIG); with --shell-hook install, your shell's startup file",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("a value is missing or invalid, or a config already exists"),
    ],
    examples: &[
        "csk bootstrap",
        "csk bootstrap --agents claude_code,codex_cli",
        "csk bootstrap --skills-root ~/agents/skills --agents claude_code,codex_cli",
        "csk bootstrap --skills-root ~/skills --locale ru --project demo=~/projects/demo",
    ],
};

/// Create the config file, interactively or from flags
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct BootstrapArgs {
    /// Folder that contains the skill repositories [default: a folder of csk's own]
    #[arg(long, value_name = "DIR")]
    skills_root: Option<String>,
    /// Default locale for projects that do not set one
    #[arg(long)]
    locale: Option<String>,
    /// Default agents for projects that do not set any
    #[arg(long, value_delimiter = ',', value_name = "AGENT,…")]
    agents: Option<Vec<String>>,
    /// Project to add; may be repeated
    #[arg(long = "project", value_name = "ALIAS=PATH")]
    projects: Vec<String>,
    /// Print or install the shell hook that adds skill commands to PATH, or skip it
    #[arg(long, value_name = "ACTION")]
    shell_hook: Option<Hook>,
    /// Replace an existing config
    #[arg(long)]
    force: bool,
}

impl BootstrapArgs {
    /// Returns true if no flag sets a value.
    fn is_empty(&self) -> bool {
        self.locale.is_none() && self.agents.is_none() && self.projects.is_empty()
    }
}

/// What to do with the shell hook. Doc comments on the variants would show up in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Hook {
    Print,
    Install,
    Skip,
}

pub(crate) fn bootstrap(context: &mut Context, args: &BootstrapArgs) -> anyhow::Result<ExitCode> {
    let is_interactive = io::stdin().is_terminal();
    let path = context.config_path.clone();
    if std::fs::symlink_metadata(path.as_path()).is_ok() && !args.force {
        let question = format!("{path} already exists. Replace it? [y/N] ");
        let is_confirmed = is_interactive
            && matches!(ask(context, &question)?.to_lowercase().as_str(), "y" | "yes");
        if !is_confirmed {
            return Err(Failure::usage(format!("`{path}` already exists; it was not changed"))
                .with_hint("edit the file, or use --force to replace it")
                .into());
        }
    }
    let root = match (&args.skills_root, is_interactive) {
        (Some(root), _) => Some(folder(context, root)?),
        (None, true) => ask_until(context, ROOT_QUESTION, |context, answer| match answer {
            "" => Ok(None),
            answer => folder(context, answer).map(Some),
        })?,
        (None, false) if args.is_empty() => {
            return Err(Failure::usage(
                "nothing to write: csk cannot prompt, because stdin is not a terminal",
            )
            .with_hint(
                "for example, run `csk bootstrap --skills-root ~/skills --agents claude_code`",
            )
            .into());
        }
        (None, false) => None,
    };
    let mut config = Config::new(root.clone().unwrap_or_else(|| context.own_repositories()));
    config.owns_repositories = root.is_none();
    let locale = match (&args.locale, is_interactive) {
        (Some(locale), _) => locale.clone(),
        (None, true) => ask(context, "Preferred locale (leave empty for none): ")?,
        (None, false) => String::new(),
    };
    config.preferred_locale = Some(locale).filter(|locale| !locale.is_empty());
    config.default_agents = match (&args.agents, is_interactive) {
        (Some(agents), _) => check_agents(agents.iter().map(String::as_str))?,
        (None, true) => ask_until(context, "Default agents (comma-separated): ", |_, answer| {
            check_agents(answer.split(',').map(str::trim))
        })?,
        (None, false) => Vec::new(),
    };
    for project in &args.projects {
        if let Some((alias, entry)) = project_entry(context, project)?
            && config.projects.insert(alias.clone(), entry).is_some()
        {
            return Err(Failure::usage(format!("duplicate project alias `{alias}`")).into());
        }
    }
    while is_interactive && args.projects.is_empty() {
        let question = "Project as ALIAS=PATH (leave empty to finish): ";
        match ask_until(context, question, project_entry)? {
            Some((alias, entry)) => config.projects.insert(alias, entry),
            None => break,
        };
    }
    let hook = match (args.shell_hook, is_interactive) {
        (Some(hook), _) => hook,
        (None, true) => ask_until(context, HOOK_QUESTION, |_, answer| parse_hook(answer))?,
        (None, false) => Hook::Skip,
    };
    context.save_new(&config)?;
    context.ui.done(&format!("wrote {}\n", safe_line(path.as_str())))?;
    shell_hook(context, hook)?;
    Ok(ExitCode::Done)
}

const ROOT_QUESTION: &str = "Folder for skill repositories (leave empty for csk's own): ";

const HOOK_QUESTION: &str =
    "Shell hook to add skill commands to PATH: print, install or skip [print]: ";

fn parse_hook(answer: &str) -> anyhow::Result<Hook> {
    match answer.to_lowercase().as_str() {
        "" | "p" | "print" => Ok(Hook::Print),
        "i" | "install" => Ok(Hook::Install),
        "s" | "skip" => Ok(Hook::Skip),
        other => Err(Failure::usage(format!(
            "invalid answer `{other}`: expected print, install or skip"
        ))
        .into()),
    }
}

/// Prints how to set up the shell hook, or installs it.
fn shell_hook(context: &mut Context, hook: Hook) -> anyhow::Result<()> {
    let shell = context.shell.as_deref().and_then(Shell::of_path);
    match (hook, shell) {
        (Hook::Skip, _) => Ok(()),
        (Hook::Install, Some(shell)) => install(context, shell),
        (Hook::Install, None) => Err(Failure::usage(
            "the config was written, but csk has no hook for the shell in $SHELL",
        )
        .with_hint("run `csk shell-init SHELL --install`")
        .into()),
        (Hook::Print, shell) => {
            let (line, file) = shell.unwrap_or(Shell::Bash).startup_line();
            let file = file.map_or_else(String::new, |file| format!(" to ~/{file}"));
            Ok(context.ui.done(&format!(
                "to add skill commands to PATH, add this line{file}:\n  {line}\n"
            ))?)
        }
    }
}

fn check_agents<'a>(ids: impl Iterator<Item = &'a str>) -> anyhow::Result<Vec<String>> {
    let agents = Agents::default();
    let ids: Vec<String> = ids.filter(|id| !id.is_empty()).map(str::to_owned).collect();
    match ids.iter().find(|id| agents.find(id).is_none()) {
        None => Ok(ids),
        Some(id) => {
            let failure = Failure::usage(format!("unknown agent `{id}`"));
            Err(match agents.nearest(id) {
                Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                None => failure,
            }
            .into())
        }
    }
}

/// Parses `ALIAS=PATH`; empty text is `None`.
fn project_entry(
    context: &Context,
    text: &str,
) -> anyhow::Result<Option<(Identifier, ProjectEntry)>> {
    if text.is_empty() {
        return Ok(None);
    }
    let (alias, path) = text
        .split_once('=')
        .ok_or_else(|| Failure::usage(format!("invalid project `{text}`: expected ALIAS=PATH")))?;
    let alias = Identifier::new(alias.trim())
        .map_err(|error| Failure::usage(format!("invalid alias `{alias}`: {error}")))?;
    let path = folder(context, path.trim())?;
    if !path.as_path().is_dir() {
        return Err(Failure::usage(format!("folder `{path}` does not exist")).into());
    }
    let entry = ProjectEntry {
        path: canonical(&path),
        agents: Vec::new(),
        project_alias: alias.clone(),
        checkout_alias: alias.clone(),
    };
    Ok(Some((alias, entry)))
}

fn folder(context: &Context, text: &str) -> anyhow::Result<AbsPath> {
    match (text.strip_prefix("~/"), &context.user_home) {
        _ if text.is_empty() => Err(Failure::usage("a folder is required").into()),
        (_, Some(home)) if text == "~" => Ok(home.clone()),
        (Some(rest), Some(home)) => Ok(home.join(rest)),
        _ => Ok(context.cwd.join(text)),
    }
    .and_then(|path| {
        let is_file = path.as_path().exists() && !path.as_path().is_dir();
        if is_file {
            Err(Failure::usage(format!("`{path}` is not a folder")).into())
        } else {
            Ok(path)
        }
    })
}

/// Prompts until `read` accepts the answer.
fn ask_until<T>(
    context: &mut Context,
    question: &str,
    read: impl Fn(&Context, &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    loop {
        let answer = ask(context, question)?;
        match read(context, &answer) {
            Ok(value) => return Ok(value),
            Err(error) => report(&error).print(&mut context.ui, ErrorFormat::Text),
        };
    }
}

fn ask(context: &mut Context, question: &str) -> anyhow::Result<String> {
    context.ui.error(question)?;
    let mut answer = String::new();
    if io::stdin().lock().read_line(&mut answer)? == 0 {
        return Err(Failure::usage("no answer given; nothing was written").into());
    }
    Ok(answer.trim().to_owned())
}
