//! A stream of events, read one by one, and an answer that is one message instead of a stream.

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

/// The events of a body. A stream cannot be taken up again here, so events have no ids that would promise it.
pub(super) struct Events {
    body: AnyBody,
    read: Vec<u8>,
    /// How far the end of an event was looked for.
    looked: usize,
    /// An event that was read already.
    first: Option<Bytes>,
}

impl Events {
    pub(super) fn new(body: AnyBody) -> Self {
        Self { body, read: Vec::new(), looked: 0, first: None }
    }

    pub(super) async fn next(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        loop {
            while let Some(event) = self.take() {
                if let Some(event) = without_id(&event) {
                    return Poll::Ready(Some(event));
                }
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None if self.read.is_empty() => return Poll::Ready(None),
                None => {
                    let rest = std::mem::take(&mut self.read);
                    return Poll::Ready(without_id(&rest));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.read.extend_from_slice(&data);
                    }
                }
                Some(Err(never)) => match never {},
            }
        }
    }

    /// Takes an event that is there to its end.
    fn take(&mut self) -> Option<Vec<u8>> {
        let from = self.looked.saturating_sub(1);
        let end = self.read[from..].windows(2).position(|two| two == b"\n\n");
        self.looked = if end.is_some() { 0 } else { self.read.len() };
        let rest = self.read.split_off(from + end? + 2);
        Some(std::mem::replace(&mut self.read, rest))
    }

    /// Waits for the answer, and returns it alone if it comes soon and nothing comes before it; else the stream goes on as one.
    pub(super) async fn alone(mut self, patience: Duration) -> Result<Vec<u8>, Self> {
        let soon = async {
            loop {
                let event = self.next().await?;
                if let Some(message) = message(&event) {
                    return Some((event, message));
                }
            }
        };
        match tokio::time::timeout(patience, soon).await {
            Ok(Some((_, message))) if is_answer(&message) => Ok(message),
            Ok(Some((event, _))) => {
                self.first = Some(event);
                Err(self)
            }
            Ok(None) | Err(_) => Err(self),
        }
    }

    /// Waits for the answer, whatever comes before it.
    pub(super) async fn answer(mut self) -> Option<Vec<u8>> {
        loop {
            let event = self.next().await?;
            if let Some(message) = message(&event).filter(|message| is_answer(message)) {
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

/// Returns an event without its id; `None` if nothing is left of it.
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

/// Returns the message in an event; comments have none.
fn message(event: &[u8]) -> Option<Vec<u8>> {
    let data = event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    let data: Vec<&[u8]> = data.map(<[u8]>::trim_ascii_start).collect();
    (!data.is_empty()).then(|| data.join(&b'\n'))
}

/// Returns true for the answer to a request; questions and news have a method.
fn is_answer(message: &[u8]) -> bool {
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
        runtime.expect("it can be made").block_on(future)
    }

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"a":"method"}}"#;
    const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;

    #[test]
    fn an_answer_that_comes_first_is_one_message() {
        let text = format!("id: 0\nretry: 3\ndata:\n\n: still here\n\nid: 1\ndata: {ANSWER}\n\n");
        let answer = run(events(&text).alone(Duration::from_secs(5)));
        assert_eq!(answer.ok().as_deref(), Some(ANSWER.as_bytes()));
    }

    #[test]
    fn a_stream_with_more_than_the_answer_stays_one_and_loses_only_its_ids() {
        let text = format!("id: 1\ndata: {NEWS}\n\nid: 2/0\ndata: {ANSWER}\n\n");
        let Err(stream) = run(events(&text).alone(Duration::from_secs(5))) else { panic!() };
        let all = run(stream.collect()).expect("it cannot fail").to_bytes();
        assert_eq!(all, format!("data: {NEWS}\n\ndata: {ANSWER}\n\n").as_bytes());
        assert_eq!(run(events(&text).answer()).as_deref(), Some(ANSWER.as_bytes()));
    }
}
