//! Runs a program with exactly the capabilities that it was given, or not at all.
//!
//! [`start`] takes a [`Spec`]: a program, what it may read, the folder that it may change, the hosts that it may reach,
//! and its resource limits. Each guarantee is tested on this machine, not assumed from a version. If a required one is
//! missing, the program does not start. This crate knows nothing about skills, policies or approvals.
//!
//! A program that uses this crate calls [`init`] first thing in `main`. The program is then started again as the
//! hidden stage: a process with a single thread that sets up the sandbox and supervises the program in it.

mod background;
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

pub use background::{BackgroundId, LeftRunning, ProcessId, end_background};
pub use capture::{OutputLimit, OutputLimitExceeded};
pub use error::SandboxError;
pub use guarantee::Guarantee;
pub use layer::{Applied, ApplyError, Change, ChangeKind, Conflict, Layer, StoredLayer};
pub use names::{is_protected, protected};
pub use outcome::{Captured, Ended, Outcome, Violation};
pub use spec::{
    Background, GitData, LayerStorage, Limits, Loopback, Network, PrivateFolder, Spec, Stdin,
    Streams, Tier, User, Workspace, Writes,
};
pub use spec::{PAYLOAD_FD, PROXY_PLACEHOLDER};

/// Becomes the hidden stage if this process was started as one; otherwise unblocks the signals that end a program.
/// Call it first thing in `main`.
pub fn init() {
    sys::init();
}

/// Uses another program as the stage. It must call [`init`] first thing in its `main`.
pub fn use_helper(program: impl Into<std::path::PathBuf>) {
    sys::use_helper(program.into());
}

/// Starts the stage for the next [`start`] in advance, so that it initializes while the caller does other work. This
/// grants nothing and reports no errors; if no start follows, nothing is left behind.
pub fn prepare(streams: Streams) {
    sys::prepare(streams);
}

/// Reads the payload that this process was given when it was started in a sandbox: see [`Spec::payload`].
pub fn payload() -> std::io::Result<Vec<u8>> {
    sys::payload()
}

/// A running program. Dropping it kills the program and everything that it started.
#[derive(Debug)]
pub struct Running(sys::Running);

/// Fails if there is no sandbox for this operating system at all. [`start`] checks what this machine really provides.
pub fn supported() -> Result<(), SandboxError> {
    sys::supported()
}

/// Starts a program in the strongest sandbox that this machine can provide.
pub fn start(spec: &Spec) -> Result<Running, SandboxError> {
    sys::start(spec).map(Running)
}

/// Returns what a sandbox of this tier guarantees on this machine, by running a program that does nothing.
pub fn probe(tier: Tier) -> Result<Vec<Guarantee>, SandboxError> {
    let mut spec = Spec::new("/bin/true");
    spec.strongest = tier;
    if tier == Tier::A {
        // Only tier A guarantees this, so `start` does not fall back to tier B.
        spec.required.insert(Guarantee::MetadataHidden);
    }
    Ok(sys::start(&spec)?.wait()?.enforced)
}

impl Running {
    /// Waits for the program to end.
    pub fn wait(self) -> Result<Outcome, SandboxError> {
        self.0.wait()
    }

    /// Waits for the program itself to end. With [`Background::Keep`], also returns what it left running.
    pub fn wait_for_main(self) -> Result<(Outcome, Option<LeftRunning>), SandboxError> {
        let (outcome, left) = self.0.wait_for_main()?;
        Ok((outcome, left.map(LeftRunning)))
    }

    /// Returns the identity of its processes, if this system has one.
    pub fn id(&self) -> Option<BackgroundId> {
        self.0.id()
    }

    /// Returns the layer that the program's workspace writes go to, if there is one. The layer outlives the run.
    pub fn take_layer(&mut self) -> Option<Layer> {
        self.0.take_layer().map(Layer)
    }

    /// Returns the socket on which the program expects its proxy.
    pub fn take_proxy(&mut self) -> Option<std::net::TcpListener> {
        self.0.take_proxy()
    }

    /// Kills the program and everything that it started. [`wait`](Self::wait) returns how it ended.
    pub fn cancel(&self) {
        self.canceller().cancel();
    }

    /// Returns a handle that cancels the program from another thread while this one waits.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.0.canceller())
    }
}

/// Cancels a program from another thread. It does nothing if the program has already ended.
#[derive(Debug, Clone)]
pub struct Canceller(sys::Canceller);

impl Canceller {
    /// Kills the program and everything that it started.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
