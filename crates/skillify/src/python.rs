//! Packages of Python: functions and classes with their signatures and docstrings.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::library::first_sentence;
use crate::syntax::{children, head, parse, text};
use crate::{Argument, Files, Kind, Library, SkillifyError, Topic};

/// The most things that a bundle tells of.
const MOST: usize = 600;
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
    let topics = exported(files);
    let body = written.split_once("\n\n").map(|(_, body)| paragraph(body)).unwrap_or_default();
    let title = get("Summary", "description").unwrap_or_else(|| first_sentence(&body));
    Ok(Library {
        kind: Kind::Python,
        version: get("Version", "version").unwrap_or_else(|| "0".to_owned()),
        license: field(&written, "License-Expression").or_else(|| field(&written, "License")),
        title,
        description: body,
        module: modules(files).first().map(|path| package_of(path)),
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

/// Returns the package that a module is in, which is what others import.
fn package_of(path: &str) -> String {
    let name = module_name(path);
    name.split('.').next().unwrap_or(&name).to_owned()
}

/// Returns what a package exports. What a package hands on from one of its modules, however hidden that is, has the name that others import it by.
fn exported(files: &Files) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    let sources: Vec<(&str, String)> =
        code(files).into_iter().map(|path| (path, files.text(path).unwrap_or_default())).collect();
    for (path, source) in &sources {
        topics.extend(module_topics(&module_name(path), source));
    }
    let public: BTreeSet<String> = modules(files).into_iter().map(module_name).collect();
    let is_init = |path: &str| path.ends_with("__init__.py");
    for (path, source) in sources.iter().filter(|(path, _)| is_init(path)) {
        let package = module_name(path);
        if !public.contains(&package) {
            continue;
        }
        for Import { from, name, alias } in imports(&package, source) {
            let (old, new) = (format!("{from}.{name}"), format!("{package}.{alias}"));
            for topic in &mut topics {
                rename(topic, &old, &new);
            }
        }
    }
    // What stands in a hidden module and is handed on by nobody is nobody's business.
    let is_public = |topic: &Topic| {
        let parts: Vec<&str> = topic.name.split('.').collect();
        !parts.iter().any(|part| part.starts_with('_'))
    };
    topics.retain(is_public);
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    topics.dedup_by(|one, other| one.name == other.name);
    topics.truncate(MOST);
    topics
}

/// Gives a topic, or one inside of it, the shorter of its names.
fn rename(topic: &mut Topic, old: &str, new: &str) {
    let Some(rest) = topic.name.strip_prefix(old) else { return };
    let is_inside = rest.is_empty() || rest.starts_with('.');
    if is_inside && new.matches('.').count() <= old.matches('.').count() && old != new {
        topic.name = format!("{new}{rest}");
    }
}

/// A name that a package hands on.
struct Import {
    from: String,
    name: String,
    alias: String,
}

/// Returns what a package imports from its own modules and hands on: what `__all__` lists, or else every name without `_`.
fn imports(package: &str, source: &str) -> Vec<Import> {
    let language = tree_sitter_python::LANGUAGE.into();
    let Some(tree) = parse(&language, source) else { return Vec::new() };
    let listed = all_of(tree.root_node(), source);
    let mut found = Vec::new();
    for node in children(tree.root_node()) {
        if node.kind() != "import_from_statement" {
            continue;
        }
        let Some(module) = node.child_by_field_name("module_name") else { continue };
        let Some(from) = absolute(package, text(module, source)) else { continue };
        let mut cursor = node.walk();
        for one in node.children_by_field_name("name", &mut cursor) {
            let name = one.child_by_field_name("name").unwrap_or(one);
            let alias = one.child_by_field_name("alias").unwrap_or(name);
            let (name, alias) = (text(name, source).to_owned(), text(alias, source).to_owned());
            let is_meant = match &listed {
                Some(listed) => listed.contains(&alias),
                None => !alias.starts_with('_'),
            };
            if is_meant {
                found.push(Import { from: from.clone(), name, alias });
            }
        }
    }
    found
}

/// Returns the module that an import in a package means, where it is one of its own.
fn absolute(package: &str, module: &str) -> Option<String> {
    let dots = module.len() - module.trim_start_matches('.').len();
    let rest = module.trim_start_matches('.');
    if dots == 0 {
        let top = package.split('.').next().unwrap_or(package);
        let is_own = module == top || module.starts_with(&format!("{top}."));
        return is_own.then(|| module.to_owned());
    }
    let parts: Vec<&str> = package.split('.').collect();
    let around = parts.get(..parts.len().checked_sub(dots - 1)?)?.join(".");
    Some(if rest.is_empty() { around } else { format!("{around}.{rest}") })
}

/// Returns the names in `__all__`, where that is a plain list.
fn all_of(root: Node<'_>, source: &str) -> Option<BTreeSet<String>> {
    children(root).into_iter().find_map(|node| {
        let inner = node.named_child(0).filter(|inner| inner.kind() == "assignment")?;
        let left = inner.child_by_field_name("left")?;
        let right = inner.child_by_field_name("right")?;
        if text(left, source) != "__all__" || !matches!(right.kind(), "list" | "tuple") {
            return None;
        }
        let name = |item: Node<'_>| text(item, source).trim_matches(['"', '\'']).to_owned();
        Some(children(right).into_iter().filter(|item| item.kind() == "string").map(name).collect())
    })
}

/// Returns the modules that others may import.
fn modules(files: &Files) -> Vec<&str> {
    let is_hidden = |path: &&str| {
        path.trim_end_matches(".py")
            .split('/')
            .any(|part| part.starts_with('_') && part != "__init__")
    };
    code(files).into_iter().filter(|path| !is_hidden(path)).collect()
}

/// Returns all modules of a package.
fn code(files: &Files) -> Vec<&str> {
    let is_public = |path: &&str| {
        let is_code = path.ends_with(".py");
        let inner = path.strip_prefix("src/").unwrap_or(path);
        let is_script = matches!(inner, "setup.py" | "conftest.py")
            || inner.starts_with("docs/")
            || inner.starts_with("examples/");
        let is_test = inner.split('/').any(|part| part.starts_with("test"));
        is_code && !is_script && !is_test
    };
    files.paths().filter(is_public).collect()
}

fn module_name(path: &str) -> String {
    let path = path.strip_prefix("src/").unwrap_or(path);
    let path = path.trim_end_matches(".py").trim_end_matches("/__init__");
    path.replace('/', ".")
}

fn module_topics(module: &str, source: &str) -> Vec<Topic> {
    let language = tree_sitter_python::LANGUAGE.into();
    let Some(tree) = parse(&language, source) else { return Vec::new() };
    let mut topics = Vec::new();
    for node in children(tree.root_node()) {
        let node = if node.kind() == "decorated_definition" {
            node.child_by_field_name("definition").unwrap_or(node)
        } else {
            node
        };
        let Some(topic) = topic(module, node, source) else { continue };
        if node.kind() == "class_definition" {
            let inside = node.child_by_field_name("body").map(children).unwrap_or_default();
            let class = topic.name.clone();
            topics.push(topic);
            topics.extend(inside.into_iter().filter_map(|node| {
                let node = node.child_by_field_name("definition").unwrap_or(node);
                self::topic(&class, node, source)
            }));
        } else {
            topics.push(topic);
        }
    }
    topics
}

/// Returns a function or a class that is not hidden.
fn topic(module: &str, node: Node<'_>, source: &str) -> Option<Topic> {
    if !matches!(node.kind(), "function_definition" | "class_definition") {
        return None;
    }
    let name = text(node.child_by_field_name("name")?, source);
    if name.starts_with('_') {
        return None;
    }
    let doc = docstring(node, source);
    let (description, arguments, value) = sections(&doc);
    let title = first_sentence(&description);
    Some(Topic {
        name: format!("{module}.{name}"),
        title: if title.is_empty() { head(node, source) } else { title },
        usage: head(node, source),
        description,
        arguments,
        value,
        ..Topic::default()
    })
}

fn docstring(node: Node<'_>, source: &str) -> String {
    let found = node
        .child_by_field_name("body")
        .and_then(|body| body.named_child(0))
        .filter(|first| first.kind() == "expression_statement")
        .and_then(|first| first.named_child(0))
        .filter(|first| first.kind() == "string");
    let written = found.map_or("", |found| text(found, source));
    let plain = written.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']);
    let plain = plain.trim_matches('"').trim_matches('\'');
    let indent = plain
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let line = |(number, line): (usize, &str)| {
        if number == 0 {
            line.to_owned()
        } else {
            line.get(indent..).unwrap_or_default().to_owned()
        }
    };
    plain.lines().enumerate().map(line).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Splits a docstring into what it says, its arguments and its result: as Sphinx, Google and NumPy write them.
fn sections(doc: &str) -> (String, Vec<Argument>, String) {
    let (mut said, mut arguments, mut value) = (Vec::new(), Vec::<Argument>::new(), String::new());
    let mut place = Place::Text;
    let lines: Vec<&str> = doc.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let (plain, is_indented) = (line.trim(), line.starts_with([' ', '\t']));
        let is_underlined = lines.get(at + 1).is_some_and(|next| next.starts_with("---"));
        if let Some((name, text)) = sphinx(plain, &[":parameter", ":param", ":arg"]) {
            let name = name.split_whitespace().last().unwrap_or_default().replace('\\', "");
            arguments.push(Argument { name, text });
            place = Place::Argument;
            continue;
        }
        if let Some((_, text)) = sphinx(plain, &[":returns", ":return"]) {
            value = text;
            place = Place::Value;
            continue;
        }
        if plain.starts_with(':') && plain[1..].contains(':') {
            place = Place::Other;
            continue;
        }
        if !is_indented {
            let word = plain.trim_end_matches(':').to_lowercase();
            let is_head = plain.ends_with(':') || is_underlined;
            match word.as_str() {
                "args" | "arguments" | "parameters" | "params" if is_head => {
                    place = Place::Arguments(is_underlined);
                    continue;
                }
                "returns" | "return" | "yields" if is_head => {
                    place = Place::Value;
                    continue;
                }
                "raises" | "examples" | "example" | "notes" | "note" | "see also"
                | "references"
                    if is_head =>
                {
                    place = Place::Text;
                }
                _ => {}
            }
        }
        match place {
            Place::Other => {}
            Place::Text => said.push(*line),
            Place::Value if plain.starts_with("---") => {}
            Place::Value => {
                value.push(' ');
                value.push_str(plain);
            }
            Place::Argument => {
                if let Some(last) = arguments.last_mut() {
                    last.text = format!("{} {plain}", last.text).trim().to_owned();
                }
            }
            Place::Arguments(_) if plain.is_empty() || plain.starts_with("---") => {}
            // NumPy writes names at the margin, Google with a colon after them.
            Place::Arguments(true) if !is_indented => {
                let (name, kind) = plain.split_once(':').unwrap_or((plain, ""));
                arguments
                    .push(Argument { name: name.trim().to_owned(), text: kind.trim().to_owned() });
            }
            Place::Arguments(false) if !is_indented => {
                place = Place::Text;
                said.push(line);
            }
            Place::Arguments(is_numpy) => {
                let named = (!is_numpy).then(|| google(plain)).flatten();
                match (named, arguments.last_mut()) {
                    (Some(argument), _) => arguments.push(argument),
                    (None, Some(last)) => {
                        last.text = format!("{} {plain}", last.text).trim().to_owned();
                    }
                    (None, None) => {}
                }
            }
        }
    }
    (said.join("\n").trim().to_owned(), arguments, value.trim().to_owned())
}

enum Place {
    Text,
    /// Of one argument, as Sphinx writes them.
    Argument,
    /// Of all of them; true as NumPy writes them.
    Arguments(bool),
    Value,
    Other,
}

fn sphinx(line: &str, words: &[&str]) -> Option<(String, String)> {
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    let (name, text) = rest.split_once(':')?;
    let is_word = name.is_empty() || name.starts_with(' ');
    is_word.then(|| (name.trim().to_owned(), text.trim().to_owned()))
}

fn google(line: &str) -> Option<Argument> {
    let (name, text) = line.split_once(':')?;
    let name = name.split('(').next().unwrap_or(name).trim();
    let is_name = !name.is_empty()
        && name.trim_start_matches('*').chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| Argument { name: name.to_owned(), text: text.trim().to_owned() })
}
