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
    let tops = Tops::find(files, &name);
    let topics = exported(files, &tops);
    let body = written.split_once("\n\n").map(|(_, body)| paragraph(body)).unwrap_or_default();
    let title = get("Summary", "description").unwrap_or_else(|| first_sentence(&body));
    Ok(Library {
        kind: Kind::Python,
        version: get("Version", "version").unwrap_or_else(|| "0".to_owned()),
        license: field(&written, "License-Expression").or_else(|| field(&written, "License")),
        title,
        description: body,
        modules: modules(files, &tops).first().map(|path| package_of(path)).into_iter().collect(),
        unread: Vec::new(),
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

/// The packages and modules that an installer puts where others import them.
enum Tops {
    /// These alone.
    Only(BTreeSet<String>),
    /// Whatever is there: an installer put it there.
    Any,
}

impl Tops {
    /// Finds out what a package installs: by what was written when it was built, by its settings, by its name, by where it is.
    fn find(files: &Files, name: &str) -> Self {
        let listed = files.paths().find(|path| path.ends_with("top_level.txt"));
        let listed = listed.and_then(|path| files.text(path)).unwrap_or_default();
        let listed: BTreeSet<String> = listed
            .lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        if !listed.is_empty() {
            return Self::Only(listed);
        }
        let is_installed = files.paths().any(|path| {
            path.rsplit_once('/')
                .is_some_and(|(folder, name)| name == "METADATA" && folder.ends_with(".dist-info"))
        });
        if is_installed {
            return Self::Any;
        }
        let named = configured(files);
        if !named.is_empty() {
            return Self::Only(named);
        }
        let inner = |path: &str| path.strip_prefix("src/").unwrap_or(path).to_owned();
        let tops: BTreeSet<String> = files
            .paths()
            .filter(|path| path.ends_with(".py"))
            .map(|path| top_of(&inner(path)).to_owned())
            .collect();
        // `foo-bar` and `Foo.Bar` are imported as `foo_bar` or `foo`.
        let usual = name.to_lowercase().replace(['-', '.'], "_");
        let first =
            name.to_lowercase().split(['-', '.', '_']).next().unwrap_or_default().to_owned();
        for wanted in [usual, first] {
            if let Some(found) = tops.iter().find(|top| top.to_lowercase() == wanted) {
                return Self::Only(BTreeSet::from([found.clone()]));
            }
        }
        let in_src = files.paths().filter_map(|path| path.strip_prefix("src/"));
        let in_src: BTreeSet<String> = in_src
            .filter(|path| path.ends_with(".py"))
            .map(|path| top_of(path).to_owned())
            .collect();
        if !in_src.is_empty() {
            return Self::Only(in_src);
        }
        let packages = files.paths().filter_map(|path| path.strip_suffix("/__init__.py"));
        let is_beside = |top: &str| {
            matches!(
                top,
                "docs"
                    | "doc"
                    | "examples"
                    | "bench"
                    | "benchmarks"
                    | "scripts"
                    | "tools"
                    | "build"
            )
        };
        let packages = packages.filter(|path| !path.contains('/') && !is_beside(path));
        Self::Only(packages.map(str::to_owned).collect())
    }

    /// Returns true for a file of one of them.
    fn has(&self, path: &str) -> bool {
        match self {
            Self::Only(tops) => tops.contains(top_of(path)),
            Self::Any => true,
        }
    }
}

/// Returns the package or module that a file belongs to.
fn top_of(path: &str) -> &str {
    let top = path.split('/').next().unwrap_or(path);
    top.strip_suffix(".py").unwrap_or(top)
}

/// Returns what the settings of a builder say is installed.
fn configured(files: &Files) -> BTreeSet<String> {
    let table: toml::Table =
        files.text("pyproject.toml").and_then(|text| text.parse().ok()).unwrap_or_default();
    let at = |keys: &[&str]| {
        let mut value = table.get("tool")?;
        for key in keys {
            value = value.get(key)?;
        }
        Some(value.clone())
    };
    let mut found = BTreeSet::new();
    let mut take = |text: &str| {
        let text = text.trim_start_matches("./");
        let text = text.strip_prefix("src/").unwrap_or(text);
        let top = text.split(['/', '.']).next().unwrap_or(text);
        if !top.is_empty() {
            found.insert(top.to_owned());
        }
    };
    for keys in [
        &["setuptools", "packages"][..],
        &["setuptools", "py-modules"],
        &["hatch", "build", "targets", "wheel", "packages"],
        &["poetry", "packages"],
    ] {
        for item in at(keys).as_ref().and_then(toml::Value::as_array).into_iter().flatten() {
            let named = item.get("include").or(Some(item)).and_then(toml::Value::as_str);
            named.into_iter().for_each(&mut take);
        }
    }
    if let Some(name) = at(&["flit", "module", "name"]) {
        name.as_str().into_iter().for_each(&mut take);
    }
    found
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
fn exported(files: &Files, tops: &Tops) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    let sources: Vec<(&str, String)> = code(files, tops)
        .into_iter()
        .map(|path| (path, files.text(path).unwrap_or_default()))
        .collect();
    for (path, source) in &sources {
        topics.extend(module_topics(&module_name(path), source));
    }
    let public: BTreeSet<String> = modules(files, tops).into_iter().map(module_name).collect();
    let is_init = |path: &str| path.ends_with("__init__.py");
    for (path, source) in sources.iter().filter(|(path, _)| is_init(path)) {
        let package = module_name(path);
        if !public.contains(&package) {
            continue;
        }
        for Import { from, name, alias } in imports(&package, source) {
            if name == "*" {
                hand_on_all(&mut topics, &from, &package);
                continue;
            }
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

/// Gives everything of a module that has no `_` the name of the package that hands it on whole.
fn hand_on_all(topics: &mut [Topic], from: &str, package: &str) {
    let inside = format!("{from}.");
    for topic in topics {
        let Some(rest) = topic.name.strip_prefix(&inside) else { continue };
        let is_direct = rest.split('.').next().is_some_and(|name| !name.starts_with('_'));
        if is_direct && package.matches('.').count() <= from.matches('.').count() {
            topic.name = format!("{package}.{rest}");
        }
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
        if children(node).iter().any(|inner| inner.kind() == "wildcard_import") && listed.is_none()
        {
            let all = || "*".to_owned();
            found.push(Import { from: from.clone(), name: all(), alias: all() });
        }
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
fn modules<'a>(files: &'a Files, tops: &Tops) -> Vec<&'a str> {
    let is_hidden = |path: &&str| {
        path.trim_end_matches(".py")
            .split('/')
            .any(|part| part.starts_with('_') && part != "__init__")
    };
    code(files, tops).into_iter().filter(|path| !is_hidden(path)).collect()
}

/// Returns all modules of a package: those that an installer would install, and not what its developers have beside them.
fn code<'a>(files: &'a Files, tops: &Tops) -> Vec<&'a str> {
    let is_one = |path: &&str| {
        let inner = path.strip_prefix("src/").unwrap_or(path);
        let is_test = inner.split('/').any(|part| part.starts_with("test"));
        path.ends_with(".py") && !is_test && tops.has(inner)
    };
    files.paths().filter(is_one).collect()
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
    let (description, mut arguments, value) = sections(&doc);
    let mut usage = head(node, source);
    if let Some((call, more)) = constructor(name, node, source) {
        usage = format!("{usage}\n{call}");
        // A class may say what it takes itself, or leave that to the function that makes it.
        if arguments.is_empty() {
            arguments = more;
        }
    }
    let title = first_sentence(&description);
    Some(Topic {
        name: format!("{module}.{name}"),
        title: if title.is_empty() { head(node, source) } else { title },
        usage,
        description,
        arguments,
        value,
        ..Topic::default()
    })
}

/// Returns how an object of a class is made, and what is said of what that takes: by its `__init__`, or by the fields of a data class.
fn constructor(name: &str, node: Node<'_>, source: &str) -> Option<(String, Vec<Argument>)> {
    if node.kind() != "class_definition" {
        return None;
    }
    let body = children(node.child_by_field_name("body")?);
    let functions =
        body.iter().map(|inner| inner.child_by_field_name("definition").unwrap_or(*inner));
    let is_init = |inner: &Node<'_>| {
        let name =
            inner.child_by_field_name("name").filter(|_| inner.kind() == "function_definition");
        name.is_some_and(|name| text(name, source) == "__init__")
    };
    if let Some(init) = functions.into_iter().find(is_init) {
        let taken = children(init.child_by_field_name("parameters")?);
        let taken: Vec<String> =
            taken.into_iter().skip(1).map(|one| one_line(text(one, source))).collect();
        let (_, arguments, _) = sections(&docstring(init, source));
        return Some((format!("{name}({})", taken.join(", ")), arguments));
    }
    let around = node.parent().filter(|around| around.kind() == "decorated_definition")?;
    let is_data = children(around)
        .iter()
        .any(|one| one.kind() == "decorator" && text(*one, source).contains("dataclass"));
    let fields = body.iter().filter_map(|inner| {
        let field = inner.named_child(0).filter(|field| field.kind() == "assignment")?;
        field.child_by_field_name("type")?;
        Some(one_line(text(field, source)))
    });
    is_data.then(|| (format!("{name}({})", fields.collect::<Vec<_>>().join(", ")), Vec::new()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
