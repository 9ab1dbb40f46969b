//! The calls that differ between systems. Linux is run and tested; the others are compiled only.

#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod unsupported;

#[cfg(unix)]
pub(crate) use unix::{make_executable, make_link, make_writable};
#[cfg(not(unix))]
pub(crate) use unsupported::{make_executable, make_link, make_writable};
