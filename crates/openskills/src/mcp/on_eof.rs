//! A reader that notices the end of its stream: the client has disconnected.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// A stream, and a function that is called once at its end or at a read error.
pub(super) struct OnEof<R, F> {
    stream: R,
    on_eof: Option<F>,
}

impl<R, F: FnOnce()> OnEof<R, F> {
    pub(super) fn new(stream: R, on_eof: F) -> Self {
        Self { stream, on_eof: Some(on_eof) }
    }
}

impl<R: AsyncRead + Unpin, F: FnOnce() + Unpin> AsyncRead for OnEof<R, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        let is_eof = read.is_err() || buffer.filled().len() == before;
        if let Some(on_eof) = self.on_eof.take_if(|_| is_eof) {
            on_eof();
        }
        Poll::Ready(read)
    }
}
