//! `openskills activate`: the instructions of a skill, as a model gets to read them.

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
NAME is a name, an id (`openskills list --all` shows them), or /NAME for a skill that the user
starts. A skill that only the user may start needs the slash, one that is not for the user
refuses it.

ARGUMENTS replace $ARGUMENTS, $ARGUMENTS[0], $1, $2 … (from $0 where the skill uses $0) and the
names that the skill declares; a skill that describes its arguments by a schema takes them in
its order, as name=value or as an object of JSON, and refuses what does not fit. ${SKILL_DIR}
and ${SESSION_ID} are replaced, too. Nothing is run: neither hooks nor inline commands. With
--session, a skill that is active already is noted and not printed again, until it changes.

Reads:  the SKILL.md of the skill and the names of its files; for the digest, the files once
Writes: the index; with --session, what is active in it",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the skill cannot be loaded, has changed meanwhile, or needs libraries that are not there; or arguments do not fit"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill"),
        ExitCode::NotAllowed.when("it may not be started: switched off, or not for who asks"),
    ],
    examples: &[
        "openskills activate pdf",
        "openskills activate pdf --json",
        "openskills activate /review 'src/main.rs' high",
        "openskills activate project-agents/pdf --session 42",
        "openskills activate pdf --dir ./skills -- --page 3",
    ],
};

/// Print the instructions of a skill
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ActivateArgs {
    /// A name or an id, with a slash before it for the user
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// What the skill is to be applied to
    #[arg(value_name = "ARGUMENTS")]
    arguments: Vec<String>,
    /// The session that this belongs to
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// The task that this belongs to, for the record
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Print the instructions even if they are active in the session
    #[arg(long)]
    again: bool,
    /// Let the skill attach its libraries, if it asks for that; it is in the log
    #[arg(long)]
    attach: bool,
    /// Write everything as JSON: also model, context, agent and hooks, as data
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
        let message = "the name of the skill is empty".to_owned();
        let hint = Some("`openskills list` shows all there are".to_owned());
        return Err(RuntimeError::Setup { message, hint }.into());
    }
    let words =
        typed.map(str::to_owned).into_iter().chain(args.arguments.iter().map(|word| quoted(word)));
    let words: Vec<String> = words.collect();
    let options = ActivateOptions {
        invoker,
        arguments: (!words.is_empty()).then(|| words.join(" ")),
        task_id: args.task.clone(),
        again: args.again,
        read_by: None,
        attach: args.attach,
    };
    let loaded = runtime.activate(name, &options)?;
    if let Err(error) = write(context, runtime, args, &loaded) {
        // What did not reach its reader is not active.
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
    // What discovery noticed, and what only the whole file shows; each once.
    let known = runtime.skill(&loaded.id).map_or(&[][..], |skill| &skill.diagnostics);
    let more = known.iter().filter(|problem| !loaded.diagnostics.contains(problem));
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
        given: loaded.arguments.clone(),
        activation: loaded.activation.clone(),
        diagnostics: loaded.diagnostics.iter().map(DiagnosticJson::from).collect(),
    }
}

/// Returns a word so that it is one word again when the arguments are split.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}
