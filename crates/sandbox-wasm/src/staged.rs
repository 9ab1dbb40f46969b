//! Compiles and runs modules in a separate process inside the operating system's sandbox: the runner.
//!
//! The runner is this program, started again by the sandbox. It receives its task in a sealed memory file and only
//! writes its response. The caller starts it with the sandbox and waits: [`compile_spec`] returns what to start and
//! [`compile_result`] reads the response; for a run these are [`run_spec`] and [`run_result`].

#![expect(clippy::disallowed_methods, reason = "the edge: arguments, the environment and streams")]

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::{Captured, Ended, Limits, Network, Outcome, PROXY_PLACEHOLDER, Spec, Stdin};
use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::engine::compile;
use crate::error::WasmError;
use crate::job::Job;
use crate::run::{Report, run_with};
use crate::stop::Stop;

/// The argument that makes a program become the runner.
const RUNNER_ARG: &str = "__wasm";
/// The variable that contains the proxy's address.
const PROXY_VARIABLE: &str = "HTTP_PROXY";
/// The memory that the runner needs in addition to that of the module.
const EXTRA_MEMORY: u64 = 256 << 20;
/// How much longer than the module the runner may take.
const EXTRA_TIME: Duration = Duration::from_millis(500);
/// How many bytes the runner may write in addition to the module's output.
const EXTRA_OUTPUT: u64 = 64 << 10;
/// The limits for compiling.
const MAX_COMPILE_TIME: Duration = Duration::from_secs(30);
const MAX_COMPILE_MEMORY: u64 = 2 << 30;
const MAX_CODE_SIZE: u64 = 512 << 20;

/// What the runner should do.
#[derive(Debug, Serialize, Deserialize)]
enum Task {
    Compile,
    Run(Job),
}

/// The runner's response; compiled code or the module's output follows it.
#[derive(Debug, Serialize, Deserialize)]
enum Response {
    Compiled,
    Ran(RunSummary),
}

/// A [`Report`] without the output.
#[derive(Debug, Serialize, Deserialize)]
struct RunSummary {
    ended: Ended,
    /// How many bytes of standard output follow; the rest is standard error.
    stdout_length: u64,
    totals: [u64; 2],
    fuel: u64,
    memory: u64,
    trap: Option<String>,
    duration: Duration,
}

/// Whether this program called [`init`], so that it can be started again as the runner.
static INITIALIZED: AtomicBool = AtomicBool::new(false);
/// The program to start as the runner instead of this one.
static RUNNER: OnceLock<PathBuf> = OnceLock::new();

/// Becomes the runner if this process was started as one; otherwise does nothing. Call it first thing in `main`.
pub fn init() {
    let mut args = std::env::args_os();
    if args.nth(1).is_some_and(|arg| arg == RUNNER_ARG) && args.next().is_none() {
        let code = i32::from(serve().is_err());
        std::process::exit(code);
    }
    INITIALIZED.store(true, Ordering::Relaxed);
}

/// Uses another program as the runner. It must call [`init`] first thing in its `main`.
pub fn use_runner(program: impl Into<PathBuf>) {
    // Only the first call has an effect.
    let _ = RUNNER.set(program.into());
}

/// Returns the runner: the program passed to [`use_runner`], otherwise this program if it called [`init`].
pub fn runner() -> Result<PathBuf, WasmError> {
    if let Some(program) = RUNNER.get() {
        return Ok(program.clone());
    }
    if !INITIALIZED.load(Ordering::Relaxed) {
        let what = "call sandbox_wasm::init() first thing in main";
        return Err(WasmError::Runner(what.to_owned()));
    }
    std::env::current_exe().and_then(std::fs::canonicalize).map_err(|error| {
        WasmError::Runner(format!("cannot locate the current executable: {error}"))
    })
}

