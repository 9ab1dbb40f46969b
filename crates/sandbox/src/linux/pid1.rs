//! The init process of a run's PID namespace: builds the mount namespace, locks everything down, starts the program and
//! supervises it.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{WaitOptions, wait};

use super::filter::FilterKind;
use super::grants::{self, DEVICES, Grants, PathKind};
use super::rules::{NetRules, Rules, enforce, supported_abi};
use super::seccomp::{ViolationCount, deny, install};
use super::sys;
use super::view;
use super::wire::{Report, send};
use crate::error::Failure;
use crate::outcome::Ended;
use crate::{Background, Guarantee, Loopback, Network, PAYLOAD_FD, Spec, Streams, Tier, Writes};

/// How long processes may outlive the program without counting as left running.
const LEFTOVER_GRACE: Duration = Duration::from_millis(20);
/// How often to check the memory use if no control group limits it.
const MEMORY_POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// What the stage knows about a run.
pub(super) struct RunContext<'a> {
    pub(super) spec: &'a Spec,
    pub(super) status: BorrowedFd<'a>,
    pub(super) has_memory_group: bool,
    pub(super) has_pids_group: bool,
    pub(super) is_root: bool,
}

fn setup(step: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure::Setup { step: step.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
}

/// Runs the program and sends reports; returns only if the program was not started.
pub(super) fn run(context: &RunContext<'_>) -> Result<std::convert::Infallible, Failure> {
    let RunContext { spec, status, .. } = context;
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)
        .map_err(setup("cannot set the parent death signal"))?;
    sys::unshare(libc::CLONE_NEWNS).map_err(unavailable("cannot create a mount namespace"))?;
    let writes = spec.workspace.as_ref().map_or(Writes::Never, |workspace| workspace.writes);
    let listener = match spec.network {
        Network::None if spec.loopback == Loopback::Allowed => {
            super::net::bring_up().map_err(setup("cannot bring up the loopback interface"))?;
            None
        }
        Network::None => None,
        Network::Proxy => Some(super::net::listen().map_err(setup("cannot listen for the proxy"))?),
    };
    // A mount can only be cloned inside its own mount namespace, so the grants are opened here.
    let grants = &grants::open(spec)?;
    let layer =
        view::build(grants, writes, spec).map_err(|(step, error)| Failure::Unavailable {
            missing: vec![Guarantee::MetadataHidden],
            reason: format!("{step}: {error}"),
        })?;
    let mut enforced = Guarantee::CORE.to_vec();
    enforced.extend([Guarantee::MetadataHidden, Guarantee::PrivateTmp, Guarantee::SubpathProtect]);
    if context.has_memory_group {
        enforced.push(Guarantee::Mem);
    }
    // RLIMIT_NPROC counts the processes of this user in this namespace; it does not apply to root.
    if context.has_pids_group || !context.is_root {
        enforced.push(Guarantee::Pids);
    }
    let missing: Vec<Guarantee> =
        spec.required.iter().filter(|needed| !enforced.contains(needed)).copied().collect();
    if !missing.is_empty() {
        let reason = "cannot create a control group".to_owned();
        return Err(Failure::Unavailable { missing, reason });
    }
    super::caps::drop_all().map_err(setup("cannot drop capabilities"))?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(setup("cannot set no_new_privs"))?;
    sys::prctl(libc::PR_SET_DUMPABLE, 0).map_err(setup("cannot disable tracing"))?;
    let port = listener.as_ref().map(|(_, port)| *port);
    let abi = supported_abi().ok_or_else(|| Failure::Unavailable {
        missing: vec![Guarantee::FsWrite],
        reason: "the kernel does not support Landlock".to_owned(),
    })?;
    enforce(abi, &rules(grants, writes, spec.loopback, port))
        .map_err(|reason| Failure::Unavailable { missing: vec![Guarantee::FsWrite], reason })?;
    let kind = match (spec.loopback, port) {
        (Loopback::Allowed, _) => FilterKind::TierAWithLoopback,
        (Loopback::Blocked, Some(_)) => FilterKind::TierAWithProxy,
        (Loopback::Blocked, None) => FilterKind::TierA,
    };
    let notifications = install(kind).map_err(unavailable("cannot install a seccomp filter"))?;
    let children = sys::watch_children().map_err(setup("cannot watch processes"))?;
    let child = start(context, port)?;
    if spec.streams == Streams::Shared {
        sys::release_streams().map_err(setup("cannot close the standard streams"))?;
    }
    let layers = layer.len();
    let fds: Vec<BorrowedFd<'_>> = layer
        .iter()
        .map(AsFd::as_fd)
        .chain(listener.iter().map(|(listener, _)| listener.as_fd()))
        .collect();
    let report = Report::Started { enforced, layers, proxy_port: port };
    send(*status, &report, &fds).map_err(setup("cannot send a report"))?;
    drop(layer);
    drop(listener);
    supervise(context, child, &notifications, &children)
}

fn unavailable(what: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure::Unavailable {
        missing: vec![Guarantee::MetadataHidden],
        reason: format!("{what}: {error}"),
    }
}

