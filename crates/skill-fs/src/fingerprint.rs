//! Detects whether a folder changed since it was last read, without reading its files.
//!
//! A fingerprint covers what the kernel records about every file and symlink: device, inode, mode, length, mtime and
//! ctime. No program can set the ctime. Two equal fingerprints mean that nothing was written in between, unless a
//! write happened in the same clock tick as the one before it. [`Fingerprint::is_settled`] returns whether that can
//! be ruled out. Code that writes files itself backdates them by [`BACKDATED_BY`], so that every later write is
//! detected.

use std::time::{Duration, SystemTime};

use skill::Digest;

use crate::stamp::age;
use crate::sys::Type;
use crate::walk::visit;
use crate::{FsError, Root, WalkLimits};

/// Twice the longest tick of the clock that timestamps files: kernels tick every 1 to 10 ms.
const TICK: Duration = Duration::from_millis(20);

/// How far to backdate the mtime of a written file, so that it differs from that of every later version.
pub const BACKDATED_BY: Duration = Duration::from_secs(1);

/// The fingerprint of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// Stays the same as long as nothing in the folder changes.
    pub digest: Digest,
    /// The latest ctime, in seconds and nanoseconds since 1970.
    newest: (i64, i64),
}

impl Fingerprint {
    /// Returns true if any write after `now` changes the fingerprint, whoever made the last write.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        age(self.newest, now).is_some_and(|age| age > TICK)
    }
}

/// Returns the fingerprint of a folder; `None` if the system does not record what it needs.
pub fn fingerprint(root: &Root) -> Result<Option<Fingerprint>, FsError> {
    let entries = visit(root, &WalkLimits::SKILL, |entry| {
        // The entries of a folder cover it.
        if entry.is_folder() {
            return Ok((Type::Folder, None));
        }
        let stat = entry.stat()?;
        Ok((stat.kind, Some(stat)))
    })?;
    let mut bytes = Vec::with_capacity(entries.len() * 96);
    let mut newest = (0, 0);
    for (path, stat) in entries {
        bytes.extend((path.as_str().len() as u64).to_le_bytes());
        bytes.extend(path.as_str().as_bytes());
        let Some(stat) = stat.filter(|stat| stat.kind != Type::Folder) else { continue };
        let Some(inode) = stat.inode else { return Ok(None) };
        bytes.extend(inode.mode.to_le_bytes());
        newest = newest.max(inode.changed);
        let times = [inode.modified.0, inode.modified.1, inode.changed.0, inode.changed.1];
        for part in
            [inode.device, inode.number, stat.size].into_iter().chain(times.map(i64::cast_unsigned))
        {
            bytes.extend(part.to_le_bytes());
        }
    }
    Ok(Some(Fingerprint { digest: Digest::of(&bytes), newest }))
}
