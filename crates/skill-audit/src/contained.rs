//! Contains errors of the audit itself: a panic while one skill is audited becomes a finding about that skill, so that
//! the audit of all other skills continues.
//!
//! Everywhere else a panic still ends the process at once, see [`abort_on_other_panics`].

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};

thread_local! {
    /// The panic locations of the calls of [`contained`] on this thread, innermost last.
    static LOCATIONS: RefCell<Vec<Option<String>>> = const { RefCell::new(Vec::new()) };
}

/// A panic in contained code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InternalError {
    /// The line of our source code, if [`abort_on_other_panics`] was called.
    pub(crate) location: Option<String>,
}

/// Makes every panic abort the process, except those that an audit contains. Programs call this once, at their start.
pub fn abort_on_other_panics() {
    let report = take_hook();
    set_hook(Box::new(move |info| {
        if !note_location(info) {
            report(info);
            std::process::abort();
        }
    }));
}

/// Stores the location of a contained panic. Returns false for any other panic.
fn note_location(info: &PanicHookInfo<'_>) -> bool {
    let location = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
    let note = |all: &RefCell<Vec<Option<String>>>| {
        let mut all = all.try_borrow_mut().ok()?;
        *all.last_mut()? = location;
        Some(())
    };
    LOCATIONS.try_with(note).ok().flatten().is_some()
}

/// Runs `work`; a panic in it is returned.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, InternalError> {
    LOCATIONS.with(|all| all.borrow_mut().push(None));
    // What a panic leaves behind is dropped with `work` and never used.
    let result = catch_unwind(AssertUnwindSafe(work));
    let location = LOCATIONS.with(|all| all.borrow_mut().pop()).flatten();
    result.map_err(|_| InternalError { location })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_returned_and_the_next_call_works() {
        assert_eq!(contained(|| 1), Ok(1));
        let failed = contained(|| -> usize {
            assert_eq!(contained(|| 2), Ok(2));
            panic!("an error in a rule")
        });
        assert!(failed.is_err());
        assert_eq!(contained(|| 3), Ok(3));
    }
}
