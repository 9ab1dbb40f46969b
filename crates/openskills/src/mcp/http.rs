//! The Streamable HTTP transport: one endpoint, `/mcp`, by default only on this machine.
//!
//! Before a request reaches the server, its path, its token, its host and its origin are checked. Web pages of other
//! origins cannot connect, whatever host name they use for this machine.

mod events;
mod origins;
pub(super) mod sessions;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming as IncomingBody, SizeHint};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use openskills_runtime::Cancel;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use skill::Digest;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::events::{AnyBody, Events};
use self::origins::Origins;
use self::sessions::{SessionUse, Sessions, UseKind};
use super::ServeConfig;
use super::ask::ClientProof;
use super::clients::Connection;
use super::incoming::{self, Incoming, Message};
use super::server::Server;
use super::write_timeout::WriteTimeout;
use crate::signals::{self, AfterRuns};

const PATH: &str = "/mcp";
/// The maximum number of connections at once; more have to wait. Event streams opened with GET have their own limit, so
/// that they never block requests.
const MAX_CONNECTIONS: usize = 512;
const MAX_STREAMS: usize = 512;
/// How long a client may take to send the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a write to a client may be blocked.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a client may take to send the body of a request, and the maximum size of the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_BODY: usize = 4 << 20;
/// How often something is written to a waiting client, to notice when it has disconnected.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// A response that is ready within this time is sent as JSON. A later one is sent as an event stream, which can carry
/// keep-alives and progress before it.
const JSON_TIMEOUT: Duration = Duration::from_millis(500);
/// The minimum length of a token.
const MIN_TOKEN: usize = 16;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The library requires this `Accept` header in every request. This module handles what the client really accepts.
const JSON_AND_EVENTS: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

/// The options of the HTTP server.
#[derive(Debug, Clone)]
pub(crate) struct HttpOptions {
    pub(crate) address: SocketAddr,
    /// The token that clients must send.
    pub(crate) token: Option<String>,
    /// The host names that clients may use, in addition to the address.
    pub(crate) hosts: Vec<String>,
    /// The origins of web pages that may connect, in addition to the server's own.
    pub(crate) origins: Vec<String>,
}

