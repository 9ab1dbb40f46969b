//! `openskills deactivate`: a skill that is active in a session restricts its tools no more.

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig};
use term::{HelpText, safe_line};

use crate::ask::{Consent, ConsentFlags};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{DeactivateJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
A skill that is active restricts the tools of its session: what it denies is denied, and a skill
that is gone or changed since it was activated denies everything. Activating an edited skill again
replaces what it was before. `deactivate` ends it without that, so tools may do more afterwards:
you are asked, and the log has it.

Reads:  what is active in the session
Writes: the same, the log",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("the call is wrong, or the skill is not active in the session"),
        ExitCode::NotAllowed.when("the answer is no"),
        ExitCode::NeedsApproval.when("confirmation required, but stdin is not a terminal"),
        ExitCode::Log.when("the log cannot be written"),
    ],
    examples: &[
        "openskills deactivate pdf --session 42",
        "openskills deactivate project-agents/pdf --session 42 --yes --json",
    ],
};

/// End what is active of a skill in a session
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DeactivateArgs {
    /// A name or an id
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// The session
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn deactivate(context: &mut Context, args: &DeactivateArgs) -> anyhow::Result<ExitCode> {
    let session_id = Some(args.session.clone());
    let mut runtime =
        OpenSkillRuntime::with_config(RuntimeConfig { session_id, ..RuntimeConfig::default() });
    let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
    let question = format!("Let tools of this session do what `{}` denies?", safe_line(&args.name));
    if !consent.agreed(&mut context.ui, &question, "nothing was changed")? {
        return Ok(ExitCode::NotAllowed);
    }
    let skill_id = runtime.deactivate(&args.name)?;
    if args.json {
        let session_id = args.session.clone();
        context.ui.json(&DeactivateJson { version: VERSION, skill_id, session_id })?;
    } else {
        context.ui.done(&format!("{} is not active any more\n", safe_line(&skill_id)))?;
    }
    Ok(ExitCode::Done)
}
