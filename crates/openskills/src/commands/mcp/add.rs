//! `openskills mcp add`: adds an MCP server and fetches its list of skills.

use openskills_runtime::{
    DropSummary, Places, RuntimeError, ServerAddress, SkillServer, SkillServers, SyncedSkills,
};
use term::{HelpText, safe_line};

use super::servers::{fetch_list, print_synced};
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Adds an MCP server to mcp.json in the configuration folder and fetches its list of skills once. From
then on, its skills are listed as LABEL/NAME. No file is fetched until you approve its skill
(`openskills approve LABEL/NAME`) and something reads the file. Each file must then match the digest
in the list, and is cached. A server's skill never takes over another skill's name.

A server may serve skills that it does not list. --skill adds such a skill by its URI, to a new
server or, if you pass only the label, to an existing one. `openskills mcp sync` requests it each
time; `openskills mcp remove LABEL --skill URI` removes it.

A server started with a COMMAND runs with your permissions, like every MCP server: only add servers
you trust. It gets the usual environment variables (HOME, PATH, LANG, ...) and those you pass with
--env. A server's URL must use https, unless the server runs on this machine; --token-env names the
environment variable that holds its token.

Reads:  mcp.json
Writes: mcp.json; the server's list, in the state folder",
    exit_codes: &[
        ExitCode::Done.when("added"),
        ExitCode::Invalid.when(
            "the server does not respond, or does not serve these skills; nothing was written",
        ),
        ExitCode::Usage.usual(),
    ],
    examples: &[
        "openskills mcp add docs -- npx -y @example/docs-server",
        "openskills mcp add team https://skills.example.com/mcp --token-env TEAM_TOKEN",
        "openskills mcp add other -- openskills mcp --dir /srv/skills",
        "openskills mcp add docs --skill skill://docs/pdf/SKILL.md",
    ],
};

/// Add an MCP server so that its skills are listed
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct AddArgs {
    /// Label for the server: lowercase letters, digits and hyphens
    #[arg(value_name = "LABEL", value_parser = parse_label, add = term::names(crate::completion::servers))]
    label: String,
    /// URL of the server
    #[arg(value_name = "URL", value_parser = parse_url, conflicts_with = "command")]
    url: Option<String>,
    /// Command that starts the server, after --
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
    /// Also add the skill with this URI, even if the server does not list it; can be repeated
    #[arg(long = "skill", value_name = "URI", value_parser = parse_skill_uri)]
    skills: Vec<String>,
    /// Environment variable to pass to COMMAND; can be repeated
    #[arg(long, value_name = "NAME", value_parser = parse_variable)]
    env: Vec<String>,
    /// Environment variable that holds the token for URL
    #[arg(long, value_name = "NAME", value_parser = parse_variable)]
    token_env: Option<String>,
    /// Do not contact the server now
    #[arg(long)]
    no_sync: bool,
    /// Replace an existing server with the same label
    #[arg(long)]
    force: bool,
}

fn parse_label(text: &str) -> Result<String, String> {
    SkillServers::check_label(text).map(|()| text.to_owned())
}

fn parse_url(text: &str) -> Result<String, String> {
    SkillServers::check_url(text).map(|()| text.to_owned())
}

pub(super) fn parse_skill_uri(text: &str) -> Result<String, String> {
    SkillServers::check_skill(text).map(|()| text.to_owned())
}

fn parse_variable(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_valid = !text.is_empty()
        && text.chars().all(is_allowed)
        && !text.starts_with(|c: char| c.is_ascii_digit());
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a valid variable name"))
    }
}

fn setup_error(message: impl Into<String>, hint: &str) -> RuntimeError {
    RuntimeError::Setup { message: message.into(), hint: Some(hint.to_owned()) }
}

/// Returns the address given on the command line; `None` if only a label is given.
fn address(args: &AddArgs) -> Result<Option<ServerAddress>, RuntimeError> {
    match &args.url {
        None if args.command.is_empty() => Ok(None),
        None if args.token_env.is_some() => Err(setup_error(
            "--token-env can only be used with a URL",
            "use --env to pass variables to COMMAND",
        )),
        None => {
            let (command, env) = (args.command.clone(), args.env.clone());
            Ok(Some(ServerAddress::Command { command, env }))
        }
        Some(_) if !args.env.is_empty() => Err(setup_error(
            "--env can only be used with a COMMAND",
            "use --token-env for the variable that holds the token",
        )),
        Some(url) => {
            let (url, token_env) = (url.clone(), args.token_env.clone());
            Ok(Some(ServerAddress::Url { url, token_env }))
        }
    }
}

