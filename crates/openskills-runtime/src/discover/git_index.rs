//! Reads which paths a git index contains, without running git, so that nothing in an untrusted repository is executed.
//!
//! The format is gitformat-index(5), versions 2 to 4.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::discover::git_files::{config_around, git_folder};

/// The maximum size of an index.
const MAX_INDEX: u64 = 256 << 20;
/// The bytes of an entry before its object id: two timestamps and six numbers.
const BEFORE_DIGEST: usize = 40;
/// The flag of an entry with two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// Whether an index contains a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// It contains the folder or something in it.
    Yes,
    /// It contains nothing in the folder.
    No,
    /// The index cannot be read.
    Unknown,
}

/// Returns whether the index of the repository at `root` contains a folder or anything in it. Ignores case, because
/// some file systems do.
pub(crate) fn lists(root: &Path, folder: &Path) -> Listed {
    search(root, folder).unwrap_or(Listed::Unknown)
}

fn search(root: &Path, folder: &Path) -> Option<Listed> {
    let inside = folder.strip_prefix(root).ok()?.to_str()?.to_ascii_lowercase();
    let own = git_folder(root)?;
    let index = own.join("index");
    // Without an index, nothing is tracked.
    if let Err(error) = fs::symlink_metadata(&index) {
        return (error.kind() == std::io::ErrorKind::NotFound).then_some(Listed::No);
    }
    let digest = digest_length(root);
    let mut files: Vec<PathBuf> = vec![index];
    while let Some(file) = files.pop() {
        let found = fs::metadata(&file).ok()?;
        let bytes =
            (found.is_file() && found.len() <= MAX_INDEX).then(|| fs::read(&file).ok())??;
        let mut is_listed = false;
        let rest = each_path(&bytes, digest, |path| is_listed |= covers(path, inside.as_bytes()))?;
        if is_listed {
            return Some(Listed::Yes);
        }
        // A split index has the recent changes in one file and the rest in another.
        if file.ends_with("index") {
            files.extend(shared(rest, digest)?.map(|name| own.join(name)));
        }
    }
    Some(Listed::No)
}

/// Returns true if an entry is the folder, is inside it, or is a parent of it (in a sparse index).
fn covers(entry: &[u8], folder: &[u8]) -> bool {
    let starts = |long: &[u8], short: &[u8]| {
        long.len() >= short.len() && long[..short.len()].eq_ignore_ascii_case(short)
    };
    if entry.ends_with(b"/") && starts(folder, entry) {
        return true;
    }
    starts(entry, folder) && matches!(entry.get(folder.len()), None | Some(b'/'))
}

/// Calls `each` with every path of an index; returns the bytes after the entries, or `None` if the format is unknown.
fn each_path(bytes: &[u8], digest: usize, mut each: impl FnMut(&[u8])) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4).filter(|version| (2..=4).contains(version))?;
    if !bytes.starts_with(b"DIRC") {
        return None;
    }
    let mut at = 12;
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..number(8)? {
        let flags_at = at + BEFORE_DIGEST + digest;
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let is_extended = version >= 3 && flags & EXTENDED != 0;
        let mut name_at = flags_at + if is_extended { 4 } else { 2 };
        if version == 4 {
            // Paths are prefix-compressed against the previous one.
            let (dropped, length) = offset(bytes.get(name_at..)?)?;
            path.truncate(path.len().checked_sub(dropped)?);
            name_at += length;
        } else {
            path.clear();
        }
        let rest = bytes.get(name_at..)?;
        let length = memchr::memchr(0, rest)?;
        path.extend_from_slice(&rest[..length]);
        each(&path);
        let end = name_at + length;
        // Entries of older versions are padded to a multiple of eight bytes.
        at = if version == 4 { end + 1 } else { at + ((end - at) / 8 + 1) * 8 };
    }
    bytes.get(at..)
}

