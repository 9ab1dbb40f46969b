//! npm packages: the exports of their type declarations, or of their code if there are none.

mod common;
mod declared;
mod entries;
mod jsdoc;
mod module;
mod resolve;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::library::{bounded, first_sentence};
use crate::{Files, Library, PackageKind, SkillifyError, Topic};

use entries::Entry;
use resolve::{Export, Modules};

/// The maximum number of listed members of a namespace.
const MAX_NAMES: usize = 400;

/// Reads an npm package.
pub(crate) fn library(files: &Files) -> Result<Library, SkillifyError> {
    let manifest: Value = serde_json::from_str(&files.text("package.json").unwrap_or_default())
        .map_err(|error| SkillifyError::file("package.json", error.to_string()))?;
    let get = |key: &str| manifest.get(key).and_then(Value::as_str).map(str::to_owned);
    let name =
        get("name").ok_or_else(|| SkillifyError::file("package.json", "missing package name"))?;
    let (entries, mut unread) = entries::entries(files, &manifest);
    let modules = Modules::new(files);
    let mut seen = BTreeSet::new();
    let topics: Vec<Topic> =
        entries.iter().flat_map(|entry| exported(&modules, &name, entry, &mut seen)).collect();
    unread.extend(modules.unread());
    let (topics, note) = bounded(topics, rank);
    unread.extend(note);
    let readme = files.paths().find(|path| path.eq_ignore_ascii_case("README.md"));
    let readme = readme.and_then(|path| files.text(path)).unwrap_or_default();
    let is_prose = |part: &&str| {
        part.trim().len() > 40 && part.trim_start().starts_with(|c: char| c.is_alphanumeric())
    };
    let description = readme.split("\n\n").find(is_prose).unwrap_or_default().trim().to_owned();
    Ok(Library {
        kind: PackageKind::Npm,
        title: get("description").unwrap_or_else(|| first_sentence(&description)),
        version: get("version").unwrap_or_else(|| "0.0.0".to_owned()),
        license: get("license"),
        description,
        topics,
        modules: Vec::new(),
        unread,
        vignettes: Vec::new(),
        source: files.digest(),
        name,
    })
}

/// Returns the exports of an entry, without those that an earlier entry exports under the same name.
fn exported(
    modules: &Modules<'_>,
    package: &str,
    entry: &Entry,
    seen: &mut BTreeSet<(String, String, String)>,
) -> Vec<Topic> {
    let from = format!("{package}{}", entry.subpath);
    let mut topics = Vec::new();
    for name in modules.exports(&entry.file).into_keys() {
        let shown = if entry.subpath.is_empty() { name.clone() } else { format!("{from}: {name}") };
        let found = modules.export(&entry.file, &name);
        let key = match &found {
            Export::Declared(file, one) => Some((file.clone(), one.usage("x"), name.clone())),
            Export::Namespace(file) => Some((file.clone(), "*".to_owned(), name.clone())),
            Export::Outside(_) | Export::Unknown => None,
        };
        if key.is_some_and(|key| !seen.insert(key)) {
            continue;
        }
        let own = match &found {
            Export::Declared(_, one) if !one.name.is_empty() => one.name.clone(),
            _ => camel(package),
        };
        let called = if name == "default" { own } else { name.clone() };
        let import = match name.as_str() {
            "default" => format!("import {called} from \"{from}\""),
            _ => format!("import {{ {name} }} from \"{from}\""),
        };
        let is_plain = entry.subpath.is_empty() && name != "default";
        topics.extend(pages(modules, &found, &shown, &called).into_iter().map(|mut topic| {
            let is_member = topic.name != shown;
            if !is_plain && !is_member {
                topic.usage = format!("{import}\n{}", topic.usage).trim().to_owned();
            }
            topic
        }));
    }
    topics
}

/// Returns the page of an export and those of its members.
fn pages(modules: &Modules<'_>, found: &Export, shown: &str, called: &str) -> Vec<Topic> {
    let named = |title: String, usage: String, description: String| Topic {
        name: shown.to_owned(),
        title,
        usage,
        description,
        ..Topic::default()
    };
    match found {
        Export::Declared(_, one) => {
            let mut page = one.topic(shown, called);
            if page.title.is_empty() {
                page.title = format!("exported as `{called}`");
            }
            let members = one
                .members
                .iter()
                .map(|member| Topic { name: format!("{shown}.{}", member.name), ..member.clone() });
            std::iter::once(page).chain(members).collect()
        }
        Export::Namespace(file) => {
            let names: Vec<String> = modules.exports(file).into_keys().collect();
            let listed: Vec<String> =
                names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
            let more = if names.len() > MAX_NAMES { ", and more" } else { "" };
            let title = format!("an object with {} members", names.len());
            let description = format!("Members: {}{more}.", listed.join(", "));
            vec![named(title, format!("const {called}"), description)]
        }
        Export::Outside(package) => {
            let title = format!("re-exported from the package `{package}`, which was not read");
            vec![named(title, String::new(), String::new())]
        }
        Export::Unknown => {
            let title = "exported; its signature cannot be determined from the code".to_owned();
            vec![named(title, String::new(), String::new())]
        }
    }
}

/// Returns 0 for exports of the package itself, 1 for their members, and 2 and 3 for those of other entries.
fn rank(topic: &Topic) -> usize {
    let (is_other, name) = match topic.name.split_once(": ") {
        Some((_, name)) => (2, name),
        None => (0, topic.name.as_str()),
    };
    is_other + usize::from(name.contains('.'))
}

/// Returns the name to import the default export of a package as: `pLimit` for `p-limit`.
fn camel(package: &str) -> String {
    let own = package.rsplit('/').next().unwrap_or(package);
    let mut parts = own.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or("it").to_owned();
    parts.fold(first, |name, part| {
        let (start, rest) = part.split_at(1);
        format!("{name}{}{rest}", start.to_uppercase())
    })
}
