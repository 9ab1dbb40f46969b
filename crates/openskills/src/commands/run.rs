//! `openskills run` and `execute`: a script of a skill, in the sandbox.

#![expect(clippy::disallowed_methods, reason = "the edge: standard input and files")]

mod told;

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use openskills_runtime::permit::Asked;
use openskills_runtime::{
    Answer, Approver, Caller, Execution, ExecutionOptions, Input, Invocation, RuntimeConfig,
    RuntimeError, Stage, shell_word,
};
use term::{ErrorFormat, HelpText, Ui, safe_line};

use crate::ask::{ask_for_run, is_somebody_there};
use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::failure::report;
use crate::grants::GrantArgs;
use crate::output::RunJson;
use crate::signals::{self, AfterRuns};
use crate::when::span;

use sandbox::{Ended, Guarantee};
use told::tell;

const HELP: HelpText = HelpText {
    text: "\
The script runs from a private copy of exactly what was approved, in a sandbox: it reads the
skill, the system and the workspace, and writes to a layer above the workspace. What it wrote
is committed after it ended well: never through a link, never over what somebody else changed
meanwhile, never to names such as .git or .envrc. Its standard output is ours; so is its exit
code. It reads --input; without it what is piped in.

Without a script wasm/skill.wasm runs, else the only module in wasm/, else the only script in
scripts/. The interpreter of a script follows from its `#!` line or its ending. `package.module`
runs a module of Python as `python -m` does. Python has the packages of the project's
environment (VIRTUAL_ENV, else .venv) or the user's own, node those of the project's
node_modules; folders that the repository itself brings do not count. A WebAssembly module is
WASI: it is given the skill as /skill, the workspace as /workspace and as `.`, and nothing
else. With --seed it writes the same bytes for the same input; `openskills replay --execute`
then runs it again from the log. A command that csk installed from a skill runs by its own
name, or as the script of its skill.

What needs approval is asked on a terminal; elsewhere it is refused with the command that
approves it. What a skill declares beyond its folder and the workspace is a request: you confirm
it on the terminal, or name it by --read, --net and --env. --approve-once confirms none of it. A
skill that the audit blocks, or that is revoked, does not run.

Reads:  the skill, approvals.json, the policy of the organisation
Writes: the workspace, the log",
    exit_codes: &[
        ExitCode::OWN,
        ExitCode::SandboxUnavailable.when("the sandbox cannot provide a required guarantee; nothing was started"),
        ExitCode::TimedOut.when("it took too long"),
        ExitCode::NotStarted.when("it was not started: not approved, not allowed, not there, or wrong; or its changes were not applied to the workspace"),
        ExitCode::Trapped.when("a module did what no module may; the note on standard error says what"),
        ExitCode::Killed.when("it took too much memory, wrote too much, or was killed"),
        ExitCode::signals("129, 130, 143", "openskills got HUP, INT or TERM: the script and everything it started were ended, nothing was applied to the workspace, and the log has the signal. With --direct-writes files may have been written before"),
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
        "openskills run deploy --net api.example.com --env DEPLOY_TOKEN --approve-once",
    ],
};

