//! `openskills mcp list` and `sync`: shows the configured MCP servers, and updates their lists of skills.

use jiff::Timestamp;
use openskills_runtime::{
    Places, RuntimeError, ServerAddress, SkillServer, SkillServers, SyncChange, SyncedSkills,
    rfc3339, shell_word,
};
use skill::nearest;
use term::{HelpText, counted, headed_table, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::mcp::list_skills;
use crate::output::{McpServerJson, McpServersJson, McpSyncJson, McpSyncedJson, VERSION};

/// Shown instead of an empty list.
const NO_SERVERS: &str = "no MCP servers; add one with `openskills mcp add`\n";

const LIST_HELP: HelpText = HelpText {
    text: "\
Reads:  mcp.json; each server's stored list
Writes: nothing; no server is contacted",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.usual()],
    examples: &["openskills mcp list", "openskills mcp list --json"],
};

/// List the configured MCP servers
#[derive(Debug, clap::Args)]
#[command(after_help = LIST_HELP)]
pub(super) struct ListArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

const SYNC_HELP: HelpText = HelpText {
    text: "\
Requests the current list from each server, and each skill that you added by URI. Skills that
changed need your approval again. Files are fetched later, when something reads them.

Reads:  mcp.json
Writes: each server's list, in the state folder",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("a server does not respond; its previous list is kept"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such server"),
    ],
    examples: &["openskills mcp sync", "openskills mcp sync docs --json"],
};

/// Update the skill lists of MCP servers
#[derive(Debug, clap::Args)]
#[command(after_help = SYNC_HELP)]
pub(super) struct SyncArgs {
    /// Labels of the servers to contact [default: all servers]
    #[arg(value_name = "LABEL", add = term::names(crate::completion::servers))]
    labels: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Fetches the current list of a server.
pub(super) fn fetch_list(server: &SkillServer) -> Result<SyncedSkills, RuntimeError> {
    let failed =
        |message| RuntimeError::Server { server: server.label.clone(), message, hint: None };
    let listed = list_skills(server).map_err(failed)?;
    Ok(SyncedSkills::read(&server.label, &listed, Timestamp::now()))
}

/// Prints how many skills a server provides, what changed, and which skills were rejected.
pub(super) fn print_synced(
    context: &mut Context,
    label: &str,
    synced: &SyncedSkills,
    changes: &[SyncChange],
) -> std::io::Result<()> {
    context.ui.done(&format!("{label}: {}\n", counted(synced.len(), "skill")))?;
    for change in changes {
        let (uri, kind) = change.parts();
        let more =
            if kind == "changed" { "; if it was approved, it needs approval again" } else { "" };
        context.ui.done(&format!("  {}: {kind}{more}\n", safe_line(uri)))?;
    }
    for (uri, reason) in &synced.refused {
        context.ui.error(&format!(
            "warning: rejected {}: {}\n",
            safe_line(uri),
            safe_line(reason)
        ))?;
    }
    Ok(())
}

/// Returns the address of a server as text: its URL or its command.
fn address_text(address: &ServerAddress) -> String {
    match address {
        ServerAddress::Command { command, .. } => {
            command.iter().map(|part| shell_word(part).to_string()).collect::<Vec<_>>().join(" ")
        }
        ServerAddress::Url { url, .. } => url.clone(),
    }
}

pub(super) fn list(context: &mut Context, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let mut servers = Vec::new();
    for SkillServer { label, address, skills } in SkillServers::load(&places)?.iter() {
        let synced = SyncedSkills::load(places.state.as_ref(), &label)?;
        servers.push(McpServerJson {
            address: address_text(&address),
            skills: synced.as_ref().map(SyncedSkills::len),
            refused: synced.as_ref().map(|synced| synced.refused.len()),
            requested_uris: skills.into_iter().collect(),
            synced_at: synced.map(|synced| rfc3339(synced.synced_at)),
            label,
        });
    }
    if args.json {
        context.ui.json(&McpServersJson { version: VERSION, servers })?;
        return Ok(ExitCode::Done);
    }
    if servers.is_empty() {
        context.ui.error(NO_SERVERS)?;
        return Ok(ExitCode::Done);
    }
    let head = ["LABEL", "SKILLS", "LAST SYNC", "SERVER"];
    let row = |server: &McpServerJson| {
        let refused = server.refused.filter(|count| *count > 0);
        let refused = refused.map_or_else(String::new, |count| format!(" ({count} rejected)"));
        let skills = server.skills.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let skills = skills + &refused;
        let synced_at = server.synced_at.clone().unwrap_or_else(|| "never".to_owned());
        vec![server.label.clone(), skills, synced_at, server.address.clone()]
    };
    let rows: Vec<Vec<String>> = servers.iter().map(row).collect();
    context.ui.out(&headed_table(&head, &rows, context.ui.width))?;
    for McpServerJson { label, requested_uris, .. } in &servers {
        for uri in requested_uris {
            context.ui.out(&format!("skill added by URI from {label}: {}\n", safe_line(uri)))?;
        }
    }
    Ok(ExitCode::Done)
}

/// Returns the error for an unknown label.
pub(super) fn unknown_server(label: &str, servers: &SkillServers) -> RuntimeError {
    let labels: Vec<String> = servers.iter().map(|server| server.label).collect();
    let nearest = nearest(label, labels.iter().map(String::as_str));
    RuntimeError::ServerNotFound { label: label.to_owned(), nearest: nearest.map(str::to_owned) }
}

pub(super) fn sync(context: &mut Context, args: &SyncArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let servers = SkillServers::load(&places)?;
    let selected: Vec<SkillServer> = if args.labels.is_empty() {
        servers.iter().collect()
    } else {
        let get =
            |label: &String| servers.get(label).ok_or_else(|| unknown_server(label, &servers));
        args.labels.iter().map(get).collect::<Result<_, _>>()?
    };
    if selected.is_empty() && !args.json {
        context.ui.error(NO_SERVERS)?;
    }
    let mut results = Vec::new();
    let mut has_failed = false;
    for server in selected {
        let label = server.label.clone();
        let result = fetch_list(&server).and_then(|synced| {
            let _lock = SkillServers::lock(&places)?;
            if SkillServers::load(&places)?.get(&label).as_ref() != Some(&server) {
                let message = "it was removed or replaced by another command".to_owned();
                return Err(RuntimeError::Server { server: label.clone(), message, hint: None });
            }
            let changes = synced.replace(places.state.as_ref(), &label)?;
            Ok((synced, changes))
        });
        match result {
            Ok((synced, changes)) if args.json => {
                results.push(McpSyncJson::done(&label, &synced, &changes));
            }
            Ok((synced, changes)) => print_synced(context, &label, &synced, &changes)?,
            Err(error) => {
                has_failed = true;
                if args.json {
                    results.push(McpSyncJson::failed(&label, &error));
                } else {
                    context.ui.error(&format!("error: {}\n", safe_line(&error.to_string())))?;
                }
            }
        }
    }
    if args.json {
        context.ui.json(&McpSyncedJson { version: VERSION, servers: results })?;
    }
    Ok(if has_failed { ExitCode::Invalid } else { ExitCode::Done })
}
