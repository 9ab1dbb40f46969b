//! `openskills list`: lists skills.

use std::sync::Arc;

use openskills_runtime::{ApprovalState, Installed, OpenSkillRuntime, ServedEntry, Skill};
use term::{DiagnosticJson, HelpText, headed_table};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{InstalledJson, InstalledSkillJson, ListJson, RefusedJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Lists one skill per name: the one that the name resolves to. With --all, also lists shadowed and
disabled skills, and skills that cannot be loaded. With --installed, lists the skills installed by
`openskills install`. With --json, each entry also includes the skill's digest, so openskills reads
every file of every listed skill.

Reads:  the skill folders (see `openskills discover --help`)
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, or a given folder does not exist"),
    ],
    examples: &[
        "openskills list",
        "openskills list --dir ./skills",
        "openskills list --all --json",
        "openskills list --installed",
    ],
};

/// List available skills
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ListArgs {
    /// Include shadowed and disabled skills, and skills that cannot be loaded
    #[arg(long)]
    all: bool,
    /// List only the skills installed with `openskills install`, in all locations
    #[arg(long, conflicts_with = "all")]
    installed: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn list(context: &mut Context, args: &ListArgs) -> anyhow::Result<ExitCode> {
    if args.installed {
        return installed(context, args);
    }
    let runtime = args.discovery.discover(context)?;
    let skills = if args.all { runtime.all_skills().to_vec() } else { runtime.list_skills() };
    if args.json {
        let refused = if args.all { runtime.refused_skills() } else { &[] };
        context.ui.json(&ListJson {
            version: VERSION,
            skills: runtime.index_entries(&skills),
            refused: refused
                .iter()
                .map(|refused| RefusedJson {
                    path: refused.path.clone(),
                    root: refused.root.clone(),
                    diagnostics: refused.diagnostics.iter().map(DiagnosticJson::from).collect(),
                })
                .collect(),
        })?;
        return Ok(ExitCode::Done);
    }
    if skills.is_empty() && runtime.refused_skills().is_empty() {
        context.ui.note("no skills\n")?;
    } else {
        let (head, rows) = if args.all {
            (&["ID", "SOURCE", "STATE", "DESCRIPTION"][..], all_rows(runtime, &skills))
        } else {
            (&["NAME", "SOURCE", "DESCRIPTION"][..], rows(runtime, &skills))
        };
        context.ui.out(&headed_table(head, &rows, context.ui.width))?;
    }
    args.discovery.note_problems(context, runtime)?;
    Ok(ExitCode::Done)
}

fn installed(context: &mut Context, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let runtime = crate::discovery::runtime(args.discovery.config(context)?);
    let entry = |(path, record, is_same): (String, Installed, Option<bool>)| {
        let state = match is_same {
            Some(true) => "installed",
            Some(false) => "edited",
            None => "gone",
        };
        InstalledSkillJson { path, state: state.to_owned(), record }
    };
    let all: Vec<InstalledSkillJson> = runtime.installed()?.into_iter().map(entry).collect();
    if args.json {
        context.ui.json(&InstalledJson { version: VERSION, installed: all })?;
        return Ok(ExitCode::Done);
    }
    if all.is_empty() {
        context.ui.error("no skills installed by openskills\n")?;
        return Ok(ExitCode::Done);
    }
    let row = |one: &InstalledSkillJson| {
        let Installed { name, version, signature, .. } = &one.record;
        let signer = signature.as_ref().map_or("-", |signature| signature.signer.as_str());
        let version = version.as_deref().unwrap_or("-");
        vec![
            name.clone(),
            version.to_owned(),
            one.state.clone(),
            signer.to_owned(),
            one.path.clone(),
        ]
    };
    let head = ["NAME", "VERSION", "STATE", "SIGNED BY", "FOLDER"];
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    context.ui.out(&headed_table(&head, &rows, context.ui.width))?;
    Ok(ExitCode::Done)
}

fn rows(runtime: &OpenSkillRuntime, skills: &[Arc<Skill>]) -> Vec<Vec<String>> {
    let row =
        |skill: &Arc<Skill>| vec![skill.name.to_string(), source(runtime, skill), skill.listing()];
    skills.iter().map(row).collect()
}

fn all_rows(runtime: &OpenSkillRuntime, skills: &[Arc<Skill>]) -> Vec<Vec<String>> {
    let row = |skill: &Arc<Skill>| {
        vec![skill.id.clone(), source(runtime, skill), state(runtime, skill), skill.listing()]
    };
    let refused = runtime.refused_skills().iter().map(|refused| {
        let reason = refused.diagnostics.first().map_or("", |problem| problem.message.as_str());
        vec![refused.path.clone(), String::new(), "not loaded".to_owned(), reason.to_owned()]
    });
    skills.iter().map(row).chain(refused).collect()
}

/// Returns the trust level of a skill; for one from an MCP server, the server and whether it needs approval.
fn source(runtime: &OpenSkillRuntime, skill: &Skill) -> String {
    match runtime.served(skill) {
        None => skill.source.to_string(),
        Some(ServedEntry { server, approval, .. }) => match approval {
            ApprovalState::Approved => format!("mcp:{server}"),
            ApprovalState::Needed => format!("mcp:{server}, needs approval"),
            ApprovalState::NeededAgain => format!("mcp:{server}, changed, needs approval again"),
        },
    }
}

/// Returns the state of a skill: enabled, disabled, shadowed, or limited to one kind of caller.
fn state(runtime: &OpenSkillRuntime, skill: &Skill) -> String {
    match (&skill.shadowed_by, skill.is_enabled) {
        (_, false) => "disabled".to_owned(),
        (Some(by), true) => format!("shadowed by {by}"),
        (None, true) => match (runtime.model_may_invoke(skill), skill.user_may_invoke) {
            (true, true) => "enabled",
            (true, false) => "model only",
            (false, true) => "user only",
            (false, false) => "not invocable",
        }
        .to_owned(),
    }
}
