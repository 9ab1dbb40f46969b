//! Guarantees for all clients, including old, unusual and broken ones: every request is answered, large results come in
//! parts, and no client gets another client's data.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::TestEnv;

use crate::mcp::{Client, SKILLS, approve};
use crate::mcp_http::{Server, TOKEN, newest};
use crate::openskills;

/// Skills whose frontmatter strict clients reject.
const ODD: &str = "\
//- /s/listed-tools/SKILL.md
---
name: listed-tools
description: Has a list of tools.
allowed-tools: [Read, Grep]
---
Body.
//- /s/deep-metadata/SKILL.md
---
name: deep-metadata
description: Has metadata that is more than text.
metadata:
  tags: [a, b]
---
Body.
";

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn every_invalid_request_gets_an_error_response() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::begun(&env, &["mcp", "--dir", "s"]);
    // This includes the first request.
    let wrong = client.ask("initialize", &json!({"capabilities": {}}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "odd", "version": "1"}});
    assert_eq!(client.ask("initialize", &hello)["result"]["protocolVersion"], "2025-03-26");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":93,\"method\":\"tools/call\",\"params\":{{\"name\":\"{}\"}}}}",
        "x".repeat(17 << 20)
    );
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{}{},\"id\":92}}",
        "{\"a\":".repeat(5000),
        "1".to_owned() + &"}".repeat(5000)
    );
    for (line, id, code) in [
        (
            "{\"jsonrpc\":\"2.0\",\"id\":91,\"method\":\"tools/call\",\"params\":{\"name\":\"\\ud800\"}}",
            json!(91),
            -32700,
        ),
        (deep.as_str(), json!(92), -32700),
        (long.as_str(), json!(93), -32600),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":94,\"method\":\"tools/call\",\"params\":{\"arguments\":{}}}",
            json!(94),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"95\",\"method\":\"resources/read\",\"params\":{}}",
            json!("95"),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":96,\"method\":\"skills/get\",\"params\":{}}",
            json!(96),
            -32602,
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":97,\"method\":\"skills/unknown\"}", json!(97), -32601),
        ("no JSON", Value::Null, -32700),
    ] {
        client.write(format!("{line}\n").as_bytes());
        let answer = client.hear();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
    }
    // A batch gets one response, with the errors in it.
    client.send(&json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": 1}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "skills.read", "arguments": {"name": "pdf"}}},
    ]));
    let answers = client.hear();
    let mut ids: Vec<i64> =
        answers.as_array().unwrap().iter().filter_map(|one| one["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3], "{answers}");
    client.go();
}

#[test]
fn progress_is_reported_to_clients_that_request_it() {
    let env = TestEnv::with(SKILLS);
    env.write("s/quick/scripts/quick.sh", b"sleep 2; echo done\n");
    approve(&env, "quick");
    let mut client = Client::start(&env, "");
    let call = json!({"name": "skills.run_script", "arguments": {"name": "quick"}, "_meta": {"progressToken": "mine"}});
    let number = client.request("tools/call", &call);
    let mut progress = Vec::new();
    let answer = loop {
        let message = client.hear();
        if message["id"] == number {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "mine");
        progress.push(message["params"]["progress"].as_f64().unwrap());
    };
    assert_eq!(text(&answer["result"]), "done\n");
    assert!(progress.len() >= 2 && progress.is_sorted(), "{progress:?}");
}

#[test]
fn long_files_are_returned_in_parts_and_images_as_images() {
    let env = TestEnv::with(SKILLS);
    let long: String = (0..20_000).map(|line| format!("line {line}: größe\n")).collect();
    env.write("s/pdf/references/long.md", long.as_bytes());
    env.write("s/pdf/references/pixel.png", &[0x89, b'P', 0, 1]);
    env.write("s/pdf/references/raw.bin", &[0xff, 0, 1]);
    let mut client = Client::start(&env, "");
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let call = json!({"name": "pdf", "path": "references/long.md", "offset": offset});
        let part = client.tool("skills.read_resource", &call);
        whole += text(&part);
        // The text is sent only once, so nothing else in the response is long.
        assert!(part.to_string().len() < text(&part).len() * 2 + 1000);
        let about = &part["_meta"]["openskills/result"];
        assert_eq!(about["size"], long.len());
        let Some(next) = about["nextOffset"].as_u64() else { break };
        let told = part["content"][1]["text"].as_str().unwrap();
        assert!(
            told.contains(&format!("and offset {next}")) && told.contains(&long.len().to_string()),
            "{told}"
        );
        offset = next;
    }
    assert_eq!(whole, long);
    let few = json!({"name": "pdf", "path": "references/long.md", "limit": 30, "offset": 0});
    assert_eq!(text(&client.tool("skills.read_resource", &few)), "line 0: größe\n");
    let image = client
        .tool("skills.read_resource", &json!({"name": "pdf", "path": "references/pixel.png"}));
    assert_eq!(
        image["content"][0],
        json!({"type": "image", "data": "iVAAAQ==", "mimeType": "image/png"})
    );
    let raw =
        client.tool("skills.read_resource", &json!({"name": "pdf", "path": "references/raw.bin"}));
    assert_eq!(raw["content"][0]["resource"]["blob"], "/wAB", "{raw}");
    // More deeply nested files require `nested`, as on the command line.
    let deep = json!({"name": "pdf", "path": "references/deep/more.md"});
    assert_eq!(client.tool("skills.read_resource", &deep)["isError"], true);
    let deep = json!({"name": "pdf", "path": "references/deep/more.md", "nested": true});
    assert_eq!(text(&client.tool("skills.read_resource", &deep)), "More.\n");
    client.go();
}

