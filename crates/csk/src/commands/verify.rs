//! `csk verify`: verifies installed files byte for byte.

use csk_core::operations::verify as verify_all;
use serde_json::json;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, select};

const HELP: HelpText = HelpText {
    text: "\
Verifies byte for byte that the installed files match their commits. It checks skills, agent entries, command files, \
env files, install markers, and Skillfile.lock if there is one. It reads every file and rebuilds every skill from git \
objects, without trusting any cache. It changes nothing.

Reads:  config.json, Skillfile.json, Skillfile.lock, the repositories under skills_root, all installed files
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("everything matches"),
        ExitCode::Failed.when("at least one file differs, or a project cannot be read"),
        ExitCode::Usage.when("usage or configuration error, or there is a single target and one of its files is malformed"),
    ],
    examples: &[
        "csk verify",
        "csk verify --all --json",
    ],
};

/// Verify that installed files match their commits, byte for byte
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    selection: Selection,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn verify(context: &mut Context, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let selected = select(context, &config, &args.selection)?;
    let environment = context.environment(&config);
    let mut is_ok = !selected.failed;
    let mut projects = Vec::new();
    for (target, found) in selected.targets.iter().zip(verify_all(&environment, &selected.targets))
    {
        let alias = safe_line(&target.alias).into_owned();
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                is_ok = false;
                let error = error.to_string();
                projects.push(json!({ "alias": target.alias, "path": target.root.as_str(), "skills": [], "problems": [error] }));
                context.ui.error(&format!("{alias}: {}\n", safe_line(&error)))?;
                continue;
            }
        };
        is_ok &= found.is_ok();
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
        context.ui.json(&json!({ "version": 1, "ok": is_ok, "projects": projects }))?;
    }
    Ok(ExitCode::failed_if(!is_ok))
}
