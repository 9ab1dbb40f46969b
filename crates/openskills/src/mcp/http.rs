//! Streamable HTTP: one address, `/mcp`, on this machine unless somebody says otherwise.
//!
//! Before a request reaches the server: its path, the token, and the names of host and origin. A web page of another origin reaches nothing, by whatever name it calls
//! this machine.

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
use self::sessions::{InUse, Kind, Sessions};
use super::Served;
use super::ask::ClientProof;
use super::clients::Connection;
use super::incoming::{self, Incoming, Message};
use super::server::Server;
use super::stalled::Stalled;
use crate::signals::{self, AfterRuns};

/// The only path that is served.
const PATH: &str = "/mcp";
/// How many connections there may be at once; more wait. Streams for what the server says by itself are counted apart, so that they never keep a
/// request waiting.
const MOST_CONNECTIONS: usize = 512;
const MOST_STREAMS: usize = 512;
/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a client may take to read what is written to it.
const WRITE_TIME: Duration = Duration::from_secs(20);
/// How long it may take to send the rest of it, and how much that may be.
const BODY_TIME: Duration = Duration::from_secs(15);
const MAX_BODY: usize = 4 << 20;
/// How often a client that waits is written to: a client that has gone is noticed by that.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// How soon an answer must be there to be one message. One that takes longer is a stream, in which the client is told that somebody works on it.
const SOON: Duration = Duration::from_millis(500);
/// The shortest token.
const MIN_TOKEN: usize = 16;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// What the library wants every client to say that it takes; what a client really takes is seen to here.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// How to be reached.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    /// Where to listen.
    pub(crate) address: SocketAddr,
    /// What a client must know.
    pub(crate) token: Option<String>,
    /// By which names a client may call this machine, beside the address itself.
    pub(crate) hosts: Vec<String>,
    /// Which web pages may reach it, beside its own address.
    pub(crate) origins: Vec<String>,
}

