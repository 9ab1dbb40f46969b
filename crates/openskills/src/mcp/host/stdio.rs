//! A server that openskills starts as a child process (stdio transport): one message per line on its stdin and stdout.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment of servers")]

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::MAX_MESSAGE;

/// The maximum number of lines on stdout that are not JSON.
const MAX_INVALID_LINES: usize = 100;
/// Some programs write this before their first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The environment variables that every server gets, in addition to those that the user passes.
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
/// How many bytes from the end of a server's stderr are shown in errors.
const MAX_STDERR: usize = 600;
/// How long a server may take to exit after its stdin is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The JSON-RPC error code for unknown methods.
const METHOD_NOT_FOUND: i64 = -32601;

/// A running server.
pub(super) struct StdioServer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The part of a line that was already read. It is kept here so that nothing is lost if a read is canceled.
    partial_line: Vec<u8>,
    /// The number of lines that were not JSON.
    invalid_lines: usize,
    stderr: StderrTail,
}

impl StdioServer {
    pub(super) fn start(command: &[String], env: &[String]) -> Result<Self, String> {
        let (program, args) = command.split_first().ok_or("its command is empty")?;
        let names = ENVIRONMENT.into_iter().chain(env.iter().map(String::as_str));
        let variables = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let stderr = StderrTail::default();
        if let Some(pipe) = child.stderr.take() {
            stderr.collect(pipe);
        }
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or("cannot use its stdin and stdout")?;
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            partial_line: Vec::new(),
            invalid_lines: 0,
            stderr,
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
            Err(_) => Err(self.exit_error().await),
        }
    }

    /// Waits for the response to the request `id`, and ignores other responses and notifications.
    pub(super) async fn response(&mut self, id: u64) -> Result<Value, String> {
        loop {
            let line = self.read_line().await?;
            let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
            // Some servers print a banner to stdout, although the protocol forbids it.
            let Ok(message) = serde_json::from_slice::<Value>(line) else {
                self.invalid_lines += 1;
                if self.invalid_lines > MAX_INVALID_LINES {
                    return Err(self.with_stderr("it keeps writing non-JSON lines to stdout"));
                }
                continue;
            };
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                return Ok(message);
            }
            if let (Some(method), Some(id)) = (message.get("method"), message.get("id")) {
                // Some servers send pings. All other requests are unsupported.
                let response = match method.as_str() {
                    Some("ping") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                    _ => {
                        let error = json!({"code": METHOD_NOT_FOUND, "message": "not supported"});
                        json!({"jsonrpc": "2.0", "id": id, "error": error})
                    }
                };
                self.send(&response).await?;
            }
        }
    }

    async fn read_line(&mut self) -> Result<Vec<u8>, String> {
        loop {
            let (used, is_end) = match self.stdout.fill_buf().await {
                Ok([]) | Err(_) => return Err(self.exit_error().await),
                Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                    Some(end) => {
                        self.partial_line.extend_from_slice(&bytes[..end]);
                        (end + 1, true)
                    }
                    None => {
                        self.partial_line.extend_from_slice(bytes);
                        (bytes.len(), false)
                    }
                },
            };
            self.stdout.consume(used);
            if self.partial_line.len() > MAX_MESSAGE {
                return Err(format!("its response is larger than {} MiB", MAX_MESSAGE >> 20));
            }
            if is_end {
                return Ok(std::mem::take(&mut self.partial_line));
            }
        }
    }

    /// Returns an error message with the end of the server's stderr.
    pub(super) fn with_stderr(&self, message: &str) -> String {
        self.stderr.append_to(message)
    }

    async fn exit_error(&mut self) -> String {
        // The last output on stderr may arrive a little after the exit.
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.with_stderr("it exited before responding")
    }

    /// Ends the server: closes its stdin, and kills it if it does not exit.
    pub(super) async fn close(mut self) {
        drop(self.stdin);
        if tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

/// The end of a server's stderr.
#[derive(Clone, Default)]
struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    fn collect(&self, mut pipe: ChildStderr) {
        let tail = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
                let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(&buffer[..count]);
                let excess = tail.len().saturating_sub(MAX_STDERR);
                tail.drain(..excess);
            }
        });
    }

    fn append_to(&self, message: &str) -> String {
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match String::from_utf8_lossy(&tail).trim() {
            "" => message.to_owned(),
            stderr => format!("{message}; its stderr: {stderr}"),
        }
    }
}
