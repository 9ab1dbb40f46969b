//! The first process of a run's own world: builds the view, closes everything off, starts the program, and answers for it.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{WaitOptions, wait};

use super::filter::FilterKind;
use super::grants::{self, DEVICES, Grants, Kind};
use super::rules::{Rules, enforce, newest};
use super::seccomp::{Tried, install, refuse};
use super::sys;
use super::view;
use super::wire::{Report, send};
use crate::error::Failure;
use crate::outcome::Ended;
use crate::{Guarantee, HANDED, Network, Spec, Tier, Writes};

/// How often memory is looked at where no group bounds it.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// What the supervisor knows already.
pub(super) struct Known<'a> {
    pub(super) spec: &'a Spec,
    pub(super) status: BorrowedFd<'a>,
    pub(super) has_memory_group: bool,
    pub(super) has_pids_group: bool,
    pub(super) is_root: bool,
}

fn setup(step: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure::Setup { step: step.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
}

/// Runs the program and reports; returns only if it was not started.
pub(super) fn run(known: &Known<'_>) -> Result<std::convert::Infallible, Failure> {
    let Known { spec, status, .. } = known;
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)
        .map_err(setup("cannot end with its parent"))?;
    sys::unshare(libc::CLONE_NEWNS).map_err(unavailable("no mount namespace"))?;
    let writes = spec.workspace.as_ref().map_or(Writes::Never, |workspace| workspace.writes);
    let listener = match spec.network {
        Network::None => None,
        Network::Proxy => Some(super::net::listen().map_err(setup("cannot listen for the proxy"))?),
    };
    // A mount can be copied only inside its own namespace, so this is opened here.
    let grants = &grants::open(spec)?;
    let viewed = view::build(grants, writes, &spec.limits).map_err(|(step, error)| {
        Failure::Unavailable {
            missing: vec![Guarantee::MetadataHidden],
            why: format!("{step}: {error}"),
        }
    })?;
    let mut enforced = Guarantee::CORE.to_vec();
    enforced.extend([Guarantee::MetadataHidden, Guarantee::PrivateTmp, Guarantee::SubpathProtect]);
    if known.has_memory_group {
        enforced.push(Guarantee::Mem);
    }
    // The limit counts the processes of this user in this namespace; it does not bind root.
    if known.has_pids_group || !known.is_root {
        enforced.push(Guarantee::Pids);
    }
    let missing: Vec<Guarantee> =
        spec.required.iter().filter(|needed| !enforced.contains(needed)).copied().collect();
    if !missing.is_empty() {
        let why = "no group of processes can be made here".to_owned();
        return Err(Failure::Unavailable { missing, why });
    }
    super::caps::drop_all().map_err(setup("cannot give up capabilities"))?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(setup("cannot give up new rights"))?;
    sys::prctl(libc::PR_SET_DUMPABLE, 0).map_err(setup("cannot close itself"))?;
    let port = listener.as_ref().map(|(_, port)| *port);
    let abi = newest().ok_or_else(|| Failure::Unavailable {
        missing: vec![Guarantee::FsWrite],
        why: "the kernel has no Landlock".to_owned(),
    })?;
    enforce(abi, &rules(grants, writes, port))
        .map_err(|why| Failure::Unavailable { missing: vec![Guarantee::FsWrite], why })?;
    let kind = if port.is_some() { FilterKind::TierAWithProxy } else { FilterKind::TierA };
    let reports = install(kind).map_err(unavailable("no seccomp filter"))?;
    let children = sys::watch_children().map_err(setup("cannot watch processes"))?;
    let child = start(known, port)?;
    let layers = viewed.layer.len();
    let fds: Vec<BorrowedFd<'_>> = viewed
        .layer
        .iter()
        .map(AsFd::as_fd)
        .chain(listener.iter().map(|(listener, _)| listener.as_fd()))
        .collect();
    let report = Report::Started { enforced, layers, proxy_port: port };
    send(*status, &report, &fds).map_err(setup("cannot report"))?;
    drop(viewed);
    drop(listener);
    answer(known, child, &reports, &children)
}

