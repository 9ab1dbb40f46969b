//! `openskills mcp add`: lists skills that another MCP server serves.

use openskills_runtime::{
    Dropped, KeptSkills, Places, RuntimeError, ServerAddress, SkillServer, SkillServers,
};
use term::{HelpText, safe_line};

use super::servers::{ask, tell};
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Adds an MCP server to mcp.json in the configuration and asks it once what skills it serves.
Those are listed from then on as LABEL/NAME. Nothing of their files is fetched before you
approve a skill (`openskills approve LABEL/NAME`) and something reads it; then each file is
held to the digest that was listed, and kept. Such a skill never takes the name of another one.

A server need not list every skill that it serves. --skill adds one by its URI: with a new
server, or with the label alone to one that was added before. `mcp sync` asks for it each time;
`openskills mcp remove LABEL --skill URI` takes it out again.

A server that is a program runs with your rights, as every MCP server does: add what you trust.
It is given the usual variables (HOME, PATH, LANG, ...) and those of --env. A server on the
network must be https, or on this machine; --token-env names the variable that holds its token.

Reads:  mcp.json
Writes: mcp.json, and what the server lists in the state folder",
    exit_codes: &[
        ExitCode::Done.when("added"),
        ExitCode::Invalid
            .when("the server does not answer, or serves no such skills; nothing was written"),
        ExitCode::Usage.usual(),
    ],
    examples: &[
        "openskills mcp add docs -- npx -y @example/docs-server",
        "openskills mcp add team https://skills.example.com/mcp --token-env TEAM_TOKEN",
        "openskills mcp add other -- openskills mcp --dir /srv/skills",
        "openskills mcp add docs --skill skill://docs/pdf/SKILL.md",
    ],
};

/// List skills that another MCP server serves
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct AddArgs {
    /// What you call the server: small letters, digits and hyphens
    #[arg(value_name = "LABEL", value_parser = label, add = term::names(crate::completion::servers))]
    label: String,
    /// Where it is on the network
    #[arg(value_name = "URL", value_parser = url, conflicts_with = "command")]
    url: Option<String>,
    /// The program that it is, after --
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
    /// Ask for the skill of this URI, too, listed or not; may be given several times
    #[arg(long = "skill", value_name = "URI", value_parser = skill)]
    skills: Vec<String>,
    /// A variable that the program is given; may be given several times
    #[arg(long, value_name = "NAME", value_parser = variable)]
    env: Vec<String>,
    /// The variable that holds the token of a server on the network
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
    /// Do not ask the server now
    #[arg(long)]
    no_sync: bool,
    /// Replace a server of the same label
    #[arg(long)]
    force: bool,
}

fn label(text: &str) -> Result<String, String> {
    SkillServers::check_label(text).map(|()| text.to_owned())
}

fn url(text: &str) -> Result<String, String> {
    SkillServers::check_url(text).map(|()| text.to_owned())
}

pub(super) fn skill(text: &str) -> Result<String, String> {
    SkillServers::check_skill(text).map(|()| text.to_owned())
}

fn variable(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_good = !text.is_empty()
        && text.chars().all(is_name)
        && !text.starts_with(|c: char| c.is_ascii_digit());
    if is_good { Ok(text.to_owned()) } else { Err(format!("`{text}` is no name of a variable")) }
}

fn wrong(message: impl Into<String>, hint: &str) -> RuntimeError {
    RuntimeError::Setup { message: message.into(), hint: Some(hint.to_owned()) }
}

