//! `openskills mcp add|list|remove|sync`: skills that other MCP servers serve.

use std::process::ExitCode;

use jiff::Timestamp;
use openskills_runtime::{
    KeptSkills, Places, RuntimeError, ServerAddress, SkillServer, SkillServers, SyncChange,
    rfc3339, shell_word,
};
use skill::nearest;
use term::{counted, headed_table, safe_line};

use crate::context::Context;
use crate::mcp::list_skills;
use crate::output::{McpServerJson, McpServersJson, McpSyncJson, McpSyncedJson, VERSION};

const ADD_AFTER: &str = "\
Adds an MCP server to mcp.json in the configuration and asks it once what skills it serves.
Those are listed from then on as LABEL/NAME. Nothing of their files is fetched before you
approve a skill (`openskills approve LABEL/NAME`) and something reads it; then each file is
held to the digest that was listed, and kept. Such a skill never takes the name of another one.

A server that is a program runs with your rights, as every MCP server does: add what you trust.
It is given the usual variables (HOME, PATH, LANG, ...) and those of --env. A server on the
network must be https, or on this machine; --token-env names the variable that holds its token.

Reads:  mcp.json
Writes: mcp.json, and what the server lists in the state folder

Exit codes:
  0  added
  1  the server does not answer, or serves no skills; nothing was written
  2  the call or the configuration is wrong

Examples:
  openskills mcp add docs -- npx -y @example/docs-server
  openskills mcp add team https://skills.example.com/mcp --token-env TEAM_TOKEN
  openskills mcp add other -- openskills mcp --dir /srv/skills";

