//! `openskills enable` and `openskills disable`: switches skills on and off.

use std::process::ExitCode;

use term::safe_line;

use crate::context::Context;
use crate::look::Look;

const AFTER_DISABLE: &str = "\
A skill that is switched off is in no list and no prompt, and cannot be activated. A name switches off every skill of that
name, wherever it is; an id (`openskills list --all` shows them) only the one.

Reads:  the folders of skills (see `openskills discover --help`)
Writes: disabled-skills.json in the state folder

Exit codes:
  0  done, or it was so already
  2  the call or the configuration is wrong
  3  there is no such skill

Examples:
  openskills disable pdf
  openskills disable project/pdf";

const AFTER_ENABLE: &str = "\
Reads:  the folders of skills (see `openskills discover --help`)
Writes: disabled-skills.json in the state folder

Exit codes:
  0  done, or it was so already
  2  the call or the configuration is wrong
  3  there is no such skill

Examples:
  openskills enable pdf";

/// Switch skills off
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_DISABLE)]
pub(crate) struct DisableArgs {
    #[command(flatten)]
    switch: SwitchArgs,
}

/// Switch skills on again
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_ENABLE)]
pub(crate) struct EnableArgs {
    #[command(flatten)]
    switch: SwitchArgs,
}

#[derive(Debug, clap::Args)]
struct SwitchArgs {
    /// Names or ids
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    look: Look,
}

pub(crate) fn disable(context: &mut Context, args: &DisableArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.switch.look.discover()?;
    // A slip in the last name must not leave the first ones switched off.
    for name in &args.switch.names {
        if runtime.candidates(name).is_empty()
            && !runtime.all_skills().iter().any(|skill| skill.id == *name)
        {
            runtime.skill(name)?;
        }
    }
    for name in &args.switch.names {
        let is_new = runtime.disable_skill(name)?;
        let state = if is_new { "switched off" } else { "was switched off already" };
        context.ui.out(&format!("{} {state}\n", safe_line(name)))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn enable(context: &mut Context, args: &EnableArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.switch.look.discover()?;
    for name in &args.switch.names {
        let is_news = runtime.enable_skill(name)?;
        let state = if is_news { "switched on" } else { "was switched on already" };
        context.ui.out(&format!("{} {state}\n", safe_line(name)))?;
    }
    Ok(ExitCode::SUCCESS)
}
