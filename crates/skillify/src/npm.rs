//! npm packages: what their types, or else their code, export.

use std::collections::BTreeSet;

use serde_json::Value;
use tree_sitter::{Language, Node};

use crate::library::first_sentence;
use crate::syntax::{children, head, parse, text};
use crate::{Argument, Files, Kind, Library, SkillifyError, Topic};

const MOST: usize = 600;

/// Reads an npm package.
pub(crate) fn library(files: &Files) -> Result<Library, SkillifyError> {
    let manifest: Value = serde_json::from_str(&files.text("package.json").unwrap_or_default())
        .map_err(|error| SkillifyError::file("package.json", error.to_string()))?;
    let get = |key: &str| manifest.get(key).and_then(Value::as_str).map(str::to_owned);
    let name =
        get("name").ok_or_else(|| SkillifyError::file("package.json", "it names no package"))?;
    let mut topics = Vec::new();
    let mut seen = BTreeSet::new();
    for path in entries(files, &manifest) {
        follow(files, &path, &mut seen, &mut topics);
    }
    topics.sort_by(|one: &Topic, other| one.name.cmp(&other.name));
    topics.dedup_by(|one, other| one.name == other.name);
    topics.truncate(MOST);
    let readme = files.paths().find(|path| path.eq_ignore_ascii_case("README.md"));
    let readme = readme.and_then(|path| files.text(path)).unwrap_or_default();
    let is_prose = |part: &&str| {
        part.trim().len() > 40 && part.trim_start().starts_with(|c: char| c.is_alphanumeric())
    };
    let description = readme.split("\n\n").find(is_prose).unwrap_or_default().trim().to_owned();
    Ok(Library {
        kind: Kind::Npm,
        title: get("description").unwrap_or_else(|| first_sentence(&description)),
        version: get("version").unwrap_or_else(|| "0.0.0".to_owned()),
        license: get("license"),
        description,
        topics,
        modules: Vec::new(),
        unread: Vec::new(),
        vignettes: Vec::new(),
        source: files.digest(),
        name,
    })
}

/// Reads a module, and those that it hands on whole.
fn follow(files: &Files, path: &str, seen: &mut BTreeSet<String>, topics: &mut Vec<Topic>) {
    if seen.len() > MOST || !seen.insert(path.to_owned()) {
        return;
    }
    let source = files.text(path).unwrap_or_default();
    let Exports { topics: mut own, whole, named } = module(path, &source);
    // What comes from another file of the package is told of as that file tells of it.
    for Named { from, name, alias } in named {
        let Some(file) = resolved(files, path, &from) else { continue };
        let mut there = Vec::new();
        follow(files, &file, &mut seen.clone(), &mut there);
        let found: Vec<Topic> =
            there.iter().filter_map(|topic| renamed(topic, &name, &alias)).collect();
        if !found.is_empty() {
            own.retain(|topic| topic.name != alias);
            own.extend(found);
        }
    }
    topics.extend(own);
    for other in whole {
        if let Some(other) = resolved(files, path, &other) {
            follow(files, &other, seen, topics);
        }
    }
}

/// Returns a topic, or one inside of it, by another name.
fn renamed(topic: &Topic, name: &str, alias: &str) -> Option<Topic> {
    let rest = topic.name.strip_prefix(name)?;
    let is_inside = rest.is_empty() || rest.starts_with('.');
    is_inside.then(|| Topic { name: format!("{alias}{rest}"), ..topic.clone() })
}

/// What a module exports.
#[derive(Default)]
struct Exports {
    topics: Vec<Topic>,
    /// Modules that it hands on whole.
    whole: Vec<String>,
    /// Names that it hands on from other modules.
    named: Vec<Named>,
}

/// A name that is handed on.
struct Named {
    from: String,
    name: String,
    alias: String,
}

/// Returns the file that a relative import in a module means.
fn resolved(files: &Files, from: &str, import: &str) -> Option<String> {
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
    let stem = base.trim_end_matches(".js").trim_end_matches(".mjs").trim_end_matches(".cjs");
    let endings = [".d.ts", ".ts", ".d.mts", ".mjs", ".js", ".cjs", "/index.d.ts", "/index.js"];
    let candidates = std::iter::once(base.clone());
    let mut candidates = candidates.chain(endings.iter().map(|ending| format!("{stem}{ending}")));
    candidates.find(|path| files.has(path))
}