/// Returns the specification of the runner that compiles a module. It has the required guarantees of `base`, and no
/// capabilities.
pub fn compile_spec(base: &Spec, runner: &Path, wasm: &[u8]) -> Result<Spec, WasmError> {
    let limits = Limits {
        wall: MAX_COMPILE_TIME,
        memory: MAX_COMPILE_MEMORY,
        output_kept: MAX_CODE_SIZE,
        output_max: MAX_CODE_SIZE,
        ..base.limits
    };
    Ok(Spec {
        args: vec![RUNNER_ARG.into()],
        read: vec![runner.to_owned()],
        limits,
        payload: Some(framed(&Task::Compile, wasm)?),
        required: base.required.clone(),
        strongest: base.strongest,
        ..Spec::new(runner)
    })
}

/// Returns the compiled code from the runner's response.
pub fn compile_result(outcome: &Outcome) -> Result<Artifact, WasmError> {
    match outcome.ended {
        Ended::Exited(0) => match response(outcome)? {
            (Response::Compiled, code) => Ok(Artifact::compiled(code.to_vec())),
            (Response::Ran(_), _) => Err(unexpected_response()),
        },
        Ended::Timeout => {
            let max = MAX_COMPILE_TIME.as_secs();
            Err(WasmError::TooExpensive(format!("compiling took longer than {max} seconds")))
        }
        Ended::Memory => {
            let max = MAX_COMPILE_MEMORY >> 20;
            Err(WasmError::TooExpensive(format!("compiling took more than {max} MiB of memory")))
        }
        Ended::Output => Err(WasmError::TooExpensive("its compiled code is too large".to_owned())),
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Trapped | Ended::Cancelled => {
            Err(no_response(outcome))
        }
    }
}

/// Returns the specification of the runner that runs code with the capabilities of `spec`.
pub fn run_spec(spec: &Spec, job: &Job, runner: &Path, code: &Artifact) -> Result<Spec, WasmError> {
    let proxy =
        (spec.network == Network::Proxy).then(|| (PROXY_VARIABLE.into(), PROXY_PLACEHOLDER.into()));
    let output = spec.limits.output_kept.saturating_mul(2).saturating_add(EXTRA_OUTPUT);
    let limits = Limits {
        wall: spec.limits.wall.saturating_add(EXTRA_TIME),
        memory: spec.limits.memory.saturating_add(EXTRA_MEMORY),
        output_kept: output,
        output_max: output,
        ..spec.limits
    };
    let mut read = spec.read.clone();
    read.push(runner.to_owned());
    Ok(Spec {
        program: runner.to_owned(),
        args: vec![RUNNER_ARG.into()],
        env: proxy.into_iter().collect(),
        cwd: PathBuf::from("/"),
        read,
        limits,
        stdin: match spec.stdin {
            Stdin::Bytes(_) => Stdin::Bytes(Vec::new()),
            Stdin::Inherited => Stdin::Inherited,
        },
        payload: Some(framed(&Task::Run(job.clone()), code.bytes())?),
        ..spec.clone()
    })
}

/// Returns the report of a run from the runner's response.
pub fn run_result(outcome: &Outcome) -> Result<Report, WasmError> {
    match outcome.ended {
        Ended::Exited(0) => {}
        Ended::Exited(_) => return Err(no_response(outcome)),
        // The runner itself was killed, and the module with it.
        ended => {
            let nothing = Captured::default;
            let (stdout, stderr, duration) = (nothing(), nothing(), outcome.duration);
            return Ok(Report { ended, stdout, stderr, fuel: 0, memory: 0, trap: None, duration });
        }
    }
    let (Response::Ran(ran), output) = response(outcome)? else {
        return Err(unexpected_response());
    };
    let length = usize::try_from(ran.stdout_length).ok();
    let split = length.and_then(|length| output.split_at_checked(length));
    let truncated = || WasmError::Runner("its response is truncated".to_owned());
    let (stdout, stderr) = split.ok_or_else(truncated)?;
    let captured = |bytes: &[u8], total| Captured { bytes: bytes.to_vec(), total };
    Ok(Report {
        ended: ran.ended,
        stdout: captured(stdout, ran.totals[0]),
        stderr: captured(stderr, ran.totals[1]),
        fuel: ran.fuel,
        memory: ran.memory,
        trap: ran.trap,
        duration: ran.duration,
    })
}

