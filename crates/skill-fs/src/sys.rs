//! Calls that differ between operating systems. Linux is tested, Windows under Wine; macOS is only compiled.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::{each_entry, open_beneath, open_plain, open_real};
#[cfg(target_os = "macos")]
pub(crate) use macos::{each_entry, open_beneath, open_plain, open_real};
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    File,
    Folder,
    Link,
    Other(&'static str),
}

/// The properties of an entry, found without opening it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    pub(crate) kind: Type,
    pub(crate) size: u64,
    pub(crate) executable: bool,
    /// Changes whenever the entry changes; `None` if the system has no such data.
    pub(crate) inode: Option<Inode>,
}

/// What the system records about an entry; no program can restore all of it after a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inode {
    pub(crate) device: u64,
    pub(crate) number: u64,
    pub(crate) mode: u32,
    /// The mtime, in seconds and nanoseconds.
    pub(crate) modified: (i64, i64),
    /// The ctime, which only the kernel sets.
    pub(crate) changed: (i64, i64),
}
