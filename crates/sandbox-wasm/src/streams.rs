//! What a module writes, taken by the same bound as what a process writes.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use sandbox::{Captured, Limits, OutputBound};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// How much is taken at once.
const PIECE: usize = 64 << 10;

/// Both streams of a run.
#[derive(Debug)]
pub(crate) struct Streams {
    bound: OutputBound,
    written: Mutex<[Captured; 2]>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    of: Arc<Streams>,
    which: usize,
}

impl Streams {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self { bound: OutputBound::new(limits), written: Mutex::default() })
    }

    pub(crate) fn stdout(self: &Arc<Self>) -> Stream {
        Stream { of: Arc::clone(self), which: 0 }
    }

    pub(crate) fn stderr(self: &Arc<Self>) -> Stream {
        Stream { of: Arc::clone(self), which: 1 }
    }

    /// Takes what was written, and whether it was too much.
    pub(crate) fn take(&self) -> ([Captured; 2], bool) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut *written), self.bound.is_exceeded())
    }
}

impl Stream {
    /// Writes, unless it is too much.
    fn put(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut written = self.of.written.lock().unwrap_or_else(PoisonError::into_inner);
        self.of.bound.add(&mut written[self.which], bytes).map_err(|_| "too much was written")
    }
}

impl IsTerminal for Stream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.put(&bytes).map_err(|why| StreamError::Trap(wasmtime::format_err!("{why}")))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PIECE)
    }
}

#[async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let put = self.put(bytes).map_err(std::io::Error::other);
        Poll::Ready(put.map(|()| bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