impl Http {
    /// Refuses what would let strangers in.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.token {
            None if !self.address.ip().is_loopback() => Err(format!(
                "{} can be reached from other machines, so a token is needed",
                self.address
            )),
            Some(token) if token.len() < MIN_TOKEN => {
                Err(format!("the token has {} characters; it needs {MIN_TOKEN}", token.len()))
            }
            Some(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err("the token has a character that no header can hold".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Serves any number of clients, until the process is told to end. `told` is given the address.
pub(crate) async fn serve_http(
    served: Served,
    http: Http,
    told: impl FnOnce(&str),
) -> anyhow::Result<()> {
    http.check().map_err(anyhow::Error::msg)?;
    let listener =
        listen(http.address).with_context(|| format!("cannot listen on {}", http.address))?;
    let address = listener.local_addr().context("cannot tell where it listens")?;
    let proof = if http.token.is_some() { ClientProof::Proven } else { ClientProof::Anybody };
    let server = Server::new(served, proof);
    let running = server.running().clone();
    signals::watch(&running, AfterRuns::Exit)?;
    let (names, origins) = names(&http, address);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names)
        .with_allowed_origins(origins.all())
        .enforce_origin_validation()
        .with_sse_retry(None)
        .with_sse_keep_alive(Some(KEEP_ALIVE));
    let ends = config.cancellation_token.clone();
    let make = move || Ok(server.clone());
    let sessions = Sessions::new();
    let service = StreamableHttpService::new(make, sessions.manager(), config);
    told(&format!("http://{address}{PATH}"));
    let token = http.token.as_deref().map(digest);
    let streams = Arc::new(Semaphore::new(MOST_STREAMS));
    let gate = Arc::new(Gate { service, sessions, token, origins, streams });
    let accepting = accept(listener, gate);
    accepting.await;
    ends.cancel();
    running.cancel();
    Ok(())
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    // As many as may be at work may wait to be taken.
    socket.listen(1024)
}

/// Returns the names by which this machine may be called, and the web pages that may reach it.
fn names(http: &Http, address: SocketAddr) -> (Vec<String>, Origins) {
    let port = address.port();
    let mut names = vec![address.ip().to_string()];
    if address.ip().is_loopback() {
        names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    }
    let shown = |name: &String| {
        if name.contains(':') { format!("[{name}]") } else { name.clone() }
    };
    let own = names.iter().map(|name| format!("http://{}:{port}", shown(name)));
    let origins = Origins::new(own.chain(http.origins.iter().cloned()));
    names.extend(http.hosts.iter().cloned());
    (names, origins)
}

async fn accept(listener: TcpListener, gate: Arc<Gate>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    for number in 0_u64.. {
        let Ok(held) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a client that went at once: others may still come.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let gate = Arc::clone(&gate);
        let held = Arc::new(Mutex::new(Some(held)));
        tokio::spawn(async move {
            let place = Arc::clone(&held);
            let answer = service_fn(move |request: Request<IncomingBody>| {
                let gate = Arc::clone(&gate);
                // A stream that stays open gives its place to others.
                if request.method() == Method::GET {
                    place.lock().unwrap_or_else(PoisonError::into_inner).take();
                }
                async move { Ok::<_, Infallible>(gate.answer(request, Connection(number)).await) }
            });
            // What becomes of one connection is the client's own business.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .serve_connection(TokioIo::new(Stalled::new(stream, WRITE_TIME)), answer)
                .await;
            drop(held);
        });
    }
}

/// What stands before the server.
struct Gate {
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Sessions,
    token: Option<Digest>,
    origins: Origins,
    /// How many more streams there may be.
    streams: Arc<Semaphore>,
}

type Answer = Response<AnyBody>;

/// Digests are compared in place of tokens: how long that takes tells nothing of the token.
fn digest(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

impl Gate {
    /// Answers a request, and tells a browser which pages may read the answer.
    async fn answer(&self, request: Request<IncomingBody>, connection: Connection) -> Answer {
        let origin = self.origins.of(request.headers());
        // A browser asks what a page may send before the page sends it.
        let is_asked = request.method() == Method::OPTIONS;
        let mut answer = match origin {
            Some(_) if is_asked => {
                let mut answer = refusal(StatusCode::NO_CONTENT, "");
                origins::allow_request(answer.headers_mut());
                answer
            }
            _ => self.admit(request, connection).await,
        };
        if let Some(origin) = origin {
            origins::allow(origin, answer.headers_mut());
        }
        answer
    }

    /// Lets a request in, or refuses it.
    async fn admit(&self, request: Request<IncomingBody>, connection: Connection) -> Answer {
        if !names_one_host(&request) {
            return refusal(StatusCode::BAD_REQUEST, "a request names one host, without a user");
        }
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "skills are served at /mcp");
        }
        if !self.knows(request.headers().get(AUTHORIZATION)) {
            let mut refused = refusal(StatusCode::UNAUTHORIZED, "a token is needed");
            let bearer = HeaderValue::from_static("Bearer");
            refused.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            return refused;
        }
        let (mut head, body) = request.into_parts();
        // No stream can be taken up again, so none has a place to be taken up at.
        head.headers.remove("last-event-id");
        head.extensions.insert(connection);
        let body = Limited::new(body, MAX_BODY).collect();
        let body = match tokio::time::timeout(BODY_TIME, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, "a request has at most 4 MiB");
            }
            Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "the request ends too early"),
            Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the request takes too long"),
        };
        if head.method != Method::POST {
            let is_end = head.method == Method::DELETE;
            let mut stays = Stays::default();
            if head.method == Method::GET {
                let Ok(room) = Arc::clone(&self.streams).try_acquire_owned() else {
                    let told = "too many open streams";
                    return refusal(StatusCode::SERVICE_UNAVAILABLE, told);
                };
                let begun = self.sessions.begin(&mut head, Kind::Stream, None);
                stays = Stays { _room: Some(room), _in_use: begun.ok().flatten() };
            }
            let mut answer = self.pass(head, body, Taken::Stream, stays).await;
            // Clients of the official SDKs take 202 for a failure here.
            if is_end && answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::OK;
            }
            // A connection that gave up its place is not used again.
            if !is_end {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            return answer;
        }
        match incoming::read(&body) {
            Incoming::Nothing => refusal(StatusCode::BAD_REQUEST, "the request body is empty"),
            Incoming::One(Err(refused)) => json(StatusCode::BAD_REQUEST, &refused),
            Incoming::One(Ok(message)) => {
                let method = message.get("method").and_then(Value::as_str);
                if method == Some("initialize") {
                    self.sessions.make_room().await;
                }
                let taken = match method {
                    Some("subscriptions/listen") => Taken::Stream,
                    _ => Taken::of(&head.headers),
                };
                let id = message.get("id").filter(|_| method.is_some());
                let in_use = match self.sessions.begin(&mut head, Kind::Answer, id) {
                    Ok(in_use) => in_use,
                    Err(id) => return json(StatusCode::BAD_REQUEST, &incoming::in_use(&id)),
                };
                head.headers.insert(ACCEPT, BOTH);
                self.pass(head, body, taken, Stays { _room: None, _in_use: in_use }).await
            }
            Incoming::Batch(all) => self.batch(&head, all).await,
        }
    }

    /// Hands one message to the server. What runs for it ends when nobody waits for the answer any more.
    async fn pass(&self, mut head: Parts, body: Bytes, taken: Taken, stays: Stays) -> Answer {
        let cancel = Cancel::default();
        head.extensions.insert(cancel.clone());
        let waiting = Waiting { cancel: Some(cancel), _stays: stays };
        let request = Request::from_parts(head, Full::new(body));
        let (mut head, body) = self.service.handle(request).await.into_parts();
        if !is_stream(&head.headers) {
            return Response::from_parts(head, Waited { body, waiting }.boxed());
        }
        let events = Events::new(body);
        let events = match taken {
            Taken::Stream => Err(events),
            Taken::Either => events.alone(SOON).await,
            Taken::Json => Ok(events.answer().await.unwrap_or_default()),
        };
        match events {
            Ok(message) => {
                waiting.end();
                head.headers.insert(CONTENT_TYPE, JSON);
                Response::from_parts(head, Full::new(Bytes::from(message)).boxed())
            }
            Err(events) => Response::from_parts(head, Waited { body: events, waiting }.boxed()),
        }
    }

    /// Answers the messages of a batch one by one, and all of them at once.
    async fn batch(&self, head: &Parts, all: Vec<Message>) -> Answer {
        let mut answers = Vec::new();
        for message in all {
            let message = match message {
                Ok(message) => message,
                Err(refused) => {
                    answers.push(refused);
                    continue;
                }
            };
            let body = Bytes::from(message.to_string());
            let mut head = head.clone();
            head.headers.insert(ACCEPT, BOTH);
            let answer = self.pass(head, body, Taken::Stream, Stays::default()).await;
            let (head, body) = answer.into_parts();
            let message = if is_stream(&head.headers) {
                Events::new(body).answer().await
            } else if head.headers.get(CONTENT_TYPE) == Some(&JSON) {
                body.collect().await.ok().map(|body| body.to_bytes().to_vec())
            } else if head.status == StatusCode::ACCEPTED {
                continue;
            } else {
                // What holds for one of them holds for all: the session is gone, or the headers are wrong.
                return Response::from_parts(head, body);
            };
            let message = message.and_then(|message| serde_json::from_slice(&message).ok());
            answers.extend(message);
        }
        if answers.is_empty() {
            return refusal(StatusCode::ACCEPTED, "");
        }
        json(StatusCode::OK, &Value::Array(answers))
    }

    fn knows(&self, header: Option<&HeaderValue>) -> bool {
        let Some(token) = &self.token else { return true };
        let given = header.and_then(|value| value.to_str().ok()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| digest(token.trim()))
        });
        given.is_some_and(|given| given == *token)
    }
}

