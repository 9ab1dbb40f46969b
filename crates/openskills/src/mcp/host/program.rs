//! A server that is a program: one message a line, on its standard input and output.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment of servers")]

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::MAX_MESSAGE;

/// How many lines that are no JSON a server may write.
const MOST_STRANGE: usize = 100;
/// What some programs begin a text with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What every program needs of the environment; a server is given nothing else but what the user named.
const ENVIRONMENT: [&str; 12] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
    "SYSTEMROOT",
];
/// How much of what a server writes to standard error is shown.
const COMPLAINT: usize = 600;
/// How long a server may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(2);
/// The error of the protocol for methods that are not known.
const METHOD_NOT_FOUND: i64 = -32601;

/// A running server.
pub(super) struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The beginning of a line. Whoever stops waiting in the middle of one loses nothing of it.
    begun: Vec<u8>,
    /// How many lines were no JSON.
    strange: usize,
    complaint: Complaint,
}

impl Program {
    pub(super) fn start(command: &[String], env: &[String]) -> Result<Self, String> {
        let (program, args) = command.split_first().ok_or("its command is empty")?;
        let names = ENVIRONMENT.into_iter().chain(env.iter().map(String::as_str));
        let given = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(given)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let complaint = Complaint::default();
        if let Some(stderr) = child.stderr.take() {
            complaint.listen(stderr);
        }
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or("its standard input and output cannot be used")?;
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            begun: Vec::new(),
            strange: 0,
            complaint,
        })
    }

    pub(super) async fn send(&mut self, message: &Value) -> Result<(), String> {
        let mut line = message.to_string();
        line.push('\n');
        let sent = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await
        };
        match sent.await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended().await),
        }
    }

    /// Waits for the answer to the request `id`. What else comes is no answer to anything that was asked.
    pub(super) async fn answer(&mut self, id: u64) -> Result<Value, String> {
        loop {
            let line = self.line().await?;
            let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
            // Some servers greet there, though they should not.
            let Ok(message) = serde_json::from_slice::<Value>(line) else {
                self.strange += 1;
                if self.strange > MOST_STRANGE {
                    let why = "it keeps writing to standard output what is not JSON";
                    return Err(self.complaint.with(why));
                }
                continue;
            };
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                return Ok(message);
            }
            if let (Some(method), Some(id)) = (message.get("method"), message.get("id")) {
                // Some servers ask whether anybody is there; nothing else was offered to them.
                let answer = match method.as_str() {
                    Some("ping") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                    _ => {
                        let error = json!({"code": METHOD_NOT_FOUND, "message": "not supported"});
                        json!({"jsonrpc": "2.0", "id": id, "error": error})
                    }
                };
                self.send(&answer).await?;
            }
        }
    }

    async fn line(&mut self) -> Result<Vec<u8>, String> {
        loop {
            let (used, is_end) = match self.stdout.fill_buf().await {
                Ok([]) | Err(_) => return Err(self.ended().await),
                Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                    Some(at) => {
                        self.begun.extend_from_slice(&bytes[..at]);
                        (at + 1, true)
                    }
                    None => {
                        self.begun.extend_from_slice(bytes);
                        (bytes.len(), false)
                    }
                },
            };
            self.stdout.consume(used);
            if self.begun.len() > MAX_MESSAGE {
                return Err(format!("it sends more than {} MiB in one answer", MAX_MESSAGE >> 20));
            }
            if is_end {
                return Ok(std::mem::take(&mut self.begun));
            }
        }
    }

    /// Returns why something failed, with what the server wrote about it.
    pub(super) fn complains(&self, why: &str) -> String {
        self.complaint.with(why)
    }

    async fn ended(&mut self) -> String {
        // What it writes may come a little after its end.
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.complaint.with("it ended before it answered")
    }

    /// Ends it: its input is closed, and if it does not go by itself, it is killed.
    pub(super) async fn leave(mut self) {
        drop(self.stdin);
        if tokio::time::timeout(FAREWELL, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

/// The end of what a program wrote to standard error.
#[derive(Clone, Default)]
struct Complaint(Arc<Mutex<Vec<u8>>>);

impl Complaint {
    fn listen(&self, mut stderr: ChildStderr) {
        let kept = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..count]);
                let excess = kept.len().saturating_sub(COMPLAINT);
                kept.drain(..excess);
            }
        });
    }

    fn with(&self, why: &str) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match String::from_utf8_lossy(&kept).trim() {
            "" => why.to_owned(),
            said => format!("{why}; it says: {said}"),
        }
    }
}
