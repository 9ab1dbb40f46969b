//! The entry points of a package: the subpaths that users import, and the file of each.

use serde_json::Value;

use crate::Files;

/// An entry point.
pub(super) struct Entry {
    /// The part after the package's name: empty, or for example `/fp`.
    pub subpath: String,
    /// The file with its exports: type declarations if there are any, else code.
    pub file: String,
}

/// Conditions, in the order in which `import` of Node.js prefers them; `require` comes late.
const CODE: [&str; 7] =
    ["node", "import", "module-sync", "module", "default", "require", "browser"];
const TYPES: [&str; 7] = ["types", "import", "module", "node", "default", "require", "browser"];
/// The maximum nesting of conditions.
const MAX_DEPTH: usize = 6;

/// Returns the entry points, the package itself first, and notes on those that are not covered.
pub(super) fn entries(files: &Files, manifest: &Value) -> (Vec<Entry>, Vec<String>) {
    let Some(exports) = manifest.get("exports").filter(|value| !value.is_null()) else {
        let file = main(files, manifest);
        let entry = file.map(|file| Entry { subpath: String::new(), file });
        let unread = match manifest.get("main").and_then(Value::as_str) {
            Some(main) if entry.is_none() => {
                vec![format!("`main` is `{main}`, which was not found.")]
            }
            _ => Vec::new(),
        };
        return (entry.into_iter().collect(), unread);
    };
    let is_map = |fields: &serde_json::Map<String, Value>| {
        fields.keys().next().is_some_and(|key| key.starts_with('.'))
    };
    let whole = [(".".to_owned(), exports.clone())];
    let all: Vec<(String, Value)> = match exports {
        Value::Object(fields) if is_map(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        _ => whole.to_vec(),
    };
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for (key, value) in all.iter().filter(|(_, value)| !value.is_null()) {
        let subpath = key.trim_start_matches('.').to_owned();
        if subpath.contains('*') {
            unread.push(format!("Imports matching the pattern `{key}` are not listed."));
        } else if let Some(file) = file_of(files, manifest, &subpath, value) {
            found.push(Entry { subpath, file });
        } else if is_code(value) {
            unread.push(format!("No files were found for the import `{key}`."));
        }
    }
    unread.sort();
    found.sort_by(|one: &Entry, other| one.subpath.cmp(&other.subpath));
    (found, unread)
}

/// Returns true for an entry point that is code, and not a style sheet or JSON.
fn is_code(value: &Value) -> bool {
    pick(value, &CODE, &|path| has_ending(path, &[".js", ".mjs", ".cjs", ".ts"]), 0).is_some()
}

/// Returns the file with the exports of an entry in `exports`.
fn file_of(files: &Files, manifest: &Value, subpath: &str, value: &Value) -> Option<String> {
    let typed = pick(value, &TYPES, &|path| is_typed(path) && files.has(path), 0);
    let code = || pick(value, &CODE, &|path| is_module(path) && files.has(path), 0);
    typed.or_else(|| {
        let declared = subpath.is_empty().then(|| types(files, manifest)).flatten();
        let code = code();
        let beside = code.as_deref().and_then(|code| types_beside(files, code));
        beside.or(declared).or(code)
    })
}

/// Returns the file with the exports of a package without `exports`.
fn main(files: &Files, manifest: &Value) -> Option<String> {
    if let Some(types) = types(files, manifest) {
        return Some(types);
    }
    let main = manifest.get("main").and_then(Value::as_str).map(plain).unwrap_or_default();
    let main = main.trim_end_matches('/');
    let endings = ["", ".js", ".mjs", ".cjs", "/index.js"];
    let named = endings.into_iter().map(|ending| format!("{main}{ending}"));
    let usual = ["index.js", "index.mjs", "index.cjs"].map(str::to_owned);
    let code = named.chain(usual).find(|path| is_module(path) && files.has(path));
    let beside = code.as_deref().and_then(|code| types_beside(files, code));
    let alone = || Some("index.d.ts".to_owned()).filter(|path| files.has(path));
    beside.or(code).or_else(alone)
}

/// Returns the file in the field `types`.
fn types(files: &Files, manifest: &Value) -> Option<String> {
    let named = ["types", "typings"].into_iter().find_map(|key| manifest.get(key)?.as_str());
    let named = plain(named?);
    let endings = ["", ".d.ts", "/index.d.ts"];
    endings.into_iter().map(|ending| format!("{named}{ending}")).find(|path| files.has(path))
}

/// Returns the type declarations next to a code file.
fn types_beside(files: &Files, code: &str) -> Option<String> {
    let (stem, ending) = code.rsplit_once('.')?;
    let typed = format!("{stem}.d.{}", ending.replace("js", "ts"));
    Some(typed).filter(|path| files.has(path))
}

/// Returns the first path that fits, in the order of the conditions.
fn pick(
    value: &Value,
    order: &[&str],
    fits: &dyn Fn(&str) -> bool,
    depth: usize,
) -> Option<String> {
    match value {
        _ if depth > MAX_DEPTH => None,
        Value::String(path) => Some(plain(path)).filter(|path| fits(path)),
        Value::Array(all) => all.iter().find_map(|value| pick(value, order, fits, depth + 1)),
        Value::Object(fields) => order
            .iter()
            .filter_map(|key| fields.get(*key))
            .find_map(|value| pick(value, order, fits, depth + 1)),
        _ => None,
    }
}

fn plain(path: &str) -> String {
    path.trim_start_matches("./").to_owned()
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| path.ends_with(ending))
}

/// Returns true for a TypeScript file.
pub(super) fn is_typed(path: &str) -> bool {
    has_ending(path, &[".ts", ".mts", ".cts"])
}

fn is_module(path: &str) -> bool {
    has_ending(path, &[".js", ".mjs", ".cjs"]) || is_typed(path)
}

/// Resolves a relative import of a module. Imports of a declaration file prefer declaration files; those of code,
/// code.
pub(super) fn resolved(files: &Files, from: &str, import: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in import.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let base = parts.join("/");
    let stem = [".d.ts", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]
        .iter()
        .find_map(|ending| base.strip_suffix(ending));
    let stem = stem.unwrap_or(&base).to_owned();
    let code = ["", ".js", ".mjs", ".cjs", "/index.js", "/index.mjs", "/index.cjs"];
    let code = code.map(|ending| format!("{base}{ending}"));
    let types = [".d.ts", ".d.mts", ".d.cts", ".ts", ".mts", "/index.d.ts", "/index.ts"];
    let types = types.map(|ending| format!("{stem}{ending}"));
    let all: Vec<String> = if is_typed(from) {
        types.into_iter().chain(code).collect()
    } else {
        code.into_iter().chain(types).collect()
    };
    all.into_iter().find(|path| is_module(path) && files.has(path))
}
