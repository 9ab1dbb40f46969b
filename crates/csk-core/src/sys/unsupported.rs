//! Other platforms: no symlinks, no permission bits. Compiled but never run.

use std::fs::{Metadata, OpenOptions};
use std::io;
use std::path::Path;

use super::Executable;

pub(crate) fn make_link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn make_executable(_: &mut OpenOptions) {}

pub(crate) fn make_writable(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

pub(crate) fn make_file_read_only(_: &mut OpenOptions, _: Executable) {}

pub(crate) fn make_read_only(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}
