//! Starts the stage in advance: it initializes and then waits for the specification, while the caller still prepares
//! it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::FileType;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::spawn;
use super::wire::{StageCommand, memory, seal, seal_bytes};
use crate::error::SandboxError;
use crate::{Spec, Streams, Tier};

/// Whether this program called `init`, so that it can be started again as the stage.
pub(super) static INITIALIZED: AtomicBool = AtomicBool::new(false);
/// The program to start as the stage instead of this one.
pub(super) static HELPER: OnceLock<PathBuf> = OnceLock::new();
/// The stage that the next run uses.
static NEXT: Mutex<Option<WaitingStage>> = Mutex::new(None);

/// Returns true if there is a program that can be started as the stage.
pub(super) fn has_stage_program() -> bool {
    INITIALIZED.load(Ordering::Relaxed) || HELPER.get().is_some()
}

/// Starts the stage for the next run. An error is ignored here: it occurs again when that run starts its own stage, and
/// is reported then.
pub(crate) fn prepare(streams: Streams) {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if has_stage_program() && next.is_none() {
        *next = WaitingStage::start(Tier::A, streams).ok();
    }
}

/// Returns a stage for this tier: the one that is already waiting, or a new one.
pub(super) fn take_stage(spec: &Spec) -> Result<WaitingStage, SandboxError> {
    let (tier, streams) = (spec.strongest, spec.streams);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    // One that joins namespaces must not have created its own.
    let is_usable = tier == Tier::A && spec.joins.is_none();
    let waiting = next.take_if(|stage| is_usable && stage.streams == streams);
    drop(next);
    let tier = if is_usable { tier } else { Tier::B };
    waiting.map_or_else(|| WaitingStage::start(tier, streams), Ok)
}

/// A stage that waits for a specification. It exits when this is dropped.
#[derive(Debug)]
pub(super) struct WaitingStage {
    process: StageProcess,
    streams: Streams,
    /// Memory files shared with the stage. The stage only reads them once they are sealed.
    spec: File,
    payload: File,
}

/// The process of a stage, and its descriptors.
#[derive(Debug)]
pub(super) struct StageProcess {
    pub(super) pid: Pid,
    pub(super) status: OwnedFd,
    pub(super) lifeline: OwnedFd,
    /// The caller's ends of its standard streams, unless they are the caller's own.
    pub(super) pipes: Option<Pipes>,
}

/// The caller's ends of the standard streams.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl StageProcess {
    fn send_command(&self, command: StageCommand) -> Result<(), SandboxError> {
        send(&self.status, &[command as u8], SendFlags::NOSIGNAL)
            .map(drop)
            .map_err(|error| setup("the stage exited before the run started")(error.into()))
    }
}

fn setup(step: &'static str) -> impl FnOnce(io::Error) -> SandboxError {
    move |source| SandboxError::Setup { step: step.to_owned(), source }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| setup("cannot create a pipe")(error.into()))
}

/// Creates pipes for the standard streams of a stage. Returns its ends and the caller's.
fn captured_streams() -> Result<([OwnedFd; 3], Option<Pipes>), SandboxError> {
    let (stdin_of_stage, stdin) = pipe()?;
    let (stdout, stdout_of_stage) = pipe()?;
    let (stderr, stderr_of_stage) = pipe()?;
    let pipes = Pipes { stdin, stdout, stderr };
    Ok(([stdin_of_stage, stdout_of_stage, stderr_of_stage], Some(pipes)))
}

/// Returns copies of this process's standard streams. A terminal or a folder is refused: a program could type on the
/// one, and open files below the other.
fn shared_streams() -> Result<[OwnedFd; 3], SandboxError> {
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let copy = |stream: BorrowedFd<'_>| {
        let stat = rustix::fs::fstat(stream)?;
        if rustix::termios::isatty(stream) {
            return Err(io::Error::other("a standard stream is a terminal"));
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Err(io::Error::other("a standard stream is a folder"));
        }
        stream.try_clone_to_owned()
    };
    let copies = || Ok([copy(input.as_fd())?, copy(output.as_fd())?, copy(errors.as_fd())?]);
    copies().map_err(setup("cannot share the standard streams"))
}

impl WaitingStage {
    fn start(tier: Tier, streams: Streams) -> Result<Self, SandboxError> {
        let memory = || memory().map_err(setup("cannot create a memfd"));
        let (status, status_of_stage) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| setup("cannot create a socket")(error.into()))?;
        let (lifeline_of_stage, lifeline) = pipe()?;
        let ([stdin_of_stage, stdout_of_stage, stderr_of_stage], pipes) = match streams {
            Streams::Captured => captured_streams()?,
            Streams::Shared => (shared_streams()?, None),
        };
        let (spec, payload) = (memory()?, memory()?);
        // In the order of their descriptor numbers in the stage.
        let fds = [
            stdin_of_stage.as_fd(),
            stdout_of_stage.as_fd(),
            stderr_of_stage.as_fd(),
            spec.as_fd(),
            status_of_stage.as_fd(),
            lifeline_of_stage.as_fd(),
            payload.as_fd(),
        ];
        let program = HELPER.get().map_or(Path::new(spawn::SELF_EXE), PathBuf::as_path);
        let pid = spawn::spawn_stage(program, &fds).map_err(setup("cannot start the stage"))?;
        let command = if tier == Tier::A { StageCommand::Namespaces } else { StageCommand::Wait };
        let process = StageProcess { pid, status, lifeline, pipes };
        process.send_command(command)?;
        Ok(Self { process, streams, spec, payload })
    }

    /// Sends the specification, so that the stage runs it.
    pub(super) fn run(self, spec: &Spec) -> Result<StageProcess, SandboxError> {
        let sealed =
            spec.payload.as_deref().map_or(Ok(()), |bytes| seal_bytes(self.payload, bytes));
        let sent = sealed
            .map_err(setup("cannot pass the payload"))
            .and_then(|()| seal(self.spec, spec).map_err(setup("cannot write the specification")))
            .and_then(|()| self.process.send_command(StageCommand::Run));
        if let Err(error) = sent {
            let pid = self.process.pid;
            drop(self.process);
            let _ = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
            return Err(error);
        }
        Ok(self.process)
    }
}