impl HttpOptions {
    /// Rejects options that would let anyone connect.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.token {
            None if !self.address.ip().is_loopback() => Err(format!(
                "{} can be reached from other machines, so a token is required",
                self.address
            )),
            Some(token) if token.len() < MIN_TOKEN => Err(format!(
                "the token has {} characters; at least {MIN_TOKEN} are required",
                token.len()
            )),
            Some(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err("the token contains a character that is not allowed in an HTTP header"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Serves any number of clients until the process is terminated. Calls `on_listening` with the URL.
pub(crate) async fn serve_http(
    config: ServeConfig,
    options: HttpOptions,
    on_listening: impl FnOnce(&str),
) -> anyhow::Result<()> {
    options.check().map_err(anyhow::Error::msg)?;
    let listener =
        listen(options.address).with_context(|| format!("cannot listen on {}", options.address))?;
    let address = listener.local_addr().context("cannot get the address of the listener")?;
    let proof = if options.token.is_some() { ClientProof::Proven } else { ClientProof::Unproven };
    let server = Server::new(config, proof);
    let runs = server.runs().clone();
    signals::watch(&runs, AfterRuns::Exit)?;
    let (hosts, origins) = allowed_hosts_and_origins(&options, address);
    let http_config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins.all())
        .enforce_origin_validation()
        .with_sse_retry(None)
        .with_sse_keep_alive(Some(KEEP_ALIVE_INTERVAL));
    let shutdown = http_config.cancellation_token.clone();
    let new_server = move || Ok(server.clone());
    let sessions = Sessions::new();
    let service = StreamableHttpService::new(new_server, sessions.manager(), http_config);
    on_listening(&format!("http://{address}{PATH}"));
    let token = options.token.as_deref().map(digest);
    let stream_permits = Arc::new(Semaphore::new(MAX_STREAMS));
    let gate = Arc::new(Gate { service, sessions, token, origins, stream_permits });
    accept(listener, gate).await;
    shutdown.cancel();
    runs.cancel();
    Ok(())
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    // As many connections as are allowed at once may also wait to be accepted.
    socket.listen(1024)
}

/// Returns the host names that clients may use, and the origins of web pages that may connect.
fn allowed_hosts_and_origins(options: &HttpOptions, address: SocketAddr) -> (Vec<String>, Origins) {
    let port = address.port();
    let mut hosts = vec![address.ip().to_string()];
    if address.ip().is_loopback() {
        hosts.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    }
    let in_url = |host: &String| {
        if host.contains(':') { format!("[{host}]") } else { host.clone() }
    };
    let own = hosts.iter().map(|host| format!("http://{}:{port}", in_url(host)));
    let origins = Origins::new(own.chain(options.origins.iter().cloned()));
    hosts.extend(options.hosts.iter().cloned());
    (hosts, origins)
}

async fn accept(listener: TcpListener, gate: Arc<Gate>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    for number in 0_u64.. {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or the client disconnected at once. Later connections may still succeed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let gate = Arc::clone(&gate);
        let permit = Arc::new(Mutex::new(Some(permit)));
        tokio::spawn(async move {
            let connection_permit = Arc::clone(&permit);
            let service = service_fn(move |request: Request<IncomingBody>| {
                let gate = Arc::clone(&gate);
                // An event stream stays open, so it does not count as a connection.
                if request.method() == Method::GET {
                    connection_permit.lock().unwrap_or_else(PoisonError::into_inner).take();
                }
                async move { Ok::<_, Infallible>(gate.respond(request, Connection(number)).await) }
            });
            // An error of one connection concerns only its client.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .serve_connection(TokioIo::new(WriteTimeout::new(stream, WRITE_TIMEOUT)), service)
                .await;
            drop(permit);
        });
    }
}

/// Checks requests before they reach the server.
struct Gate {
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Sessions,
    token: Option<Digest>,
    origins: Origins,
    stream_permits: Arc<Semaphore>,
}

type HttpResponse = Response<AnyBody>;

/// Returns the digest of a token. Digests are compared instead of tokens, so that timing reveals nothing about the
/// token.
fn digest(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

impl Gate {
    /// Responds to a request. Adds CORS headers for allowed origins.
    async fn respond(
        &self,
        request: Request<IncomingBody>,
        connection: Connection,
    ) -> HttpResponse {
        let origin = self.origins.allowed(request.headers());
        let is_preflight = request.method() == Method::OPTIONS;
        let mut response = match origin {
            Some(_) if is_preflight => {
                let mut response = text(StatusCode::NO_CONTENT, "");
                origins::add_preflight_headers(response.headers_mut());
                response
            }
            _ => self.admit(request, connection).await,
        };
        if let Some(origin) = origin {
            origins::add_cors_headers(origin, response.headers_mut());
        }
        response
    }

    /// Checks a request and passes it to the server, or rejects it.
    async fn admit(&self, request: Request<IncomingBody>, connection: Connection) -> HttpResponse {
        if !has_one_host(&request) {
            return text(
                StatusCode::BAD_REQUEST,
                "the request must name exactly one host, without user information",
            );
        }
        if request.uri().path() != PATH {
            return text(StatusCode::NOT_FOUND, "skills are served at /mcp");
        }
        if !self.is_authorized(request.headers().get(AUTHORIZATION)) {
            let mut response = text(StatusCode::UNAUTHORIZED, "a valid token is required");
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            return response;
        }
        let (mut head, body) = request.into_parts();
        // Event streams cannot be resumed.
        head.headers.remove("last-event-id");
        head.extensions.insert(connection);
        let body = Limited::new(body, MAX_BODY).collect();
        let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return text(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "the request body is larger than 4 MiB",
                );
            }
            Ok(Err(_)) => return text(StatusCode::BAD_REQUEST, "the request body is incomplete"),
            Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the request timed out"),
        };
        if head.method != Method::POST {
            let is_delete = head.method == Method::DELETE;
            let mut guards = RequestGuards::default();
            if head.method == Method::GET {
                let Ok(permit) = Arc::clone(&self.stream_permits).try_acquire_owned() else {
                    return text(StatusCode::SERVICE_UNAVAILABLE, "too many open streams");
                };
                let session_use = self.sessions.begin_use(&mut head, UseKind::Stream, None);
                guards = RequestGuards {
                    _permit: Some(permit),
                    _session_use: session_use.ok().flatten(),
                };
            }
            let mut response = self.forward(head, body, Accepts::EventsOnly, guards).await;
            // The clients of the official SDKs treat 202 as a failure here.
            if is_delete && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::OK;
            }
            // The connection has given up its permit, so it must not be used for another request.
            if !is_delete {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            return response;
        }
        match incoming::read(&body) {
            Incoming::Empty => text(StatusCode::BAD_REQUEST, "the request body is empty"),
            Incoming::Single(Err(error)) => json(StatusCode::BAD_REQUEST, &error),
            Incoming::Single(Ok(message)) => {
                let method = message.get("method").and_then(Value::as_str);
                if method == Some("initialize") {
                    self.sessions.evict_oldest().await;
                }
                let accepts = match method {
                    Some("subscriptions/listen") => Accepts::EventsOnly,
                    _ => Accepts::of(&head.headers),
                };
                let id = message.get("id").filter(|_| method.is_some());
                let session_use = match self.sessions.begin_use(&mut head, UseKind::Request, id) {
                    Ok(session_use) => session_use,
                    Err(id) => return json(StatusCode::BAD_REQUEST, &incoming::duplicate_id(&id)),
                };
                let guards = RequestGuards { _permit: None, _session_use: session_use };
                head.headers.insert(ACCEPT, JSON_AND_EVENTS);
                self.forward(head, body, accepts, guards).await
            }
            Incoming::Batch(all) => self.batch(&head, all).await,
        }
    }

    /// Passes one message to the server. If the client disconnects before the end of the response, the operation is
    /// canceled.
    async fn forward(
        &self,
        mut head: Parts,
        body: Bytes,
        accepts: Accepts,
        guards: RequestGuards,
    ) -> HttpResponse {
        let cancel = Cancel::default();
        head.extensions.insert(cancel.clone());
        let pending = PendingRequest { cancel: Some(cancel), _guards: guards };
        let request = Request::from_parts(head, Full::new(body));
        let (mut head, body) = self.service.handle(request).await.into_parts();
        if !is_stream(&head.headers) {
            return Response::from_parts(head, PendingBody { body, pending }.boxed());
        }
        let events = Events::new(body);
        let result = match accepts {
            Accepts::EventsOnly => Err(events),
            Accepts::Both => events.only_response(JSON_TIMEOUT).await,
            Accepts::JsonOnly => Ok(events.response().await.unwrap_or_default()),
        };
        match result {
            Ok(message) => {
                pending.complete();
                head.headers.insert(CONTENT_TYPE, JSON);
                Response::from_parts(head, Full::new(Bytes::from(message)).boxed())
            }
            Err(events) => {
                Response::from_parts(head, PendingBody { body: events, pending }.boxed())
            }
        }
    }

    /// Passes the messages of a batch to the server one by one, and returns all responses at once.
    async fn batch(&self, head: &Parts, all: Vec<Message>) -> HttpResponse {
        let mut responses = Vec::new();
        for message in all {
            let message = match message {
                Ok(message) => message,
                Err(error) => {
                    responses.push(error);
                    continue;
                }
            };
            let body = Bytes::from(message.to_string());
            let mut head = head.clone();
            head.headers.insert(ACCEPT, JSON_AND_EVENTS);
            let guards = RequestGuards::default();
            let response = self.forward(head, body, Accepts::EventsOnly, guards).await;
            let (head, body) = response.into_parts();
            let message = if is_stream(&head.headers) {
                Events::new(body).response().await
            } else if head.headers.get(CONTENT_TYPE) == Some(&JSON) {
                body.collect().await.ok().map(|body| body.to_bytes().to_vec())
            } else if head.status == StatusCode::ACCEPTED {
                continue;
            } else {
                // The session has ended or the headers are invalid, which is the same for all messages.
                return Response::from_parts(head, body);
            };
            let message = message.and_then(|message| serde_json::from_slice(&message).ok());
            responses.extend(message);
        }
        if responses.is_empty() {
            return text(StatusCode::ACCEPTED, "");
        }
        json(StatusCode::OK, &Value::Array(responses))
    }

    fn is_authorized(&self, header: Option<&HeaderValue>) -> bool {
        let Some(token) = &self.token else { return true };
        let given = header.and_then(|value| value.to_str().ok()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| digest(token.trim()))
        });
        given.is_some_and(|given| given == *token)
    }
}

