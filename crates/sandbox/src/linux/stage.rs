//! The hidden stage: this program started anew, with one thread, to make a world and watch over it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use super::cgroup::Groups;
use super::pid1::{self, Known};
use super::view::ID;
use super::wire::{Report, StageCommand, send, unseal};
use super::{sys, tier_b};
use crate::error::Failure;
use crate::outcome::Ended;
use crate::{Guarantee, HANDED, Spec, Tier};

/// The descriptors that the stage is started with, beside the three streams.
pub(super) const SPEC: i32 = 3;
pub(super) const STATUS: i32 = 4;
pub(super) const LIFELINE: i32 = 5;

/// The code of a stage that started nothing.
const UNAVAILABLE: i32 = 78;

/// Makes a world, runs the program in it, and ends.
pub(super) fn run() -> ! {
    let (Ok(status), Ok(lifeline), Ok(spec)) =
        (sys::adopt(STATUS), sys::adopt(LIFELINE), sys::adopt(SPEC))
    else {
        sys::exit(UNAVAILABLE);
    };
    let failure = match stage(spec, status.as_fd(), &lifeline) {
        Ok(()) => sys::exit(0),
        Err(failure) => failure,
    };
    let _ = send(status.as_fd(), &Report::Failed(failure), &[]);
    sys::exit(UNAVAILABLE);
}

fn setup(step: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Setup { step: step.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
}

fn stage(spec: OwnedFd, status: BorrowedFd<'_>, lifeline: &OwnedFd) -> Result<(), Failure> {
    sys::close_from(HANDED + 1).map_err(setup("cannot close what is inherited"))?;
    let is_root = rustix::process::geteuid().is_root();
    let groups = Groups::enter();
    // Said before anything can go wrong: whoever is left removes them.
    let folders =
        groups.folders().iter().map(|folder| folder.as_os_str().as_encoded_bytes().to_vec());
    let left = Report::LeftBehind(folders.collect());
    if let Err(error) = send(status, &left, &[]) {
        groups.remove();
        return Err(setup("cannot report")(error));
    }
    // Up to here nothing depends on what is to be run, and the caller may still be finding that out.
    let namespaces = match hear(status) {
        Some(StageCommand::Namespaces) => Some(unshare()),
        _ => None,
    };
    if !matches!(hear(status), Some(StageCommand::Go)) {
        groups.remove();
        return Ok(());
    }
    let start = Instant::now();
    let spec = unseal(spec).map_err(setup("cannot read the specification"))?;
    if spec.handed.is_none() {
        sys::close_from(HANDED).map_err(setup("cannot close what is inherited"))?;
    }
    let bounds = groups.bound(&spec.limits);
    let watched = Watched { spec: &spec, status, lifeline, start };
    let known = Known {
        spec: &spec,
        status,
        has_memory_group: bounds.memory,
        has_pids_group: bounds.pids,
        is_root,
    };
    let ended = match spec.strongest {
        Tier::A => namespaces.unwrap_or_else(unshare).and_then(|()| tier_a(&watched, &known)),
        Tier::B => tier_b::run(&watched, &known),
    };
    let is_memory = groups.ran_out_of_memory();
    // Nobody may be there to remove what is left.
    if matches!(ended, Ok(Some(Ended::Cancelled)) | Err(_)) {
        groups.remove();
    }
    let ended = ended?;
    // What memory ended may look like any other end.
    let ended = if is_memory { Some(Ended::Memory) } else { ended };
    if let Some(ended) = ended {
        send(status, &Report::Ended(ended), &[]).map_err(setup("cannot report"))?;
    }
    Ok(())
}

/// Waits for a word of the caller; `None` if there will be none: it has ended, or needs no stage.
fn hear(status: BorrowedFd<'_>) -> Option<StageCommand> {
    let mut word = [0; 1];
    let count = rustix::io::retry_on_intr(|| rustix::io::read(status, &mut word)).ok()?;
    word[..count].first().copied().and_then(StageCommand::read)
}

/// What is watched while a program runs.
pub(super) struct Watched<'a> {
    pub(super) spec: &'a Spec,
    pub(super) status: BorrowedFd<'a>,
    pub(super) lifeline: &'a OwnedFd,
    pub(super) start: Instant,
}

/// Makes the namespaces of a run.
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
        why: format!("{what}: {error}"),
    };
    sys::unshare(new).map_err(|error| unavailable("no user namespace can be made", &error))?;
    let mapped = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{ID} {uid} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{ID} {gid} 1")));
    mapped.map_err(|error| unavailable("no user can be mapped", &error))
}

/// Makes the first process in the namespaces. Returns why it was ended, if it was.
fn tier_a(watched: &Watched<'_>, known: &Known<'_>) -> Result<Option<Ended>, Failure> {
    let child = sys::fork().map_err(setup("cannot make a process"))?;
    if child == 0 {
        let Err(failure) = pid1::run(known);
        let _ = send(watched.status, &Report::Failed(failure), &[]);
        sys::exit(UNAVAILABLE);
    }
    watch(watched, child)
}

/// Waits for the first process of a world, and ends it when its time is over or nobody wants it any more.
pub(super) fn watch(watched: &Watched<'_>, child: libc::pid_t) -> Result<Option<Ended>, Failure> {
    let pid = Pid::from_raw(child).expect("a child has a number");
    let fd = pidfd_open(pid, PidfdFlags::empty())
        .map_err(|error| setup("cannot watch the program")(error.into()))?;
    let mut ended = None;
    loop {
        let left = watched.spec.limits.wall.saturating_sub(watched.start.elapsed());
        if left.is_zero() && ended.is_none() {
            ended = Some(Ended::Timeout);
            let _ = sys::kill(child, libc::SIGKILL);
        }
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds =
            [PollFd::new(&fd, PollFlags::IN), PollFd::new(watched.lifeline, PollFlags::IN)];
        // Once it is ended, only its end is waited for.
        let timeout = if ended.is_some() { None } else { Some(&wait) };
        let fds = if ended.is_some() { &mut fds[..1] } else { &mut fds[..] };
        match poll(fds, timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(setup("cannot wait")(error.into())),
        }
        if !fds[0].revents().is_empty() {
            break;
        }
        if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
            ended = Some(Ended::Cancelled);
            let _ = sys::kill(child, libc::SIGKILL);
        }
    }
    // The kernel lets the first process of a namespace end only when all others have.
    waitpid(Some(pid), WaitOptions::empty()).map_err(|error| setup("cannot wait")(error.into()))?;
    Ok(ended)
}
