//! `openskills mcp install`: edits the config files of clients, and the command that it writes starts a server.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::TestEnv;

use crate::openskills;

/// Every client: its user file, and its project file if it reads one.
const CLIENTS: [(&str, &str, Option<&str>); 10] = [
    ("claude-code", "../home/.claude.json", Some(".mcp.json")),
    ("claude-desktop", "../home/.config/Claude/claude_desktop_config.json", None),
    ("codex", "../home/.codex/config.toml", Some(".codex/config.toml")),
    ("copilot-cli", "../home/.copilot/mcp-config.json", Some(".github/mcp.json")),
    ("cursor", "../home/.cursor/mcp.json", Some(".cursor/mcp.json")),
    ("gemini", "../home/.gemini/settings.json", Some(".gemini/settings.json")),
    ("opencode", "../home/.config/opencode/opencode.json", Some("opencode.json")),
    ("vscode", "../home/.config/Code/User/mcp.json", Some(".vscode/mcp.json")),
    ("windsurf", "../home/.codeium/windsurf/mcp_config.json", None),
    ("zed", "../home/.config/zed/settings.json", Some(".zed/settings.json")),
];

/// Parses JSON with comments and trailing commas.
fn lenient(text: &str) -> Value {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| match (escaped, c) {
                (false, '\\') => {
                    escaped = true;
                    false
                }
                (false, '"') => true,
                _ => {
                    escaped = false;
                    false
                }
            });
            let end = end.unwrap() + 2;
            plain += &rest[..end];
            rest = &rest[end..];
        } else if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            rest = &rest[rest.find("*/").unwrap() + 2..];
        } else {
            if matches!(c, '}' | ']') {
                plain = plain.trim_end().trim_end_matches(',').to_owned();
            }
            plain.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {plain}"))
}

/// Returns the server's entry in the file, in the format of the client.
fn known(env: &TestEnv, client: &str, file: &str) -> Value {
    let text = std::fs::read_to_string(env.path(file)).unwrap();
    let data: Value = match client {
        "codex" => {
            let script = "import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))))";
            let path = env.path(file).to_string_lossy().into_owned();
            serde_json::from_str(&env.run_args("python3", &["-c", script, &path]).stdout).unwrap()
        }
        // These clients do not accept comments.
        "claude-code" | "claude-desktop" | "copilot-cli" | "windsurf" => {
            serde_json::from_str(&text).unwrap()
        }
        _ => lenient(&text),
    };
    let servers = match client {
        "codex" => &data["mcp_servers"],
        "opencode" if data["mcp"]["servers"].is_object() => &data["mcp"]["servers"],
        "opencode" => &data["mcp"],
        "vscode" => &data["servers"],
        "zed" => &data["context_servers"],
        _ => &data["mcpServers"],
    };
    servers["skills"].clone()
}

/// Returns the command line that a client would run.
fn entry(env: &TestEnv, client: &str, file: &str) -> Vec<String> {
    let skills = known(env, client, file);
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    if client == "opencode" {
        return texts(&skills["command"]);
    }
    let command = skills["command"].as_str().unwrap().to_owned();
    std::iter::once(command).chain(texts(&skills["args"])).collect()
}

/// Runs the command of a client and requests the list of tools.
fn starts(env: &TestEnv, client: &str, command: &[String]) {
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

#[test]
fn the_written_config_starts_a_server() {
    for (client, user, project) in CLIENTS {
        let env =
            TestEnv::with("//- /s/pdf/SKILL.md\n---\nname: pdf\ndescription: d\n---\nBody.\n");
        let project = project.map(|file| ("--project", file));
        for (words, file) in [("", user)].into_iter().chain(project) {
            // Without a terminal, the command cannot prompt.
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
            starts(&env, client, &command);
        }
        // Installing again changes nothing, and removing leaves nothing behind.
        let again = openskills(&env, &format!("mcp install {client} --json -- --dir s"));
        let again: Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!((&again["diff"], &again["written"]), (&json!(""), &json!(false)));
        let gone = openskills(&env, &format!("mcp install {client} --remove --yes"));
        assert_eq!(gone.code, Some(0), "{}", gone.stderr);
        assert!(!std::fs::read_to_string(env.path(user)).unwrap().contains("underscore"));
    }
}

#[test]
fn the_guide_shows_the_config_that_is_written() {
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
        ("gemini", "json", "mcpServers", ".gemini/settings.json"),
        ("copilot-cli", "json", "\"tools\"", ".github/mcp.json"),
        ("opencode", "json", "{ \"mcp\":", "opencode.json"),
        ("zed", "json", "context_servers", ".zed/settings.json"),
    ] {
        let done = openskills(&env, &format!("mcp install {client} --project --yes"));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let written = entry(&env, client, file);
        env.write(file, recipe(kind, part).as_bytes());
        assert_eq!(entry(&env, client, file)[1..], written[1..], "{client}");
    }
}

