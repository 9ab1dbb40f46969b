//! A stream that tells when it is over: the client has gone.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// A stream, and what is done once at its end.
pub(super) struct UntilEnd<R, F> {
    stream: R,
    at_end: Option<F>,
}

impl<R, F: FnOnce()> UntilEnd<R, F> {
    pub(super) fn new(stream: R, at_end: F) -> Self {
        Self { stream, at_end: Some(at_end) }
    }
}

impl<R: AsyncRead + Unpin, F: FnOnce() + Unpin> AsyncRead for UntilEnd<R, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        let is_over = read.is_err() || buffer.filled().len() == before;
        if let Some(at_end) = self.at_end.take_if(|_| is_over) {
            at_end();
        }
        Poll::Ready(read)
    }
}
