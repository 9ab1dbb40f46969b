//! Linux: namespaces, Landlock, seccomp.

#![expect(clippy::disallowed_methods, reason = "all of it is the edge to the kernel")]

mod apply;
mod caps;
mod cgroup;
mod copy;
mod filter;
mod git_data;
mod git_index;
mod grants;
mod layer;
mod left;
mod net;
mod origin;
mod pid1;
mod ready;
mod revert;
mod rules;
mod running;
mod seccomp;
mod spawn;
mod stage;
mod stored;
mod sys;
mod target;
mod tier_b;
mod transaction;
pub(crate) mod undo;
mod view;
mod wire;

use crate::SandboxError;

pub(crate) use layer::Layer;
pub(crate) use left::{LeftRunning, end_background, start_time};
pub(crate) use ready::prepare;
pub(crate) use running::{Canceller, Running, start};

/// Sets the program that is started as the stage.
pub(crate) fn use_helper(program: std::path::PathBuf) {
    // Only the first call has an effect.
    let _ = ready::HELPER.set(program);
}

/// Reads the payload of this process. A process with a payload reports results for another program, so exceeding the
/// file size limit must be an error for it instead of killing it.
pub(crate) fn payload() -> std::io::Result<Vec<u8>> {
    sys::survive_large_files()?;
    wire::unseal_bytes(sys::adopt(crate::PAYLOAD_FD)?)
}

/// Unblocks the signals that end a program. The parent process may have left them blocked, and then no run could be
/// stopped.
fn unblock_signals() {
    // SAFETY: all zeros is a valid value, and the next call initializes it.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set outlives the call.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        // SAFETY: as above.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: as above; only the mask of this thread changes, and no other threads exist yet.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Always succeeds: this system has a sandbox.
pub(crate) fn supported() -> Result<(), SandboxError> {
    Ok(())
}

/// Becomes the stage if this process was started as one.
pub(crate) fn init() {
    let mut args = std::env::args_os();
    let is_stage = args.nth(1).is_some_and(|arg| arg == spawn::STAGE_ARG) && args.next().is_none();
    if is_stage {
        stage::run();
    }
    unblock_signals();
    ready::INITIALIZED.store(true, std::sync::atomic::Ordering::Relaxed);
}