#[test]
fn a_malformed_file_is_not_changed() {
    let env = TestEnv::with("//- /.cursor/mcp.json\n{ \"mcpServers\": [\n");
    let run = openskills(&env, "mcp install cursor --project --yes");
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot edit `") && run.stderr.contains("nothing was written"),
        "{}",
        run.stderr
    );
    assert_eq!(
        std::fs::read_to_string(env.path(".cursor/mcp.json")).unwrap(),
        "{ \"mcpServers\": [\n"
    );
    let run = openskills(&env, "mcp install cursor -- --bogus");
    assert!(
        run.code == Some(2) && run.stderr.contains("does not accept these arguments"),
        "{}",
        run.stderr
    );
    // A symbolic link is followed.
    env.write("dotfiles/mcp.json", b"{}\n");
    std::fs::create_dir_all(env.path("../home/.cursor")).unwrap();
    std::os::unix::fs::symlink(env.path("dotfiles/mcp.json"), env.path("../home/.cursor/mcp.json"))
        .unwrap();
    assert_eq!(openskills(&env, "mcp install cursor --yes").code, Some(0));
    assert!(std::fs::read_to_string(env.path("dotfiles/mcp.json")).unwrap().contains("openskills"));
    let run = openskills(&env, "mcp install emacs");
    assert!(run.code == Some(2) && run.stderr.contains("possible values"), "{}", run.stderr);
    let run = openskills(&env, "mcp install cursor --project --name a.b");
    assert!(
        run.code == Some(2) && run.stderr.contains("is not a valid server name"),
        "{}",
        run.stderr
    );
}

/// Realistic files with other servers.
const SAMPLES: [(&str, &str); 11] = [
    (
        "claude-code",
        "{\n  \"numStartups\": 41,\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"tickets\": {\n      \"type\": \"http\",\n      \"url\": \"https://tickets.example/mcp\"\n    }\n  },\n  \"projects\": {\n    \"/home/me/app\": { \"allowedTools\": [] }\n  }\n}\n",
    ),
    (
        "claude-desktop",
        "{\n  \"globalShortcut\": \"Ctrl+Space\",\n  \"mcpServers\": {\n    \"notes\": {\n      \"command\": \"/opt/notes/bin/serve\",\n      \"args\": [\"--vault\", \"/home/me/notes\"],\n      \"env\": { \"NOTES_LANG\": \"en\" }\n    }\n  }\n}",
    ),
    (
        "codex",
        "# my settings\nmodel = \"large\"\n\n[mcp_servers.search]\ncommand = \"search-mcp\" # local index\nargs = [\"--fast\"]\n\n[mcp_servers.search.env]\nINDEX = \"/srv/index\"\n",
    ),
    (
        "copilot-cli",
        "{\n    \"mcpServers\": {\n        \"browser\": {\n            \"type\": \"local\",\n            \"command\": \"npx\",\n            \"args\": [\"-y\", \"browser-mcp@2\"],\n            \"env\": {},\n            \"tools\": [\"open\", \"click\"]\n        },\n        \"docs\": {\n            \"type\": \"http\",\n            \"url\": \"https://docs.example/mcp\",\n            \"headers\": {},\n            \"tools\": [\"*\"]\n        }\n    }\n}\n",
    ),
    (
        "cursor",
        "{\n  \"mcpServers\": {\n    \"db\": { \"command\": \"db-mcp\", \"args\": [\"--read-only\"] }\n  }\n}\n",
    ),
    (
        "gemini",
        "{\n  // work laptop\n  \"ui\": { \"theme\": \"GitHub\" },\n  \"mcpServers\": {\n    \"maps\": {\n      \"httpUrl\": \"https://maps.example/mcp\", // needs the VPN\n      \"timeout\": 5000,\n      \"trust\": false\n    },\n    /* local */\n    \"calendar\": { \"command\": \"node\", \"args\": [\"calendar.js\"], \"cwd\": \"./tools\" } // mine\n  },\n  \"telemetry\": { \"enabled\": false }\n}\n",
    ),
    (
        "opencode",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // cheap one for titles\n  \"small_model\": \"acme/tiny\",\n  \"mcp\": {\n    \"issues\": {\n      \"type\": \"remote\",\n      \"url\": \"https://issues.example/mcp\",\n      \"enabled\": false, // only at work\n    },\n    \"weather\": {\n      \"type\": \"local\",\n      \"command\": [\"bun\", \"x\", \"weather-mcp\"],\n      \"environment\": { \"UNITS\": \"metric\" },\n    },\n  },\n}\n",
    ),
    (
        "opencode",
        "{\n  \"mcp\": {\n    \"timeout\": 9000,\n    \"servers\": {\n      \"weather\": { \"type\": \"local\", \"command\": [\"weather-mcp\"] },\n    },\n  },\n}\n",
    ),
    (
        "vscode",
        "{\n\t// shared with the team\n\t\"inputs\": [\n\t\t{ \"type\": \"promptString\", \"id\": \"key\", \"description\": \"Key\", \"password\": true }\n\t],\n\t\"servers\": {\n\t\t\"logs\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"logs-mcp\",\n\t\t\t\"env\": { \"KEY\": \"${input:key}\" }\n\t\t}\n\t}\n}\n",
    ),
    (
        "windsurf",
        "{\n  \"mcpServers\": {\n    \"mail\": {\n      \"serverUrl\": \"https://mail.example/mcp\",\n      \"disabled\": true\n    },\n    \"files\": {\n      \"command\": \"files-mcp\",\n      \"args\": [\"${env:HOME}/docs\"],\n      \"disabledTools\": [\"delete\"]\n    }\n  }\n}\n",
    ),
    (
        "zed",
        "// Zed settings\n//\n// see the documentation\n{\n  \"vim_mode\": true,\n  \"theme\": {\n    \"mode\": \"system\", // follows the desktop\n    \"light\": \"One Light\",\n    \"dark\": \"One Dark\",\n  },\n  \"context_servers\": {\n    \"schema\": {\n      \"command\": \"schema-mcp\",\n      \"args\": [\"--db\", \"main\"],\n      \"env\": {},\n    },\n    // off for now\n    \"wiki\": { \"url\": \"https://wiki.example/mcp\", \"enabled\": false },\n  },\n}\n",
    ),
];

#[test]
fn other_content_is_kept_and_removing_the_server_restores_the_file() {
    for (client, before) in SAMPLES {
        let (_, file, _) = CLIENTS.into_iter().find(|(name, ..)| *name == client).unwrap();
        let env =
            TestEnv::with("//- /s/pdf/SKILL.md\n---\nname: pdf\ndescription: d\n---\nBody.\n");
        let path = env.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, before).unwrap();
        let done = openskills(&env, &format!("mcp install {client} --yes -- --dir s"));
        assert_eq!(done.code, Some(0), "{client}: {}", done.stderr);
        let after = std::fs::read_to_string(&path).unwrap();
        // All lines are kept, in the same order. One may have a new comma.
        let mut lines = after.lines();
        for line in before.lines() {
            let is_kept = |new: &str| {
                new == line
                    || new.char_indices().any(|(at, c)| {
                        c == ',' && format!("{}{}", &new[..at], &new[at + 1..]) == line
                    })
            };
            assert!(lines.any(is_kept), "{client}: {line}\n{after}");
        }
        starts(&env, client, &entry(&env, client, file));
        let again = openskills(&env, &format!("mcp install {client} --yes -- --dir s"));
        assert!(again.stderr.contains("nothing to change"), "{client}: {}", again.stderr);
        let gone = openskills(&env, &format!("mcp install {client} --remove --yes"));
        assert_eq!(gone.code, Some(0), "{client}: {}", gone.stderr);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "{client}:\n{after}");
    }
}

#[test]
fn required_fields_are_added_and_the_values_of_users_kept() {
    for (client, field, default, chosen) in [
        ("copilot-cli", "tools", json!(["*"]), json!(["skills_list"])),
        ("opencode", "enabled", json!(true), json!(false)),
    ] {
        let (_, file, _) = CLIENTS.into_iter().find(|(name, ..)| *name == client).unwrap();
        let env = TestEnv::with("//- /x\nx\n");
        assert_eq!(openskills(&env, &format!("mcp install {client} --yes")).code, Some(0));
        assert_eq!(known(&env, client, file)["type"], "local");
        assert_eq!(known(&env, client, file)[field], default);
        let text = std::fs::read_to_string(env.path(file)).unwrap();
        let changed =
            text.replace(&format!("\"{field}\": {default}"), &format!("\"{field}\": {chosen}"));
        assert_ne!(text, changed);
        std::fs::write(env.path(file), changed).unwrap();
        let done = openskills(&env, &format!("mcp install {client} --yes -- --dir s"));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert_eq!(known(&env, client, file)[field], chosen);
        assert_eq!(entry(&env, client, file).last().unwrap(), "s");
    }
}

#[test]
fn environment_variables_of_clients_are_respected() {
    for (client, variable, folder, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "claude", ".claude.json"),
        ("codex", "CODEX_HOME", "codex", "config.toml"),
        ("copilot-cli", "COPILOT_HOME", "copilot", "mcp-config.json"),
        ("gemini", "GEMINI_CLI_HOME", "gemini", ".gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "xdg", "opencode/opencode.json"),
        ("vscode", "XDG_CONFIG_HOME", "xdg", "Code/User/mcp.json"),
        ("zed", "XDG_CONFIG_HOME", "xdg", "zed/settings.json"),
        ("claude-desktop", "XDG_CONFIG_HOME", "xdg", "Claude/claude_desktop_config.json"),
    ] {
        let env = TestEnv::with("//- /x\nx\n");
        let path = env.path(folder).display().to_string();
        let env = env.var(variable, &path);
        let done = openskills(&env, &format!("mcp install {client} --yes"));
        assert_eq!(done.code, Some(0), "{client}: {}", done.stderr);
        assert!(env.path(folder).join(file).exists(), "{client}");
        // A relative path is ignored in XDG_CONFIG_HOME, and an error in a client's own variable.
        let env = env.var(variable, "relative");
        let done = openskills(&env, &format!("mcp install {client} --dry-run"));
        match variable {
            "XDG_CONFIG_HOME" => assert_eq!(done.code, Some(0), "{client}: {}", done.stderr),
            _ => {
                assert_eq!(done.code, Some(2), "{client}: {}", done.stdout);
                let told = format!("`{variable}` is not an absolute path");
                assert!(done.stderr.contains(&told), "{client}: {}", done.stderr);
            }
        }
    }
    // An existing file is preferred to creating one.
    let env = TestEnv::with("//- /opencode.jsonc\n{ // mine\n}\n");
    assert_eq!(openskills(&env, "mcp install opencode --project --yes").code, Some(0));
    assert!(!env.path("opencode.json").exists());
    assert!(std::fs::read_to_string(env.path("opencode.jsonc")).unwrap().contains("// mine"));
}

#[test]
fn a_client_without_project_config_is_an_error() {
    let env = TestEnv::with("//- /x\nx\n");
    for client in ["claude-desktop", "windsurf"] {
        let run = openskills(&env, &format!("mcp install {client} --project --yes"));
        assert_eq!(run.code, Some(2), "{client}: {}", run.stdout);
        assert!(
            run.stderr.contains(&format!("`{client}` does not read project config files"))
                && run.stderr.contains(&format!("run `openskills mcp install {client}`")),
            "{client}: {}",
            run.stderr
        );
    }
    assert_eq!(std::fs::read_dir(env.path(".")).unwrap().count(), 1);
}
