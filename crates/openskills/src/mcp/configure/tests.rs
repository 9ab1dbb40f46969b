//! Tests of edits to the config files of clients.

use toml_edit::DocumentMut;

use super::*;

fn command() -> ServerCommand {
    let args = ["mcp", "--dir", "a \"b\""].map(str::to_owned).to_vec();
    ServerCommand { program: "openskills".to_owned(), args }
}

#[test]
fn a_missing_file_is_created_and_an_existing_one_keeps_its_content() {
    let made = ClientKind::Cursor.edit(None, "skills", Some(&command())).unwrap();
    let data: serde_json::Value = serde_json::from_str(&made).unwrap();
    assert_eq!(data["mcpServers"]["skills"]["args"][2], "a \"b\"");
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // keep\n  },\n  \"more\": [1,2]\n}\n";
    let after = ClientKind::Cursor.edit(Some(before), "skills", Some(&command())).unwrap();
    for kept in ["// mine", "\"other\": { \"command\": \"x\" }", "// keep", "\"more\": [1,2]"] {
        assert!(after.contains(kept), "{after}");
    }
    // Adding the server again changes nothing, and removing it leaves the rest.
    assert_eq!(ClientKind::Cursor.edit(Some(&after), "skills", Some(&command())).unwrap(), after);
    let out = ClientKind::Cursor.edit(Some(&after), "skills", None).unwrap();
    assert!(
        !out.contains("openskills") && out.contains("\"other\"") && out.contains("// mine"),
        "{out}"
    );
    assert_eq!(ClientKind::Cursor.edit(Some(before), "skills", None).unwrap(), before);
    let with_env = after
        .replace("\"type\"", "\"env\": { \"A\": \"1\" }, \"type\"")
        .replace("a \\\"b\\\"", "old");
    let kept = ClientKind::Cursor.edit(Some(&with_env), "skills", Some(&command())).unwrap();
    assert!(kept.contains("\"A\": \"1\"") && !kept.contains("\"old\""), "{kept}");
    let vscode = ClientKind::VsCode.edit(None, "skills", Some(&command())).unwrap();
    assert!(vscode.contains("\"servers\"") && vscode.contains("\"type\": \"stdio\""), "{vscode}");
}

#[test]
fn a_codex_file_keeps_its_comments() {
    let before = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\" # keep\n";
    let after = ClientKind::Codex.edit(Some(before), "skills", Some(&command())).unwrap();
    assert!(after.starts_with(before), "{after}");
    let data: DocumentMut = after.parse().unwrap();
    assert_eq!(data["mcp_servers"]["skills"]["command"].as_str(), Some("openskills"));
    assert_eq!(ClientKind::Codex.edit(Some(&after), "skills", Some(&command())).unwrap(), after);
    let out = ClientKind::Codex.edit(Some(&after), "skills", None).unwrap();
    assert_eq!(out.trim_end(), before.trim_end());
    let made = ClientKind::Codex.edit(None, "skills", Some(&command())).unwrap();
    assert!(made.starts_with("[mcp_servers.skills]\n"), "{made}");
}

#[test]
fn a_malformed_file_is_rejected() {
    for (client, text) in [
        (ClientKind::Cursor, "{"),
        (ClientKind::Cursor, "[]"),
        (ClientKind::Cursor, "{\"mcpServers\": 1}"),
        (ClientKind::VsCode, "{\"servers\": []}"),
        (ClientKind::Cursor, "{\"mcpServers\": {}, \"mcpServers\": {}}"),
        (ClientKind::Codex, "mcp_servers = 1\n"),
        (ClientKind::Codex, "[broken"),
    ] {
        assert!(client.edit(Some(text), "skills", Some(&command())).is_err(), "{text}");
    }
}

/// Files in various styles: with comments, trailing commas, tabs, Windows line endings, on one line, without a final
/// line break.
const STYLES: [&str; 16] = [
    "{\n  \"KEY\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n",
    "{\n  \"KEY\": {\n    \"other\": { \"command\": \"x\" }, // keep\n  },\n  \"more\": [1,2]\n}\n",
    "{\n  \"KEY\": {\n    \"other\": { \"command\": \"x\" } // keep\n    // the end\n  },\n}\n",
    "{\n\t\"KEY\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"more\": 1\n}",
    "{\r\n    \"KEY\": {\r\n        \"other\": {\"command\": \"x\"}\r\n    }\r\n}\r\n",
    "{\"KEY\": {\"other\": {\"command\": \"x\"}}, \"more\": 1}",
    "{ \"more\": 1, \"KEY\": { \"other\": { \"command\": \"x\" } } }\n",
    "// first\n{\n  /* a */ \"more\": 1, // b\n\n  // servers\n  \"KEY\": {\n    // nothing yet but this\n    \"other\": {},\n\n  },\n\n  // last\n}\n// end\n",
    "{\n  \"KEY\": {\n    \"other\": {},\n  },\n}\n",
    "{\n  \"KEY\": {\n    \"other\": {}\n    /* after */\n  }\n}\n",
    "{\n  \"KEY\": {\n    \"a\": {},\n\n    \"b\": {}\n\n  }\n}\n\n",
    "\n\n{\"KEY\":\n{\"other\":{}\n}\n}\n",
    "{\n  \"KEY\": {},\n  \"more\": 1\n}\n",
    "{ \"KEY\": { \"other\": {}, }, }\n",
    "{\n  \"KEY\": { \"other\": {} }\n}\n",
    "{\n  // 日本語 \u{1f600}\n  \"ä\": \"ö // no comment\",\n  \"KEY\": {\n    \"ü\": {} /* ß */ // é\n  }\n}\n",
];

