//! Captures output: keeps it up to a limit and counts all of it. Used for both processes and WebAssembly modules.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Captured, Limits};

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) use stream::CapturedStream;

/// The limit for the output of a run, over all of its streams together.
#[derive(Debug)]
pub struct OutputLimit {
    /// How many bytes are kept of each stream.
    kept: usize,
    max: u64,
    total: AtomicU64,
    is_exceeded: AtomicBool,
}

/// A run wrote more output than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimitExceeded;

impl OutputLimit {
    /// Returns the limit for a run that has written nothing yet.
    pub fn new(limits: &Limits) -> Self {
        Self {
            kept: usize::try_from(limits.output_kept).unwrap_or(usize::MAX),
            max: limits.output_max,
            total: AtomicU64::new(0),
            is_exceeded: AtomicBool::new(false),
        }
    }

    /// Adds output of one stream. Bytes over the limit of the stream are only counted. Returns an error once the total
    /// limit is exceeded.
    pub fn add(&self, captured: &mut Captured, bytes: &[u8]) -> Result<(), OutputLimitExceeded> {
        let room = self.kept.saturating_sub(captured.bytes.len());
        captured.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let count = bytes.len() as u64;
        captured.total += count;
        if self.total.fetch_add(count, Ordering::Relaxed) + count > self.max {
            self.is_exceeded.store(true, Ordering::Relaxed);
            return Err(OutputLimitExceeded);
        }
        Ok(())
    }

    /// Returns true once the total limit is exceeded.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed)
    }
}

/// Streams of processes, which only some systems start.
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod stream {
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};

    use super::OutputLimit;
    use crate::Captured;

    impl OutputLimit {
        /// Reads a stream to its end in a separate thread. Calls `kill` if the program exceeds the limit.
        pub(crate) fn read(
            self: &Arc<Self>,
            mut stream: impl std::io::Read + Send + 'static,
            kill: impl Fn() + Send + 'static,
        ) -> CapturedStream {
            let (limit, captured) = (Arc::clone(self), Arc::<Mutex<Captured>>::default());
            let shared = Arc::clone(&captured);
            let thread = std::thread::spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    let mut captured = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    if limit.add(&mut captured, &buffer[..count]).is_err() {
                        kill();
                    }
                }
            });
            CapturedStream { captured, thread }
        }
    }

    /// A stream that is being captured.
    #[derive(Debug)]
    pub(crate) struct CapturedStream {
        captured: Arc<Mutex<Captured>>,
        thread: JoinHandle<()>,
    }

    #[expect(clippy::disallowed_methods, reason = "the edge: waits for a program's output")]
    impl CapturedStream {
        /// Returns what was written. Processes that are left running may keep the stream open, so this waits for its end only
        /// until `deadline`.
        pub(crate) fn finish(self, deadline: Instant) -> Captured {
            while !self.thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::mem::take(&mut *self.captured.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_is_kept_up_to_its_limit_and_counted_in_the_total() {
        let limits = Limits { output_kept: 4, output_max: 10, ..Limits::default() };
        let limit = OutputLimit::new(&limits);
        let (mut out, mut err) = (Captured::default(), Captured::default());
        assert_eq!(limit.add(&mut out, b"abcdef"), Ok(()));
        assert_eq!((out.bytes.as_slice(), out.total, out.is_truncated()), (&b"abcd"[..], 6, true));
        assert_eq!(limit.add(&mut err, b"ghij"), Ok(()));
        assert!(!limit.is_exceeded());
        assert_eq!(limit.add(&mut err, b"k"), Err(OutputLimitExceeded));
        assert!(limit.is_exceeded());
        assert_eq!((err.bytes.as_slice(), err.total), (&b"ghij"[..], 5));
    }
}
