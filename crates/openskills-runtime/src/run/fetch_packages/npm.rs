//! npm: fetches and unpacks packages without running their scripts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Fetch, Fetched, FinishedFetch, WORK, seen};
use crate::RuntimeError;

const MODULES: &str = "node_modules";
/// npm's list of what it has unpacked, with the hash of every package.
const LIST: &str = ".package-lock.json";

/// Options of every call: no settings but ours, nothing that runs code, and no messages to anybody.
const OPTIONS: [&str; 8] = [
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--no-save",
    "--omit=dev",
    "--loglevel=error",
];

/// Finds npm beside a node; returns its script, and its folder.
pub(super) fn script(node: &Path) -> Option<(PathBuf, PathBuf)> {
    let real = fs::canonicalize(node).ok();
    let beside = [Some(node.to_owned()), real].into_iter().flatten();
    let candidates = beside.filter_map(|node| Some(node.parent()?.join("npm")));
    candidates.chain([PathBuf::from("/usr/bin/npm")]).find_map(|npm| {
        let script = fs::canonicalize(npm).ok()?;
        let folder = script.ancestors().find(|folder| {
            folder.join("package.json").is_file() && folder.join("bin/npm-cli.js").is_file()
        })?;
        Some((folder.join("bin/npm-cli.js"), folder.to_owned()))
    })
}

/// Fetches packages and unpacks them.
pub(super) fn fetch(fetch: &Fetch<'_>, specs: &[String]) -> Result<Fetched, RuntimeError> {
    let Some((script, _)) = &fetch.tool.script else {
        return Err(fetch.failed("npm was not found"));
    };
    let list = fetch.folder.join("package.json");
    fs::write(&list, "{\"private\": true}\n").map_err(|error| fetch.io(&list, &error))?;
    let index = fetch.permit.index();
    let mut args: Vec<OsString> = vec![script.into()];
    args.extend(OPTIONS.map(OsString::from));
    args.extend(["--registry".into(), index.url.clone().into()]);
    args.extend(["--prefix".into(), WORK.into(), "--cache".into(), seen("cache")]);
    args.extend([
        "--userconfig".into(),
        seen("none"),
        "--globalconfig".into(),
        seen("none-global"),
    ]);
    args.push("--".into());
    args.extend(specs.iter().map(OsString::from));
    let done = fetch.run(args, fetch.network())?;
    if !done.is_good {
        return Err(fetch.unsuccessful(&done, reason(&done)));
    }
    let folder = fetch.folder.join(MODULES);
    let list = folder.join(LIST);
    let text = fs::read_to_string(&list).map_err(|error| fetch.io(&list, &error))?;
    let packages = hashes(&text).map_err(|message| fetch.failed(message))?;
    Ok((packages, folder))
}

/// Returns the hash of every package, by its place, name and version.
fn hashes(text: &str) -> Result<BTreeMap<String, String>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("npm's list is malformed: {error}"))?;
    let all = value["packages"].as_object().ok_or("npm's list has no packages")?;
    let mut packages = BTreeMap::new();
    for (place, about) in all {
        // It came with the package that contains it, whose hash covers it.
        if about["inBundle"] == true {
            continue;
        }
        let name = place.strip_prefix("node_modules/").unwrap_or(place);
        let version = about["version"].as_str().unwrap_or_default();
        let hash = about["integrity"].as_str().filter(|hash| hash.starts_with("sha512-"));
        let hash = hash.ok_or_else(|| format!("the registry has no SHA-512 of `{name}`"))?;
        packages.insert(format!("{name}@{version}"), hash.to_owned());
    }
    if packages.is_empty() { Err("npm fetched nothing".to_owned()) } else { Ok(packages) }
}

/// Explains the usual causes.
fn reason(done: &FinishedFetch) -> Option<String> {
    let has = |text: &str| done.messages.contains(text);
    if has("E404") {
        return Some("there is no such package".to_owned());
    }
    if has("ETARGET") {
        return Some("there is no such version".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_needs_a_strong_hash() {
        let list = |packages: &str| format!("{{\"packages\": {{{packages}}}}}");
        let good = r#""node_modules/a": {"version": "1.0.0", "integrity": "sha512-x"},
            "node_modules/a/node_modules/b": {"version": "2.0.0", "inBundle": true}"#;
        let found = hashes(&list(good)).unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("a@1.0.0".to_owned(), "sha512-x".to_owned())]
        );
        for bad in [
            "",
            r#""node_modules/a": {"version": "1.0.0"}"#,
            r#""node_modules/a": {"version": "1.0.0", "integrity": "sha1-x"}"#,
            r#""../a": {"link": true}"#,
        ] {
            assert!(hashes(&list(bad)).is_err(), "{bad}");
        }
    }
}