/// Returns true for a request with one host, and with no other one in its address. Which hosts may be named is checked where it is answered.
fn names_one_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let address = request.uri().authority();
    host.chars().all(is_plain)
        && address.is_none_or(|address| address.as_str().eq_ignore_ascii_case(host))
}

/// How a client takes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Either,
    Json,
    Stream,
}

impl Taken {
    /// Reads what a client says of it.
    fn of(headers: &HeaderMap) -> Self {
        let accepts = |kind: &str| {
            let given = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let mut kinds = given.flat_map(|value| value.split(','));
            kinds.any(|one| one.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(kind))
        };
        let takes_any = accepts("*/*") || !headers.contains_key(ACCEPT);
        let json = takes_any || accepts("application/json") || accepts("application/*");
        let stream = takes_any || accepts("text/event-stream") || accepts("text/*");
        match (json, stream) {
            (true, true) => Self::Either,
            (true, false) => Self::Json,
            (false, _) => Self::Stream,
        }
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn json(status: StatusCode, value: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, JSON);
    answer
}

fn refusal(status: StatusCode, told: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(told.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}

/// Somebody who waits for an answer. If they go before its end, what they asked for ends.
struct Waiting {
    cancel: Option<Cancel>,
    _stays: Stays,
}

/// What is held as long as somebody waits.
#[derive(Default)]
struct Stays {
    _room: Option<OwnedSemaphorePermit>,
    _in_use: Option<InUse>,
}

impl Waiting {
    /// The answer is there.
    fn end(mut self) {
        self.cancel = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            cancel.cancel();
        }
    }
}

/// An answer that somebody waits for.
struct Waited<B> {
    body: B,
    waiting: Waiting,
}

impl<B: Body<Data = Bytes, Error = Infallible> + Unpin> Body for Waited<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.waiting.cancel = None;
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

    fn http(address: &str, token: Option<&str>) -> Http {
        let token = token.map(str::to_owned);
        Http { address: address.parse().unwrap(), token, hosts: Vec::new(), origins: Vec::new() }
    }

    #[test]
    fn beyond_this_machine_a_token_is_needed() {
        for (address, token, is_good) in [
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
            assert_eq!(http(address, token).check().is_ok(), is_good, "{address} {token:?}");
        }
    }
}
