//! The stdio transport: one message per line. An invalid line gets an error response, and reading goes on.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::incoming::{self, IdFinder, Incoming, Message};

/// The maximum length of a line, in bytes.
const MAX_LINE: usize = 16 << 20;
/// The maximum number of messages that wait to be written.
const MAX_QUEUED: usize = 64;

/// Reads and writes messages as lines.
pub(super) struct StdioTransport<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Finds the id of a line that is too long.
    too_long: Option<IdFinder>,
    /// Messages that were read and not yet received by the library.
    received: VecDeque<RxJsonRpcMessage<RoleServer>>,
    /// Responses that do not come from the server.
    responses: VecDeque<Vec<u8>>,
    batches: Batches,
    out: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
}

impl<R: AsyncRead + Send + Unpin> StdioTransport<R> {
    pub(super) fn new(reader: R, writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (out, lines) = mpsc::channel(MAX_QUEUED);
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            too_long: None,
            received: VecDeque::new(),
            responses: VecDeque::new(),
            batches: Batches::default(),
            out: Some(out),
            writer: Some(tokio::spawn(write(writer, lines))),
        }
    }

    /// Processes the line that was read.
    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(finder) = self.too_long.take() {
            return self.respond(&incoming::too_long(&finder, MAX_LINE));
        }
        match incoming::read(&line) {
            Incoming::Empty => {}
            Incoming::Single(message) => {
                if let Some(response) = self.accept(message) {
                    self.respond(&response);
                }
            }
            Incoming::Batch(all) => {
                let ids: Vec<String> =
                    all.iter().filter_map(|one| request_id(one.as_ref().ok()?)).collect();
                let responses =
                    all.into_iter().filter_map(|message| self.accept(message)).collect();
                if let Some(response) = self.batches.open(&ids, responses) {
                    self.respond(&response);
                }
            }
        }
    }

    /// Queues a message for the server, or returns the error response to it.
    fn accept(&mut self, message: Message) -> Option<Value> {
        let message = match message {
            Ok(message) => message,
            Err(error) => return Some(error),
        };
        let id = request_id(&message);
        if let Some(id) = id.as_ref().filter(|id| !self.batches.begin(id)) {
            let id = serde_json::from_str(id).unwrap_or_default();
            return Some(incoming::duplicate_id(&id));
        }
        if let Some(batch) = self.batches.remove_cancelled(&message) {
            self.respond(&batch);
        }
        match serde_json::from_value(message) {
            Ok(message) => self.received.push_back(message),
            Err(error) => {
                // Notifications get no response, not even an error.
                let id = id?;
                self.batches.end(&id);
                let id = serde_json::from_str::<Value>(&id).ok()?;
                return Some(serde_json::json!({
                    "jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": error.to_string()},
                }));
            }
        }
        None
    }

    fn respond(&mut self, response: &Value) {
        self.responses.push_back(line(response));
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Returns the id of a request, as JSON.
fn request_id(message: &Value) -> Option<String> {
    message.get("method")?;
    Some(message.get("id")?.to_string())
}

/// Writes lines until the channel is closed or writing fails.
async fn write(mut writer: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for StdioTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (out, batches) = (self.out.clone(), self.batches.clone());
        async move {
            let broken_pipe = || io::Error::from(io::ErrorKind::BrokenPipe);
            let out = out.ok_or_else(broken_pipe)?;
            let answered_id = match &message {
                JsonRpcMessage::Response(response) => serde_json::to_string(&response.id).ok(),
                JsonRpcMessage::Error(error) => serde_json::to_string(&error.id).ok(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            if let Some(id) = answered_id {
                batches.end(&id);
            }
            let line = match batches.is_empty() {
                true => {
                    let mut line = serde_json::to_vec(&message).map_err(io::Error::other)?;
                    line.push(b'\n');
                    line
                }
                false => {
                    let message = serde_json::to_value(&message).map_err(io::Error::other)?;
                    let Some(message) = batches.add(message) else { return Ok(()) };
                    line(&message)
                }
            };
            out.send(line).await.map_err(|_| broken_pipe())
        }
    }

    // The future may be dropped at any await point, so all state is in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            while !self.responses.is_empty() {
                let permit = self.out.as_ref()?.reserve().await.ok()?;
                if let Some(response) = self.responses.pop_front() {
                    permit.send(response);
                }
            }
            if let Some(message) = self.received.pop_front() {
                return Some(message);
            }
            let bytes = self.reader.fill_buf().await.ok()?;
            if bytes.is_empty() {
                if self.line.is_empty() && self.too_long.is_none() {
                    return None;
                }
                self.end_of_line();
                continue;
            }
            let (part, has_end) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&bytes[..end], true),
                None => (bytes, false),
            };
            if self.too_long.is_none() && self.line.len() + part.len() > MAX_LINE {
                let mut finder = IdFinder::default();
                finder.feed(&self.line);
                (self.line, self.too_long) = (Vec::new(), Some(finder));
            }
            match &mut self.too_long {
                Some(finder) => finder.feed(part),
                None => self.line.extend_from_slice(part),
            }
            let count = part.len() + usize::from(has_end);
            self.reader.consume(count);
            if has_end {
                self.end_of_line();
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.out = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.await;
        }
        Ok(())
    }
}

