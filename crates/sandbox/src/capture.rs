//! What a program writes: kept as far as it may be, counted to the end. The one place that does so, for processes and for modules.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Captured, Limits};

/// The bound on what a run writes to all of its streams together.
#[derive(Debug)]
pub struct OutputBound {
    /// What is kept of each stream.
    kept: usize,
    most: u64,
    total: AtomicU64,
    is_exceeded: AtomicBool,
}

/// More was written than a run may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMuchOutput;

impl OutputBound {
    /// Returns the bound of a run that has written nothing yet.
    pub fn new(limits: &Limits) -> Self {
        Self {
            kept: usize::try_from(limits.output_kept).unwrap_or(usize::MAX),
            most: limits.output_most,
            total: AtomicU64::new(0),
            is_exceeded: AtomicBool::new(false),
        }
    }

    /// Adds what one stream got: what is too much to be kept is only counted. Returns an error once it is too much altogether.
    pub fn add(&self, captured: &mut Captured, bytes: &[u8]) -> Result<(), TooMuchOutput> {
        let room = self.kept.saturating_sub(captured.bytes.len());
        captured.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let count = bytes.len() as u64;
        captured.total += count;
        if self.total.fetch_add(count, Ordering::Relaxed) + count > self.most {
            self.is_exceeded.store(true, Ordering::Relaxed);
            return Err(TooMuchOutput);
        }
        Ok(())
    }

    /// Returns true once too much was written.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed)
    }

    /// Reads a stream to its end, in a thread of its own; `end` is called to end the program that writes too much.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub(crate) fn read(
        self: &std::sync::Arc<Self>,
        mut stream: impl std::io::Read + Send + 'static,
        end: impl Fn() + Send + 'static,
    ) -> std::thread::JoinHandle<Captured> {
        let bound = std::sync::Arc::clone(self);
        std::thread::spawn(move || {
            let mut captured = Captured::default();
            let mut space = vec![0; 64 << 10];
            while let Ok(count @ 1..) = stream.read(&mut space) {
                if bound.add(&mut captured, &space[..count]).is_err() {
                    end();
                }
            }
            captured
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_is_kept_as_far_as_it_may_and_all_are_counted_together() {
        let limits = Limits { output_kept: 4, output_most: 10, ..Limits::default() };
        let bound = OutputBound::new(&limits);
        let (mut out, mut err) = (Captured::default(), Captured::default());
        assert_eq!(bound.add(&mut out, b"abcdef"), Ok(()));
        assert_eq!((out.bytes.as_slice(), out.total, out.is_cut()), (&b"abcd"[..], 6, true));
        assert_eq!(bound.add(&mut err, b"ghij"), Ok(()));
        assert!(!bound.is_exceeded());
        assert_eq!(bound.add(&mut err, b"k"), Err(TooMuchOutput));
        assert!(bound.is_exceeded());
        assert_eq!((err.bytes.as_slice(), err.total), (&b"ghij"[..], 5));
    }
}
