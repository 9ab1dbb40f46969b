//! The one way out of a sandbox with a network: a proxy that asks, for every connection, whether the host may be reached.
//!
//! It listens inside the sandbox's own network and connects outside of it. Names are looked up only after the decision, and the address that
//! a name leads to is decided about as well: `address.rs` says which are reached. A connection carries one request, of which `request.rs`
//! passes on nothing that two readers could understand differently, or one tunnel.

mod address;
mod request;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use address::is_never_reached;
use address::{Scope, is_own, scope};
use request::{Bad, Plain, Request, answer_head, pass_on};

/// How long a connection may take to be made, and a head to come.
const PATIENCE: Duration = Duration::from_secs(15);
/// The most connections at once.
const MOST: usize = 64;

/// Whether a host was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// It was not.
    No,
    /// By a rule for more hosts than this one.
    Covered,
    /// By its own name or address.
    Named,
}

/// Decides whether a host may be reached at a port.
pub type Allow = dyn Fn(&str, u16) -> Granted + Send + Sync;

/// Connects to a host that was granted.
type Dial = dyn Fn(&str, u16, &Allow) -> io::Result<TcpStream> + Send + Sync;

/// What was asked of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was let.
    pub allowed: bool,
}

/// What a proxy was asked for, in order, each once.
#[derive(Debug, Clone, Default)]
pub struct Reachings(Arc<Mutex<Vec<Reached>>>);

impl Reachings {
    /// Returns all of them.
    pub fn all(&self) -> Vec<Reached> {
        self.0.lock().map(|all| all.clone()).unwrap_or_default()
    }

    fn add(&self, reached: Reached) {
        if let Ok(mut all) = self.0.lock()
            && all.len() < 1000
            && !all.contains(&reached)
        {
            all.push(reached);
        }
    }
}

/// Serves connections until the sandbox is gone.
pub fn serve(listener: TcpListener, allow: Arc<Allow>) -> Reachings {
    serve_by(listener, allow, Arc::new(connect))
}

fn serve_by(listener: TcpListener, allow: Arc<Allow>, dial: Arc<Dial>) -> Reachings {
    let reachings = Reachings::default();
    let seen = reachings.clone();
    std::thread::spawn(move || {
        let open = Arc::new(());
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            if Arc::strong_count(&open) > MOST {
                continue;
            }
            let (allow, dial) = (Arc::clone(&allow), Arc::clone(&dial));
            let (seen, held) = (seen.clone(), Arc::clone(&open));
            std::thread::spawn(move || {
                let _held = held;
                // Whoever goes away needs no answer.
                let _ = connection(client, &*allow, &*dial, &seen);
            });
        }
    });
    reachings
}

fn connection(client: TcpStream, allow: &Allow, dial: &Dial, seen: &Reachings) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(client.try_clone()?);
    let Request { host, port, plain } = match Request::read(&mut reader) {
        Ok(request) => request,
        Err(Bad::Gone(error)) => return Err(error),
        Err(Bad::Malformed(what)) => return refuse(&client, "400 Bad Request", what),
        Err(Bad::TooLong) => {
            let status = "431 Request Header Fields Too Large";
            return refuse(&client, status, "the request is too long");
        }
    };
    let allowed = allow(&host, port) != Granted::No;
    seen.add(Reached { host: host.clone(), port, allowed });
    if !allowed {
        let why = format!("{host}:{port} is not one of the hosts that were granted");
        return refuse(&client, "403 Forbidden", &why);
    }
    let server = match dial(&host, port, allow) {
        Ok(server) => server,
        Err(error) => return refuse(&client, "502 Bad Gateway", &error.to_string()),
    };
    client.set_read_timeout(None)?;
    match plain {
        None => tunnel(reader, client, server),
        Some(plain) => one_request(&plain, reader, client, &server),
    }
}

/// Passes on everything, both ways.
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

/// Passes on one request and its answer, and nothing that the client sends after it: that would be decided about by nobody.
fn one_request(
    plain: &Plain,
    mut reader: BufReader<TcpStream>,
    mut client: TcpStream,
    server: &TcpStream,
) -> io::Result<()> {
    let mut to_server = server.try_clone()?;
    to_server.write_all(&plain.head)?;
    let (body, both) = (plain.body, (client.try_clone()?, server.try_clone()?));
    let up = std::thread::spawn(move || {
        if pass_on(body, &mut reader, &mut to_server).is_err() {
            // Half a request must not look like a whole one.
            close(&both.0, &both.1);
            return;
        }
        // What the client sends after it goes nowhere; when the client goes, the server hears of it.
        let _ = io::copy(&mut reader, &mut io::sink());
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let mut from_server = BufReader::new(server.try_clone()?);
    let answered = answer(&mut from_server, &mut client);
    close(&client, server);
    let _ = up.join();
    answered
}

/// Passes on the answer to a request, with the word that no other follows on this connection.
fn answer(server: &mut BufReader<TcpStream>, client: &mut TcpStream) -> io::Result<()> {
    loop {
        let (head, is_more_to_come) = match answer_head(server) {
            Ok(head) => head,
            Err(Bad::Malformed(what)) => return refuse(client, "502 Bad Gateway", what),
            Err(Bad::TooLong) => {
                return refuse(client, "502 Bad Gateway", "the head of the answer is too long");
            }
            Err(Bad::Gone(error)) => {
                return refuse(client, "502 Bad Gateway", &error.to_string());
            }
        };
        client.write_all(&head)?;
        if !is_more_to_come {
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

/// Connects to a host at one of its addresses that may be connected to.
fn connect(host: &str, port: u16, allow: &Allow) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    let mut last = None;
    for address in addresses {
        let tried = match check(host, address.ip(), |address| allow(address, port)) {
            Ok(()) => TcpStream::connect_timeout(&address, PATIENCE),
            Err(why) => Err(io::Error::other(why)),
        };
        match tried {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other(format!("{host} has no address"))))
}

/// Decides about the address that a host has. `granted` says whether an address itself was granted.
fn check(host: &str, address: IpAddr, granted: impl Fn(&str) -> Granted) -> Result<(), String> {
    match scope(address) {
        _ if is_own(address) => Err(format!("{host} is this machine ({address})")),
        Scope::Global => Ok(()),
        Scope::Private => match granted(&address.to_string()) {
            Granted::Named => Ok(()),
            Granted::Covered | Granted::No => Err(format!(
                "{host} leads to {address}, an address of a private network that was not itself granted"
            )),
        },
        Scope::Never => Err(format!(
            "{host} leads to {address}: this machine, its network link, a cloud's metadata and reserved addresses are never reached"
        )),
    }
}
