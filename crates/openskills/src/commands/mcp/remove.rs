//! `openskills mcp remove`: lists skills of an MCP server no longer.

use openskills_runtime::{Dropped, KeptSkills, Places, RuntimeError, SkillServer, SkillServers};
use skill::nearest;
use term::{HelpText, counted, safe_line};

use super::add::skill;
use super::servers::unknown;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Its skills are not listed any more, and what was cached of their files is removed. Approvals of
them stay, and hold if the server is added again under the same label; `openskills approvals
revoke` takes them back.

With --skill only that skill is not asked for any more; the server stays. A skill that the
server lists by itself stays listed.

Reads:  mcp.json, and what the server listed
Writes: mcp.json, and removes what the server listed and its files in the cache",
    exit_codes: &[
        ExitCode::Done.when("removed"),
        ExitCode::Usage.when("the configuration is wrong"),
        ExitCode::NotFound.when("there is no such server, or no such skill was added to it"),
    ],
    examples: &[
        "openskills mcp remove docs",
        "openskills mcp remove docs --skill skill://docs/pdf/SKILL.md",
    ],
};

/// List skills of an MCP server no longer
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct RemoveArgs {
    /// The label of the server
    #[arg(value_name = "LABEL", add = term::names(crate::completion::servers))]
    label: String,
    /// Keep the server, and do not ask it for the skill of this URI any more; may be given several times
    #[arg(long = "skill", value_name = "URI", value_parser = skill, add = term::names(crate::completion::server_skills))]
    skills: Vec<String>,
}

pub(super) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    let label = &args.label;
    let _lock = SkillServers::lock(&places)?;
    let mut servers = SkillServers::load(&places)?;
    let server = servers.get(label).ok_or_else(|| unknown(label, &servers))?;
    if !args.skills.is_empty() {
        return remove_skills(context, &places, servers, server, &args.skills);
    }
    // The server goes last: after a kill it can be removed again.
    let dropped = Dropped::server(&places, label)?;
    servers.remove(label);
    servers.save(&places)?;
    let line = format!("removed {}: {}\n", safe_line(label), words(&dropped));
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
            let meant = nearest(uri, server.skills.iter().map(String::as_str));
            return Err(RuntimeError::ServedSkillNotFound {
                server: server.label,
                uri: uri.clone(),
                nearest: meant.map(str::to_owned),
            }
            .into());
        }
    }
    let label = server.label.clone();
    // What cannot be read any more is replaced by the next sync.
    let kept = KeptSkills::load(places.state.as_ref(), &label).ok().flatten();
    let dropped = match kept {
        Some(mut kept) => kept.drop_unlisted(places, &label, uris)?,
        None => Dropped::default(),
    };
    servers.add(server);
    servers.save(places)?;
    for uri in uris {
        context.ui.done(&format!("{label} is not asked for {} any more\n", safe_line(uri)))?;
    }
    context.ui.done(&format!("removed {}\n", words(&dropped)))?;
    Ok(ExitCode::Done)
}

fn words(dropped: &Dropped) -> String {
    let Dropped { skills, files, bytes } = dropped;
    let (skills, files) = (counted(*skills, "skill"), counted(*files, "cached file"));
    format!("{skills}, {files} ({bytes} bytes)")
}
