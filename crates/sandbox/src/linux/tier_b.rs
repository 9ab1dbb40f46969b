//! The weaker kind of sandbox, for machines without user namespaces: Landlock and seccomp alone.
//!
//! The program sees the machine's own files and processes, as far as names, sizes, times and targets of links go, and nothing of what is in
//! them. What else Landlock does not hold (attributes, watches, leases, most of `ioctl`) the filter closes; [`crate::Tier::limitations`] names
//! what is left. Sockets of any kind are not let, since below the ninth version Landlock does not hold those with a path.

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
use super::grants::{self, DEVICES, Grants, Kind};
use super::pid1::{Known, program_of};
use super::rules::{Rules, enforce, newest};
use super::seccomp::{Tried, install, refuse};
use super::stage::Watched;
use super::sys;
use super::wire::{Report, send};
use crate::error::Failure;
use crate::outcome::Ended;
use crate::{Guarantee, Network, Writes};

fn setup(step: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure::Setup { step: step.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
}

/// Runs a program, and watches over it.
pub(super) fn run(watched: &Watched<'_>, known: &Known<'_>) -> Result<Option<Ended>, Failure> {
    let abi = newest().filter(|abi| *abi >= ABI::V6).ok_or_else(|| Failure::Unavailable {
        missing: Guarantee::CORE.to_vec(),
        why: "the kernel has no Landlock, or too old a one".to_owned(),
    })?;
    let mut enforced = Guarantee::CORE.to_vec();
    if known.has_memory_group {
        enforced.push(Guarantee::Mem);
    }
    if known.has_pids_group {
        enforced.push(Guarantee::Pids);
    }
    let missing: Vec<Guarantee> =
        known.spec.required.iter().filter(|needed| !enforced.contains(needed)).copied().collect();
    if !missing.is_empty() || known.spec.network != Network::None {
        let why = "no user namespace can be made".to_owned();
        return Err(Failure::Unavailable { missing, why });
    }
    let grants = grants::open(known.spec)?;
    let files = Temporary::new().map_err(setup("cannot make a folder for temporary files"))?;
    sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(setup("cannot watch over processes"))?;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|error| setup("cannot make a socket")(error.into()))?;
    let children = sys::watch_children().map_err(setup("cannot watch processes"))?;
    let (program, args, env) = program_of(known.spec, |text| files.instead_of(text))?;
    let child = sys::fork().map_err(setup("cannot make a process"))?;
    if child == 0 {
        let rules = rules(known, &grants, &files);
        let error = into_program(known, abi, &rules, theirs.as_fd())
            .err()
            .unwrap_or_else(|| super::pid1::exec(&program, &args, &env));
        let _ =
            rustix::io::write(&theirs, &error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes());
        sys::exit(127);
    }
    drop(theirs);
    let reports = match hear(&ours).map_err(setup("cannot hear from the program"))? {
        Heard::Listener(reports) => reports,
        Heard::Failed(errno) => return Err(Failure::Program { errno }),
    };
    // The end of it: the program was started, and its copy of the socket was closed by that.
    if let Heard::Failed(errno) = hear(&ours).map_err(setup("cannot hear from the program"))?
        && errno != 0
    {
        return Err(Failure::Program { errno });
    }
    let report = Report::Started { enforced, layers: 0, proxy_port: None };
    send(watched.status, &report, &[]).map_err(setup("cannot report"))?;
    let ended = watch(watched, child, &reports, &children);
    end_all();
    Ok(Some(ended))
}

