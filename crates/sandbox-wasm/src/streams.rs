//! What a run writes: kept as far as it may be, counted to the end.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use sandbox::{Captured, Limits};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// How much is taken at once.
const PIECE: usize = 64 << 10;

/// Both streams of a run.
#[derive(Debug)]
pub(crate) struct Streams {
    kept: usize,
    most: u64,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    streams: [Captured; 2],
    is_flooded: bool,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    of: Arc<Streams>,
    which: usize,
}

impl Streams {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let kept = usize::try_from(limits.output_kept).unwrap_or(usize::MAX);
        Arc::new(Self { kept, most: limits.output_most, written: Mutex::default() })
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
        (std::mem::take(&mut written.streams), written.is_flooded)
    }
}

impl Stream {
    /// Writes, unless it is too much.
    fn put(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut written = self.of.written.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = &mut written.streams[self.which];
        let room = self.of.kept.saturating_sub(stream.bytes.len());
        stream.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        stream.total += bytes.len() as u64;
        if written.streams.iter().map(|stream| stream.total).sum::<u64>() > self.of.most {
            written.is_flooded = true;
            return Err("too much was written");
        }
        Ok(())
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