/// Returns true if a request has exactly one `Host` header, and no other host in its URI. The library checks whether
/// the host is allowed.
fn has_one_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let authority = request.uri().authority();
    host.chars().all(is_plain)
        && authority.is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(host))
}

/// The formats that a client accepts for a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepts {
    Both,
    JsonOnly,
    EventsOnly,
}

impl Accepts {
    /// Reads the `Accept` headers.
    fn of(headers: &HeaderMap) -> Self {
        let accepts = |kind: &str| {
            let given = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let mut kinds = given.flat_map(|value| value.split(','));
            kinds.any(|one| one.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(kind))
        };
        let accepts_any = accepts("*/*") || !headers.contains_key(ACCEPT);
        let json = accepts_any || accepts("application/json") || accepts("application/*");
        let events = accepts_any || accepts("text/event-stream") || accepts("text/*");
        match (json, events) {
            (true, true) => Self::Both,
            (true, false) => Self::JsonOnly,
            (false, _) => Self::EventsOnly,
        }
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn json(status: StatusCode, value: &Value) -> HttpResponse {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

fn text(status: StatusCode, text: &'static str) -> HttpResponse {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

/// A request whose response is not complete. If it is dropped before, the operation is canceled.
struct PendingRequest {
    cancel: Option<Cancel>,
    _guards: RequestGuards,
}

/// What a request holds until it is complete.
#[derive(Default)]
struct RequestGuards {
    _permit: Option<OwnedSemaphorePermit>,
    _session_use: Option<SessionUse>,
}

impl PendingRequest {
    /// Marks the response as complete.
    fn complete(mut self) {
        self.cancel = None;
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            cancel.cancel();
        }
    }
}

/// The body of a response to a pending request.
struct PendingBody<B> {
    body: B,
    pending: PendingRequest,
}

impl<B: Body<Data = Bytes, Error = Infallible> + Unpin> Body for PendingBody<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.pending.cancel = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(address: &str, token: Option<&str>) -> HttpOptions {
        let token = token.map(str::to_owned);
        let address = address.parse().unwrap();
        HttpOptions { address, token, hosts: Vec::new(), origins: Vec::new() }
    }

    #[test]
    fn a_token_is_required_if_other_machines_can_connect() {
        for (address, token, is_valid) in [
            ("127.0.0.1:0", None, true),
            ("[::1]:0", None, true),
            ("0.0.0.0:0", None, false),
            ("[::]:0", None, false),
            ("192.0.2.1:80", None, false),
            ("0.0.0.0:0", Some("0123456789abcdef"), true),
            ("0.0.0.0:0", Some("short"), false),
            ("127.0.0.1:0", Some(""), false),
            ("127.0.0.1:0", Some("0123456789abcdef\n"), false),
        ] {
            assert_eq!(options(address, token).check().is_ok(), is_valid, "{address} {token:?}");
        }
    }
}
