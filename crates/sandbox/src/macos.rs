//! macOS: the system's own sandbox, by a profile. Compiled, not run.
//!
//! A process group is ended as a whole; a process that leaves its group is not, so that nothing outlives a run is not guaranteed here, and a
//! run starts only if the user does without that.

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
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::capture::OutputBound;
pub(crate) use crate::no_layer::{Layer, undo};
use crate::seatbelt::profile;
use crate::{Captured, Ended, Guarantee, Limits, Outcome, SandboxError, Spec, Stdin, Tier};

const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// How often the end is looked for.
const PAUSE: Duration = Duration::from_millis(5);
/// What holds.
const HELD: [Guarantee; 6] = [
    Guarantee::FsRead,
    Guarantee::FsWrite,
    Guarantee::NetNone,
    Guarantee::UnixIsolated,
    Guarantee::Signals,
    Guarantee::PrivateTmp,
];

pub(crate) fn init() {}

pub(crate) fn use_helper(_: PathBuf) {}

/// Nothing can be got ready here.
pub(crate) fn prepare() {}

/// Nothing is handed to a program here.
pub(crate) fn handed() -> io::Result<Vec<u8>> {
    Err(io::Error::other("nothing is handed to a program on this system"))
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Mutex<Child>,
    started: Instant,
    limits: Limits,
    is_cancelled: Arc<AtomicBool>,
    output: Arc<OutputBound>,
    streams: Option<(JoinHandle<Captured>, JoinHandle<Captured>)>,
    temporary: PathBuf,
}

pub(crate) fn start(spec: &Spec) -> Result<Running, SandboxError> {
    if spec.handed.is_some() {
        return Err(SandboxError::BadSpec(
            "nothing can be handed to a program on this system".to_owned(),
        ));
    }
    let missing: Vec<Guarantee> =
        spec.required.iter().filter(|needed| !HELD.contains(needed)).copied().collect();
    if !missing.is_empty() {
        return Err(SandboxError::Unavailable {
            missing,
            why: "macOS's sandbox cannot hold all of it".to_owned(),
            fix: "run it on Linux, or do without by --allow-degraded".to_owned(),
        });
    }
    let setup =
        |step: &str, source: io::Error| SandboxError::Setup { step: step.to_owned(), source };
    let temporary = PathBuf::from(format!("/private/tmp/openskills-run-{}", std::process::id()));
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&temporary)
        .map_err(|source| setup("cannot make a folder for temporary files", source))?;
    let text = profile(spec, &temporary).map_err(SandboxError::BadSpec)?;
    let mut command = Command::new(PROGRAM);
    command.arg("-p").arg(text).arg(&spec.program).args(&spec.args);
    command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.env("TMPDIR", &temporary).env("HOME", &temporary).current_dir(&spec.cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|source| setup("cannot start", source))?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = spec.stdin.clone();
        std::thread::spawn(move || match input {
            Stdin::Bytes(bytes) => stdin.write_all(&bytes),
            Stdin::Inherited => io::copy(&mut io::stdin().lock(), &mut stdin).map(drop),
        });
    }
    let output = Arc::new(OutputBound::new(&spec.limits));
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

/// Says to whoever waits that the program is to end.
#[derive(Debug, Clone)]
pub(crate) struct Canceller(Arc<AtomicBool>);

impl Canceller {
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Running {
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
                    std::thread::sleep(PAUSE);
                }
            }
        };
        // What is left of the group ends with it.
        self.kill();
        let (stdout, stderr) = match self.streams.take() {
            Some((out, err)) => (out.join().unwrap_or_default(), err.join().unwrap_or_default()),
            None => Default::default(),
        };
        Ok(Outcome {
            ended,
            stdout,
            stderr,
            violations: Vec::new(),
            more_violations: 0,
            duration: self.started.elapsed(),
            enforced: HELD.to_vec(),
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
