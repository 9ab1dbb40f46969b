use std::io::{BufRead, Read};
use std::sync::mpsc;

use super::request::Body;
use super::*;

fn read(text: &str) -> Result<Request, RequestError> {
    Request::read(&mut text.as_bytes())
}

#[test]
fn requests_are_parsed_strictly() {
    let shown = |line: &str| {
        let request = read(&format!("{line}\r\n\r\n")).ok()?;
        let first = request
            .plain
            .map(|plain| String::from_utf8(plain.head).unwrap().lines().next().unwrap().to_owned());
        Some(format!("{}:{} {first:?}", request.host, request.port))
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
        ("CONNECT api.test:+443 HTTP/1.1", None),
        ("CONNECT api.test..:443 HTTP/1.1", None),
        ("GET /x HTTP/1.1", None),
        ("GET https://api.test/ HTTP/1.1", None),
        ("GET HTTP://api.test/ HTTP/1.1", None),
        ("GET http://me:pw@api.test/ HTTP/1.1", None),
        ("GET http://api.test?x=http://b/ HTTP/1.1", None),
        ("GET http://api.test\\@b/ HTTP/1.1", None),
        ("G(T http://api.test/ HTTP/1.1", None),
        ("CONNECT api.test:443 HTTP/1.1 x", None),
        ("GET  http://api.test/ HTTP/1.1", None),
        ("GET http://api.test/ HTTP/1.1\rHost:\u{b}x", None),
        ("GET http://api.test/\u{e9} HTTP/1.1", None),
        ("GET http://api.test/ HTTP/1.9", None),
        ("PRI * HTTP/2.0", None),
        ("CONNECT a..b:443 HTTP/1.1", None),
        ("", None),
    ] {
        assert_eq!(shown(line).as_deref(), expected, "{line}");
    }
}

