//! Starts the stage with `posix_spawn`, because this process may have threads and must not fork.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::Pid;

use super::sys::check;

/// The argument that makes a program become the stage.
pub(crate) const STAGE_ARG: &str = "__sandbox";

/// This program's own executable.
pub(super) const SELF_EXE: &str = "/proc/self/exe";

/// Starts a program as the stage, with these descriptors as 0, 1, 2 and so on, and no others.
pub(super) fn spawn_stage(program: &Path, fds: &[BorrowedFd<'_>]) -> io::Result<Pid> {
    // Move the descriptors away from the numbers that they will get.
    let first = i32::try_from(fds.len()).map_err(io::Error::other)? + 8;
    let moved = fds.iter().map(|fd| Ok(fcntl_dupfd_cloexec(fd, first)?));
    let moved = moved.collect::<io::Result<Vec<OwnedFd>>>()?;
    let mut actions = FileActions::new()?;
    for (number, fd) in moved.iter().enumerate() {
        actions.dup_to(fd, i32::try_from(number).map_err(io::Error::other)?)?;
    }
    let attributes = SpawnAttributes::new()?;
    let program = CString::new(program.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let arg = CString::new(STAGE_ARG).map_err(io::Error::other)?;
    let args = [program.as_ptr().cast_mut(), arg.as_ptr().cast_mut(), std::ptr::null_mut()];
    let env = [std::ptr::null_mut()];
    let mut pid: libc::pid_t = 0;
    // SAFETY: everything that is pointed to outlives the call, and both lists end with a null pointer.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            actions.0.as_ptr(),
            attributes.0.as_ptr(),
            args.as_ptr(),
            env.as_ptr(),
        )
    };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    Pid::from_raw(pid).ok_or_else(|| io::Error::other("the new process has no id"))
}

/// What happens to descriptors when the stage is spawned.
struct FileActions(MaybeUninit<libc::posix_spawn_file_actions_t>);

impl FileActions {
    fn new() -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: the call initializes the value.
        let error = unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) };
        if error == 0 { Ok(Self(actions)) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    fn dup_to(&mut self, fd: &OwnedFd, number: i32) -> io::Result<()> {
        // SAFETY: `new` initialized the value.
        let error = unsafe {
            libc::posix_spawn_file_actions_adddup2(self.0.as_mut_ptr(), fd.as_raw_fd(), number)
        };
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: `new` initialized the value, and it is not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(self.0.as_mut_ptr()) };
    }
}

/// The attributes of the new process: no signals are blocked or ignored, and it has its own process group, so signals
/// from the terminal do not reach it.
struct SpawnAttributes(MaybeUninit<libc::posix_spawnattr_t>);

impl SpawnAttributes {
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the call initializes the value.
        let error = unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        let mut made = Self(attributes);
        // SAFETY: all zeros is a valid value, and the next call initializes it.
        let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set outlives the call.
        check(unsafe { libc::sigemptyset(&raw mut none) }.into())?;
        let mut all = none;
        // SAFETY: as above.
        check(unsafe { libc::sigfillset(&raw mut all) }.into())?;
        let flags = libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF
            | libc::POSIX_SPAWN_SETPGROUP;
        // SAFETY: the value was initialized above, and the sets outlive the calls.
        let error =
            unsafe { libc::posix_spawnattr_setsigmask(made.0.as_mut_ptr(), &raw const none) };
        // SAFETY: as above.
        let error = error
            | unsafe { libc::posix_spawnattr_setsigdefault(made.0.as_mut_ptr(), &raw const all) };
        // SAFETY: as above.
        let error = error
            | unsafe {
                libc::posix_spawnattr_setflags(made.0.as_mut_ptr(), flags as libc::c_short)
            };
        if error == 0 { Ok(made) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

impl Drop for SpawnAttributes {
    fn drop(&mut self) {
        // SAFETY: `new` initialized the value, and it is not used again.
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}