#[test]
fn one_nonstandard_skill_does_not_hide_the_others() {
    let env = TestEnv::with(&format!("{SKILLS}{ODD}"));
    let mut client = Client::start(&env, "");
    let uris = |answer: &Value| -> Vec<String> {
        let all = answer["result"]["skills"].as_array().unwrap_or_else(|| panic!("{answer}"));
        all.iter().map(|one| one["uri"].as_str().unwrap().to_owned()).collect()
    };
    let listed = uris(&client.ask("skills/list", &json!({})));
    assert_eq!(
        listed,
        ["skill://s/pdf/SKILL.md", "skill://s/quick/SKILL.md", "skill://s/waits/SKILL.md"]
    );
    let index = client.ask("resources/read", &json!({"uri": "skill://index.json"}));
    assert!(!index.to_string().contains("listed-tools"), "{index}");
    // The skill can be requested by URI.
    let got = client.ask("skills/get", &json!({"uri": "skill://s/listed-tools/SKILL.md"}));
    assert_eq!(
        got["result"]["skill"]["frontmatter"]["allowed-tools"],
        json!(["Read", "Grep"]),
        "{got}"
    );
    assert_ne!(client.tool("skills.read", &json!({"name": "deep-metadata"}))["isError"], true);
    let all = client.tool("skills.list", &json!({}));
    assert!(
        text(&all).contains("s/listed-tools") && text(&all).ends_with("[all skills: 5]"),
        "{all}"
    );
    client.ask("skills/list", &json!({}));
    client.go();
    let log = openskills(&env, "log show --json --event skill.not_listed").stdout;
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 2, "once for each: {log}");
    assert!(
        log.contains("`allowed-tools` must be a single string")
            && log.contains("`metadata` must map"),
        "{log}"
    );
    let told = openskills(&env, "validate s/deep-metadata --json").stdout;
    assert!(told.contains("not-listed") && told.contains("--list-nonstandard"), "{told}");
    assert!(!openskills(&env, "validate s/pdf --json").stdout.contains("not-listed"));
    let mut client = Client::start(&env, "--list-nonstandard");
    assert_eq!(uris(&client.ask("skills/list", &json!({}))).len(), 5);
}