/// Returns the files that say what is exported: types where there are any, else code.
fn entries(files: &Files, manifest: &Value) -> Vec<String> {
    let plain = |path: &str| path.trim_start_matches("./").to_owned();
    let mut named: Vec<String> = ["types", "typings"]
        .into_iter()
        .filter_map(|key| Some(plain(manifest.get(key)?.as_str()?)))
        .collect();
    collect(manifest.get("exports"), "types", &mut named, 0);
    named.push("index.d.ts".to_owned());
    let is_there = |path: &String| files.has(path);
    let types: Vec<String> = named.into_iter().filter(is_there).collect();
    if !types.is_empty() {
        return unique(types);
    }
    let mut named: Vec<String> = ["module", "main"]
        .into_iter()
        .filter_map(|key| Some(plain(manifest.get(key)?.as_str()?)))
        .collect();
    for key in ["import", "require", "default", "node"] {
        collect(manifest.get("exports"), key, &mut named, 0);
    }
    if let Some(path) = manifest.get("exports").and_then(Value::as_str) {
        named.push(plain(path));
    }
    let with_ending = named
        .iter()
        .flat_map(|path| [path.clone(), format!("{path}.js"), format!("{path}/index.js")]);
    let mut all: Vec<String> = with_ending.filter(is_there).collect();
    all.extend(["index.js", "index.mjs"].map(str::to_owned).into_iter().filter(is_there));
    unique(all)
}

fn unique(all: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    all.into_iter().filter(|path| seen.insert(path.clone())).collect()
}

