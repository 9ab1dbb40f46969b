//! Tier B, the weaker sandbox for machines without user namespaces: only Landlock and seccomp.
//!
//! The program can see names, sizes, times and link targets of the machine's files, and its processes, but not their
//! contents. The seccomp filter blocks other things that Landlock does not restrict (extended attributes, inotify,
//! leases, most of `ioctl`); [`crate::Tier::limitations`] lists what remains. All sockets are blocked, because Landlock
//! before ABI 9 does not restrict Unix sockets with a path.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use landlock::ABI;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{WaitOptions, wait};

use super::filter::FilterKind;
use super::grants::{self, DEVICES, Grants, PathKind};
use super::pid1::{RunContext, program_of};
use super::rules::{Rules, enforce, supported_abi};
use super::seccomp::{ViolationCount, deny, install};
use super::stage::SupervisedRun;
use super::sys;
use super::wire::{Report, send};
use crate::error::Failure;
use crate::outcome::Ended;
use crate::{Guarantee, Network, Writes};

fn setup(step: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure::Setup { step: step.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
}

/// Runs a program and supervises it.
pub(super) fn run(
    supervised: &SupervisedRun<'_>,
    context: &RunContext<'_>,
) -> Result<Option<Ended>, Failure> {
    let abi =
        supported_abi().filter(|abi| *abi >= ABI::V6).ok_or_else(|| Failure::Unavailable {
            missing: Guarantee::CORE.to_vec(),
            reason: "the kernel does not support Landlock, or its Landlock version is too old"
                .to_owned(),
        })?;
    let mut enforced = Guarantee::CORE.to_vec();
    if context.has_memory_group {
        enforced.push(Guarantee::Mem);
    }
    if context.has_pids_group {
        enforced.push(Guarantee::Pids);
    }
    let missing: Vec<Guarantee> =
        context.spec.required.iter().filter(|needed| !enforced.contains(needed)).copied().collect();
    if !missing.is_empty() || context.spec.network != Network::None {
        let reason = "cannot create a user namespace".to_owned();
        return Err(Failure::Unavailable { missing, reason });
    }
    if !context.spec.private.is_empty() {
        let what = "private folders need user namespaces";
        return Err(Failure::BadSpec(what.to_owned()));
    }
    let grants = grants::open(context.spec)?;
    let files =
        TemporaryFolder::new().map_err(setup("cannot create a folder for temporary files"))?;
    sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(setup("cannot become a subreaper"))?;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|error| setup("cannot create a socket")(error.into()))?;
    let children = sys::watch_children().map_err(setup("cannot watch processes"))?;
    let (program, args, env) = program_of(context.spec, |text| files.replace_in(text))?;
    let child = sys::fork().map_err(setup("cannot create a process"))?;
    if child == 0 {
        let rules = rules(context, &grants, &files);
        let error = restrict(context, abi, &rules, theirs.as_fd())
            .err()
            .unwrap_or_else(|| super::pid1::exec(&program, &args, &env));
        let _ =
            rustix::io::write(&theirs, &error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes());
        sys::exit(127);
    }
    drop(theirs);
    let receive =
        || receive_message(&ours).map_err(setup("cannot determine whether the program started"));
    let notifications = match receive()? {
        ChildMessage::Listener(notifications) => notifications,
        ChildMessage::Failed(errno) => return Err(Failure::Program { errno }),
    };
    // End of file (0): exec succeeded and closed the child's end of the socket.
    if let ChildMessage::Failed(errno) = receive()?
        && errno != 0
    {
        return Err(Failure::Program { errno });
    }
    let report = Report::Started { enforced, layers: 0, proxy_port: None };
    send(supervised.status, &report, &[]).map_err(setup("cannot send a report"))?;
    let ended = supervise(supervised, child, &notifications, &children);
    kill_all();
    Ok(Some(ended))
}

