//! The hidden stage: this program, started again with a single thread, sets up the sandbox and supervises the run.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use super::cgroup::Cgroups;
use super::pid1::{self, RunContext};
use super::view::SANDBOX_ID;
use super::wire::{Report, StageCommand, send, unseal};
use super::{sys, tier_b};
use crate::error::Failure;
use crate::outcome::Ended;
use crate::{Guarantee, PAYLOAD_FD, Spec, Tier};

/// The descriptors that the stage is started with, in addition to the standard streams.
pub(super) const SPEC_FD: i32 = 3;
pub(super) const STATUS_FD: i32 = 4;
pub(super) const LIFELINE_FD: i32 = 5;

/// The exit code of a stage that did not start the program.
const EXIT_NOT_STARTED: i32 = 78;

/// Sets up the sandbox, runs the program in it, and exits.
pub(super) fn run() -> ! {
    let (Ok(status), Ok(lifeline), Ok(spec)) =
        (sys::adopt(STATUS_FD), sys::adopt(LIFELINE_FD), sys::adopt(SPEC_FD))
    else {
        sys::exit(EXIT_NOT_STARTED);
    };
    let failure = match stage(spec, status.as_fd(), &lifeline) {
        Ok(()) => sys::exit(0),
        Err(failure) => failure,
    };
    let _ = send(status.as_fd(), &Report::Failed(failure), &[]);
    sys::exit(EXIT_NOT_STARTED);
}

fn setup(step: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Setup { step: step.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
}

fn stage(spec: OwnedFd, status: BorrowedFd<'_>, lifeline: &OwnedFd) -> Result<(), Failure> {
    sys::close_from(PAYLOAD_FD + 1).map_err(setup("cannot close inherited descriptors"))?;
    let is_root = rustix::process::geteuid().is_root();
    let groups = Cgroups::enter();
    // Report the groups before anything can fail, so that the caller can remove them.
    let folders =
        groups.folders().iter().map(|folder| folder.as_os_str().as_encoded_bytes().to_vec());
    let report = Report::Cgroups(folders.collect());
    if let Err(error) = send(status, &report, &[]) {
        groups.remove();
        return Err(setup("cannot send a report")(error));
    }
    // Nothing so far depends on the specification, which the caller may still be preparing.
    let namespaces = match receive_command(status) {
        Some(StageCommand::Namespaces) => Some(unshare()),
        _ => None,
    };
    if !matches!(receive_command(status), Some(StageCommand::Run)) {
        groups.remove();
        return Ok(());
    }
    let start = Instant::now();
    let spec = unseal(spec).map_err(setup("cannot read the specification"))?;
    if spec.payload.is_none() {
        sys::close_from(PAYLOAD_FD).map_err(setup("cannot close inherited descriptors"))?;
    }
    let enforced = groups.set_limits(&spec.limits);
    let supervised = SupervisedRun { spec: &spec, status, lifeline, start };
    let context = RunContext {
        spec: &spec,
        status,
        has_memory_group: enforced.memory,
        has_pids_group: enforced.pids,
        is_root,
    };
    let ended = match spec.strongest {
        Tier::A => namespaces.unwrap_or_else(unshare).and_then(|()| tier_a(&supervised, &context)),
        Tier::B => tier_b::run(&supervised, &context),
    };
    let is_memory = groups.ran_out_of_memory();
    // The caller may be gone and unable to remove the groups.
    if matches!(ended, Ok(Some(Ended::Cancelled)) | Err(_)) {
        groups.remove();
    }
    let ended = ended?;
    // A program that the kernel killed for its memory use may seem to have ended in any way.
    let ended = if is_memory { Some(Ended::Memory) } else { ended };
    if let Some(ended) = ended {
        send(status, &Report::Ended(ended), &[]).map_err(setup("cannot send a report"))?;
    }
    Ok(())
}

/// Waits for a command from the caller; `None` if the caller has exited or dropped this stage.
fn receive_command(status: BorrowedFd<'_>) -> Option<StageCommand> {
    let mut byte = [0; 1];
    let count = rustix::io::retry_on_intr(|| rustix::io::read(status, &mut byte)).ok()?;
    byte[..count].first().copied().and_then(StageCommand::read)
}

/// What the stage needs to supervise a run.
pub(super) struct SupervisedRun<'a> {
    pub(super) spec: &'a Spec,
    pub(super) status: BorrowedFd<'a>,
    pub(super) lifeline: &'a OwnedFd,
    pub(super) start: Instant,
}

/// Creates the namespaces of a run.
fn unshare() -> Result<(), Failure> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let new = libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    let unavailable = |what: &str, error: &io::Error| Failure::Unavailable {
        missing: vec![Guarantee::MetadataHidden, Guarantee::PrivateTmp, Guarantee::SubpathProtect],
        reason: format!("{what}: {error}"),
    };
    sys::unshare(new).map_err(|error| unavailable("cannot create a user namespace", &error))?;
    let mapped = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{SANDBOX_ID} {uid} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{SANDBOX_ID} {gid} 1")));
    mapped.map_err(|error| unavailable("cannot map the user into its namespace", &error))
}

/// Starts the init process in the namespaces. Returns why it was killed, if it was.
fn tier_a(
    supervised: &SupervisedRun<'_>,
    context: &RunContext<'_>,
) -> Result<Option<Ended>, Failure> {
    let child = sys::fork().map_err(setup("cannot create a process"))?;
    if child == 0 {
        let Err(failure) = pid1::run(context);
        let _ = send(supervised.status, &Report::Failed(failure), &[]);
        sys::exit(EXIT_NOT_STARTED);
    }
    supervise(supervised, child)
}

/// Waits for the init process of the PID namespace, and kills it when the time limit is exceeded or the caller cancels
/// or is gone.
fn supervise(supervised: &SupervisedRun<'_>, child: libc::pid_t) -> Result<Option<Ended>, Failure> {
    let pid = Pid::from_raw(child).expect("a child has a process id");
    let fd = pidfd_open(pid, PidfdFlags::empty())
        .map_err(|error| setup("cannot watch the program")(error.into()))?;
    let mut ended = None;
    loop {
        let left = supervised.spec.limits.wall.saturating_sub(supervised.start.elapsed());
        if left.is_zero() && ended.is_none() {
            ended = Some(Ended::Timeout);
            let _ = sys::kill(child, libc::SIGKILL);
        }
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds =
            [PollFd::new(&fd, PollFlags::IN), PollFd::new(supervised.lifeline, PollFlags::IN)];
        // After the kill, only wait for the process to end.
        let timeout = if ended.is_some() { None } else { Some(&wait) };
        let fds = if ended.is_some() { &mut fds[..1] } else { &mut fds[..] };
        match poll(fds, timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(setup("cannot wait for the program")(error.into())),
        }
        if !fds[0].revents().is_empty() {
            break;
        }
        if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
            ended = Some(Ended::Cancelled);
            let _ = sys::kill(child, libc::SIGKILL);
        }
    }
    // The init process of a PID namespace only ends when all other processes in it have ended.
    waitpid(Some(pid), WaitOptions::empty())
        .map_err(|error| setup("cannot wait for the program")(error.into()))?;
    Ok(ended)
}
