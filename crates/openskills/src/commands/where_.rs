//! `openskills where`: which skill a name means, and why.

use std::sync::Arc;

use openskills_runtime::{OpenSkillRuntime, RuntimeError, Skill};
use term::{HelpText, safe_line, whole_table};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{VERSION, WhereJson};

const HELP: HelpText = HelpText {
    text: "\
Of several skills of one name, the one of the higher trust level is meant: builtin, org, user,
third_party. Inside a trust level a later place overrides an earlier one: personal, project,
nested, custom. A folder that is seen through several links is one skill.

Reads:  the folders of skills (see `openskills discover --help`)
Writes: the index, to be faster the next time",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill"),
    ],
    examples: &["openskills where pdf", "openskills where pdf --json"],
};

/// Show which skill a name means, why, and what it shadows
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct WhereArgs {
    /// A name or an id
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn where_(context: &mut Context, args: &WhereArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.discovery.discover(context)?;
    let candidates = candidates(runtime, &args.name)?;
    let meant = candidates.iter().find(|skill| skill.is_visible()).cloned();
    let why = why(&candidates);
    if args.json {
        context.ui.json(&WhereJson {
            version: VERSION,
            name: args.name.clone(),
            skill_id: meant.as_ref().map(|skill| skill.id.clone()),
            why: why.clone(),
            candidates: runtime.index_entries(&candidates),
        })?;
        return Ok(ExitCode::Done);
    }
    let head = match &meant {
        Some(skill) => format!("{} means {}: {why}", skill.name, skill.id),
        None => format!("{} means nothing: {why}", args.name),
    };
    context.ui.out(&format!("{}\n", safe_line(&head)))?;
    let row = |skill: &Arc<Skill>| {
        let state = match (&skill.shadowed_by, skill.is_enabled) {
            _ if skill.denied.is_some() => "denied by the organisation".to_owned(),
            (_, false) => "switched off".to_owned(),
            (Some(by), true) => format!("shadowed by {by}"),
            (None, true) => "used".to_owned(),
        };
        let origin = skill.provenance.as_ref().map_or_else(String::new, |from| {
            let short = &from.commit[..from.commit.len().min(7)];
            let state = match (from.has_receipt, from.is_drifted) {
                (false, _) => ", unproven: csk knows nothing of it",
                (true, true) => ", changed since",
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
    // Paths are what this is about: they are not cut.
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

/// Returns why the first of the candidates that is switched on is the one that is meant.
fn why(candidates: &[Arc<Skill>]) -> String {
    let mut enabled = candidates.iter().filter(|skill| skill.is_enabled);
    match (enabled.next(), enabled.next()) {
        (None, _) => "every skill of the name is switched off".to_owned(),
        (Some(one), _) if one.shadowed_by.is_some() => {
            format!("{} cannot be loaded", one.shadowed_by.as_deref().unwrap_or_default())
        }
        (Some(_), None) if candidates.len() == 1 => "there is no other of the name".to_owned(),
        (Some(_), None) => "every other of the name is switched off".to_owned(),
        (Some(one), Some(other)) if one.source != other.source => {
            format!("{} comes before {}", one.source, other.source)
        }
        (Some(one), Some(other)) if one.scope != other.scope => {
            format!("{} overrides {}", one.scope, other.scope)
        }
        (Some(one), Some(other)) if one.root != other.root => {
            format!("{} overrides {}", one.root, other.root)
        }
        (Some(_), Some(_)) => "its folder comes first in its root".to_owned(),
    }
}
