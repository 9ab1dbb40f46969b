//! `openskills exec`: runs a command line of an agent in the sandbox.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use openskills_runtime::policy::Decision;
use openskills_runtime::{
    ApplyTime, Cancel, CommandRequest, CommandResult, CommandStreams, CommandWrites,
    OpenSkillRuntime, RedeemedTicket, RuntimeConfig, RuntimeError, ToolContext, shell_word,
    unconfined,
};
use sandbox::Ended;
use serde_json::json;
use term::{ErrorFormat, HelpText, counted, safe_line};

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover_active};
use crate::exit_code::ExitCode;
use crate::failure;
use crate::signals::{self, AfterRuns};
use crate::streams::PipedTerminals;
use crate::when::duration;

const HELP: HelpText = HelpText {
    text: "\
The command line runs in bash, without startup files, in the same sandbox as skill scripts. It is
restricted to what every active skill of the session is allowed to do: work in the project, read the
skills, and reach the hosts that you approved for every one of them. It cannot see your other files.
Each project has a private home folder, where package managers keep their caches, and each session
has private temporary files.

Multiple arguments are run as a program with its arguments; a single argument is run as a command
line. Standard input, output and the exit code are passed through unchanged. There is no time limit
unless you set one.

When the command ends, its writes are applied to the project, regardless of its exit code. Commands
are applied one at a time. Protected names such as .envrc and .claude are left out. In .git, only
changes that everyday git commands make are applied, not changes to configuration, hooks,
attributes, submodules or worktrees. If something else changed the same files while the command ran,
nothing is applied and the command's changes are kept: see `openskills conflicts`.

With --session, background processes run until the session ends (`--end-session`).

Reads:  the skills, approvals.json, the session's active skills
Writes: the project, private folders in ~/.cache/openskills, the log",
    exit_codes: &[
        ExitCode::SCRIPT_HELP,
        ExitCode::SandboxUnavailable.usual(),
        ExitCode::TimedOut.when("the command timed out; nothing was applied"),
        ExitCode::NotStarted.when("the command was not started (not allowed, or a skill is blocked), or what it wrote was not applied"),
        ExitCode::Killed.when("the command was killed"),
        ExitCode::signals("129, 130, 143", "openskills received HUP, INT or TERM: the command and all its processes were terminated, and nothing was applied"),
    ],
    examples: &[
        "openskills exec -- git status",
        "openskills exec --session 42 -- 'npm test && npm run build'",
        "openskills exec --timeout 2m -- make",
        "openskills exec --session 42 --end-session",
    ],
};

