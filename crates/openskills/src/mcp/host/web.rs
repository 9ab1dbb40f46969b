//! A server on the network: a POST for each message, answered with JSON or with a stream of events.
//!
//! Requests wait on threads where waiting is allowed; who asks decides how long it waits for them.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment has the token")]

use std::io::{self, BufRead, Read};
use std::time::Duration;

use serde_json::{Value, json};

use super::{CONNECT, MAX_MESSAGE};
use crate::http::{Client, HeaderValue, Method, Response, StatusCode, innermost};

const SESSION: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const CONTENT_TYPE: &str = "content-type";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A request that nobody waits for any more ends after this. It is longer than anybody waits.
const ABANDONED: Duration = CONNECT.saturating_add(Duration::from_secs(5));
/// How long a server may take to end a session.
const LEAVE: Duration = Duration::from_secs(2);

/// A server that is reached by its address.
pub(super) struct Web {
    client: Client,
    token: Option<HeaderValue>,
    session: Option<HeaderValue>,
    /// The revision that was agreed on; every request names it.
    pub(super) version: &'static str,
}

impl Web {
    pub(super) fn reach(url: &str, token_env: Option<&str>) -> Result<Self, String> {
        let token = match token_env {
            None => None,
            Some(name) => {
                let token =
                    std::env::var(name).map_err(|_| format!("the variable `{name}` is not set"))?;
                let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                    .map_err(|_| format!("the variable `{name}` holds no token"))?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self { client: Client::new(url, ABANDONED), token, session: None, version: "" })
    }

    /// Sends a message; for a request, `id`, returns its answer.
    pub(super) async fn exchange(
        &mut self,
        message: &Value,
        id: Option<u64>,
    ) -> Result<Option<Value>, String> {
        let (client, headers, body) =
            (self.client.clone(), self.headers(message), message.to_string());
        let (session, answer) = waiting(move || {
            let response = client.send(Method::POST, &headers, body.as_bytes())?;
            Ok((response.header(SESSION).cloned(), read(response, id)))
        })
        .await?;
        self.session = session.or(self.session.take());
        answer
    }

    fn headers(&self, message: &Value) -> Vec<(&'static str, HeaderValue)> {
        let mut headers = vec![
            (CONTENT_TYPE, HeaderValue::from_static(JSON)),
            ("accept", HeaderValue::from_static("application/json, text/event-stream")),
        ];
        headers.extend(self.own_headers());
        if !self.version.is_empty() {
            headers.push((PROTOCOL_VERSION, HeaderValue::from_static(self.version)));
            let named = [(METHOD, &message["method"]), (NAME, &message["params"]["uri"])];
            for (name, value) in named {
                let value = value.as_str().filter(|value| is_plain(value));
                let value = value.and_then(|value| HeaderValue::from_str(value).ok());
                headers.extend(value.map(|value| (name, value)));
            }
        }
        headers
    }

    /// Returns the headers that say who asks.
    fn own_headers(&self) -> impl Iterator<Item = (&'static str, HeaderValue)> {
        let token = self.token.clone().map(|token| ("authorization", token));
        let session = self.session.clone().map(|session| (SESSION, session));
        token.into_iter().chain(session)
    }

    /// Says goodbye, where the server keeps a session.
    pub(super) async fn leave(self) {
        if self.session.is_some() {
            let (client, headers) = (self.client.clone(), self.own_headers().collect::<Vec<_>>());
            let goodbye = waiting(move || client.send(Method::DELETE, &headers, &[]).map(|_| ()));
            let _ = tokio::time::timeout(LEAVE, goodbye).await;
        }
    }
}

/// Does work that waits, on a thread for that.
async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err("the work was not finished".to_owned()))
}

/// Reads what a server answers; for a request, `id`, returns its answer.
fn read(response: Response, id: Option<u64>) -> Result<Option<Value>, String> {
    let status = response.status;
    let Some(id) = id else {
        return if status.is_success() { Ok(None) } else { Err(refused(status)) };
    };
    let kind = response.header(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_stream = kind.is_some_and(|kind| kind.starts_with(EVENTS));
    let mut body = response.body();
    let answer = if is_stream {
        from_events(&mut body, id)?
    } else {
        serde_json::from_slice::<Value>(&whole(&mut body)?).ok()
    };
    // An error of the protocol may come with any status, and without an id where the request was not understood.
    let is_it =
        |answer: &Value| answer.get("id") == Some(&json!(id)) || answer["error"]["code"].is_i64();
    match answer.filter(is_it) {
        Some(answer) => Ok(Some(answer)),
        None if status.is_success() => Err("its answer is not one of the protocol".to_owned()),
        None => Err(refused(status)),
    }
}

/// Returns true for what a header can hold as it is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn refused(status: StatusCode) -> String {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("it answers {status}: --token-env names the variable with a token")
        }
        status if status.is_redirection() => {
            format!("it answers {status}: redirections are not followed; name where it leads")
        }
        status => format!("it answers {status}"),
    }
}

fn whole(body: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    body.take(limit(0)).read_to_end(&mut bytes).map_err(|error| cause(&error))?;
    if bytes.len() > MAX_MESSAGE { Err(too_much()) } else { Ok(bytes) }
}

/// Returns how many bytes may still be read of a message, and one more by which it is too large.
fn limit(read: usize) -> u64 {
    u64::try_from(MAX_MESSAGE.saturating_sub(read)).unwrap_or(u64::MAX).saturating_add(1)
}

fn cause(error: &io::Error) -> String {
    innermost(error)
}

fn too_much() -> String {
    format!("it sends more than {} MiB in one answer", MAX_MESSAGE >> 20)
}

/// Reads events until one is the answer to the request `id`. Progress and questions of the server come before it.
fn from_events(body: &mut impl BufRead, id: u64) -> Result<Option<Value>, String> {
    let mut data = String::new();
    loop {
        let mut line = Vec::new();
        let most = limit(data.len());
        body.take(most).read_until(b'\n', &mut line).map_err(|error| cause(&error))?;
        if line.len() + data.len() > MAX_MESSAGE {
            return Err(too_much());
        }
        // What a stream ends in the middle of is no event.
        if !line.ends_with(b"\n") {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(text) = line.strip_prefix("data:") {
            data += text.strip_prefix(' ').unwrap_or(text);
            data.push('\n');
        } else if line.is_empty() {
            let message = serde_json::from_str::<Value>(&data).ok();
            data.clear();
            let is_it = |message: &Value| {
                message.get("method").is_none() && message.get("id") == Some(&json!(id))
            };
            if let Some(answer) = message.filter(is_it) {
                return Ok(Some(answer));
            }
        }
    }
}
