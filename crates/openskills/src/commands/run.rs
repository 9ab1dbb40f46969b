//! `openskills run` and `execute`: runs a script of a skill in the sandbox.

#![expect(clippy::disallowed_methods, reason = "the edge: standard input and files")]

mod report;

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use openskills_runtime::permit::RequestedAccess;
use openskills_runtime::{
    Answer, Approver, Caller, Execution, ExecutionOptions, Input, Invocation, RuntimeConfig,
    RuntimeError, Stage, shell_word,
};
use term::{ErrorFormat, HelpText, Ui, safe_line};

use crate::ask::{announce, ask_for_run, can_prompt};
use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::failure;
use crate::grants::GrantArgs;
use crate::output::RunJson;
use crate::signals::{self, AfterRuns};
use crate::when::duration;

use self::report::print_report;
use sandbox::{Ended, Guarantee};

const HELP: HelpText = HelpText {
    text: "\
The script runs in a sandbox, from a private copy of the approved version. It can read the skill,
the system and the workspace. Its writes go to a layer on top of the workspace. They are applied
only if the script exits with 0, and never through a link, over a file that changed during the run,
or to a protected name such as .git or .envrc. The script's stdout and exit code are passed through
unchanged. Its stdin is --input or, without it, the piped stdin of openskills.

If you specify no script, wasm/skill.wasm runs; failing that, the only module in wasm/; failing
that, the only script in scripts/. The interpreter is chosen by the script's `#!` line or file
extension. `package.module` runs a Python module, like `python -m`. Python can use packages from the
project's virtual environment (VIRTUAL_ENV or .venv) and your own packages (pip install --user);
node can use packages from the project's node_modules. Folders that are checked in to the repository
are ignored. A WebAssembly module uses WASI: it sees the skill as /skill, the workspace as
/workspace and `.`, and nothing else. With --seed, the same input gives the same output, and
`openskills replay --execute` can repeat the run from the log. To run a command that csk installed,
pass only its name, or the skill and then the command.

If approval is needed, openskills asks you on a terminal; otherwise it refuses the run and prints
the command that approves it. Capabilities that a skill declares beyond its folder and the workspace
need your consent: confirm them on the terminal, or pass them with --read, --net and --env;
--approve-once does not confirm them. A skill that is revoked or blocked by the audit does not run.

Reads:  the skill, approvals.json, the organization's policy
Writes: the workspace, the log",
    exit_codes: &[
        ExitCode::SCRIPT_HELP,
        ExitCode::SandboxUnavailable.usual(),
        ExitCode::TimedOut.when("the script timed out"),
        ExitCode::NotStarted.when("the script was not started (not approved, not allowed, not found or invalid), or its changes could not be applied to the workspace"),
        ExitCode::Trapped.when("a WebAssembly module trapped; a note on standard error says why"),
        ExitCode::Killed.when("the script exceeded its memory or output limit, or was killed"),
        ExitCode::signals("129, 130, 143", "openskills received HUP, INT or TERM: the script and all its processes were terminated, nothing was applied to the workspace, and the signal was logged; with --direct-writes, files may already have been written"),
    ],
    examples: &[
        "openskills run pdf",
        "openskills run pdf extract.py -- report.pdf --pages 3",
        "openskills run skill-creator scripts.package -- my-skill",
        "cat report.txt | openskills run summary",
        "openskills run reviews",
        "openskills run pdf --workspace . --dry-run",
        "openskills run pdf --input '{\"query\": \"hello\"}' --json",
        "openskills execute score --input '{\"points\": [3, 4]}' --seed 7",
        "openskills run score --wasm-stage always --timings",
        "openskills run pdf --with pypdf",
        "openskills run deploy --net api.example.com --env DEPLOY_TOKEN --approve-once",
    ],
};

