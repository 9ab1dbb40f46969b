//! What goes between the caller and the stage: the specification one way, reports the other.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::outcome::{Ended, Violation};
use crate::{Guarantee, Limits, Network, Spec, Stdin, Tier, Workspace, Writes};

/// Nothing of a sealed memory can be changed any more.
const SEALS: SealFlags = SealFlags::from_bits_truncate(
    SealFlags::SEAL.bits()
        | SealFlags::SHRINK.bits()
        | SealFlags::GROW.bits()
        | SealFlags::WRITE.bits(),
);
/// The longest report.
const MAX_REPORT: usize = 8 << 10;

/// A report of the stage.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// Nothing was started.
    Failed(Failure),
    /// The program runs. Descriptors come with it: of the layer that writes go to, of what was below it if that is a copy, of the socket for the proxy.
    Started { enforced: Vec<Guarantee>, layers: usize, proxy_port: Option<u16> },
    /// It tried what it is not let.
    Tried(Violation),
    /// How many more of those there were.
    TriedMore(u64),
    /// Folders of groups, to be removed when the stage has ended: for it to leave them first would take longer than the run. It comes first.
    LeftBehind(Vec<Vec<u8>>),
    /// It is over.
    Ended(Ended),
}

/// What the caller says to a stage that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageCommand {
    /// Which sandbox will be asked for is not known, or it needs no namespaces.
    Wait = 1,
    /// Make the namespaces.
    Namespaces = 2,
    /// The specification is sealed.
    Go = 3,
}

impl StageCommand {
    pub(super) fn read(byte: u8) -> Option<Self> {
        [Self::Wait, Self::Namespaces, Self::Go].into_iter().find(|command| *command as u8 == byte)
    }
}

/// The specification in a form that can be sent.
#[derive(Debug, Serialize, Deserialize)]
struct Sent {
    program: Vec<u8>,
    args: Vec<Vec<u8>>,
    env: Vec<(Vec<u8>, Vec<u8>)>,
    cwd: Vec<u8>,
    read: Vec<Vec<u8>>,
    workspace: Option<(Vec<u8>, u8)>,
    has_proxy: bool,
    limits: (u64, u64, u32, u64, u64, u64),
    required: BTreeSet<Guarantee>,
    is_tier_a: bool,
    has_handed: bool,
}

fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}

fn text(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// Writes the specification to memory that nobody can change afterwards.
pub(super) fn seal(memory: File, spec: &Spec) -> io::Result<()> {
    let limits = &spec.limits;
    let writes = |writes: Writes| match writes {
        Writes::Never => 0,
        Writes::Layer => 1,
        Writes::Direct => 2,
    };
    let sent = Sent {
        program: bytes(&spec.program),
        args: spec.args.iter().map(bytes).collect(),
        env: spec.env.iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
        cwd: bytes(&spec.cwd),
        read: spec.read.iter().map(bytes).collect(),
        workspace: spec.workspace.as_ref().map(|work| (bytes(&work.path), writes(work.writes))),
        has_proxy: spec.network == Network::Proxy,
        limits: (
            u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX),
            limits.memory,
            limits.pids,
            limits.output_kept,
            limits.output_most,
            limits.temporary,
        ),
        required: spec.required.clone(),
        is_tier_a: spec.strongest == Tier::A,
        has_handed: spec.handed.is_some(),
    };
    seal_bytes(memory, &postcard::to_stdvec(&sent).map_err(io::Error::other)?)
}

/// Makes memory that can be shared and sealed.
pub(super) fn memory() -> io::Result<File> {
    Ok(memfd_create("sandbox", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

/// Writes bytes to memory that nobody can change afterwards.
pub(super) fn seal_bytes(mut memory: File, bytes: &[u8]) -> io::Result<()> {
    memory.write_all(bytes)?;
    memory.rewind()?;
    fcntl_add_seals(&memory, SEALS)?;
    Ok(())
}

/// Reads memory that nobody can change.
pub(super) fn unseal_bytes(memory: OwnedFd) -> io::Result<Vec<u8>> {
    if !fcntl_get_seals(&memory)?.contains(SEALS) {
        return Err(io::Error::other("what is handed over is not sealed"));
    }
    let mut all = Vec::new();
    File::from(memory).read_to_end(&mut all)?;
    Ok(all)
}

/// Reads the specification. What is handed on stays behind its descriptor; here it only says that there is something.
pub(super) fn unseal(memory: OwnedFd) -> io::Result<Spec> {
    let all = unseal_bytes(memory)?;
    let sent: Sent = postcard::from_bytes(&all).map_err(io::Error::other)?;
    let (wall, memory, pids, output_kept, output_most, temporary) = sent.limits;
    let workspace = sent.workspace.map(|(path, writes)| Workspace {
        path: PathBuf::from(text(path)),
        writes: match writes {
            2 => Writes::Direct,
            1 => Writes::Layer,
            _ => Writes::Never,
        },
    });
    Ok(Spec {
        program: PathBuf::from(text(sent.program)),
        args: sent.args.into_iter().map(text).collect(),
        env: sent.env.into_iter().map(|(name, value)| (text(name), text(value))).collect(),
        cwd: PathBuf::from(text(sent.cwd)),
        read: sent.read.into_iter().map(|path| PathBuf::from(text(path))).collect(),
        workspace,
        network: if sent.has_proxy { Network::Proxy } else { Network::None },
        limits: Limits {
            wall: Duration::from_millis(wall),
            memory,
            pids,
            output_kept,
            output_most,
            temporary,
        },
        stdin: Stdin::Bytes(Vec::new()),
        handed: sent.has_handed.then(Vec::new),
        required: sent.required,
        strongest: if sent.is_tier_a { Tier::A } else { Tier::B },
    })
}

/// Sends a report, with descriptors.
pub(super) fn send(to: BorrowedFd<'_>, report: &Report, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let body = postcard::to_stdvec(report).map_err(io::Error::other)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(to, &[IoSlice::new(&body)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for a report; `None` when there are no more.
pub(super) fn receive(from: &impl AsFd) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
    let mut body = vec![0; MAX_REPORT];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(from, &mut [IoSliceMut::new(&mut body)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let report = postcard::from_bytes(&body[..received.bytes]).map_err(io::Error::other)?;
    Ok(Some((report, fds)))
}
