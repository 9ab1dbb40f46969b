//! Files of TOML: Codex.

use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::{Entry, check_own};

/// Returns the text with the server in it; without it, if there is no entry.
pub(super) fn edited(text: &str, name: &str, entry: Option<&Entry>) -> Result<String, String> {
    const KEY: &str = "mcp_servers";
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let wrong = || format!("`{KEY}` is not a table");
    if let Some(there) = document.get(KEY).and_then(|servers| servers.get(name)) {
        let args = there.get("args").and_then(Item::as_array).into_iter().flatten();
        let words = there.get("command").and_then(Item::as_str).into_iter();
        let words: Vec<&str> = words.chain(args.filter_map(toml_edit::Value::as_str)).collect();
        check_own(&words, name)?;
    }
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