/// Run a command line in the sandbox, restricted to what the active skills may do
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ExecArgs {
    /// Command line, or a program with its arguments
    #[arg(value_name = "COMMAND", last = true, required_unless_present_any = ["end_session", "ticket"])]
    command: Vec<OsString>,
    /// Folder to start in [default: the current directory]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Time limit, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<jiff::SignedDuration>,
    /// Session whose active skills restrict the command
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Ticket that the hook of an agent issued for this command line
    #[arg(long, value_name = "TICKET", conflicts_with_all = ["cwd", "timeout", "end_session"], hide = true)]
    ticket: Option<String>,
    /// End the session: end its background processes, apply what they wrote, and remove temporary files
    #[arg(long, requires = "session", conflicts_with = "command")]
    end_session: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn exec(context: &mut Context, args: &ExecArgs) -> anyhow::Result<ExitCode> {
    match run(context, args) {
        Ok(code) => Ok(code),
        Err(error) => match error.downcast_ref::<RuntimeError>() {
            Some(cause) => {
                let code = match cause {
                    RuntimeError::SandboxUnavailable { .. } => ExitCode::SandboxUnavailable,
                    _ => ExitCode::NotStarted,
                };
                failure::report(&error).print(&mut context.ui, ErrorFormat::Text);
                Ok(code)
            }
            None => Err(error),
        },
    }
}

fn run(context: &mut Context, args: &ExecArgs) -> anyhow::Result<ExitCode> {
    if args.end_session {
        return end_session(context, args);
    }
    let terminals = PipedTerminals::start()?;
    openskills_runtime::prepare_command();
    let done = start(context, args);
    // From here on, everything goes to the terminals again.
    terminals.finish()?;
    let (done, ticket) = done?;
    // With a ticket, a hook passes the notes on to the agent.
    if let Some(ticket) = ticket {
        ticket.finish(notes(&done))?;
        print_problems(context, &done)?;
    } else {
        print_problems(context, &done)?;
        for note in notes(&done) {
            context.ui.note(&format!("note: {}\n", safe_line(&note)))?;
        }
    }
    Ok(code_of(&done))
}

fn start(
    context: &Context,
    args: &ExecArgs,
) -> anyhow::Result<(CommandResult, Option<RedeemedTicket>)> {
    let cancel = Cancel::default();
    signals::watch(&cancel, AfterRuns::Continue)?;
    let line = command_line(&args.command)?;
    let Ready { runtime, request, caller, ticket } = match &args.ticket {
        Some(text) => {
            let line = Some(line).filter(|_| !args.command.is_empty());
            with_ticket(context, args, text, line)?
        }
        None => without_ticket(context, args, line)?,
    };
    let plan = runtime.plan_command(&request)?;
    let permit = runtime.authorize_command(plan)?;
    let done = runtime.run_command(permit, &cancel)?;
    // The session's next command line starts here. An agent's shell stays where it was if a line fails, or if it does
    // not wait for the line.
    let is_kept = ticket
        .as_ref()
        .is_none_or(|ticket| done.ended == Ended::Exited(0) && !ticket.record.is_background);
    if let Some(cwd) = done.cwd.as_ref().filter(|_| is_kept) {
        runtime.remember_folder(&caller, cwd)?;
    }
    Ok((done, ticket))
}

/// A command line that is ready to be planned.
struct Ready {
    runtime: &'static mut OpenSkillRuntime,
    request: CommandRequest,
    /// The folder of the caller.
    caller: PathBuf,
    ticket: Option<RedeemedTicket>,
}

/// Prepares a command line that a hook has decided about. Nothing on the command line adds to what the hook recorded.
fn with_ticket(
    context: &Context,
    args: &ExecArgs,
    text: &str,
    line: Option<String>,
) -> Result<Ready, RuntimeError> {
    let finder = OpenSkillRuntime::with_config(RuntimeConfig::default());
    let ticket = finder.redeem_ticket(text, line.as_deref())?;
    let record = &ticket.record;
    let config = RuntimeConfig {
        session_id: Some(record.session_id.clone()),
        project_root: record.project.clone(),
        ..DiscoveryArgs::default().config(context)?
    };
    if args.session.as_ref().is_some_and(|session| *session != record.session_id) {
        return Err(RuntimeError::PermissionDenied {
            message: "the ticket was issued for another session".to_owned(),
            hint: None,
        });
    }
    let request = CommandRequest {
        line: line.or_else(|| record.line.clone()).unwrap_or_default(),
        cwd: Some(record.cwd.clone()),
        workspace: record.project.clone(),
        // The agent itself ends a call that takes too long.
        timeout: None,
        tool_use_id: Some(record.tool_use_id.clone()),
        streams: CommandStreams::Shared,
        applies: if record.is_background { ApplyTime::WhileRunning } else { ApplyTime::AtEnd },
        owner: record.owner,
    };
    let runtime = discover_active(config)?;
    runtime.check_ticket_skills(record)?;
    Ok(Ready { runtime, request, caller: record.caller.clone(), ticket: Some(ticket) })
}

/// Prepares a command line that the user or a program runs: the rules of the active skills decide about it first.
fn without_ticket(context: &Context, args: &ExecArgs, line: String) -> Result<Ready, RuntimeError> {
    let config =
        RuntimeConfig { session_id: args.session.clone(), ..args.discovery.config(context)? };
    let runtime = discover_active(config)?;
    if let Some(reason) = unconfined(&line) {
        return Err(RuntimeError::PermissionDenied {
            message: format!("{reason}, which the sandbox does not provide"),
            hint: Some("run it without `openskills exec`".to_owned()),
        });
    }
    let caller = context.cwd.as_path().to_owned();
    let cwd = args.cwd.clone().unwrap_or_else(|| runtime.next_folder(&caller));
    let tool_context = ToolContext {
        cwd: Some(cwd.clone()),
        project: args.discovery.project.clone(),
        ..ToolContext::default()
    };
    let verdict = runtime.check_tool(&tool_context, "Bash", &json!({ "command": line }))?;
    if let Some(verdict) = verdict.filter(|verdict| verdict.decision == Decision::Deny) {
        let hint = args.session.as_ref().map(|session| {
            format!(
                "to lift the restriction, run `openskills deactivate SKILL --session {}`",
                shell_word(session)
            )
        });
        return Err(RuntimeError::PermissionDenied { message: verdict.reason, hint });
    }
    let request = CommandRequest {
        line,
        cwd: Some(cwd),
        workspace: args.discovery.project.clone(),
        timeout: args.timeout.and_then(|time| Duration::try_from(time).ok()),
        tool_use_id: None,
        streams: CommandStreams::Shared,
        applies: ApplyTime::AtEnd,
        owner: None,
    };
    Ok(Ready { runtime, request, caller, ticket: None })
}

/// Returns the command line for bash: a single word as it is, several words as a program with its arguments.
fn command_line(words: &[OsString]) -> Result<String, RuntimeError> {
    let texts: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let texts = texts.ok_or_else(|| RuntimeError::Setup {
        message: "the command line is not valid UTF-8".to_owned(),
        hint: None,
    })?;
    Ok(match texts.as_slice() {
        [line] => (*line).to_owned(),
        words => words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
    })
}

/// Prints why what the command wrote is not all in the project.
fn print_problems(context: &mut Context, done: &CommandResult) -> anyhow::Result<()> {
    let mut problems = Vec::new();
    if let Some(kept) = &done.kept {
        let id = &kept.id[..8];
        problems.push(format!(
            "error: nothing was applied to the project: these files changed while the command ran: {}",
            kept.conflicts.join("; ")
        ));
        problems.push(format!(
            "hint: to take the command's version, run `openskills conflicts apply {id}`; to keep yours, run `openskills conflicts drop {id}`"
        ));
    }
    if done.writes == CommandWrites::Dropped {
        problems
            .push("note: the command was stopped; nothing was applied to the project".to_owned());
    }
    for problem in problems {
        context.ui.error(&format!("{}\n", safe_line(&problem)))?;
    }
    Ok(())
}

/// Returns what the user should know about a command that ended.
pub(crate) fn notes(done: &CommandResult) -> Vec<String> {
    const MAX_SHOWN: usize = 5;
    let listed = |all: &[String]| {
        let more = all.len().saturating_sub(MAX_SHOWN);
        let shown = all[..all.len().min(MAX_SHOWN)].join(", ");
        if more == 0 { shown } else { format!("{shown} and {more} more") }
    };
    let mut notes = Vec::new();
    let refused: Vec<String> = done
        .refused()
        .map(|change| {
            let path = change.path.display();
            format!("`{path}` ({})", change.refused.as_deref().unwrap_or_default())
        })
        .collect();
    if !refused.is_empty() {
        notes.push(format!("not applied to the project: {}", listed(&refused)));
    }
    if !done.runs_later.is_empty() {
        notes.push(format!(
            "changed files that programs outside of the sandbox may run later: {}",
            listed(&done.runs_later)
        ));
    }
    let denied: Vec<String> =
        done.reached.iter().filter(|host| !host.allowed).map(|host| host.host.clone()).collect();
    if !denied.is_empty() {
        notes.push(format!(
            "blocked connections to hosts that are not allowed: {}",
            listed(&denied)
        ));
    }
    let mut calls: Vec<String> = done.violations.iter().map(|one| one.call.clone()).collect();
    calls.sort();
    calls.dedup();
    if !calls.is_empty() {
        notes.push(format!("blocked system calls: {}", listed(&calls)));
    }
    notes
}

pub(crate) fn code_of(done: &CommandResult) -> ExitCode {
    match (done.interrupted, &done.kept) {
        (Some(signal), _) => ExitCode::of_signal(signal),
        (None, Some(_)) => ExitCode::NotStarted,
        (None, None) => match done.ended {
            Ended::Exited(code) => u8::try_from(code).map_or(ExitCode::Invalid, ExitCode::Script),
            Ended::Signalled(signal) => ExitCode::of_signal(signal),
            Ended::Timeout => ExitCode::TimedOut,
            Ended::Memory | Ended::Output | Ended::Trapped => ExitCode::Killed,
            Ended::Cancelled => ExitCode::INTERRUPTED,
        },
    }
}

fn end_session(context: &mut Context, args: &ExecArgs) -> anyhow::Result<ExitCode> {
    let config = RuntimeConfig { session_id: args.session.clone(), ..RuntimeConfig::default() };
    let mut runtime = OpenSkillRuntime::with_config(config);
    let ended = runtime.end_session()?;
    let mut code = ExitCode::Done;
    for one in &ended {
        let mut line = format!("ended {}", safe_line(&one.command));
        if one.applied > 0 {
            line += &format!(" ({} applied)", counted(one.applied, "change"));
        }
        context.ui.done(&format!("{line}\n"))?;
        if let Some(problem) = &one.problem {
            context.ui.error(&format!("error: {}\n", safe_line(problem)))?;
            code = ExitCode::NotStarted;
        }
    }
    Ok(code)
}