fn unavailable(what: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| Failure::Unavailable {
        missing: vec![Guarantee::MetadataHidden],
        why: format!("{what}: {error}"),
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

/// Returns the rules of Landlock for the view.
fn rules(grants: &Grants, writes: Writes, port: Option<u16>) -> Rules {
    let mut rules = Rules { port, ..Rules::default() };
    let real = grants.read.iter().filter(|opened| !matches!(opened.kind, Kind::Link(_)));
    rules.read.extend(real.map(|opened| opened.path.clone()));
    rules.read.extend(["/etc", "/proc", "/dev"].map(Into::into));
    rules.write.extend(["/tmp", "/dev/shm"].map(Into::into));
    rules.write.extend(DEVICES.map(Into::into));
    // Programs write about themselves, to /proc/self/comm and the like.
    rules.write.push("/proc".into());
    if let Some(workspace) = &grants.workspace {
        let list = if writes == Writes::Never { &mut rules.read } else { &mut rules.write };
        list.push(workspace.path.clone());
    }
    rules
}

/// A program, its arguments and its environment, as the kernel takes them.
pub(super) type Program = (CString, Vec<CString>, Vec<CString>);

/// Returns what is to be started; `change` is applied to every value of the environment.
pub(super) fn program_of(
    spec: &Spec,
    change: impl Fn(&OsString) -> OsString,
) -> Result<Program, Failure> {
    let text = |text: &OsStr| {
        CString::new(text.as_bytes())
            .map_err(|_| Failure::BadSpec("an argument or a variable holds a null byte".to_owned()))
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

/// Starts a program in place of this process; returns only if that fails.
pub(super) fn exec(program: &CString, args: &[CString], env: &[CString]) -> io::Error {
    let list = |texts: &[CString]| {
        let pointers = texts.iter().map(|text| text.as_ptr());
        pointers.chain([std::ptr::null()]).collect::<Vec<_>>()
    };
    sys::exec(program, &list(args), &list(env))
}

/// Starts the program; an error if it cannot be.
fn start(known: &Known<'_>, port: Option<u16>) -> Result<libc::pid_t, Failure> {
    let proxy = port.map(|port| OsString::from(format!("http://127.0.0.1:{port}")));
    let change = |value: &OsString| {
        proxy.clone().filter(|_| value == crate::PROXY).unwrap_or_else(|| value.clone())
    };
    let (program, args, env) = program_of(known.spec, change)?;
    let (done, failed) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| setup("cannot make a pipe")(error.into()))?;
    let child = sys::fork().map_err(setup("cannot make a process"))?;
    if child == 0 {
        drop(done);
        let error = into_program(known).err().unwrap_or_else(|| exec(&program, &args, &env));
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let _ = rustix::io::write(&failed, &errno.to_ne_bytes());
        sys::exit(127);
    }
    drop(failed);
    let mut answer = [0; 4];
    match rustix::io::retry_on_intr(|| rustix::io::read(&done, &mut answer)) {
        // The end of it: the program was started, and its copy of the pipe was closed by that.
        Ok(0) => Ok(child),
        Ok(_) => Err(Failure::Program { errno: i32::from_ne_bytes(answer) }),
        Err(error) => Err(setup("cannot hear from the program")(error.into())),
    }
}

/// The last steps before the program.
pub(super) fn into_program(known: &Known<'_>) -> io::Result<()> {
    let limits = &known.spec.limits;
    sys::setsid()?;
    sys::set_limit(libc::RLIMIT_CORE, 0)?;
    // It counts the processes of this user in this namespace of users; without one, all of them.
    let others = if known.spec.strongest == Tier::A { 0 } else { processes_of_user() };
    sys::set_limit(libc::RLIMIT_NPROC, u64::from(limits.pids) + others)?;
    // Files with nothing in them can be of any size; what they would take elsewhere is bounded.
    sys::set_limit(libc::RLIMIT_FSIZE, limits.temporary.saturating_mul(4))?;
    sys::set_limit(libc::RLIMIT_NOFILE, 1024)?;
    if !known.has_memory_group {
        // Where somebody looks at the memory of the whole run, that comes first, since it is told as what it is.
        let times = if known.spec.strongest == Tier::A { 2 } else { 1 };
        sys::set_limit(libc::RLIMIT_DATA, limits.memory.saturating_mul(times))?;
    }
    sys::set_limit(libc::RLIMIT_MSGQUEUE, 0)?;
    sys::set_limit(libc::RLIMIT_MEMLOCK, 1 << 20)?;
    std::env::set_current_dir(&known.spec.cwd)?;
    sys::unblock_signals()?;
    // Everything but the three streams, and what is handed on, is closed by starting the program.
    sys::close_on_exec_from(3)?;
    if known.spec.handed.is_some() { sys::keep_on_exec(HANDED) } else { Ok(()) }
}

/// Answers for the program until it ends, and ends with it.
fn answer(known: &Known<'_>, child: libc::pid_t, reports: &OwnedFd, children: &OwnedFd) -> ! {
    let mut tried = Tried::default();
    loop {
        let mut fds = [PollFd::new(reports, PollFlags::IN), PollFd::new(children, PollFlags::IN)];
        let _ = poll(&mut fds, if known.has_memory_group { None } else { Some(&LOOK) });
        sys::drain(children);
        if fds[0].revents().contains(PollFlags::IN)
            && let Ok(Some(violation)) = refuse(reports.as_fd(), &mut tried)
        {
            let _ = send(known.status, &Report::Tried(violation), &[]);
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
            if tried.more > 0 {
                let _ = send(known.status, &Report::TriedMore(tried.more), &[]);
            }
            let _ = send(known.status, &Report::Ended(ended), &[]);
            sys::exit(0);
        }
        if !known.has_memory_group && used_memory() > known.spec.limits.memory {
            let _ = send(known.status, &Report::Ended(Ended::Memory), &[]);
            sys::exit(0);
        }
    }
}

/// Adds up what the processes of the run hold. Pages that several of them have count once, where the kernel tells.
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
        // A share of a page for each process that has it; older kernels do not tell.
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