/// Watches until the program ends, or its time does.
fn watch(
    watched: &Watched<'_>,
    child: libc::pid_t,
    reports: &OwnedFd,
    children: &OwnedFd,
) -> Ended {
    let mut tried = Tried::default();
    loop {
        let left = watched.spec.limits.wall.saturating_sub(watched.start.elapsed());
        if left.is_zero() {
            return Ended::Timeout;
        }
        let wait_for = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds = [
            PollFd::new(reports, PollFlags::IN),
            PollFd::new(children, PollFlags::IN),
            PollFd::new(watched.lifeline, PollFlags::IN),
        ];
        let _ = poll(&mut fds, Some(&wait_for));
        let [has_report, _, is_cut] = fds.each_ref().map(|fd| !fd.revents().is_empty());
        if is_cut {
            return Ended::Cancelled;
        }
        if has_report && let Ok(Some(violation)) = refuse(reports.as_fd(), &mut tried) {
            let _ = send(watched.status, &Report::Tried(violation), &[]);
        }
        sys::drain(children);
        // Not for ever: very many may end one after the other.
        for _ in 0..256 {
            let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) else { break };
            if pid.as_raw_nonzero().get() != child {
                continue;
            }
            if tried.more > 0 {
                let _ = send(watched.status, &Report::TriedMore(tried.more), &[]);
            }
            match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => return Ended::Exited(code),
                (None, Some(signal)) => return Ended::Signalled(signal),
                (None, None) => {}
            }
        }
    }
}

/// Ends every process that is left. Whoever loses its parent becomes a child of this process, so in the end all are.
fn end_all() {
    loop {
        // Most runs leave nobody behind, and to look for them takes long.
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(None) => {}
        }
        // First none of them goes on, then none is left.
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
            // The name of a program may hold any bytes; what follows it does not.
            let text =
                String::from_utf8_lossy(&fs::read(format!("/proc/{name}/stat")).ok()?).into_owned();
            let parent = text.rsplit(") ").next()?.split(' ').nth(1)?;
            (parent == own).then_some(number)
        })
        .collect()
}

/// Gives up everything, and sends where the filter reports to.
fn into_program(known: &Known<'_>, abi: ABI, rules: &Rules, to: BorrowedFd<'_>) -> io::Result<()> {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    super::caps::drop_all()?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
    sys::prctl(libc::PR_SET_DUMPABLE, 0)?;
    enforce(abi, rules).map_err(io::Error::other)?;
    super::pid1::into_program(known)?;
    let reports = install(FilterKind::TierB)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = [reports.as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    sendmsg(to, &[io::IoSlice::new(b"listener")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

enum Heard {
    Listener(OwnedFd),
    /// What went wrong; 0 for the end.
    Failed(i32),
}

fn hear(from: &OwnedFd) -> io::Result<Heard> {
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
            return Ok(Heard::Listener(fd));
        }
    }
    let errno = if received.bytes == 4 {
        i32::from_ne_bytes([body[0], body[1], body[2], body[3]])
    } else {
        0
    };
    Ok(Heard::Failed(errno))
}

fn rules(known: &Known<'_>, grants: &Grants, files: &Temporary) -> Rules {
    let mut rules = Rules::default();
    let real = grants.read.iter().filter(|opened| !matches!(opened.kind, Kind::Link(_)));
    rules.read.extend(real.map(|opened| opened.path.clone()));
    rules.read.extend(
        ["/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/proc/self"]
            .map(PathBuf::from),
    );
    rules.write.push(files.0.clone());
    rules.write.extend(DEVICES.map(PathBuf::from));
    if let Some(workspace) = &grants.workspace {
        let is_closed =
            known.spec.workspace.as_ref().is_none_or(|work| work.writes != Writes::Direct);
        let list = if is_closed { &mut rules.read } else { &mut rules.write };
        list.push(workspace.path.clone());
    }
    rules
}

/// A folder for temporary files that nobody else may look into.
struct Temporary(PathBuf);

impl Temporary {
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

    /// Returns a value of the environment with this folder in place of the shared one.
    fn instead_of(&self, value: &OsString) -> OsString {
        match value.as_bytes() {
            b"/tmp" => self.0.clone().into_os_string(),
            b"/tmp/home" => self.0.join("home").into_os_string(),
            _ => value.clone(),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
