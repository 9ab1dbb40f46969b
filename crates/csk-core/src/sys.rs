//! Calls that differ between platforms. Linux is tested; the others are only compiled.

#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod unsupported;

#[cfg(unix)]
pub(crate) use unix::{
    is_program, make_executable, make_file_read_only, make_link, make_read_only, make_writable,
};
#[cfg(not(unix))]
pub(crate) use unsupported::{
    is_program, make_executable, make_file_read_only, make_link, make_read_only, make_writable,
};

/// Whether a file is executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Executable {
    Yes,
    No,
}