/// Reads a variable-length number in the encoding of pack offsets; returns it with its length.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        if at > 0 {
            value = value.checked_add(1)?;
        }
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// Returns the name of the shared file of a split index; `Some(None)` if the index is not split, `None` if the
/// extensions are truncated.
fn shared(mut rest: &[u8], digest: usize) -> Option<Option<String>> {
    // The file ends with its own digest.
    while rest.len() > digest {
        let size = u32::from_be_bytes(rest.get(4..8)?.try_into().ok()?);
        let data = rest.get(8..8 + usize::try_from(size).ok()?)?;
        if rest.starts_with(b"link") {
            let name: String = data.get(..digest)?.iter().map(|b| format!("{b:02x}")).collect();
            // A null name means that there is no shared file.
            let is_whole = data[..digest].iter().all(|byte| *byte == 0);
            return Some((!is_whole).then(|| format!("sharedindex.{name}")));
        }
        rest = &rest[8 + data.len()..];
    }
    Some(None)
}

/// Returns the digest length of a repository: SHA-1, unless it is configured for SHA-256.
fn digest_length(root: &Path) -> usize {
    let config = config_around(root).unwrap_or_default().to_ascii_lowercase();
    let is_long = |line: &str| {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        name.trim() == "objectformat" && value.trim() == "sha256"
    };
    if config.lines().any(is_long) { 32 } else { 20 }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) {
        let done = Command::new("git").args(args).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn entries_of_every_index_version_are_read() {
        for (init, version, split) in [
            (&["init", "-q"][..], "2", false),
            (&["init", "-q"], "3", false),
            (&["init", "-q"], "4", false),
            (&["init", "-q"], "2", true),
            (&["init", "-q", "--object-format=sha256"], "4", false),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let root = scratch.path();
            git(root, init);
            assert_eq!(lists(root, &root.join(".venv")), Listed::No);
            for file in ["fixtures/node_modules/z/a", "src/.venv", "a", "node_modules.md"] {
                fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
                fs::write(root.join(file), file).unwrap();
            }
            // A tracked symlink counts as well.
            std::os::unix::fs::symlink("src", root.join(".venv")).unwrap();
            git(root, &["add", "-f", "fixtures", "a", "node_modules.md"]);
            git(root, &["update-index", "--index-version", version]);
            if split {
                git(root, &["update-index", "--split-index"]);
            }
            if version == "3" {
                git(root, &["add", "-N", "src/.venv"]);
            }
            let of = |folder: &str| lists(root, &root.join(folder));
            for (folder, expected) in [
                ("node_modules", Listed::No),
                ("modules", Listed::No),
                (".venv", Listed::No),
                ("fixtures/node_modules", Listed::Yes),
                ("Fixtures/Node_Modules", Listed::Yes),
                ("fixtures", Listed::Yes),
            ] {
                assert_eq!(of(folder), expected, "version {version}: {folder}");
            }
            git(root, &["add", "-f", ".venv"]);
            assert_eq!(of(".venv"), Listed::Yes, "version {version}");
            assert_eq!(of("fixtures/node_modules"), Listed::Yes, "version {version}");
        }
    }

    #[test]
    fn unreadable_indexes_are_unknown() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        git(root, &["init", "-q"]);
        fs::write(root.join("a"), "a").unwrap();
        git(root, &["add", "a"]);
        let whole = fs::read(root.join(".git/index")).unwrap();
        for cut in [0, 8, 30, 70, whole.len() - 25] {
            fs::write(root.join(".git/index"), &whole[..cut]).unwrap();
            let found = lists(root, &root.join(".venv"));
            assert!(found == Listed::Unknown || cut > 80, "{cut}: {found:?}");
        }
        let mut newer = whole;
        newer[7] = 5;
        fs::write(root.join(".git/index"), &newer).unwrap();
        assert_eq!(lists(root, &root.join(".venv")), Listed::Unknown);
        assert_eq!(lists(root, Path::new("/elsewhere")), Listed::Unknown);
    }
}
