//! Linux: namespaces, Landlock, seccomp.

#![expect(clippy::disallowed_methods, reason = "all of it is the edge to the kernel")]

mod caps;
mod cgroup;
mod commit;
mod copy;
mod filter;
mod grants;
mod layer;
mod net;
mod pid1;
mod ready;
mod rules;
mod running;
mod seccomp;
mod spawn;
mod stage;
mod sys;
mod take_back;
mod tier_b;
pub(crate) mod undo;
mod view;
mod wire;
mod work;

pub(crate) use layer::Layer;
pub(crate) use ready::prepare;
pub(crate) use running::{Canceller, Running, start};

/// Names the program that is the stage.
pub(crate) fn use_helper(program: std::path::PathBuf) {
    // The first one that was named stays.
    let _ = ready::HELPER.set(program);
}

/// Reads what was handed to this process. Whoever is handed something answers for others, so a file that gets too large is an error to it and
/// not its end.
pub(crate) fn handed() -> std::io::Result<Vec<u8>> {
    sys::survive_large_files()?;
    wire::unseal_bytes(sys::adopt(crate::HANDED)?)
}

/// Lets the signals that end a program reach this one: whoever started it may have left them blocked, and then no run could be ended.
fn unblock_signals() {
    // SAFETY: all zeros is a valid value, which the next call sets.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set lives across the call.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        // SAFETY: as above.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: as above; the mask of this thread alone is changed, and the others are not there yet.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Becomes the stage if this process was started as one.
pub(crate) fn init() {
    let mut args = std::env::args_os();
    let is_stage = args.nth(1).is_some_and(|word| word == spawn::WORD) && args.next().is_none();
    if is_stage {
        stage::run();
    }
    unblock_signals();
    ready::INITIALISED.store(true, std::sync::atomic::Ordering::Relaxed);
}
