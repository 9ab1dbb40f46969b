//! Installs the seccomp filter, and responds to its user notifications.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::filter::{FilterKind, REPORTED, SOCKET, program};
use super::sys::{check, prctl};
use crate::Violation;

/// How many violations are reported individually.
const MAX_REPORTED: u64 = 100;

/// Installs the filter for this process and all its children. Returns the descriptor that receives its notifications.
pub(super) fn install(kind: FilterKind) -> io::Result<OwnedFd> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
    let mut code = program(kind);
    let filter = libc::sock_fprog {
        len: u16::try_from(code.len()).map_err(io::Error::other)?,
        filter: code.as_mut_ptr(),
    };
    // SAFETY: the filter program outlives the call, and the length is that of the program.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        )
    };
    let fd = check(fd)? as RawFd;
    // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// How many violations there were.
#[derive(Debug, Default)]
pub(super) struct ViolationCount {
    pub(super) reported: u64,
    /// Further violations that were only counted.
    pub(super) more: u64,
}

/// Denies the system call of one notification. Returns the violation, unless the maximum was already reported.
pub(super) fn deny(
    listener: BorrowedFd<'_>,
    count: &mut ViolationCount,
) -> io::Result<Option<Violation>> {
    // SAFETY: all zeros is a valid value of this struct, and the kernel requires it.
    let mut seen: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the struct outlives the call and has the size that the kernel expects.
    let answer =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut seen) };
    check(answer.into())?;
    let process = std::fs::read_to_string(format!("/proc/{}/comm", seen.pid)).unwrap_or_default();
    let error = if i64::from(seen.data.nr) == SOCKET.0 { libc::EACCES } else { libc::EPERM };
    let mut response = libc::seccomp_notif_resp { id: seen.id, val: 0, error: -error, flags: 0 };
    // SAFETY: as above.
    let answer = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response)
    };
    // A process that was killed meanwhile needs no response.
    let _ = check(answer.into());
    if count.reported == MAX_REPORTED {
        count.more += 1;
        return Ok(None);
    }
    count.reported += 1;
    let number = i64::from(seen.data.nr);
    let known = REPORTED.iter().chain([&SOCKET]).find(|(known, _)| *known == number);
    let call = known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned());
    Ok(Some(Violation { call, arguments: seen.data.args, process: process.trim_end().to_owned() }))
}
