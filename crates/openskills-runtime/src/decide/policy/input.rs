//! Finds the files and URLs in the input of a tool, under any key.

use std::path::{Path, PathBuf};

use serde_json::Value;
use skill::capabilities::Host;

use super::call::{CallContext, FileArgument, MAX_FILES, before_pattern};
use super::url::host_of;

/// Keys whose value is plain text even if it looks like a path: content to write, replace or search for, and prompts.
const TEXTS: [&str; 24] = [
    "accept",
    "authorization",
    "body",
    "cellid",
    "celltype",
    "content",
    "contents",
    "contenttype",
    "description",
    "editmode",
    "filetext",
    "inserttext",
    "language",
    "newsource",
    "newstr",
    "newstring",
    "oldstr",
    "oldstring",
    "outputmode",
    "prompt",
    "query",
    "replacement",
    "text",
    "useragent",
];
/// Key fragments whose value is a file or folder, even without a slash.
const FILES: [&str; 14] = [
    "path", "file", "dir", "folder", "cwd", "target", "include", "output", "source", "dest",
    "root", "base", "notebook", "location",
];
/// Key fragments whose value is a URL or a host.
const HOSTS: [&str; 13] = [
    "url", "uri", "host", "proxy", "redirect", "server", "domain", "endpoint", "origin", "address",
    "callback", "site", "mirror",
];
/// Key fragments that set the folder other paths are relative to; for searches, `path` does too.
const BASES: [&str; 5] = ["cwd", "dir", "folder", "root", "base"];

/// How a file tool interprets a text.
enum InputKind {
    Text,
    File,
    Pattern,
    MayBeFile,
}

/// Collects every path in an input; `None` if there is none, or if one of them cannot be judged.
pub(super) fn files(
    tool: &str,
    input: &Value,
    context: &CallContext,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Option<Vec<FileArgument>> {
    let is_search = matches!(tool, "Grep" | "Glob" | "LS");
    let mut named: Vec<(String, bool, bool)> = Vec::new();
    let mut bases: Vec<PathBuf> = Vec::new();
    let mut ending = None;
    texts(input, &mut |key, text| {
        match kind_of(tool, key, text) {
            InputKind::Text => return,
            InputKind::File => {
                named.push((text.to_owned(), is_search, false));
                named.extend(file_address(text).map(|path| (path, is_search, false)));
            }
            InputKind::MayBeFile => named.push((text.to_owned(), false, true)),
            InputKind::Pattern => {
                named.push((before_pattern(text).to_owned(), true, false));
                // `*.rs` and `**/*.rs` only match names with this suffix.
                let last = text.rsplit('/').next().unwrap_or(text);
                ending = last
                    .strip_prefix('*')
                    .filter(|end| !end.contains(['*', '?', '[', '{']))
                    .map(str::to_owned);
            }
        }
        // A path may be relative to the searched folder, or to a folder under another key.
        if has_part(key, &BASES) || (is_search && is_key(key, &["path"])) {
            bases.extend(context.paths(text).into_iter().flatten());
        }
    });
    // A search without a folder searches the working folder.
    if is_search && named.iter().all(|(_, _, may_be_text)| *may_be_text) {
        named.push((".".to_owned(), true, false));
    }
    let is_none = named.iter().all(|(_, _, may_be_text)| *may_be_text);
    if is_none || named.len() > MAX_FILES || bases.len() > MAX_BASES {
        return None;
    }
    let all = named.into_iter().map(|(text, is_searched, may_be_text)| {
        let mut paths = match context.paths(&text) {
            Some(paths) => paths,
            // Text that is too long for a path is not one.
            None if may_be_text => Vec::new(),
            None => return None,
        };
        paths.extend(bases.iter().map(|base| base.join(&text)));
        let others: Vec<PathBuf> = paths.iter().filter_map(|path| real(path)).collect();
        paths.extend(others);
        let ending = ending.clone();
        let is_in_repository = false;
        Some(FileArgument { paths, is_searched, ending, may_be_text, is_in_repository })
    });
    all.collect()
}

/// Returns the decoded path of a `file:` URL.
fn file_address(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let rest = rest.strip_prefix("//").map_or(rest, |rest| rest.trim_start_matches("localhost"));
    let path = scheme.eq_ignore_ascii_case("file").then_some(rest)?;
    let mut bytes = Vec::new();
    let mut left = path.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        let hex = || u8::from_str_radix(std::str::from_utf8(rest.get(..2)?).ok()?, 16).ok();
        match (first, hex()) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                left = &rest[2..];
            }
            _ => {
                bytes.push(*first);
                left = rest;
            }
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Calls with more base folders are not analyzed.
const MAX_BASES: usize = 16;

fn kind_of(tool: &str, key: &str, text: &str) -> InputKind {
    let is_regex = matches!(tool, "Grep") && is_key(key, &["pattern"]);
    let is_text = |key: &str| TEXTS.contains(&letters(key).as_str());
    if is_regex || is_text(key) {
        return InputKind::Text;
    }
    if is_key(key, &["glob"]) || (tool == "Glob" && is_key(key, &["pattern"])) {
        return InputKind::Pattern;
    }
    let looks_like_one = text.contains(['/', '\\']) || text.starts_with('~') || text == "..";
    match has_part(key, &FILES) || looks_like_one {
        true => InputKind::File,
        false => InputKind::MayBeFile,
    }
}

/// Collects the host of every URL in an input.
pub(super) fn hosts(input: &Value) -> Vec<Option<Host>> {
    let mut hosts = Vec::new();
    texts(input, &mut |key, text| {
        let is_bare = || {
            let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:/@[]".contains(c));
            is_name && text.contains(['.', ':', '@']) || text.starts_with(['/', '~'])
        };
        if is_key(key, &["url", "urls", "uri", "uris"]) {
            hosts.push(host_of(text));
        } else if TEXTS.contains(&letters(key).as_str()) {
            // Plain text may mention a URL but is not one.
        } else if text.contains("://") {
            hosts.push(host_of(text));
        } else if has_part(key, &HOSTS) || is_bare() {
            hosts.push(host_of(&format!("https://{}", text.trim_start_matches("//"))));
        }
    });
    hosts
}

/// Calls `found` with each text in an input and its key; items of a list get the list's key.
fn texts(value: &Value, found: &mut impl FnMut(&str, &str)) {
    fn walk(key: &str, value: &Value, found: &mut impl FnMut(&str, &str)) {
        match value {
            Value::String(text) => found(key, text),
            Value::Array(items) => items.iter().for_each(|item| walk(key, item, found)),
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| walk(key, value, found));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    walk("", value, found);
}

/// Normalizes a key, so that `filePath`, `file_path` and `file-path` compare equal.
fn letters(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn is_key(key: &str, names: &[&str]) -> bool {
    names.contains(&letters(key).as_str())
}

fn has_part(key: &str, parts: &[&str]) -> bool {
    let key = letters(key);
    parts.iter().any(|part| key.contains(part))
}
