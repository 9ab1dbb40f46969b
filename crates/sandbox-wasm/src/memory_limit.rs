//! Limits the memory of a run: all of its memories and tables together.

use wasmtime::ResourceLimiter;

/// The size of a table element in bytes.
const ELEMENT: usize = 8;

/// The memory limit of a run, and its memory use.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    max: usize,
    used: usize,
    /// The maximum memory use so far.
    pub(crate) peak: usize,
    /// The last allocation that was allowed. The engine may still fail to allocate it.
    last: usize,
    /// Whether the program tried to exceed the limit.
    pub(crate) is_exceeded: bool,
}

impl MemoryLimit {
    pub(crate) fn new(max: u64) -> Self {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Self { max, used: 0, peak: 0, last: 0, is_exceeded: false }
    }

    /// Allows an allocation, or ends the run. If the allocation just failed, the program could continue and fail
    /// somewhere else. Exceeding the maximum that the program itself declares is an ordinary failure.
    fn grow(&mut self, to: Growth, size: usize) -> wasmtime::Result<bool> {
        let (current, desired, maximum) = to;
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current).saturating_mul(size);
        let total = self.used.saturating_add(more);
        if total > self.max {
            self.is_exceeded = true;
            let (total, max) = (total.div_ceil(1 << 20), self.max >> 20);
            return Err(wasmtime::format_err!(
                "{total} MiB of memory exceed the limit of {max} MiB"
            ));
        }
        (self.used, self.last) = (total, more);
        self.peak = self.peak.max(total);
        Ok(true)
    }

    fn undo_last(&mut self) {
        self.used = self.used.saturating_sub(std::mem::take(&mut self.last));
    }
}

/// The current size, the desired size, and the maximum that the program declares.
type Growth = (usize, usize, Option<usize>);

impl ResourceLimiter for MemoryLimit {
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
        self.undo_last();
        Ok(())
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.undo_last();
        Ok(())
    }
}