/// Returns the error for a runner that did not respond.
fn no_response(outcome: &Outcome) -> WasmError {
    let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
    let first = stderr.lines().next().unwrap_or_default();
    WasmError::Runner(format!("{:?} {first}", outcome.ended).trim().to_owned())
}

fn unexpected_response() -> WasmError {
    WasmError::Runner("its response does not match the task".to_owned())
}

/// Performs the task of this process as the runner.
fn serve() -> Result<(), WasmError> {
    let failed = |what: String| WasmError::Runner(what);
    let payload = sandbox::payload().map_err(|error| failed(error.to_string()))?;
    let invalid = || failed("the task is malformed".to_owned());
    let (task, bytes) = unframed::<Task>(&payload).ok_or_else(invalid)?;
    let response = match task {
        Task::Compile => compile(bytes).map(|code| (Response::Compiled, code.bytes().to_vec())),
        Task::Run(job) => run_job(job, &Artifact::compiled(bytes.to_vec())),
    };
    let (response, bytes) = match response {
        Ok((response, bytes)) => (Ok(response), bytes),
        Err(error) => (Err(error), Vec::new()),
    };
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(&framed(&response, &bytes)?).and_then(|()| stdout.flush());
    written.map_err(|error| failed(error.to_string()))
}

fn run_job(job: Job, code: &Artifact) -> Result<(Response, Vec<u8>), WasmError> {
    let report = match job.has_proxy {
        false => run_with(&job, code, None, &Stop::default())?,
        true => {
            let missing = || WasmError::Runner("the proxy address is missing".to_owned());
            let url = std::env::var(PROXY_VARIABLE).map_err(|_| missing())?;
            let address = url.strip_prefix("http://").ok_or_else(missing)?;
            let address: SocketAddr = address.parse().map_err(|_| missing())?;
            run_with(&job.with_proxy(&url), code, Some(address), &Stop::default())?
        }
    };
    let Report { ended, stdout, stderr, fuel, memory, trap, duration } = report;
    let (stdout_length, totals) = (stdout.bytes.len() as u64, [stdout.total, stderr.total]);
    let summary = RunSummary { ended, stdout_length, totals, fuel, memory, trap, duration };
    Ok((Response::Ran(summary), [stdout.bytes, stderr.bytes].concat()))
}

/// Returns the length of the serialized head, the head, and the bytes.
fn framed(head: &impl Serialize, bytes: &[u8]) -> Result<Vec<u8>, WasmError> {
    let failed = |error: String| WasmError::InvalidInput(format!("cannot be sent: {error}"));
    let head = postcard::to_stdvec(head).map_err(|error| failed(error.to_string()))?;
    let length = u32::try_from(head.len()).map_err(|error| failed(error.to_string()))?;
    Ok([&length.to_le_bytes()[..], &head, bytes].concat())
}

fn unframed<'a, T: Deserialize<'a>>(all: &'a [u8]) -> Option<(T, &'a [u8])> {
    let (length, rest) = all.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (head, bytes) = rest.split_at_checked(length)?;
    Some((postcard::from_bytes(head).ok()?, bytes))
}

/// Parses the runner's response, and returns it with the bytes that follow it.
fn response(outcome: &Outcome) -> Result<(Response, &[u8]), WasmError> {
    let read = unframed::<Result<Response, WasmError>>(&outcome.stdout.bytes);
    let (response, bytes) = read.ok_or_else(|| no_response(outcome))?;
    Ok((response?, bytes))
}
