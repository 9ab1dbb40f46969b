//! A server on the network: a POST for each message, answered with JSON or with a stream of events.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment has the token")]

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};

use super::{ANSWER, MAX_MESSAGE};

const SESSION: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A server that is reached by its address.
pub(super) struct Web {
    client: Client,
    url: String,
    token: Option<HeaderValue>,
    session: Option<HeaderValue>,
    /// The revision that was agreed on; every request names it.
    pub(super) version: &'static str,
}

impl Web {
    pub(super) fn reach(url: &str, token_env: Option<&str>) -> Result<Self, String> {
        // Whoever was first has chosen; there is only one choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            // A token goes with every request, so no other server may get one.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(ANSWER)
            .build()
            .map_err(|error| error.to_string())?;
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
        Ok(Self { client, url: url.to_owned(), token, session: None, version: "" })
    }

    /// Sends a message; for a request, `id`, returns its answer.
    pub(super) async fn exchange(
        &mut self,
        message: &Value,
        id: Option<u64>,
    ) -> Result<Option<Value>, String> {
        let mut request = self.client.post(&self.url).body(message.to_string());
        request = request.header(CONTENT_TYPE, JSON).header(ACCEPT, format!("{JSON}, {EVENTS}"));
        if let Some(token) = &self.token {
            request = request.header(reqwest::header::AUTHORIZATION, token);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session);
        }
        if !self.version.is_empty() {
            request = request.header(PROTOCOL_VERSION, self.version);
            if let Some(method) = message["method"].as_str() {
                request = request.header(METHOD, method);
            }
            if let Some(uri) = message["params"]["uri"].as_str().filter(|uri| is_plain(uri)) {
                request = request.header(NAME, uri);
            }
        }
        let response = request.send().await.map_err(|error| cause(&error))?;
        if let Some(session) = response.headers().get(SESSION) {
            self.session = Some(session.clone());
        }
        let status = response.status();
        let Some(id) = id else {
            return if status.is_success() { Ok(None) } else { Err(refused(status)) };
        };
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.starts_with(EVENTS));
        let answer = if is_stream {
            from_events(response, id).await?
        } else {
            let bytes = whole(response).await?;
            serde_json::from_slice::<Value>(&bytes).ok()
        };
        // An error of the protocol may come with any status, and without an id where the request was not understood.
        let is_it = |answer: &Value| {
            answer.get("id") == Some(&json!(id)) || answer["error"]["code"].is_i64()
        };
        match answer.filter(is_it) {
            Some(answer) => Ok(Some(answer)),
            None if status.is_success() => Err("its answer is not one of the protocol".to_owned()),
            None => Err(refused(status)),
        }
    }

    /// Says goodbye, where the server keeps a session.
    pub(super) async fn leave(self) {
        if let Some(session) = &self.session {
            let mut request = self.client.delete(&self.url).header(SESSION, session);
            if let Some(token) = &self.token {
                request = request.header(reqwest::header::AUTHORIZATION, token);
            }
            let _ = tokio::time::timeout(std::time::Duration::from_secs(2), request.send()).await;
        }
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

/// Returns the innermost reason, which is the one that says something.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

async fn whole(mut response: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cause(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_MESSAGE {
            return Err(too_much());
        }
    }
    Ok(bytes)
}

fn too_much() -> String {
    format!("it sends more than {} MiB in one answer", MAX_MESSAGE >> 20)
}

/// Reads events until one is the answer to the request `id`. Progress and questions of the server come before it.
async fn from_events(mut response: Response, id: u64) -> Result<Option<Value>, String> {
    let (mut begun, mut data) = (Vec::new(), String::new());
    while let Some(chunk) = response.chunk().await.map_err(|error| cause(&error))? {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            begun.extend_from_slice(part);
            if !part.ends_with(b"\n") {
                continue;
            }
            let line = String::from_utf8_lossy(&begun).into_owned();
            begun.clear();
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
        if begun.len() + data.len() > MAX_MESSAGE {
            return Err(too_much());
        }
    }
    Ok(None)
}