/// Run a script or module of a skill in the sandbox; `execute` is the same
#[derive(Debug, clap::Args)]
#[command(alias = "execute", after_help = HELP)]
pub(crate) struct RunArgs {
    /// A name or an id; or a command that csk installed
    #[arg(value_name = "SKILL", add = term::names(crate::completion::skills))]
    skill: String,
    /// The script or module, seen from the skill, its scripts/ or its wasm/
    #[arg(value_name = "SCRIPT")]
    script: Option<String>,
    /// Arguments of the script
    #[arg(value_name = "ARGS", last = true)]
    args: Vec<OsString>,
    /// What it is given: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    input: Option<String>,
    /// The folder that it may work in; by default an empty one, which is gone afterwards
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// How long it may take, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = span)]
    timeout: Option<jiff::SignedDuration>,
    /// How much memory it may use, in MiB; 512 by default, and 128 for WebAssembly
    #[arg(long, value_name = "MIB", value_parser = mebibytes, allow_negative_numbers = true)]
    memory: Option<u64>,
    /// Fix random numbers and clocks of a module, so that the same input gives the same bytes
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Whether a module runs inside the operating system's sandbox as well
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    wasm_stage: WasmStage,
    /// Tell how long each step took
    #[arg(long)]
    timings: bool,
    #[command(flatten)]
    grants: GrantArgs,
    /// Show what it would change in the workspace, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Approve it for this once, with what --read, --net and --env name and no more
    #[arg(long)]
    approve_once: bool,
    /// A guarantee to do without, such as mem; may be given several times
    #[arg(long, value_name = "GUARANTEE", value_parser = guarantee)]
    allow_degraded: Vec<Guarantee>,
    /// The session that this belongs to
    #[arg(long, value_name = "ID", env = "OPENSKILLS_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// Write the record, what was tried and what changed as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// When a module runs inside the operating system's sandbox.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum WasmStage {
    /// A stranger's does, and one that writes to a workspace or reaches the network
    #[default]
    Auto,
    /// It does
    Always,
    /// It does not: WebAssembly alone holds it
    Never,
}

/// Less memory than this starts no program.
const LEAST_MEMORY: u64 = 8;

fn mebibytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(mib) if mib >= LEAST_MEMORY => Ok(mib),
        Ok(_) => Err(format!("no program starts with less than {LEAST_MEMORY} MiB")),
        Err(_) => Err("expected a whole number of MiB".to_owned()),
    }
}

fn guarantee(text: &str) -> Result<Guarantee, String> {
    let all = Guarantee::ALL.map(Guarantee::as_str).join(", ");
    Guarantee::parse(text).ok_or_else(|| format!("`{text}` is no guarantee; there are: {all}"))
}

/// Returns what is meant by a call with arguments of the script that do not follow `--`.
pub(crate) fn wrong_call(
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
    // Only flags of everybody stand before a command.
    let (before, after) = (&args[1..command], &args[command..]);
    if before
        .iter()
        .any(|word| flag(word, &known).is_none() && word.to_string_lossy().starts_with('-'))
    {
        return None;
    }
    // `--pages=3` is told as `--pages`.
    let at = after.iter().position(|word| {
        let word = word.to_string_lossy();
        word == *unknown || word.split_once('=').is_some_and(|(name, _)| name == *unknown)
    })?;
    let (mut ours, mut its) = (after[..at].to_vec(), Vec::new());
    // What is a flag of this command is ours wherever it stands.
    let mut rest = after[at..].iter().peekable();
    while let Some(word) = rest.next() {
        match flag(word, &known) {
            Some(takes_value) => {
                ours.push(word.clone());
                let value = rest.next_if(|_| takes_value);
                ours.extend(value.cloned());
            }
            None => its.push(word.clone()),
        }
    }
    let words = |words: &[OsString]| words.iter().map(shown_word).collect::<Vec<_>>().join(" ");
    let before = before.iter().map(|word| shown_word(word) + " ").collect::<String>();
    let (ours, its) = (words(&ours), words(&its));
    Some(format!("arguments of the script follow `--`: openskills {before}{ours} -- {its}"))
}

/// Returns whether the next word is the value of a flag, if a word is one that is known.
fn flag(word: &OsString, known: &[&clap::Arg]) -> Option<bool> {
    let word = word.to_string_lossy();
    let (name, has_value) = match word.split_once('=') {
        Some((name, _)) => (name, true),
        None => (&*word, false),
    };
    let is_it = |arg: &&&clap::Arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => {
            let short = name.strip_prefix('-').filter(|short| short.chars().count() == 1);
            short.is_some() && arg.get_short() == short.and_then(|short| short.chars().next())
        }
    };
    let found = known.iter().find(is_it)?;
    Some(!has_value && found.get_action().takes_values())
}

fn shown_word(word: &OsString) -> String {
    let word = word.to_string_lossy();
    let name = word.trim_start_matches('-');
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:@".contains(c));
    if is_plain && !name.is_empty() { word.into_owned() } else { shell_word(&word).into_owned() }
}

