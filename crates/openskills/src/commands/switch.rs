//! `openskills enable` and `openskills disable`.

use term::{HelpText, safe_line};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{SwitchJson, SwitchedJson, VERSION};

const DISABLE_HELP: HelpText = HelpText {
    text: "\
A disabled skill is not listed or included in prompts, and cannot be activated. A name disables
every skill with that name; an ID (see `openskills list --all`) disables only that skill.

Reads:  the skill folders (see `openskills discover --help`)
Writes: disabled-skills.json in the state folder",
    exit_codes: &[
        ExitCode::Done.when("done, or nothing to change"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill"),
    ],
    examples: &["openskills disable pdf", "openskills disable project/pdf"],
};

const ENABLE_HELP: HelpText = HelpText {
    text: "\
Reads:  the skill folders (see `openskills discover --help`)
Writes: disabled-skills.json in the state folder",
    exit_codes: &[
        ExitCode::Done.when("done, or nothing to change"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill"),
    ],
    examples: &["openskills enable pdf"],
};

/// Disable skills
#[derive(Debug, clap::Args)]
#[command(after_help = DISABLE_HELP)]
pub(crate) struct DisableArgs {
    /// Skill names or IDs
    #[arg(value_name = "NAME", required = true, add = term::names(crate::completion::skills))]
    names: Vec<String>,
    #[command(flatten)]
    switch: SwitchArgs,
}

/// Enable disabled skills
#[derive(Debug, clap::Args)]
#[command(after_help = ENABLE_HELP)]
pub(crate) struct EnableArgs {
    /// Skill names or IDs
    #[arg(value_name = "NAME", required = true, add = term::names(crate::completion::disabled_skills))]
    names: Vec<String>,
    #[command(flatten)]
    switch: SwitchArgs,
}

#[derive(Debug, clap::Args)]
struct SwitchArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn disable(context: &mut Context, args: &DisableArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.switch.discovery.discover(context)?;
    // Checks every name first, so that a typo in the last one does not leave the others disabled.
    for name in &args.names {
        if runtime.candidates(name).is_empty()
            && !runtime.all_skills().iter().any(|skill| skill.id == *name)
        {
            runtime.skill(name)?;
        }
    }
    let mut skills = Vec::new();
    for name in &args.names {
        let changed = runtime.disable_skill(name)?;
        skills.push(SwitchedJson { name: name.clone(), enabled: false, changed });
    }
    print_result(context, &args.switch, skills)
}

pub(crate) fn enable(context: &mut Context, args: &EnableArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.switch.discovery.discover(context)?;
    let mut skills = Vec::new();
    for name in &args.names {
        let changed = runtime.enable_skill(name)?;
        skills.push(SwitchedJson { name: name.clone(), enabled: true, changed });
    }
    print_result(context, &args.switch, skills)
}

fn print_result(
    context: &mut Context,
    args: &SwitchArgs,
    skills: Vec<SwitchedJson>,
) -> anyhow::Result<ExitCode> {
    if args.json {
        context.ui.json(&SwitchJson { version: VERSION, skills })?;
        return Ok(ExitCode::Done);
    }
    for skill in skills {
        let state = if skill.enabled { "enabled" } else { "disabled" };
        let name = safe_line(&skill.name);
        let line = if skill.changed {
            format!("{state} {name}\n")
        } else {
            format!("{name} is already {state}\n")
        };
        context.ui.done(&line)?;
    }
    Ok(ExitCode::Done)
}
