//! The same in a process of its own, inside the operating system's sandbox: compiling a stranger's module, and running it.
//!
//! The process is this program, started anew by the sandbox. What it is to do arrives in a memory that nobody can change; what became of it
//! is the only thing that it writes. Whoever calls starts it and waits: see [`compiling`] with [`compiled`], and [`running`] with [`ran`].

#![expect(clippy::disallowed_methods, reason = "the edge: arguments, the environment and streams")]

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::{Captured, Ended, Limits, Network, Outcome, PROXY, Spec, Stdin};
use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::engine::compile;
use crate::error::WasmError;
use crate::job::Job;
use crate::run::{Report, run_with};
use crate::stop::Stop;

/// The word by which a program knows that it is the runner.
const WORD: &str = "__wasm";
/// The variable that the sandbox puts the proxy's address into.
const PROXY_NAME: &str = "HTTP_PROXY";
/// What the process needs beside the memory of what it runs.
const OWN_MEMORY: u64 = 256 << 20;
/// How much longer than the program its process may take.
const OWN_TIME: Duration = Duration::from_millis(500);
/// How much may be written in answer, beside what the program wrote.
const OWN_OUTPUT: u64 = 64 << 10;
/// How long compiling may take, how much memory, and how large the code may be.
const COMPILE_TIME: Duration = Duration::from_secs(30);
const COMPILE_MEMORY: u64 = 2 << 30;
const CODE: u64 = 512 << 20;

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
enum Task {
    Compile,
    Run(Job),
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Compiled,
    Ran(Ran),
}

/// A report as it travels: what was written follows it.
#[derive(Debug, Serialize, Deserialize)]
struct Ran {
    ended: Ended,
    kept: u64,
    totals: [u64; 2],
    fuel: u64,
    memory: u64,
    trap: Option<String>,
    duration: Duration,
}

/// Whether this program can be started anew as the runner.
static INITIALISED: AtomicBool = AtomicBool::new(false);
/// The program that is the runner instead.
static RUNNER: OnceLock<PathBuf> = OnceLock::new();

/// Becomes the runner if this process was started as one; otherwise does nothing. Call it first thing in `main`.
pub fn init() {
    let mut args = std::env::args_os();
    if args.nth(1).is_some_and(|word| word == WORD) && args.next().is_none() {
        let code = i32::from(serve().is_err());
        std::process::exit(code);
    }
    INITIALISED.store(true, Ordering::Relaxed);
}

/// Names a program that calls [`init`] first thing in its `main`, to be the runner instead of this one.
pub fn use_runner(program: impl Into<PathBuf>) {
    // The first one that was named stays.
    let _ = RUNNER.set(program.into());
}

/// Returns the program that is the runner: the one that was named, or this one, if it called [`init`].
pub fn runner() -> Result<PathBuf, WasmError> {
    if let Some(named) = RUNNER.get() {
        return Ok(named.clone());
    }
    if !INITIALISED.load(Ordering::Relaxed) {
        let what = "call sandbox_wasm::init() first thing in main";
        return Err(WasmError::Runner(what.to_owned()));
    }
    std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .map_err(|error| WasmError::Runner(format!("this program cannot be found: {error}")))
}

/// Returns what the sandbox is to start to have a module compiled. `base` says what must hold; it is given no capability.
pub fn compiling(base: &Spec, runner: &Path, wasm: &[u8]) -> Result<Spec, WasmError> {
    let limits = Limits {
        wall: COMPILE_TIME,
        memory: COMPILE_MEMORY,
        output_kept: CODE,
        output_most: CODE,
        ..base.limits
    };
    Ok(Spec {
        args: vec![WORD.into()],
        read: vec![runner.to_owned()],
        limits,
        handed: Some(framed(&Task::Compile, wasm)?),
        required: base.required.clone(),
        strongest: base.strongest,
        ..Spec::new(runner)
    })
}

/// Reads what became of compiling.
pub fn compiled(outcome: &Outcome) -> Result<Artifact, WasmError> {
    match outcome.ended {
        Ended::Exited(0) => match answered(outcome)? {
            (Answer::Compiled, code) => Ok(Artifact::compiled(code.to_vec())),
            (Answer::Ran(_), _) => Err(WasmError::Runner("it answers another question".to_owned())),
        },
        Ended::Timeout => {
            let most = COMPILE_TIME.as_secs();
            Err(WasmError::TooMuch(format!("that took longer than {most} seconds")))
        }
        Ended::Memory => {
            let most = COMPILE_MEMORY >> 20;
            Err(WasmError::TooMuch(format!("that took more than {most} MiB of memory")))
        }
        Ended::Output => Err(WasmError::TooMuch("its code is too large".to_owned())),
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Trapped | Ended::Cancelled => {
            Err(silent(outcome))
        }
    }
}

