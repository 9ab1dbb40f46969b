//! `openskills enable` and `openskills disable`: switches skills on and off.

use term::{HelpText, safe_line};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{SwitchJson, SwitchedJson, VERSION};

const DISABLE_HELP: HelpText = HelpText {
    text: "\
A skill that is switched off is in no list and no prompt, and cannot be activated. A name
switches off every skill of that name, wherever it is; an id (`openskills list --all` shows
them) only the one.

Reads:  the folders of skills (see `openskills discover --help`)
Writes: disabled-skills.json in the state folder",
    exit_codes: &[
        ExitCode::Done.when("done, or it was so already"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill"),
    ],
    examples: &["openskills disable pdf", "openskills disable project/pdf"],
};

const ENABLE_HELP: HelpText = HelpText {
    text: "\
Reads:  the folders of skills (see `openskills discover --help`)
Writes: disabled-skills.json in the state folder",
    exit_codes: &[
        ExitCode::Done.when("done, or it was so already"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill"),
    ],
    examples: &["openskills enable pdf"],
};

/// Switch skills off
#[derive(Debug, clap::Args)]
#[command(after_help = DISABLE_HELP)]
pub(crate) struct DisableArgs {
    /// Names or ids
    #[arg(value_name = "NAME", required = true, add = term::names(crate::completion::skills))]
    names: Vec<String>,
    #[command(flatten)]
    switch: SwitchArgs,
}

/// Switch skills on again
#[derive(Debug, clap::Args)]
#[command(after_help = ENABLE_HELP)]
pub(crate) struct EnableArgs {
    /// Names or ids
    #[arg(value_name = "NAME", required = true, add = term::names(crate::completion::disabled_skills))]
    names: Vec<String>,
    #[command(flatten)]
    switch: SwitchArgs,
}

#[derive(Debug, clap::Args)]
struct SwitchArgs {
    /// Write it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn disable(context: &mut Context, args: &DisableArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.switch.discovery.discover(context)?;
    // A slip in the last name must not leave the first ones switched off.
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
    tell(context, &args.switch, skills)
}

pub(crate) fn enable(context: &mut Context, args: &EnableArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.switch.discovery.discover(context)?;
    let mut skills = Vec::new();
    for name in &args.names {
        let changed = runtime.enable_skill(name)?;
        skills.push(SwitchedJson { name: name.clone(), enabled: true, changed });
    }
    tell(context, &args.switch, skills)
}

fn tell(
    context: &mut Context,
    args: &SwitchArgs,
    skills: Vec<SwitchedJson>,
) -> anyhow::Result<ExitCode> {
    if args.json {
        context.ui.json(&SwitchJson { version: VERSION, skills })?;
        return Ok(ExitCode::Done);
    }
    for skill in skills {
        let state = if skill.enabled { "on" } else { "off" };
        let told = if skill.changed {
            format!("switched {state}")
        } else {
            format!("was switched {state} already")
        };
        context.ui.done(&format!("{} {told}\n", safe_line(&skill.name)))?;
    }
    Ok(ExitCode::Done)
}
