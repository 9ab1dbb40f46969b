//! Ends runs from another thread, and waits until they have ended.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Ends a run from another thread. One that is ended before it began ends as soon as it does.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    state: Arc<Mutex<Cancelled>>,
    busy: Arc<Busy>,
}

#[derive(Debug, Default)]
struct Cancelled {
    is_cancelled: bool,
    /// The signal that this process got.
    signal: Option<i32>,
    programs: Vec<sandbox::Canceller>,
    modules: Vec<sandbox_wasm::Stop>,
    children: Vec<Weak<Mutex<Cancelled>>>,
}

/// How many executions have begun and are not yet recorded as ended, of one `Cancel` and all its children.
#[derive(Debug, Default)]
struct Busy {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Cancel {
    /// Ends whatever runs with it, or with a child of it.
    pub fn cancel(&self) {
        end(&self.state, None);
    }

    /// The same because this process got a signal. What runs is recorded as interrupted, and nothing of it is applied.
    pub fn interrupt(&self, signal: i32) {
        end(&self.state, Some(signal));
    }

    /// Returns true if it was ended.
    pub fn is_cancelled(&self) -> bool {
        self.locked().is_cancelled
    }

    /// Returns the signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.locked().signal
    }

    /// Returns one that ends with this, and can be ended without it.
    #[must_use]
    pub fn child(&self) -> Self {
        let mut state = self.locked();
        state.children.retain(|child| child.strong_count() > 0);
        let Cancelled { is_cancelled, signal, .. } = *state;
        let child = Cancelled { is_cancelled, signal, ..Cancelled::default() };
        let child = Self { state: Arc::new(Mutex::new(child)), busy: Arc::clone(&self.busy) };
        state.children.push(Arc::downgrade(&child.state));
        child
    }

    /// Has another end with this.
    pub fn also(&self, other: &Self) {
        let mut state = self.locked();
        if state.is_cancelled {
            end(&other.state, state.signal);
        }
        state.children.push(Arc::downgrade(&other.state));
    }

    /// Returns true while an execution has begun and its end is not yet in the log.
    pub fn is_busy(&self) -> bool {
        *self.busy.count.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }

    /// Waits until the end of every execution is in the log, but no longer than `time`.
    pub fn wait_until_idle(&self, time: Duration) {
        let count = self.busy.count.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.busy.changed.wait_timeout_while(count, time, |count| *count > 0);
    }

    /// Notes that an execution begins, until what is returned is dropped.
    pub(crate) fn enter(&self) -> Entered {
        *self.busy.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Entered(Arc::clone(&self.busy))
    }

    /// Has a program end with this.
    pub(crate) fn watch(&self, program: sandbox::Canceller) {
        let mut state = self.locked();
        if state.is_cancelled {
            program.cancel();
        }
        state.programs.push(program);
    }

    /// Has a module in this process end with this.
    pub(crate) fn watch_module(&self, module: sandbox_wasm::Stop) {
        let mut state = self.locked();
        if state.is_cancelled {
            module.stop();
        }
        state.modules.push(module);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Cancelled> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(state: &Mutex<Cancelled>, signal: Option<i32>) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.is_cancelled = true;
    state.signal = state.signal.or(signal);
    state.programs.iter().for_each(sandbox::Canceller::cancel);
    state.modules.iter().for_each(sandbox_wasm::Stop::stop);
    let children: Vec<_> = state.children.drain(..).filter_map(|child| child.upgrade()).collect();
    children.iter().for_each(|child| end(child, signal));
}

/// An execution that has begun.
#[derive(Debug)]
pub(crate) struct Entered(Arc<Busy>);

impl Drop for Entered {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}
