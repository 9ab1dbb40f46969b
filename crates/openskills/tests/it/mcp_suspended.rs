//! A server sends something other than what was approved. The skill is then not used until the user has synced and
//! approved it again.

use serde_json::{Value, json};
use testkit::TestEnv;

use crate::mcp::Client;
use crate::mcp_host::{FakeServer, TEXT, good, home_write, refused};
use crate::openskills;
use crate::schemas::fits;

const SCRIPT: &str = "print('it runs')\n";
const AGAIN: &str = "has changed and needs approval again";
const SYNC_FIRST: &str = "openskills mcp sync liar && openskills approve liar/pdf";

fn files(guide: &str) -> Value {
    json!({
        "skill://x/pdf/SKILL.md": TEXT,
        "skill://x/pdf/cached.md": "Cached.\n",
        "skill://x/pdf/guide.md": guide,
        "skill://x/pdf/hi.py": SCRIPT,
    })
}

fn entry(liar: &FakeServer, guide: &str) -> Value {
    liar.entry("pdf", TEXT, &[("cached.md", "Cached.\n"), ("guide.md", guide), ("hi.py", SCRIPT)])
}

/// Returns a server with an approved skill, of which SKILL.md and another file are cached.
fn approved() -> FakeServer {
    let liar = FakeServer::new();
    liar.lists(&[entry(&liar, "Guide.\n")]);
    liar.sends(&files("Guide.\n"));
    assert_eq!(liar.add().code, Some(0));
    good(&liar.0, "approve liar/pdf --yes");
    assert_eq!(good(&liar.0, "read liar/pdf cached.md"), "Cached.\n");
    good(&liar.0, "activate liar/pdf");
    liar
}

