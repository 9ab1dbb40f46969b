//! Runs the official conformance runner against the server and the host.
//!
//! The other scenarios need features that only a test server or client has (tools such as `test_simple_text`, resources
//! `test://…`, prompts, sampling), or features that openskills neither has nor claims (logging, `resources/subscribe`,
//! tasks, OAuth). `docs/mcp.md` lists them.

use testkit::{Run, TestEnv, skip};

use crate::mcp::SKILLS;
use crate::mcp_http::Server;

const SERVER: [&str; 17] = [
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "completion-complete",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
    "sep-2164-resource-not-found",
    "sep-2640-skills-directory",
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
    "caching",
    "http-header-validation",
    "input-required-result-unsupported-methods",
    "input-required-result-validate-input",
];

/// The host scenarios, each with what the user does after adding the server.
const HOST: [(&str, Then); 6] = [
    ("sep-2640-client-no-prefetch", Then::Approve),
    ("sep-2640-client-verify-digest", Then::Activate),
    ("sep-2640-client-verify-size", Then::Activate),
    ("sep-2640-client-verify-frontmatter", Then::Activate),
    ("initialize", Then::Nothing),
    ("request-metadata", Then::Nothing),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Nothing,
    Approve,
    Activate,
}

/// Runs the conformance runner. If it is not installed, reports that and returns `None`.
fn runner(env: &TestEnv, words: &[&str]) -> Option<Run> {
    let runner = std::env::var("MCP_CONFORMANCE").unwrap_or_default();
    if !std::path::Path::new(&runner).is_file() {
        let why = "MCP_CONFORMANCE names no file: npm install @modelcontextprotocol/conformance@0.2.0-alpha.12";
        skip("the conformance runner", why);
        return None;
    }
    let hook = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_conformance_hook.mjs");
    let words: Vec<&str> = std::iter::once(runner.as_str()).chain(words.iter().copied()).collect();
    let mut command = env.command("node", &words);
    Some(env.output(command.env("NODE_OPTIONS", format!("--import={hook}"))))
}

fn assert_passed(scenario: &str, done: &Run) {
    let told = format!("{}{}", done.stdout, done.stderr);
    assert_eq!(done.code, Some(0), "{scenario}: {told}");
    assert!(told.contains(" 0 failed, 0 warnings"), "{scenario}: {told}");
}

#[test]
fn the_server_passes_the_official_conformance_tests() {
    let env = TestEnv::with(SKILLS);
    let server = Server::start(&env, &[]);
    for scenario in SERVER {
        let words = ["server", "--url", &server.url(), "--scenario", scenario];
        let Some(done) = runner(&env, &words) else { return };
        assert_passed(scenario, &done);
    }
}

#[test]
fn the_host_passes_the_official_conformance_tests() {
    for (scenario, then) in HOST {
        let env = TestEnv::new();
        // The user adds the server and uses every skill that it has. Some scenarios expect that a skill cannot be used.
        let program = env!("CARGO_BIN_EXE_openskills");
        let mut script = format!("#!/bin/sh\n{program} mcp add served \"$1\" >&2\n");
        let names = format!(
            "for name in $({program} list --json | grep -o 'served/[a-z0-9-]*' | sort -u); do\n"
        );
        let approve = format!("{program} approve \"$name\" --yes >&2\n");
        let activate = format!("{program} activate \"$name\" >&2\n");
        script += &match then {
            Then::Nothing => String::new(),
            Then::Approve => format!("{names}{approve}done\n"),
            Then::Activate => format!("{names}{approve}{activate}done\n"),
        };
        env.write("client.sh", format!("{script}exit 0\n").as_bytes());
        let client = format!("sh {}", env.path("client.sh").display());
        let Some(done) = runner(&env, &["client", "--command", &client, "--scenario", scenario])
        else {
            return;
        };
        assert_passed(scenario, &done);
    }
}
