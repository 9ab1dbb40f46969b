//! The calls that differ between systems. Linux is run and tested; the others are compiled only.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod unix;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use linux::{each_entry, open_beneath, open_plain, open_real};
#[cfg(target_os = "macos")]
pub(crate) use macos::{each_entry, open_beneath, open_plain, open_real};
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) use unix::*;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) use unsupported::*;

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    File,
    Folder,
    Link,
    Other(&'static str),
}

/// What is known of an entry without opening it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    pub(crate) kind: Type,
    pub(crate) size: u64,
    pub(crate) executable: bool,
    /// What changes with every change of the entry, where the system keeps such a thing.
    pub(crate) trace: Option<Trace>,
}

/// What a system keeps of an entry and no program can set back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trace {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) mode: u32,
    /// When the content changed, in seconds and nanoseconds.
    pub(crate) modified: (i64, i64),
    /// When anything of it changed; the kernel sets it.
    pub(crate) changed: (i64, i64),
}