/// Returns the server to save: a new one, or an existing one with additional skills.
fn server_to_save(servers: &SkillServers, args: &AddArgs) -> Result<SkillServer, RuntimeError> {
    const USAGE: &str =
        "run `openskills mcp add LABEL URL` or `openskills mcp add LABEL -- COMMAND…`";
    let label = &args.label;
    let skills = args.skills.iter().cloned();
    match (address(args)?, servers.get(label)) {
        (Some(_), Some(_)) if !args.force => {
            let hint =
                format!("pass --force to replace it, or run `openskills mcp remove {label}` first");
            Err(setup_error(format!("there is already an MCP server named `{label}`"), &hint))
        }
        (Some(address), _) => {
            let (label, skills) = (label.clone(), skills.collect());
            Ok(SkillServer { label, address, skills })
        }
        (None, _) if args.skills.is_empty() || args.force => {
            Err(setup_error("missing URL or command for the server", USAGE))
        }
        (None, None) => Err(setup_error(format!("no MCP server named `{label}`"), USAGE)),
        (None, Some(_)) if !args.env.is_empty() || args.token_env.is_some() => Err(setup_error(
            format!("cannot change the variables of the MCP server `{label}` with --skill"),
            "add the server again with --force, its URL or command, and its variables",
        )),
        (None, Some(mut server)) => {
            server.skills.extend(skills);
            Ok(server)
        }
    }
}

pub(super) fn add(context: &mut Context, args: &AddArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let label = &args.label;
    let server = server_to_save(&SkillServers::load(&places)?, args)?;
    // The process lock is not held meanwhile, so that a slow server does not block other commands.
    let synced = if args.no_sync { None } else { Some(fetch_and_check(&server, args)?) };
    let _lock = SkillServers::lock(&places)?;
    let mut servers = SkillServers::load(&places)?;
    if server_to_save(&servers, args)? != server {
        let message = format!("MCP server `{label}` was changed by another command");
        return Err(setup_error(message, "run the command again").into());
    }
    let is_known = servers.get(label).is_some_and(|known| known.address == server.address);
    if !is_known {
        // The stored list and the cached files are those of another server.
        DropSummary::server(&places, label)?;
    }
    servers.add(server);
    let file = servers.save(&places)?;
    let file = safe_line(file.as_str());
    match (args.command.is_empty() && args.url.is_none(), args.skills.as_slice()) {
        (true, uris) => {
            for uri in uris {
                context.ui.done(&format!("added {} from {label} to {file}\n", safe_line(uri)))?;
            }
        }
        (false, _) => context.ui.done(&format!("added {label} to {file}\n"))?,
    }
    let next_step = match synced {
        None => format!("to fetch its list of skills, run `openskills mcp sync {label}`\n"),
        Some(synced) => {
            let changes = synced.replace(places.state.as_ref(), label)?;
            let changes = if is_known { changes } else { Vec::new() };
            print_synced(context, label, &synced, &changes)?;
            format!(
                "to let models read a skill, run `openskills approve {label}/NAME`; \
                 until then, models cannot see any of it\n"
            )
        }
    };
    context.ui.note(&next_step)?;
    Ok(ExitCode::Done)
}

/// Fetches the server's list. Fails if a URI given with --skill was rejected.
fn fetch_and_check(server: &SkillServer, args: &AddArgs) -> Result<SyncedSkills, RuntimeError> {
    let synced = fetch_list(server)?;
    match synced.refused.iter().find(|(uri, _)| args.skills.contains(uri)) {
        None => Ok(synced),
        Some((uri, reason)) => Err(RuntimeError::Server {
            server: server.label.clone(),
            message: format!("cannot add `{uri}`: {reason}"),
            hint: Some("check the URI with the server's operator; nothing was written".to_owned()),
        }),
    }
}
