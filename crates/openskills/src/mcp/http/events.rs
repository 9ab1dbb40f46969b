//! Reads the events of a response stream, and replaces the stream with a single message if possible.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame};
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(super) type AnyBody = BoxBody<Bytes, Infallible>;

/// The events of a response body. Event IDs are removed, because streams cannot be resumed.
pub(super) struct Events {
    body: AnyBody,
    buffer: Vec<u8>,
    /// The length of the part of `buffer` that was searched for the end of an event.
    searched: usize,
    /// An event that was read and not yet returned.
    peeked: Option<Bytes>,
}

impl Events {
    pub(super) fn new(body: AnyBody) -> Self {
        Self { body, buffer: Vec::new(), searched: 0, peeked: None }
    }

    pub(super) async fn next(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.peeked.take() {
            return Poll::Ready(Some(event));
        }
        loop {
            while let Some(event) = self.take_event() {
                if let Some(event) = without_id(&event) {
                    return Poll::Ready(Some(event));
                }
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None if self.buffer.is_empty() => return Poll::Ready(None),
                None => {
                    let rest = std::mem::take(&mut self.buffer);
                    return Poll::Ready(without_id(&rest));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(never)) => match never {},
            }
        }
    }

    /// Takes a complete event from the buffer.
    fn take_event(&mut self) -> Option<Vec<u8>> {
        let start = self.searched.saturating_sub(1);
        let end = self.buffer[start..].windows(2).position(|pair| pair == b"\n\n");
        self.searched = if end.is_some() { 0 } else { self.buffer.len() };
        let rest = self.buffer.split_off(start + end? + 2);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// Waits up to `timeout` for the first message. Returns it if it is the response, and the whole stream otherwise.
    pub(super) async fn only_response(mut self, timeout: Duration) -> Result<Vec<u8>, Self> {
        let first = async {
            loop {
                let event = self.next().await?;
                if let Some(message) = message(&event) {
                    return Some((event, message));
                }
            }
        };
        match tokio::time::timeout(timeout, first).await {
            Ok(Some((_, message))) if is_response(&message) => Ok(message),
            Ok(Some((event, _))) => {
                self.peeked = Some(event);
                Err(self)
            }
            Ok(None) | Err(_) => Err(self),
        }
    }

    /// Waits for the response and drops all messages before it.
    pub(super) async fn response(mut self) -> Option<Vec<u8>> {
        loop {
            let event = self.next().await?;
            if let Some(message) = message(&event).filter(|message| is_response(message)) {
                return Some(message);
            }
        }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_next(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

/// Returns an event without its ID; `None` if nothing else is in it.
fn without_id(event: &[u8]) -> Option<Bytes> {
    let is_kept = |line: &&[u8]| {
        !line.is_empty()
            && !line.starts_with(b"id:")
            && !line.starts_with(b"retry:")
            && line.trim_ascii() != b"data:"
    };
    let lines: Vec<&[u8]> = event.split(|byte| *byte == b'\n').filter(is_kept).collect();
    (!lines.is_empty()).then(|| {
        let mut kept = lines.join(&b'\n');
        kept.extend_from_slice(b"\n\n");
        kept.into()
    })
}

/// Returns the message in an event; `None` for a comment.
fn message(event: &[u8]) -> Option<Vec<u8>> {
    let data = event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    let data: Vec<&[u8]> = data.map(<[u8]>::trim_ascii_start).collect();
    (!data.is_empty()).then(|| data.join(&b'\n'))
}

/// Returns true if the message is a response. Requests and notifications have a method.
fn is_response(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head {
        method: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Head>(message).is_ok_and(|head| head.method.is_none())
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;

    fn events(text: &str) -> Events {
        Events::new(Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed())
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(future)
    }

    const RESPONSE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"a":"method"}}"#;
    const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;

    #[test]
    fn a_response_that_comes_first_is_returned_alone() {
        let text = format!("id: 0\nretry: 3\ndata:\n\n: still here\n\nid: 1\ndata: {RESPONSE}\n\n");
        let response = run(events(&text).only_response(Duration::from_secs(5)));
        assert_eq!(response.ok().as_deref(), Some(RESPONSE.as_bytes()));
    }

    #[test]
    fn a_stream_with_other_messages_loses_only_its_ids() {
        let text = format!("id: 1\ndata: {NOTIFICATION}\n\nid: 2/0\ndata: {RESPONSE}\n\n");
        let Err(stream) = run(events(&text).only_response(Duration::from_secs(5))) else {
            panic!()
        };
        let all = run(stream.collect()).expect("infallible").to_bytes();
        assert_eq!(all, format!("data: {NOTIFICATION}\n\ndata: {RESPONSE}\n\n").as_bytes());
        assert_eq!(run(events(&text).response()).as_deref(), Some(RESPONSE.as_bytes()));
    }
}
