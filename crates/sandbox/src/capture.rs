//! Reading what a program writes: kept as far as it may be, counted to the end.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Captured, Limits};

/// Reads a stream to its end. What is too much to be kept is counted; what is too much altogether, of all streams, ends the program.
pub(crate) fn capture(
    mut stream: impl Read,
    limits: &Limits,
    total: &AtomicU64,
    end: impl Fn(),
) -> Captured {
    let kept = usize::try_from(limits.output_kept).unwrap_or(usize::MAX);
    let mut captured = Captured::default();
    let mut space = vec![0; 64 << 10];
    while let Ok(read) = stream.read(&mut space) {
        if read == 0 {
            break;
        }
        let room = kept - captured.bytes.len();
        captured.bytes.extend_from_slice(&space[..read.min(room)]);
        captured.total += read as u64;
        if total.fetch_add(read as u64, Ordering::Relaxed) + read as u64 > limits.output_most {
            end();
        }
    }
    captured
}