/// List skills that another MCP server serves
#[derive(Debug, clap::Args)]
#[command(after_help = ADD_AFTER)]
pub(super) struct AddArgs {
    /// What you call the server: small letters, digits and hyphens
    #[arg(value_name = "LABEL", value_parser = label)]
    label: String,
    /// Where it is on the network
    #[arg(value_name = "URL", value_parser = url, conflicts_with = "command")]
    url: Option<String>,
    /// The program that it is, after --
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
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

const LIST_AFTER: &str = "\
Reads:  mcp.json, and what each server listed
Writes: nothing; no server is asked

Exit codes:
  0  done
  2  the configuration is wrong

Examples:
  openskills mcp list
  openskills mcp list --json";

/// Show the MCP servers whose skills are listed
#[derive(Debug, clap::Args)]
#[command(after_help = LIST_AFTER)]
pub(super) struct ListArgs {
    /// Write it as JSON
    #[arg(long)]
    pub(super) json: bool,
}

const REMOVE_AFTER: &str = "\
Its skills are not listed any more. Approvals of them stay, and hold if the server is added
again under the same label; `openskills approvals revoke` takes them back.

Reads:  mcp.json
Writes: mcp.json, and removes what the server listed

Exit codes:
  0  removed
  2  the configuration is wrong
  3  there is no such server

Examples:
  openskills mcp remove docs";

/// List skills of an MCP server no longer
#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE_AFTER)]
pub(super) struct RemoveArgs {
    /// The label of the server
    #[arg(value_name = "LABEL", add = term::names(crate::known::servers))]
    label: String,
}

const SYNC_AFTER: &str = "\
Asks servers what they serve now. A skill that changed needs your approval again. Files are
fetched later, when something reads them.

Reads:  mcp.json
Writes: what each server lists, in the state folder

Exit codes:
  0  done
  1  a server does not answer; what it listed before stays
  2  the configuration is wrong
  3  there is no such server

Examples:
  openskills mcp sync
  openskills mcp sync docs --json";

/// Ask MCP servers what skills they serve now
#[derive(Debug, clap::Args)]
#[command(after_help = SYNC_AFTER)]
pub(super) struct SyncArgs {
    /// The labels of servers; all of them by default
    #[arg(value_name = "LABEL", add = term::names(crate::known::servers))]
    labels: Vec<String>,
    /// Write it as JSON
    #[arg(long)]
    pub(super) json: bool,
}

fn label(text: &str) -> Result<String, String> {
    SkillServers::check_label(text).map(|()| text.to_owned())
}

fn url(text: &str) -> Result<String, String> {
    SkillServers::check_url(text).map(|()| text.to_owned())
}

fn variable(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_good = !text.is_empty()
        && text.chars().all(is_name)
        && !text.starts_with(|c: char| c.is_ascii_digit());
    if is_good { Ok(text.to_owned()) } else { Err(format!("`{text}` is no name of a variable")) }
}

/// Returns how the server is reached that was named.
fn address(args: &AddArgs) -> Result<ServerAddress, RuntimeError> {
    let wrong = |message: &str, hint: &str| {
        Err(RuntimeError::Setup { message: message.to_owned(), hint: Some(hint.to_owned()) })
    };
    match &args.url {
        None if args.command.is_empty() => wrong(
            "there is neither an address nor a command of the server",
            "openskills mcp add LABEL URL, or: openskills mcp add LABEL -- COMMAND…",
        ),
        None if args.token_env.is_some() => wrong(
            "--token-env is for a server on the network",
            "a program is given variables by --env",
        ),
        None => Ok(ServerAddress::Command { command: args.command.clone(), env: args.env.clone() }),
        Some(_) if !args.env.is_empty() => wrong(
            "--env is for a server that is a program",
            "the variable with the token of a server on the network is named by --token-env",
        ),
        Some(url) => Ok(ServerAddress::Url { url: url.clone(), token_env: args.token_env.clone() }),
    }
}

fn check_free(servers: &SkillServers, args: &AddArgs) -> Result<(), RuntimeError> {
    let label = &args.label;
    if servers.get(label).is_none() || args.force {
        return Ok(());
    }
    let hint = format!("replace it: --force; or remove it: openskills mcp remove {label}");
    let message = format!("there is a server `{label}` already");
    Err(RuntimeError::Setup { message, hint: Some(hint) })
}

pub(super) fn add(context: &mut Context, args: &AddArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let label = &args.label;
    let server = SkillServer { label: label.clone(), address: address(args)? };
    check_free(&SkillServers::load(&places)?, args)?;
    // Nobody else waits while the server thinks.
    let kept = if args.no_sync { None } else { Some(ask(&server)?) };
    let _lock = SkillServers::lock(&places)?;
    let mut servers = SkillServers::load(&places)?;
    check_free(&servers, args)?;
    // What another server of that label listed is not this one's.
    KeptSkills::forget(places.state.as_ref(), label)?;
    servers.add(server);
    let file = servers.save(&places)?;
    context.ui.done(&format!("added {label} to {}\n", safe_line(file.as_str())))?;
    let next = match kept {
        None => format!("ask it what it serves: openskills mcp sync {label}\n"),
        Some(kept) => {
            kept.replace(places.state.as_ref(), label)?;
            tell(context, label, &kept, &[])?;
            format!(
                "nothing of them reaches a model before you approve it: openskills approve {label}/NAME\n"
            )
        }
    };
    context.ui.note(&next)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks a server what it serves.
fn ask(server: &SkillServer) -> Result<KeptSkills, RuntimeError> {
    let failed =
        |message| RuntimeError::Server { server: server.label.clone(), message, hint: None };
    let listed = list_skills(server).map_err(failed)?;
    Ok(KeptSkills::read(&server.label, &listed, Timestamp::now()))
}

fn tell(
    context: &mut Context,
    label: &str,
    kept: &KeptSkills,
    changes: &[SyncChange],
) -> std::io::Result<()> {
    context.ui.done(&format!("{label}: {}\n", counted(kept.len(), "skill")))?;
    for change in changes {
        let (uri, word) = change.parts();
        let more =
            if word == "changed" { "; if it was approved, it needs approval again" } else { "" };
        context.ui.done(&format!("  {}: {word}{more}\n", safe_line(uri)))?;
    }
    for (uri, why) in &kept.refused {
        context.ui.error(&format!(
            "warning: {} is not listed: {}\n",
            safe_line(uri),
            safe_line(why)
        ))?;
    }
    Ok(())
}

/// Returns how a server is reached, as people read it.
fn reached(address: &ServerAddress) -> String {
    match address {
        ServerAddress::Command { command, .. } => {
            command.iter().map(|word| shell_word(word).to_string()).collect::<Vec<_>>().join(" ")
        }
        ServerAddress::Url { url, .. } => url.clone(),
    }
}

pub(super) fn list(context: &mut Context, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let mut servers = Vec::new();
    for SkillServer { label, address } in SkillServers::load(&places)?.iter() {
        let kept = KeptSkills::load(places.state.as_ref(), &label)?;
        servers.push(McpServerJson {
            address: reached(&address),
            skills: kept.as_ref().map(KeptSkills::len),
            refused: kept.as_ref().map(|kept| kept.refused.len()),
            synced_at: kept.map(|kept| rfc3339(kept.synced_at)),
            label,
        });
    }
    if args.json {
        context.ui.json(&McpServersJson { version: VERSION, servers })?;
        return Ok(ExitCode::SUCCESS);
    }
    if servers.is_empty() {
        context.ui.error("no servers; `openskills mcp add --help` says how to add one\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["LABEL", "SKILLS", "ASKED", "SERVER"];
    let row = |server: &McpServerJson| {
        let refused = server.refused.filter(|count| *count > 0);
        let refused = refused.map_or_else(String::new, |count| format!(" ({count} refused)"));
        let skills = server.skills.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let skills = skills + &refused;
        let asked = server.synced_at.clone().unwrap_or_else(|| "never".to_owned());
        vec![server.label.clone(), skills, asked, server.address.clone()]
    };
    let rows: Vec<Vec<String>> = servers.iter().map(row).collect();
    context.ui.out(&headed_table(&head, &rows, context.ui.width))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns an error for a label that no server has.
fn unknown(label: &str, servers: &SkillServers) -> RuntimeError {
    let labels: Vec<String> = servers.iter().map(|server| server.label).collect();
    let meant = nearest(label, labels.iter().map(String::as_str));
    RuntimeError::ServerNotFound { label: label.to_owned(), nearest: meant.map(str::to_owned) }
}

pub(super) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let _lock = SkillServers::lock(&places)?;
    let mut servers = SkillServers::load(&places)?;
    if !servers.remove(&args.label) {
        return Err(unknown(&args.label, &servers).into());
    }
    servers.save(&places)?;
    KeptSkills::forget(places.state.as_ref(), &args.label)?;
    context.ui.done(&format!("removed {}\n", safe_line(&args.label)))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn sync(context: &mut Context, args: &SyncArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let servers = SkillServers::load(&places)?;
    let wanted: Vec<SkillServer> = if args.labels.is_empty() {
        servers.iter().collect()
    } else {
        let get = |label: &String| servers.get(label).ok_or_else(|| unknown(label, &servers));
        args.labels.iter().map(get).collect::<Result<_, _>>()?
    };
    if wanted.is_empty() && !args.json {
        context.ui.error("no servers; `openskills mcp add --help` says how to add one\n")?;
    }
    let mut told = Vec::new();
    let mut failed = false;
    for server in wanted {
        let label = server.label.clone();
        let done = ask(&server).and_then(|kept| {
            let _lock = SkillServers::lock(&places)?;
            if SkillServers::load(&places)?.get(&label).as_ref() != Some(&server) {
                let message = "it was removed or replaced meanwhile".to_owned();
                return Err(RuntimeError::Server { server: label.clone(), message, hint: None });
            }
            let changes = kept.replace(places.state.as_ref(), &label)?;
            Ok((kept, changes))
        });
        match done {
            Ok((kept, changes)) if args.json => {
                told.push(McpSyncJson::done(&label, &kept, &changes));
            }
            Ok((kept, changes)) => tell(context, &label, &kept, &changes)?,
            Err(error) => {
                failed = true;
                if args.json {
                    told.push(McpSyncJson::failed(&label, &error));
                } else {
                    context.ui.error(&format!("error: {}\n", safe_line(&error.to_string())))?;
                }
            }
        }
    }
    if args.json {
        context.ui.json(&McpSyncedJson { version: VERSION, servers: told })?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
