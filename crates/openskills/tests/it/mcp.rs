//! The MCP server over stdio: with hand-written messages, and with the client of the official Python SDK.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{TestEnv, skip};

use crate::openskills;

pub(crate) const SKILLS: &str = "\
//- /s/pdf/SKILL.md
---
name: pdf
description: Extracts text from PDFs. Use when a PDF is given.
license: MIT
metadata:
  version: '1'
---
Read [the guide](references/guide.md) about $ARGUMENTS.
//- /s/pdf/references/guide.md
The guide.
//- /s/pdf/references/deep/more.md
More.
//- /s/pdf/scripts/hi.py
import json, sys
print(json.dumps({'hi': sys.argv[1:], 'in': json.load(sys.stdin)}))
//- /s/quick/SKILL.md
---
name: quick
description: Is done at once.
---
Quick.
//- /s/quick/scripts/quick.sh
echo quick
//- /s/slow/SKILL.md
---
name: slow
description: Waits.
disable-model-invocation: true
---
Wait.
//- /s/slow/scripts/wait.sh
touch started; while :; do sleep 0.1; done
//- /s/waits/SKILL.md
---
name: waits
description: Waits for ever.
---
Wait.
//- /s/waits/scripts/forever.sh
while :; do sleep 0.1; done
";

/// A client that sends hand-written lines to a server over stdio.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    number: u64,
}

impl Client {
    pub(crate) fn start(env: &TestEnv, arguments: &str) -> Self {
        let words: Vec<&str> =
            ["mcp", "--dir", "s"].into_iter().chain(arguments.split_whitespace()).collect();
        Self::start_with(env, &words)
    }