/// Returns what the sandbox is to start to have code run with the capabilities of `spec`.
pub fn running(spec: &Spec, job: &Job, runner: &Path, code: &Artifact) -> Result<Spec, WasmError> {
    let proxy = (spec.network == Network::Proxy).then(|| (PROXY_NAME.into(), PROXY.into()));
    let output = spec.limits.output_kept.saturating_mul(2).saturating_add(OWN_OUTPUT);
    let limits = Limits {
        wall: spec.limits.wall.saturating_add(OWN_TIME),
        memory: spec.limits.memory.saturating_add(OWN_MEMORY),
        output_kept: output,
        output_most: output,
        ..spec.limits
    };
    let mut read = spec.read.clone();
    read.push(runner.to_owned());
    Ok(Spec {
        program: runner.to_owned(),
        args: vec![WORD.into()],
        env: proxy.into_iter().collect(),
        cwd: PathBuf::from("/"),
        read,
        limits,
        stdin: match spec.stdin {
            Stdin::Bytes(_) => Stdin::Bytes(Vec::new()),
            Stdin::Inherited => Stdin::Inherited,
        },
        handed: Some(framed(&Task::Run(job.clone()), code.bytes())?),
        ..spec.clone()
    })
}

/// Reads what became of a run.
pub fn ran(outcome: &Outcome) -> Result<Report, WasmError> {
    match outcome.ended {
        Ended::Exited(0) => {}
        Ended::Exited(_) => return Err(silent(outcome)),
        // The process itself was ended: the program has no other end.
        ended => {
            let nothing = Captured::default;
            let (stdout, stderr, duration) = (nothing(), nothing(), outcome.duration);
            return Ok(Report { ended, stdout, stderr, fuel: 0, memory: 0, trap: None, duration });
        }
    }
    let (Answer::Ran(ran), written) = answered(outcome)? else {
        return Err(WasmError::Runner("it answers another question".to_owned()));
    };
    let split = usize::try_from(ran.kept).ok().and_then(|kept| written.split_at_checked(kept));
    let (stdout, stderr) = split.ok_or_else(|| WasmError::Runner("it is cut off".to_owned()))?;
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

/// Returns that nothing was answered.
fn silent(outcome: &Outcome) -> WasmError {
    let said = String::from_utf8_lossy(&outcome.stderr.bytes);
    let said = said.lines().next().unwrap_or_default();
    WasmError::Runner(format!("{:?} {said}", outcome.ended).trim().to_owned())
}

/// Does what this process was started for.
fn serve() -> Result<(), WasmError> {
    let failed = |what: String| WasmError::Runner(what);
    let handed = sandbox::handed().map_err(|error| failed(error.to_string()))?;
    let (task, bytes) = unframed::<Task>(&handed).ok_or_else(|| failed("no task".to_owned()))?;
    let answer = match task {
        Task::Compile => compile(bytes).map(|code| (Answer::Compiled, code.bytes().to_vec())),
        Task::Run(job) => run_job(job, &Artifact::compiled(bytes.to_vec())),
    };
    let (answer, bytes) = match answer {
        Ok((answer, bytes)) => (Ok(answer), bytes),
        Err(error) => (Err(error), Vec::new()),
    };
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(&framed(&answer, &bytes)?).and_then(|()| stdout.flush());
    written.map_err(|error| failed(error.to_string()))
}

fn run_job(job: Job, code: &Artifact) -> Result<(Answer, Vec<u8>), WasmError> {
    let report = match job.has_proxy {
        false => run_with(&job, code, None, &Stop::default())?,
        true => {
            let none = || WasmError::Runner("there is no proxy".to_owned());
            let address = std::env::var(PROXY_NAME).map_err(|_| none())?;
            let known = address.strip_prefix("http://").ok_or_else(none)?;
            let known: SocketAddr = known.parse().map_err(|_| none())?;
            run_with(&job.with_proxy(&address), code, Some(known), &Stop::default())?
        }
    };
    let Report { ended, stdout, stderr, fuel, memory, trap, duration } = report;
    let (kept, totals) = (stdout.bytes.len() as u64, [stdout.total, stderr.total]);
    let ran = Ran { ended, kept, totals, fuel, memory, trap, duration };
    Ok((Answer::Ran(ran), [stdout.bytes, stderr.bytes].concat()))
}

/// Puts a head before bytes: its length, itself, and they.
fn framed(head: &impl Serialize, bytes: &[u8]) -> Result<Vec<u8>, WasmError> {
    let failed = |error: String| WasmError::Given(format!("it cannot be sent: {error}"));
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

fn answered(outcome: &Outcome) -> Result<(Answer, &[u8]), WasmError> {
    let read = unframed::<Result<Answer, WasmError>>(&outcome.stdout.bytes);
    let (answer, bytes) = read.ok_or_else(|| silent(outcome))?;
    Ok((answer?, bytes))
}
