//! Random numbers and clocks that follow from a seed.
//!
//! Clocks begin at a fixed time and go on by a fixed step at each look, so that a program that waits for time to pass ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// When a run with a seed takes place: the first second of the year 2024.
pub(crate) const BEGIN: Duration = Duration::from_secs(1_704_067_200);
/// How far a clock goes on when it is looked at.
const STEP: Duration = Duration::from_millis(1);

/// Fixes random numbers and clocks.
pub(crate) fn fix(wasi: &mut WasiCtxBuilder, seed: u64) {
    let stream = |number: u64| {
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        random.set_stream(number);
        random
    };
    wasi.secure_random(stream(0))
        .insecure_random(stream(1))
        .insecure_random_seed(u128::from(seed))
        .wall_clock(Clock::default())
        .monotonic_clock(Clock::default());
}

/// A clock that goes on when it is looked at.
#[derive(Debug, Default)]
struct Clock(AtomicU64);

impl Clock {
    fn passed(&self) -> Duration {
        let looks = self.0.fetch_add(1, Ordering::Relaxed);
        STEP.saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX))
    }
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        STEP
    }

    fn now(&self) -> Duration {
        BEGIN + self.passed()
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        nanoseconds(STEP)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.passed())
    }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
