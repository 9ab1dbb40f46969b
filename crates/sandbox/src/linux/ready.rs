//! A stage that has started and waits for what it is to run: starting it takes about as long as finding out what that is.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::spawn;
use super::wire::{StageCommand, memory, seal, seal_bytes};
use crate::error::SandboxError;
use crate::{Spec, Tier};

/// Whether this program can be started anew as the stage.
pub(super) static INITIALISED: AtomicBool = AtomicBool::new(false);
/// The program that is the stage instead.
pub(super) static HELPER: OnceLock<PathBuf> = OnceLock::new();
/// The stage that the next run takes.
static NEXT: Mutex<Option<Stage>> = Mutex::new(None);

/// Returns true if there is a program that can be the stage.
pub(super) fn is_possible() -> bool {
    INITIALISED.load(Ordering::Relaxed) || HELPER.get().is_some()
}

/// Starts the stage of the next run. Whatever goes wrong goes wrong again, and is told, when that run starts its own.
pub(crate) fn prepare() {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if is_possible() && next.is_none() {
        *next = Stage::start(Tier::A).ok();
    }
}

/// Returns a stage for this kind of sandbox: the one that waits, or a new one.
pub(super) fn stage(tier: Tier) -> Result<Stage, SandboxError> {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = if tier == Tier::A { next.take() } else { None };
    drop(next);
    waiting.map_or_else(|| Stage::start(tier), Ok)
}

/// A stage that waits. It ends by itself when this is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    begun: Begun,
    /// Memory that the stage shares; it reads none that can still be changed.
    spec: File,
    handed: File,
}

/// A stage that knows what to run.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) process: Pid,
    pub(super) status: OwnedFd,
    pub(super) lifeline: OwnedFd,
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Begun {
    fn say(&self, command: StageCommand) -> Result<(), SandboxError> {
        send(&self.status, &[command as u8], SendFlags::NOSIGNAL)
            .map(drop)
            .map_err(|error| setup("the stage ended before it began")(error.into()))
    }
}

fn setup(step: &'static str) -> impl FnOnce(io::Error) -> SandboxError {
    move |source| SandboxError::Setup { step: step.to_owned(), source }
}

impl Stage {
    fn start(tier: Tier) -> Result<Self, SandboxError> {
        let pipe = || {
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| setup("cannot make a pipe")(error.into()))
        };
        let memory = || memory().map_err(setup("cannot make memory to share"));
        let (status, status_of_stage) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| setup("cannot make a socket")(error.into()))?;
        let (lifeline_of_stage, lifeline) = pipe()?;
        let (stdin_of_stage, stdin) = pipe()?;
        let (stdout, stdout_of_stage) = pipe()?;
        let (stderr, stderr_of_stage) = pipe()?;
        let (spec, handed) = (memory()?, memory()?);
        // In the order of their numbers in the stage.
        let fds = [
            stdin_of_stage.as_fd(),
            stdout_of_stage.as_fd(),
            stderr_of_stage.as_fd(),
            spec.as_fd(),
            status_of_stage.as_fd(),
            lifeline_of_stage.as_fd(),
            handed.as_fd(),
        ];
        let program = HELPER.get().map_or(Path::new(spawn::SELF), PathBuf::as_path);
        let process = spawn::stage(program, &fds).map_err(setup("cannot start the stage"))?;
        let command = if tier == Tier::A { StageCommand::Namespaces } else { StageCommand::Wait };
        let begun = Begun { process, status, lifeline, stdin, stdout, stderr };
        begun.say(command)?;
        Ok(Self { begun, spec, handed })
    }

    /// Says what to run.
    pub(super) fn begin(self, spec: &Spec) -> Result<Begun, SandboxError> {
        let handed = spec.handed.as_deref().map_or(Ok(()), |bytes| seal_bytes(self.handed, bytes));
        let told = handed
            .map_err(setup("cannot hand over what is to be handed"))
            .and_then(|()| seal(self.spec, spec).map_err(setup("cannot write the specification")))
            .and_then(|()| self.begun.say(StageCommand::Go));
        if let Err(error) = told {
            let process = self.begun.process;
            drop(self.begun);
            let _ = rustix::io::retry_on_intr(|| waitpid(Some(process), WaitOptions::empty()));
            return Err(error);
        }
        Ok(self.begun)
    }
}