/// Counts the processes of this user.
fn processes_of_user() -> u64 {
    use std::os::unix::fs::MetadataExt;

    let own = rustix::process::geteuid().as_raw();
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let is_own = |entry: &std::fs::DirEntry| {
        let is_process = entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
        is_process && entry.metadata().is_ok_and(|metadata| metadata.uid() == own)
    };
    entries.filter_map(Result::ok).filter(is_own).count() as u64
}

/// Returns the Landlock rules for the sandbox's file system.
fn rules(grants: &Grants, writes: Writes, loopback: Loopback, port: Option<u16>) -> Rules {
    let net = match loopback {
        // The network namespace has no other interface.
        Loopback::Allowed => NetRules::Unrestricted,
        Loopback::Blocked => port.map_or(NetRules::Nothing, NetRules::Port),
    };
    let mut rules = Rules { net, ..Rules::default() };
    let real = grants.read.iter().filter(|opened| !matches!(opened.kind, PathKind::Link(_)));
    rules.read.extend(real.map(|opened| opened.path.clone()));
    rules.read.extend(["/etc", "/proc", "/dev"].map(Into::into));
    rules.write.extend(["/tmp", "/dev/shm"].map(Into::into));
    rules.write.extend(DEVICES.map(Into::into));
    rules.write.extend(grants.private.iter().map(|(_, target)| target.clone()));
    // Programs write to their own files, such as /proc/self/comm.
    rules.write.push("/proc".into());
    if let Some(workspace) = &grants.workspace {
        let list = if writes == Writes::Never { &mut rules.read } else { &mut rules.write };
        list.push(workspace.path.clone());
    }
    rules
}

/// A program, its arguments and its environment, in the form that the kernel needs.
pub(super) type Program = (CString, Vec<CString>, Vec<CString>);

/// Returns the program to start. `change` is applied to every value of the environment.
pub(super) fn program_of(
    spec: &Spec,
    change: impl Fn(&OsString) -> OsString,
) -> Result<Program, Failure> {
    let text = |text: &OsStr| {
        CString::new(text.as_bytes()).map_err(|_| {
            Failure::BadSpec("an argument or variable contains a null byte".to_owned())
        })
    };
    let program = text(spec.program.as_os_str())?;
    let args = std::iter::once(Ok(program.clone())).chain(spec.args.iter().map(|arg| text(arg)));
    let args = args.collect::<Result<Vec<CString>, _>>()?;
    let env = spec.env.iter().map(|(name, value)| {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(change(value));
        text(&pair)
    });
    let env = env.collect::<Result<Vec<CString>, _>>()?;
    Ok((program, args, env))
}

/// Replaces this process with a program; returns only if that fails.
pub(super) fn exec(program: &CString, args: &[CString], env: &[CString]) -> io::Error {
    let list = |texts: &[CString]| {
        let pointers = texts.iter().map(|text| text.as_ptr());
        pointers.chain([std::ptr::null()]).collect::<Vec<_>>()
    };
    sys::exec(program, &list(args), &list(env))
}

/// Starts the program in a child process; an error if it cannot be started.
fn start(context: &RunContext<'_>, port: Option<u16>) -> Result<libc::pid_t, Failure> {
    let proxy = port.map(|port| OsString::from(format!("http://127.0.0.1:{port}")));
    let change = |value: &OsString| {
        proxy.clone().filter(|_| value == crate::PROXY_PLACEHOLDER).unwrap_or_else(|| value.clone())
    };
    let (program, args, env) = program_of(context.spec, change)?;
    let (result, failed) = pipe_with(PipeFlags::CLOEXEC)
        .map_err(|error| setup("cannot create a pipe")(error.into()))?;
    let child = sys::fork().map_err(setup("cannot create a process"))?;
    if child == 0 {
        drop(result);
        let error = prepare_exec(context).err().unwrap_or_else(|| exec(&program, &args, &env));
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let _ = rustix::io::write(&failed, &errno.to_ne_bytes());
        sys::exit(127);
    }
    drop(failed);
    let mut errno = [0; 4];
    match rustix::io::retry_on_intr(|| rustix::io::read(&result, &mut errno)) {
        // End of file: exec succeeded and closed the child's end of the pipe.
        Ok(0) => Ok(child),
        Ok(_) => Err(Failure::Program { errno: i32::from_ne_bytes(errno) }),
        Err(error) => Err(setup("cannot determine whether the program started")(error.into())),
    }
}