/// Collects the paths that `exports` has for a condition.
fn collect(value: Option<&Value>, condition: &str, found: &mut Vec<String>, depth: usize) {
    let Some(Value::Object(fields)) = value else { return };
    if depth > 6 {
        return;
    }
    for (key, value) in fields {
        match value.as_str() {
            Some(path) if key == condition => found.push(path.trim_start_matches("./").to_owned()),
            _ => collect(Some(value), condition, found, depth + 1),
        }
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Code,
    Types,
}

/// Returns what a module exports.
fn module(path: &str, source: &str) -> Exports {
    let is_typed = [".ts", ".mts", ".cts"].iter().any(|ending| path.ends_with(ending));
    let language: Language = if is_typed {
        tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()
    } else {
        tree_sitter_javascript::LANGUAGE.into()
    };
    let Some(tree) = parse(&language, source) else { return Exports::default() };
    let (mut topics, mut whole, mut named) = (Vec::new(), Vec::new(), Vec::new());
    let kind = if path.contains(".d.") { Source::Types } else { Source::Code };
    let nodes = children(tree.root_node());
    for node in &nodes {
        statement(*node, source, kind, &mut topics);
        whole.extend(handed_on(*node, source));
        named.extend(handed_on_by_name(*node, source));
    }
    // What is declared here and exported by name further down is told of where it is declared.
    let mut declared = Vec::new();
    for node in nodes {
        declaration(node, source, &comment(node, source), &mut declared);
    }
    for topic in topics.iter_mut().filter(|topic| topic.usage.is_empty()) {
        if let Some(found) = declared.iter().find(|found| found.name == topic.name) {
            *topic = found.clone();
        }
    }
    Exports { topics, whole, named }
}

/// Returns the names of `export { a as b } from`, and of `exports.a = require(…)`, where they are of another file of the package.
fn handed_on_by_name(node: Node<'_>, source: &str) -> Vec<Named> {
    if let Some((left, from)) = required(node, source) {
        let alias = left.strip_prefix("module.exports.").or_else(|| left.strip_prefix("exports."));
        return alias
            .map(|alias| Named { from, name: "default".to_owned(), alias: alias.to_owned() })
            .into_iter()
            .collect();
    }
    let Some(from) =
        node.child_by_field_name("source").filter(|_| node.kind() == "export_statement")
    else {
        return Vec::new();
    };
    let from = text(from, source).trim_matches(['"', '\'', '`']).to_owned();
    if !from.starts_with('.') {
        return Vec::new();
    }
    let clauses = children(node).into_iter().filter(|inner| inner.kind() == "export_clause");
    let names = clauses.flat_map(children).filter_map(|one| {
        let name = one.child_by_field_name("name")?;
        let alias = one.child_by_field_name("alias").unwrap_or(name);
        let (name, alias) = (text(name, source).to_owned(), text(alias, source).to_owned());
        Some(Named { from: from.clone(), name, alias })
    });
    names.collect()
}

/// Returns what `x = require('./y')` assigns to, and the file.
fn required(node: Node<'_>, source: &str) -> Option<(String, String)> {
    let inner = node.named_child(0).filter(|_| node.kind() == "expression_statement")?;
    let left =
        inner.child_by_field_name("left").filter(|_| inner.kind() == "assignment_expression")?;
    let right = inner.child_by_field_name("right")?;
    let call =
        right.child_by_field_name("function").filter(|_| right.kind() == "call_expression")?;
    let argument = right.child_by_field_name("arguments")?.named_child(0)?;
    let from = text(argument, source).trim_matches(['"', '\'', '`']).to_owned();
    let is_own = text(call, source) == "require" && from.starts_with('.');
    is_own.then(|| (text(left, source).to_owned(), from))
}

/// Returns the module of `export * from`, and of `export { a } from`, where it is one of the package.
fn handed_on(node: Node<'_>, source: &str) -> Option<String> {
    if let Some((left, from)) = required(node, source) {
        return (left == "module.exports").then_some(from);
    }
    let from = node.child_by_field_name("source").filter(|_| node.kind() == "export_statement")?;
    let path = text(from, source).trim_matches(['"', '\'', '`']).to_owned();
    let is_whole = !children(node).iter().any(|inner| inner.kind() == "export_clause");
    (is_whole && path.starts_with('.')).then_some(path)
}

fn statement(node: Node<'_>, source: &str, kind: Source, topics: &mut Vec<Topic>) {
    match node.kind() {
        "export_statement" => {
            let comment = comment(node, source);
            if let Some(inner) = node.child_by_field_name("declaration") {
                declaration(inner, source, &comment, topics);
            } else if let Some(value) = node.child_by_field_name("value") {
                let usage = head(value, source);
                topics.push(topic("default", &comment, usage));
            } else {
                for clause in
                    children(node).into_iter().filter(|node| node.kind() == "export_clause")
                {
                    for name in children(clause) {
                        let shown =
                            name.child_by_field_name("alias").or(name.child_by_field_name("name"));
                        if let Some(shown) = shown {
                            topics.push(topic(text(shown, source), "", String::new()));
                        }
                    }
                }
            }
        }
        // What a file of types declares is exported by it, or told of by what is.
        "ambient_declaration" if kind == Source::Types => {
            let comment = comment(node, source);
            for inner in children(node) {
                declaration(inner, source, &comment, topics);
            }
        }
        // What another file exports is told of there.
        "expression_statement"
            if required(node, source).is_some_and(|(left, _)| left == "module.exports") => {}
        "expression_statement" => {
            let Some(inner) =
                node.named_child(0).filter(|inner| inner.kind() == "assignment_expression")
            else {
                return;
            };
            let (Some(left), Some(right)) =
                (inner.child_by_field_name("left"), inner.child_by_field_name("right"))
            else {
                return;
            };
            let name = text(left, source);
            let comment = comment(node, source);
            if let Some(name) =
                name.strip_prefix("module.exports.").or_else(|| name.strip_prefix("exports."))
            {
                topics.push(topic(name, &comment, head(right, source)));
            } else if name == "module.exports" && right.kind() == "object" {
                for pair in children(right) {
                    let key = pair.child_by_field_name("key").or(pair.child_by_field_name("name"));
                    let key = key.map_or_else(|| text(pair, source), |key| text(key, source));
                    topics.push(topic(key, "", String::new()));
                }
            } else if name == "module.exports" {
                topics.push(topic("default", &comment, head(right, source)));
            }
        }
        _ => {}
    }
}

fn declaration(node: Node<'_>, source: &str, comment: &str, topics: &mut Vec<Topic>) {
    match node.kind() {
        "lexical_declaration" | "variable_declaration" => {
            for one in children(node).into_iter().filter(|one| one.kind() == "variable_declarator")
            {
                if let Some(name) = one.child_by_field_name("name") {
                    topics.push(topic(text(name, source), comment, head(one, source)));
                }
            }
        }
        "ambient_declaration" => {
            children(node)
                .into_iter()
                .for_each(|inner| declaration(inner, source, comment, topics));
        }
        "internal_module" | "module" | "statement_block" => {
            let body = node.child_by_field_name("body").unwrap_or(node);
            for inner in children(body) {
                statement(inner, source, Source::Types, topics);
            }
        }
        "class_declaration" | "abstract_class_declaration" | "interface_declaration" => {
            let Some(name) = node.child_by_field_name("name") else { return };
            let class = text(name, source);
            topics.push(topic(class, comment, head(node, source)));
            let body = node.child_by_field_name("body").map(children).unwrap_or_default();
            topics
                .extend(body.into_iter().filter_map(|member| self::member(class, member, source)));
        }
        "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "type_alias_declaration"
        | "enum_declaration" => {
            if let Some(name) = node.child_by_field_name("name") {
                topics.push(topic(text(name, source), comment, head(node, source)));
            }
        }
        _ => {}
    }
}

/// Returns a member of a class or an interface that others may use and that says something of itself.
fn member(class: &str, node: Node<'_>, source: &str) -> Option<Topic> {
    let is_method = matches!(
        node.kind(),
        "method_definition" | "method_signature" | "abstract_method_signature"
    );
    let is_field = matches!(
        node.kind(),
        "public_field_definition" | "property_signature" | "field_definition"
    );
    if !is_method && !is_field {
        return None;
    }
    let name = text(node.child_by_field_name("name")?, source);
    let usage = head(node, source);
    let is_hidden = name.starts_with(['_', '#', '[']) || usage.starts_with("private ");
    let comment = comment(node, source);
    // A field without a word about it is told of by its class.
    if is_hidden || (is_field && comment.is_empty()) {
        return None;
    }
    Some(topic(&format!("{class}.{name}"), &comment, usage))
}

/// Returns the comment before a statement.
fn comment(node: Node<'_>, source: &str) -> String {
    let before = node.prev_named_sibling().filter(|before| before.kind() == "comment");
    let written = before.map_or("", |before| text(before, source));
    let Some(written) = written.strip_prefix("/**") else { return String::new() };
    let lines = written.trim_end_matches("*/").lines();
    let plain = lines.map(|line| line.trim().trim_start_matches('*').trim_start_matches(' '));
    let plain = plain.collect::<Vec<_>>().join("\n").trim().to_owned();
    // All of it may stand on one line.
    ["@param", "@return"]
        .iter()
        .fold(plain, |text, tag| text.replace(&format!(" {tag}"), &format!("\n{tag}")))
}

fn topic(name: &str, comment: &str, usage: String) -> Topic {
    let (mut said, mut arguments, mut value) = (Vec::new(), Vec::<Argument>::new(), String::new());
    let mut is_other = false;
    for line in comment.lines() {
        if let Some(rest) = line.strip_prefix("@param") {
            let rest = rest.trim();
            let rest = if rest.starts_with('{') {
                rest.split_once('}').map_or(rest, |(_, rest)| rest)
            } else {
                rest
            };
            let (name, text) =
                rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            let text = text.trim().trim_start_matches('-').trim().to_owned();
            arguments.push(Argument { name: name.trim_matches(['[', ']']).to_owned(), text });
            is_other = true;
        } else if let Some(rest) =
            line.strip_prefix("@returns").or_else(|| line.strip_prefix("@return"))
        {
            value = rest.trim().to_owned();
            is_other = true;
        } else if line.starts_with('@') {
            is_other = true;
        } else if !is_other {
            said.push(line);
        } else if let Some(last) = arguments.last_mut().filter(|_| value.is_empty()) {
            last.text = format!("{} {}", last.text, line.trim()).trim().to_owned();
        }
    }
    let description = said.join("\n").trim().to_owned();
    let title = first_sentence(&description);
    let title = if title.is_empty() { usage.clone() } else { title };
    let title = if title.is_empty() { "exported".to_owned() } else { title };
    Topic {
        name: name.trim_matches(['"', '\'']).to_owned(),
        title,
        usage,
        description,
        arguments,
        value,
        ..Topic::default()
    }
}
