//! Checks unpacked packages, and computes the digest of all their files.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use skill::Digest;

/// The most files and folders of all packages together.
const MAX_ENTRIES: usize = 400_000;

/// Returns the digest of every path, mode and content. Refuses links that leave the folder, special files and packages
/// that are too large.
pub(super) fn digest(folder: &Path, max_bytes: u64) -> Result<Digest, String> {
    let failed = |path: &Path, error: &io::Error| format!("`{}`: {error}", path.display());
    let metadata = fs::symlink_metadata(folder).map_err(|error| failed(folder, &error))?;
    if !metadata.is_dir() {
        return Err(format!("`{}` is not a folder", folder.display()));
    }
    let real = fs::canonicalize(folder).map_err(|error| failed(folder, &error))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, &error))? {
            let entry = entry.map_err(|error| failed(&folder, &error))?;
            if entry.file_type().map_err(|error| failed(&folder, &error))?.is_dir() {
                pending.push(entry.path());
            }
            paths.push(entry.path());
            if paths.len() > MAX_ENTRIES {
                return Err(format!("the packages have more than {MAX_ENTRIES} files and folders"));
            }
        }
    }
    paths.sort();
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    for path in paths {
        let failed = |error: io::Error| failed(&path, &error);
        let below = path.strip_prefix(folder).map_err(|error| error.to_string())?;
        let metadata = fs::symlink_metadata(&path).map_err(failed)?;
        add(&mut hasher, below.as_os_str().as_encoded_bytes());
        if metadata.is_dir() {
            add(&mut hasher, b"folder");
        } else if metadata.is_symlink() {
            let is_inside = fs::canonicalize(&path).is_ok_and(|to| to.starts_with(&real));
            if !is_inside {
                return Err(format!("`{}` links out of the packages", below.display()));
            }
            add(&mut hasher, b"link");
            add(&mut hasher, fs::read_link(&path).map_err(failed)?.as_os_str().as_encoded_bytes());
        } else if metadata.is_file() {
            bytes += metadata.len();
            if bytes > max_bytes {
                return Err(format!("the packages are larger than {} GiB", max_bytes >> 30));
            }
            let kind = if is_executable(&metadata) { "program" } else { "file" };
            add(&mut hasher, kind.as_bytes());
            hasher.update(metadata.len().to_le_bytes());
            content(&path, &mut hasher).map_err(failed)?;
        } else {
            return Err(format!("`{}` is not a regular file", below.display()));
        }
    }
    Ok(Digest::from_bytes(hasher.finalize().into()))
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

fn add(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

/// Adds the content of a file to a digest.
pub(super) fn content(path: &Path, hasher: &mut Sha256) -> io::Result<()> {
    let mut file = fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            length => hasher.update(&buffer[..length]),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_digest_covers_every_file_and_refuses_links_out() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().join("packages");
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::write(base.join("a/b/x.py"), "one").unwrap();
        let of = || digest(&base, 1 << 20);
        let first = of().unwrap();
        assert_eq!(of(), Ok(first));
        fs::write(base.join("a/b/x.py"), "two").unwrap();
        assert_ne!(of(), Ok(first));
        fs::write(base.join("a/b/x.py"), "one").unwrap();
        symlink("b/x.py", base.join("a/y.py")).unwrap();
        let linked = of().unwrap();
        assert_ne!(linked, first);
        symlink("/etc/passwd", base.join("a/z")).unwrap();
        assert!(of().unwrap_err().contains("links out"));
        fs::remove_file(base.join("a/z")).unwrap();
        assert!(digest(&base, 2).unwrap_err().contains("larger"));
        let link = scratch.path().join("link");
        symlink(&base, &link).unwrap();
        assert!(digest(&link, 1 << 20).unwrap_err().contains("is not a folder"));
    }
}
