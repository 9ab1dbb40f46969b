//! System calls that no library has, each in one place.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Turns the answer of a call into a result.
pub(super) fn check(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
#[derive(Default)]
pub(super) struct MountAttr {
    pub(super) set: u64,
    pub(super) clear: u64,
    pub(super) propagation: u64,
    pub(super) userns: u64,
}

pub(super) const MOUNT_ATTR_RDONLY: u64 = 0x1;
pub(super) const MOUNT_ATTR_NOSUID: u64 = 0x2;
pub(super) const MOUNT_ATTR_NODEV: u64 = 0x4;
pub(super) const MOUNT_ATTR_NOEXEC: u64 = 0x8;

/// How far a change of mounts goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// This mount alone.
    One,
    /// And all mounts on it.
    Tree,
}

/// Changes what holds for mounts.
pub(super) fn mount_setattr(
    tree: BorrowedFd<'_>,
    attr: &MountAttr,
    depth: Depth,
) -> io::Result<()> {
    let empty = c"";
    let recursive = if depth == Depth::Tree { libc::AT_RECURSIVE } else { 0 };
    let flags = libc::AT_EMPTY_PATH | recursive;
    // SAFETY: the path and the attributes live across the call, and the size is theirs.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            empty.as_ptr(),
            flags,
            std::ptr::from_ref(attr),
            size_of::<MountAttr>(),
        )
    };
    check(answer).map(|_| ())
}

/// Changes the root of this mount namespace to the working folder, and puts the old one over it.
pub(super) fn pivot_root_here() -> io::Result<()> {
    let here = c".";
    // SAFETY: both paths live across the call.
    let answer = unsafe { libc::syscall(libc::SYS_pivot_root, here.as_ptr(), here.as_ptr()) };
    check(answer).map(|_| ())
}

/// Takes the mount that the working folder is in away.
pub(super) fn unmount_here() -> io::Result<()> {
    // SAFETY: the path lives across the call.
    let answer = unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) };
    check(answer.into()).map(|_| ())
}

/// Leaves namespaces for new ones.
pub(super) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: it takes a number. The stage has one thread.
    check(unsafe { libc::unshare(flags) }.into()).map(|_| ())
}

/// Makes a child that goes on with the same code. Only the stage may: it has one thread.
pub(super) fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: the process has one thread, so nothing is left locked in the child.
    let pid = check(unsafe { libc::fork() }.into())?;
    Ok(pid as libc::pid_t)
}

/// Sets one of the properties of `prctl`.
pub(super) fn prctl(option: libc::c_int, value: libc::c_ulong) -> io::Result<libc::c_int> {
    // SAFETY: these options take numbers.
    let answer = unsafe { libc::prctl(option, value, 0, 0, 0) };
    check(answer.into()).map(|answer| answer as libc::c_int)
}

/// Sets both limits of a resource, by the call of the kernel: C libraries disagree on the type of `resource`.
pub(super) fn set_limit(resource: impl Into<i64>, limit: u64) -> io::Result<()> {
    let (this, before) = (0, std::ptr::null_mut::<libc::rlimit64>());
    let limit = libc::rlimit64 { rlim_cur: limit, rlim_max: limit };
    // SAFETY: the limit lives across the call, and nothing is asked of the one before.
    let answer = unsafe {
        libc::syscall(libc::SYS_prlimit64, this, resource.into(), &raw const limit, before)
    };
    check(answer).map(|_| ())
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: nothing above `first` is used any more; the caller is about to start a program.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    check(answer).map(|_| ())
}

/// Marks every descriptor from `first` on to be closed by starting a program.
pub(super) fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: it takes numbers, and closes nothing now.
    let answer =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    check(answer).map(|_| ())
}

/// Has a write beyond the largest file fail, instead of ending this process.
pub(super) fn survive_large_files() -> io::Result<()> {
    // SAFETY: no handler is installed: the signal is ignored.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Marks a descriptor to stay open across starting a program.
pub(super) fn keep_on_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: it takes numbers.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }.into()).map(|_| ())
}

/// Makes a descriptor that can be read when a child has ended.
pub(super) fn watch_children() -> io::Result<OwnedFd> {
    // SAFETY: all zeros is a valid value, which the next call sets.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set lives across the call.
    check(unsafe { libc::sigemptyset(&raw mut set) }.into())?;
    // SAFETY: as above.
    check(unsafe { libc::sigaddset(&raw mut set, libc::SIGCHLD) }.into())?;
    // SAFETY: as above; the old mask is not asked for.
    let answer =
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    check(answer.into())?;
    // SAFETY: as above.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    let fd = check(fd.into())? as RawFd;
    // SAFETY: the kernel has just made the descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Reads away what a descriptor of signals holds.
pub(super) fn drain(fd: &OwnedFd) {
    let mut space = [0; 1024];
    while rustix::io::read(fd, &mut space).is_ok_and(|read| read > 0) {}
}

/// Lets all signals come.
pub(super) fn unblock_signals() -> io::Result<()> {
    // SAFETY: all zeros is a valid value, which the next call sets.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set lives across the call.
    check(unsafe { libc::sigemptyset(&raw mut set) }.into())?;
    // SAFETY: as above.
    let answer =
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) };
    check(answer.into()).map(|_| ())
}

/// Takes over a descriptor that this process was started with.
pub(super) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: it takes numbers.
    let flags = check(unsafe { libc::fcntl(fd, libc::F_GETFD) }.into())? as libc::c_int;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, flags | libc::FD_CLOEXEC) }.into())?;
    // SAFETY: the descriptor is open, and the stage was given it to own.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends a signal to a process.
pub(super) fn kill(pid: libc::pid_t, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: it takes numbers.
    check(unsafe { libc::kill(pid, signal) }.into()).map(|_| ())
}

/// Ends this process at once.
pub(super) fn exit(code: libc::c_int) -> ! {
    // SAFETY: nothing of this process has to be tidied up.
    unsafe { libc::_exit(code) }
}

/// Makes a new session.
pub(super) fn setsid() -> io::Result<()> {
    // SAFETY: it takes nothing.
    check(unsafe { libc::setsid() }.into()).map(|_| ())
}

/// Starts a program in place of this one; returns only if that fails.
pub(super) fn exec(
    program: &CStr,
    args: &[*const libc::c_char],
    env: &[*const libc::c_char],
) -> io::Error {
    // SAFETY: both lists end with a null pointer, and what they point at lives.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}
