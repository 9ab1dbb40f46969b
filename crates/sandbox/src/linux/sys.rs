//! Safe wrappers for system calls that no library provides.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Converts the return value of a call into a result.
pub(super) fn check(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The kernel's `struct mount_attr`.
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

/// Which mounts a change applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountScope {
    /// Only this mount.
    One,
    /// This mount and all mounts below it.
    Tree,
}

/// Changes the attributes of mounts.
pub(super) fn mount_setattr(
    tree: BorrowedFd<'_>,
    attr: &MountAttr,
    scope: MountScope,
) -> io::Result<()> {
    let empty = c"";
    let recursive = if scope == MountScope::Tree { libc::AT_RECURSIVE } else { 0 };
    let flags = libc::AT_EMPTY_PATH | recursive;
    // SAFETY: the path and the attributes outlive the call, and the size is that of the attributes.
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

/// Makes the working folder the root of this mount namespace, and stacks the old root on top of it.
pub(super) fn pivot_root_here() -> io::Result<()> {
    let here = c".";
    // SAFETY: both paths outlive the call.
    let answer = unsafe { libc::syscall(libc::SYS_pivot_root, here.as_ptr(), here.as_ptr()) };
    check(answer).map(|_| ())
}

/// Unmounts the mount that contains the working folder.
pub(super) fn unmount_here() -> io::Result<()> {
    // SAFETY: the path outlives the call.
    let answer = unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) };
    check(answer.into()).map(|_| ())
}

/// Moves this process into new namespaces.
pub(super) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: it takes a number. The stage has one thread.
    check(unsafe { libc::unshare(flags) }.into()).map(|_| ())
}

/// Moves this process into namespaces of another one.
pub(super) fn setns(process: BorrowedFd<'_>, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: it takes numbers. The stage has one thread.
    check(unsafe { libc::setns(process.as_raw_fd(), flags) }.into()).map(|_| ())
}

/// Ends all communication over a socket, also for the other processes that have it.
pub(super) fn shut_down(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: it takes numbers.
    check(unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) }.into()).map(|_| ())
}

/// Replaces this process's standard streams with `/dev/null`, so that it does not keep the caller's open.
pub(super) fn release_streams() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    for stream in 0..3 {
        // SAFETY: it takes numbers. Nothing in this process owns a standard stream.
        check(unsafe { libc::dup2(null.as_raw_fd(), stream) }.into())?;
    }
    Ok(())
}

/// Forks this process. Only the stage may do this, because it has a single thread.
pub(super) fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: the process has one thread, so no lock stays held in the child.
    let pid = check(unsafe { libc::fork() }.into())?;
    Ok(pid as libc::pid_t)
}

/// Calls `prctl` with one number.
pub(super) fn prctl(option: libc::c_int, value: libc::c_ulong) -> io::Result<libc::c_int> {
    // SAFETY: these options take numbers.
    let answer = unsafe { libc::prctl(option, value, 0, 0, 0) };
    check(answer.into()).map(|answer| answer as libc::c_int)
}

/// Sets the soft and the hard limit of a resource. Uses the system call directly, because C libraries disagree on the
/// type of `resource`.
pub(super) fn set_limit(resource: impl Into<i64>, limit: u64) -> io::Result<()> {
    let (this, before) = (0, std::ptr::null_mut::<libc::rlimit64>());
    let limit = libc::rlimit64 { rlim_cur: limit, rlim_max: limit };
    // SAFETY: the limit outlives the call, and the old limit is not requested.
    let answer = unsafe {
        libc::syscall(libc::SYS_prlimit64, this, resource.into(), &raw const limit, before)
    };
    check(answer).map(|_| ())
}

/// Closes all descriptors from `first` on.
pub(super) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: no descriptor from `first` on is used anymore; the caller is about to start a program.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    check(answer).map(|_| ())
}

/// Marks all descriptors from `first` on as close-on-exec.
pub(super) fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: it takes numbers, and does not close anything now.
    let answer =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    check(answer).map(|_| ())
}

/// Makes a write over the file size limit fail with an error, instead of killing this process.
pub(super) fn survive_large_files() -> io::Result<()> {
    // SAFETY: no handler is installed; the signal is ignored.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Keeps a descriptor open when a program is started.
pub(super) fn keep_on_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: it takes numbers.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }.into()).map(|_| ())
}

/// Returns a descriptor that becomes readable when a child has ended.
pub(super) fn watch_children() -> io::Result<OwnedFd> {
    // SAFETY: all zeros is a valid value, and the next call initializes it.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set outlives the call.
    check(unsafe { libc::sigemptyset(&raw mut set) }.into())?;
    // SAFETY: as above.
    check(unsafe { libc::sigaddset(&raw mut set, libc::SIGCHLD) }.into())?;
    // SAFETY: as above; the old mask is not requested.
    let answer =
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    check(answer.into())?;
    // SAFETY: as above.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    let fd = check(fd.into())? as RawFd;
    // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Discards the pending data of a signal descriptor.
pub(super) fn drain(fd: &OwnedFd) {
    let mut buffer = [0; 1024];
    while rustix::io::read(fd, &mut buffer).is_ok_and(|read| read > 0) {}
}

/// Unblocks all signals.
pub(super) fn unblock_signals() -> io::Result<()> {
    // SAFETY: all zeros is a valid value, and the next call initializes it.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set outlives the call.
    check(unsafe { libc::sigemptyset(&raw mut set) }.into())?;
    // SAFETY: as above.
    let answer =
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) };
    check(answer.into()).map(|_| ())
}

/// Takes ownership of a descriptor that this process was started with.
pub(super) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: it takes numbers.
    let flags = check(unsafe { libc::fcntl(fd, libc::F_GETFD) }.into())? as libc::c_int;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, flags | libc::FD_CLOEXEC) }.into())?;
    // SAFETY: the descriptor is open, and it was passed to this process to own.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends a signal to a process.
pub(super) fn kill(pid: libc::pid_t, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: it takes numbers.
    check(unsafe { libc::kill(pid, signal) }.into()).map(|_| ())
}

/// Ends this process immediately.
pub(super) fn exit(code: libc::c_int) -> ! {
    // SAFETY: this process has nothing to clean up.
    unsafe { libc::_exit(code) }
}

/// Starts a new session.
pub(super) fn setsid() -> io::Result<()> {
    // SAFETY: it has no arguments.
    check(unsafe { libc::setsid() }.into()).map(|_| ())
}

/// Replaces this process with a program; returns only if that fails.
pub(super) fn exec(
    program: &CStr,
    args: &[*const libc::c_char],
    env: &[*const libc::c_char],
) -> io::Error {
    // SAFETY: both lists end with a null pointer, and the strings they point to are alive.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}
