//! `openskills deactivate`: ends a skill's restrictions on the tools of a session.

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig};
use term::{HelpText, safe_line};

use crate::ask::{Consent, ConsentFlags};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{DeactivateJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
An active skill restricts the tools in its session. If it was removed or changed after activation,
every tool call is denied until it is activated again. `deactivate` lifts the skill's restrictions
instead. Since this allows more tool calls, openskills asks for confirmation and records it in the
log.

Reads:  the session's active skills
Writes: the session's active skills, the log",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the skill is not active in the session"),
        ExitCode::NotAllowed.when("you declined"),
        ExitCode::NeedsApproval
            .when("confirmation required, but stdin is not a terminal or --json is given"),
        ExitCode::Log.when("the log cannot be written"),
    ],
    examples: &[
        "openskills deactivate pdf --session 42",
        "openskills deactivate project-agents/pdf --session 42 --yes --json",
    ],
};

/// Deactivate a skill in a session, lifting its tool restrictions
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DeactivateArgs {
    /// Skill name or ID
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// Session ID
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: String,
    /// Do not prompt for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn deactivate(context: &mut Context, args: &DeactivateArgs) -> anyhow::Result<ExitCode> {
    let session_id = Some(args.session.clone());
    let mut runtime =
        OpenSkillRuntime::with_config(RuntimeConfig { session_id, ..RuntimeConfig::default() });
    let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
    let question =
        format!("Lift the tool restrictions of `{}` in this session?", safe_line(&args.name));
    if !consent.confirm(&mut context.ui, &question, "nothing was changed")? {
        return Ok(ExitCode::NotAllowed);
    }
    let skill_id = runtime.deactivate(&args.name)?;
    if args.json {
        let session_id = args.session.clone();
        context.ui.json(&DeactivateJson { version: VERSION, skill_id, session_id })?;
    } else {
        context.ui.done(&format!("deactivated {}\n", safe_line(&skill_id)))?;
    }
    Ok(ExitCode::Done)
}
