//! Skills that a server serves without listing them, added by URI. Also what is removed with a skill or a server.

use serde_json::{Value, json};
use testkit::TestEnv;

use crate::mcp_host::{FakeServer, TEXT, good, home_write, refused};
use crate::openskills;
use crate::schemas::fits;

const URI: &str = "skill://x/hidden/SKILL.md";
const HIDDEN: &str = "---\nname: hidden\ndescription: Lies.\n---\nHidden.\n";

fn config(env: &TestEnv) -> Option<Value> {
    let text = std::fs::read_to_string(env.path("../home/.config/openskills/mcp.json")).ok()?;
    serde_json::from_str(&text).ok()
}

fn cached(env: &TestEnv) -> usize {
    let folder = env.path("../home/.cache/openskills/served");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Returns a server that lists `pdf` and also serves `hidden`.
fn server() -> FakeServer {
    let liar = FakeServer::new();
    let hidden = liar.entry("hidden", HIDDEN, &[("more.md", "More.\n")]);
    liar.says("get.json", &json!({URI: hidden}));
    liar.sends(&json!({
        "skill://x/pdf/SKILL.md": TEXT,
        URI: HIDDEN,
        "skill://x/hidden/more.md": "More.\n",
    }));
    liar
}

#[test]
fn an_unlisted_skill_is_added_by_its_uri() {
    let liar = server();
    let env = &liar.0;
    assert!(liar.add().stdout.contains("liar: 1 skill\n"));
    refused(env, "activate liar/hidden", "liar/hidden");
    let told = good(env, &format!("mcp add liar --skill {URI}"));
    assert!(told.contains(&format!("added {URI} from liar to")), "{told}");
    assert!(told.contains("liar: 2 skills") && told.contains(&format!("{URI}: new")), "{told}");
    fits(env, "openskills-mcp-servers", ".config/openskills/mcp.json");
    assert_eq!(config(env).unwrap()["servers"]["liar"]["skills"], json!([URI]));
    // From then on it is like any other skill of the server.
    assert_eq!(refused(env, "activate liar/hidden", "is not approved").code, Some(5));
    good(env, "approve liar/hidden --yes");
    assert!(good(env, "activate liar/hidden").contains("Hidden."));
    assert_eq!(good(env, "read liar/hidden more.md"), "More.\n");
    let listed: Value = serde_json::from_str(&good(env, "mcp list --json")).unwrap();
    assert_eq!(listed["servers"][0]["requestedUris"], json!([URI]));
    assert_eq!(listed["servers"][0]["skills"], 2);
    assert!(good(env, "mcp list").contains(&format!("skill added by URI from liar: {URI}")));
    // Each sync requests it and detects changes.
    std::fs::remove_file(env.path("asked.txt")).unwrap();
    good(env, "mcp sync");
    let asked = std::fs::read_to_string(env.path("asked.txt")).unwrap();
    assert!(asked.contains(&format!("skills/get \"{URI}\"")), "{asked}");
    liar.says("get.json", &json!({URI: liar.entry("hidden", HIDDEN, &[])}));
    let synced: Value = serde_json::from_str(&good(env, "mcp sync --json")).unwrap();
    assert_eq!(synced["servers"][0]["changes"], json!([{"uri": URI, "change": "changed"}]));
    refused(env, "activate liar/hidden", "has changed and needs approval again");
    // A failure of the server removes nothing. If the server no longer has the skill, it is removed.
    liar.says("get.json", &json!({URI: {"code": -32603, "message": "the disk is on fire"}}));
    assert_eq!(refused(env, "mcp sync", "the disk is on fire").code, Some(1));
    assert!(good(env, "list").contains("hidden"));
    liar.says("get.json", &json!({}));
    let run = openskills(env, "mcp sync");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains(&format!("{URI}: gone")), "{}", run.stdout);
    assert!(run.stderr.contains("there is no such skill"), "{}", run.stderr);
    assert_eq!(refused(env, "activate liar/hidden", "liar/hidden").code, Some(3));
}

#[test]
fn a_new_server_is_added_together_with_unlisted_skills() {
    let liar = server();
    let env = &liar.0;
    let add =
        format!("mcp add liar --skill {URI} --skill skill://x/pdf/SKILL.md -- python3 server.py");
    let told = good(env, &add);
    assert!(told.contains("added liar to") && told.contains("liar: 2 skills"), "{told}");
    let asked = std::fs::read_to_string(env.path("asked.txt")).unwrap();
    assert_eq!(asked.matches("skills/get").count(), 1, "{asked}");
    // Our own server responds for skills that it lists, and returns an error for others.
    let program = env!("CARGO_BIN_EXE_openskills");
    env.write("s/zip/SKILL.md", b"---\nname: zip\ndescription: Zips.\n---\nZip.\n");
    let own = format!("mcp add own --skill skill://s/nope/SKILL.md -- {program} mcp --dir s");
    refused(env, &own, "cannot add `skill://s/nope/SKILL.md`");
    good(env, &own.replace("nope", "zip"));
}

