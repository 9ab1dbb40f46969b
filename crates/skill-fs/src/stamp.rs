//! Stamps distinguish versions of a file without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sys::Inode;

/// What the kernel records about a file. Equal stamps mean equal bytes, unless a write happened in the same clock tick
/// as the one before it; [`Stamp::is_settled`] returns whether that can be ruled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The number of the device.
    pub device: u64,
    /// The number of the inode on the device.
    pub inode: u64,
    /// The length in bytes.
    pub size: u64,
    /// The mtime, in seconds and nanoseconds since 1970. A program can set this.
    pub modified: (i64, i64),
    /// The ctime. No program can set this.
    pub changed: (i64, i64),
}

impl Stamp {
    /// The coarsest timestamps of any file system in use: FAT and some network file systems have a resolution of two
    /// seconds.
    pub const COARSEST: Duration = Duration::from_secs(2);

    pub(crate) fn new(size: u64, inode: &Inode) -> Self {
        let Inode { device, number: inode, modified, changed, .. } = *inode;
        Self { device, inode, size, modified, changed }
    }

    /// Returns true if any write after `now` changes the stamp, even within the same second.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        age(self.changed, now).is_some_and(|age| age > Self::COARSEST)
    }
}

/// Returns how long before `now` a timestamp of the kernel was; `None` if it is later.
pub(crate) fn age(time: (i64, i64), now: SystemTime) -> Option<Duration> {
    let (seconds, nanoseconds) = time;
    let time = Duration::from_secs(u64::try_from(seconds).ok()?)
        + Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    now.duration_since(UNIX_EPOCH.checked_add(time)?).ok()
}