/// Returns true if standard input holds something for the script: a pipe, a file or a socket, not a terminal and not /dev/null.
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

/// Refuses an input beside what is piped in: a script reads one of them, and the other would be lost.
fn check_stdin(args: &RunArgs) -> Result<(), RuntimeError> {
    if args.input.as_deref().is_none_or(|input| input == "-") || !has_data() {
        return Ok(());
    }
    Err(RuntimeError::Setup {
        message: "--input is given, and so is standard input: a script reads one of them"
            .to_owned(),
        hint: Some("leave --input out, or add: < /dev/null".to_owned()),
    })
}

/// Returns true if there is something to read on a piped standard input. A pipe that stays empty is everybody's who starts programs.
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
        // What cannot be counted is not lost in silence.
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

/// Returns the code of a run that did not start.
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
            Some(known) => {
                let code = exit_code(known);
                let format = if args.json { ErrorFormat::Json } else { ErrorFormat::Words };
                report(&error).print(&mut context.ui, format);
                Ok(code)
            }
            None => Err(error),
        },
    }
}

fn execute(context: &mut Context, args: &RunArgs) -> anyhow::Result<ExitCode> {
    openskills_runtime::prepare();
    let approver = (is_somebody_there() && !args.json).then(|| {
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
    signals::watch(&options.caller.cancel, AfterRuns::GoOn)?;
    let runtime = discover(config)?;
    check_stdin(args)?;
    let permit = runtime.permit(&args.skill, &options)?;
    // Whoever approved by a flag has not seen it yet.
    if let Some(review) = permit.review().filter(|_| !args.json) {
        context.ui.error(&format!("warning: {}\n", safe_line(review)))?;
    }
    let done = runtime.carry_out(permit, &options.caller)?;
    let told = tell_all(context, args, &done);
    // Where a terminal was closed, nobody is left to be told, and the signal is what counts.
    if done.interrupted.is_none() {
        told?;
    }
    Ok(code_of(&done))
}

fn tell_all(context: &mut Context, args: &RunArgs, done: &Execution) -> anyhow::Result<()> {
    if args.json {
        context.ui.json(&RunJson::new(done))?;
        return Ok(());
    }
    context.ui.out_of_program(&done.stdout)?;
    context.ui.error_of_program(&done.stderr)?;
    tell(context, args, done)
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
        asked: Asked { allow_degraded, ..args.grants.asked()? },
        once: args.approve_once,
        // The command that approves looks where this one did.
        caller: Caller { look: args.discovery.words(), ..Caller::default() },
    })
}

/// Reads JSON as it is given: itself, from a file, or from standard input.
fn input(text: &str) -> Result<Input, RuntimeError> {
    let wrong = |message: String| RuntimeError::Setup {
        message,
        hint: Some("--input takes JSON, @FILE, or - for standard input".to_owned()),
    };
    let is_itself = !text.starts_with('@') && text != "-";
    let text = match text.strip_prefix('@') {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| wrong(format!("{file}: {error}")))?
        }
        None if text == "-" => {
            let mut all = String::new();
            std::io::stdin()
                .take(16 << 20)
                .read_to_string(&mut all)
                .map_err(|error| wrong(format!("standard input cannot be read: {error}")))?;
            all
        }
        None => text.to_owned(),
    };
    Input::parse(&text).map_err(|error| {
        let message = format!("--input is not JSON: {error}");
        // A name of a file is the usual slip.
        let is_file = is_itself && std::path::Path::new(&text).is_file();
        let file = || format!("to give what is in that file: --input @{}", shell_word(&text));
        match is_file {
            true => RuntimeError::Setup { message, hint: Some(file()) },
            false => wrong(message),
        }
    })
}

/// Returns the code that a run ends with.
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

/// Returns the code that the command ends with.
pub(crate) fn code_of(done: &Execution) -> ExitCode {
    match (done.interrupted, &done.not_committed) {
        (Some(signal), _) => ExitCode::of_signal(signal),
        (None, Some(_)) => ExitCode::NotStarted,
        (None, None) => exit_code_of(done.ended),
    }
}
