//! How much memory a run may use, all of its memories and tables together.

use wasmtime::ResourceLimiter;

/// What an element of a table takes.
const ELEMENT: usize = 8;

/// The bound on a run's memory, and how far it went.
#[derive(Debug)]
pub(crate) struct Bound {
    most: usize,
    used: usize,
    /// The most that was used at a time.
    pub(crate) peak: usize,
    /// What was given last; the engine may yet fail to bring it.
    given: usize,
    /// Whether more was asked for than there is.
    pub(crate) is_hit: bool,
}

impl Bound {
    pub(crate) fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, used: 0, peak: 0, given: 0, is_hit: false }
    }

    /// Gives more, or ends the run: a program that cannot have its memory would go on with what it has, and fail somewhere else. A bound of
    /// its own is the program's to meet.
    fn grow(&mut self, to: Growth, size: usize) -> wasmtime::Result<bool> {
        let (current, desired, maximum) = to;
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current).saturating_mul(size);
        let total = self.used.saturating_add(more);
        if total > self.most {
            self.is_hit = true;
            let most = self.most;
            return Err(wasmtime::format_err!("{total} bytes of memory are more than {most}"));
        }
        (self.used, self.given) = (total, more);
        self.peak = self.peak.max(total);
        Ok(true)
    }

    fn take_back(&mut self) {
        self.used = self.used.saturating_sub(std::mem::take(&mut self.given));
    }
}

/// What is there, what is wanted, and the program's own bound.
type Growth = (usize, usize, Option<usize>);

impl ResourceLimiter for Bound {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.grow((current, desired, maximum), 1)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.grow((current, desired, maximum), ELEMENT)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.take_back();
        Ok(())
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.take_back();
        Ok(())
    }
}
