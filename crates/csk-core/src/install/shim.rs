//! Shims: what makes a command available in a folder on PATH. A symlink on Unix, a `.cmd` file on Windows.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;

use skill_fs::{AbsPath, remove_file};

use crate::Platform;
use crate::sys::{make_link, read_link};

/// The size limit of a `.cmd` file that may be a shim.
const MAX_SHIM: u64 = 64 << 10;

/// Returns the target of a shim. `None` if nothing exists at `place`, or something that csk did not create.
pub(crate) fn read_shim(place: &AbsPath) -> io::Result<Option<String>> {
    let found = match Platform::CURRENT {
        Platform::Unix => read_link(place),
        Platform::Windows => read_text(place).map(|text| Platform::Windows.shim_target(&text?)),
    };
    match found {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        found => found,
    }
}

/// Creates a shim at `place`, where nothing must exist.
pub(crate) fn make_shim(target: &str, place: &AbsPath) -> io::Result<()> {
    match Platform::CURRENT.shim_text(target) {
        None => make_link(target, place),
        Some(text) => {
            use io::Write as _;
            fs::File::create_new(place.as_path())?.write_all(text.as_bytes())
        }
    }
}

/// Creates a shim at `staged`, replacing a leftover there.
pub(crate) fn stage_shim(target: &str, staged: &AbsPath) -> io::Result<()> {
    let _ = remove_file(staged);
    make_shim(target, staged)
}

/// Returns the text of a small regular file; `None` if it is anything else.
fn read_text(place: &AbsPath) -> io::Result<Option<String>> {
    let metadata = fs::symlink_metadata(place.as_path())?;
    if !metadata.is_file() || metadata.len() > MAX_SHIM {
        return Ok(None);
    }
    Ok(String::from_utf8(fs::read(place.as_path())?).ok())
}
