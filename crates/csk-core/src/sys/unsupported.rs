//! Systems without them: no links are made, files carry no such bits. Not run.

use std::fs::{Metadata, OpenOptions};
use std::io;
use std::path::Path;

pub(crate) fn make_link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn make_executable(_: &mut OpenOptions) {}

pub(crate) fn make_writable(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}