/// Supervises the program until it ends, its time limit is exceeded, or the caller cancels it.
fn supervise(
    supervised: &SupervisedRun<'_>,
    child: libc::pid_t,
    notifications: &OwnedFd,
    children: &OwnedFd,
) -> Ended {
    let mut count = ViolationCount::default();
    loop {
        let left = supervised.spec.limits.wall.saturating_sub(supervised.start.elapsed());
        if left.is_zero() {
            return Ended::Timeout;
        }
        let wait_for = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds = [
            PollFd::new(notifications, PollFlags::IN),
            PollFd::new(children, PollFlags::IN),
            PollFd::new(supervised.lifeline, PollFlags::IN),
        ];
        let _ = poll(&mut fds, Some(&wait_for));
        let [has_notification, _, is_cancelled] = fds.each_ref().map(|fd| !fd.revents().is_empty());
        if is_cancelled {
            return Ended::Cancelled;
        }
        if has_notification && let Ok(Some(violation)) = deny(notifications.as_fd(), &mut count) {
            let _ = send(supervised.status, &Report::Violation(violation), &[]);
        }
        sys::drain(children);
        // Only a limited number per round, because processes may keep ending forever.
        for _ in 0..256 {
            let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) else { break };
            if pid.as_raw_nonzero().get() != child {
                continue;
            }
            if count.more > 0 {
                let _ = send(supervised.status, &Report::MoreViolations(count.more), &[]);
            }
            match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return Ended::Exited(code),
                (None, Some(signal)) => return Ended::Signalled(signal),
                (None, None) => {}
            }
        }
    }
}

/// Kills all remaining processes. Orphaned processes become children of this process, so in the end all are found.
fn kill_all() {
    loop {
        // Most runs leave no processes behind, and searching /proc for them is slow.
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(None) => {}
        }
        // Stop all of them first, so that none can fork while the others are killed.
        let all = children();
        for signal in [libc::SIGSTOP, libc::SIGKILL] {
            for child in &all {
                let _ = sys::kill(*child, signal);
            }
        }
        let _ = wait(WaitOptions::empty());
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    }
}

fn children() -> Vec<libc::pid_t> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter_map(|name| {
            let number = name.parse().ok()?;
            // The program name may contain any bytes, so parse what follows it.
            let text =
                String::from_utf8_lossy(&fs::read(format!("/proc/{name}/stat")).ok()?).into_owned();
            let parent = text.rsplit(") ").next()?.split(' ').nth(1)?;
            (parent == own).then_some(number)
        })
        .collect()
}

/// Restricts this process before the program is executed, and sends the descriptor of the filter's notifications.
fn restrict(
    context: &RunContext<'_>,
    abi: ABI,
    rules: &Rules,
    to: BorrowedFd<'_>,
) -> io::Result<()> {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    super::caps::drop_all()?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
    sys::prctl(libc::PR_SET_DUMPABLE, 0)?;
    enforce(abi, rules).map_err(io::Error::other)?;
    super::pid1::prepare_exec(context)?;
    let notifications = install(FilterKind::TierB)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = [notifications.as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(to, &[io::IoSlice::new(b"listener")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// A message from the child that becomes the program.
enum ChildMessage {
    /// The descriptor of the filter's notifications.
    Listener(OwnedFd),
    /// The error number of the failed step; 0 for end of file.
    Failed(i32),
}

fn receive_message(from: &OwnedFd) -> io::Result<ChildMessage> {
    let mut body = [0; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(
            from,
            &mut [io::IoSliceMut::new(&mut body)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )
    })?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut rights) = message
            && let Some(fd) = rights.next()
        {
            return Ok(ChildMessage::Listener(fd));
        }
    }
    let errno = if received.bytes == 4 {
        i32::from_ne_bytes([body[0], body[1], body[2], body[3]])
    } else {
        0
    };
    Ok(ChildMessage::Failed(errno))
}

fn rules(context: &RunContext<'_>, grants: &Grants, files: &TemporaryFolder) -> Rules {
    let mut rules = Rules::default();
    let real = grants.read.iter().filter(|opened| !matches!(opened.kind, PathKind::Link(_)));
    rules.read.extend(real.map(|opened| opened.path.clone()));
    rules.read.extend(
        ["/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/proc/self"]
            .map(PathBuf::from),
    );
    rules.write.push(files.0.clone());
    rules.write.extend(DEVICES.map(PathBuf::from));
    if let Some(workspace) = &grants.workspace {
        let is_read_only =
            context.spec.workspace.as_ref().is_none_or(|work| work.writes != Writes::Direct);
        let list = if is_read_only { &mut rules.read } else { &mut rules.write };
        list.push(workspace.path.clone());
    }
    rules
}

/// A folder for temporary files that no other user can access.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> io::Result<Self> {
        let mut number = std::process::id();
        loop {
            let path = PathBuf::from(format!("/tmp/openskills-run-{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    fs::create_dir(path.join("home"))?;
                    return Ok(Self(path));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    number = number.wrapping_add(7919);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Replaces the shared temporary folder with this one in a value of the environment.
    fn replace_in(&self, value: &OsString) -> OsString {
        match value.as_bytes() {
            b"/tmp" => self.0.clone().into_os_string(),
            b"/tmp/home" => self.0.join("home").into_os_string(),
            _ => value.clone(),
        }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
