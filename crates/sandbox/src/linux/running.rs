//! A running program, seen from the caller.

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
use super::ready::{self, StageProcess};
use super::wire::{Report, receive};
use crate::capture::OutputLimit;
use crate::error::{Failure, SandboxError};
use crate::outcome::{Captured, Ended, Outcome, Violation};
use crate::{Guarantee, Spec, Stdin, Tier};

/// How long after the time limit a stage may take to kill everything.
const GRACE: Duration = Duration::from_secs(5);

/// A running program. Dropping it kills the program and everything that it started.
#[derive(Debug)]
pub(crate) struct Running {
    status: OwnedFd,
    /// The stage kills the run when this pipe is closed.
    lifeline: Arc<Mutex<Option<OwnedFd>>>,
    stage: Option<Pid>,
    started: Instant,
    /// The start time by the clock that file times use.
    started_at: SystemTime,
    enforced: Vec<Guarantee>,
    layer: Option<Layer>,
    proxy: Option<TcpListener>,
    stdout: Option<JoinHandle<Captured>>,
    stderr: Option<JoinHandle<Captured>>,
    output: Arc<OutputLimit>,
    tier: Tier,
    wall: Duration,
    /// The folders of the run's control groups, which are removed when the stage has ended.
    cgroups: Vec<PathBuf>,
}

fn setup(step: &'static str) -> impl FnOnce(io::Error) -> SandboxError {
    move |source| SandboxError::Setup { step: step.to_owned(), source }
}

/// Starts a program in the strongest available sandbox that provides the required guarantees.
pub(crate) fn start(spec: &Spec) -> Result<Running, SandboxError> {
    if !ready::has_stage_program() {
        return Err(SandboxError::NotInitialized);
    }
    match start_in_tier(spec) {
        Err(SandboxError::Unavailable { missing, reason, fix }) if spec.strongest == Tier::A => {
            let weaker = Spec { strongest: Tier::B, ..spec.clone() };
            start_in_tier(&weaker).map_err(|error| match error {
                // The reason why tier A is not available is more helpful.
                SandboxError::Unavailable { missing: more, .. } => {
                    let mut missing: Vec<Guarantee> = missing.into_iter().chain(more).collect();
                    missing.sort_unstable();
                    missing.dedup();
                    missing.retain(|guarantee| spec.required.contains(guarantee));
                    SandboxError::Unavailable { missing, reason, fix }
                }
                other => other,
            })
        }
        other => other,
    }
}

/// Starts a program in a sandbox of the tier `strongest`.
fn start_in_tier(spec: &Spec) -> Result<Running, SandboxError> {
    let stage = ready::take_stage(spec.strongest)?;
    let (started, started_at) = (Instant::now(), SystemTime::now());
    let StageProcess { pid, status, lifeline, stdin, stdout, stderr } = stage.run(spec)?;
    let lifeline = Arc::new(Mutex::new(Some(lifeline)));
    let output = Arc::new(OutputLimit::new(&spec.limits));
    let reading = |stream: OwnedFd| {
        let lifeline = Arc::clone(&lifeline);
        output.read(File::from(stream), move || close_lifeline(&lifeline))
    };
    let mut running = Running {
        status,
        stage: Some(pid),
        started,
        started_at,
        enforced: Vec::new(),
        layer: None,
        proxy: None,
        stdout: Some(reading(stdout)),
        stderr: Some(reading(stderr)),
        output: Arc::clone(&output),
        lifeline: Arc::clone(&lifeline),
        tier: spec.strongest,
        wall: spec.limits.wall,
        cgroups: Vec::new(),
    };
    running.receive_start(spec)?;
    let input = spec.stdin.clone();
    std::thread::spawn(move || {
        // A program may stop reading before the input ends.
        let _ = write_input(File::from(stdin), &input);
    });
    Ok(running)
}

/// Writes the program's standard input.
fn write_input(mut program: File, input: &Stdin) -> io::Result<()> {
    match input {
        Stdin::Bytes(bytes) => program.write_all(bytes),
        Stdin::Inherited => {
            let mut ours = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            io::copy(&mut ours, &mut program).map(drop)
        }
    }
}

impl Running {
    /// Waits until the stage reports that the program was started, or why it was not.
    fn receive_start(&mut self, spec: &Spec) -> Result<(), SandboxError> {
        match self.receive_after_cgroups()? {
            Some((Report::Started { enforced, layers, proxy_port }, fds)) => {
                let mut fds = fds.into_iter();
                self.enforced = enforced;
                let mut next = |is_there: bool| if is_there { fds.next() } else { None };
                let (upper, base) = (next(layers > 0), next(layers > 1));
                let workspace = spec.workspace.as_ref().map(|workspace| workspace.path.clone());
                let started = self.started_at;
                self.layer = upper.zip(workspace).map(|(upper, workspace)| Layer {
                    upper,
                    base,
                    workspace,
                    started,
                    max_bytes: spec.limits.temporary.saturating_mul(2),
                });
                self.proxy =
                    if proxy_port.is_some() { fds.next().map(TcpListener::from) } else { None };
                Ok(())
            }
            Some((Report::Failed(failure), _)) => Err(sandbox_error(failure, spec)),
            Some(_) | None => {
                let source = io::Error::other("it exited without reporting an error");
                Err(setup("the stage failed")(source))
            }
        }
    }