const JSON_CLIENTS: [(ClientKind, &str); 9] = [
    (ClientKind::ClaudeCode, "mcpServers"),
    (ClientKind::ClaudeDesktop, "mcpServers"),
    (ClientKind::CopilotCli, "mcpServers"),
    (ClientKind::Cursor, "mcpServers"),
    (ClientKind::Gemini, "mcpServers"),
    (ClientKind::OpenCode, "mcp"),
    (ClientKind::VsCode, "servers"),
    (ClientKind::Windsurf, "mcpServers"),
    (ClientKind::Zed, "context_servers"),
];

#[test]
fn removing_the_server_restores_a_file_of_any_style() {
    for (client, key) in JSON_CLIENTS {
        for style in STYLES {
            // An empty object of servers is removed too, because it may not have existed before.
            if style.contains("\"KEY\": {}") {
                continue;
            }
            let before = style.replace("KEY", key);
            let after = client.edit(Some(&before), "skills", Some(&command())).unwrap();
            assert!(after.contains("openskills"), "{after}");
            // All characters stay, in the same order.
            let mut rest = after.chars();
            assert!(before.chars().all(|c| rest.any(|other| other == c)), "{before}\n{after}");
            let again = client.edit(Some(&after), "skills", Some(&command())).unwrap();
            assert_eq!(again, after, "{client:?}");
            let out = client.edit(Some(&after), "skills", None).unwrap();
            assert_eq!(out, before, "{client:?}:\n{after}");
        }
    }
}

#[test]
fn removing_the_server_restores_a_settings_file_without_servers() {
    for client in [ClientKind::Zed, ClientKind::Gemini, ClientKind::OpenCode] {
        for before in [
            "{\n  // mine\n  \"theme\": \"x\"\n}\n",
            "{\n  \"theme\": \"x\", // mine\n}\n",
            "{\n  \"theme\": \"x\"\n\n  // the end\n}",
            "{}\n",
            "{\"theme\": \"x\"}",
            "{ \"theme\": \"x\" }\n",
        ] {
            let after = client.edit(Some(before), "skills", Some(&command())).unwrap();
            let out = client.edit(Some(&after), "skills", None).unwrap();
            assert_eq!(out, before, "{client:?}:\n{after}");
        }
    }
}

#[test]
fn another_server_with_the_same_name_is_not_changed() {
    for (client, key) in JSON_CLIENTS {
        for foreign in [
            r#"{"command": "my-own-skill-server", "args": ["mcp"]}"#,
            r#"{"url": "https://skills.example/mcp", "headers": {"x": "y"}}"#,
            r#"{"type": "local", "command": ["other", "mcp"]}"#,
            "5",
        ] {
            let before = format!("{{\"{key}\": {{\"skills\": {foreign}}}}}\n");
            for change in [Some(command()), None] {
                let result = client.edit(Some(&before), "skills", change.as_ref());
                assert!(
                    result.is_err_and(|reason| reason.contains("--name")),
                    "{client:?} {before}"
                );
            }
            let added = client.edit(Some(&before), "mine", Some(&command())).unwrap();
            assert!(added.contains(foreign), "{added}");
        }
    }
    let before = "[mcp_servers.skills]\nurl = \"https://skills.example/mcp\"\n";
    assert!(ClientKind::Codex.edit(Some(before), "skills", Some(&command())).is_err());
    assert!(ClientKind::Codex.edit(Some(before), "skills", None).is_err());
}

#[test]
fn a_byte_order_mark_is_kept() {
    for client in [ClientKind::ClaudeCode, ClientKind::Codex] {
        let before =
            if client == ClientKind::Codex { "\u{feff}a = 1\n" } else { "\u{feff}{\"a\": 1}\n" };
        let after = client.edit(Some(before), "skills", Some(&command())).unwrap();
        assert!(after.starts_with('\u{feff}') && after.contains("openskills"), "{after}");
        assert_eq!(client.edit(Some(&after), "skills", None).unwrap(), before);
    }
}
