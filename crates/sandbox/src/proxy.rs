//! The one way out of a sandbox with a network: a proxy that asks, for every connection, whether the host may be reached.
//!
//! It listens inside the sandbox's own network and connects outside of it. Names are looked up only after the decision, and an address
//! of this machine itself, of the local link or of a cloud's metadata is never connected to, whatever its name.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs,
    UdpSocket,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The longest head of a request.
const MAX_HEAD: u64 = 64 << 10;
/// How long a connection may take to be made, and a head to come.
const PATIENCE: Duration = Duration::from_secs(15);
/// The most connections at once.
const MOST: usize = 64;

/// Decides whether a host may be reached at a port.
pub type Allow = dyn Fn(&str, u16) -> bool + Send + Sync;

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
    let reachings = Reachings::default();
    let seen = reachings.clone();
    std::thread::spawn(move || {
        let open = Arc::new(());
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            if Arc::strong_count(&open) > MOST {
                continue;
            }
            let (allow, seen, held) = (Arc::clone(&allow), seen.clone(), Arc::clone(&open));
            std::thread::spawn(move || {
                let _held = held;
                // Whoever goes away needs no answer.
                let _ = connection(client, &*allow, &seen);
            });
        }
    });
    reachings
}

fn connection(client: TcpStream, allow: &Allow, seen: &Reachings) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(client.try_clone()?);
    let mut first = String::new();
    (&mut reader).take(MAX_HEAD).read_line(&mut first)?;
    let Some(request) = Request::parse(first.trim_end()) else {
        return answer(&client, "400 Bad Request", "this is a proxy for HTTP");
    };
    let mut head = String::new();
    loop {
        let mut line = String::new();
        (&mut reader).take(MAX_HEAD).read_line(&mut line)?;
        if line.trim_end().is_empty() {
            break;
        }
        if line.trim_end_matches("\r\n").contains(['\r', '\0']) || line.starts_with([' ', '\t']) {
            return answer(&client, "400 Bad Request", "a header holds a line break");
        }
        if head.len() + line.len() > usize::try_from(MAX_HEAD).unwrap_or(usize::MAX) {
            return answer(
                &client,
                "431 Request Header Fields Too Large",
                "the request is too long",
            );
        }
        head += &line;
    }
    let allowed = allow(&request.host, request.port);
    seen.add(Reached { host: request.host.clone(), port: request.port, allowed });
    if !allowed {
        return answer(
            &client,
            "403 Forbidden",
            &format!("{} is not one of the hosts that were granted", request.host),
        );
    }
    let server = match connect(&request.host, request.port) {
        Ok(server) => server,
        Err(error) => return answer(&client, "502 Bad Gateway", &error.to_string()),
    };
    client.set_read_timeout(None)?;
    let mut to_server = server.try_clone()?;
    match &request.plain {
        None => write!(&client, "HTTP/1.1 200 Connection established\r\n\r\n")?,
        Some(start) => {
            // One request a connection: the next one could be for another host.
            let kept = head.lines().filter(|line| !is_of_proxy(line));
            let kept: String = kept.map(|line| format!("{line}\r\n")).collect();
            // Whom it is for is what was decided about, and nothing else.
            let host = &request.host;
            let port =
                if request.port == 80 { String::new() } else { format!(":{}", request.port) };
            write!(to_server, "{start}\r\nHost: {host}{port}\r\n{kept}Connection: close\r\n\r\n")?;
        }
    }
    to_server.write_all(reader.buffer())?;
    let mut from_client = client.try_clone()?;
    let up = std::thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut from_server, mut to_client) = (server, client);
    let _ = io::copy(&mut from_server, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Both);
    let _ = from_server.shutdown(Shutdown::Both);
    let _ = up.join();
    Ok(())
}

fn is_of_proxy(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    const OWN: [&str; 5] =
        ["host", "proxy-connection", "proxy-authorization", "connection", "keep-alive"];
    OWN.contains(&name.as_str())
}

fn answer(mut client: &TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    write!(
        client,
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}\n"
    )
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// The first line for the server, where the request itself is passed on.
    plain: Option<String>,
}