/// Checks that nothing of the skill is used and that the server is not contacted. `hint` is the command in the hints.
fn nothing_is_used(env: &TestEnv, hint: &str) {
    let asked = || std::fs::read_to_string(env.path("asked.txt")).unwrap().len();
    let before = asked();
    for command in [
        "read liar/pdf cached.md",
        "read liar/pdf guide.md",
        "activate liar/pdf",
        "activate /liar/pdf",
        "run liar/pdf hi.py",
        "run liar/pdf hi.py --approve-once",
    ] {
        let run = refused(env, command, AGAIN);
        let code = if command.starts_with("run") { 125 } else { 5 };
        assert_eq!(run.code, Some(code), "{command}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("run `{hint}`")), "{command}: {}", run.stderr);
    }
    assert!(!good(env, "prompt").contains("liar/pdf"));
    assert!(good(env, "list").contains("mcp:liar, changed, needs approval again"));
    assert_eq!(asked(), before, "a server was asked");
}

/// Checks the same over MCP.
fn nothing_is_served_on(client: &mut Client) {
    for (tool, arguments) in [
        ("skills.read", json!({"name": "liar/pdf"})),
        ("skills.read_resource", json!({"name": "liar/pdf", "path": "cached.md"})),
        ("skills.run_script", json!({"name": "liar/pdf", "script": "hi.py"})),
    ] {
        let answer = client.tool(tool, &arguments);
        assert_eq!(answer["isError"], true, "{tool}: {answer}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(AGAIN) && text.contains(SYNC_FIRST), "{tool}: {text}");
    }
    let listed = client.tool("skills.list", &json!({}));
    assert!(!listed.to_string().contains("liar/pdf"), "{listed}");
    let uri = json!({"uri": "skill://liar/pdf/cached.md"});
    for (method, params) in [
        ("resources/read", &uri),
        ("skills/get", &json!({"uri": "skill://liar/pdf/SKILL.md"})),
        ("resources/directory/read", &json!({"uri": "skill://liar/pdf"})),
        ("prompts/get", &json!({"name": "liar/pdf"})),
    ] {
        let answer = client.ask(method, params);
        assert!(answer["error"].is_object(), "{method}: {answer}");
    }
}

#[test]
fn cached_files_are_refused_after_another_file_changed() {
    let liar = approved();
    let env = &liar.0;
    // The server of another client has discovered the skill before.
    let mut client = Client::start_with(env, &["mcp"]);
    let read = json!({"name": "liar/pdf", "path": "cached.md"});
    assert_eq!(client.tool("skills.read_resource", &read)["isError"], false);
    liar.sends(&files("Other.\n"));
    let run = refused(env, "read liar/pdf guide.md", "`guide.md` differs from what was approved");
    assert!(run.code == Some(5) && run.stderr.contains(SYNC_FIRST), "{}", run.stderr);
    fits(env, "openskills-mcp-changed", ".local/state/openskills/mcp-changed.json");
    nothing_is_used(env, SYNC_FIRST);
    nothing_is_served_on(&mut client);
    nothing_is_served_on(&mut Client::start_with(env, &["mcp"]));
    // The skill cannot be approved without a sync, even if the server changes back.
    refused(env, "approve liar/pdf --yes", SYNC_FIRST);
    liar.sends(&files("Guide.\n"));
    nothing_is_used(env, SYNC_FIRST);
    good(env, "mcp sync");
    nothing_is_used(env, "openskills approve liar/pdf");
    good(env, "approve liar/pdf --yes");
    assert_eq!(good(env, "read liar/pdf guide.md"), "Guide.\n");
    assert_eq!(good(env, "read liar/pdf cached.md"), "Cached.\n");
    assert_eq!(good(env, "run liar/pdf hi.py"), "it runs\n");
    assert_eq!(client.tool("skills.read_resource", &read)["isError"], false);
    let log = good(env, "log show --json");
    let event = log.lines().find(|line| line.contains("mcp.skill_changed")).unwrap();
    for part in ["mcp:liar:skill://x/pdf/SKILL.md", "guide.md", "digest"] {
        assert!(event.contains(part), "{part}: {event}");
    }
    // The change revoked the earlier approval; the new one comes later in the log.
    let revoked = log.find("approval.revoked").unwrap();
    assert!(log[revoked..].contains("approval.granted"), "{log}");
}

#[test]
fn runs_and_clients_detect_changed_files_too() {
    let liar = approved();
    let env = &liar.0;
    liar.sends(&files("Other.\n"));
    refused(env, "run liar/pdf hi.py", "`guide.md` differs from what was approved");
    nothing_is_used(env, SYNC_FIRST);

    let liar = approved();
    let env = &liar.0;
    liar.sends(&files("Other.\n"));
    let mut client = Client::start_with(env, &["mcp"]);
    let guide = json!({"name": "liar/pdf", "path": "guide.md"});
    let answer = client.tool("skills.read_resource", &guide);
    assert!(answer.to_string().contains("`guide.md` differs from what was approved"), "{answer}");
    nothing_is_served_on(&mut client);
    nothing_is_used(env, SYNC_FIRST);
    // Removing the server does not lift the suspension.
    good(env, "mcp remove liar");
    liar.sends(&files("Guide.\n"));
    assert_eq!(liar.add().code, Some(0));
    nothing_is_used(env, "openskills approve liar/pdf");
}

#[test]
fn a_list_that_changes_back_needs_approval_again() {
    let liar = approved();
    let env = &liar.0;
    liar.lists(&[entry(&liar, "Other.\n")]);
    assert!(good(env, "mcp sync").contains("changed"));
    refused(env, "read liar/pdf cached.md", AGAIN);
    liar.lists(&[entry(&liar, "Guide.\n")]);
    good(env, "mcp sync");
    nothing_is_used(env, "openskills approve liar/pdf");
    good(env, "approve liar/pdf --yes");
    good(env, "read liar/pdf cached.md");
}

#[test]
fn an_unreadable_state_file_denies_access() {
    let liar = approved();
    let env = &liar.0;
    for text in [&b"{"[..], b"{\"schema_version\": 1, \"other\": []}"] {
        home_write(env, ".local/state/openskills/mcp-changed.json", text);
        for command in ["read liar/pdf cached.md", "activate liar/pdf", "run liar/pdf hi.py"] {
            refused(env, command, "mcp-changed.json");
        }
        assert!(!good(env, "prompt").contains("liar/pdf"));
    }
    // Skills that do not come from a server are not affected.
    env.write(".claude/skills/own/SKILL.md", b"---\nname: own\ndescription: d\n---\nOwn.\n");
    assert!(good(env, "activate own").contains("Own."));
    let file = env.path("../home/.local/state/openskills/mcp-changed.json");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    refused(env, "read liar/pdf cached.md", "mcp-changed.json");
    assert_ne!(openskills(env, "mcp sync").code, Some(0));
}