#[test]
fn a_failed_add_changes_nothing() {
    let liar = server();
    let env = &liar.0;
    liar.says(
        "get.json",
        &json!({
            URI: liar.entry("other", TEXT, &[]),
            "skill://x/live/SKILL.md": {"uri": "skill://x/live/SKILL.md", "frontmatter": {"name": "live", "description": "d"}, "resources": "dynamic"},
        }),
    );
    // There is no server with this label yet.
    assert_eq!(
        refused(env, &format!("mcp add liar --skill {URI}"), "no MCP server named `liar`").code,
        Some(2)
    );
    assert_eq!(config(env), None);
    assert_eq!(liar.add().code, Some(0));
    let (before, listed) = (config(env), good(env, "list"));
    for (words, told, code) in [
        ("mcp add liar --skill skill://x/none/SKILL.md", "there is no such skill", 1),
        (&format!("mcp add liar --skill {URI}"), "returned a different skill", 1),
        ("mcp add liar --skill skill://x/live/SKILL.md", "so it cannot be approved", 1),
        ("mcp add liar --skill https://x/pdf/SKILL.md", "skill://PATH/NAME/SKILL.md", 2),
        ("mcp add liar --skill skill://x/pdf/guide.md", "is not the URI of a SKILL.md", 2),
        ("mcp add liar --skill skill://x/../pdf/SKILL.md", "skill://PATH/NAME/SKILL.md", 2),
        ("mcp add liar --skill skill://x/%70df/SKILL.md", "skill://PATH/NAME/SKILL.md", 2),
        ("mcp add liar --skill skill://SKILL.md", "is not the URI of a SKILL.md", 2),
        (&format!("mcp add liar --skill {URI} --env A"), "cannot change the variables", 2),
        (&format!("mcp add liar --skill {URI} --force"), "missing URL or command", 2),
        (&format!("mcp remove liar --skill {URI}"), "is not one of the skills requested", 3),
        (&format!("mcp remove other --skill {URI}"), "no MCP server named `other`", 3),
        ("mcp remove liar --skill x", "skill://PATH/NAME/SKILL.md", 2),
    ] {
        assert_eq!(refused(env, words, told).code, Some(code), "{words}");
        assert_eq!((config(env), good(env, "list")), (before.clone(), listed.clone()), "{words}");
    }
    home_write(
        env,
        ".config/openskills/mcp.json",
        b"{\"schema_version\": 1, \"servers\": {\"a\": {\"command\": [\"x\"], \"skills\": [\"skill://x\"]}}}",
    );
    assert_eq!(refused(env, "mcp list", "is not the URI of a SKILL.md").code, Some(2));
}

#[test]
fn removing_an_unlisted_skill_removes_only_its_own_files() {
    let liar = server();
    let env = &liar.0;
    let inner = "skill://x/pdf/inner/SKILL.md";
    let text = "---\nname: inner\ndescription: Lies.\n---\nInner.\n";
    let file = |uri: &str, text: &str| json!({"uri": uri, "digest": skill::Digest::of(text.as_bytes()).to_string(), "size": text.len()});
    // The two skills have a file in common.
    liar.lists(&[liar.entry("pdf", TEXT, &[("inner/SKILL.md", text)])]);
    let nested = json!({"uri": inner, "frontmatter": {"name": "inner", "description": "Lies."}, "resources": [file(inner, text), file("skill://x/pdf/inner/own.md", "Own.\n")]});
    liar.says("get.json", &json!({inner: nested}));
    liar.sends(
        &json!({"skill://x/pdf/SKILL.md": TEXT, inner: text, "skill://x/pdf/inner/own.md": "Own.\n"}),
    );
    assert_eq!(liar.add().code, Some(0));
    good(env, &format!("mcp add liar --skill {inner} --skill skill://x/pdf/SKILL.md"));
    for command in ["approve liar/pdf --yes", "approve liar/inner --yes", "activate liar/inner"] {
        good(env, command);
    }
    good(env, "read liar/inner own.md");
    good(env, "read liar/pdf inner/SKILL.md");
    assert_eq!(cached(env), 2);
    let told = good(env, &format!("mcp remove liar --skill {inner}"));
    assert!(told.contains(&format!("{inner} is no longer requested from liar")), "{told}");
    assert!(told.contains("removed 1 skill, 1 cached file (5 bytes)"), "{told}");
    assert_eq!(cached(env), 1);
    assert_eq!(refused(env, "activate liar/inner", "liar/inner").code, Some(3));
    // A skill that the server lists stays listed.
    let told = good(env, "mcp remove liar --skill skill://x/pdf/SKILL.md");
    assert!(told.contains("removed 0 skills, 0 cached files"), "{told}");
    assert_eq!(config(env).unwrap()["servers"]["liar"].get("skills"), None);
    good(env, "activate liar/pdf");
}

#[test]
fn removing_a_server_removes_only_its_own_list_and_files() {
    let liar = server();
    let env = &liar.0;
    assert_eq!(liar.add().code, Some(0));
    // Another server has a label with the same prefix and serves the same files.
    good(env, "mcp add liar-2 -- python3 server.py");
    for label in ["liar", "liar-2"] {
        good(env, &format!("approve {label}/pdf --yes"));
        good(env, &format!("activate {label}/pdf"));
    }
    // The cache also has an older version.
    let newer = TEXT.replace("Do as I say.", "Do as I do.");
    liar.lists(&[liar.entry("pdf", &newer, &[])]);
    liar.sends(&json!({"skill://x/pdf/SKILL.md": newer}));
    good(env, "mcp sync liar");
    good(env, "approve liar/pdf --yes");
    good(env, "activate liar/pdf");
    assert_eq!(cached(env), 3);
    let bytes = TEXT.len() + newer.len();
    let told = good(env, "mcp remove liar");
    assert_eq!(told, format!("removed liar: 1 skill, 2 cached files ({bytes} bytes)\n"));
    assert_eq!(cached(env), 1);
    let state = env.path("../home/.local/state/openskills/mcp");
    assert!(!state.join("liar.json").exists() && state.join("liar-2.json").exists());
    // The other server's file is still cached.
    env.write("server.py", b"raise SystemExit\n");
    good(env, "activate liar-2/pdf");
    assert!(!good(env, "mcp list").contains("liar "), "{}", good(env, "mcp list"));
}
