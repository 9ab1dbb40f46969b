//! A server that is reached by URL (Streamable HTTP): every message is a POST, and the response is JSON or an event
//! stream.
//!
//! Requests block a separate thread. The caller decides how long it waits for them.

#![expect(clippy::disallowed_methods, reason = "the edge: the token is in the environment")]

use std::io::{BufRead, Read};
use std::time::Duration;

use serde_json::{Value, json};

use super::{CONNECT_TIMEOUT, MAX_MESSAGE};
use crate::http::{Client, HeaderValue, Method, Response, StatusCode, innermost};

const SESSION: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const CONTENT_TYPE: &str = "content-type";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The timeout of a request. It is longer than any caller waits, and ends requests that callers have abandoned.
const REQUEST_TIMEOUT: Duration = CONNECT_TIMEOUT.saturating_add(Duration::from_secs(5));
/// How long a server may take to end a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that is reached by URL.
pub(super) struct HttpServer {
    client: Client,
    token: Option<HeaderValue>,
    session: Option<HeaderValue>,
    /// The negotiated revision of the protocol, which every request carries.
    pub(super) version: &'static str,
}

impl HttpServer {
    pub(super) fn new(url: &str, token_env: Option<&str>) -> Result<Self, String> {
        let token = match token_env {
            None => None,
            Some(name) => {
                let token = std::env::var(name)
                    .map_err(|_| format!("environment variable `{name}` is not set"))?;
                let mut value =
                    HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
                        format!("environment variable `{name}` does not contain a valid token")
                    })?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self { client: Client::new(url, REQUEST_TIMEOUT), token, session: None, version: "" })
    }

    /// Sends a message. If it is a request, with an `id`, returns the response.
    pub(super) async fn exchange(
        &mut self,
        message: &Value,
        id: Option<u64>,
    ) -> Result<Option<Value>, String> {
        let (client, headers, body) =
            (self.client.clone(), self.headers(message), message.to_string());
        let (session, response) = blocking(move || {
            let response = client.send(Method::POST, &headers, body.as_bytes())?;
            Ok((response.header(SESSION).cloned(), read(response, id)))
        })
        .await?;
        self.session = session.or(self.session.take());
        response
    }

    fn headers(&self, message: &Value) -> Vec<(&'static str, HeaderValue)> {
        let mut headers = vec![
            (CONTENT_TYPE, HeaderValue::from_static(JSON)),
            ("accept", HeaderValue::from_static("application/json, text/event-stream")),
        ];
        headers.extend(self.session_headers());
        if !self.version.is_empty() {
            headers.push((PROTOCOL_VERSION, HeaderValue::from_static(self.version)));
            let message_headers = [(METHOD, &message["method"]), (NAME, &message["params"]["uri"])];
            for (name, value) in message_headers {
                let value = value.as_str().filter(|value| is_header_value(value));
                let value = value.and_then(|value| HeaderValue::from_str(value).ok());
                headers.extend(value.map(|value| (name, value)));
            }
        }
        headers
    }

    /// Returns the headers with the token and the session ID.
    fn session_headers(&self) -> impl Iterator<Item = (&'static str, HeaderValue)> {
        let token = self.token.clone().map(|token| ("authorization", token));
        let session = self.session.clone().map(|session| (SESSION, session));
        token.into_iter().chain(session)
    }

    /// Ends the session, if the server has one.
    pub(super) async fn close(self) {
        if self.session.is_some() {
            let (client, headers) =
                (self.client.clone(), self.session_headers().collect::<Vec<_>>());
            let request = blocking(move || client.send(Method::DELETE, &headers, &[]).map(|_| ()));
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, request).await;
        }
    }
}

/// Runs blocking work on a separate thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|_| Err("the operation did not finish".to_owned()))
}

/// Reads an HTTP response. If it is for a request, with an `id`, returns the JSON-RPC response.
fn read(response: Response, id: Option<u64>) -> Result<Option<Value>, String> {
    let status = response.status;
    let Some(id) = id else {
        return if status.is_success() { Ok(None) } else { Err(status_error(status)) };
    };
    let kind = response.header(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_stream = kind.is_some_and(|kind| kind.starts_with(EVENTS));
    let mut body = response.body();
    let message = if is_stream {
        read_events(&mut body, id)?
    } else {
        serde_json::from_slice::<Value>(&read_body(&mut body)?).ok()
    };
    // A JSON-RPC error may come with any status, and without an id if the request was not understood.
    let is_response = |message: &Value| {
        message.get("id") == Some(&json!(id)) || message["error"]["code"].is_i64()
    };
    match message.filter(is_response) {
        Some(response) => Ok(Some(response)),
        None if status.is_success() => Err("its response is not a valid MCP message".to_owned()),
        None => Err(status_error(status)),
    }
}

/// Returns true if a text can be a header value without encoding.
fn is_header_value(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn status_error(status: StatusCode) -> String {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!(
                "it returned {status}; pass the variable that holds a valid token with --token-env"
            )
        }
        status if status.is_redirection() => {
            format!(
                "it returned {status}; openskills does not follow redirects, so use the target URL"
            )
        }
        status => format!("it returned {status}"),
    }
}

fn read_body(body: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    body.take(read_limit(0)).read_to_end(&mut bytes).map_err(|error| innermost(&error))?;
    if bytes.len() > MAX_MESSAGE { Err(too_large()) } else { Ok(bytes) }
}

/// Returns how many more bytes to read of a message: one more than allowed, to notice when it is too large.
fn read_limit(read: usize) -> u64 {
    u64::try_from(MAX_MESSAGE.saturating_sub(read)).unwrap_or(u64::MAX).saturating_add(1)
}

fn too_large() -> String {
    format!("its response is larger than {} MiB", MAX_MESSAGE >> 20)
}

/// Reads events up to the response to the request `id`. Notifications and requests of the server may come before it.
fn read_events(body: &mut impl BufRead, id: u64) -> Result<Option<Value>, String> {
    let mut data = String::new();
    loop {
        let mut line = Vec::new();
        let limit = read_limit(data.len());
        body.take(limit).read_until(b'\n', &mut line).map_err(|error| innermost(&error))?;
        if line.len() + data.len() > MAX_MESSAGE {
            return Err(too_large());
        }
        // An incomplete event at the end of the stream is ignored.
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
            let is_response = |message: &Value| {
                message.get("method").is_none() && message.get("id") == Some(&json!(id))
            };
            if let Some(response) = message.filter(is_response) {
                return Ok(Some(response));
            }
        }
    }
}
