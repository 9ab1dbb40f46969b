//! The program's own files in the user's folders.

use std::fs::File;
use std::io::{self, Read};

use crate::{AbsPath, FsError, sys};

/// Reads one of the program's own files, at most `limit` bytes. Returns `None` if there is no file, it is larger, or it
/// is not a regular file owned by this user: in a shared folder, a file of another user is not trusted.
#[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
pub fn read_own_file(path: &AbsPath, limit: u64) -> Result<Option<Vec<u8>>, FsError> {
    let failed = |source| FsError::io(path.as_str(), source);
    let metadata = std::fs::symlink_metadata(path.as_path());
    let mut file = match metadata.and_then(|metadata| match metadata.is_file() {
        true => File::open(path.as_path()).map(Some),
        false => Ok(None),
    }) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(None),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() || !sys::is_own(&metadata) || metadata.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    (&mut file).take(limit).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// Creates a folder that only the user can access, unless it exists.
pub fn make_private_folder(folder: &AbsPath) -> Result<(), FsError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder.as_path()).map_err(|source| FsError::io(folder.as_str(), source))
}

/// Returns the names of the entries in one of the program's own folders, sorted; none if it does not exist.
#[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
pub fn own_names(folder: &AbsPath) -> Result<Vec<String>, FsError> {
    let entries = match std::fs::read_dir(folder.as_path()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FsError::io(folder.as_str(), error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| FsError::io(folder.as_str(), error))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
