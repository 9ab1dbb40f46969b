//! `openskills check-tool`: checks a tool call against the rules of the active skills.

#![expect(clippy::disallowed_methods, reason = "the edge: standard input and the file system")]

use std::io::Write;
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
use crate::hook::{self, HookEvent, Occasion, ToolUse};
use crate::output::{CheckToolJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Checks a tool call against what skills declare: `allowed-tools` and `tools.allow` are strict
allowlists, `disallowed-tools` and `tools.deny` always win. Shell commands are parsed with bash's
grammar; a command that cannot be parsed is denied. With --skill, the call is checked against that
skill; otherwise against every skill active in the session.

There are three kinds of programs. If openskills knows a program's options (git, ls, curl,
`docker ps`), a rule for it allows calls with known options and operands; for any other call, the
decision is `ask`. A rule for a launcher (python3, make, `npm run`, ssh) allows arbitrary code: the
decision is `ask` until this version of the skill is approved (`openskills approve` shows `exec:
anything`). A rule for any other program allows exactly the given command; with a `*` it counts as
a launcher rule. For `csk` and `openskills` calls that change what is trusted, the decision is
always `ask`. See docs/guide/tools.md for the guarantees.

--hook reads a Claude Code PreToolUse event from standard input and responds in its format. It can
only restrict: for an allowed call it prints nothing, so your own permission rules still apply. With
--enforce, command lines are rewritten so that they run in the sandbox (`openskills exec`); install
that hook with `openskills hook install claude-code`.

Reads:  the skills' SKILL.md files, the session's active skills
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.when("allow, or no skill is active; with --hook, the response, if any, is on standard output, and any failure exits with 2, which blocks the call"),
        ExitCode::Invalid.when("a skill cannot be loaded"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill"),
        ExitCode::NotAllowed.when("deny"),
        ExitCode::NeedsApproval.when("ask"),
        ExitCode::Answered.usual(),
    ],
    examples: &[
        "openskills check-tool --skill pdf --tool Bash --input '{\"command\": \"git status\"}'",
        "openskills check-tool --session 42 --tool Read --input '{\"file_path\": \"/etc/passwd\"}' --json",
        "openskills check-tool --hook < event.json",
    ],
};

/// How long a decision may take before the call is blocked. It must be shorter than Claude Code's own hook timeout,
/// after which the call would go ahead.
const DECISION_TIMEOUT: Duration = Duration::from_secs(15);