#[test]
fn ambiguous_requests_are_refused() {
    let with = |fields: &str| read(&format!("POST http://a.test/ HTTP/1.1\r\n{fields}\r\n"));
    for fields in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 30\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length:\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\u{b}chunked\r\n",
        "A: b\nHost: evil.test\r\n",
        "A: b\rHost: evil.test\r\n",
        "A: b\r\n Host: evil.test\r\n",
        "A: b\r\n\tc\r\n",
        "A: \0\r\n",
        "A b: c\r\n",
        ": c\r\n",
        "no colon\r\n",
    ] {
        assert!(matches!(with(fields), Err(RequestError::Malformed(_))), "{fields:?}");
    }
    let old = read("POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert!(matches!(old, Err(RequestError::Malformed(_))));
    let long = format!("A: {}\r\n", "x".repeat(70_000));
    assert!(matches!(with(&long), Err(RequestError::TooLong)));
    assert!(matches!(with(&"A: b\r\n".repeat(20_000)), Err(RequestError::TooLong)));
    assert!(matches!(read(&"x".repeat(70_000)), Err(RequestError::TooLong)));
    // The Host header is the host that was checked, and headers for the proxy are not forwarded.
    let fields = "hOST: evil.test\r\nHost: other.test\r\nProxy-Authorization: s\r\n\
                  Connection: X-Own, close\r\nX-Own: 1\r\nUpgrade: h2c\r\nAccept: \u{fc}\r\nContent-Length: 3\r\n";
    let PlainRequest { head, body } = with(fields).unwrap().plain.unwrap();
    assert_eq!(
        String::from_utf8(head).unwrap(),
        "POST / HTTP/1.1\r\nHost: a.test\r\naccept: \u{fc}\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(body, Body::Length(3));
}

#[test]
fn a_chunked_body_is_forwarded_exactly_to_its_end() {
    let pass = |text: &str| {
        let mut to = Vec::new();
        let mut from = text.as_bytes();
        let passed = forward_body(Body::Chunked, &mut from, &mut to);
        passed
            .map(|()| (String::from_utf8(to).unwrap(), String::from_utf8_lossy(from).into_owned()))
    };
    let (passed, left) =
        pass("3;x=y\r\nabc\r\n0\r\nT: x\r\n\r\nGET http://b.test/ HTTP/1.1\r\n").unwrap();
    assert_eq!(passed, "3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(left, "GET http://b.test/ HTTP/1.1\r\n");
    for bad in [
        "4\r\nabc\r\n0\r\n\r\n",
        "2\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "3\nabc\r\n0\r\n\r\n",
        "\r\nabc",
        "ffffffffffffffffffff\r\nabc",
        "3\r\nabc",
    ] {
        assert!(pass(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn addresses_are_checked_independently_of_the_host_name() {
    let is_allowed = |address: &str, granted: HostGrant| {
        let expected = address.to_owned();
        check_address("name.test", address.parse().unwrap(), move |asked| {
            assert_eq!(asked, expected);
            granted
        })
        .is_ok()
    };
    for address in
        ["168.63.129.16", "169.254.169.254", "127.0.0.1", "fd20:ce::254", "fd00:c1::a9fe:a9fe"]
    {
        for granted in [HostGrant::Denied, HostGrant::Pattern, HostGrant::Exact] {
            assert!(!is_allowed(address, granted), "{address} {granted:?}");
        }
    }
    // The user must grant a private address explicitly; a pattern such as `any` is not enough.
    for (granted, expected) in
        [(HostGrant::Denied, false), (HostGrant::Pattern, false), (HostGrant::Exact, true)]
    {
        assert_eq!(is_allowed("10.254.253.252", granted), expected, "{granted:?}");
    }
    assert!(is_allowed("93.184.216.34", HostGrant::Denied), "its name was granted");
    // This machine's own addresses are blocked even if they are globally reachable.
    if let Ok(own) = std::net::UdpSocket::bind("0.0.0.0:0")
        .and_then(|socket| socket.connect("93.184.216.34:9").map(|()| socket))
        .and_then(|socket| socket.local_addr())
    {
        assert!(!is_allowed(&own.ip().to_string(), HostGrant::Exact), "{own}");
    }
}

/// A server that records what it receives, answers each request and never closes a connection itself, and a proxy that
/// connects to it for every host.
struct TestNetwork {
    proxy: SocketAddr,
    received: mpsc::Receiver<String>,
    requests: ProxyRequests,
}

fn test_network() -> TestNetwork {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || {
        for client in server.incoming() {
            let (mut client, send) = (client.unwrap(), send.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::new(client.try_clone().unwrap());
                let mut all = String::new();
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 {
                        break;
                    }
                    all += &line;
                    if line == "\r\n" {
                        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\
                                    Connection: keep-alive\r\nContent-Length: 2\r\n\r\nok";
                        let _ = client.write_all(text.as_bytes());
                    }
                }
                send.send(all).unwrap();
            });
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap();
    let allow = |host: &str, port: u16| match (host, port) {
        ("granted.test", 80 | 443) => HostGrant::Exact,
        _ => HostGrant::Denied,
    };
    let dial = move |_: &str, _: u16, _: &Allow| TcpStream::connect(address);
    let requests = serve_with(listener, Arc::new(allow), Arc::new(dial));
    TestNetwork { proxy, received, requests }
}

impl TestNetwork {
    /// Sends text through the proxy. Returns what the client received, and what the server received.
    fn send(&self, text: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.proxy).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        // The proxy must close the connection, or this test hangs. A tunnel only ends when the client closes it.
        if text.starts_with("CONNECT") {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        let mut part = String::new();
        while reader.read_line(&mut part).unwrap_or(0) > 0 {
            head += &std::mem::take(&mut part);
            if head.ends_with("\r\n\r\n") && head.contains("HTTP/1.1 200") {
                let _ = stream.shutdown(Shutdown::Write);
            }
        }
        let received = self.received.recv_timeout(Duration::from_secs(10)).unwrap_or_default();
        (head, received)
    }
}

#[test]
fn a_second_request_on_a_connection_is_dropped() {
    let net = test_network();
    let first = "GET http://granted.test/one HTTP/1.1\r\nHost: granted.test\r\n\r\n";
    for second in [
        "GET http://other.test/two HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "GET /two HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "CONNECT other.test:443 HTTP/1.1\r\n\r\n",
    ] {
        let (answer, received) = net.send(&format!("{first}{second}"));
        assert!(received.starts_with("GET /one HTTP/1.1\r\nHost: granted.test\r\n"), "{received}");
        assert!(!received.contains("two") && !received.contains("other"), "{second}: {received}");
        assert!(received.contains("Connection: close"), "{received}");
        // The response announces that the connection ends.
        assert!(
            answer.contains("100 Continue") && answer.contains("Connection: close"),
            "{answer}"
        );
        assert!(!answer.contains("keep-alive") && answer.ends_with("\r\n\r\nok"), "{answer}");
    }
    let body = "POST http://granted.test/one HTTP/1.1\r\nContent-Length: 4\r\n\r\nfour\
                GET http://other.test/two HTTP/1.1\r\n\r\n";
    let (_, received) = net.send(body);
    assert!(received.ends_with("\r\n\r\nfour"), "{received}");
    assert_eq!(net.requests.all().len(), 1);
}

#[test]
fn a_tunnel_forwards_everything_to_one_allowed_host() {
    let net = test_network();
    let (answer, received) =
        net.send("CONNECT granted.test:443 HTTP/1.1\r\nX: y\r\n\r\nhello\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 Connection established\r\n\r\n"), "{answer}");
    assert_eq!(received, "hello\r\n\r\n");
    for (text, status) in [
        ("CONNECT other.test:443 HTTP/1.1\r\n\r\n", "403"),
        ("CONNECT granted.test:22 HTTP/1.1\r\n\r\n", "403"),
        ("GET http://granted.test:8080/ HTTP/1.1\r\n\r\n", "403"),
        ("GET http://other.test/ HTTP/1.1\r\nHost: granted.test\r\n\r\n", "403"),
        ("rubbish\r\n\r\n", "400"),
    ] {
        let mut stream = TcpStream::connect(net.proxy).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{text}: {answer}");
        assert!(net.received.try_recv().is_err(), "{text}");
    }
}
