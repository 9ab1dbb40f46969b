//! macOS: the system's own sandbox (`sandbox-exec`) with a profile. This code is compiled, but has not been run.
//!
//! A run is killed as a process group. A process that leaves its group survives, so `tree_kill` is not guaranteed here,
//! and a run starts only if the user gives that guarantee up.

#![expect(clippy::disallowed_methods, reason = "all of it is the edge to the system")]

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::capture::{CapturedStream, OutputLimit};
pub(crate) use crate::no_layer::{Layer, LeftRunning, end_background, start_time, undo};
use crate::seatbelt::profile;
use crate::{
    BackgroundId, Ended, Guarantee, Limits, Outcome, SandboxError, Spec, Stdin, Streams, Tier,
};

const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// How often to check whether the program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long to wait for the rest of the output after the group was killed.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);
/// The guarantees that are enforced.
const ENFORCED: [Guarantee; 6] = [
    Guarantee::FsRead,
    Guarantee::FsWrite,
    Guarantee::NetNone,
    Guarantee::UnixIsolated,
    Guarantee::Signals,
    Guarantee::PrivateTmp,
];

pub(crate) fn init() {}

pub(crate) fn use_helper(_: PathBuf) {}

/// Does nothing: there is no stage to start in advance.
pub(crate) fn prepare(_: Streams) {}

/// Always fails, because no program can be given a payload here.
pub(crate) fn payload() -> io::Result<Vec<u8>> {
    Err(io::Error::other("payloads are not supported on this system"))
}

#[derive(Debug)]
pub(crate) struct Running {
    child: Mutex<Child>,
    started: Instant,
    limits: Limits,
    is_cancelled: Arc<AtomicBool>,
    output: Arc<OutputLimit>,
    streams: Option<(CapturedStream, CapturedStream)>,
    temporary: PathBuf,
}

/// Always succeeds: this system has a sandbox.
pub(crate) fn supported() -> Result<(), SandboxError> {
    Ok(())
}

pub(crate) fn start(spec: &Spec) -> Result<Running, SandboxError> {
    if spec.payload.is_some() {
        return Err(SandboxError::BadSpec("payloads are not supported on this system".to_owned()));
    }
    if spec.streams == Streams::Shared || !spec.private.is_empty() {
        let what = "shared streams and private folders are not supported on this system";
        return Err(SandboxError::BadSpec(what.to_owned()));
    }
    let missing: Vec<Guarantee> =
        spec.required.iter().filter(|needed| !ENFORCED.contains(needed)).copied().collect();
    if !missing.is_empty() {
        return Err(SandboxError::Unavailable {
            missing,
            reason: "the macOS sandbox does not support all required guarantees".to_owned(),
            fix: "run it on Linux, or give up guarantees with `--allow-degraded`".to_owned(),
        });
    }
    let setup =
        |step: &str, source: io::Error| SandboxError::Setup { step: step.to_owned(), source };
    let temporary = PathBuf::from(format!("/private/tmp/openskills-run-{}", std::process::id()));
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&temporary)
        .map_err(|source| setup("cannot create a folder for temporary files", source))?;
    let text = profile(spec, &temporary).map_err(SandboxError::BadSpec)?;
    let mut command = Command::new(PROGRAM);
    command.arg("-p").arg(text).arg(&spec.program).args(&spec.args);
    command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.env("TMPDIR", &temporary).env("HOME", &temporary).current_dir(&spec.cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|source| setup("cannot start sandbox-exec", source))?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = spec.stdin.clone();
        std::thread::spawn(move || match input {
            Stdin::Bytes(bytes) => stdin.write_all(&bytes),
            Stdin::Inherited => io::copy(&mut io::stdin().lock(), &mut stdin).map(drop),
        });
    }
    let output = Arc::new(OutputLimit::new(&spec.limits));
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let end = move || {
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    };
    let streams = child.stdout.take().zip(child.stderr.take());
    let streams = streams.map(|(out, err)| (output.read(out, end), output.read(err, end)));
    Ok(Running {
        child: Mutex::new(child),
        started: Instant::now(),
        limits: spec.limits,
        is_cancelled: Arc::new(AtomicBool::new(false)),
        output,
        streams,
        temporary,
    })
}

/// A handle that tells the waiting thread to kill the program.
#[derive(Debug, Clone)]
pub(crate) struct Canceller(Arc<AtomicBool>);

impl Canceller {
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Running {
    pub(crate) fn id(&self) -> Option<BackgroundId> {
        None
    }

    pub(crate) fn take_layer(&mut self) -> Option<Layer> {
        None
    }

    pub(crate) fn take_proxy(&mut self) -> Option<TcpListener> {
        None
    }

    pub(crate) fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.is_cancelled))
    }

    fn kill(&self) {
        if let Ok(child) = self.child.lock()
            && let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    pub(crate) fn wait_for_main(self) -> Result<(Outcome, Option<LeftRunning>), SandboxError> {
        // A run ends as a process group, so nothing is left running.
        Ok((self.wait()?, None))
    }

    pub(crate) fn wait(mut self) -> Result<Outcome, SandboxError> {
        let ended = loop {
            let status = self.child.lock().map(|mut child| child.try_wait());
            match status {
                Ok(Ok(Some(status))) => {
                    break match (status.code(), status.signal()) {
                        _ if self.output.is_exceeded() => Ended::Output,
                        _ if self.is_cancelled.load(Ordering::Relaxed) => Ended::Cancelled,
                        (Some(code), _) => Ended::Exited(code),
                        (None, signal) => Ended::Signalled(signal.unwrap_or(9)),
                    };
                }
                _ if self.started.elapsed() > self.limits.wall => {
                    self.kill();
                    break Ended::Timeout;
                }
                _ => {
                    if self.is_cancelled.load(Ordering::Relaxed) {
                        self.kill();
                    }
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
        };
        // Kill the rest of the process group.
        self.kill();
        let (stdout, stderr) = match self.streams.take() {
            Some((out, err)) => {
                let deadline = Instant::now() + OUTPUT_TIMEOUT;
                (out.finish(deadline), err.finish(deadline))
            }
            None => Default::default(),
        };
        Ok(Outcome {
            ended,
            stdout,
            stderr,
            violations: Vec::new(),
            more_violations: 0,
            duration: self.started.elapsed(),
            enforced: ENFORCED.to_vec(),
            tier: Some(Tier::B),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        if let Ok(child) = self.child.get_mut() {
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.temporary);
    }
}
