//! A session with a server: the handshake of the newest revision or else of an older one, then requests and responses.
//!
//! Responses are parsed as plain JSON. The library would take a result with `_meta` for the result of a tool, and drop
//! its other fields.

use std::time::Duration;

use openskills_runtime::{ServerAddress, SkillServer};
use serde_json::{Map, Value, json};

use super::http::HttpServer;
use super::stdio::StdioServer;
use super::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT};

/// The newest revision of the protocol. Its requests carry the client's name, so it needs no handshake.
const NEWEST: &str = "2026-07-28";
/// The revision that is requested from older servers. They respond with a revision that they support.
const DEFAULT_OLDER: &str = "2025-11-25";
/// The supported older revisions, oldest first.
const OLDER_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", DEFAULT_OLDER];
/// How long a stdio server may take to respond to `server/discover`. Some older servers do not respond to it at all.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(10);
/// The error code of a server that does not support the revision of a request.
const UNSUPPORTED_VERSION: i64 = -32022;
/// The error codes of a server that does not have what was requested: invalid parameters, resource not found (in older
/// revisions), method not found.
const NOT_FOUND: [i64; 3] = [-32602, -32002, -32601];

/// A connection to a server.
pub(super) struct Session {
    transport: Transport,
    last_id: u64,
    is_newest: bool,
    /// The capabilities that the server declares.
    pub(super) capabilities: Value,
}

enum Transport {
    Stdio(Box<StdioServer>),
    Http(HttpServer),
}

/// Why a request failed.
enum Failure {
    /// The server returned an error.
    Rpc(RpcError),
    /// There was no response within this time.
    TimedOut(Duration),
    /// The transport failed.
    Transport(String),
}

/// A JSON-RPC error.
struct RpcError {
    code: i64,
    message: String,
    /// The revisions that the server supports, if it does not support the requested one.
    supported: Option<Vec<String>>,
}

impl RpcError {
    fn parse(error: &Value) -> Self {
        let message = error["message"].as_str().unwrap_or("it returned an error without a message");
        let code = error["code"].as_i64().unwrap_or_default();
        let is_version_error = code == UNSUPPORTED_VERSION;
        let supported = error["data"]["supported"]
            .as_array()
            .filter(|_| is_version_error)
            .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>());
        Self { code, message: message.to_owned(), supported }
    }
}

impl Session {
    /// Connects to a server.
    pub(super) async fn open(server: &SkillServer) -> Result<Self, String> {
        let transport = match &server.address {
            ServerAddress::Command { command, env } => {
                StdioServer::start(command, env).map(|server| Transport::Stdio(Box::new(server)))
            }
            ServerAddress::Url { url, token_env } => {
                HttpServer::new(url, token_env.as_deref()).map(Transport::Http)
            }
        };
        let connect_error = |error: String| format!("cannot connect: {error}");
        let transport = transport.map_err(connect_error)?;
        let capabilities = Value::Null;
        let mut session = Self { transport, last_id: 0, is_newest: true, capabilities };
        match session.handshake().await {
            Ok(()) => Ok(session),
            Err(error) => {
                session.close().await;
                Err(connect_error(error))
            }
        }
    }

    async fn handshake(&mut self) -> Result<(), String> {
        self.set_version(NEWEST);
        let timeout = match self.transport {
            Transport::Stdio(_) => DISCOVER_TIMEOUT,
            Transport::Http(_) => RESPONSE_TIMEOUT,
        };
        let mut found = self.send("server/discover", json!({}), timeout).await;
        let mut older = DEFAULT_OLDER;
        if let Err(Failure::Rpc(RpcError { supported: Some(supported), .. })) = &found {
            let is_supported = |version: &&str| supported.iter().any(|known| known == version);
            if is_supported(&NEWEST) {
                found = self.send("server/discover", json!({}), timeout).await;
            } else {
                older =
                    OLDER_REVISIONS.into_iter().rev().find(is_supported).unwrap_or(DEFAULT_OLDER);
            }
        }
        match found {
            Ok(found) => {
                let versions = found["supportedVersions"].as_array();
                if versions.is_some_and(|all| all.contains(&json!(NEWEST))) {
                    self.capabilities = found["capabilities"].clone();
                    return Ok(());
                }
            }
            Err(Failure::Rpc(..) | Failure::TimedOut(_)) => {}
            // Older HTTP servers reject a request before the handshake with only a status code.
            Err(Failure::Transport(error)) if matches!(self.transport, Transport::Stdio(_)) => {
                return Err(error);
            }
            Err(Failure::Transport(_)) => {}
        }
        self.is_newest = false;
        self.set_version("");
        let params =
            json!({"protocolVersion": older, "capabilities": {}, "clientInfo": client_info()});
        let found = self.send("initialize", params, CONNECT_TIMEOUT).await;
        let found = found.map_err(Failure::message)?;
        self.capabilities = found["capabilities"].clone();
        let agreed = found["protocolVersion"].as_str().unwrap_or(older);
        self.set_version(known_version(agreed));
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        match &mut self.transport {
            Transport::Stdio(server) => server.send(&message).await,
            Transport::Http(server) => server.exchange(&message, None).await.map(|_| ()),
        }
    }