/// Run a skill's script or module in the sandbox (alias: `execute`)
#[derive(Debug, clap::Args)]
#[command(alias = "execute", after_help = HELP)]
pub(crate) struct RunArgs {
    /// Skill name or ID, or a command that csk installed
    #[arg(value_name = "SKILL", add = term::names(crate::completion::skills))]
    skill: String,
    /// Path of the script or module, relative to the skill folder, its scripts/ or its wasm/
    #[arg(value_name = "SCRIPT")]
    script: Option<String>,
    /// Arguments for the script
    #[arg(value_name = "ARGS", last = true)]
    args: Vec<OsString>,
    /// JSON input for the script, @FILE to read it from a file, or - for standard input
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    input: Option<String>,
    /// Workspace folder [default: an empty temporary folder]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Time limit, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<jiff::SignedDuration>,
    /// Memory limit in MiB [default: 512, or 128 for WebAssembly]
    #[arg(long, value_name = "MIB", value_parser = mebibytes, allow_negative_numbers = true)]
    memory: Option<u64>,
    /// Seed a module's random numbers and freeze its clock, so that the same input gives the same output
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// When to also run a module in the operating system's sandbox
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    wasm_stage: WasmStage,
    /// Print how long each step took
    #[arg(long)]
    timings: bool,
    #[command(flatten)]
    grants: GrantArgs,
    /// Show the changes in the workspace without applying them
    #[arg(long)]
    dry_run: bool,
    /// Approve this run only, granting nothing beyond --read, --net, --env and --with
    #[arg(long)]
    approve_once: bool,
    /// Run even without this sandbox guarantee, such as mem; can be repeated
    #[arg(long, value_name = "GUARANTEE", value_parser = guarantee)]
    allow_degraded: Vec<Guarantee>,
    /// Session ID
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Print the run record (attempted actions and changes) as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// When a module runs inside the operating system's sandbox.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum WasmStage {
    /// For untrusted modules, and for modules that write to a workspace or use the network
    #[default]
    Auto,
    /// Always
    Always,
    /// Never: only the WebAssembly sandbox confines the module
    Never,
}

/// The smallest memory limit in MiB; interpreters do not start with less.
const MIN_MEMORY: u64 = 8;

fn mebibytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(mib) if mib >= MIN_MEMORY => Ok(mib),
        Ok(_) => Err(format!("must be at least {MIN_MEMORY} MiB")),
        Err(_) => Err("expected a whole number of MiB".to_owned()),
    }
}

fn guarantee(text: &str) -> Result<Guarantee, String> {
    let all = Guarantee::ALL.map(Guarantee::as_str).join(", ");
    Guarantee::parse(text).ok_or_else(|| format!("unknown guarantee `{text}`; available: {all}"))
}

/// Returns the corrected command if the arguments of the script are missing the `--` before them.
pub(crate) fn usage_hint(
    args: &[OsString],
    error: &clap::Error,
    commands: &clap::Command,
) -> Option<String> {
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    if !is_unknown || args.iter().any(|word| word == "--") {
        return None;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let run = commands.find_subcommand("run")?;
    let known: Vec<&clap::Arg> = commands.get_arguments().chain(run.get_arguments()).collect();
    let command = args.iter().position(|word| word == "run" || word == "execute")?;
    // Only global flags may come before the command.
    let (before, after) = (&args[1..command], &args[command..]);
    if before
        .iter()
        .any(|word| flag(word, &known).is_none() && word.to_string_lossy().starts_with('-'))
    {
        return None;
    }
    // clap reports `--pages=3` as `--pages`.
    let position = after.iter().position(|word| {
        let word = word.to_string_lossy();
        word == *unknown || word.split_once('=').is_some_and(|(name, _)| name == *unknown)
    })?;
    let (mut own_args, mut script_args) = (after[..position].to_vec(), Vec::new());
    // A flag of `run` belongs to `run` wherever it is.
    let mut rest = after[position..].iter().peekable();
    while let Some(word) = rest.next() {
        match flag(word, &known) {
            Some(takes_value) => {
                own_args.push(word.clone());
                let value = rest.next_if(|_| takes_value);
                own_args.extend(value.cloned());
            }
            None => script_args.push(word.clone()),
        }
    }
    let joined = |words: &[OsString]| words.iter().map(shown_word).collect::<Vec<_>>().join(" ");
    let before = before.iter().map(|word| shown_word(word) + " ").collect::<String>();
    let (own_args, script_args) = (joined(&own_args), joined(&script_args));
    Some(format!(
        "put the script's arguments after `--`: openskills {before}{own_args} -- {script_args}"
    ))
}

/// Returns whether the flag takes the next word as its value; `None` if the word is not a known flag.
fn flag(word: &OsString, known: &[&clap::Arg]) -> Option<bool> {
    let word = word.to_string_lossy();
    let (name, has_value) = match word.split_once('=') {
        Some((name, _)) => (name, true),
        None => (&*word, false),
    };
    let is_match = |arg: &&&clap::Arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => {
            let short = name.strip_prefix('-').filter(|short| short.chars().count() == 1);
            short.is_some() && arg.get_short() == short.and_then(|short| short.chars().next())
        }
    };
    let found = known.iter().find(is_match)?;
    Some(!has_value && found.get_action().takes_values())
}

