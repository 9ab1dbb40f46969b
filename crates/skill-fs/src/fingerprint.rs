//! Whether a folder was touched since it was last read, told without reading it.
//!
//! A fingerprint covers what the kernel keeps of every file and link: device, inode, mode, length, the time
//! of the last change of its bytes, and of anything else. The last one no program can set. Two equal
//! fingerprints mean that nothing was written in between, unless a write fell into the same tick of the
//! clock as the one before it. [`Fingerprint::is_settled`] tells when that cannot have been; who writes
//! files itself sets their times back by [`WRITTEN_BACK`], so that every later write shows.

use std::time::{Duration, SystemTime};

use skill::Digest;

use crate::stamp::age;
use crate::sys::Type;
use crate::walk::visit;
use crate::{FsError, Root, WalkLimits};

/// The longest tick of a clock that stamps files, doubled: kernels tick every 1 to 10 ms.
const TICK: Duration = Duration::from_millis(20);

/// How far back the times of files are set that are to be told from later versions.
pub const WRITTEN_BACK: Duration = Duration::from_secs(1);

/// The fingerprint of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// The same as long as nothing in the folder is touched.
    pub digest: Digest,
    /// The last change, in seconds and nanoseconds since 1970.
    newest: (i64, i64),
}

impl Fingerprint {
    /// Returns true if any write after `now` gives another fingerprint, whoever wrote before.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        age(self.newest, now).is_some_and(|age| age > TICK)
    }
}

/// Returns the fingerprint of a folder; none where the system does not keep what it takes.
pub fn fingerprint(root: &Root) -> Result<Option<Fingerprint>, FsError> {
    let entries = visit(root, &WalkLimits::SKILL, |at| {
        // What is in a folder is told by the entries in it.
        if at.is_folder() {
            return Ok((Type::Folder, None));
        }
        let stat = at.stat()?;
        Ok((stat.kind, Some(stat)))
    })?;
    let mut bytes = Vec::with_capacity(entries.len() * 96);
    let mut newest = (0, 0);
    for (path, stat) in entries {
        bytes.extend((path.as_str().len() as u64).to_le_bytes());
        bytes.extend(path.as_str().as_bytes());
        let Some(stat) = stat.filter(|stat| stat.kind != Type::Folder) else { continue };
        let Some(trace) = stat.trace else { return Ok(None) };
        bytes.extend(trace.mode.to_le_bytes());
        newest = newest.max(trace.changed);
        let times = [trace.modified.0, trace.modified.1, trace.changed.0, trace.changed.1];
        for part in
            [trace.device, trace.inode, stat.size].into_iter().chain(times.map(i64::cast_unsigned))
        {
            bytes.extend(part.to_le_bytes());
        }
    }
    Ok(Some(Fingerprint { digest: Digest::of(&bytes), newest }))
}
