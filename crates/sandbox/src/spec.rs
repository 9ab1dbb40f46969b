//! What to run, and with which capabilities. Anything that a specification does not list is not granted.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{BackgroundId, Guarantee};

/// A program and its capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments, without the program name.
    pub args: Vec<OsString>,
    /// Its complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working folder, as an absolute path.
    pub cwd: PathBuf,
    /// Folders and files that it may read and execute, in addition to those of the system, as absolute paths.
    pub read: Vec<PathBuf>,
    /// The folder that it may change.
    pub workspace: Option<Workspace>,
    /// Its network access.
    pub network: Network,
    /// Its resource limits.
    pub limits: Limits,
    /// Its standard input.
    pub stdin: Stdin,
    /// Data that it can read from a sealed memory file at the descriptor [`PAYLOAD_FD`]. Only on Linux.
    pub payload: Option<Vec<u8>>,
    /// Its standard streams.
    pub streams: Streams,
    /// Where its writes to the workspace are kept until they are applied.
    pub layer: LayerStorage,
    /// Whether its changes to the data of the workspace's git repository may be applied.
    pub git: GitData,
    /// Writable folders that only it sees at their places, in tier A.
    pub private: Vec<PrivateFolder>,
    /// Whether its processes may use the network among themselves.
    pub loopback: Loopback,
    /// What happens to processes that are still running when the program ends.
    pub background: Background,
    /// The processes whose network it shares, if they are still running.
    pub joins: Option<BackgroundId>,
    /// Its user name and home folder, if not the default ones.
    pub user: Option<User>,
    /// Guarantees without which it does not start.
    pub required: BTreeSet<Guarantee>,
    /// The strongest tier to try.
    pub strongest: Tier,
}

/// The standard streams of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Its output is captured, and its input is copied from [`Spec::stdin`]. It never gets a descriptor of the caller.
    Captured,
    /// It gets the caller's own streams, which must not be terminals: a program could type on them.
    Shared,
}

/// Where writes to the workspace are kept until they are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerStorage {
    /// In memory. Small workspaces are copied.
    Memory,
    /// In this empty folder, as an absolute path. It outlives the run. Existing folders cannot be renamed.
    Folder(PathBuf),
}

/// Whether changes in the `.git` folder of the workspace may be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitData {
    /// None of them.
    Protected,
    /// Those to commits, branches, the index and the like, but not to settings, hooks and whatever else runs programs.
    Writable,
}

/// A writable folder that appears at another place in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFolder {
    /// The folder, as an absolute path.
    pub source: PathBuf,
    /// Where it appears, as an absolute path. `/tmp` replaces the temporary files of the run.
    pub target: PathBuf,
}

/// Whether the processes of a run may use the network among themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loopback {
    /// No.
    Blocked,
    /// Yes, over the loopback interface, which nothing outside can reach.
    Allowed,
}

/// What happens to processes that are still running when the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// They are killed.
    End,
    /// The caller decides: see [`crate::LeftRunning`].
    Keep,
}

/// A user name and a home folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The home folder in the sandbox.
    pub home: PathBuf,
}

/// The standard input of a program. The program never gets a descriptor of the caller; its input is copied to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// The standard input of this process.
    Inherited,
}

/// A folder that the program may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The folder, as an absolute path.
    pub path: PathBuf,
    /// Where its writes go.
    pub writes: Writes,
}

/// Where writes to the workspace go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Nowhere: the workspace is read-only.
    Never,
    /// To a layer above the workspace, which the caller reviews and applies after the run.
    Layer,
    /// Straight to the files. Protected names cannot be written.
    Direct,
}

/// The descriptor of a program's payload.
pub const PAYLOAD_FD: i32 = 6;

/// Stands for the proxy's address in the value of an environment variable. The port is known only inside the sandbox,
/// which replaces this value.
pub const PROXY_PLACEHOLDER: &str = "http://127.0.0.1:0";

/// The network access of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// No network.
    None,
    /// Only the caller's proxy: TCP connections to its port on the loopback interface.
    Proxy,
}

/// The resource limits of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub wall: Duration,
    /// Memory of all its processes, in bytes.
    pub memory: u64,
    /// Number of processes and threads.
    pub pids: u32,
    /// How many bytes are kept of each output stream.
    pub output_kept: u64,
    /// How many bytes of output it may write; if it writes more, it is killed.
    pub output_max: u64,
    /// Size of its temporary files, in bytes.
    pub temporary: u64,
    /// Number of open files of each process; `None` for the caller's own limit.
    pub open_files: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            memory: 512 << 20,
            pids: 256,
            output_kept: 1 << 20,
            output_max: 64 << 20,
            temporary: 256 << 20,
            open_files: Some(1024),
        }
    }
}

/// The strength of a sandbox, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// With namespaces: the program has its own view of files, processes and the network.
    A,
    /// Without namespaces: only what Landlock and seccomp can enforce.
    B,
}

impl Tier {
    /// Returns what this tier does not enforce or does differently, beyond the guarantees that it lacks.
    pub fn limitations(self) -> &'static [&'static str] {
        match self {
            Self::A => &[],
            Self::B => &[
                "scripts can check whether any file exists and see its size, mode, owner and times (stat, access)",
                "scripts can read the target of any symbolic link (readlink)",
                "scripts can see which process ids are in use",
                "chmod and utime succeed without changing anything; chown fails",
                "extended attributes cannot be set, nor read by path (EOPNOTSUPP); inotify is not available (ENOSYS)",
                "only allowlisted ioctl requests work; all others fail with ENOTTY",
                "the temporary folder has no size limit",
            ],
        }
    }
}

impl Spec {
    /// Returns the specification of a program that may only read itself.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            read: Vec::new(),
            workspace: None,
            network: Network::None,
            limits: Limits::default(),
            stdin: Stdin::Bytes(Vec::new()),
            payload: None,
            streams: Streams::Captured,
            layer: LayerStorage::Memory,
            git: GitData::Protected,
            private: Vec::new(),
            loopback: Loopback::Blocked,
            background: Background::End,
            joins: None,
            user: None,
            required: Guarantee::CORE.into_iter().collect(),
            strongest: Tier::A,
        }
    }
}
