//! Captures the output of a module, with the same limit as that of a process.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use sandbox::{Captured, Limits, OutputLimit};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// How many bytes a module may write at once.
const MAX_WRITE: usize = 64 << 10;

/// The standard output and standard error of a run.
#[derive(Debug)]
pub(crate) struct OutputStreams {
    limit: OutputLimit,
    captured: Mutex<[Captured; 2]>,
}

/// One of the two streams.
#[derive(Debug, Clone)]
pub(crate) struct OutputHandle {
    streams: Arc<OutputStreams>,
    index: usize,
}

impl OutputStreams {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self { limit: OutputLimit::new(limits), captured: Mutex::default() })
    }

    pub(crate) fn stdout(self: &Arc<Self>) -> OutputHandle {
        OutputHandle { streams: Arc::clone(self), index: 0 }
    }

    pub(crate) fn stderr(self: &Arc<Self>) -> OutputHandle {
        OutputHandle { streams: Arc::clone(self), index: 1 }
    }

    /// Returns the captured output, and whether the limit was exceeded.
    pub(crate) fn take(&self) -> ([Captured; 2], bool) {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut *captured), self.limit.is_exceeded())
    }
}

impl OutputHandle {
    /// Captures bytes; an error if the limit is exceeded.
    fn capture(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut captured = self.streams.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let captured = &mut captured[self.index];
        self.streams.limit.add(captured, bytes).map_err(|_| "output limit exceeded")
    }
}

impl IsTerminal for OutputHandle {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for OutputHandle {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for OutputHandle {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.capture(&bytes).map_err(|why| StreamError::Trap(wasmtime::format_err!("{why}")))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE)
    }
}

#[async_trait]
impl Pollable for OutputHandle {
    async fn ready(&mut self) {}
}

impl AsyncWrite for OutputHandle {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let captured = self.capture(bytes).map_err(std::io::Error::other);
        Poll::Ready(captured.map(|()| bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
