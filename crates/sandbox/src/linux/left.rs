//! Processes that a program left running.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid,
};

use super::wire::StageCommand;
use crate::{BackgroundId, ProcessId};

/// How long ended processes may take to disappear.
const GRACE: Duration = Duration::from_secs(10);

/// The processes that a program left running. The stage kills them when the lifeline is closed.
#[derive(Debug)]
pub(crate) struct LeftRunning {
    pub(super) id: BackgroundId,
    pub(super) status: OwnedFd,
    pub(super) lifeline: Arc<Mutex<Option<OwnedFd>>>,
}

impl LeftRunning {
    pub(crate) fn id(&self) -> BackgroundId {
        self.id
    }

    /// Tells the stage that the caller is about to leave, and waits until it has understood.
    pub(crate) fn detach(self, owner: Option<ProcessId>) -> io::Result<()> {
        let mut message = vec![StageCommand::Detach as u8];
        if let Some(owner) = owner {
            message.extend(owner.pid.to_ne_bytes());
            message.extend(owner.started.to_ne_bytes());
        }
        send(&self.status, &message, SendFlags::NOSIGNAL)?;
        // The stage closes its socket once it no longer watches the lifeline.
        let mut byte = [0; 1];
        loop {
            match rustix::io::retry_on_intr(|| rustix::io::read(&self.status, &mut byte)) {
                Ok(0) | Err(_) => break,
                // A late report.
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for LeftRunning {
    fn drop(&mut self) {
        if let Ok(mut lifeline) = self.lifeline.lock() {
            lifeline.take();
        }
    }
}

/// Returns the start time of a process; `None` if it does not exist or is only waiting to be reaped.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain spaces. After it come the state, and the start time as the 22nd field.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let started = fields.nth(18)?.parse().ok()?;
    (!is_dead).then_some(started)
}

/// Opens a process if it is the one that was recorded.
pub(super) fn open_process(process: ProcessId) -> Option<OwnedFd> {
    let fd = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
    // The descriptor stays with this process even if its number is used again, so check it afterwards.
    process.is_running().then_some(fd)
}

/// Kills processes that were left running, and waits until they are gone.
pub(crate) fn end_background(id: &BackgroundId) -> io::Result<()> {
    // All processes of a PID namespace end with its init process.
    if let Some(init) = open_process(id.init) {
        match pidfd_send_signal(&init, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        wait_for(&init)?;
    }
    if let Some(stage) = open_process(id.stage) {
        wait_for(&stage)?;
    }
    // It may be a child of this process.
    if let Some(stage) = Pid::from_raw(id.stage.pid) {
        let _ = waitpid(Some(stage), WaitOptions::NOHANG);
    }
    Ok(())
}

fn wait_for(process: &OwnedFd) -> io::Result<()> {
    let deadline = Instant::now() + GRACE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::TimedOut)),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