#[test]
fn older_clients_find_skills_by_index_and_files_by_manifest() {
    let env = TestEnv::with(SKILLS);
    env.write("s/quick/_manifest", b"its own");
    let mut client = Client::start(&env, "");
    let mut read = |uri: &str| client.ask("resources/read", &json!({"uri": uri}));
    let json_of = |answer: &Value| -> Value {
        assert_eq!(answer["result"]["contents"][0]["mimeType"], "application/json", "{answer}");
        serde_json::from_str(answer["result"]["contents"][0]["text"].as_str().unwrap()).unwrap()
    };
    let index = json_of(&read("skill://index.json"));
    assert_eq!(index["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let first = &index["skills"][0];
    assert_eq!((&first["name"], &first["type"]), (&json!("pdf"), &json!("skill-md")));
    assert_eq!((&first["url"], &first["archives"]), (&json!("skill://s/pdf/SKILL.md"), &json!([])));
    assert_eq!(first["frontmatter"]["name"], "pdf");
    // User-only skills are not in the index.
    assert_eq!(index["skills"].as_array().unwrap().len(), 3, "{index}");
    for uri in ["skill://s/pdf/_manifest", "skill://pdf/_manifest"] {
        let manifest = json_of(&read(uri));
        assert_eq!(manifest["skill"], "pdf");
        let files = manifest["files"].as_array().unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(
            paths,
            ["SKILL.md", "references/deep/more.md", "references/guide.md", "scripts/hi.py"]
        );
        assert_eq!(first["digest"], files[0]["hash"]);
        assert_eq!(files[2]["size"], 11);
    }
    let own = read("skill://s/quick/_manifest");
    assert_eq!(own["result"]["contents"][0]["text"], "its own", "{own}");
    for uri in [
        "skill://s/slow/_manifest",
        "skill://slow/_manifest",
        "skill://unknown/_manifest",
        "skill://_manifest",
    ] {
        let missing = read(uri);
        assert_eq!(missing["error"]["data"], json!({"uri": uri}), "{missing}");
    }
    let log = openskills(&env, "log show --json").stdout;
    assert!(!log.contains("skill.activated"), "reading is not activating: {log}");
}

/// Sends a request of an older revision. Returns the status, the headers and the body of the response.
fn post(server: &Server, headers: &str, body: &str) -> (Option<u16>, String, String) {
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    let (status, answer) = server.send(request.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (status, head.to_ascii_lowercase(), body.to_owned())
}

/// Starts a session of an older revision. Returns the header with its ID.
fn session(server: &Server, name: &str) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": name, "version": "1"},
    }});
    let (status, head, body) = post(server, "", &hello.to_string());
    assert_eq!(status, Some(200), "{head}\n{body}");
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let header = format!("Mcp-Session-Id: {id}\r\n");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(post(server, &header, &ready).0, Some(202));
    header
}

fn call(id: u64, tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}})
        .to_string()
}

