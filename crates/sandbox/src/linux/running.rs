//! A running program, seen from the caller.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::layer::Layer;
use super::left::LeftRunning;
use super::ready::{self, StageProcess};
use super::wire::{Report, receive};
use crate::capture::{CapturedStream, OutputLimit};
use crate::error::{Failure, SandboxError};
use crate::outcome::{Ended, Outcome, Violation};
use crate::{BackgroundId, Guarantee, ProcessId, Spec, Stdin, Tier};

/// How long after the time limit a stage may take to kill everything.
const GRACE: Duration = Duration::from_secs(5);

/// How long to wait for output if processes are left running.
const LEFT_GRACE: Duration = Duration::from_millis(50);

/// A running program. Dropping it kills the program and everything that it started.
#[derive(Debug)]
pub(crate) struct Running {
    /// `None` once it belongs to the processes that are left running.
    status: Option<OwnedFd>,
    /// The init process of the run's namespace, in tier A.
    init: Option<i32>,
    /// Reports that came before the one that says which process it is.
    pending: VecDeque<Report>,
    /// The stage kills the run when this pipe is closed.
    lifeline: Arc<Mutex<Option<OwnedFd>>>,
    stage: Option<Pid>,
    started: Instant,
    /// The start time by the clock that file times use.
    started_at: SystemTime,
    enforced: Vec<Guarantee>,
    layer: Option<Layer>,
    proxy: Option<TcpListener>,
    stdout: Option<CapturedStream>,
    stderr: Option<CapturedStream>,
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
    let stage = ready::take_stage(spec)?;
    let (started, started_at) = (Instant::now(), SystemTime::now());
    let StageProcess { pid, status, lifeline, pipes } = stage.run(spec)?;
    let lifeline = Arc::new(Mutex::new(Some(lifeline)));
    let output = Arc::new(OutputLimit::new(&spec.limits));
    let reading = |stream: OwnedFd| {
        let lifeline = Arc::clone(&lifeline);
        output.read(File::from(stream), move || close_lifeline(&lifeline))
    };
    let mut running = Running {
        status: Some(status),
        init: None,
        pending: VecDeque::new(),
        stage: Some(pid),
        started,
        started_at,
        enforced: Vec::new(),
        layer: None,
        proxy: None,
        stdout: None,
        stderr: None,
        output: Arc::clone(&output),
        lifeline: Arc::clone(&lifeline),
        tier: spec.strongest,
        wall: spec.limits.wall,
        cgroups: Vec::new(),
    };
    let stdin = pipes.map(|pipes| {
        running.stdout = Some(reading(pipes.stdout));
        running.stderr = Some(reading(pipes.stderr));
        pipes.stdin
    });
    running.receive_start(spec)?;
    if let Some(stdin) = stdin {
        let input = spec.stdin.clone();
        std::thread::spawn(move || {
            // A program may stop reading before the input ends.
            let _ = write_input(File::from(stdin), &input);
        });
    }
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
                    git: spec.git,
                    applied: None,
                    max_bytes: spec.limits.temporary.saturating_mul(2),
                });
                self.proxy =
                    if proxy_port.is_some() { fds.next().map(TcpListener::from) } else { None };
                // The stage and the init process use one socket, so the order of their reports is not fixed.
                while self.tier == Tier::A && self.init.is_none() {
                    match self.receive()? {
                        Some((Report::Init(pid), _)) => self.init = Some(pid),
                        Some((other, _)) => self.pending.push_back(other),
                        None => break,
                    }
                }
                Ok(())
            }
            Some((Report::Failed(failure), _)) => Err(sandbox_error(failure, spec)),
            // It wrote too much output and was killed before the init process could report its start.
            Some((report @ Report::Ended(_), _)) if self.output.is_exceeded() => {
                self.pending.push_back(report);
                Ok(())
            }
            Some(_) | None => {
                let source = io::Error::other("it exited without reporting an error");
                Err(setup("the stage failed")(source))
            }
        }
    }

    /// Returns the first report after the one about control groups, which are removed however the run ends.
    fn receive_after_cgroups(&mut self) -> Result<Option<(Report, Vec<OwnedFd>)>, SandboxError> {
        loop {
            match self.receive()? {
                Some((Report::Cgroups(folders), _)) => self.cgroups.extend(
                    folders.into_iter().map(|folder| PathBuf::from(OsString::from_vec(folder))),
                ),
                Some((Report::Init(pid), _)) => self.init = Some(pid),
                other => return Ok(other),
            }
        }
    }

    fn receive(&self) -> Result<Option<(Report, Vec<OwnedFd>)>, SandboxError> {
        let Some(status) = &self.status else { return Ok(None) };
        receive(status).map_err(setup("cannot receive a report from the stage"))
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
    pub(crate) fn wait(self) -> Result<Outcome, SandboxError> {
        self.wait_for_main().map(|(outcome, _)| outcome)
    }

    /// Waits for the program itself to end. Returns what it left running, if that was requested.
    pub(crate) fn wait_for_main(mut self) -> Result<(Outcome, Option<LeftRunning>), SandboxError> {
        let mut violations: Vec<Violation> = Vec::new();
        let (mut more_violations, mut ended, mut left) = (0, None, None);
        loop {
            let report = match self.pending.pop_front() {
                Some(report) => report,
                None if !self.has_report() => break,
                None => match self.receive()? {
                    Some((report, _)) => report,
                    None => break,
                },
            };
            match report {
                Report::Violation(violation) => violations.push(violation),
                Report::MoreViolations(more) => more_violations = more,
                // The stage's report comes last and wins: why it killed the program matters more than how it then
                // ended.
                Report::Ended(how) => ended = Some(how),
                Report::Init(pid) => self.init = Some(pid),
                Report::Left => {
                    left = self.left_running();
                    break;
                }
                Report::Failed(_) | Report::Started { .. } | Report::Cgroups(_) => {}
            }
        }
        let duration = self.started.elapsed();
        if left.is_none() {
            self.reap();
        }
        // All processes that could write are gone. If any survived, do not wait for their output.
        let deadline = Instant::now() + if left.is_some() { LEFT_GRACE } else { GRACE };
        let captured =
            |stream: Option<CapturedStream>| stream.map(|stream| stream.finish(deadline));
        let (stdout, stderr) = (captured(self.stdout.take()), captured(self.stderr.take()));
        let (stdout, stderr) = (stdout.unwrap_or_default(), stderr.unwrap_or_default());
        let ended = match ended {
            Some(Ended::Cancelled) if self.output.is_exceeded() => Ended::Output,
            Some(ended) => ended,
            // The whole process tree was killed.
            None if duration >= self.wall => Ended::Timeout,
            None => Ended::Signalled(libc::SIGKILL),
        };
        let (enforced, tier) = (std::mem::take(&mut self.enforced), Some(self.tier));
        let outcome = Outcome {
            ended,
            stdout,
            stderr,
            violations,
            more_violations,
            duration,
            enforced,
            tier,
        };
        Ok((outcome, left))
    }

    /// Returns the identity of its processes, in tier A.
    pub(crate) fn id(&self) -> Option<BackgroundId> {
        let stage = self.stage?.as_raw_nonzero().get();
        Some(BackgroundId { stage: ProcessId::of(stage)?, init: ProcessId::of(self.init?)? })
    }

    /// Hands the stage over to the processes that are still running. The stage removes its control groups itself.
    fn left_running(&mut self) -> Option<LeftRunning> {
        let id = self.id()?;
        let status = self.status.take()?;
        self.stage = None;
        self.cgroups.clear();
        Some(LeftRunning { id, status, lifeline: Arc::clone(&self.lifeline) })
    }

    /// Waits for a report. A stage that does not report in time must have been tampered with, and is killed.
    fn has_report(&self) -> bool {
        let end = self.wall.saturating_add(GRACE);
        let left = end.saturating_sub(self.started.elapsed());
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let Some(status) = &self.status else { return false };
        let mut fds = [PollFd::new(status, PollFlags::IN)];
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
        // Without a stage, the lifeline may belong to what is left running.
        if self.stage.is_some() {
            close_lifeline(&self.lifeline);
        }
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
