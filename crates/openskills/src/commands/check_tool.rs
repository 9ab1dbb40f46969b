//! `openskills check-tool`: whether a skill lets a tool be called.

#![expect(clippy::disallowed_methods, reason = "the edge: standard input and the file system")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use openskills_runtime::policy::{Decision, Verdict};
use openskills_runtime::{RuntimeConfig, RuntimeError, ToolContext};
use serde_json::{Value, json};
use term::{ErrorFormat, HelpText, safe_line};

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::failure::report;
use crate::output::{CheckToolJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Holds a call to what a skill declares: `allowed-tools` and `tools.allow` are hard lists,
`disallowed-tools` and `tools.deny` beat everything. Shell commands are taken apart by bash's
grammar; what cannot be understood is denied. With --skill the call is held to that skill, else to
every skill that is active in the session.

Programs are of three kinds. A described one (git, ls, curl, `docker ps`) is allowed by its rule as
long as every option and operand is described, and asked about otherwise. A rule for a launcher
(python3, make, `npm run`, ssh) means arbitrary code: it asks, until the skill is approved exactly
as it is (`openskills approve` shows `exec: anything`). A rule for any other program allows exactly
its words; with a `*` it counts as a launcher rule. `csk` and `openskills` always ask before they
change what is trusted. docs/guide/tools.md says what is promised.

--hook reads a PreToolUse event of Claude Code on standard input and answers in its format. It only
ever narrows: a call that is allowed gets no answer, so that the user's own rules go on to hold.

Reads:  the SKILL.md of the skills, what is active in the session
Writes: the index, to be faster the next time",
    exit_codes: &[
        ExitCode::Done.when("allow, or no skill is active; with --hook: the answer, if any, is on standard output, and whatever goes wrong is code 2, which stops the call"),
        ExitCode::Invalid.when("a skill cannot be loaded"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill"),
        ExitCode::NotAllowed.when("deny"),
        ExitCode::NeedsApproval.when("ask"),
    ],
    examples: &[
        "openskills check-tool --skill pdf --tool Bash --input '{\"command\": \"git status\"}'",
        "openskills check-tool --session 42 --tool Read --input '{\"file_path\": \"/etc/passwd\"}' --json",
        "openskills check-tool --hook < event.json",
    ],
};

/// The longest event that is read.
const MAX_EVENT: u64 = 16 << 20;
/// How long a decision may take before the call is stopped: Claude Code lets it go on when a hook takes too long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Decide whether a tool may be called
#[derive(Debug, clap::Args)]
#[command(name = "check-tool", after_help = HELP)]
pub(crate) struct CheckToolArgs {
    /// The skill that calls the tool: a name or an id
    #[arg(long, value_name = "NAME", add = term::names(crate::completion::skills))]
    skill: Option<String>,
    /// The tool
    #[arg(long, value_name = "TOOL", required_unless_present = "hook")]
    tool: Option<String>,
    /// What it is called with, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    /// Read a PreToolUse event of Claude Code, and answer in its format
    #[arg(long, conflicts_with_all = ["tool", "input", "json"])]
    hook: bool,
    /// The session whose active skills count
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// A call to be judged.
struct Asked {
    tool: String,
    input: Value,
    session: Option<String>,
    cwd: PathBuf,
    project: Option<PathBuf>,
}

pub(crate) fn check_tool(context: &mut Context, args: &CheckToolArgs) -> anyhow::Result<ExitCode> {
    if args.hook {
        // Whatever goes wrong must stop the call, and only this code does.
        std::panic::set_hook(Box::new(|_| std::process::exit(i32::from(ExitCode::Usage.number()))));
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            let told = b"error: the decision takes too long, so the call is stopped\n";
            let _ = std::io::stderr().write_all(told);
            std::process::exit(i32::from(ExitCode::Usage.number()));
        });
        return match hook(context, args) {
            Ok(()) => Ok(ExitCode::Done),
            // To Claude Code only this code stops the call; any other lets it go on.
            Err(error) => {
                report(&error).print(&mut context.ui, ErrorFormat::Words);
                Ok(ExitCode::Usage)
            }
        };
    }
    let asked = from_args(context, args)?;
    let verdict = judge(context, args, &asked)?;
    let verdict = verdict.unwrap_or_else(|| Verdict {
        decision: Decision::Allow,
        because: "no skill is active".to_owned(),
        is_unlisted: false,
        is_launcher: false,
    });
    if args.json {
        let Verdict { decision, because, .. } = verdict.clone();
        context.ui.json(&CheckToolJson { version: VERSION, decision, because })?;
    } else {
        let line = format!("{}: {}", verdict.decision, verdict.because);
        context.ui.out(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(match verdict.decision {
        Decision::Allow => ExitCode::Done,
        Decision::Ask => ExitCode::NeedsApproval,
        Decision::Deny => ExitCode::NotAllowed,
    })
}

fn judge(
    context: &Context,
    args: &CheckToolArgs,
    asked: &Asked,
) -> Result<Option<Verdict>, RuntimeError> {
    let config =
        RuntimeConfig { session_id: asked.session.clone(), ..args.discovery.config(context)? };
    let runtime = discover(config)?;
    let tool_context = ToolContext {
        skill: args.skill.clone(),
        task_id: None,
        cwd: Some(asked.cwd.clone()),
        project: args.discovery.project.clone().or_else(|| asked.project.clone()),
    };
    runtime.check_tool(&tool_context, &asked.tool, &asked.input)
}

fn from_args(context: &Context, args: &CheckToolArgs) -> Result<Asked, RuntimeError> {
    let input: Value = serde_json::from_str(&args.input)
        .map_err(|error| wrong(&format!("--input is not JSON: {error}")))?;
    if !input.is_object() {
        return Err(wrong("--input is not a JSON object"));
    }
    Ok(Asked {
        tool: args.tool.clone().unwrap_or_default(),
        input,
        session: args.session.clone(),
        cwd: context.cwd.as_path().to_owned(),
        project: None,
    })
}

fn from_hook(context: &Context) -> Result<Asked, RuntimeError> {
    let mut text = String::new();
    std::io::stdin()
        .take(MAX_EVENT + 1)
        .read_to_string(&mut text)
        .map_err(|error| wrong(&format!("the event cannot be read: {error}")))?;
    if text.len() as u64 > MAX_EVENT {
        return Err(wrong(&format!("the event has more than {MAX_EVENT} bytes")));
    }
    let event: Value = serde_json::from_str(&text)
        .map_err(|error| wrong(&format!("the event is not JSON: {error}")))?;
    let field = |key: &str| event[key].as_str().map(str::to_owned);
    let tool = field("tool_name").ok_or_else(|| wrong("the event has no `tool_name`"))?;
    let cwd = match &event["cwd"] {
        Value::Null => context.cwd.as_path().to_owned(),
        Value::String(cwd) => PathBuf::from(cwd),
        _ => return Err(wrong("the event's `cwd` is not text")),
    };
    // Without a session nothing would be active, and nothing be held to anything.
    let session = field("session_id").filter(|session| !session.is_empty());
    let session = Some(session.ok_or_else(|| wrong("the event has no `session_id`"))?);
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    Ok(Asked { tool, input: event["tool_input"].clone(), session, cwd, project })
}

fn wrong(message: &str) -> RuntimeError {
    let hint = Some("`openskills check-tool --help` has examples".to_owned());
    RuntimeError::Setup { message: message.to_owned(), hint }
}

/// Answers a hook. What is allowed gets no answer: a skill can narrow, never widen. Where lists only preapprove, neither
/// does what they only do not name: Claude Code asks by itself, unless the user's own rules say otherwise.
fn hook(context: &mut Context, args: &CheckToolArgs) -> anyhow::Result<()> {
    let asked = from_hook(context)?;
    let verdict = judge(context, args, &asked)?;
    let is_told = |verdict: &Verdict| verdict.decision != Decision::Allow && !verdict.is_unlisted;
    if let Some(verdict) = verdict.filter(is_told) {
        context.ui.json_line(&json!({
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": verdict.decision.to_string(),
                "permissionDecisionReason": verdict.because,
            }
        }))?;
    }
    Ok(())
}