/// Returns how the server is reached that was named; nothing if only its label was.
fn address(args: &AddArgs) -> Result<Option<ServerAddress>, RuntimeError> {
    match &args.url {
        None if args.command.is_empty() => Ok(None),
        None if args.token_env.is_some() => Err(wrong(
            "--token-env is for a server on the network",
            "a program is given variables by --env",
        )),
        None => {
            let (command, env) = (args.command.clone(), args.env.clone());
            Ok(Some(ServerAddress::Command { command, env }))
        }
        Some(_) if !args.env.is_empty() => Err(wrong(
            "--env is for a server that is a program",
            "the variable with the token of a server on the network is named by --token-env",
        )),
        Some(url) => {
            let (url, token_env) = (url.clone(), args.token_env.clone());
            Ok(Some(ServerAddress::Url { url, token_env }))
        }
    }
}

/// Returns the server as it is to be: a new one, or a known one that is asked for more skills.
fn wanted(servers: &SkillServers, args: &AddArgs) -> Result<SkillServer, RuntimeError> {
    const USAGE: &str =
        "run `openskills mcp add LABEL URL` or `openskills mcp add LABEL -- COMMAND…`";
    let label = &args.label;
    let skills = args.skills.iter().cloned();
    match (address(args)?, servers.get(label)) {
        (Some(_), Some(_)) if !args.force => {
            let hint = format!("replace it: --force; or remove it: openskills mcp remove {label}");
            Err(wrong(format!("there is a server `{label}` already"), &hint))
        }
        (Some(address), _) => {
            let (label, skills) = (label.clone(), skills.collect());
            Ok(SkillServer { label, address, skills })
        }
        (None, _) if args.skills.is_empty() || args.force => {
            Err(wrong("there is neither an address nor a command of the server", USAGE))
        }
        (None, None) => Err(wrong(format!("there is no MCP server `{label}` to ask"), USAGE)),
        (None, Some(_)) if !args.env.is_empty() || args.token_env.is_some() => Err(wrong(
            format!("variables of the server `{label}` are not changed by --skill"),
            "add the server anew with --force, its address or command, and its variables",
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
    let server = wanted(&SkillServers::load(&places)?, args)?;
    // Nobody else waits while the server thinks.
    let kept = if args.no_sync { None } else { Some(asked(&server, args)?) };
    let _lock = SkillServers::lock(&places)?;
    let mut servers = SkillServers::load(&places)?;
    if wanted(&servers, args)? != server {
        let message = format!("the server `{label}` was changed meanwhile");
        return Err(wrong(message, "try again").into());
    }
    let is_known = servers.get(label).is_some_and(|known| known.address == server.address);
    if !is_known {
        // What another server of that label listed is not this one's.
        Dropped::server(&places, label)?;
    }
    servers.add(server);
    let file = servers.save(&places)?;
    let file = safe_line(file.as_str());
    match (args.command.is_empty() && args.url.is_none(), args.skills.as_slice()) {
        (true, uris) => {
            for uri in uris {
                context.ui.done(&format!("added {} of {label} to {file}\n", safe_line(uri)))?;
            }
        }
        (false, _) => context.ui.done(&format!("added {label} to {file}\n"))?,
    }
    let next = match kept {
        None => format!("ask it what it serves: openskills mcp sync {label}\n"),
        Some(kept) => {
            let changes = kept.replace(places.state.as_ref(), label)?;
            let changes = if is_known { changes } else { Vec::new() };
            tell(context, label, &kept, &changes)?;
            format!(
                "nothing of them reaches a model before you approve it: openskills approve {label}/NAME\n"
            )
        }
    };
    context.ui.note(&next)?;
    Ok(ExitCode::Done)
}

/// Asks a server what it serves, and refuses URIs that it does not.
fn asked(server: &SkillServer, args: &AddArgs) -> Result<KeptSkills, RuntimeError> {
    let kept = ask(server)?;
    match kept.refused.iter().find(|(uri, _)| args.skills.contains(uri)) {
        None => Ok(kept),
        Some((uri, why)) => Err(RuntimeError::Server {
            server: server.label.clone(),
            message: format!("`{uri}` is not taken: {why}"),
            hint: Some(
                "nothing was written; check the URI with whoever runs the server".to_owned(),
            ),
        }),
    }
}
