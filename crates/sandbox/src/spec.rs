//! What is to run, and with which capabilities. What is not here is not there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::Guarantee;

/// A program and its capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The folder that it starts in, absolute.
    pub cwd: PathBuf,
    /// Folders and files that it may read and run, absolute, beside those of the system.
    pub read: Vec<PathBuf>,
    /// The folder that it may change.
    pub workspace: Option<Workspace>,
    /// Whom it may talk to.
    pub network: Network,
    /// How much of everything it may use.
    pub limits: Limits,
    /// What it reads from standard input.
    pub stdin: Stdin,
    /// What it finds in a memory that nobody can change, behind the descriptor [`HANDED`]. Only on Linux.
    pub handed: Option<Vec<u8>>,
    /// What must hold, or it does not start.
    pub required: BTreeSet<Guarantee>,
    /// The strongest kind of sandbox to try.
    pub strongest: Tier,
}

/// What a program reads from standard input. It never holds a descriptor of the caller's: what it reads is copied to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What this process is given.
    Inherited,
}

/// A folder that the program may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The folder, absolute.
    pub path: PathBuf,
    /// Where its writes go.
    pub writes: Writes,
}

/// Where writes to the workspace go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Nowhere: it may be read alone.
    Never,
    /// To a layer above it, which the caller looks at and commits afterwards.
    Layer,
    /// Straight to the files. Protected names cannot be written.
    Direct,
}

/// The descriptor of what is handed to a program.
pub const HANDED: i32 = 6;

/// What stands for the address of the proxy in a variable: the port is known only inside.
pub const PROXY: &str = "http://127.0.0.1:0";

/// Whom a program may talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Nobody.
    None,
    /// The proxy that the caller listens with: streams to its port on the loopback alone.
    Proxy,
}

/// How much of everything a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time, by the clock on the wall.
    pub wall: Duration,
    /// Memory of all its processes, in bytes.
    pub memory: u64,
    /// Processes and threads.
    pub pids: u32,
    /// What is kept of each stream of output.
    pub output_kept: u64,
    /// How much output ends it.
    pub output_most: u64,
    /// Its temporary files, in bytes.
    pub temporary: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            memory: 512 << 20,
            pids: 256,
            output_kept: 1 << 20,
            output_most: 64 << 20,
            temporary: 256 << 20,
        }
    }
}

/// Kinds of sandboxes, from the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// With namespaces: a view of its own of files, processes and the network.
    A,
    /// Without: what Landlock and seccomp can hold.
    B,
}

impl Tier {
    /// Returns what this kind of sandbox does not enforce or does otherwise, beyond the guarantees that it lacks.
    pub fn limitations(self) -> &'static [&'static str] {
        match self {
            Self::A => &[],
            Self::B => &[
                "scripts can check whether any file exists and see its size, mode, owner and times (stat, access)",
                "scripts can read the target of any symbolic link (readlink)",
                "scripts can see which process ids are in use",
                "chmod and utime succeed without changing anything; chown fails",
                "extended attributes cannot be set, nor read by path (EOPNOTSUPP); inotify is not available (ENOSYS)",
                "only ioctl requests on a list work, the rest fail with ENOTTY",
                "the temporary folder has no size limit",
            ],
        }
    }
}

impl Spec {
    /// Returns a program without any capability but to read itself.
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
            handed: None,
            required: Guarantee::CORE.into_iter().collect(),
            strongest: Tier::A,
        }
    }
}
