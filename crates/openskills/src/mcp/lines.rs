//! Standard input and output: one message a line. A line that cannot be read is answered, and the next one is read.

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

/// The longest line.
const MAX_LINE: usize = 16 << 20;
/// How many answers may wait to be written.
const WAITING: usize = 64;

/// Lines that come and go.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// What looks for the id of a line that is too long.
    too_long: Option<IdFinder>,
    /// What was read and not yet taken.
    read: VecDeque<RxJsonRpcMessage<RoleServer>>,
    /// What is answered here, without the server.
    answers: VecDeque<Vec<u8>>,
    batches: Batches,
    out: Option<mpsc::Sender<Vec<u8>>>,
    writing: Option<JoinHandle<()>>,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    pub(super) fn new(reader: R, writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (out, lines) = mpsc::channel(WAITING);
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            too_long: None,
            read: VecDeque::new(),
            answers: VecDeque::new(),
            batches: Batches::default(),
            out: Some(out),
            writing: Some(tokio::spawn(write(writer, lines))),
        }
    }

    /// Takes a line that is complete.
    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(id) = self.too_long.take() {
            return self.answer(&incoming::too_long(&id, MAX_LINE));
        }
        match incoming::read(&line) {
            Incoming::Nothing => {}
            Incoming::One(message) => {
                if let Some(answer) = self.take(message) {
                    self.answer(&answer);
                }
            }
            Incoming::Batch(all) => {
                let ids: Vec<String> =
                    all.iter().filter_map(|one| request_id(one.as_ref().ok()?)).collect();
                let answers = all.into_iter().filter_map(|message| self.take(message)).collect();
                if let Some(answer) = self.batches.open(&ids, answers) {
                    self.answer(&answer);
                }
            }
        }
    }

    /// Takes a message, or returns what is answered to it.
    fn take(&mut self, message: Message) -> Option<Value> {
        let message = match message {
            Ok(message) => message,
            Err(answer) => return Some(answer),
        };
        let id = request_id(&message);
        if let Some(id) = id.as_ref().filter(|id| !self.batches.begin(id)) {
            let id = serde_json::from_str(id).unwrap_or_default();
            return Some(incoming::in_use(&id));
        }
        if let Some(all) = self.batches.without(&message) {
            self.answer(&all);
        }
        match serde_json::from_value(message) {
            Ok(message) => self.read.push_back(message),
            Err(error) => {
                // A notification is not answered, whatever is wrong with it.
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

    fn answer(&mut self, answer: &Value) {
        self.answers.push_back(line(answer));
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

/// Writes lines until no more come, or nobody reads them.
async fn write(mut writer: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (out, batches) = (self.out.clone(), self.batches.clone());
        async move {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let out = out.ok_or_else(gone)?;
            let answered = match &message {
                JsonRpcMessage::Response(answer) => serde_json::to_string(&answer.id).ok(),
                JsonRpcMessage::Error(error) => serde_json::to_string(&error.id).ok(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            if let Some(id) = answered {
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
                    let Some(message) = batches.put(message) else { return Ok(()) };
                    line(&message)
                }
            };
            out.send(line).await.map_err(|_| gone())
        }
    }

    // It may be dropped wherever it waits, so everything that it knows is in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            while !self.answers.is_empty() {
                let room = self.out.as_ref()?.reserve().await.ok()?;
                if let Some(answer) = self.answers.pop_front() {
                    room.send(answer);
                }
            }
            if let Some(message) = self.read.pop_front() {
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
                finder.look(&self.line);
                (self.line, self.too_long) = (Vec::new(), Some(finder));
            }
            match &mut self.too_long {
                Some(finder) => finder.look(part),
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
        if let Some(writing) = self.writing.take() {
            let _ = writing.await;
        }
        Ok(())
    }
}

/// Batches that are not answered yet: one answer holds those to all of their requests.
#[derive(Clone, Default)]
struct Batches(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    /// The ids of requests that are not answered.
    flying: HashSet<String>,
    /// By the id of each request that is not answered, the batch that it came in.
    requests: HashMap<String, usize>,
    batches: HashMap<usize, Batch>,
    count: usize,
}

struct Batch {
    left: usize,
    answers: Vec<Value>,
}

impl Batches {
    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).batches.is_empty()
    }

    /// Notes a request. Returns false if another one with its id is not answered yet.
    fn begin(&self, id: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flying.insert(id.to_owned())
    }

    /// Notes that a request is answered.
    fn end(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flying.remove(id);
    }

    /// Notes the requests of a batch; `answers` are those that it has already. Returns the answer to all of it, if no request is left.
    fn open(&self, ids: &[String], answers: Vec<Value>) -> Option<Value> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What could not be taken is answered already.
        let answered: Vec<String> =
            answers.iter().filter_map(|answer| Some(answer.get("id")?.to_string())).collect();
        let left: Vec<&String> = ids.iter().filter(|id| !answered.contains(id)).collect();
        if left.is_empty() {
            return (!answers.is_empty()).then_some(Value::Array(answers));
        }
        open.count += 1;
        let number = open.count;
        let mut waiting = 0;
        for id in left {
            waiting += usize::from(open.requests.insert(id.clone(), number).is_none());
        }
        open.batches.insert(number, Batch { left: waiting, answers });
        None
    }

    /// Takes a request that the client takes back out of its batch: it is not answered. Returns the answer to the rest, if that was the last of it.
    fn without(&self, message: &Value) -> Option<Value> {
        if message.get("method").and_then(Value::as_str) != Some("notifications/cancelled") {
            return None;
        }
        let id = message.pointer("/params/requestId")?.to_string();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.flying.remove(&id);
        let number = open.requests.remove(&id)?;
        let batch = open.batches.get_mut(&number)?;
        batch.left -= 1;
        if batch.left > 0 {
            return None;
        }
        let batch = open.batches.remove(&number)?;
        (!batch.answers.is_empty()).then_some(Value::Array(batch.answers))
    }

    /// Takes what is to be sent. Returns what goes out now: the message itself, a whole batch, or nothing yet.
    fn put(&self, message: Value) -> Option<Value> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_answer = message.get("method").is_none();
        let id = message.get("id").filter(|_| is_answer).map(Value::to_string);
        let Some(number) = id.and_then(|id| open.requests.remove(&id)) else {
            return Some(message);
        };
        let batch = open.batches.get_mut(&number)?;
        batch.answers.push(message);
        batch.left -= 1;
        if batch.left > 0 {
            return None;
        }
        open.batches.remove(&number).map(|batch| Value::Array(batch.answers))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn run(future: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("it can be made").block_on(future);
    }

    /// Returns what is read of a text, and what is answered to it.
    fn talk(text: Vec<u8>) -> (usize, Vec<Value>) {
        let (mut count, mut answers) = (0, Vec::new());
        run(async {
            let (mut theirs, ours) = tokio::io::duplex(1 << 20);
            let mut lines = Lines::new(io::Cursor::new(text), ours);
            while lines.receive().await.is_some() {
                count += 1;
            }
            lines.close().await.expect("it is written");
            let mut written = String::new();
            theirs.read_to_string(&mut written).await.expect("it is read");
            answers = written.lines().map(|line| line.parse().expect("it is JSON")).collect();
        });
        (count, answers)
    }

    #[test]
    fn after_a_line_that_cannot_be_read_the_next_one_is() {
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
            let (count, answers) = talk(format!("{bad}\n\n{ping}").into_bytes());
            assert_eq!(count, 1, "{bad:.60}");
            assert_eq!(answers.len(), 1);
            assert_eq!(answers[0]["id"], id);
            assert!(answers[0]["error"]["code"].is_i64());
        }
    }

    #[test]
    fn an_id_that_is_not_answered_yet_is_nobody_elses() {
        let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
        let (count, answers) = talk(format!("{ping}\n{ping}\n").into_bytes());
        assert_eq!((count, answers.len()), (1, 1));
        assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!(2), &json!(-32600)));
    }

    #[test]
    fn a_batch_is_answered_as_one() {
        let batches = Batches::default();
        let ids = ["1".to_owned(), "\"a\"".to_owned()];
        assert_eq!(batches.open(&ids, vec![json!({"id": null, "error": {}})]), None);
        assert_eq!(batches.put(json!({"id": 1, "result": {}})), None);
        let other = json!({"id": 9, "result": {}});
        assert_eq!(batches.put(other.clone()), Some(other));
        let question = json!({"id": "a", "method": "elicitation/create"});
        assert_eq!(batches.put(question.clone()), Some(question), "a question is no answer");
        let all = batches.put(json!({"id": "a", "result": {}}));
        assert_eq!(all.and_then(|all| all.as_array().map(Vec::len)), Some(3));
        assert!(batches.is_empty());
        assert_eq!(batches.open(&ids, Vec::new()), None);
        assert_eq!(batches.put(json!({"id": 1, "result": {}})), None);
        let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": "a"}});
        assert_eq!(batches.without(&cancel), Some(json!([{"id": 1, "result": {}}])));
        assert!(batches.is_empty());
        assert_eq!(batches.open(&[], Vec::new()), None, "notifications alone");
        let refused = json!({"id": 4, "error": {}});
        assert_eq!(batches.open(&["4".to_owned()], vec![refused.clone()]), Some(json!([refused])));
    }
}