#[test]
fn http_responses_are_json_unless_other_messages_come_first() {
    let env = TestEnv::with(SKILLS);
    env.write("s/quick/scripts/quick.sh", b"sleep 1; echo done\n");
    approve(&env, "quick");
    let server = Server::start(&env, &[]);
    let own = session(&server, "old");
    let (status, head, body) =
        post(&server, &own, &call(1, "skills.read", &json!({"name": "pdf"})));
    assert_eq!(status, Some(200));
    assert!(head.contains("content-type: application/json"), "{head}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["id"], 1);
    assert_eq!(
        answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "openskills"
    );
    // A later response is an event stream with progress, without event IDs.
    let (_, head, body) =
        post(&server, &own, &call(2, "skills.run_script", &json!({"name": "quick"})));
    assert!(head.contains("text/event-stream"), "{head}");
    assert!(body.contains("notifications/progress") && body.contains("done\\n"), "{body}");
    assert!(!body.contains("id: ") && !body.contains("retry:"), "{body}");
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]);
    let (status, _, body) = post(&server, &own, &batch.to_string());
    let answers: Vec<Value> =
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{status:?} {error}: {body}"));
    let ids: Vec<i64> = answers.iter().filter_map(|one| one["id"].as_i64()).collect();
    assert_eq!(ids, [1, 2, 3], "{body}");
    assert_eq!(answers[1]["error"]["code"], -32602);
    for (body, id, code) in [
        (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"a\":\"\\ud800\"}}",
            json!(7),
            -32700,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"prompts/get\",\"params\":{}}",
            json!(8),
            -32602,
        ),
        ("nonsense", Value::Null, -32700),
    ] {
        let (status, _, answer) = post(&server, &own, body);
        assert_eq!(status, Some(400), "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
    }
    let gone = format!(
        "DELETE /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{own}\r\n",
        server.address
    );
    assert_eq!(server.send(gone.as_bytes()).0, Some(200));
    assert_eq!(post(&server, &own, &call(3, "skills.list", &json!({}))).0, Some(404));
}

#[test]
fn the_oldest_session_is_ended_to_make_room_for_another() {
    let env = TestEnv::with(SKILLS);
    let server = Server::start(&env, &[]);
    let first = session(&server, "first");
    let used = session(&server, "used");
    for number in 0..256 {
        session(&server, "many");
        if number % 50 == 0 {
            assert_eq!(post(&server, &used, &call(1, "skills.list", &json!({}))).0, Some(200));
        }
    }
    assert_eq!(
        post(&server, &first, &call(1, "skills.list", &json!({}))).0,
        Some(404),
        "it was quiet for longest"
    );
    assert_eq!(post(&server, &used, &call(1, "skills.list", &json!({}))).0, Some(200));
    let (status, _, body) = post(
        &server,
        "MCP-Protocol-Version: 2026-07-28\r\nMCP-Method: tools/list\r\n",
        &newest("tools/list", json!({})),
    );
    assert_eq!(status, Some(200), "{body}");
}

/// Opens an event stream with GET.
fn listen(server: &Server, own: &str) -> std::net::TcpStream {
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    let asked = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n{own}\r\n",
        server.address
    );
    stream.write_all(asked.as_bytes()).unwrap();
    stream
}

#[test]
fn open_streams_do_not_block_requests() {
    let env = TestEnv::with(SKILLS);
    let server = Server::start(&env, &[]);
    let sessions: Vec<String> = (0..256).map(|_| session(&server, "listens")).collect();
    let streams: Vec<_> = sessions.iter().map(|own| listen(&server, own)).collect();
    // More connections than allowed.
    let idle: Vec<_> =
        (0..300).map(|_| std::net::TcpStream::connect(&server.address).unwrap()).collect();
    let (status, _, body) = post(
        &server,
        "MCP-Protocol-Version: 2026-07-28\r\nMCP-Method: tools/list\r\n",
        &newest("tools/list", json!({})),
    );
    assert_eq!(status, Some(200), "{body}");
    assert_eq!(post(&server, &sessions[200], &call(1, "skills.list", &json!({}))).0, Some(200));
    drop((streams, idle));
}

#[test]
fn a_session_with_an_unanswered_request_is_not_idle() {
    let env = TestEnv::with(SKILLS);
    env.write("s/quick/scripts/quick.sh", b"sleep 4; echo done\n");
    approve(&env, "quick");
    let server = Server::start(&env, &[]);
    let busy = session(&server, "busy");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            post(&server, &busy, &call(1, "skills.run_script", &json!({"name": "quick"})))
        });
        std::thread::sleep(Duration::from_millis(500));
        // The id of an unanswered request cannot be reused.
        let (status, _, body) = post(&server, &busy, &call(1, "skills.list", &json!({})));
        assert_eq!(status, Some(400), "{body}");
        assert!(body.contains("-32600"), "{body}");
        for _ in 0..257 {
            session(&server, "many");
        }
        let (status, _, body) = waiting.join().unwrap();
        assert_eq!(status, Some(200));
        assert!(body.contains("done\\n"), "{body}");
    });
}

