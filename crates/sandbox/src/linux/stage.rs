//! The hidden stage: this program, started again with a single thread, sets up the sandbox and supervises the run.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use super::cgroup::Cgroups;
use super::pid1::{self, RunContext};
use super::view::SANDBOX_ID;
use super::wire::{Report, StageCommand, send, unseal};
use super::{left, sys, tier_b};
use crate::error::Failure;
use crate::outcome::Ended;
use crate::{Guarantee, PAYLOAD_FD, ProcessId, Spec, Streams, Tier};

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
        Tier::A => namespaces
            .unwrap_or_else(|| enter_namespaces(&spec))
            .and_then(|()| tier_a(&supervised, &context)),
        Tier::B => tier_b::run(&supervised, &context).map(Supervision::Ended),
    };
    let is_memory = groups.ran_out_of_memory();
    // The caller may be gone and unable to remove the groups.
    if !matches!(ended, Ok(Supervision::Ended(None | Some(Ended::Timeout)))) {
        groups.remove();
    }
    let Supervision::Ended(ended) = ended? else { return Ok(()) };
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

/// Enters the user and network namespaces that the specification joins, or creates new ones.
fn enter_namespaces(spec: &Spec) -> Result<(), Failure> {
    if let Some(joined) = spec.joins.and_then(|joined| left::open_process(joined.stage)) {
        let shared =
            libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        // The processes may have ended in the meantime. Then nothing is shared.
        if sys::setns(joined.as_fd(), shared).is_ok() {
            return sys::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWCGROUP)
                .map_err(setup("cannot create a PID namespace"));
        }
    }
    unshare()
}

/// How the supervision of a run ended.
enum Supervision {
    /// The run has ended; why it was killed, if it was.
    Ended(Option<Ended>),
    /// The caller left, and the processes that it left running have ended too.
    Detached,
}

/// Starts the init process in the namespaces.
fn tier_a(
    supervised: &SupervisedRun<'_>,
    context: &RunContext<'_>,
) -> Result<Supervision, Failure> {
    let child = sys::fork().map_err(setup("cannot create a process"))?;
    if child == 0 {
        let Err(failure) = pid1::run(context);
        let _ = send(supervised.status, &Report::Failed(failure), &[]);
        sys::exit(EXIT_NOT_STARTED);
    }
    if supervised.spec.streams == Streams::Shared {
        sys::release_streams().map_err(setup("cannot close the standard streams"))?;
    }
    let report = Report::Init(child);
    send(supervised.status, &report, &[]).map_err(setup("cannot send a report"))?;
    supervise(supervised, child)
}

/// Whose end ends the run.
enum Watched<'a> {
    Caller(&'a OwnedFd),
    Owner(OwnedFd),
    /// Only [`crate::end_background`] ends it.
    Nothing,
    /// Its owner has already ended.
    Gone,
}

impl Watched<'_> {
    fn fd(&self) -> Option<&OwnedFd> {
        match self {
            Self::Caller(lifeline) => Some(lifeline),
            Self::Owner(owner) => Some(owner),
            Self::Nothing | Self::Gone => None,
        }
    }

    /// Reads a message from the caller; whom to watch from now on, if the caller leaves.
    fn after_message(status: BorrowedFd<'_>) -> Option<Self> {
        let mut message = [0; 1 + 4 + 8];
        let length = rustix::io::retry_on_intr(|| rustix::io::read(status, &mut message)).ok()?;
        let (first, rest) = message[..length].split_first()?;
        if StageCommand::read(*first) != Some(StageCommand::Detach) {
            return None;
        }
        let (pid, started) = match rest.split_at_checked(4) {
            Some((pid, started)) => (pid.try_into().ok()?, started.try_into().ok()?),
            None => return Some(Self::Nothing),
        };
        let (pid, started) = (i32::from_ne_bytes(pid), u64::from_ne_bytes(started));
        let owner = left::open_process(ProcessId { pid, started });
        Some(owner.map_or(Self::Gone, Self::Owner))
    }
}

/// Waits for the init process of the PID namespace, and kills it when the time limit is exceeded or when the process
/// that the run belongs to has ended.
fn supervise(supervised: &SupervisedRun<'_>, child: libc::pid_t) -> Result<Supervision, Failure> {
    let pid = Pid::from_raw(child).expect("a child has a process id");
    let fd = pidfd_open(pid, PidfdFlags::empty())
        .map_err(|error| setup("cannot watch the program")(error.into()))?;
    let mut ended = None;
    let mut watched = Watched::Caller(supervised.lifeline);
    let mut is_detached = false;
    loop {
        let wall = if is_detached { Duration::MAX } else { supervised.spec.limits.wall };
        let left = wall.saturating_sub(supervised.start.elapsed());
        if left.is_zero() && ended.is_none() {
            ended = Some(Ended::Timeout);
            let _ = sys::kill(child, libc::SIGKILL);
        }
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        // After the kill, only wait for the process to end.
        let is_ending = ended.is_some();
        let mut fds = vec![PollFd::new(&fd, PollFlags::IN)];
        if let Some(watched) = watched.fd().filter(|_| !is_ending) {
            fds.push(PollFd::new(watched, PollFlags::IN));
            if !is_detached {
                fds.push(PollFd::new(&supervised.status, PollFlags::IN));
            }
        }
        match poll(&mut fds, if is_ending || left == Duration::MAX { None } else { Some(&wait) }) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(setup("cannot wait for the program")(error.into())),
        }
        let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let (has_ended, is_orphaned, has_message) = (is_ready(0), is_ready(1), is_ready(2));
        if has_ended {
            break;
        }
        let message = if has_message { Watched::after_message(supervised.status) } else { None };
        // After a message, the closed lifeline no longer counts.
        let is_orphaned = is_orphaned && message.is_none();
        if let Some(next) = message {
            watched = next;
            is_detached = true;
            // The caller waits until this socket is closed, so that it does not leave too early.
            sys::shut_down(supervised.status).map_err(setup("cannot close the socket"))?;
        }
        if is_orphaned || matches!(watched, Watched::Gone) {
            ended = Some(Ended::Cancelled);
            let _ = sys::kill(child, libc::SIGKILL);
        }
    }
    // The init process of a PID namespace only ends when all other processes in it have ended.
    waitpid(Some(pid), WaitOptions::empty())
        .map_err(|error| setup("cannot wait for the program")(error.into()))?;
    Ok(if is_detached { Supervision::Detached } else { Supervision::Ended(ended) })
}