fn shown_word(word: &OsString) -> String {
    let word = word.to_string_lossy();
    let name = word.trim_start_matches('-');
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:@".contains(c));
    if is_plain && !name.is_empty() { word.into_owned() } else { shell_word(&word).into_owned() }
}

/// Returns true if standard input is a pipe, a file or a socket, and not a terminal or /dev/null.
#[cfg(unix)]
fn is_piped() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;

    let stdin = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    stdin.and_then(|stdin| stdin.metadata()).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_fifo() || kind.is_file() || kind.is_socket()
    })
}

/// Refuses `--input` together with piped data: the script reads only one of them, and the other would be lost.
fn check_stdin(args: &RunArgs) -> Result<(), RuntimeError> {
    if args.input.as_deref().is_none_or(|input| input == "-") || !has_data() {
        return Ok(());
    }
    Err(RuntimeError::Setup {
        message:
            "`--input` and piped standard input cannot be combined: a script reads only one of them"
                .to_owned(),
        hint: Some("remove --input, or add `< /dev/null`".to_owned()),
    })
}

/// Returns true if there is data on a piped standard input. Programs often start others with a pipe that stays empty.
#[cfg(unix)]
fn has_data() -> bool {
    use std::os::fd::AsFd;

    if !is_piped() {
        return false;
    }
    let stdin = std::io::stdin();
    let is_file = stdin.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let is_file = is_file.and_then(|file| file.metadata()).is_ok_and(|found| found.is_file());
    match rustix::io::ioctl_fionread(stdin.as_fd()) {
        Ok(bytes) => bytes > 0,
        // If the size is unknown, a file counts as data, so that it is not silently ignored.
        Err(_) => is_file,
    }
}

#[cfg(not(unix))]
fn has_data() -> bool {
    false
}

#[cfg(not(unix))]
fn is_piped() -> bool {
    !std::io::IsTerminal::is_terminal(&std::io::stdin())
}

/// Returns the exit code of a run that did not start.
fn exit_code(error: &RuntimeError) -> ExitCode {
    match error {
        RuntimeError::SandboxUnavailable { .. } => ExitCode::SandboxUnavailable,
        _ => ExitCode::NotStarted,
    }
}

pub(crate) fn run(context: &mut Context, args: &RunArgs) -> anyhow::Result<ExitCode> {
    match execute(context, args) {
        Ok(code) => Ok(code),
        Err(error) => match error.downcast_ref::<RuntimeError>() {
            Some(cause) => {
                let code = exit_code(cause);
                let format = if args.json { ErrorFormat::Json } else { ErrorFormat::Text };
                failure::report(&error).print(&mut context.ui, format);
                Ok(code)
            }
            None => Err(error),
        },
    }
}

fn execute(context: &mut Context, args: &RunArgs) -> anyhow::Result<ExitCode> {
    openskills_runtime::prepare();
    let approver = (can_prompt() && !args.json).then(|| {
        Approver::new(|request| {
            ask_for_run(&mut Ui::new(term::ColorChoice::Auto), request).unwrap_or(Answer::No)
        })
    });
    let config = RuntimeConfig {
        session_id: args.session.clone(),
        approver,
        ..args.discovery.config(context)?
    };
    let options = options(args)?;
    signals::watch(&options.caller.cancel, AfterRuns::Continue)?;
    let runtime = discover(config)?;
    check_stdin(args)?;
    let permit = runtime.permit(&args.skill, &options)?;
    // A user who approved with a flag has not seen these findings yet.
    if let Some(review) = permit.review().filter(|_| !args.json) {
        context.ui.error(&format!("warning: {}\n", safe_line(review)))?;
    }
    let done = runtime.carry_out(permit, &options.caller)?;
    let printed = print_all(context, args, &done);
    // After a hangup, nothing can be printed, and the signal determines the exit code.
    if done.interrupted.is_none() {
        printed?;
    }
    Ok(code_of(&done))
}

