//! Stops a module that runs in this process.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use crate::engine::engine;

/// Stops a module in this process from another thread. A module that starts after it was stopped ends immediately.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    is_stopped: AtomicBool,
    /// Wakes the thread that runs the module.
    waker: Mutex<Option<Waker>>,
}

impl Stop {
    /// Stops the module. If it is computing, incrementing the engine's epoch makes it yield, and it is not resumed.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        if let Ok(engine) = engine() {
            engine.increment_epoch();
        }
        let waker = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Runs a future to its end; returns `None` if it is stopped before.
    pub(crate) async fn unless_stopped<T>(&self, program: impl Future<Output = T>) -> Option<T> {
        let mut program = std::pin::pin!(program);
        poll_fn(|context| {
            *self.0.waker.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(context.waker().clone());
            if self.0.is_stopped.load(Ordering::SeqCst) {
                return Poll::Ready(None);
            }
            program.as_mut().poll(context).map(Some)
        })
        .await
    }
}
