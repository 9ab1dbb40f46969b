//! npm: fetches and unpacks packages without running their scripts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Fetch, Fetched, FinishedFetch, WORK, is_plain_name, seen};
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
    let (script, _) = &fetch.tool.manager;
    let scratch = fetch.scratch()?;
    let list = scratch.path().join("package.json");
    fs::write(&list, "{\"private\": true}\n").map_err(|error| fetch.io(&list, &error))?;
    let index = fetch.permit.index();
    let mut args: Vec<OsString> = vec![script.into()];
    args.extend(OPTIONS.map(OsString::from));
    args.extend(["--prefix".into(), WORK.into(), "--cache".into(), seen("cache")]);
    args.extend([
        "--userconfig".into(),
        seen("none"),
        "--globalconfig".into(),
        seen("none-global"),
    ]);
    // Packages of these scopes are never asked for elsewhere.
    args.extend(index.scopes.iter().map(|(key, url)| format!("--{key}={url}").into()));
    args.push("--".into());
    args.extend(specs.iter().map(OsString::from));
    let mut settings: Vec<(OsString, OsString)> = vec![
        // The URL may contain a password, which other users could read in arguments.
        ("npm_config_registry".into(), (&index.url).into()),
        // Dependencies from git run programs that the repository configures.
        ("npm_config_git".into(), "/nonexistent/git".into()),
    ];
    settings
        .extend(index.certificates.iter().map(|path| ("NODE_EXTRA_CA_CERTS".into(), path.into())));
    let done = fetch.run(&scratch, args, settings, fetch.network())?;
    if !done.is_good {
        return Err(fetch.unsuccessful(&done, reason(&done)));
    }
    let folder = scratch.path().join(MODULES);
    let list = folder.join(LIST);
    let is_real =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_symlink());
    if !is_real(&folder) || !is_real(&list) {
        return Err(fetch.failed("npm fetched nothing"));
    }
    let text = fs::read_to_string(&list).map_err(|error| fetch.io(&list, &error))?;
    let origin = origin_of(&index.url);
    let packages = hashes(&text, origin).map_err(|message| fetch.failed(message))?;
    Ok(Fetched { packages, folder, _scratch: scratch })
}

/// Returns scheme, host and port of a URL, without the user.
fn origin_of(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split('/').next().unwrap_or(rest);
    (scheme, authority.rsplit('@').next().unwrap_or(authority))
}

/// Returns the hash of every package, by its place, name and version.
fn hashes(text: &str, registry: (&str, &str)) -> Result<BTreeMap<String, String>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("npm's list is malformed: {error}"))?;
    let all = value["packages"].as_object().ok_or("npm's list has no packages")?;
    let mut packages = BTreeMap::new();
    for (place, about) in all {
        let resolved = about["resolved"].as_str();
        let hash = about["integrity"].as_str();
        // It came with the package that contains it, whose hash covers it.
        if about["inBundle"] == true && resolved.is_none() && hash.is_none() {
            continue;
        }
        let place = place.strip_prefix("node_modules/").unwrap_or(place);
        let version = about["version"].as_str().unwrap_or_default();
        // An alias is installed under another name.
        let name = match about["name"].as_str() {
            Some(name) => format!("{place}={name}@{version}"),
            None => format!("{place}@{version}"),
        };
        if !is_plain_name(&name.replace('=', "")) {
            return Err("a package has an unusual name".to_owned());
        }
        if resolved.is_some_and(|url| origin_of(url) != registry) {
            return Err(format!("`{name}` does not come from the registry"));
        }
        let hash = hash.filter(|hash| is_sha512(hash));
        let hash = hash.ok_or_else(|| format!("the registry has no single SHA-512 of `{name}`"))?;
        packages.insert(name, hash.to_owned());
    }
    if packages.is_empty() { Err("npm fetched nothing".to_owned()) } else { Ok(packages) }
}

/// Returns true for exactly one hash: npm accepts any of several.
fn is_sha512(text: &str) -> bool {
    let digits = text.strip_prefix("sha512-").and_then(|text| text.strip_suffix("=="));
    digits.is_some_and(|digits| {
        digits.len() == 86
            && digits.bytes().all(|c| c.is_ascii_alphanumeric() || b"+/".contains(&c))
    })
}

/// Explains the usual causes.
fn reason(done: &FinishedFetch) -> Option<String> {
    let has = |text: &str| done.messages.contains(text);
    if has("/nonexistent/git") || has("An unknown git error") || has("spawn git") {
        return Some("one of them comes from a git repository instead of the registry".to_owned());
    }
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
        let hash = format!("sha512-{}==", "x".repeat(86));
        let registry = ("https", "npm.test");
        let of = |packages: &str| {
            let text = format!("{{\"packages\": {{{packages}}}}}").replace("HASH", &hash);
            hashes(&text, registry)
        };
        let good = r#""node_modules/a": {"version": "1.0.0", "resolved": "https://npm.test/a.tgz", "integrity": "HASH"},
            "node_modules/a/node_modules/b": {"version": "2.0.0", "inBundle": true},
            "node_modules/c": {"version": "3.0.0", "name": "real", "integrity": "HASH"}"#;
        let found: Vec<String> = of(good).unwrap().into_keys().collect();
        assert_eq!(found, ["a@1.0.0", "c=real@3.0.0"]);
        for bad in [
            "",
            r#""node_modules/a": {"version": "1.0.0"}"#,
            r#""node_modules/a": {"version": "1.0.0", "integrity": "sha1-x"}"#,
            r#""node_modules/a": {"version": "1.0.0", "integrity": "HASH HASH"}"#,
            r#""node_modules/a": {"version": "1.0.0", "integrity": "sha512-x"}"#,
            r#""node_modules/a": {"version": "1.0.0", "resolved": "git+ssh://x", "integrity": "HASH"}"#,
            r#""node_modules/a": {"version": "1.0.0", "resolved": "https://other.test/a.tgz", "integrity": "HASH"}"#,
            r#""node_modules/a": {"version": "1.0.0", "inBundle": true, "resolved": "https://npm.test/a.tgz"}"#,
            r#""../a": {"link": true}"#,
            r#""node_modules/\u202ea": {"version": "1.0.0", "integrity": "HASH"}"#,
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
