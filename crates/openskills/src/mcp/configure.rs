//! What the files of MCP clients look like, and how this server is written into them: nothing else in a file changes, comments included.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use openskills_runtime::Places;
use skill_fs::AbsPath;
use toml_edit::{Array, DocumentMut, Item, Table, value};

/// A client that can be told of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ClientKind {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// VS Code
    #[value(name = "vscode")]
    VsCode,
}

/// Whose file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The user's own: for every project.
    User,
    /// The project's: for everybody who works on it.
    Project,
}

/// How a client starts the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

impl ClientKind {
    /// Returns the word that it is named by.
    pub(crate) fn word(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns its file; `codex_home` is where Codex keeps its own.
    pub(crate) fn file(
        self,
        reach: Reach,
        places: &Places,
        codex_home: Option<AbsPath>,
    ) -> Option<AbsPath> {
        if reach == Reach::Project {
            return Some(places.cwd.join(match self {
                Self::ClaudeCode => ".mcp.json",
                Self::Codex => ".codex/config.toml",
                Self::Cursor => ".cursor/mcp.json",
                Self::VsCode => ".vscode/mcp.json",
            }));
        }
        let home = places.home.as_ref()?;
        Some(match self {
            Self::ClaudeCode => home.join(".claude.json"),
            Self::Codex => codex_home.unwrap_or_else(|| home.join(".codex")).join("config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::VsCode if cfg!(target_os = "macos") => {
                home.join("Library/Application Support/Code/User/mcp.json")
            }
            Self::VsCode => home.join(".config/Code/User/mcp.json"),
        })
    }

    /// Returns the text of its file with the server in it; without it, if there is no entry. `None` stands for a file that is not there.
    pub(crate) fn edited(
        self,
        text: Option<&str>,
        name: &str,
        entry: Option<&Entry>,
    ) -> Result<String, String> {
        match self {
            Self::Codex => toml(text.unwrap_or_default(), name, entry),
            Self::VsCode => json(text.unwrap_or_default(), "servers", name, entry),
            Self::ClaudeCode | Self::Cursor => {
                json(text.unwrap_or_default(), "mcpServers", name, entry)
            }
        }
    }
}

/// Returns what a client is told of the server.
fn fields(entry: &Entry) -> [(&'static str, CstInputValue); 3] {
    let args = entry.args.iter().cloned().map(CstInputValue::String).collect();
    [
        ("type", CstInputValue::String("stdio".to_owned())),
        ("command", CstInputValue::String(entry.command.clone())),
        ("args", CstInputValue::Array(args)),
    ]
}

fn json(text: &str, key: &str, name: &str, entry: Option<&Entry>) -> Result<String, String> {
    let shown = if text.trim().is_empty() { "{}\n" } else { text };
    let root =
        CstRootNode::parse(shown, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let wrong = |what: &str| format!("{what} is not an object");
    let object = root.object_value_or_create().ok_or_else(|| wrong("the whole file"))?;
    // Of two keys readers take the last, and editing one of them would do nothing.
    let count = |key: &str| {
        let names = object.properties();
        names.iter().filter(|one| one.decoded_name().as_deref() == Some(key)).count()
    };
    if count(key) > 1 {
        return Err(format!("`{key}` stands there twice"));
    }
    match entry {
        Some(entry) => {
            let named = fields(entry).into_iter().map(|(key, value)| (key.to_owned(), value));
            let value = CstInputValue::Object(named.collect());
            let servers =
                object.object_value_or_create(key).ok_or_else(|| wrong(&format!("`{key}`")))?;
            let there = servers.get(name).map(|found| (found.object_value(), found));
            match there {
                // What else somebody wrote there, such as variables, stays.
                Some((Some(object), _)) => {
                    for (key, value) in fields(entry) {
                        match object.get(key) {
                            Some(found) => found.set_value(value),
                            None => {
                                object.append(key, value);
                            }
                        }
                    }
                }
                Some((None, found)) => found.set_value(value),
                None => {
                    servers.append(name, value);
                }
            }
        }
        None => {
            let found = object.object_value(key).and_then(|servers| servers.get(name));
            match found {
                Some(found) => found.remove(),
                // Nothing is written where there is nothing to take out.
                None => return Ok(text.to_owned()),
            }
        }
    }
    let edited = root.to_string();
    Ok(if edited.ends_with('\n') { edited } else { edited + "\n" })
}

fn toml(text: &str, name: &str, entry: Option<&Entry>) -> Result<String, String> {
    const KEY: &str = "mcp_servers";
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let wrong = || format!("`{KEY}` is not a table");
    if let Some(entry) = entry {
        let servers = document.entry(KEY).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let servers = servers.as_table_like_mut().ok_or_else(wrong)?;
        let same = |item: &Item| {
            let args = item.get("args").and_then(Item::as_array).map(|args| {
                args.iter().map(|arg| arg.as_str().map(str::to_owned)).collect::<Vec<_>>()
            });
            item.get("command").and_then(Item::as_str) == Some(&entry.command)
                && args == Some(entry.args.iter().cloned().map(Some).collect())
        };
        if !servers.get(name).is_some_and(same) {
            // What else somebody wrote there, such as variables, stays.
            if servers.get(name).is_none_or(|there| !there.is_table_like()) {
                servers.insert(name, Item::Table(Table::new()));
            }
            if let Some(table) = servers.get_mut(name).and_then(Item::as_table_like_mut) {
                table.insert("command", value(entry.command.as_str()));
                let args = entry.args.iter().map(String::as_str).collect::<Array>();
                table.insert("args", value(args));
            }
        }
    } else if let Some(servers) = document.get_mut(KEY) {
        servers.as_table_like_mut().ok_or_else(wrong)?.remove(name);
    }
    let edited = document.to_string();
    // The lines end as they did.
    Ok(if text.contains("\r\n") {
        edited.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        edited
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let args = ["mcp", "--dir", "a \"b\""].map(str::to_owned).to_vec();
        Entry { command: "openskills".to_owned(), args }
    }

    #[test]
    fn a_file_is_made_and_what_is_in_it_stays() {
        let made = ClientKind::Cursor.edited(None, "skills", Some(&entry())).unwrap();
        let data: serde_json::Value = serde_json::from_str(&made).unwrap();
        assert_eq!(data["mcpServers"]["skills"]["args"][2], "a \"b\"");
        let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // keep\n  },\n  \"more\": [1,2]\n}\n";
        let after = ClientKind::Cursor.edited(Some(before), "skills", Some(&entry())).unwrap();
        for kept in ["// mine", "\"other\": { \"command\": \"x\" }", "// keep", "\"more\": [1,2]"] {
            assert!(after.contains(kept), "{after}");
        }
        // The same again changes nothing, and taking it out leaves the rest.
        assert_eq!(
            ClientKind::Cursor.edited(Some(&after), "skills", Some(&entry())).unwrap(),
            after
        );
        let out = ClientKind::Cursor.edited(Some(&after), "skills", None).unwrap();
        assert!(
            !out.contains("openskills") && out.contains("\"other\"") && out.contains("// mine"),
            "{out}"
        );
        assert_eq!(ClientKind::Cursor.edited(Some(before), "skills", None).unwrap(), before);
        let with_env = after
            .replace("\"type\"", "\"env\": { \"A\": \"1\" }, \"type\"")
            .replace("\"mcp\"", "\"old\"");
        let kept = ClientKind::Cursor.edited(Some(&with_env), "skills", Some(&entry())).unwrap();
        assert!(kept.contains("\"A\": \"1\"") && !kept.contains("\"old\""), "{kept}");
        let vscode = ClientKind::VsCode.edited(None, "skills", Some(&entry())).unwrap();
        assert!(
            vscode.contains("\"servers\"") && vscode.contains("\"type\": \"stdio\""),
            "{vscode}"
        );
    }

    #[test]
    fn a_file_of_codex_keeps_its_comments() {
        let before = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\" # keep\n";
        let after = ClientKind::Codex.edited(Some(before), "skills", Some(&entry())).unwrap();
        assert!(after.starts_with(before), "{after}");
        let data: DocumentMut = after.parse().unwrap();
        assert_eq!(data["mcp_servers"]["skills"]["command"].as_str(), Some("openskills"));
        assert_eq!(
            ClientKind::Codex.edited(Some(&after), "skills", Some(&entry())).unwrap(),
            after
        );
        let out = ClientKind::Codex.edited(Some(&after), "skills", None).unwrap();
        assert_eq!(out.trim_end(), before.trim_end());
        let made = ClientKind::Codex.edited(None, "skills", Some(&entry())).unwrap();
        assert!(made.starts_with("[mcp_servers.skills]\n"), "{made}");
    }

    #[test]
    fn what_cannot_be_understood_is_not_touched() {
        for (client, text) in [
            (ClientKind::Cursor, "{"),
            (ClientKind::Cursor, "[]"),
            (ClientKind::Cursor, "{\"mcpServers\": 1}"),
            (ClientKind::VsCode, "{\"servers\": []}"),
            (ClientKind::Cursor, "{\"mcpServers\": {}, \"mcpServers\": {}}"),
            (ClientKind::Codex, "mcp_servers = 1\n"),
            (ClientKind::Codex, "[broken"),
        ] {
            assert!(client.edited(Some(text), "skills", Some(&entry())).is_err(), "{text}");
        }
    }
}
