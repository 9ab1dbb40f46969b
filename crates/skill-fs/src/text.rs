//! Reads small, untrusted text files of a checkout: only regular files, up to a limit, without blocking.

use std::io;

use crate::{AbsPath, FsError, Root};
use skill::RelPath;

/// The maximum size of a configuration file, a ledger or a journal.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Reads `path`; `None` if it does not exist. Fails on a symlink that leads out of its folder, a FIFO, a device, and a
/// file that is too large.
pub fn read_text(path: &AbsPath) -> Result<Option<String>, FsError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let bad =
        |message: String| FsError::Io { path: path.to_string(), source: io::Error::other(message) };
    let name = RelPath::new(name).map_err(|error| bad(error.to_string()))?;
    let read = Root::open(&folder).and_then(|root| root.read(&name, MAX_TEXT_BYTES));
    match read {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| bad("not valid UTF-8".to_owned()))
        }
        Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