    /// Returns the first report after the one about control groups, which are removed however the run ends.
    fn receive_after_cgroups(&mut self) -> Result<Option<(Report, Vec<OwnedFd>)>, SandboxError> {
        loop {
            match receive(&self.status).map_err(setup("cannot receive a report from the stage"))? {
                Some((Report::Cgroups(folders), _)) => self.cgroups.extend(
                    folders.into_iter().map(|folder| PathBuf::from(OsString::from_vec(folder))),
                ),
                other => return Ok(other),
            }
        }
    }

    /// Returns the layer with the writes to the workspace.
    pub(crate) fn take_layer(&mut self) -> Option<Layer> {
        self.layer.take()
    }

    /// Returns the socket on which the program expects the proxy.
    pub(crate) fn take_proxy(&mut self) -> Option<TcpListener> {
        self.proxy.take()
    }

    /// Returns a handle that kills the program and everything that it started.
    pub(crate) fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.lifeline))
    }

    /// Waits for the program to end.
    pub(crate) fn wait(mut self) -> Result<Outcome, SandboxError> {
        let mut violations: Vec<Violation> = Vec::new();
        let (mut more_violations, mut ended) = (0, None);
        while self.has_report() {
            let Some((report, _)) =
                receive(&self.status).map_err(setup("cannot receive a report from the stage"))?
            else {
                break;
            };
            match report {
                Report::Violation(violation) => violations.push(violation),
                Report::MoreViolations(more) => more_violations = more,
                // The stage's report comes last and wins: why it killed the program matters more than how it then
                // ended.
                Report::Ended(how) => ended = Some(how),
                Report::Failed(_) | Report::Started { .. } | Report::Cgroups(_) => {}
            }
        }
        let duration = self.started.elapsed();
        self.reap();
        // All processes that could write are gone. If any survived, do not wait for their output.
        let deadline = Instant::now() + GRACE;
        let captured = |stream: Option<JoinHandle<Captured>>| {
            let stream = stream?;
            while !stream.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            if stream.is_finished() { stream.join().ok() } else { None }
        };
        let captured = |stream| captured(stream).unwrap_or_default();
        let (stdout, stderr) = (captured(self.stdout.take()), captured(self.stderr.take()));
        let ended = match ended {
            Some(Ended::Cancelled) if self.output.is_exceeded() => Ended::Output,
            Some(ended) => ended,
            // The whole process tree was killed.
            None if duration >= self.wall => Ended::Timeout,
            None => Ended::Signalled(libc::SIGKILL),
        };
        let (enforced, tier) = (std::mem::take(&mut self.enforced), Some(self.tier));
        Ok(Outcome { ended, stdout, stderr, violations, more_violations, duration, enforced, tier })
    }

    /// Waits for a report. A stage that does not report in time must have been tampered with, and is killed.
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
            for folder in self.cgroups.drain(..) {
                remove_cgroup(&folder);
            }
        }
    }
}

/// Removes a control group. If the stage was killed, processes in the group may still be ending; a later run removes a
/// group that cannot be removed now.
fn remove_cgroup(folder: &Path) {
    let deadline = Instant::now() + Duration::from_millis(200);
    while let Err(error) = std::fs::remove_dir(folder)
        && error.kind() == io::ErrorKind::ResourceBusy
        && Instant::now() < deadline
    {
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        close_lifeline(&self.lifeline);
        self.reap();
    }
}

/// Cancels a program by closing its lifeline.
#[derive(Debug, Clone)]
pub(crate) struct Canceller(Arc<Mutex<Option<OwnedFd>>>);

impl Canceller {
    pub(crate) fn cancel(&self) {
        close_lifeline(&self.0);
    }
}

/// Closes the pipe that keeps a program alive.
fn close_lifeline(lifeline: &Mutex<Option<OwnedFd>>) {
    if let Ok(mut lifeline) = lifeline.lock() {
        lifeline.take();
    }
}

/// Converts a failure reported by the stage.
fn sandbox_error(failure: Failure, spec: &Spec) -> SandboxError {
    let os = io::Error::from_raw_os_error;
    match failure {
        Failure::Unavailable { missing, reason } => {
            SandboxError::Unavailable { missing, fix: fix(&reason), reason }
        }
        Failure::BadSpec(what) => SandboxError::BadSpec(what),
        Failure::Program { errno } => {
            SandboxError::Program { program: spec.program.display().to_string(), source: os(errno) }
        }
        Failure::Setup { step, errno } => SandboxError::Setup { step, source: os(errno) },
    }
}

/// Returns how to fix the reason.
fn fix(reason: &str) -> String {
    if reason.contains("user namespace") || reason.contains("cannot map the user") {
        "allow user namespaces: sysctl -w user.max_user_namespaces=10000; on Ubuntu also \
         kernel.apparmor_restrict_unprivileged_userns=0; in a container, allow unshare"
    } else if reason.contains("Landlock") {
        "use a kernel with Landlock support (CONFIG_SECURITY_LANDLOCK, and `landlock` in lsm=)"
    } else if reason.contains("control group") {
        "run as a user to whom systemd delegates a control group, or as root"
    } else {
        "run `openskills sandbox check`"
    }
    .to_owned()
}
