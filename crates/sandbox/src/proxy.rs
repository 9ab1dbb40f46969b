//! The proxy: the only way out of a sandbox that has network access. It checks for every connection whether the host is
//! allowed.
//!
//! It listens inside the sandbox's own network namespace and connects outside of it. Names are resolved only after the
//! host was allowed, and the resolved address is checked as well (`address.rs`). A connection carries either one tunnel
//! or one request; `request.rs` forwards nothing that two parsers could interpret differently.

mod address;
mod request;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use address::is_always_blocked;
use address::{Scope, is_own, scope};
use request::{PlainRequest, Request, RequestError, forward_body, response_head};

/// The timeout for connecting and for receiving a request head.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum number of simultaneous connections.
const MAX_CONNECTIONS: usize = 64;

/// Whether a host is allowed, and which kind of rule allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostGrant {
    /// No rule allows the host.
    Denied,
    /// A pattern that also matches other hosts allows it.
    Pattern,
    /// A rule for exactly this name or address allows it.
    Exact,
}

/// Returns whether connecting to a host at a port is allowed.
pub type Allow = dyn Fn(&str, u16) -> HostGrant + Send + Sync;

/// Connects to an allowed host.
type Dial = dyn Fn(&str, u16, &Allow) -> io::Result<TcpStream> + Send + Sync;

/// A host that a program tried to reach through the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRequest {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was allowed.
    pub allowed: bool,
}

/// The requests that a proxy has received, in order and without duplicates.
#[derive(Debug, Clone, Default)]
pub struct ProxyRequests(Arc<Mutex<Vec<ProxyRequest>>>);

impl ProxyRequests {
    /// Returns all requests so far.
    pub fn all(&self) -> Vec<ProxyRequest> {
        self.0.lock().map(|all| all.clone()).unwrap_or_default()
    }

    fn add(&self, request: ProxyRequest) {
        if let Ok(mut all) = self.0.lock()
            && all.len() < 1000
            && !all.contains(&request)
        {
            all.push(request);
        }
    }
}

/// Serves connections in a background thread until the sandbox's network is gone.
pub fn serve(listener: TcpListener, allow: Arc<Allow>) -> ProxyRequests {
    serve_with(listener, allow, Arc::new(connect))
}

fn serve_with(listener: TcpListener, allow: Arc<Allow>, dial: Arc<Dial>) -> ProxyRequests {
    let requests = ProxyRequests::default();
    let seen = requests.clone();
    std::thread::spawn(move || {
        let connections = Arc::new(());
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            if Arc::strong_count(&connections) > MAX_CONNECTIONS {
                continue;
            }
            let (allow, dial) = (Arc::clone(&allow), Arc::clone(&dial));
            let (seen, counted) = (seen.clone(), Arc::clone(&connections));
            std::thread::spawn(move || {
                let _counted = counted;
                // A client that disconnected needs no response.
                let _ = serve_connection(client, &*allow, &*dial, &seen);
            });
        }
    });
    requests
}

fn serve_connection(
    client: TcpStream,
    allow: &Allow,
    dial: &Dial,
    seen: &ProxyRequests,
) -> io::Result<()> {
    client.set_read_timeout(Some(TIMEOUT))?;
    let mut reader = BufReader::new(client.try_clone()?);
    let Request { host, port, plain } = match Request::read(&mut reader) {
        Ok(request) => request,
        Err(RequestError::Disconnected(error)) => return Err(error),
        Err(RequestError::Malformed(what)) => return refuse(&client, "400 Bad Request", what),
        Err(RequestError::TooLong) => {
            let status = "431 Request Header Fields Too Large";
            return refuse(&client, status, "the request is too long");
        }
    };
    let allowed = allow(&host, port) != HostGrant::Denied;
    seen.add(ProxyRequest { host: host.clone(), port, allowed });
    if !allowed {
        let why = format!("network access to {host}:{port} was not granted");
        return refuse(&client, "403 Forbidden", &why);
    }
    let server = match dial(&host, port, allow) {
        Ok(server) => server,
        Err(error) => return refuse(&client, "502 Bad Gateway", &error.to_string()),
    };
    client.set_read_timeout(None)?;
    match plain {
        None => tunnel(reader, client, server),
        Some(plain) => forward_request(&plain, reader, client, &server),
    }
}

