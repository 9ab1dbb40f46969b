//! Packages of Python: functions and classes with their signatures and docstrings.

mod constructor;
mod definition;
mod docs;
mod module;
mod names;
mod tops;

use std::collections::{BTreeMap, BTreeSet};

use crate::library::{bounded, first_sentence};
use crate::{Files, Kind, Library, SkillifyError, Topic};

use module::{Meaning, Module};
use names::Modules;
use tops::Tops;

const METADATA: [&str; 2] = ["PKG-INFO", "METADATA"];

/// Returns true for a package of Python.
pub(crate) fn is_one(files: &Files) -> bool {
    files.has("pyproject.toml") || files.has("setup.cfg") || metadata(files).is_some()
}

/// Returns what an installer or a builder wrote of it.
fn metadata(files: &Files) -> Option<String> {
    let is_one = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        METADATA.contains(&name) && path.matches('/').count() <= 1
    };
    files.text(files.paths().find(is_one)?)
}

fn field(text: &str, name: &str) -> Option<String> {
    let head = text.split("\n\n").next().unwrap_or(text);
    let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned()).filter(|value| !value.is_empty() && value != "UNKNOWN")
}

/// Reads a package of Python.
pub(crate) fn library(files: &Files) -> Result<Library, SkillifyError> {
    let written = metadata(files).unwrap_or_default();
    let project = project(files)?;
    let get = |name: &str, key: &str| {
        field(&written, name).or_else(|| Some(project.get(key)?.as_str()?.to_owned()))
    };
    let name = get("Name", "name")
        .ok_or_else(|| SkillifyError::file("pyproject.toml", "it names no package"))?;
    let tops = Tops::find(files, &name);
    let modules = modules(files, &tops);
    let topics = exported(&modules);
    let (topics, note) = bounded(topics, |topic| topic.name.matches('.').count());
    let mut unread = unread(files);
    unread.extend(modules.unread_lists());
    unread.extend(note);
    let body = written.split_once("\n\n").map(|(_, body)| paragraph(body)).unwrap_or_default();
    let title = get("Summary", "description").unwrap_or_else(|| first_sentence(&body));
    Ok(Library {
        kind: Kind::Python,
        version: get("Version", "version").unwrap_or_else(|| "0".to_owned()),
        license: field(&written, "License-Expression").or_else(|| field(&written, "License")),
        title,
        description: body,
        modules: imported(&topics, &name),
        unread,
        topics,
        vignettes: Vec::new(),
        source: files.digest(),
        name,
    })
}

/// Returns the table `project` of pyproject.toml.
fn project(files: &Files) -> Result<toml::Table, SkillifyError> {
    let Some(text) = files.text("pyproject.toml") else { return Ok(toml::Table::new()) };
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| SkillifyError::file("pyproject.toml", error.message()))?;
    let project = table.get("project").and_then(toml::Value::as_table);
    Ok(project.cloned().unwrap_or_default())
}

/// Returns the first paragraph of prose.
fn paragraph(text: &str) -> String {
    let is_prose = |part: &&str| {
        let start = part.trim_start();
        start.len() > 40 && start.starts_with(|c: char| c.is_alphanumeric() || c == '*' || c == '`')
    };
    text.split("\n\n").find(is_prose).unwrap_or_default().trim().to_owned()
}

/// Returns the packages and modules that others write in an import, the one with the package's name first.
fn imported(topics: &[Topic], name: &str) -> Vec<String> {
    let usual = name.to_lowercase().replace(['-', '.'], "_");
    let tops: BTreeSet<&str> =
        topics.iter().filter_map(|topic| topic.name.split('.').next()).collect();
    let mut tops: Vec<String> = tops.into_iter().map(str::to_owned).collect();
    tops.sort_by_key(|top| top.to_lowercase() != usual);
    tops
}

/// Returns what an installer installed and what was not there to be read.
fn unread(files: &Files) -> Vec<String> {
    let missing = tops::missing(files);
    let names: Vec<String> = missing.iter().map(|top| format!("`{top}`")).collect();
    let note = format!("The package installs {}, which was not read.", names.join(" and "));
    if names.is_empty() { Vec::new() } else { vec![note] }
}

/// Reads all modules that an installer would install.
fn modules(files: &Files, tops: &Tops) -> Modules {
    let mut found = Modules { all: BTreeMap::new(), packages: BTreeSet::new() };
    let is_one = |path: &&str| {
        let inner = path.strip_prefix("src/").unwrap_or(path);
        tops::is_module(inner) && tops.has(inner)
    };
    for path in files.paths().filter(is_one) {
        let name = module_name(path);
        let is_package = path.ends_with("/__init__.py");
        let package = match name.rsplit_once('.') {
            _ if is_package => name.as_str(),
            Some((package, _)) => package,
            None => "",
        };
        let module = Module::read(package, &files.text(path).unwrap_or_default());
        if is_package {
            found.packages.insert(name.clone());
        }
        found.all.insert(name, module);
    }
    found
}

/// Returns what a package exports, by the names that others import.
fn exported(modules: &Modules) -> Vec<Topic> {
    let mut topics = Vec::new();
    for (name, origin) in modules.public() {
        let (module, inner) = &origin;
        let meaning = modules.all.get(module).and_then(|module| module.names.get(inner));
        match meaning {
            Some(Meaning::Function(function)) => topics.push(function.topic(&name)),
            Some(Meaning::Class(class)) => {
                let mut topic = class.head.topic(&name);
                if let Some(made) = constructor::made(modules, &origin) {
                    let called = name.rsplit('.').next().unwrap_or(&name);
                    topic.usage = format!("{}\n{called}({})", topic.usage, made.taken.join(", "));
                    // A class may say what it takes itself, or leave that to the function that makes it.
                    if topic.arguments.is_empty() {
                        topic.arguments = made.arguments;
                    }
                }
                topics.push(topic);
                let methods = class.functions.values().filter(|one| !one.name.starts_with('_'));
                topics.extend(methods.map(|one| one.topic(&format!("{name}.{}", one.name))));
            }
            _ => {}
        }
    }
    topics
}

fn module_name(path: &str) -> String {
    let path = path.strip_prefix("src/").unwrap_or(path);
    let path = path.trim_end_matches(".py").trim_end_matches("/__init__");
    path.replace('/', ".")
}
