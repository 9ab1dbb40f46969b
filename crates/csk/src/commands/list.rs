//! `csk list`: lists the configured projects and their declared skills.

use csk_core::project::Checkout;
use serde_json::{Value, json};
use skill::Identifier;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{ProjectLocation, SkillfileState, checkout_of, read_skillfile};

const HELP: HelpText = HelpText {
    text: "\
Lists the configured projects and the skills they declare. skills_root does not need to exist.

Reads:  config.json, each project's Skillfile.json
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a project's Skillfile.json is malformed; the others are listed"),
        ExitCode::Usage.usual(),
    ],
    examples: &["csk list", "csk list --paths", "csk list --json"],
};

/// List the configured projects
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ListArgs {
    /// Print aliases and paths
    #[arg(long)]
    paths: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn list(context: &mut Context, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let mut failed = false;
    let mut projects: Vec<Value> = Vec::new();
    for (alias, entry) in &config.projects {
        let mut skills = Vec::new();
        let mut declared = None;
        let mut state = "ok";
        match read_skillfile(&entry.path, &config) {
            SkillfileState::Valid { file, .. } => {
                (skills, declared) = (file.skills, file.project_alias);
            }
            SkillfileState::Missing => state = "no Skillfile.json",
            SkillfileState::Invalid { text, problems } => {
                failed = true;
                state = "malformed Skillfile.json";
                context.ui.problems(&text, &problems)?;
            }
        }
        let location = ProjectLocation {
            alias: Some(alias.clone()),
            root: entry.path.clone(),
            agents: entry.agents.clone(),
        };
        let found = checkout_of(&location, declared.as_ref(), &config);
        let declared: Vec<String> = skills
            .iter()
            .map(|skill| {
                format!("{} {} {}", skill.name, skill.reference.kind.as_str(), skill.reference.name)
            })
            .collect();
        if args.json {
            projects.push(json!({
                "alias": alias.as_str(), "projectAlias": found.project_alias,
                "checkoutAlias": found.checkout_alias, "path": entry.path.as_str(),
                "state": state, "skills": declared,
            }));
            continue;
        }
        context.ui.out(&heading(alias, &found, args, state))?;
        for skill in declared {
            context.ui.out(&format!("  {}\n", safe_line(&skill)))?;
        }
    }
    if args.json {
        context.ui.json(&json!({ "version": 1, "projects": projects }))?;
    }
    Ok(ExitCode::failed_if(failed))
}

fn heading(alias: &Identifier, found: &Checkout, args: &ListArgs, state: &str) -> String {
    if args.paths {
        let missing = if found.root.as_path().is_dir() { "" } else { " (missing)" };
        let path = safe_line(found.root.as_str()).into_owned();
        return format!(
            "project_alias={} checkout_alias={} path={path}{missing}\n",
            found.project_alias, found.checkout_alias
        );
    }
    let note = if state == "ok" { String::new() } else { format!(" ({state})") };
    format!("{alias}{note}\n")
}
