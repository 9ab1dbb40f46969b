//! Systems without a sandbox of ours: nothing runs.

use std::net::TcpListener;
use std::path::PathBuf;

pub(crate) use crate::no_layer::{Layer, undo};
use crate::{Guarantee, Outcome, SandboxError, Spec};

/// No program ever runs here.
#[derive(Debug)]
pub(crate) enum Running {}

pub(crate) fn init() {}

pub(crate) fn use_helper(_: PathBuf) {}

/// Nothing can be got ready here.
pub(crate) fn prepare() {}

/// Nothing is handed to a program here.
pub(crate) fn handed() -> std::io::Result<Vec<u8>> {
    Err(std::io::Error::other("nothing is handed to a program on this system"))
}

pub(crate) fn start(_: &Spec) -> Result<Running, SandboxError> {
    Err(SandboxError::Unavailable {
        missing: Guarantee::CORE.to_vec(),
        why: "this system has no sandbox that openskills can use".to_owned(),
        fix: "run it on Linux; a module runs here with --wasm-stage never, without a workspace"
            .to_owned(),
    })
}

/// Nothing is there to be ended.
#[derive(Debug, Clone)]
pub(crate) enum Canceller {}

impl Canceller {
    pub(crate) fn cancel(&self) {
        match *self {}
    }
}

impl Running {
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
}
