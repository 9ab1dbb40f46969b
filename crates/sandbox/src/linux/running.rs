//! A program that runs, seen from outside.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::layer::Layer;
use super::ready::{self, Begun};
use super::wire::{Report, receive};
use crate::capture::OutputBound;
use crate::error::{Failure, SandboxError};
use crate::outcome::{Captured, Ended, Outcome, Violation};
use crate::{Guarantee, Spec, Stdin, Tier};

/// How long after its time a stage may take to end everything.
const GRACE: Duration = Duration::from_secs(5);

/// A program that runs. Dropping it ends it and everything that it started.
#[derive(Debug)]
pub(crate) struct Running {
    status: OwnedFd,
    lifeline: Arc<Mutex<Option<OwnedFd>>>,
    stage: Option<Pid>,
    started: Instant,
    /// The same, by the clock that files are dated by.
    begun: SystemTime,
    enforced: Vec<Guarantee>,
    layer: Option<Layer>,
    proxy: Option<TcpListener>,
    stdout: Option<JoinHandle<Captured>>,
    stderr: Option<JoinHandle<Captured>>,
    output: Arc<OutputBound>,
    tier: Tier,
    wall: Duration,
    /// Folders of the system that are to be removed when the stage has ended.
    left: Vec<PathBuf>,
}

fn setup(step: &'static str) -> impl FnOnce(io::Error) -> SandboxError {
    move |source| SandboxError::Setup { step: step.to_owned(), source }
}

/// Starts a program, in the strongest sandbox that there is and that is strong enough.
pub(crate) fn start(spec: &Spec) -> Result<Running, SandboxError> {
    if !ready::is_possible() {
        return Err(SandboxError::NotInitialised);
    }
    match start_one(spec) {
        Err(SandboxError::Unavailable { missing, why, fix }) if spec.strongest == Tier::A => {
            let weaker = Spec { strongest: Tier::B, ..spec.clone() };
            start_one(&weaker).map_err(|error| match error {
                // Why the stronger one is not there says more.
                SandboxError::Unavailable { missing: more, .. } => {
                    let mut missing: Vec<Guarantee> = missing.into_iter().chain(more).collect();
                    missing.sort_unstable();
                    missing.dedup();
                    missing.retain(|guarantee| spec.required.contains(guarantee));
                    SandboxError::Unavailable { missing, why, fix }
                }
                other => other,
            })
        }
        other => other,
    }
}

fn start_one(spec: &Spec) -> Result<Running, SandboxError> {
    let stage = ready::stage(spec.strongest)?;
    let (started, begun) = (Instant::now(), SystemTime::now());
    let Begun { process, status, lifeline, stdin, stdout, stderr } = stage.begin(spec)?;
    let lifeline = Arc::new(Mutex::new(Some(lifeline)));
    let output = Arc::new(OutputBound::new(&spec.limits));
    let reading = |stream: OwnedFd| {
        let lifeline = Arc::clone(&lifeline);
        output.read(File::from(stream), move || end(&lifeline))
    };
    let mut running = Running {
        status,
        stage: Some(process),
        started,
        begun,
        enforced: Vec::new(),
        layer: None,
        proxy: None,
        stdout: Some(reading(stdout)),
        stderr: Some(reading(stderr)),
        output: Arc::clone(&output),
        lifeline: Arc::clone(&lifeline),
        tier: spec.strongest,
        wall: spec.limits.wall,
        left: Vec::new(),
    };
    running.hear_of_start(spec)?;
    let input = spec.stdin.clone();
    std::thread::spawn(move || {
        // A program that reads no more has its reasons.
        let _ = feed(File::from(stdin), &input);
    });
    Ok(running)
}

/// Writes what a program reads.
fn feed(mut program: File, input: &Stdin) -> io::Result<()> {
    match input {
        Stdin::Bytes(bytes) => program.write_all(bytes),
        Stdin::Inherited => {
            let mut ours = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            io::copy(&mut ours, &mut program).map(drop)
        }
    }
}

impl Running {
    /// Waits until the program runs, or is known not to.
    fn hear_of_start(&mut self, spec: &Spec) -> Result<(), SandboxError> {
        match self.hear_after_groups()? {
            Some((Report::Started { enforced, layers, proxy_port }, fds)) => {
                let mut fds = fds.into_iter();
                self.enforced = enforced;
                let mut next = |is_there: bool| if is_there { fds.next() } else { None };
                let (upper, base) = (next(layers > 0), next(layers > 1));
                let place = spec.workspace.as_ref().map(|workspace| workspace.path.clone());
                let begun = self.begun;
                self.layer = upper.zip(place).map(|(upper, workspace)| Layer {
                    upper,
                    base,
                    workspace,
                    started: begun,
                    most: spec.limits.temporary.saturating_mul(2),
                });
                self.proxy =
                    if proxy_port.is_some() { fds.next().map(TcpListener::from) } else { None };
                Ok(())
            }
            Some((Report::Failed(failure), _)) => Err(told(failure, spec)),
            Some(_) | None => {
                let source = io::Error::other("it ended without a word");
                Err(setup("the stage failed")(source))
            }
        }
    }

    /// Returns the first report after the one about groups, which are removed with the run however it ends.
    fn hear_after_groups(&mut self) -> Result<Option<(Report, Vec<OwnedFd>)>, SandboxError> {
        loop {
            match receive(&self.status).map_err(setup("cannot hear from the stage"))? {
                Some((Report::LeftBehind(folders), _)) => self.left.extend(
                    folders.into_iter().map(|folder| PathBuf::from(OsString::from_vec(folder))),
                ),
                other => return Ok(other),
            }
        }
    }

