//! `openskills mcp remove`: removes an MCP server, or skills that were added by their URIs.

use openskills_runtime::{
    DropSummary, Places, RuntimeError, SkillServer, SkillServers, SyncedSkills,
};
use skill::ByteSize;
use skill::nearest;
use term::{HelpText, counted, safe_line};

use super::add::parse_skill_uri;
use super::servers::unknown_server;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Removes the server, its skills and their cached files. Approvals of the skills are kept, and apply
again if you add the server under the same label; `openskills approvals revoke` revokes them.

With --skill, openskills keeps the server and only stops requesting that skill. A skill that is also
in the server's list stays listed.

Reads:  mcp.json; the server's stored list
Writes: mcp.json; deletes the server's stored list and cached files",
    exit_codes: &[
        ExitCode::Done.when("removed"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such server, or no skill with this URI was added to it"),
    ],
    examples: &[
        "openskills mcp remove docs",
        "openskills mcp remove docs --skill skill://docs/pdf/SKILL.md",
    ],
};

/// Remove an MCP server and its skills
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct RemoveArgs {
    /// Server label
    #[arg(value_name = "LABEL", add = term::names(crate::completion::servers))]
    label: String,
    /// Keep the server and remove only the skill added with this URI; can be repeated
    #[arg(
        long = "skill",
        value_name = "URI",
        value_parser = parse_skill_uri,
        add = term::names(crate::completion::server_skills)
    )]
    skills: Vec<String>,
}

pub(super) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let label = &args.label;
    let _lock = SkillServers::lock(&places)?;
    let mut servers = SkillServers::load(&places)?;
    let server = servers.get(label).ok_or_else(|| unknown_server(label, &servers))?;
    if !args.skills.is_empty() {
        return remove_skills(context, &places, servers, server, &args.skills);
    }
    // The server is removed last, so that the command can be repeated after the process was killed.
    let dropped = DropSummary::server(&places, label)?;
    servers.remove(label);
    servers.save(&places)?;
    let line = format!("removed {}: {}\n", safe_line(label), summary(&dropped));
    context.ui.done(&line)?;
    Ok(ExitCode::Done)
}

fn remove_skills(
    context: &mut Context,
    places: &Places,
    mut servers: SkillServers,
    mut server: SkillServer,
    uris: &[String],
) -> anyhow::Result<ExitCode> {
    for uri in uris {
        if !server.skills.remove(uri) {
            let nearest = nearest(uri, server.skills.iter().map(String::as_str));
            return Err(RuntimeError::ServedSkillNotFound {
                server: server.label,
                uri: uri.clone(),
                nearest: nearest.map(str::to_owned),
            }
            .into());
        }
    }
    let label = server.label.clone();
    // The next sync replaces an unreadable list.
    let synced = SyncedSkills::load(places.state.as_ref(), &label).ok().flatten();
    let dropped = match synced {
        Some(mut synced) => synced.drop_unlisted(places, &label, uris)?,
        None => DropSummary::default(),
    };
    servers.add(server);
    servers.save(places)?;
    for uri in uris {
        context.ui.done(&format!("{} is no longer requested from {label}\n", safe_line(uri)))?;
    }
    context.ui.done(&format!("removed {}\n", summary(&dropped)))?;
    Ok(ExitCode::Done)
}

fn summary(dropped: &DropSummary) -> String {
    let DropSummary { skills, files, bytes } = dropped;
    let (skills, files) = (counted(*skills, "skill"), counted(*files, "cached file"));
    format!("{skills}, {files} ({})", ByteSize(*bytes))
}
