//! `openskills check-tool`: whether a skill lets a tool be called.

#![expect(clippy::disallowed_methods, reason = "the edge: standard input and the file system")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use openskills_runtime::policy::{Decision, Surroundings, ToolCall, Verdict};
use openskills_runtime::{RuntimeConfig, RuntimeError};
use serde_json::{Value, json};
use term::safe_line;

use crate::cli::{ASK, REFUSED, USAGE};
use crate::context::Context;
use crate::failure::{Form, tell};
use crate::look::{Look, discover};
use crate::output::{CheckToolJson, VERSION};

const AFTER: &str = "\
Holds a call to what a skill declares: `allowed-tools` and `tools.allow` are hard lists,
`disallowed-tools` and `tools.deny` beat everything. Shell commands are taken apart by bash's
grammar; what cannot be understood is denied. With --skill the call is held to that skill, else to
every skill that is active in the session.

--hook reads a PreToolUse event of Claude Code on standard input and answers in its format. It only
ever narrows: a call that is allowed gets no answer, so that the user's own rules go on to hold.

Reads:  the SKILL.md of the skills, what is active in the session
Writes: the index, to be faster the next time

Exit codes:
  0  allow, or no skill is active; with --hook: the answer, if any, is on standard output, and
     whatever goes wrong is code 2, which stops the call
  1  a skill cannot be loaded
  2  the call or the configuration is wrong
  3  there is no such skill
  4  deny
  5  ask

Examples:
  openskills check-tool --skill pdf --tool Bash --input '{\"command\": \"git status\"}'
  openskills check-tool --session 42 --tool Read --input '{\"file_path\": \"/etc/passwd\"}' --json
  openskills check-tool --hook < event.json";

/// Decide whether a tool may be called
#[derive(Debug, clap::Args)]
#[command(name = "check-tool", after_help = AFTER)]
pub(crate) struct CheckToolArgs {
    /// The skill that calls the tool: a name or an id
    #[arg(long, value_name = "NAME")]
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
    pub(crate) json: bool,
    #[command(flatten)]
    look: Look,
}

/// A call to be judged.
struct Asked {
    tool: String,
    input: Value,
    session: Option<String>,
    workspace: PathBuf,
}

pub(crate) fn check_tool(context: &mut Context, args: &CheckToolArgs) -> anyhow::Result<ExitCode> {
    if args.hook {
        return match hook(context, args) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            // To Claude Code only this code stops the call; any other lets it go on.
            Err(error) => {
                tell(&mut context.ui, &error, Form::Words);
                Ok(ExitCode::from(USAGE))
            }
        };
    }
    let asked = from_args(context, args)?;
    let verdict = judge(context, args, &asked)?;
    let verdict = verdict.unwrap_or_else(|| Verdict {
        decision: Decision::Allow,
        because: "no skill is active".to_owned(),
    });
    if args.json {
        let Verdict { decision, because } = verdict.clone();
        context.ui.json(&CheckToolJson { version: VERSION, decision, because })?;
    } else {
        let line = format!("{}: {}", verdict.decision, verdict.because);
        context.ui.out(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(match verdict.decision {
        Decision::Allow => ExitCode::SUCCESS,
        Decision::Ask => ExitCode::from(ASK),
        Decision::Deny => ExitCode::from(REFUSED),
    })
}

fn judge(
    context: &Context,
    args: &CheckToolArgs,
    asked: &Asked,
) -> Result<Option<Verdict>, RuntimeError> {
    let config = RuntimeConfig { session_id: asked.session.clone(), ..args.look.config(context)? };
    let runtime = discover(config)?;
    let home = runtime.places()?.home.as_ref().map(|home| home.as_path().to_owned());
    let around = Surroundings { workspace: asked.workspace.clone(), home };
    let call = ToolCall::from_json(&asked.tool, &asked.input, &around, |path| Some(real(path)));
    runtime.check_tool(args.skill.as_deref(), &call, &around)
}

/// Returns where a path really is. Where a link leads counts as much as where it stands; of what is not there yet, the
/// folder that is. A link to nothing could lead anywhere, so it is nowhere that a rule is about.
fn real(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        if let Ok(real) = fs::canonicalize(folder) {
            let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        if fs::symlink_metadata(folder).is_ok() {
            break;
        }
    }
    PathBuf::from("/")
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
        workspace: context.cwd.as_path().to_owned(),
    })
}

fn from_hook(context: &Context) -> Result<Asked, RuntimeError> {
    let mut text = String::new();
    std::io::stdin()
        .take(16 << 20)
        .read_to_string(&mut text)
        .map_err(|error| wrong(&format!("the event cannot be read: {error}")))?;
    let event: Value = serde_json::from_str(&text)
        .map_err(|error| wrong(&format!("the event is not JSON: {error}")))?;
    let field = |key: &str| event[key].as_str().map(str::to_owned);
    let tool = field("tool_name").ok_or_else(|| wrong("the event has no `tool_name`"))?;
    let workspace = field("cwd").map_or_else(|| context.cwd.as_path().to_owned(), PathBuf::from);
    // Without a session nothing would be active, and nothing be held to anything.
    let session = field("session_id").filter(|session| !session.is_empty());
    let session = Some(session.ok_or_else(|| wrong("the event has no `session_id`"))?);
    Ok(Asked { tool, input: event["tool_input"].clone(), session, workspace })
}

fn wrong(message: &str) -> RuntimeError {
    let hint = Some("`openskills check-tool --help` has examples".to_owned());
    RuntimeError::Setup { message: message.to_owned(), hint }
}

/// Answers a hook. What is allowed gets no answer: a skill can narrow, never widen.
fn hook(context: &mut Context, args: &CheckToolArgs) -> anyhow::Result<()> {
    let asked = from_hook(context)?;
    let verdict = judge(context, args, &asked)?;
    if let Some(verdict) = verdict.filter(|verdict| verdict.decision != Decision::Allow) {
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
