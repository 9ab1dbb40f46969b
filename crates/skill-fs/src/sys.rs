//! The calls that differ between systems. Linux is run and tested; the others are compiled only.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use linux::open_beneath;
#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) use macos::open_beneath;
#[cfg(unix)]
pub(crate) use unix::{
    Folder, exchange, is_not_openable, is_process_alive, is_refused_link, is_same_file, rename_new,
};
#[cfg(not(unix))]
pub(crate) use unsupported::{
    Folder, exchange, is_not_openable, is_process_alive, is_refused_link, is_same_file,
    open_beneath, rename_new,
};

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
}
