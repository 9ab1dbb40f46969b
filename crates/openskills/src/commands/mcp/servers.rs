//! `openskills mcp list|sync`: the MCP servers whose skills are listed, and what they serve now.

use jiff::Timestamp;
use openskills_runtime::{
    KeptSkills, Places, RuntimeError, ServerAddress, SkillServer, SkillServers, SyncChange,
    rfc3339, shell_word,
};
use skill::nearest;
use term::{HelpText, counted, headed_table, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::mcp::list_skills;
use crate::output::{McpServerJson, McpServersJson, McpSyncJson, McpSyncedJson, VERSION};

const LIST_HELP: HelpText = HelpText {
    text: "\
Reads:  mcp.json, and what each server listed
Writes: nothing; no server is asked",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.when("the configuration is wrong")],
    examples: &["openskills mcp list", "openskills mcp list --json"],
};

/// Show the MCP servers whose skills are listed
#[derive(Debug, clap::Args)]
#[command(after_help = LIST_HELP)]
pub(super) struct ListArgs {
    /// Write it as JSON
    #[arg(long)]
    pub(super) json: bool,
}

const SYNC_HELP: HelpText = HelpText {
    text: "\
Asks servers what they serve now: their list, and each skill that was added by its URI. A skill
that changed needs your approval again. Files are fetched later, when something reads them.

Reads:  mcp.json
Writes: what each server lists, in the state folder",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("a server does not answer; what it listed before stays"),
        ExitCode::Usage.when("the configuration is wrong"),
        ExitCode::NotFound.when("there is no such server"),
    ],
    examples: &["openskills mcp sync", "openskills mcp sync docs --json"],
};

/// Ask MCP servers what skills they serve now
#[derive(Debug, clap::Args)]
#[command(after_help = SYNC_HELP)]
pub(super) struct SyncArgs {
    /// The labels of servers; all of them by default
    #[arg(value_name = "LABEL", add = term::names(crate::completion::servers))]
    labels: Vec<String>,
    /// Write it as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks a server what it serves.
pub(super) fn ask(server: &SkillServer) -> Result<KeptSkills, RuntimeError> {
    let failed =
        |message| RuntimeError::Server { server: server.label.clone(), message, hint: None };
    let listed = list_skills(server).map_err(failed)?;
    Ok(KeptSkills::read(&server.label, &listed, Timestamp::now()))
}

/// Reports what a server serves, and what is not taken of it.
pub(super) fn tell(
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
    for SkillServer { label, address, skills } in SkillServers::load(&places)?.iter() {
        let kept = KeptSkills::load(places.state.as_ref(), &label)?;
        servers.push(McpServerJson {
            address: reached(&address),
            skills: kept.as_ref().map(KeptSkills::len),
            refused: kept.as_ref().map(|kept| kept.refused.len()),
            asked_for: skills.into_iter().collect(),
            synced_at: kept.map(|kept| rfc3339(kept.synced_at)),
            label,
        });
    }
    if args.json {
        context.ui.json(&McpServersJson { version: VERSION, servers })?;
        return Ok(ExitCode::Done);
    }
    if servers.is_empty() {
        context.ui.error("no servers; `openskills mcp add --help` says how to add one\n")?;
        return Ok(ExitCode::Done);
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
    for McpServerJson { label, asked_for, .. } in &servers {
        for uri in asked_for {
            context.ui.out(&format!("{label} is also asked for {}\n", safe_line(uri)))?;
        }
    }
    Ok(ExitCode::Done)
}

/// Returns an error for a label that no server has.
pub(super) fn unknown(label: &str, servers: &SkillServers) -> RuntimeError {
    let labels: Vec<String> = servers.iter().map(|server| server.label).collect();
    let meant = nearest(label, labels.iter().map(String::as_str));
    RuntimeError::ServerNotFound { label: label.to_owned(), nearest: meant.map(str::to_owned) }
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
    Ok(if failed { ExitCode::Invalid } else { ExitCode::Done })
}
