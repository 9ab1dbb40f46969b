//! Random numbers and clocks that are determined by a seed.
//!
//! Clocks start at a fixed time and advance by a fixed step each time they are read, so a program that waits for time
//! to pass ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// The start time of a run with a seed: the first second of 2024.
pub(crate) const START: Duration = Duration::from_secs(1_704_067_200);
/// How far a clock advances each time it is read.
const STEP: Duration = Duration::from_millis(1);

/// Makes random numbers and clocks deterministic.
pub(crate) fn apply_seed(wasi: &mut WasiCtxBuilder, seed: u64) {
    let stream = |number: u64| {
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        random.set_stream(number);
        random
    };
    wasi.secure_random(stream(0))
        .insecure_random(stream(1))
        .insecure_random_seed(u128::from(seed))
        .wall_clock(StepClock::default())
        .monotonic_clock(StepClock::default());
}

/// A clock that advances when it is read.
#[derive(Debug, Default)]
struct StepClock(AtomicU64);

impl StepClock {
    fn elapsed(&self) -> Duration {
        let reads = self.0.fetch_add(1, Ordering::Relaxed);
        STEP.saturating_mul(u32::try_from(reads).unwrap_or(u32::MAX))
    }
}

impl HostWallClock for StepClock {
    fn resolution(&self) -> Duration {
        STEP
    }

    fn now(&self) -> Duration {
        START + self.elapsed()
    }
}

impl HostMonotonicClock for StepClock {
    fn resolution(&self) -> u64 {
        nanoseconds(STEP)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.elapsed())
    }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
