//! Python packages: functions and classes with their signatures and docstrings.

mod constructor;
mod definition;
mod docs;
mod module;
mod names;
mod top_level;

use std::collections::{BTreeMap, BTreeSet};

use crate::library::{bounded, first_sentence};
use crate::{Files, Library, PackageKind, SkillifyError, Topic};

use module::{Binding, Module};
use names::Modules;
use top_level::TopLevel;

const METADATA: [&str; 2] = ["PKG-INFO", "METADATA"];

/// Returns true for a Python package.
pub(crate) fn is_package(files: &Files) -> bool {
    files.has("pyproject.toml") || files.has("setup.cfg") || metadata(files).is_some()
}

/// Returns the metadata that an installer or a build tool wrote.
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

/// Reads a Python package.
pub(crate) fn library(files: &Files) -> Result<Library, SkillifyError> {
    let metadata = metadata(files).unwrap_or_default();
    let project = project(files)?;
    let get = |name: &str, key: &str| {
        field(&metadata, name).or_else(|| Some(project.get(key)?.as_str()?.to_owned()))
    };
    let name = get("Name", "name")
        .ok_or_else(|| SkillifyError::file("pyproject.toml", "missing package name"))?;
    let top_level = TopLevel::find(files, &name);
    let modules = modules(files, &top_level);
    let topics = exported(&modules);
    let (topics, note) = bounded(topics, |topic| topic.name.matches('.').count());
    let mut unread = unread(files);
    unread.extend(modules.unread_lists());
    unread.extend(note);
    let body = metadata.split_once("\n\n").map(|(_, body)| paragraph(body)).unwrap_or_default();
    let title = get("Summary", "description").unwrap_or_else(|| first_sentence(&body));
    Ok(Library {
        kind: PackageKind::Python,
        version: get("Version", "version").unwrap_or_else(|| "0".to_owned()),
        license: field(&metadata, "License-Expression").or_else(|| field(&metadata, "License")),
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

/// Returns the packages and modules that users import, the one with the package's name first.
fn imported(topics: &[Topic], name: &str) -> Vec<String> {
    let usual = name.to_lowercase().replace(['-', '.'], "_");
    let top_level: BTreeSet<&str> =
        topics.iter().filter_map(|topic| topic.name.split('.').next()).collect();
    let mut top_level: Vec<String> = top_level.into_iter().map(str::to_owned).collect();
    top_level.sort_by_key(|top| top.to_lowercase() != usual);
    top_level
}

/// Returns a note on the installed modules that were not among the files.
fn unread(files: &Files) -> Vec<String> {
    let missing = top_level::missing(files);
    let names: Vec<String> = missing.iter().map(|top| format!("`{top}`")).collect();
    let was = if names.len() == 1 { "was" } else { "were" };
    let note = format!("The package installs {}, which {was} not read.", names.join(" and "));
    if names.is_empty() { Vec::new() } else { vec![note] }
}

/// Parses all modules that an installer would install.
fn modules(files: &Files, top_level: &TopLevel) -> Modules {
    let mut found = Modules { all: BTreeMap::new(), packages: BTreeSet::new() };
    let is_one = |path: &&str| {
        let inner = path.strip_prefix("src/").unwrap_or(path);
        top_level::is_module(inner) && top_level.has(inner)
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

/// Returns the exports of a package, under the names that users import.
fn exported(modules: &Modules) -> Vec<Topic> {
    let mut topics = Vec::new();
    for (name, origin) in modules.public() {
        let (module, inner) = &origin;
        let binding = modules.all.get(module).and_then(|module| module.names.get(inner));
        match binding {
            Some(Binding::Function(function)) => topics.push(function.topic(&name)),
            Some(Binding::Class(class)) => {
                let mut topic = class.head.topic(&name);
                if let Some(constructor) = constructor::find(modules, &origin) {
                    let called = name.rsplit('.').next().unwrap_or(&name);
                    let parameters = constructor.parameters.join(", ");
                    topic.usage = format!("{}\n{called}({parameters})", topic.usage);
                    // The arguments may be documented at the class or at its constructor.
                    if topic.arguments.is_empty() {
                        topic.arguments = constructor.arguments;
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
