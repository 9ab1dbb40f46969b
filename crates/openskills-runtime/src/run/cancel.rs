//! Cancels runs from another thread, and waits until they have ended.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Cancels a run from another thread. A run that starts after it was cancelled ends immediately.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    state: Arc<Mutex<CancelState>>,
    busy: Arc<ActiveRuns>,
}

#[derive(Debug, Default)]
struct CancelState {
    is_cancelled: bool,
    /// The signal that this process received.
    signal: Option<i32>,
    programs: Vec<sandbox::Canceller>,
    modules: Vec<sandbox_wasm::Stop>,
    children: Vec<Weak<Mutex<CancelState>>>,
}

/// Counts the runs of one `Cancel` and all its children that have started and whose end is not logged yet.
#[derive(Debug, Default)]
struct ActiveRuns {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Cancel {
    /// Cancels every run of this `Cancel` and its children.
    pub fn cancel(&self) {
        end(&self.state, None);
    }

    /// Cancels because this process received a signal. Runs are recorded as interrupted, and none of their changes are
    /// applied.
    pub fn interrupt(&self, signal: i32) {
        end(&self.state, Some(signal));
    }

    /// Returns true if it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.locked().is_cancelled
    }

    /// Returns the signal that cancelled it, if any.
    pub fn signal(&self) -> Option<i32> {
        self.locked().signal
    }

    /// Returns a child that is cancelled together with this, and can also be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let mut state = self.locked();
        state.children.retain(|child| child.strong_count() > 0);
        let CancelState { is_cancelled, signal, .. } = *state;
        let child = CancelState { is_cancelled, signal, ..CancelState::default() };
        let child = Self { state: Arc::new(Mutex::new(child)), busy: Arc::clone(&self.busy) };
        state.children.push(Arc::downgrade(&child.state));
        child
    }

    /// Cancels `other` whenever this is cancelled.
    pub fn also(&self, other: &Self) {
        let mut state = self.locked();
        if state.is_cancelled {
            end(&other.state, state.signal);
        }
        state.children.push(Arc::downgrade(&other.state));
    }

    /// Returns true while a run has started and its end is not logged yet.
    pub fn is_busy(&self) -> bool {
        *self.busy.count.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }

    /// Waits until the end of every run is logged, at most for `time`.
    pub fn wait_until_idle(&self, time: Duration) {
        let count = self.busy.count.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.busy.changed.wait_timeout_while(count, time, |count| *count > 0);
    }

    /// Registers a run until the returned guard is dropped.
    pub(crate) fn enter(&self) -> ActiveRun {
        *self.busy.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        ActiveRun(Arc::clone(&self.busy))
    }

    /// Cancels a program together with this.
    pub(crate) fn watch(&self, program: sandbox::Canceller) {
        let mut state = self.locked();
        if state.is_cancelled {
            program.cancel();
        }
        state.programs.push(program);
    }

    /// Cancels a module in this process together with this.
    pub(crate) fn watch_module(&self, module: sandbox_wasm::Stop) {
        let mut state = self.locked();
        if state.is_cancelled {
            module.stop();
        }
        state.modules.push(module);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, CancelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(state: &Mutex<CancelState>, signal: Option<i32>) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.is_cancelled = true;
    state.signal = state.signal.or(signal);
    state.programs.iter().for_each(sandbox::Canceller::cancel);
    state.modules.iter().for_each(sandbox_wasm::Stop::stop);
    let children: Vec<_> = state.children.drain(..).filter_map(|child| child.upgrade()).collect();
    children.iter().for_each(|child| end(child, signal));
}

/// Guard of a run that has started.
#[derive(Debug)]
pub(crate) struct ActiveRun(Arc<ActiveRuns>);

impl Drop for ActiveRun {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}
