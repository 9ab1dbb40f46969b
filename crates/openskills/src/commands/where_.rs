//! `openskills where`: shows which skill a name refers to, and why.

use std::sync::Arc;

use openskills_runtime::{OpenSkillRuntime, RuntimeError, Skill};
use term::{HelpText, safe_line, whole_table};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{VERSION, WhereJson};

const HELP: HelpText = HelpText {
    text: "\
If several skills have the same name, the one with the highest trust level is used (highest first:
builtin, org, user, third_party). Within a trust level, the location decides (highest precedence
first: custom, nested, project, personal). A folder reachable through several links counts as one
skill.

Reads:  the skill folders (see `openskills discover --help`)
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill"),
    ],
    examples: &["openskills where pdf", "openskills where pdf --json"],
};

/// Show which skill a name refers to, why, and what it shadows
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct WhereArgs {
    /// Skill name or ID
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn where_(context: &mut Context, args: &WhereArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.discovery.discover(context)?;
    let candidates = candidates(runtime, &args.name)?;
    let selected = candidates.iter().find(|skill| skill.is_visible()).cloned();
    let reason = reason(&candidates);
    if args.json {
        context.ui.json(&WhereJson {
            version: VERSION,
            name: args.name.clone(),
            skill_id: selected.as_ref().map(|skill| skill.id.clone()),
            reason: reason.clone(),
            candidates: runtime.index_entries(&candidates),
        })?;
        return Ok(ExitCode::Done);
    }
    let head = match &selected {
        Some(skill) => format!("{} refers to {}: {reason}", skill.name, skill.id),
        None => format!("{} refers to no skill: {reason}", args.name),
    };
    context.ui.out(&format!("{}\n", safe_line(&head)))?;
    let row = |skill: &Arc<Skill>| {
        let state = match (&skill.shadowed_by, skill.is_enabled) {
            _ if skill.denied.is_some() => "denied by your organization".to_owned(),
            (_, false) => "disabled".to_owned(),
            (Some(by), true) => format!("shadowed by {by}"),
            (None, true) => "selected".to_owned(),
        };
        let origin = skill.provenance.as_ref().map_or_else(String::new, |from| {
            let short = &from.commit[..from.commit.len().min(7)];
            let state = match (from.has_receipt, from.is_drifted) {
                (false, _) => ", unverified: not recorded by csk",
                (true, true) => ", changed since install",
                (true, false) => "",
            };
            format!("  ({} {} {short}{state})", from.repository, from.reference)
        });
        vec![
            format!("  {}", skill.id),
            skill.source.to_string(),
            skill.scope.to_string(),
            state,
            format!("{}{origin}", skill.path()),
        ]
    };
    // The paths are the point of this command, so they are not truncated.
    let rows: Vec<Vec<String>> = candidates.iter().map(row).collect();
    context.ui.out(&whole_table(&rows, context.ui.width))?;
    Ok(ExitCode::Done)
}

fn candidates(runtime: &OpenSkillRuntime, name: &str) -> Result<Vec<Arc<Skill>>, RuntimeError> {
    let by_id = runtime.all_skills().iter().find(|skill| skill.id == name);
    let skill = match (by_id, runtime.candidates(name).first()) {
        (Some(skill), _) | (None, Some(skill)) => skill,
        (None, None) => runtime.skill(name)?,
    };
    Ok(runtime.candidates(&skill.name).to_vec())
}

/// Returns why the first enabled candidate is selected.
fn reason(candidates: &[Arc<Skill>]) -> String {
    let mut enabled = candidates.iter().filter(|skill| skill.is_enabled);
    match (enabled.next(), enabled.next()) {
        (None, _) => "every skill with this name is disabled".to_owned(),
        (Some(first), _) if first.shadowed_by.is_some() => {
            format!("{} cannot be loaded", first.shadowed_by.as_deref().unwrap_or_default())
        }
        (Some(_), None) if candidates.len() == 1 => {
            "it is the only skill with this name".to_owned()
        }
        (Some(_), None) => "every other skill with this name is disabled".to_owned(),
        (Some(first), Some(second)) if first.source != second.source => {
            format!("{} takes precedence over {}", first.source, second.source)
        }
        (Some(first), Some(second)) if first.scope != second.scope => {
            format!("{} overrides {}", first.scope, second.scope)
        }
        (Some(first), Some(second)) if first.root != second.root => {
            format!("{} overrides {}", first.root, second.root)
        }
        (Some(_), Some(_)) => "it comes first in its skill folder".to_owned(),
    }
}