/// Performs the last steps in the child before the program is executed.
pub(super) fn prepare_exec(context: &RunContext<'_>) -> io::Result<()> {
    let limits = &context.spec.limits;
    sys::setsid()?;
    sys::set_limit(libc::RLIMIT_CORE, 0)?;
    // This limit counts the processes of this user in this user namespace, or all of them without one.
    let others = if context.spec.strongest == Tier::A { 0 } else { processes_of_user() };
    sys::set_limit(libc::RLIMIT_NPROC, u64::from(limits.pids) + others)?;
    // Sparse files can be larger than the temporary file system; limit what they would take when copied elsewhere.
    sys::set_limit(libc::RLIMIT_FSIZE, limits.temporary.saturating_mul(4))?;
    if let Some(open_files) = limits.open_files {
        sys::set_limit(libc::RLIMIT_NOFILE, open_files)?;
    }
    if !context.has_memory_group {
        // In tier A, `supervise` checks the memory of the whole run. It should trigger first, because it reports the
        // cause.
        let times = if context.spec.strongest == Tier::A { 2 } else { 1 };
        sys::set_limit(libc::RLIMIT_DATA, limits.memory.saturating_mul(times))?;
    }
    sys::set_limit(libc::RLIMIT_MSGQUEUE, 0)?;
    sys::set_limit(libc::RLIMIT_MEMLOCK, 1 << 20)?;
    std::env::set_current_dir(&context.spec.cwd)?;
    sys::unblock_signals()?;
    // The exec closes all descriptors except the standard streams and the payload.
    sys::close_on_exec_from(3)?;
    if context.spec.payload.is_some() { sys::keep_on_exec(PAYLOAD_FD) } else { Ok(()) }
}

/// Supervises the program until it ends, and then exits.
fn supervise(
    context: &RunContext<'_>,
    child: libc::pid_t,
    notifications: &OwnedFd,
    children: &OwnedFd,
) -> ! {
    let mut count = ViolationCount::default();
    let must_poll = !context.has_memory_group && context.spec.limits.memory != u64::MAX;
    let timeout = must_poll.then_some(&MEMORY_POLL_INTERVAL);
    loop {
        let mut fds =
            [PollFd::new(notifications, PollFlags::IN), PollFd::new(children, PollFlags::IN)];
        let _ = poll(&mut fds, timeout);
        sys::drain(children);
        if fds[0].revents().contains(PollFlags::IN)
            && let Ok(Some(violation)) = deny(notifications.as_fd(), &mut count)
        {
            let _ = send(context.status, &Report::Violation(violation), &[]);
            continue;
        }
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid.as_raw_nonzero().get() != child {
                continue;
            }
            let ended = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Ended::Exited(code),
                (None, Some(signal)) => Ended::Signalled(signal),
                (None, None) => continue,
            };
            if count.more > 0 {
                let _ = send(context.status, &Report::MoreViolations(count.more), &[]);
            }
            let _ = send(context.status, &Report::Ended(ended), &[]);
            if context.spec.background == Background::Keep && has_children_after(LEFTOVER_GRACE) {
                let _ = send(context.status, &Report::Left, &[]);
                supervise_left(context, notifications, children);
            }
            sys::exit(0);
        }
        if must_poll && used_memory() > context.spec.limits.memory {
            let _ = send(context.status, &Report::Ended(Ended::Memory), &[]);
            sys::exit(0);
        }
    }
}

/// Returns true if processes are still running after this time. Programs that are just ending are none of them.
fn has_children_after(grace: Duration) -> bool {
    let deadline = Instant::now() + grace;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Supervises the processes that the program left running, until the last one has ended.
fn supervise_left(context: &RunContext<'_>, notifications: &OwnedFd, children: &OwnedFd) {
    let mut count = ViolationCount::default();
    loop {
        let mut fds =
            [PollFd::new(notifications, PollFlags::IN), PollFd::new(children, PollFlags::IN)];
        let _ = poll(&mut fds, None);
        sys::drain(children);
        if fds[0].revents().contains(PollFlags::IN)
            && let Ok(Some(violation)) = deny(notifications.as_fd(), &mut count)
        {
            // The caller may be gone.
            let _ = send(context.status, &Report::Violation(violation), &[]);
            continue;
        }
        if !has_children_after(Duration::ZERO) {
            return;
        }
    }
}

/// Returns the memory that the processes of the run use together. Shared pages count once if the kernel reports them.
fn used_memory() -> u64 {
    let Ok(entries) = std::fs::read_dir("/proc") else { return u64::MAX };
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    let numbers = names.filter(|name| name.as_bytes().iter().all(u8::is_ascii_digit));
    let (mut own, mut shared) = (0, 0);
    for name in numbers {
        let folder = Path::new("/proc").join(name);
        let kibibytes = |file: &str, keys: [&str; 2]| {
            let bytes = std::fs::read(folder.join(file)).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let value = |key: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(key))?;
                line.trim().trim_end_matches(" kB").parse::<u64>().ok()
            };
            Some(keys.map(|key| value(key).unwrap_or(0) << 10))
        };
        // Proportional set size: each process counts its share of a page. Older kernels do not report it.
        match kibibytes("smaps_rollup", ["Pss_Anon:", "Pss_Shmem:"]) {
            Some([anonymous, memory]) if anonymous + memory > 0 => own += anonymous + memory,
            _ => {
                let [anonymous, memory] =
                    kibibytes("status", ["RssAnon:", "RssShmem:"]).unwrap_or([0, 0]);
                own += anonymous;
                shared = shared.max(memory);
            }
        }
    }
    own + shared
}