/// Forwards everything in both directions.
fn tunnel(
    mut reader: BufReader<TcpStream>,
    mut client: TcpStream,
    mut server: TcpStream,
) -> io::Result<()> {
    write!(client, "HTTP/1.1 200 Connection established\r\n\r\n")?;
    let mut to_server = server.try_clone()?;
    let up = std::thread::spawn(move || {
        let _ = io::copy(&mut reader, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let _ = io::copy(&mut server, &mut client);
    close(&client, &server);
    let _ = up.join();
    Ok(())
}

/// Forwards one request and its response. Whatever the client sends after the request is dropped, because it was not
/// checked.
fn forward_request(
    plain: &PlainRequest,
    mut reader: BufReader<TcpStream>,
    mut client: TcpStream,
    server: &TcpStream,
) -> io::Result<()> {
    let mut to_server = server.try_clone()?;
    to_server.write_all(&plain.head)?;
    let (body, both) = (plain.body, (client.try_clone()?, server.try_clone()?));
    let up = std::thread::spawn(move || {
        if forward_body(body, &mut reader, &mut to_server).is_err() {
            // A truncated request must not look like a complete one.
            close(&both.0, &both.1);
            return;
        }
        // Discard what the client sends next. When it disconnects, close the connection to the server.
        let _ = io::copy(&mut reader, &mut io::sink());
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let mut from_server = BufReader::new(server.try_clone()?);
    let forwarded = forward_response(&mut from_server, &mut client);
    close(&client, server);
    let _ = up.join();
    forwarded
}

/// Forwards the response to a request, marked as the last one on this connection.
fn forward_response(server: &mut BufReader<TcpStream>, client: &mut TcpStream) -> io::Result<()> {
    loop {
        let (head, is_interim) = match response_head(server) {
            Ok(head) => head,
            Err(RequestError::Malformed(what)) => return refuse(client, "502 Bad Gateway", what),
            Err(RequestError::TooLong) => {
                return refuse(client, "502 Bad Gateway", "the response head is too long");
            }
            Err(RequestError::Disconnected(error)) => {
                return refuse(client, "502 Bad Gateway", &error.to_string());
            }
        };
        client.write_all(&head)?;
        if !is_interim {
            break;
        }
    }
    io::copy(server, client)?;
    Ok(())
}

fn close(client: &TcpStream, server: &TcpStream) {
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

fn refuse(mut client: &TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    write!(
        client,
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}\n"
    )
}

/// Connects to a host at the first of its addresses that is allowed and reachable.
fn connect(host: &str, port: u16, allow: &Allow) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    let mut last = None;
    for address in addresses {
        let tried = match check_address(host, address.ip(), |address| allow(address, port)) {
            Ok(()) => TcpStream::connect_timeout(&address, TIMEOUT),
            Err(why) => Err(io::Error::other(why)),
        };
        match tried {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other(format!("no IP address found for {host}"))))
}

/// Checks whether a host's address may be connected to. `granted` returns whether an address itself was granted.
fn check_address(
    host: &str,
    address: IpAddr,
    granted: impl Fn(&str) -> HostGrant,
) -> Result<(), String> {
    match scope(address) {
        _ if is_own(address) => Err(format!("{host} resolves to this machine ({address})")),
        Scope::Global => Ok(()),
        Scope::Private => match granted(&address.to_string()) {
            HostGrant::Exact => Ok(()),
            HostGrant::Pattern | HostGrant::Denied => Err(format!(
                "{host} resolves to the private address {address}, which was not granted explicitly"
            )),
        },
        Scope::Blocked => Err(format!(
            "{host} resolves to {address}: loopback, link-local, cloud metadata and reserved addresses are \
             never reachable"
        )),
    }
}
