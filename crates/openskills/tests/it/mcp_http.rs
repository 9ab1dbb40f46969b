//! The MCP server over HTTP: with rmcp's client, and with hand-written requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rmcp::ClientServiceExt;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;
use testkit::TestEnv;

use crate::mcp::{SKILLS, approve, official_client, running};
use crate::mcp_rmcp::{block_on, lifecycles};
use crate::openskills;

pub(crate) const TOKEN: &str = "0123456789abcdef-token";

/// A running server and its address.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(env: &TestEnv, words: &[&str]) -> Self {
        let all = [&["mcp", "--dir", "s", "--http", "127.0.0.1:0"], words].concat();
        let mut command = env.command(env!("CARGO_BIN_EXE_openskills"), &all);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
        let address = told
            .trim()
            .strip_prefix("serving skills at http://")
            .unwrap_or_else(|| panic!("{told}"));
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        Self { child, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Sends bytes as they are. Returns the status of the response and the whole response.
    pub(crate) fn send(&self, bytes: &[u8]) -> (Option<u16>, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        // A server that rejects the request need not read all of it.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
        (status, answer)
    }

    /// Requests the list of tools with additional headers.
    fn ask(&self, path: &str, headers: &str) -> (Option<u16>, String) {
        self.send(request(path, &self.address, headers, &tools()).as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request of the newest revision, which needs no session.
pub(crate) fn newest(method: &str, params: serde_json::Value) -> String {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn tools() -> String {
    newest("tools/list", json!({}))
}

fn request(path: &str, host: &str, headers: &str, body: &str) -> String {
    let method = serde_json::from_str::<serde_json::Value>(body).unwrap()["method"]
        .as_str()
        .unwrap()
        .to_owned();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMCP-Method: {method}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn clients_of_both_lifecycles_work() {
    let env = TestEnv::with(SKILLS);
    approve(&env, "pdf");
    env.write("token", format!("{TOKEN}\n").as_bytes());
    let server = Server::start(&env, &["--token-file", "token"]);
    for lifecycle in lifecycles() {
        block_on(async {
            let config = StreamableHttpClientTransportConfig::with_uri(server.url());
            let transport =
                StreamableHttpClientTransport::with_client(client(), config.auth_header(TOKEN));
            let info =
                ClientConfig::new(ClientCapabilities::default(), Implementation::new("web", "1"));
            let client = info.serve_with_lifecycle(transport, lifecycle).await.unwrap();
            assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
            let arguments = json!({"name": "pdf", "args": ["x"], "input": 1});
            let call = CallToolRequestParams::new("skills.run_script")
                .with_arguments(arguments.as_object().unwrap().clone());
            let ran = client.call_tool(call).await.unwrap();
            let about = ran.meta.unwrap().0["openskills/result"].clone();
            assert_eq!(about["output"], json!({"hi": ["x"], "in": 1}));
            client.cancel().await.unwrap();
        });
    }
    let log = openskills(&env, "log show --json").stdout;
    assert!(log.contains("mcp-web-"), "{log}");
}

#[test]
fn the_official_python_client_works_over_http() {
    let env = TestEnv::with(SKILLS);
    approve(&env, "pdf");
    let server = Server::start(&env, &[]);
    official_client(env, &server.url());
}

/// Returns an HTTP client. It needs a TLS provider even without TLS.
fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

#[test]
fn unauthorized_requests_are_rejected() {
    let env = TestEnv::with(SKILLS);
    env.write("token", TOKEN.as_bytes());
    let server = Server::start(
        &env,
        &["--token-file", "token", "--allow-origin", "https://app.example.com:443"],
    );
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let own = format!("{bearer}Origin: http://{}\r\n", server.address);
    let (status, answer) = server.ask("/mcp", &bearer);
    assert_eq!(status, Some(200), "{answer}");
    assert!(answer.contains("skills.run_script"), "{answer}");
    for (path, headers, status) in [
        ("/mcp", own.as_str(), 200),
        ("/mcp", &format!("{bearer}Origin: https://app.example.com\r\n"), 200),
        ("/", &bearer, 404),
        ("/mcp/../mcp", &bearer, 404),
        ("/mcp", "", 401),
        ("/mcp", "Authorization: Bearer 0123456789abcdef-tokem\r\n", 401),
        ("/mcp", &format!("Authorization: Basic {TOKEN}\r\n"), 401),
        ("/mcp", &format!("Authorization: {TOKEN}\r\n"), 401),
        ("/mcp", &format!("{bearer}Origin: https://evil.example\r\n"), 403),
        ("/mcp", &format!("{bearer}Origin: http://localhost:1\r\n"), 403),
        ("/mcp", &format!("{bearer}Origin: null\r\n"), 403),
    ] {
        let (found, answer) = server.ask(path, headers);
        assert_eq!(found, Some(status), "{path} {headers}: {answer}");
    }
    // Unknown host names are rejected.
    let (status, answer) =
        server.send(request("/mcp", "evil.example", &bearer, &tools()).as_bytes());
    assert_eq!(status, Some(403), "{answer}");
    // So are host names that only look like ours, and second host names.
    let address = server.address.clone();
    for (path, host, headers, expected) in [
        ("/mcp", format!("evil.example@{address}"), "", 400),
        ("/mcp", format!("{address}@evil.example"), "", 400),
        ("/mcp", address.clone(), "Host: evil.example\r\n", 400),
        ("/mcp", String::new(), "", 403),
        ("http://evil.example/mcp", address.clone(), "", 400),
        (&format!("http://{address}/mcp"), address.clone(), "", 200),
    ] {
        let text = request(path, &host, &format!("{bearer}{headers}"), &tools());
        let (status, answer) = server.send(text.as_bytes());
        let is_refused = |status: Option<u16>| matches!(status, Some(400 | 403));
        assert!(
            status == Some(expected) || expected == 403 && is_refused(status),
            "{path} {host} {headers}: {answer}"
        );
    }
}

#[test]
fn a_token_is_required_if_other_machines_can_connect() {
    let env = TestEnv::with(SKILLS);
    for (words, told) in [
        ("--http 0.0.0.0:0", "so a token is required"),
        ("--http [::]:0", "so a token is required"),
        ("--http 127.0.0.1:0 --token-file none", "cannot read `none`"),
        ("--http nowhere", "use the form 127.0.0.1:8750"),
        ("--http 127.0.0.1:0 --workspace none", "`none` is not a folder"),
        ("--token-file none", "--http"),
        ("--http 127.0.0.1:0 --allow-origin *", "not a valid origin"),
    ] {
        let run = openskills(&env, &format!("mcp --dir s {words}"));
        assert_eq!(run.code, Some(2), "{words}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{words}: {}", run.stderr);
    }
    let env = env.var("OPENSKILLS_MCP_TOKEN", "short");
    let run = openskills(&env, "mcp --dir s --http 0.0.0.0:0");
    assert!(
        run.code == Some(2) && run.stderr.contains("at least 16 are required"),
        "{}",
        run.stderr
    );
}

#[test]
fn invalid_requests_do_not_stop_the_server() {
    let env = TestEnv::with(SKILLS);
    let server = Server::start(&env, &[]);
    let large = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        server.address,
        100 << 20
    );
    let mut large = large.into_bytes();
    large.resize(large.len() + (100 << 20), b' ');
    let (status, answer) = server.send(&large);
    assert!(matches!(status, Some(413) | None), "{answer}");
    let half = request("/mcp", &server.address, "", &tools());
    // Requests that are never finished do not block others, and get an error response.
    let mut slow = TcpStream::connect(&server.address).unwrap();
    slow.write_all(&half.as_bytes()[..half.len() - 10]).unwrap();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(&half.as_bytes()[..half.len() - 10]).unwrap();
    drop(stream);
    assert!(matches!(server.send(b"\x16\x03\x01 nonsense\r\n\r\n").0, Some(400) | None));
    let broken = half.replace("\"jsonrpc\"", "jsonrpc+++");
    assert!(server.send(broken.as_bytes()).0.is_some_and(|status| status >= 400));
    // Many requests at once are all answered.
    std::thread::scope(|scope| {
        let ask = || (0..50).filter(|_| server.ask("/mcp", "").0 == Some(200)).count();
        let asking: Vec<_> = (0..20).map(|_| scope.spawn(ask)).collect();
        for asked in asking {
            assert_eq!(asked.join().unwrap(), 50);
        }
    });
    slow.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut told = String::new();
    let _ = slow.read_to_string(&mut told);
    assert!(told.contains("408"), "{told}");
}

#[test]
fn a_script_ends_when_its_client_disconnects() {
    let env = TestEnv::with(SKILLS);
    approve(&env, "waits");
    let server = Server::start(&env, &[]);
    let call =
        newest("tools/call", json!({"name": "skills.run_script", "arguments": {"name": "waits"}}));
    let headers = "MCP-Name: skills.run_script\r\n";
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(request("/mcp", &server.address, headers, &call).as_bytes()).unwrap();
    wait(|| running("forever.sh"), "the script does not start");
    drop(stream);
    wait(|| !running("forever.sh"), "the script does not end");
    // The same holds in a session of an older revision.
    let post = |session: &str, body: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
            server.address,
            body.len()
        )
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}});
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(post("", &hello.to_string()).as_bytes()).unwrap();
    let mut head = [0; 2048];
    let count = stream.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..count]).to_lowercase();
    let session = head.split("mcp-session-id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let session = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    for body in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "skills.run_script", "arguments": {"name": "waits"}}}),
    ] {
        stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(post(&session, &body.to_string()).as_bytes()).unwrap();
        let _ = stream.read(&mut [0; 64]).unwrap();
    }
    wait(|| running("forever.sh"), "the script does not start");
    drop(stream);
    wait(|| !running("forever.sh"), "the script does not end");
    // The script also ends when the server is terminated.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(request("/mcp", &server.address, headers, &call).as_bytes()).unwrap();
    wait(|| running("forever.sh"), "the script does not start");
    let pid = server.child.id().to_string();
    assert_eq!(env.run_args("kill", &["-TERM", &pid]).code, Some(0));
    wait(|| !running("forever.sh"), "the script does not end");
}

fn wait(is_so: impl Fn() -> bool, otherwise: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "{otherwise}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_a_token_the_user_is_not_asked() {
    let env = TestEnv::with(SKILLS);
    let server = Server::start(&env, &[]);
    let mut call: serde_json::Value = serde_json::from_str(&newest(
        "tools/call",
        json!({"name": "skills.run_script", "arguments": {"name": "pdf"}}),
    ))
    .unwrap();
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}});
    let headers = "MCP-Name: skills.run_script\r\n";
    let (status, answer) =
        server.send(request("/mcp", &server.address, headers, &call.to_string()).as_bytes());
    assert_eq!(status, Some(200), "{answer}");
    assert!(answer.contains("openskills approve") && !answer.contains("inputRequests"), "{answer}");
}
