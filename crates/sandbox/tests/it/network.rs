//! A sandbox with network access reaches granted hosts through the proxy, and nothing else.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use sandbox::proxy::HostGrant;
use sandbox::{Network, PROXY_PLACEHOLDER, proxy};

use crate::world::{World, output};

/// Runs a script that may only reach `granted`.
fn through_proxy(
    world: &World,
    granted: &'static str,
    script: &str,
) -> (String, Vec<proxy::ProxyRequest>) {
    let mut spec = world.spec("/bin/bash", &["-c", script]);
    spec.network = Network::Proxy;
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY"] {
        spec.env.push((name.into(), PROXY_PLACEHOLDER.into()));
    }
    let mut running = sandbox::start(&spec).unwrap();
    let listener = running.take_proxy().unwrap();
    let allow =
        move |host: &str, _| if host == granted { HostGrant::Exact } else { HostGrant::Denied };
    let requests = proxy::serve(listener, Arc::new(allow));
    let outcome = running.wait().unwrap();
    (output(&outcome), requests.all())
}

#[test]
fn only_granted_hosts_are_reachable_and_this_machine_never() {
    let world = World::new();
    let decoy = TcpListener::bind("127.0.0.1:0").unwrap();
    decoy.set_nonblocking(true).unwrap();
    let port = decoy.local_addr().unwrap().port();
    let fetch = |url: &str| {
        format!(
            "python3 -c \"import urllib.request as u\ntry: print(u.urlopen('{url}', timeout=5).status)\n\
             except Exception as e: print(repr(e))\""
        )
    };
    // Another host: the proxy refuses the request.
    let (seen, reached) = through_proxy(&world, "granted.test", &fetch("http://other.test/"));
    assert!(seen.contains("403"), "{seen}");
    assert_eq!((reached[0].host.as_str(), reached[0].allowed), ("other.test", false));
    // A name of this machine: the proxy does not connect to it, even though it was granted.
    let (seen, reached) =
        through_proxy(&world, "localhost", &fetch(&format!("http://localhost:{port}/")));
    assert!(seen.contains("502") && reached[0].allowed, "{seen}");
    assert!(decoy.accept().is_err());
    // Without the proxy nothing is reachable: not by address, not at another port, not with another type of socket.
    for script in [
        format!("echo x > /dev/tcp/127.0.0.1/{port}"),
        format!("timeout 3 python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\""),
        "timeout 3 python3 -c \"import socket; socket.create_connection(('93.184.216.34', 80), 2)\"".to_owned(),
        "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\"".to_owned(),
        "python3 -c \"import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); print('listens')\""
            .to_owned(),
    ] {
        let (seen, reached) = through_proxy(&world, "granted.test", &script);
        assert!(!seen.contains("listens") && !seen.is_empty(), "{script}: {seen}");
        assert!(reached.is_empty() && decoy.accept().is_err(), "{script}");
    }
}

#[test]
fn the_proxy_connects_only_to_granted_hosts() {
    // This tests only the proxy, without a sandbox.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let allow = |host: &str, port| match (host, port) {
        ("granted.test" | "168.63.129.16" | "169.254.169.254", 443) => HostGrant::Exact,
        _ => HostGrant::Denied,
    };
    let requests = proxy::serve(listener, Arc::new(allow));
    let ask = |text: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(
        ask("CONNECT granted.test:80 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403"),
        "another port"
    );
    assert!(ask("rubbish\r\n\r\n").starts_with("HTTP/1.1 400"));
    assert!(
        ask("CONNECT granted.test:443 HTTP/1.1\r\nX: y\r\n\r\n").starts_with("HTTP/1.1 502"),
        "the host does not exist"
    );
    // Cloud services are not reachable, even if they are granted.
    for address in ["168.63.129.16", "169.254.169.254"] {
        let answer = ask(&format!("CONNECT {address}:443 HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("never"), "{answer}");
    }
    assert_eq!(requests.all().len(), 4);
}
