//! Streamable HTTP: one address, `/mcp`, on this machine unless somebody says otherwise.
//!
//! Before a request reaches the server: its path, the token, and the names of host and origin. A web page of another origin reaches nothing, by whatever name it calls
//! this machine.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use openskills_runtime::Cancel;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use skill::Digest;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::Served;
use super::ask::Trust;
use super::server::Server;
use super::stalled::Stalled;
use crate::signals::{self, AfterRuns};

/// The only path that is served.
const PATH: &str = "/mcp";
/// How many connections there may be at once; more wait.
const MOST_CONNECTIONS: usize = 256;
/// How many sessions of older revisions there may be.
const MOST_SESSIONS: usize = 256;
/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a client may take to read what is written to it.
const WRITE_TIME: Duration = Duration::from_secs(20);
/// How long it may take to send the rest of it, and how much that may be.
const BODY_TIME: Duration = Duration::from_secs(15);
const MAX_BODY: usize = 4 << 20;
/// How often a client that waits is written to: a client that has gone is noticed by that.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// The shortest token.
const MIN_TOKEN: usize = 16;

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
    let listener = TcpListener::bind(http.address)
        .await
        .with_context(|| format!("cannot listen on {}", http.address))?;
    let address = listener.local_addr().context("cannot tell where it listens")?;
    let trust = if http.token.is_some() { Trust::Proven } else { Trust::Anybody };
    let server = Server::new(served, trust);
    let running = server.running().clone();
    signals::watch(&running, AfterRuns::Exit)?;
    let config = config(&http, address);
    let ends = config.cancellation_token.clone();
    let make = move || Ok(server.clone());
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(make, Arc::clone(&sessions), config);
    told(&format!("http://{address}{PATH}"));
    let token = http.token.as_deref().map(digest);
    let gate = Arc::new(Gate { service, sessions, token });
    let accepting = accept(listener, gate);
    accepting.await;
    ends.cancel();
    running.cancel();
    Ok(())
}

fn config(http: &Http, address: SocketAddr) -> StreamableHttpServerConfig {
    let port = address.port();
    let mut names = vec![address.ip().to_string()];
    if address.ip().is_loopback() {
        names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    }
    let shown = |name: &String| {
        if name.contains(':') { format!("[{name}]") } else { name.clone() }
    };
    let own = names.iter().map(|name| format!("http://{}:{port}", shown(name)));
    let origins: Vec<String> = own.chain(http.origins.iter().cloned()).collect();
    names.extend(http.hosts.iter().cloned());
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(names)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_sse_keep_alive(Some(KEEP_ALIVE))
}

async fn accept(listener: TcpListener, gate: Arc<Gate>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(held) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a client that went at once: others may still come.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let gate = Arc::clone(&gate);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let gate = Arc::clone(&gate);
                async move { Ok::<_, Infallible>(gate.answer(request).await) }
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
    sessions: Arc<LocalSessionManager>,
    token: Option<Digest>,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Digests are compared in place of tokens: how long that takes tells nothing of the token.
fn digest(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

impl Gate {
    async fn answer(&self, mut request: Request<Incoming>) -> Answer {
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
        let is_new = request.headers().get("mcp-session-id").is_none();
        if is_new && self.sessions.sessions.read().await.len() >= MOST_SESSIONS {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions");
        }
        // What runs for a request ends when nobody waits for its answer any more.
        let cancel = Cancel::default();
        request.extensions_mut().insert(cancel.clone());
        let (head, body) = request.into_parts();
        let body = Limited::new(body, MAX_BODY).collect();
        let body = match tokio::time::timeout(BODY_TIME, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, "a request has at most 4 MiB");
            }
            Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "the request ends too early"),
            Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the request takes too long"),
        };
        let request = Request::from_parts(head, Full::new(body));
        let (parts, body) = self.service.handle(request).await.into_parts();
        Response::from_parts(parts, Waited { body, cancel: Some(cancel) }.boxed())
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

fn refusal(status: StatusCode, told: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(told.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}

/// An answer that somebody waits for. If they go before its end, what they asked for ends.
struct Waited {
    body: BoxBody<Bytes, Infallible>,
    cancel: Option<Cancel>,
}

impl Body for Waited {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() {
            self.cancel = None;
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

impl Drop for Waited {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take().filter(|_| !self.body.is_end_stream()) {
            cancel.cancel();
        }
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