    /// Takes the folder that writes to the workspace are in.
    pub(crate) fn take_layer(&mut self) -> Option<Layer> {
        self.layer.take()
    }

    /// Takes the socket on which the program looks for the proxy.
    pub(crate) fn take_proxy(&mut self) -> Option<TcpListener> {
        self.proxy.take()
    }

    /// Returns what ends the program and everything that it started.
    pub(crate) fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.lifeline))
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> Result<Outcome, SandboxError> {
        let mut violations: Vec<Violation> = Vec::new();
        let (mut more_violations, mut ended) = (0, None);
        while self.has_report() {
            let Some((report, _)) =
                receive(&self.status).map_err(setup("cannot hear from the stage"))?
            else {
                break;
            };
            match report {
                Report::Tried(violation) => violations.push(violation),
                Report::TriedMore(more) => more_violations = more,
                // Why the supervisor ended it counts more than how it then ended.
                Report::Ended(how) => ended = Some(how),
                Report::Failed(_) | Report::Started { .. } | Report::LeftBehind(_) => {}
            }
        }
        let duration = self.started.elapsed();
        self.reap();
        // Everything that could write is gone; if not, its output is not waited for.
        let last = Instant::now() + GRACE;
        let captured = |stream: Option<JoinHandle<Captured>>| {
            let stream = stream?;
            while !stream.is_finished() && Instant::now() < last {
                std::thread::sleep(Duration::from_millis(1));
            }
            if stream.is_finished() { stream.join().ok() } else { None }
        };
        let captured = |stream| captured(stream).unwrap_or_default();
        let (stdout, stderr) = (captured(self.stdout.take()), captured(self.stderr.take()));
        let ended = match ended {
            Some(Ended::Cancelled) if self.output.is_exceeded() => Ended::Output,
            Some(ended) => ended,
            // Somebody killed the whole tree.
            None if duration >= self.wall => Ended::Timeout,
            None => Ended::Signalled(libc::SIGKILL),
        };
        let (enforced, tier) = (std::mem::take(&mut self.enforced), Some(self.tier));
        Ok(Outcome { ended, stdout, stderr, violations, more_violations, duration, enforced, tier })
    }

    /// Waits for a report. A stage that is late has been tampered with: it is ended.
    fn has_report(&self) -> bool {
        let end = self.wall + GRACE;
        let left = end.saturating_sub(self.started.elapsed());
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds = [PollFd::new(&self.status, PollFlags::IN)];
        let _ = rustix::io::retry_on_intr(|| poll(&mut fds, Some(&wait)));
        let has_report = !fds[0].revents().is_empty();
        if !has_report && let Some(stage) = self.stage {
            let _ = kill_process(stage, Signal::KILL);
        }
        has_report
    }

    fn reap(&mut self) {
        if let Some(stage) = self.stage.take() {
            let _ = rustix::io::retry_on_intr(|| waitpid(Some(stage), WaitOptions::empty()));
            for folder in self.left.drain(..) {
                remove_group(&folder);
            }
        }
    }
}

/// Removes a group. Where the stage was killed its processes may still be ending; what cannot be removed the next run removes.
fn remove_group(folder: &Path) {
    let last = Instant::now() + Duration::from_millis(200);
    while let Err(error) = std::fs::remove_dir(folder)
        && error.kind() == io::ErrorKind::ResourceBusy
        && Instant::now() < last
    {
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end(&self.lifeline);
        self.reap();
    }
}

/// The line that keeps a program alive.
#[derive(Debug, Clone)]
pub(crate) struct Canceller(Arc<Mutex<Option<OwnedFd>>>);

impl Canceller {
    pub(crate) fn cancel(&self) {
        end(&self.0);
    }
}

/// Closes the line that keeps a program alive.
fn end(lifeline: &Mutex<Option<OwnedFd>>) {
    if let Ok(mut lifeline) = lifeline.lock() {
        lifeline.take();
    }
}

/// Returns a failure of the stage as the caller's.
fn told(failure: Failure, spec: &Spec) -> SandboxError {
    let os = io::Error::from_raw_os_error;
    match failure {
        Failure::Unavailable { missing, why } => {
            SandboxError::Unavailable { missing, fix: fix(&why), why }
        }
        Failure::BadSpec(what) => SandboxError::BadSpec(what),
        Failure::Program { errno } => {
            SandboxError::Program { program: spec.program.display().to_string(), source: os(errno) }
        }
        Failure::Setup { step, errno } => SandboxError::Setup { step, source: os(errno) },
    }
}

/// Returns what would help.
fn fix(why: &str) -> String {
    if why.contains("user namespace") || why.contains("mapped") {
        "allow user namespaces: sysctl -w user.max_user_namespaces=10000; on Ubuntu also \
         kernel.apparmor_restrict_unprivileged_userns=0; in a container allow unshare"
    } else if why.contains("Landlock") {
        "use a kernel with Landlock (CONFIG_SECURITY_LANDLOCK, and `landlock` in lsm=)"
    } else if why.contains("group of processes") {
        "run as a user to whom systemd delegates a control group, or as root"
    } else {
        "run `openskills sandbox check`"
    }
    .to_owned()
}