/// The unanswered requests and batches. A batch gets one response, which contains the responses to all its requests.
#[derive(Clone, Default)]
struct Batches(Arc<Mutex<PendingRequests>>);

#[derive(Default)]
struct PendingRequests {
    /// The ids of all unanswered requests.
    ids: HashSet<String>,
    /// The batch of each unanswered request that is part of one, by the id of the request.
    requests: HashMap<String, usize>,
    batches: HashMap<usize, Batch>,
    count: usize,
}

struct Batch {
    /// Number of requests without a response.
    unanswered: usize,
    responses: Vec<Value>,
}

impl Batches {
    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).batches.is_empty()
    }

    /// Records a request. Returns false if another request with the same id is unanswered.
    fn begin(&self, id: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ids.insert(id.to_owned())
    }

    /// Records that a request was answered.
    fn end(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ids.remove(id);
    }

    /// Records a batch with the `responses` that already exist. Returns the response to the whole batch if no request
    /// is unanswered.
    fn open(&self, ids: &[String], responses: Vec<Value>) -> Option<Value> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Requests that were not accepted already have an error response.
        let answered: Vec<String> =
            responses.iter().filter_map(|response| Some(response.get("id")?.to_string())).collect();
        let accepted: Vec<&String> = ids.iter().filter(|id| !answered.contains(id)).collect();
        if accepted.is_empty() {
            return (!responses.is_empty()).then_some(Value::Array(responses));
        }
        pending.count += 1;
        let number = pending.count;
        let mut unanswered = 0;
        for id in accepted {
            unanswered += usize::from(pending.requests.insert(id.clone(), number).is_none());
        }
        pending.batches.insert(number, Batch { unanswered, responses });
        None
    }

    /// Removes a request that the client cancels from its batch, since it gets no response. Returns the response to the
    /// batch if that was its last unanswered request.
    fn remove_cancelled(&self, message: &Value) -> Option<Value> {
        if message.get("method").and_then(Value::as_str) != Some("notifications/cancelled") {
            return None;
        }
        let id = message.pointer("/params/requestId")?.to_string();
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.ids.remove(&id);
        let number = pending.requests.remove(&id)?;
        let batch = pending.batches.get_mut(&number)?;
        batch.unanswered -= 1;
        if batch.unanswered > 0 {
            return None;
        }
        let batch = pending.batches.remove(&number)?;
        (!batch.responses.is_empty()).then_some(Value::Array(batch.responses))
    }

    /// Adds a response to its batch. Returns what to send now: a message that belongs to no batch, the response to a
    /// complete batch, or nothing.
    fn add(&self, message: Value) -> Option<Value> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_response = message.get("method").is_none();
        let id = message.get("id").filter(|_| is_response).map(Value::to_string);
        let Some(number) = id.and_then(|id| pending.requests.remove(&id)) else {
            return Some(message);
        };
        let batch = pending.batches.get_mut(&number)?;
        batch.responses.push(message);
        batch.unanswered -= 1;
        if batch.unanswered > 0 {
            return None;
        }
        pending.batches.remove(&number).map(|batch| Value::Array(batch.responses))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn run(future: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(future);
    }

    /// Returns how many messages of the input the server receives, and the other responses.
    fn exchange(text: Vec<u8>) -> (usize, Vec<Value>) {
        let (mut count, mut responses) = (0, Vec::new());
        run(async {
            let (mut theirs, ours) = tokio::io::duplex(1 << 20);
            let mut transport = StdioTransport::new(io::Cursor::new(text), ours);
            while transport.receive().await.is_some() {
                count += 1;
            }
            transport.close().await.expect("closed");
            let mut written = String::new();
            theirs.read_to_string(&mut written).await.expect("valid UTF-8");
            responses = written.lines().map(|line| line.parse().expect("JSON")).collect();
        });
        (count, responses)
    }

    #[test]
    fn reading_goes_on_after_an_invalid_line() {
        let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
        let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(17 << 20));
        let late =
            format!(r#"{{"jsonrpc":"2.0","params":"{}","id":"late"}}"#, "x".repeat(17 << 20));
        for (bad, id) in [
            (long.as_str(), json!(1)),
            (late.as_str(), json!("late")),
            ("nonsense", Value::Null),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"\ud800"}}"#,
                json!(5),
            ),
        ] {
            let (count, responses) = exchange(format!("{bad}\n\n{ping}").into_bytes());
            assert_eq!(count, 1, "{bad:.60}");
            assert_eq!(responses.len(), 1);
            assert_eq!(responses[0]["id"], id);
            assert!(responses[0]["error"]["code"].is_i64());
        }
    }

    #[test]
    fn the_id_of_an_unanswered_request_cannot_be_reused() {
        let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
        let (count, responses) = exchange(format!("{ping}\n{ping}\n").into_bytes());
        assert_eq!((count, responses.len()), (1, 1));
        assert_eq!(
            (&responses[0]["id"], &responses[0]["error"]["code"]),
            (&json!(2), &json!(-32600))
        );
    }

    #[test]
    fn a_batch_gets_one_response() {
        let batches = Batches::default();
        let ids = ["1".to_owned(), "\"a\"".to_owned()];
        assert_eq!(batches.open(&ids, vec![json!({"id": null, "error": {}})]), None);
        assert_eq!(batches.add(json!({"id": 1, "result": {}})), None);
        let other = json!({"id": 9, "result": {}});
        assert_eq!(batches.add(other.clone()), Some(other));
        let question = json!({"id": "a", "method": "elicitation/create"});
        assert_eq!(batches.add(question.clone()), Some(question), "a request is not a response");
        let all = batches.add(json!({"id": "a", "result": {}}));
        assert_eq!(all.and_then(|all| all.as_array().map(Vec::len)), Some(3));
        assert!(batches.is_empty());
        assert_eq!(batches.open(&ids, Vec::new()), None);
        assert_eq!(batches.add(json!({"id": 1, "result": {}})), None);
        let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": "a"}});
        assert_eq!(batches.remove_cancelled(&cancel), Some(json!([{"id": 1, "result": {}}])));
        assert!(batches.is_empty());
        assert_eq!(batches.open(&[], Vec::new()), None, "only notifications");
        let rejected = json!({"id": 4, "error": {}});
        assert_eq!(
            batches.open(&["4".to_owned()], vec![rejected.clone()]),
            Some(json!([rejected]))
        );
    }
}
