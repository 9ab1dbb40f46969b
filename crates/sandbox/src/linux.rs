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
mod rules;
mod running;
mod seccomp;
mod spawn;
mod stage;
mod sys;
mod tier_b;
mod view;
mod wire;

pub(crate) use layer::Layer;
pub(crate) use running::{Canceller, Running, start};

/// Names the program that is the stage.
pub(crate) fn use_helper(program: std::path::PathBuf) {
    // The first one that was named stays.
    let _ = running::HELPER.set(program);
}

/// Reads what was handed to this process. Whoever is handed something answers for others, so a file that gets too large is an error to it and
/// not its end.
pub(crate) fn handed() -> std::io::Result<Vec<u8>> {
    sys::survive_large_files()?;
    wire::unseal_bytes(sys::adopt(crate::HANDED)?)
}

/// Becomes the stage if this process was started as one.
pub(crate) fn init() {
    let mut args = std::env::args_os();
    let is_stage = args.nth(1).is_some_and(|word| word == spawn::WORD) && args.next().is_none();
    if is_stage {
        stage::run();
    }
    running::INITIALISED.store(true, std::sync::atomic::Ordering::Relaxed);
}
