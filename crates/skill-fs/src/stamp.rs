//! What tells one version of a file from every other, without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sys::Trace;

/// What the kernel keeps of a file: equal stamps mean equal bytes, unless a write fell into the same tick of the
/// clock as the one before it. [`Stamp::is_settled`] tells when that cannot have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The device that it is on.
    pub device: u64,
    /// Its number on the device.
    pub inode: u64,
    /// Its length in bytes.
    pub size: u64,
    /// When its bytes changed, in seconds and nanoseconds since 1970. A program can set this.
    pub modified: (i64, i64),
    /// When anything of it changed. No program can set this.
    pub changed: (i64, i64),
}

impl Stamp {
    /// The coarsest clock of a file system that is in use: FAT and some network file systems count in two seconds.
    pub const COARSEST: Duration = Duration::from_secs(2);

    pub(crate) fn new(size: u64, trace: &Trace) -> Self {
        let Trace { device, inode, modified, changed, .. } = *trace;
        Self { device, inode, size, modified, changed }
    }

    /// Returns true if any write after `now` gives another stamp, even within the same second.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        age(self.changed, now).is_some_and(|age| age > Self::COARSEST)
    }
}

/// Returns how long before `now` a time of the kernel was; `None` if it was not.
pub(crate) fn age(time: (i64, i64), now: SystemTime) -> Option<Duration> {
    let (seconds, nanoseconds) = time;
    let time = Duration::from_secs(u64::try_from(seconds).ok()?)
        + Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    now.duration_since(UNIX_EPOCH.checked_add(time)?).ok()
}
