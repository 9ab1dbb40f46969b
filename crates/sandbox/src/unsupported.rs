//! Systems that the sandbox does not support: nothing runs.

use std::net::TcpListener;
use std::path::PathBuf;

pub(crate) use crate::no_layer::{Layer, LeftRunning, end_background, start_time, undo};
use crate::{BackgroundId, Guarantee, Outcome, SandboxError, Spec, Streams};

/// A running program, which never exists here.
#[derive(Debug)]
pub(crate) enum Running {}

pub(crate) fn init() {}

pub(crate) fn use_helper(_: PathBuf) {}

/// Does nothing: there is no stage to start in advance.
pub(crate) fn prepare(_: Streams) {}

/// Always fails, because no program can be given a payload here.
pub(crate) fn payload() -> std::io::Result<Vec<u8>> {
    Err(std::io::Error::other("payloads are not supported on this system"))
}

pub(crate) fn supported() -> Result<(), SandboxError> {
    Err(no_sandbox())
}

pub(crate) fn start(_: &Spec) -> Result<Running, SandboxError> {
    Err(no_sandbox())
}

fn no_sandbox() -> SandboxError {
    SandboxError::Unavailable {
        missing: Guarantee::CORE.to_vec(),
        reason: "openskills has no sandbox for this system".to_owned(),
        fix: "run it on Linux; modules without a workspace also run here with --wasm-stage never"
            .to_owned(),
    }
}

/// A handle to cancel a program, which never exists here.
#[derive(Debug, Clone)]
pub(crate) enum Canceller {}

impl Canceller {
    pub(crate) fn cancel(&self) {
        match *self {}
    }
}

impl Running {
    pub(crate) fn id(&self) -> Option<BackgroundId> {
        match *self {}
    }

    pub(crate) fn take_layer(&mut self) -> Option<Layer> {
        match *self {}
    }

    pub(crate) fn take_proxy(&mut self) -> Option<TcpListener> {
        match *self {}
    }

    pub(crate) fn canceller(&self) -> Canceller {
        match *self {}
    }

    pub(crate) fn wait(self) -> Result<Outcome, SandboxError> {
        match self {}
    }

    pub(crate) fn wait_for_main(self) -> Result<(Outcome, Option<LeftRunning>), SandboxError> {
        match self {}
    }
}
