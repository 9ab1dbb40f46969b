//! `openskills activate`: prints the instructions of a skill as the model reads them.

use std::io;

use openskills_runtime::{
    ActivateOptions, Invoker, LoadedSkill, OpenSkillRuntime, RuntimeConfig, RuntimeError,
    user_invocation,
};
use skill::Severity;
use term::{DiagnosticJson, HelpText};

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::output::{ActivateJson, ResourcesJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
NAME is a name or an ID (see `openskills list --all`). /NAME invokes the skill as the user: the
slash is required for a skill that only the user may invoke, and rejected for a skill that only the
model may invoke.

ARGUMENTS replace $ARGUMENTS, $ARGUMENTS[0], $1, $2 … (starting at $0 if the skill uses $0) and
$NAME for each argument name that the skill declares. If the skill has an argument schema, pass
plain values in schema order, name=value pairs, or one JSON object; invalid arguments are rejected.
${SKILL_DIR} and ${SESSION_ID} are replaced as well. Nothing is executed: no hooks and no inline
commands. With --session, an already active skill is printed again only if it has changed.

Reads:  SKILL.md and the skill's file names; file contents, to compute the digest
Writes: the index cache; the log; with --session, the session's active skills",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the skill cannot be loaded, changed while the command ran, or needs libraries that are not installed; or the arguments are invalid"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill"),
        ExitCode::NotAllowed.when("the skill is disabled, revoked or blocked by the audit, or cannot be invoked this way"),
    ],
    examples: &[
        "openskills activate pdf",
        "openskills activate pdf --json",
        "openskills activate /review 'src/main.rs' high",
        "openskills activate project-agents/pdf --session 42",
        "openskills activate pdf --dir ./skills -- --page 3",
    ],
};

/// Print a skill's instructions, as the model sees them
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ActivateArgs {
    /// Skill name or ID; /NAME to invoke it as the user
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// Arguments for the skill
    #[arg(value_name = "ARGUMENTS")]
    arguments: Vec<String>,
    /// Session ID
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Task ID for the log
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Print the instructions even if the skill is already active in the session
    #[arg(long)]
    again: bool,
    /// Allow the skill to attach its libraries if it asks to (recorded in the log)
    #[arg(long)]
    attach: bool,
    /// Print the result as JSON, including the model, context, agent and hooks that the skill requests
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn activate(context: &mut Context, args: &ActivateArgs) -> anyhow::Result<ExitCode> {
    let config =
        RuntimeConfig { session_id: args.session.clone(), ..args.discovery.config(context)? };
    let runtime = discover(config)?;
    let (name, typed) = match user_invocation(&args.name) {
        Some((name, arguments)) => (name, arguments),
        None => (args.name.as_str(), None),
    };
    let invoker = if name.len() == args.name.len() { Invoker::Model } else { Invoker::User };
    if name.is_empty() {
        let message = "the skill name is empty".to_owned();
        let hint = Some("run `openskills list` to see all skills".to_owned());
        return Err(RuntimeError::Setup { message, hint }.into());
    }
    let words =
        typed.map(str::to_owned).into_iter().chain(args.arguments.iter().map(|word| quoted(word)));
    let words: Vec<String> = words.collect();
    let options = ActivateOptions {
        invoker,
        arguments: (!words.is_empty()).then(|| words.join(" ")),
        task_id: args.task.clone(),
        repeat: args.again,
        read_hint: None,
        attach: args.attach,
    };
    let loaded = runtime.activate(name, &options)?;
    if let Err(error) = write(context, runtime, args, &loaded) {
        // A skill whose instructions were not delivered is not active.
        runtime.forget_activation(&loaded, options.arguments.as_deref());
        return Err(error.into());
    }
    Ok(ExitCode::Done)
}

fn write(
    context: &mut Context,
    runtime: &OpenSkillRuntime,
    args: &ActivateArgs,
    loaded: &LoadedSkill,
) -> io::Result<()> {
    if args.json {
        context.ui.json(&report(loaded))?;
        return context.ui.flush();
    }
    // Problems found by discovery and problems that only the whole file shows, without duplicates.
    let discovered = runtime.skill(&loaded.id).map_or(&[][..], |skill| &skill.diagnostics);
    let more = discovered.iter().filter(|problem| !loaded.diagnostics.contains(problem));
    for problem in loaded.diagnostics.iter().chain(more) {
        if problem.severity != Severity::Note {
            context.ui.problem(problem)?;
        }
    }
    context.ui.out_text(&loaded.content)?;
    context.ui.flush()
}

fn report(loaded: &LoadedSkill) -> ActivateJson {
    let is_new = !loaded.activation.repeated;
    ActivateJson {
        version: VERSION,
        skill_id: loaded.id.clone(),
        name: loaded.name.clone(),
        description: loaded.description.clone(),
        directory: loaded.directory.clone(),
        instructions: is_new.then(|| loaded.instructions.clone()),
        content: loaded.content.clone(),
        resources: ResourcesJson {
            files: loaded.resources.files.clone(),
            more: loaded.resources.more,
        },
        requests: loaded.requests.clone(),
        arguments: loaded.arguments.clone(),
        activation: loaded.activation.clone(),
        diagnostics: loaded.diagnostics.iter().map(DiagnosticJson::from).collect(),
    }
}

/// Returns an argument quoted, so that it stays one argument when the text is split.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}