#[test]
fn the_accept_header_is_respected() {
    let env = TestEnv::with(SKILLS);
    env.write("s/quick/scripts/quick.sh", b"sleep 1; echo done\n");
    approve(&env, "quick");
    let server = Server::start(&env, &[]);
    let own = session(&server, "takes");
    for (accept, kind) in [
        ("Accept: */*\r\n", "text/event-stream"),
        ("", "text/event-stream"),
        ("Accept: application/json\r\n", "application/json"),
        ("Accept: text/event-stream\r\n", "text/event-stream"),
    ] {
        let body = call(1, "skills.run_script", &json!({"name": "quick"}));
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n{accept}{own}Content-Length: {}\r\n\r\n{body}",
            server.address,
            body.len()
        );
        let (status, answer) = server.send(request.as_bytes());
        assert_eq!(status, Some(200), "{accept}: {answer}");
        assert!(
            answer.to_ascii_lowercase().contains(&format!("content-type: {kind}")),
            "{accept}: {answer}"
        );
        assert!(answer.contains("done\\n"), "{accept}: {answer}");
    }
}

/// A client of an older revision without an event stream cannot receive a question, so it is not asked.
#[test]
fn a_client_without_an_event_stream_is_not_asked() {
    let env = TestEnv::with(SKILLS);
    env.write("token", TOKEN.as_bytes());
    let server = Server::start(&env, &["--token-file", "token"]);
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "deaf", "version": "1"},
    }});
    let (_, head, _) = post(&server, &token, &hello.to_string());
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let own = format!("{token}Mcp-Session-Id: {id}\r\n");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    post(&server, &own, &ready);
    let (status, _, body) =
        post(&server, &own, &call(1, "skills.run_script", &json!({"name": "pdf"})));
    assert_eq!(status, Some(200));
    assert!(body.contains("openskills approve s/pdf"), "{body}");
}

#[test]
fn results_of_failed_runs_contain_no_local_paths() {
    let env = TestEnv::with(SKILLS);
    std::fs::create_dir(env.path("work")).unwrap();
    env.write(
        "s/pdf/scripts/hi.py",
        b"import sys\nopen('made', 'w').write('x')\nsys.exit(int(sys.argv[1]))\n",
    );
    approve(&env, "pdf");
    let mut client = Client::start(&env, "--workspace work");
    let failed = client.tool("skills.run_script", &json!({"name": "pdf", "args": ["4"]}));
    assert!(text(&failed).contains("[interpreter: python3"), "{failed}");
    assert!(!text(&failed).contains("/python3"), "{failed}");
    let late = json!({"name": "quick", "timeout_seconds": 1});
    env.write("s/quick/scripts/quick.sh", b"sleep 5\n");
    approve(&env, "quick");
    let late = client.tool("skills.run_script", &late);
    assert!(text(&late).contains("retry with a larger `timeout_seconds`"), "{late}");
    let made = client
        .tool("skills.run_script", &json!({"name": "pdf", "args": ["0"], "use_workspace": true}));
    assert!(text(&made).contains("[changed in the workspace: added made]"), "{made}");
    let files = client.tool("skills.read_resource", &json!({"name": "pdf", "path": "references"}));
    assert_eq!(text(&files), "references/deep/more.md\nreferences/guide.md\n");
    for (uri, code) in
        [("skill://s/pdf/references", -32002), ("skill://s/pdf/references/none", -32002)]
    {
        let missing = client.ask("resources/read", &json!({"uri": uri}));
        assert_eq!(
            (&missing["error"]["code"], &missing["error"]["data"]),
            (&json!(code), &json!({"uri": uri})),
            "{missing}"
        );
    }
    for method in ["tools/list", "resources/templates/list"] {
        assert_eq!(
            client.ask(method, &json!({"cursor": "100"}))["error"]["code"],
            -32602,
            "{method}"
        );
    }
    client.go();
}

