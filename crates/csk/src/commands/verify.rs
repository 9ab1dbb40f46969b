//! `csk verify`: proves that what is on disk is what was installed.

use csk_core::operations::verify as verify_all;
use serde_json::json;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, select};

const HELP: HelpText = HelpText {
    text: "\
Purpose: proves that what is installed is what its commit holds, byte for byte: skills, entries of agents, commands and \
their runtime, env files, markers, and the lock if there is one. Every file is read and every skill is built again from \
git's objects; nothing that csk remembers is believed. It changes nothing.

Reads:  config.json, Skillfile.json, Skillfile.lock, the repositories under skills_root, all that is installed
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("everything is as it should be"),
        ExitCode::Failed.when("something differs"),
        ExitCode::Usage.when("usage or configuration, or the one target's file is malformed"),
    ],
    examples: &[
        "csk verify",
        "csk verify --all --json",
    ],
};

/// Prove that what is on disk is what was installed, byte for byte
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    selection: Selection,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn verify(context: &mut Context, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let selected = select(context, &config, &args.selection)?;
    let environment = context.environment(&config);
    let mut is_good = !selected.failed;
    let mut projects = Vec::new();
    for (target, found) in selected.targets.iter().zip(verify_all(&environment, &selected.targets))
    {
        let alias = safe_line(&target.alias).into_owned();
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                is_good = false;
                let error = error.to_string();
                projects.push(json!({ "alias": target.alias, "path": target.root.as_str(), "skills": [], "problems": [error] }));
                context.ui.error(&format!("{alias}: {}\n", safe_line(&error)))?;
                continue;
            }
        };
        is_good &= found.is_good();
        if args.json {
            let skills: Vec<_> = found
                .skills
                .iter()
                .map(|(name, problems)| json!({ "name": name.as_str(), "problems": problems }))
                .collect();
            projects.push(json!({ "alias": target.alias, "path": target.root.as_str(), "skills": skills, "problems": found.problems }));
            continue;
        }
        for problem in found.notes.iter().chain(&found.problems) {
            context.ui.error(&format!("{alias}: {}\n", safe_line(problem)))?;
        }
        for (name, problems) in &found.skills {
            for problem in problems {
                context.ui.error(&format!("{alias}: {name}: {}\n", safe_line(problem)))?;
            }
            if problems.is_empty() {
                context.ui.done(&format!("{alias}: {name} verified\n"))?;
            }
        }
    }
    if args.json {
        context.ui.json(&json!({ "version": 1, "good": is_good, "projects": projects }))?;
    }
    Ok(ExitCode::failed_if(!is_good))
}