    pub(crate) fn start_with(env: &TestEnv, words: &[&str]) -> Self {
        let mut client = Self::begun(env, words);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}});
        let answer = client.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "openskills", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Starts the server without a handshake.
    pub(crate) fn begun(env: &TestEnv, words: &[&str]) -> Self {
        let mut child = env
            .command(env!("CARGO_BIN_EXE_openskills"), words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, number: 0 }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    pub(crate) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.number += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params});
        self.send(&message);
        self.number
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let number = self.request(method, params);
        loop {
            let answer = self.hear();
            if answer["id"] == number {
                return answer;
            }
        }
    }

    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        answer["result"].clone()
    }

    /// Returns the server process.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Closes stdin and waits until the server exits.
    pub(crate) fn go(mut self) {
        self.goes_within(Duration::from_secs(30));
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// Closes stdin and waits until the server exits, but not longer than `time`.
    fn goes_within(&mut self, time: Duration) {
        self.stdin.take();
        let end = Instant::now() + time;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "the server does not exit");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn approve(env: &TestEnv, name: &str) {
    let run = openskills(env, &format!("approve {name} --dir s --yes"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn tools_list_read_and_read_files() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "");
    let tools = client.ask("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["skills.list", "skills.read", "skills.read_resource", "skills.run_script"]);
    assert_eq!(
        tools[1]["inputSchema"]["properties"]["name"]["enum"],
        json!(["pdf", "quick", "waits"])
    );
    assert_eq!(tools[1]["annotations"]["readOnlyHint"], true);
    for tool in &tools {
        jsonschema::meta::validate(&tool["inputSchema"]).unwrap();
    }
    // Only the list has structured content. The results of the other tools are sent once, as text.
    jsonschema::meta::validate(&tools[0]["outputSchema"]).unwrap();
    assert!(tools[1..].iter().all(|tool| tool["outputSchema"].is_null()));
    let fits = |number: usize, result: &Value| {
        let schema = jsonschema::validator_for(&tools[number]["outputSchema"]).unwrap();
        schema
            .validate(&result["structuredContent"])
            .unwrap_or_else(|error| panic!("{error}: {result}"));
    };
    let listed = client.tool("skills.list", &json!({}));
    fits(0, &listed);
    // Skills that the model may not invoke are not listed.
    assert_eq!(listed["structuredContent"]["skills"].as_array().unwrap().len(), 3);
    assert_eq!(listed["structuredContent"]["skills"][0]["uri"], "skill://s/pdf/SKILL.md");
    let found = client.tool("skills.list", &json!({"query": "extracts"}));
    assert_eq!(found["structuredContent"]["skills"][0]["id"], "s/pdf");
    let read = client.tool("skills.read", &json!({"name": "pdf", "arguments": "tables"}));
    assert!(read["structuredContent"].is_null(), "{read}");
    assert_eq!(read["_meta"]["openskills/result"]["skillId"], "s/pdf");
    let by_id = client.tool("skills.read", &json!({"skillId": "s/pdf", "arguments": "tables"}));
    assert!(by_id["content"][0]["text"].as_str().unwrap().contains("about tables"), "{by_id}");
    let content = read["content"][0]["text"].as_str().unwrap();
    assert!(content.contains("about tables"), "{read}");
    // The instructions say how to read files, but not where they are.
    assert!(content.contains("call skills.read_resource with name \"pdf\""), "{content}");
    assert!(!content.contains("Skill directory"), "{content}");
    let everything = client.tool("skills.list", &json!({"query": ""}));
    assert_eq!(everything["structuredContent"], listed["structuredContent"]);
    let again = client.tool("skills.read", &json!({"name": "pdf", "arguments": "tables"}));
    assert_eq!(again["content"], read["content"], "another conversation may ask");
    let file =
        client.tool("skills.read_resource", &json!({"name": "pdf", "path": "references/guide.md"}));
    assert_eq!(file["_meta"]["openskills/result"]["path"], "references/guide.md");
    assert_eq!(file["content"][0]["text"], "The guide.\n");
    for (tool, arguments, told) in [
        ("skills.read", json!({"name": "pfd"}), "did you mean `pdf`"),
        ("skills.read", json!({"name": "slow"}), "slow"),
        ("skills.read", json!({"name": "nothing-like-it"}), "call skills.list to list all skills"),
        ("skills.read", json!({"name": "pdf", "skillId": "s/quick"}), "refer to different skills"),
        (
            "skills.read_resource",
            json!({"name": "pdf", "path": "none"}),
            "call skills.read to list a skill's files",
        ),
        (
            "skills.read_resource",
            json!({"name": "pdf", "path": "references/deep/x.md"}),
            "`nested` set to true",
        ),
        (
            "skills.read_resource",
            json!({"name": "pdf", "path": "references/guide.md", "limit": 0}),
            "`limit` must be",
        ),
        (
            "skills.read_resource",
            json!({"name": "pdf", "path": "references/guide.md", "offset": 99}),
            "has 11 bytes",
        ),
        ("skills.read", json!({}), "`name` is missing"),
        ("skills.read", json!({"name": "pdf", "extra": 1}), "unknown argument `extra`"),
        ("skills.read_resource", json!({"name": "pdf", "path": "../../x"}), "cannot read"),
        ("skills.list", json!({"cursor": "x"}), "cursor"),
        ("skills.list", json!({"cursor": "9999"}), "cursor"),
    ] {
        let failed = client.tool(tool, &arguments);
        assert_eq!(failed["isError"], true, "{tool} {arguments}: {failed}");
        let text = failed["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(told), "{tool} {arguments}: {text}");
    }
    let other = client.tool("skills_read", &json!({"name": "pdf"}));
    assert_ne!(other["isError"], true, "the other spelling is known too: {other}");
    let unknown = client.ask("tools/call", &json!({"name": "skills.delete"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    client.go();
    // Every call is an event with the client's name.
    let log = openskills(&env, "log show --json").stdout;
    assert!(
        log.contains("\"sessionId\":\"mcp-by_hand-") && log.contains("skill.activated"),
        "{log}"
    );
    assert!(
        log.contains("skill.resource_read") && log.contains("skill.activation_failed"),
        "{log}"
    );
    assert!(
        log.matches("mcp.called").count() > 8 && log.contains("\"outcome\":\"failed\""),
        "{log}"
    );
}

#[test]
fn tool_names_can_have_underscores() {
    let env = TestEnv::with(SKILLS);
    let mut other = Client::start(&env, "--tool-names underscore");
    let tools = other.ask("tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"][3]["name"], "skills_run_script");
}

#[test]
fn scripts_run_only_with_approval_and_end_with_their_client() {
    let env = TestEnv::with(SKILLS);
    std::fs::create_dir(env.path("work")).unwrap();
    let mut client = Client::start(&env, "--workspace work");
    let refused = client.tool("skills.run_script", &json!({"name": "pdf"}));
    assert_eq!(refused["isError"], true);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("openskills approve"), "{text}");
    approve(&env, "pdf");
    approve(&env, "slow");
    // The model may not run scripts of skills that it may not invoke, unless the user invoked them.
    let refused = client.tool("skills.run_script", &json!({"name": "slow"}));
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the model is not allowed to invoke `s/slow`"), "{text}");
    assert!(client.ask("prompts/get", &json!({"name": "slow"}))["result"].is_object());
    let call = json!({"name": "pdf", "args": ["a b"], "input": {"x": 1}});
    let done = client.tool("skills.run_script", &call);
    assert_eq!(
        done["_meta"]["openskills/result"]["output"],
        json!({"hi": ["a b"], "in": {"x": 1}}),
        "{done}"
    );
    // A canceled script ends. Other calls are answered while it runs.
    let slow = client.request(
        "tools/call",
        &json!({"name": "skills.run_script", "arguments": {"name": "slow", "use_workspace": true}}),
    );
    let listed = client.tool("skills.list", &json!({}));
    assert_eq!(listed["isError"], false, "{listed}");
    std::thread::sleep(Duration::from_millis(500));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}}));
    let end = Instant::now() + Duration::from_secs(10);
    while running("wait.sh") {
        assert!(Instant::now() < end, "the script does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    // A script also ends when its client disconnects.
    client.request(
        "tools/call",
        &json!({"name": "skills.run_script", "arguments": {"name": "slow"}}),
    );
    std::thread::sleep(Duration::from_millis(700));
    client.go();
    let end = Instant::now() + Duration::from_secs(10);
    while running("wait.sh") {
        assert!(Instant::now() < end, "the script does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns true if a process has this in its arguments.
pub(crate) fn running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(word))
}

#[test]
fn a_model_cannot_read_skills_that_it_may_not_invoke() {
    let env = TestEnv::with(SKILLS);
    let skill = |name: &str, more: &str| {
        let text = format!("---\nname: {name}\ndescription: d\n{more}---\nHidden words.\n");
        env.write(&format!("s/{name}/SKILL.md"), text.as_bytes());
        env.write(&format!("s/{name}/references/a.md"), b"Hidden file.\n");
    };
    skill("mine", "model_invocation: user-only\n");
    skill("off", "model_invocation: disabled\n");
    skill("needs", "library_depends: [nosuchlibrary]\n");
    skill(
        "takes",
        "arguments: {schema: {type: object, properties: {a: {type: string}}, required: [a]}}\n",
    );
    let mut client = Client::start(&env, "");
    for (name, path) in [
        ("mine", "SKILL.md"),
        ("mine", "references/a.md"),
        ("off", "SKILL.md"),
        ("off", "references/a.md"),
        ("needs", "SKILL.md"),
        ("takes", "SKILL.md"),
    ] {
        let read = client.tool("skills.read_resource", &json!({"name": name, "path": path}));
        assert_eq!(read["isError"], true, "{name} {path}: {read}");
        assert!(!read.to_string().contains("Hidden"), "{name} {path}: {read}");
        // A host may pass resources to its model, so the same rules apply to resources.
        let read =
            client.ask("resources/read", &json!({"uri": format!("skill://s/{name}/{path}")}));
        let is_closed = ["mine", "off"].contains(&name);
        assert_eq!(read["error"].is_object(), is_closed, "{name} {path}: {read}");
        assert_eq!(read.to_string().contains("Hidden"), !is_closed, "{name} {path}: {read}");
    }
    for name in ["mine", "off"] {
        let uri = json!({"uri": format!("skill://s/{name}/SKILL.md")});
        assert!(client.ask("skills/get", &uri)["error"].is_object(), "{name}");
        let folder = json!({"uri": format!("skill://s/{name}/references")});
        assert!(client.ask("resources/directory/read", &folder)["error"].is_object(), "{name}");
        let reference = json!({"ref": {"type": "ref/resource", "uri": "skill://{+id}/{+path}"}, "argument": {"name": "path", "value": ""}, "context": {"arguments": {"id": format!("s/{name}")}}});
        let completed = client.ask("completion/complete", &reference);
        assert!(!completed.to_string().contains("a.md"), "{name}: {completed}");
    }
    // A disabled skill does not exist for clients and is never suggested.
    for name in ["off", "of", "s/off", "s/of", "offf"] {
        for (tool, more) in [
            ("skills.read", json!({"name": name})),
            ("skills.read_resource", json!({"name": name, "path": "SKILL.md"})),
            ("skills.run_script", json!({"name": name})),
        ] {
            let told = client.tool(tool, &more)["content"][0]["text"].to_string();
            assert!(told.contains(&format!("no skill named `{name}`")), "{tool}: {told}");
            assert!(!told.contains("`off`") || name == "off", "{tool} {name}: {told}");
            assert!(!told.contains("`s/off`") || name == "s/off", "{tool} {name}: {told}");
        }
    }
    let long = "x".repeat(300);
    let read = client.tool("skills.read_resource", &json!({"name": "pdf", "path": long}));
    let asked = client.ask("resources/read", &json!({"uri": format!("skill://s/pdf/{long}")}));
    for told in [read.to_string(), asked.to_string()] {
        assert!(!told.contains(env.path("s").to_str().unwrap()), "{told}");
    }
    let listed = client.ask("resources/list", &json!({})).to_string();
    assert!(!listed.contains("s/mine/") && !listed.contains("s/off/"), "{listed}");
    // A user-only skill can be read after the user has invoked it with its prompt.
    let prompt = client.ask("prompts/get", &json!({"name": "s/mine"}));
    assert!(prompt.to_string().contains("Hidden words"), "{prompt}");
    let read =
        client.tool("skills.read_resource", &json!({"name": "mine", "path": "references/a.md"}));
    assert!(read.to_string().contains("Hidden file"), "{read}");
    let read = client.tool("skills.read", &json!({"name": "mine"}));
    assert!(read.to_string().contains("Hidden words"), "{read}");
    for path in ["SKILL.md", "references/a.md"] {
        let uri = json!({"uri": format!("skill://s/mine/{path}")});
        let read = client.ask("resources/read", &uri);
        assert!(read.to_string().contains("Hidden"), "{path}: {read}");
    }
    // A disabled skill cannot be invoked with its prompt either.
    assert!(client.ask("prompts/get", &json!({"name": "s/off"}))["error"].is_object());
    let read = client.ask("resources/read", &json!({"uri": "skill://s/off/SKILL.md"}));
    assert!(read["error"].is_object(), "{read}");
    // With its arguments, the skill and its files can be read.
    let read = client.tool("skills.read", &json!({"name": "takes", "arguments": "x"}));
    assert!(read.to_string().contains("Hidden words"), "{read}");
    client.go();
}

#[test]
fn skills_are_resources_and_the_extension_lists_them() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "");
    let resources = client.ask("resources/list", &json!({}));
    let uris: Vec<&str> = resources["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    assert_eq!(
        uris,
        [
            "skill://index.json",
            "skill://s/pdf/SKILL.md",
            "skill://s/quick/SKILL.md",
            "skill://s/waits/SKILL.md"
        ]
    );
    let first = &resources["result"]["resources"][1];
    assert_eq!((&first["name"], &first["mimeType"]), (&json!("pdf"), &json!("text/markdown")));
    assert!(first["description"].as_str().unwrap().starts_with("Extracts"), "{first}");
    let listed = client.ask("skills/list", &json!({}));
    assert!(listed["result"]["ttlMs"].is_u64(), "{listed}");
    assert_eq!(listed["result"]["cacheScope"], "private");
    let skill = &listed["result"]["skills"][0];
    assert_eq!(skill["frontmatter"]["metadata"], json!({"version": "1"}), "{listed}");
    assert_eq!(listed["result"]["resultType"], "complete");
    // Every file is listed once and matches its digest.
    let files = skill["resources"].as_array().unwrap().clone();
    assert_eq!(files.len(), 4);
    for file in &files {
        let read = client.ask("resources/read", &json!({"uri": file["uri"]}));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        assert_eq!(file["digest"], format!("{}", skill::Digest::of(text.as_bytes())), "{file}");
        assert_eq!(file["size"], text.len());
    }
    let read = client.ask("resources/read", &json!({"uri": "skill://s/pdf/SKILL.md"}));
    assert_eq!(read["result"]["contents"][0]["mimeType"], "text/markdown");
    // An unlisted skill is served after the user has invoked it.
    let got = client.ask("skills/get", &json!({"uri": "skill://s/slow/SKILL.md"}));
    assert!(got["error"].is_object(), "{got}");
    assert!(client.ask("prompts/get", &json!({"name": "slow"}))["result"].is_object());
    let got = client.ask("skills/get", &json!({"uri": "skill://s/slow/SKILL.md"}));
    assert_eq!(got["result"]["skill"]["frontmatter"]["name"], "slow", "{got}");
    let folder =
        client.ask("resources/directory/read", &json!({"uri": "skill://s/pdf/references"}));
    let entries = folder["result"]["resources"].as_array().unwrap();
    assert_eq!(
        entries[0],
        json!({"uri": "skill://s/pdf/references/deep", "name": "deep", "mimeType": "inode/directory"})
    );
    assert_eq!(
        entries[1],
        json!({"uri": "skill://s/pdf/references/guide.md", "name": "guide.md", "mimeType": "text/markdown", "size": 11})
    );
    let folder = client.ask("resources/directory/read", &json!({"uri": "skill://s/pdf"}));
    let entry = &folder["result"]["resources"][0];
    assert_eq!((&entry["name"], &entry["uri"]), (&json!("pdf"), &json!("skill://s/pdf/SKILL.md")));
    env.write("s/pdf/references/pixel.png", &[0x89, b'P', 0, 1]);
    let blob = client.ask("resources/read", &json!({"uri": "skill://s/pdf/references/pixel.png"}));
    assert_eq!(blob["result"]["contents"][0]["blob"], "iVAAAQ==", "{blob}");
    assert_eq!(blob["result"]["contents"][0]["mimeType"], "image/png");
    let mut newest = Client::begun(&env, &["mcp", "--dir", "s"]);
    for (method, uri) in [
        ("resources/read", "skill://s/pdf/../../x"),
        ("resources/read", "skill://s/unknown/SKILL.md"),
        ("resources/read", "file:///etc/passwd"),
        ("skills/get", "skill://s/pdf/references/guide.md"),
        ("resources/directory/read", "skill://s/pdf/SKILL.md"),
        ("resources/directory/read", "skill://s/pdf/none"),
    ] {
        let failed = client.ask(method, &json!({"uri": uri}));
        // Older revisions have a separate error code for resources.
        let code = if method == "resources/read" { -32002 } else { -32602 };
        assert_eq!(failed["error"]["code"], code, "{method} {uri}: {failed}");
        assert_eq!(failed["error"]["data"], json!({"uri": uri}), "{method} {uri}: {failed}");
        let named = |name: &str| format!("io.modelcontextprotocol/{name}");
        let meta = json!({named("protocolVersion"): "2026-07-28", named("clientInfo"): {"name": "by hand", "version": "1"}, named("clientCapabilities"): {}});
        let failed = newest.ask(method, &json!({"uri": uri, "_meta": meta}));
        assert_eq!(failed["error"]["code"], -32602, "{method} {uri}: {failed}");
        assert_eq!(failed["error"]["data"], json!({"uri": uri}), "{method} {uri}: {failed}");
    }
    newest.go();
    let first = client.ask("skills/list", &json!({"cursor": ""}));
    assert!(first["result"]["skills"].is_array(), "an empty cursor is the first page: {first}");
    let prompts = client.ask("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 4);
    let prompt =
        client.ask("prompts/get", &json!({"name": "pdf", "arguments": {"arguments": "tables"}}));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("about tables"), "{prompt}");
    let unknown = client.ask("skills/fly", &json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}

#[test]
fn a_lowercase_skill_file_is_served_under_the_standard_name() {
    let env = TestEnv::with("//- /s/low/skill.md\n---\nname: low\ndescription: d\n---\nBody.\n");
    let mut client = Client::start(&env, "");
    let listed = client.ask("skills/list", &json!({}));
    let skill = &listed["result"]["skills"][0];
    assert_eq!(skill["frontmatter"]["name"], "low", "{listed}");
    assert_eq!(skill["resources"][0]["uri"], "skill://s/low/SKILL.md", "{listed}");
    let read = client.ask("resources/read", &json!({"uri": "skill://s/low/SKILL.md"}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().ends_with("Body.\n"), "{read}");
    let other = client.ask("resources/read", &json!({"uri": "skill://s/low/skill.md"}));
    assert!(other["error"].is_object(), "{other}");
    let folder = client.ask("resources/directory/read", &json!({"uri": "skill://s/low"}));
    assert_eq!(folder["result"]["resources"][0]["uri"], "skill://s/low/SKILL.md", "{folder}");
}

#[test]
fn a_skill_beyond_the_common_limits_is_served_with_a_warning() {
    let env = TestEnv::with(SKILLS);
    for number in 0..512 {
        env.write(&format!("s/pdf/many/{number}.md"), b"x");
    }
    let mut client = Client::start(&env, "");
    for _ in 0..2 {
        let listed = client.ask("skills/list", &json!({}));
        assert_eq!(listed["result"]["skills"][0]["resources"].as_array().unwrap().len(), 516);
    }
    client.go();
    let log = openskills(&env, "log show --json").stdout;
    assert_eq!(log.matches("skill.beyond_limits").count(), 1, "{log}");
    let told = openskills(&env, "validate s/pdf");
    assert!(
        told.stdout.contains("beyond-mcp-limits") || told.stderr.contains("beyond-mcp-limits"),
        "{}{}",
        told.stdout,
        told.stderr
    );
    assert!(!openskills(&env, "validate s/slow").stdout.contains("beyond-mcp-limits"));
}

#[test]
fn long_lists_are_paginated_and_ids_are_completed() {
    let env = TestEnv::with(SKILLS);
    for number in 0..120 {
        let text = format!("---\nname: many-{number}\ndescription: d\n---\nBody.\n");
        env.write(&format!("s/many-{number}/SKILL.md"), text.as_bytes());
    }
    let mut client = Client::start(&env, "");
    let (mut seen, mut cursor) = (std::collections::BTreeSet::new(), Value::Null);
    loop {
        let page = client.ask("skills/list", &json!({"cursor": cursor}))["result"].clone();
        let skills = page["skills"].as_array().unwrap();
        assert!(skills.len() <= 50);
        seen.extend(skills.iter().map(|skill| skill["uri"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 123);
    let listed = client.tool("skills.list", &json!({}));
    let text = listed["content"][0]["text"].as_str().unwrap();
    assert!(
        text.ends_with("[100 of 123 skills; for more, call skills.list with cursor \"100\"]"),
        "{text}"
    );
    let next = &listed["structuredContent"]["nextCursor"];
    let rest = client.tool("skills.list", &json!({"cursor": next}));
    assert_eq!(rest["structuredContent"]["skills"].as_array().unwrap().len(), 23, "{rest}");
    let templates = client.ask("resources/templates/list", &json!({}));
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    let question = json!({"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "id", "value": "many-11"}});
    let completed = client.ask("completion/complete", &question);
    let values = completed["result"]["completion"]["values"].as_array().unwrap();
    assert!(values.contains(&json!("s/many-11")) && values.len() == 11, "{completed}");
    assert_eq!(completed["result"]["completion"]["hasMore"], false);
    let question = json!({"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "path", "value": "guide"}, "context": {"arguments": {"id": "s/pdf"}}});
    let completed = client.ask("completion/complete", &question);
    assert_eq!(completed["result"]["completion"]["values"], json!(["references/guide.md"]));
}

#[test]
fn new_and_changed_skills_are_noticed() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "");
    let text = |read: &Value| read["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text(&client.tool("skills.read", &json!({"name": "pdf"}))).contains("the guide"));
    env.write("s/pdf/SKILL.md", b"---\nname: pdf\ndescription: d\n---\nAnother text.\n");
    let read = client.tool("skills.read", &json!({"name": "pdf"}));
    assert!(text(&read).contains("Another text."), "{read}");
    env.write("s/new/SKILL.md", b"---\nname: new\ndescription: d\n---\nNew.\n");
    let read = client.tool("skills.read", &json!({"name": "new"}));
    assert!(text(&read).contains("New."), "{read}");
    let listed = client.tool("skills.list", &json!({}));
    assert_eq!(listed["structuredContent"]["skills"].as_array().unwrap().len(), 4, "{listed}");
}

#[test]
fn garbage_and_many_requests_do_not_stop_the_server() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "");
    client.write(b"this is no JSON\n{\"jsonrpc\": \"2.0\"}\n\n[]\n{\"half\": \n");
    assert_eq!(client.tool("skills.list", &json!({}))["isError"], false);
    let numbers: Vec<u64> = (0..1000)
        .map(|_| {
            client.request(
                "tools/call",
                &json!({"name": "skills.read", "arguments": {"name": "pdf"}}),
            )
        })
        .collect();
    let mut open: std::collections::HashSet<u64> = numbers.into_iter().collect();
    while !open.is_empty() {
        let answer = client.hear();
        if let Some(number) = answer["id"].as_u64() {
            assert!(answer["result"]["content"].is_array(), "{answer}");
            open.remove(&number);
        }
    }
    client.go();
}

#[test]
fn running_scripts_do_not_block_reads_or_shutdown() {
    let env = TestEnv::with(SKILLS);
    approve(&env, "waits");
    let mut client = Client::start(&env, "");
    for _ in 0..600 {
        client.request("tools/call", &json!({"name": "skills.run_script", "arguments": {"name": "waits", "timeout_seconds": 400}}));
    }
    let begun = Instant::now();
    assert_eq!(client.tool("skills.list", &json!({}))["isError"], false);
    // Much shorter than the scripts, and longer than a busy machine needs.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    client.goes_within(Duration::from_secs(120));
}

#[test]
fn the_server_ends_even_if_the_client_does_not_read() {
    let env = TestEnv::with(SKILLS);
    env.write("s/pdf/large.md", &vec![b'x'; 4 << 20]);
    let mut client = Client::start(&env, "");
    for _ in 0..20 {
        client.request("tools/call", &json!({"name": "skills.read_resource", "arguments": {"name": "pdf", "path": "large.md"}}));
    }
    client.goes_within(Duration::from_secs(60));
}

#[test]
fn huge_and_incomplete_requests_do_not_stop_the_server() {
    let env = TestEnv::with(SKILLS);
    let mut client = Client::start(&env, "");
    let large = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "skills.read", "arguments": {"name": "x".repeat(100 << 20)}}});
    client.send(&large);
    drop(large);
    assert_eq!(client.tool("skills.list", &json!({}))["isError"], false);
    // The request is not kept in memory either.
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 200 << 10, "{peak} KiB");
    client.write(b"{\"jsonrpc\": \"2.0\", \"id\": 8, \"meth");
    client.go();
}

#[test]
fn the_official_python_client_works_over_stdio() {
    let env = TestEnv::with(SKILLS);
    approve(&env, "pdf");
    official_client(env, env!("CARGO_BIN_EXE_openskills"));
}

/// Runs the client of the official Python SDK against a server, given by its program or its URL.
pub(crate) fn official_client(env: TestEnv, server: &str) {
    let path = std::env::var("MCP_PYTHONPATH").unwrap_or_default();
    let env = env.var("PYTHONPATH", &path);
    if env.run_args("python3", &["-c", "import mcp"]).code != Some(0) {
        return skip(
            "the official SDK",
            "`import mcp` fails in Python; MCP_PYTHONPATH names its folder",
        );
    }
    env.write("client.py", include_bytes!("mcp_client.py"));
    let done = env.run_args("python3", &["client.py", server]);
    assert_eq!((done.code, done.stdout.trim()), (Some(0), "all is well"), "{}", done.stderr);
}

#[test]
fn command_lines_run_only_with_a_flag_and_as_in_exec() {
    let env = TestEnv::with(SKILLS);
    env.write("w/a.txt", b"x\n");
    let mut plain = Client::start(&env, "--workspace w");
    let call = json!({"name": "skills.run_command", "arguments": {"command": "ls"}});
    let refused = plain.ask("tools/call", &call);
    assert!(refused["error"]["message"].as_str().unwrap().contains("unknown tool"), "{refused}");
    let missing = openskills(&env, "mcp --run-commands");
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    let open = openskills(&env, "mcp --workspace w --run-commands --http 0");
    assert_eq!(open.code, Some(2), "{}", open.stderr);
    assert!(open.stderr.contains("needs a token"), "{}", open.stderr);
    let mut client = Client::start(&env, "--workspace w --run-commands");
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"skills.run_command"), "{names:?}");
    let mut run = |command: &str| {
        let answer = client.tool("skills.run_command", &json!({"command": command}));
        let text = answer["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        let code = answer["_meta"]["openskills/result"]["exit_code"].as_u64();
        (code, text)
    };
    assert_eq!(
        run("cat a.txt; mkdir sub; cd sub; echo err >&2; echo b > b"),
        (Some(0), "x\n\n[stderr]\nerr\n".to_owned())
    );
    assert!(env.path("w/sub/b").exists());
    assert_eq!(run("pwd | grep -o 'w/sub'; cat ~/.ssh/id; exit 4").0, Some(4));
    let marker = format!("86396.{}", std::process::id());
    let (code, text) = run(&format!("sleep {marker} & echo started"));
    assert_eq!((code, text.as_str()), (Some(0), "started\n"));
    assert_eq!(env.run_args("pgrep", &["-f", &format!("^sleep {marker}")]).code, Some(0));
    let (code, text) = run("git push");
    assert!(code.is_none() && text.contains("the sandbox does not provide"), "{text}");
    let (_, text) = run("head -c 3000000 /dev/zero | tr '\\0' x");
    assert!(
        text.contains("[stdout is truncated: the command wrote 2.9 MiB]"),
        "{}",
        &text[text.len() - 100..]
    );
    drop(client);
    let begun = Instant::now();
    while env.run_args("pgrep", &["-f", &format!("^sleep {marker}")]).code == Some(0) {
        assert!(begun.elapsed().as_secs() < 20, "it ends with the server");
        std::thread::sleep(Duration::from_millis(50));
    }
}