/// Check whether the active skills allow a tool call
#[derive(Debug, clap::Args)]
#[command(name = "check-tool", after_help = HELP)]
pub(crate) struct CheckToolArgs {
    /// Skill that calls the tool, by name or ID
    #[arg(long, value_name = "NAME", add = term::names(crate::completion::skills))]
    skill: Option<String>,
    /// Tool name
    #[arg(long, value_name = "TOOL", required_unless_present = "hook")]
    tool: Option<String>,
    /// Tool input, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    /// Read a Claude Code PreToolUse event from standard input and respond in its format
    #[arg(long, conflicts_with_all = ["tool", "input", "json"])]
    hook: bool,
    /// Answer every hook event of Claude Code, and rewrite command lines so that they run in the sandbox
    #[arg(long, requires = "hook", conflicts_with = "skill")]
    enforce: bool,
    /// Session whose active skills to check
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// A tool call to check.
struct ToolCall {
    tool: String,
    input: Value,
    session: Option<String>,
    cwd: PathBuf,
    project: Option<PathBuf>,
}

pub(crate) fn check_tool(context: &mut Context, args: &CheckToolArgs) -> anyhow::Result<ExitCode> {
    if args.hook {
        // Any failure must block the call, and only this exit code does.
        std::panic::set_hook(Box::new(|_| std::process::exit(i32::from(ExitCode::Usage.number()))));
        std::thread::spawn(|| {
            std::thread::sleep(DECISION_TIMEOUT);
            let message = b"error: the decision timed out; the call is blocked\n";
            let _ = std::io::stderr().write_all(message);
            std::process::exit(i32::from(ExitCode::Usage.number()));
        });
        return match answer_hook(context, args) {
            // With --enforce, success has a code of its own: a program that ends early is not taken for it.
            Ok(()) if args.enforce => Ok(ExitCode::Answered),
            Ok(()) => Ok(ExitCode::Done),
            // Claude Code blocks the call only on this exit code; on any other it goes ahead.
            Err(error) => {
                report(&error).print(&mut context.ui, ErrorFormat::Text);
                Ok(ExitCode::Usage)
            }
        };
    }
    let call = from_args(context, args)?;
    let verdict = decide(context, args, &call)?;
    let verdict = verdict.unwrap_or_else(|| Verdict {
        decision: Decision::Allow,
        reason: "no skill is active".to_owned(),
        is_unlisted: false,
        is_launcher: false,
    });
    if args.json {
        let Verdict { decision, reason, .. } = verdict.clone();
        context.ui.json(&CheckToolJson { version: VERSION, decision, reason })?;
    } else {
        let line = format!("{}: {}", verdict.decision, verdict.reason);
        context.ui.out(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(match verdict.decision {
        Decision::Allow => ExitCode::Done,
        Decision::Ask => ExitCode::NeedsApproval,
        Decision::Deny => ExitCode::NotAllowed,
    })
}

fn decide(
    context: &Context,
    args: &CheckToolArgs,
    call: &ToolCall,
) -> Result<Option<Verdict>, RuntimeError> {
    let config =
        RuntimeConfig { session_id: call.session.clone(), ..args.discovery.config(context)? };
    let runtime = discover(config)?;
    let tool_context = ToolContext {
        skill: args.skill.clone(),
        task_id: None,
        cwd: Some(call.cwd.clone()),
        project: args.discovery.project.clone().or_else(|| call.project.clone()),
    };
    runtime.check_tool(&tool_context, &call.tool, &call.input)
}

fn from_args(context: &Context, args: &CheckToolArgs) -> Result<ToolCall, RuntimeError> {
    let input: Value = serde_json::from_str(&args.input)
        .map_err(|error| invalid(&format!("`--input` is not valid JSON: {error}")))?;
    if !input.is_object() {
        return Err(invalid("`--input` is not a JSON object"));
    }
    Ok(ToolCall {
        tool: args.tool.clone().unwrap_or_default(),
        input,
        session: args.session.clone(),
        cwd: context.cwd.as_path().to_owned(),
        project: None,
    })
}

/// Returns the tool call of an event.
fn from_hook(event: HookEvent) -> Result<ToolCall, RuntimeError> {
    let HookEvent { session, cwd, project, occasion, .. } = event;
    match occasion {
        Occasion::BeforeTool(ToolUse { tool, input, .. })
        | Occasion::AfterTool(ToolUse { tool, input, .. }) => {
            Ok(ToolCall { tool, input, session: Some(session), cwd, project })
        }
        Occasion::Expansion(_) | Occasion::SessionEnd | Occasion::Other => {
            Err(invalid("the event is not about a tool call"))
        }
    }
}

fn invalid(message: &str) -> RuntimeError {
    let hint = Some("for examples, run `openskills check-tool --help`".to_owned());
    RuntimeError::Setup { message: message.to_owned(), hint }
}

/// Answers a hook. An allowed call gets no answer, because a skill can only restrict. Neither does a call that is merely
/// missing from a list that preapproves tools: Claude Code prompts by itself, unless the user's own rules allow the call.
fn answer_hook(context: &mut Context, args: &CheckToolArgs) -> anyhow::Result<()> {
    let event = HookEvent::read(context)?;
    if args.enforce {
        if let Some(answer) = hook::answer(context, &args.discovery, &event)? {
            context.ui.json_line(&answer)?;
        }
        return Ok(());
    }
    let call = from_hook(event)?;
    let verdict = decide(context, args, &call)?;
    let needs_answer =
        |verdict: &Verdict| verdict.decision != Decision::Allow && !verdict.is_unlisted;
    if let Some(verdict) = verdict.filter(needs_answer) {
        context.ui.json_line(&json!({
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": verdict.decision.to_string(),
                "permissionDecisionReason": verdict.reason,
            }
        }))?;
    }
    Ok(())
}
