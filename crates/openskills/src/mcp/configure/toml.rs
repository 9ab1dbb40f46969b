//! Edits TOML config files (Codex).

use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::{ServerCommand, check_is_own};

/// Returns the text with the server, or without it if `command` is `None`.
pub(super) fn edit(
    text: &str,
    name: &str,
    command: Option<&ServerCommand>,
) -> Result<String, String> {
    const KEY: &str = "mcp_servers";
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let not_a_table = || format!("`{KEY}` is not a table");
    if let Some(entry) = document.get(KEY).and_then(|servers| servers.get(name)) {
        let args = entry.get("args").and_then(Item::as_array).into_iter().flatten();
        let args = args.filter_map(toml_edit::Value::as_str);
        let program = entry.get("command").and_then(Item::as_str).into_iter();
        check_is_own(&program.chain(args).collect::<Vec<&str>>(), name)?;
    }
    if let Some(command) = command {
        let servers = document.entry(KEY).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let servers = servers.as_table_like_mut().ok_or_else(not_a_table)?;
        let is_current = |item: &Item| {
            let args = item.get("args").and_then(Item::as_array).map(|args| {
                args.iter().map(|arg| arg.as_str().map(str::to_owned)).collect::<Vec<_>>()
            });
            item.get("command").and_then(Item::as_str) == Some(&command.program)
                && args == Some(command.args.iter().cloned().map(Some).collect())
        };
        if !servers.get(name).is_some_and(is_current) {
            // Other fields, such as environment variables, stay.
            if servers.get(name).is_none_or(|entry| !entry.is_table_like()) {
                servers.insert(name, Item::Table(Table::new()));
            }
            if let Some(table) = servers.get_mut(name).and_then(Item::as_table_like_mut) {
                table.insert("command", value(command.program.as_str()));
                let args = command.args.iter().map(String::as_str).collect::<Array>();
                table.insert("args", value(args));
            }
        }
    } else if let Some(servers) = document.get_mut(KEY) {
        servers.as_table_like_mut().ok_or_else(not_a_table)?.remove(name);
    }
    let edited = document.to_string();
    // The editor writes `\n`, so the line endings of the file are restored.
    Ok(if text.contains("\r\n") {
        edited.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        edited
    })
}
