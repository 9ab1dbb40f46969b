//! Messages between the caller and the stage: the caller sends the specification, the stage sends reports.

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
use crate::{
    Background, BackgroundId, GitData, Guarantee, LayerStorage, Limits, Loopback, Network,
    PrivateFolder, Spec, Stdin, Streams, Tier, User, Workspace, Writes,
};

/// The seals that make a memory file immutable.
const SEALS: SealFlags = SealFlags::from_bits_truncate(
    SealFlags::SEAL.bits()
        | SealFlags::SHRINK.bits()
        | SealFlags::GROW.bits()
        | SealFlags::WRITE.bits(),
);
/// The maximum length of a report.
const MAX_REPORT: usize = 8 << 10;

/// A report from the stage.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The program was not started.
    Failed(Failure),
    /// The program is running. Comes with descriptors: the layer that writes go to, the original if the workspace is a
    /// copy, and the socket for the proxy.
    Started { enforced: Vec<Guarantee>, layers: usize, proxy_port: Option<u16> },
    /// A system call was blocked.
    Violation(Violation),
    /// How many further violations were not reported.
    MoreViolations(u64),
    /// The folders of the run's control groups, sent first. The caller removes them when the stage has ended, because
    /// leaving them would take the stage longer than the run.
    Cgroups(Vec<Vec<u8>>),
    /// The number of the init process, as the caller sees it.
    Init(i32),
    /// The program has ended, and processes that it started are still running.
    Left,
    /// The program has ended.
    Ended(Ended),
}

/// A command from the caller to a waiting stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageCommand {
    /// Wait: the tier is not known yet, or it needs no namespaces.
    Wait = 1,
    /// Create the namespaces.
    Namespaces = 2,
    /// Run the specification, which is now sealed.
    Run = 3,
    /// Let the processes that are left run on without the caller. May be followed by the process whose end ends them.
    Detach = 4,
}

impl StageCommand {
    pub(super) fn read(byte: u8) -> Option<Self> {
        [Self::Wait, Self::Namespaces, Self::Run, Self::Detach]
            .into_iter()
            .find(|command| *command as u8 == byte)
    }
}

/// The specification in serializable form.
#[derive(Debug, Serialize, Deserialize)]
struct SpecMessage {
    program: Vec<u8>,
    args: Vec<Vec<u8>>,
    env: Vec<(Vec<u8>, Vec<u8>)>,
    cwd: Vec<u8>,
    read: Vec<Vec<u8>>,
    workspace: Option<(Vec<u8>, u8)>,
    has_proxy: bool,
    limits: (u64, u64, u32, u64, u64, u64, Option<u64>),
    required: BTreeSet<Guarantee>,
    is_tier_a: bool,
    has_payload: bool,
    has_shared_streams: bool,
    layer: Option<Vec<u8>>,
    is_git_writable: bool,
    private: Vec<(Vec<u8>, Vec<u8>)>,
    has_loopback: bool,
    keeps_background: bool,
    joins: Option<BackgroundId>,
    user: Option<(String, Vec<u8>)>,
}

fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}

fn text(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// Writes the specification to a memory file and seals it.
pub(super) fn seal(memory: File, spec: &Spec) -> io::Result<()> {
    let limits = &spec.limits;
    let writes = |writes: Writes| match writes {
        Writes::Never => 0,
        Writes::Layer => 1,
        Writes::Direct => 2,
    };
    let message = SpecMessage {
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
            limits.output_max,
            limits.temporary,
            limits.open_files,
        ),
        required: spec.required.clone(),
        is_tier_a: spec.strongest == Tier::A,
        has_payload: spec.payload.is_some(),
        has_shared_streams: spec.streams == Streams::Shared,
        layer: match &spec.layer {
            LayerStorage::Memory => None,
            LayerStorage::Folder(folder) => Some(bytes(folder)),
        },
        is_git_writable: spec.git == GitData::Writable,
        private: spec
            .private
            .iter()
            .map(|folder| (bytes(&folder.source), bytes(&folder.target)))
            .collect(),
        has_loopback: spec.loopback == Loopback::Allowed,
        keeps_background: spec.background == Background::Keep,
        joins: spec.joins,
        user: spec.user.as_ref().map(|user| (user.name.clone(), bytes(&user.home))),
    };
    seal_bytes(memory, &postcard::to_stdvec(&message).map_err(io::Error::other)?)
}

/// Creates a memory file that can be shared and sealed.
pub(super) fn memory() -> io::Result<File> {
    Ok(memfd_create("sandbox", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

/// Writes bytes to a memory file and seals it.
pub(super) fn seal_bytes(mut memory: File, bytes: &[u8]) -> io::Result<()> {
    memory.write_all(bytes)?;
    memory.rewind()?;
    fcntl_add_seals(&memory, SEALS)?;
    Ok(())
}

/// Reads a sealed memory file; an error if it is not sealed.
pub(super) fn unseal_bytes(memory: OwnedFd) -> io::Result<Vec<u8>> {
    if !fcntl_get_seals(&memory)?.contains(SEALS) {
        return Err(io::Error::other("the memfd is not sealed"));
    }
    let mut all = Vec::new();
    File::from(memory).read_to_end(&mut all)?;
    Ok(all)
}

/// Reads the specification. The payload stays in its own memory file; an empty one here means that there is a payload.
pub(super) fn unseal(memory: OwnedFd) -> io::Result<Spec> {
    let all = unseal_bytes(memory)?;
    let message: SpecMessage = postcard::from_bytes(&all).map_err(io::Error::other)?;
    let (wall, memory, pids, output_kept, output_max, temporary, open_files) = message.limits;
    let path = |bytes: Vec<u8>| PathBuf::from(text(bytes));
    let workspace = message.workspace.map(|(path, writes)| Workspace {
        path: PathBuf::from(text(path)),
        writes: match writes {
            2 => Writes::Direct,
            1 => Writes::Layer,
            _ => Writes::Never,
        },
    });
    Ok(Spec {
        program: PathBuf::from(text(message.program)),
        args: message.args.into_iter().map(text).collect(),
        env: message.env.into_iter().map(|(name, value)| (text(name), text(value))).collect(),
        cwd: PathBuf::from(text(message.cwd)),
        read: message.read.into_iter().map(|path| PathBuf::from(text(path))).collect(),
        workspace,
        network: if message.has_proxy { Network::Proxy } else { Network::None },
        limits: Limits {
            wall: Duration::from_millis(wall),
            memory,
            pids,
            output_kept,
            output_max,
            temporary,
            open_files,
        },
        stdin: Stdin::Bytes(Vec::new()),
        payload: message.has_payload.then(Vec::new),
        streams: if message.has_shared_streams { Streams::Shared } else { Streams::Captured },
        layer: message
            .layer
            .map_or(LayerStorage::Memory, |folder| LayerStorage::Folder(path(folder))),
        git: if message.is_git_writable { GitData::Writable } else { GitData::Protected },
        private: message
            .private
            .into_iter()
            .map(|(source, target)| PrivateFolder { source: path(source), target: path(target) })
            .collect(),
        loopback: if message.has_loopback { Loopback::Allowed } else { Loopback::Blocked },
        background: if message.keeps_background { Background::Keep } else { Background::End },
        joins: message.joins,
        user: message.user.map(|(name, home)| User { name, home: path(home) }),
        required: message.required,
        strongest: if message.is_tier_a { Tier::A } else { Tier::B },
    })
}

/// Sends a report together with descriptors.
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

/// Waits for a report; `None` if the stage has closed the socket.
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