impl Request {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let is_plain = line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if words.next().is_some() || !is_plain || !matches!(version, "HTTP/1.0" | "HTTP/1.1") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = host_and_port(target, None)?;
            return Some(Self { host, port, plain: None });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
        let (host, port) = host_and_port(authority, Some(80))?;
        Some(Self { host, port, plain: Some(format!("{method} {path} {version}")) })
    }
}

/// Reads `host:port`. Only names and plain addresses of IPv4 are taken.
fn host_and_port(text: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, usual?),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host.split('.').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        });
    is_name.then_some((host, port))
}

/// Connects to a host at one of its addresses that may be connected to.
fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    let mut last = io::Error::other(format!(
        "{host} is an address of this machine or of its own network link"
    ));
    for address in
        addresses.into_iter().filter(|address| !is_forbidden(address.ip()) && !is_own(address.ip()))
    {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns true for an address that this machine itself has: only those can be bound.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Addresses of this machine, of the link, of metadata services, and of nobody.
fn is_forbidden(address: IpAddr) -> bool {
    let v4 = |address: Ipv4Addr| {
        address.is_loopback()
            || address.is_link_local()
            || address.is_unspecified()
            || address.is_broadcast()
            || address.is_multicast()
            || address.octets()[0] == 0
            || address.octets()[..2] == [100, 100]
    };
    let v6 = |address: Ipv6Addr| {
        let first = address.segments()[0];
        address.is_loopback()
            || address.is_unspecified()
            || address.is_multicast()
            || first & 0xffc0 == 0xfe80
            || address.segments()[..2] == [0xfd00, 0x0ec2]
    };
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped().or_else(|| embedded(address)) {
            Some(inner) => v4(inner) || v6(address),
            None => v6(address),
        },
    }
}

/// The address of IPv4 that a translator would make of one of IPv6.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let ([0x0064, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..]) = segments else {
        return None;
    };
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        let host = |line: &str| {
            Request::parse(line)
                .map(|request| format!("{}:{} {:?}", request.host, request.port, request.plain))
        };
        for (line, expected) in [
            ("CONNECT API.test:443 HTTP/1.1", Some("api.test:443 None")),
            ("CONNECT api.test.:443 HTTP/1.1", Some("api.test:443 None")),
            ("GET http://api.test/x?y HTTP/1.1", Some("api.test:80 Some(\"GET /x?y HTTP/1.1\")")),
            ("GET http://api.test:8080 HTTP/1.0", Some("api.test:8080 Some(\"GET / HTTP/1.0\")")),
            ("CONNECT api.test HTTP/1.1", None),
            ("CONNECT a@api.test:443 HTTP/1.1", None),
            ("CONNECT [::1]:443 HTTP/1.1", None),
            ("CONNECT api.test:99999 HTTP/1.1", None),
            ("GET /x HTTP/1.1", None),
            ("GET https://api.test/ HTTP/1.1", None),
            ("GET http://me:pw@api.test/ HTTP/1.1", None),
            ("CONNECT api.test:443 HTTP/1.1 x", None),
            ("GET http://api.test/ HTTP/1.1\rHost:\u{b}x", None),
            ("GET http://api.test/ HTTP/1.9", None),
            ("CONNECT a..b:443 HTTP/1.1", None),
            ("", None),
        ] {
            assert_eq!(host(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_forbidden_whatever_they_are_written_as() {
        for (address, forbidden) in [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("0.0.0.0", true),
            ("169.254.169.254", true),
            ("100.100.100.200", true),
            ("::1", true),
            ("::", true),
            ("fe80::1", true),
            ("fd00:ec2::254", true),
            ("::ffff:127.0.0.1", true),
            ("64:ff9b::7f00:1", true),
            ("2002:7f00:1::", true),
            ("93.184.216.34", false),
            ("10.0.0.1", false),
            ("2606:4700::1111", false),
        ] {
            assert_eq!(is_forbidden(address.parse().unwrap()), forbidden, "{address}");
        }
    }
}
