//! `openskills mcp install`: the files of clients, and that what is written there starts a server.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::TestEnv;

use crate::openskills;

const CLIENTS: [(&str, &str, &str); 4] = [
    ("claude-code", "../home/.claude.json", ".mcp.json"),
    ("codex", "../home/.codex/config.toml", ".codex/config.toml"),
    ("cursor", "../home/.cursor/mcp.json", ".cursor/mcp.json"),
    ("vscode", "../home/.config/Code/User/mcp.json", ".vscode/mcp.json"),
];

/// Returns the command and the arguments that a client would start, read as the client reads its file.
fn entry(env: &TestEnv, client: &str, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(env.path(file)).unwrap();
    let data: Value = match client {
        "codex" => {
            let script = "import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))))";
            let path = env.path(file).to_string_lossy().into_owned();
            serde_json::from_str(&env.run_args("python3", &["-c", script, &path]).stdout).unwrap()
        }
        _ => serde_json::from_str(&text).unwrap(),
    };
    let servers = match client {
        "codex" => &data["mcp_servers"],
        "vscode" => &data["servers"],
        _ => &data["mcpServers"],
    };
    let skills = &servers["skills"];
    let args =
        skills["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
    std::iter::once(skills["command"].as_str().unwrap().to_owned()).chain(args).collect()
}

#[test]
fn what_is_written_starts_a_server() {
    for (client, user, project) in CLIENTS {
        let env =
            TestEnv::with("//- /s/pdf/SKILL.md\n---\nname: pdf\ndescription: d\n---\nBody.\n");
        for (words, file) in [("", user), ("--project", project)] {
            // Nobody is there to be asked.
            let shown = openskills(&env, &format!("mcp install {client} {words} -- --dir s"));
            assert_eq!(shown.code, Some(5), "{}", shown.stderr);
            assert!(
                shown.stdout.contains("+") && shown.stdout.contains("openskills"),
                "{}",
                shown.stdout
            );
            assert!(!env.path(file).exists());
            let dry =
                openskills(&env, &format!("mcp install {client} {words} --dry-run -- --dir s"));
            assert_eq!((dry.code, env.path(file).exists()), (Some(0), false));
            let done = openskills(&env, &format!("mcp install {client} {words} --yes -- --dir s"));
            assert_eq!(done.code, Some(0), "{}", done.stderr);
            let command = entry(&env, client, file);
            assert_eq!(command[1..], ["mcp", "--tool-names", "underscore", "--dir", "s"]);
            // The very command is started, as the client would.
            let words: Vec<&str> = command[1..].iter().map(String::as_str).collect();
            let mut child = env
                .command(&command[0], &words)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}});
            let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
            let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let lines = format!("{hello}\n{begun}\n{list}\n");
            child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(300));
            drop(child.stdin.take());
            let told = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
            assert!(told.contains("skills_run_script"), "{client}: {told}");
        }
        // Once more there is nothing to do, and out of it there is nothing left.
        let again = openskills(&env, &format!("mcp install {client} --json -- --dir s"));
        let again: Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!((&again["diff"], &again["written"]), (&json!(""), &json!(false)));
        let gone = openskills(&env, &format!("mcp install {client} --remove --yes"));
        assert_eq!(gone.code, Some(0), "{}", gone.stderr);
        assert!(!std::fs::read_to_string(env.path(user)).unwrap().contains("underscore"));
    }
}

#[test]
fn the_recipes_of_the_guide_are_what_is_written() {
    let guide = include_str!("../../../../docs/mcp.md");
    let env = TestEnv::with("//- /x\nx\n");
    let recipe = |kind: &str, part: &str| {
        let fence = format!("```{kind}\n");
        let blocks = guide.split(&fence).skip(1);
        let blocks = blocks.map(|block| block.split("```").next().unwrap());
        blocks.into_iter().find(|block| block.contains(part)).unwrap().to_owned()
    };
    for (client, kind, part, file) in [
        ("claude-code", "json", "mcpServers", ".mcp.json"),
        ("cursor", "json", "mcpServers", ".cursor/mcp.json"),
        ("vscode", "json", "\"servers\"", ".vscode/mcp.json"),
        ("codex", "toml", "mcp_servers", ".codex/config.toml"),
    ] {
        let done = openskills(&env, &format!("mcp install {client} --project --yes"));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let written = entry(&env, client, file);
        env.write(file, recipe(kind, part).as_bytes());
        assert_eq!(entry(&env, client, file)[1..], written[1..], "{client}");
    }
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone() {
    let env = TestEnv::with("//- /.cursor/mcp.json\n{ \"mcpServers\": [\n");
    let run = openskills(&env, "mcp install cursor --project --yes");
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot be understood") && run.stderr.contains("nothing was written"),
        "{}",
        run.stderr
    );
    assert_eq!(
        std::fs::read_to_string(env.path(".cursor/mcp.json")).unwrap(),
        "{ \"mcpServers\": [\n"
    );
    let run = openskills(&env, "mcp install cursor -- --bogus");
    assert!(run.code == Some(2) && run.stderr.contains("would not start so"), "{}", run.stderr);
    // A link is followed to where the file is.
    env.write("dotfiles/mcp.json", b"{}\n");
    std::fs::create_dir_all(env.path("../home/.cursor")).unwrap();
    std::os::unix::fs::symlink(env.path("dotfiles/mcp.json"), env.path("../home/.cursor/mcp.json"))
        .unwrap();
    assert_eq!(openskills(&env, "mcp install cursor --yes").code, Some(0));
    assert!(std::fs::read_to_string(env.path("dotfiles/mcp.json")).unwrap().contains("openskills"));
    let run = openskills(&env, "mcp install emacs");
    assert!(run.code == Some(2) && run.stderr.contains("possible values"), "{}", run.stderr);
    let run = openskills(&env, "mcp install cursor --project --name a.b");
    assert!(run.code == Some(2) && run.stderr.contains("no name of a server"), "{}", run.stderr);
}
