//! Runs a program under exactly the capabilities that it was given, or not at all.
//!
//! [`start`] takes a [`Spec`]: a program, what it may read, the folder it may change, whom it may talk to, how much of everything
//! it may use. What holds is found out by doing; what must hold and does not, stops it before it starts. This crate knows no
//! skills, no policy and no approvals.
//!
//! A program that uses it calls [`init`] first thing in `main`: it is started anew as a hidden stage, with one thread, that makes
//! the sandbox and watches over it.

mod capture;
mod error;
mod guarantee;
mod layer;
mod names;
#[cfg(not(target_os = "linux"))]
mod no_layer;
mod outcome;
pub mod proxy;
pub mod seatbelt;
mod spec;
pub mod undo;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as sys;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as sys;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod unsupported;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use unsupported as sys;

pub use capture::{OutputBound, TooMuchOutput};
pub use error::SandboxError;
pub use guarantee::Guarantee;
pub use layer::{Change, ChangeKind, CommitError, Layer};
pub use names::{is_protected, protected};
pub use outcome::{Captured, Ended, Outcome, Violation};
pub use spec::{HANDED, PROXY};
pub use spec::{Limits, Network, Spec, Stdin, Tier, Workspace, Writes};

/// Becomes the hidden stage if this process was started as one; otherwise lets the signals that end a program through. Call it first thing in
/// `main`.
pub fn init() {
    sys::init();
}

/// Names a program that calls [`init`] first thing in its `main`, to be the stage instead of this one.
pub fn use_helper(program: impl Into<std::path::PathBuf>) {
    sys::use_helper(program.into());
}

/// Gets ready for the next [`start`], beside whatever the caller does until then. It grants nothing and says nothing; a program that ends without a
/// start leaves nothing behind.
pub fn prepare() {
    sys::prepare();
}

/// Reads what was handed to this process by whoever had it started in a sandbox: see [`Spec::handed`].
pub fn handed() -> std::io::Result<Vec<u8>> {
    sys::handed()
}

/// A program that runs. Dropping it ends it and everything that it started.
#[derive(Debug)]
pub struct Running(sys::Running);

/// Starts a program.
pub fn start(spec: &Spec) -> Result<Running, SandboxError> {
    sys::start(spec).map(Running)
}

/// Finds out what one kind of sandbox guarantees on this machine, by running a program that does nothing.
pub fn probe(tier: Tier) -> Result<Vec<Guarantee>, SandboxError> {
    let mut spec = Spec::new("/bin/true");
    spec.strongest = tier;
    if tier == Tier::A {
        // Only the stronger kind has it, so the weaker one does not stand in for it.
        spec.required.insert(Guarantee::MetadataHidden);
    }
    Ok(sys::start(&spec)?.wait()?.enforced)
}

impl Running {
    /// Waits for its end.
    pub fn wait(self) -> Result<Outcome, SandboxError> {
        self.0.wait()
    }

    /// Takes what the program writes to its workspace, where that goes to a layer. It outlives the run.
    pub fn take_layer(&mut self) -> Option<Layer> {
        self.0.take_layer().map(Layer)
    }

    /// Takes the socket on which the program looks for its proxy.
    pub fn take_proxy(&mut self) -> Option<std::net::TcpListener> {
        self.0.take_proxy()
    }

    /// Ends it, and everything that it started. [`wait`](Self::wait) says how it ended.
    pub fn cancel(&self) {
        self.canceller().cancel();
    }

    /// Returns what ends it from elsewhere, while somebody waits for it.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.0.canceller())
    }
}

/// Ends a program from elsewhere. It does nothing to one that has ended.
#[derive(Debug, Clone)]
pub struct Canceller(sys::Canceller);

impl Canceller {
    /// Ends it, and everything that it started.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