fn print_all(context: &mut Context, args: &RunArgs, done: &Execution) -> anyhow::Result<()> {
    if args.json {
        context.ui.json(&RunJson::new(done))?;
        return Ok(());
    }
    context.ui.program_output(&done.stdout)?;
    context.ui.program_errors(&done.stderr)?;
    print_report(context, args, done)
}

fn options(args: &RunArgs) -> Result<ExecutionOptions, RuntimeError> {
    let invocation = Invocation {
        args: args.args.clone(),
        input: args.input.as_deref().map(input).transpose()?,
        is_piped: is_piped(),
        workspace: args.workspace.clone(),
        timeout: args.timeout.and_then(|time| Duration::try_from(time).ok()),
        memory: args.memory.map(|mib| mib.saturating_mul(1 << 20)),
        seed: args.seed,
        stage: match args.wasm_stage {
            WasmStage::Auto => Stage::Auto,
            WasmStage::Always => Stage::Always,
            WasmStage::Never => Stage::Never,
        },
        dry_run: args.dry_run,
    };
    let allow_degraded = args.allow_degraded.iter().copied().collect();
    Ok(ExecutionOptions {
        script: args.script.clone(),
        invocation,
        requested: RequestedAccess { allow_degraded, ..args.grants.requested()? },
        once: args.approve_once,
        // The hint to approve must find the same skill as this command.
        caller: Caller {
            discovery_flags: args.discovery.flags(),
            announce: Some(announce),
            ..Caller::default()
        },
    })
}

/// Parses `--input`: JSON, `@FILE`, or `-` for standard input.
fn input(text: &str) -> Result<Input, RuntimeError> {
    let invalid = |message: String| RuntimeError::Setup {
        message,
        hint: Some("pass JSON, @FILE, or - for standard input".to_owned()),
    };
    let is_inline = !text.starts_with('@') && text != "-";
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| invalid(format!("cannot read `{file}`: {error}")))?,
        None if text == "-" => {
            let mut all = String::new();
            std::io::stdin()
                .take(16 << 20)
                .read_to_string(&mut all)
                .map_err(|error| invalid(format!("cannot read standard input: {error}")))?;
            all
        }
        None => text.to_owned(),
    };
    Input::parse(&text).map_err(|error| {
        let message = format!("`--input` is not valid JSON: {error}");
        // A common mistake is to pass a file name without `@`.
        let is_file = is_inline && std::path::Path::new(&text).is_file();
        let file =
            || format!("to pass the contents of that file, use --input @{}", shell_word(&text));
        match is_file {
            true => RuntimeError::Setup { message, hint: Some(file()) },
            false => invalid(message),
        }
    })
}

/// Returns the exit code for how the script ended.
fn exit_code_of(ended: Ended) -> ExitCode {
    match ended {
        Ended::Exited(code) => u8::try_from(code).map_or(ExitCode::Invalid, ExitCode::Script),
        Ended::Timeout => ExitCode::TimedOut,
        Ended::Memory | Ended::Output => ExitCode::Killed,
        Ended::Trapped => ExitCode::Trapped,
        Ended::Signalled(signal) => ExitCode::of_signal(signal),
        Ended::Cancelled => ExitCode::INTERRUPTED,
    }
}

/// Returns the exit code of the command.
pub(crate) fn code_of(done: &Execution) -> ExitCode {
    match (done.interrupted, &done.not_applied) {
        (Some(signal), _) => ExitCode::of_signal(signal),
        (None, Some(_)) => ExitCode::NotStarted,
        (None, None) => exit_code_of(done.ended),
    }
}
