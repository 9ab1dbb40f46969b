//! Small text files of a checkout, which a stranger may have made: regular, bounded, never waited for.

use std::io;

use crate::{AbsPath, FsError, Root};
use skill::RelPath;

/// The most that is read of a configuration file, a ledger or a journal.
const MAX: u64 = 16 << 20;

/// Reads `path`; `None` if there is nothing. A link that leads out of its folder, a FIFO, a device and a
/// file that is too large are errors.
pub fn read_text(path: &AbsPath) -> Result<Option<String>, FsError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let bad =
        |message: String| FsError::Io { path: path.to_string(), source: io::Error::other(message) };
    let name = RelPath::new(name).map_err(|error| bad(error.to_string()))?;
    let read = Root::open(&folder).and_then(|root| root.read(&name, MAX));
    match read {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| bad("it is not UTF-8".to_owned()))
        }
        Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