    fn set_version(&mut self, version: &'static str) {
        if let Transport::Http(server) = &mut self.transport {
            server.version = version;
        }
    }

    /// Sends a request and returns the result.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let result = self.send(method, params, RESPONSE_TIMEOUT).await;
        check_complete(result.map_err(|failure| self.failure_message(failure))?)
    }

    /// Requests something that the server may not have. The inner error is the server's reason for not having it.
    pub(super) async fn request_optional(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, String>, String> {
        match self.send(method, params, RESPONSE_TIMEOUT).await {
            Ok(result) => check_complete(result).map(Ok),
            Err(Failure::Rpc(error)) if NOT_FOUND.contains(&error.code) => Ok(Err(error.message)),
            Err(failure) => Err(self.failure_message(failure)),
        }
    }

    /// Returns the message of a failure. For an error from a stdio server, adds the end of its stderr.
    fn failure_message(&self, failure: Failure) -> String {
        match (&self.transport, failure) {
            (Transport::Stdio(server), Failure::Rpc(error)) => server.with_stderr(&error.message),
            (_, failure) => failure.message(),
        }
    }

    async fn send(
        &mut self,
        method: &str,
        mut params: Value,
        timeout: Duration,
    ) -> Result<Value, Failure> {
        self.last_id += 1;
        let id = self.last_id;
        if let (true, Value::Object(params)) = (self.is_newest, &mut params) {
            params.insert("_meta".to_owned(), Value::Object(meta()));
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let exchange = async {
            match &mut self.transport {
                Transport::Stdio(server) => {
                    server.send(&message).await?;
                    server.response(id).await.map(Some)
                }
                Transport::Http(server) => server.exchange(&message, Some(id)).await,
            }
        };
        let response = tokio::time::timeout(timeout, exchange).await;
        let response =
            response.map_err(|_| Failure::TimedOut(timeout))?.map_err(Failure::Transport)?;
        let mut response = response.unwrap_or_default();
        match response.get("error") {
            None => Ok(response["result"].take()),
            Some(error) => Err(Failure::Rpc(RpcError::parse(error))),
        }
    }

    pub(super) async fn close(self) {
        match self.transport {
            Transport::Stdio(server) => server.close().await,
            Transport::Http(server) => server.close().await,
        }
    }
}

impl Failure {
    fn message(self) -> String {
        match self {
            Self::Rpc(error) => error.message,
            Self::Transport(error) => error,
            Self::TimedOut(timeout) => format!("no response within {}s", timeout.as_secs()),
        }
    }
}

/// Checks that a result is complete.
fn check_complete(result: Value) -> Result<Value, String> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => Ok(result),
        Some(other) => {
            Err(format!("its response has the result type `{other}`; expected `complete`"))
        }
    }
}

fn client_info() -> Value {
    json!({"name": "openskills", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns the metadata of a request of the newest revision.
fn meta() -> Map<String, Value> {
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    let all = [
        (key("protocolVersion"), json!(NEWEST)),
        (key("clientInfo"), client_info()),
        (key("clientCapabilities"), json!({})),
    ];
    all.into_iter().collect()
}

/// Returns a supported older revision by its name; the default for an unknown name.
fn known_version(name: &str) -> &'static str {
    OLDER_REVISIONS.into_iter().find(|known| *known == name).unwrap_or(DEFAULT_OLDER)
}
