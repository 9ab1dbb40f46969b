//! Stops a module that runs in this process.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use crate::engine::engine;

/// Stops a program in this process from another thread. One that is stopped before it began ends as soon as it does.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Stopped>);

#[derive(Debug, Default)]
struct Stopped {
    is_stopped: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

impl Stop {
    /// Stops the program. One that computes pauses at the next step of the engine's clock, and goes on no more.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        if let Ok(engine) = engine() {
            engine.increment_epoch();
        }
        let waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    /// Waits for a program, or until it is stopped; then nothing is returned.
    pub(crate) async fn or_until<T>(&self, program: impl Future<Output = T>) -> Option<T> {
        let mut program = std::pin::pin!(program);
        poll_fn(|context| {
            *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(context.waker().clone());
            if self.0.is_stopped.load(Ordering::SeqCst) {
                return Poll::Ready(None);
            }
            program.as_mut().poll(context).map(Some)
        })
        .await
    }
}