#[test]
fn web_pages_of_allowed_origins_can_read_responses() {
    let env = TestEnv::with(SKILLS);
    env.write("token", TOKEN.as_bytes());
    let server = Server::start(
        &env,
        &["--token-file", "token", "--allow-origin", "https://app.example.com"],
    );
    let ask = |origin: &str| {
        let asked = format!(
            "OPTIONS /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\r\n",
            server.address
        );
        let (status, answer) = server.send(asked.as_bytes());
        (status, answer.to_ascii_lowercase())
    };
    let (status, answer) = ask("https://app.example.com");
    assert_eq!(status, Some(204), "{answer}");
    assert!(
        answer.contains("access-control-allow-origin: https://app.example.com\r\n"),
        "{answer}"
    );
    assert!(answer.contains("authorization") && answer.contains("mcp-session-id"), "{answer}");
    let (status, answer) = ask("https://evil.example.com");
    assert!(status != Some(204) && !answer.contains("access-control"), "{answer}");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"},
    }})
    .to_string();
    let with = |origin: &str, token: &str| {
        let headers = format!("Origin: {origin}\r\nAuthorization: Bearer {token}\r\n");
        post(&server, &headers, &hello)
    };
    let (status, head, _) = with("https://app.example.com", TOKEN);
    assert_eq!(status, Some(200));
    assert!(head.contains("access-control-allow-origin: https://app.example.com"), "{head}");
    assert!(head.contains("access-control-expose-headers: mcp-session-id"), "{head}");
    // A page must be able to read that it has the wrong token.
    let (status, head, _) = with("https://app.example.com", "wrong");
    assert_eq!(status, Some(401));
    assert!(head.contains("access-control-allow-origin"), "{head}");
    let (status, head, _) = with("https://app.example.com:8443", TOKEN);
    assert_eq!(status, Some(403));
    assert!(!head.contains("access-control"), "{head}");
}

/// A skill that one client's user invoked is not available to another client with the same name.
#[test]
fn the_name_that_a_client_gives_itself_grants_nothing() {
    let env = TestEnv::with(SKILLS);
    let server = Server::start(&env, &[]);
    let (mine, theirs) = (session(&server, "same"), session(&server, "same"));
    let read = |own: &str| {
        let (_, _, body) = post(
            &server,
            own,
            &call(1, "skills.read_resource", &json!({"name": "slow", "path": "scripts/wait.sh"})),
        );
        body
    };
    let start =
        json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "slow"}});
    assert!(read(&mine).contains("\"isError\":true"));
    assert!(post(&server, &mine, &start.to_string()).2.contains("messages"));
    assert!(read(&mine).contains("touch started"), "{}", read(&mine));
    assert!(read(&theirs).contains("\"isError\":true"), "{}", read(&theirs));
    // Without a session and a token, every connection is a separate client.
    let stateless = |method: &str, params: Value| {
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMCP-Method: {method}\r\nMCP-Name: {}\r\n",
            params["name"].as_str().unwrap()
        );
        post(&server, &headers, &newest(method, params)).2
    };
    let got = stateless("prompts/get", json!({"name": "slow"}));
    assert!(got.contains("messages"), "{got}");
    let read = stateless(
        "tools/call",
        json!({"name": "skills.read_resource", "arguments": {"name": "slow", "path": "scripts/wait.sh"}}),
    );
    assert!(read.contains("\"isError\":true"), "{read}");
    std::thread::sleep(Duration::from_millis(10));
    let log = openskills(&env, "log show --json --event mcp.called").stdout;
    let sessions: std::collections::BTreeSet<String> = log
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["sessionId"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(sessions.len(), 3, "{sessions:?}");
}
