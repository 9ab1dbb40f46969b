//! Calls that differ between platforms. Linux is tested, Windows under Wine; macOS is only compiled.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    is_program, make_executable, make_file_read_only, make_link, make_read_only, make_writable,
    read_link,
};
#[cfg(windows)]
pub(crate) use windows::{
    is_program, make_executable, make_file_read_only, make_link, make_read_only, make_writable,
    read_link,
};

/// Whether a file is executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Executable {
    Yes,
    No,
}
