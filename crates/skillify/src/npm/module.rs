//! One module: what it declares, takes from others, and exports.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::{Language, Node};

use crate::syntax::{children, parse, text};

use super::common;
use super::declared::{Declared, bound, declared, value};
use super::entries::is_typed;
use super::jsdoc::comment;

/// What a module exports, and what its names mean.
#[derive(Default)]
pub(super) struct Module {
    pub locals: BTreeMap<String, Vec<Local>>,
    pub exports: BTreeMap<String, Local>,
    /// Modules of which everything but the default is exported: `export *`.
    pub stars: Vec<String>,
    /// Modules that it is the same as: `module.exports = require(...)`.
    pub same: Vec<String>,
    /// What it exports in a form that is not read.
    pub unread: BTreeSet<String>,
}

/// What a name means in a module.
#[derive(Debug, Clone)]
pub(super) enum Local {
    Declared(Declared),
    /// Another name of the module.
    Name(String),
    /// A name of another module; `default` too.
    Imported {
        from: String,
        name: String,
    },
    /// All that another module exports, as an object.
    Namespace {
        from: String,
    },
    /// What `require` gives: an object of exports, or the one value that a module is.
    Required {
        from: String,
    },
    /// A property of another name.
    Property {
        of: String,
        name: String,
    },
    /// An object that is written out.
    Object(Vec<(String, Local)>),
}

impl Module {
    /// Reads a module.
    pub(super) fn read(path: &str, source: &str) -> Self {
        let language: Language = if is_typed(path) {
            tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()
        } else {
            tree_sitter_javascript::LANGUAGE.into()
        };
        let mut module = Self::default();
        let Some(tree) = parse(&language, source) else {
            module.unread.insert(format!("`{path}` is too large to be read."));
            return module;
        };
        let nodes = children(tree.root_node());
        nodes.iter().for_each(|node| module.names(*node, source));
        nodes.iter().for_each(|node| module.statement(*node, path, source));
        // A file of types that exports nothing by name exports what it declares.
        let is_marked =
            |node: &&Node<'_>| matches!(node.kind(), "export_statement" | "import_statement");
        if path.contains(".d.") && !nodes.iter().any(|node| is_marked(&node)) {
            for node in nodes.iter().filter(|node| node.kind() == "ambient_declaration") {
                for one in declared(*node, source, "") {
                    module.exports.insert(one.name.clone(), Local::Name(one.name));
                }
            }
        }
        module
    }

    /// Learns the names that a statement declares or imports.
    fn names(&mut self, node: Node<'_>, source: &str) {
        let inner = match node.kind() {
            "export_statement" => node.child_by_field_name("declaration").unwrap_or(node),
            _ => node,
        };
        match inner.kind() {
            "import_statement" => self.imported(inner, source),
            "lexical_declaration" | "variable_declaration" => {
                let said = comment(node, source);
                for one in children(inner) {
                    self.variable(one, source);
                }
                declared(inner, source, &said).into_iter().for_each(|one| self.declare(one));
            }
            _ => {
                let said = comment(node, source);
                declared(inner, source, &said).into_iter().for_each(|one| self.declare(one));
            }
        }
    }

    fn declare(&mut self, one: Declared) {
        let there = self.locals.entry(one.name.clone()).or_default();
        // A name that comes from elsewhere is described there.
        if !there.iter().any(|local| !matches!(local, Local::Declared(_))) {
            there.push(Local::Declared(one));
        }
    }

    /// Learns a variable that has its value from another module, or is an object.
    fn variable(&mut self, node: Node<'_>, source: &str) {
        let (Some(name), Some(value)) =
            (node.child_by_field_name("name"), node.child_by_field_name("value"))
        else {
            return;
        };
        if name.kind() == "identifier" {
            let local = common::meaning(value, source, "");
            if !matches!(local, Local::Declared(_)) {
                self.locals.insert(text(name, source).to_owned(), vec![local]);
            }
        } else if let Some(from) = common::required(value, source) {
            for (name, alias) in bound(name, source) {
                self.locals.insert(alias, vec![Local::Imported { from: from.clone(), name }]);
            }
        }
    }

    fn imported(&mut self, node: Node<'_>, source: &str) {
        let Some(from) = node.child_by_field_name("source") else { return };
        let from = unquoted(text(from, source));
        let clause = children(node).into_iter().filter(|inner| inner.kind() == "import_clause");
        for one in clause.flat_map(children) {
            match one.kind() {
                "identifier" => {
                    let name = "default".to_owned();
                    let local = Local::Imported { from: from.clone(), name };
                    self.locals.insert(text(one, source).to_owned(), vec![local]);
                }
                "namespace_import" => {
                    let name = one.named_child(0).map_or("", |name| text(name, source));
                    let local = Local::Namespace { from: from.clone() };
                    self.locals.insert(name.to_owned(), vec![local]);
                }
                "named_imports" => {
                    for (name, alias) in specifiers(one, source) {
                        let local = Local::Imported { from: from.clone(), name };
                        self.locals.insert(alias, vec![local]);
                    }
                }
                _ => {}
            }
        }
    }

    /// Learns what a statement exports.
    fn statement(&mut self, node: Node<'_>, path: &str, source: &str) {
        match node.kind() {
            "export_statement" => self.exported(node, source),
            // `declare module "name" { ... }` says what the package exports.
            "ambient_declaration" => {
                let modules = children(node).into_iter().filter(|inner| inner.kind() == "module");
                for inner in modules.filter_map(|inner| inner.child_by_field_name("body")) {
                    for inner in children(inner) {
                        self.names(inner, source);
                        self.statement(inner, path, source);
                    }
                }
            }
            // A build for each environment exports the same: the first branch stands for all.
            "if_statement" => {
                let before = (self.exports.len(), self.same.len());
                for key in ["consequence", "alternative"] {
                    let branch = node.child_by_field_name(key);
                    for inner in branch.map(children).unwrap_or_default() {
                        if before == (self.exports.len(), self.same.len()) || key == "consequence" {
                            self.statement(inner, path, source);
                        }
                    }
                }
            }
            // `const re = exports.re = []` exports, too.
            "lexical_declaration" | "variable_declaration" => {
                let values =
                    children(node).into_iter().filter_map(|one| one.child_by_field_name("value"));
                for value in values.filter(|value| value.kind() == "assignment_expression") {
                    common::Assignments { module: self, source, path, said: "" }.read(value);
                }
            }
            "expression_statement" => {
                if let Some(inner) = node.named_child(0) {
                    let said = comment(node, source);
                    common::Assignments { module: self, source, path, said: &said }.read(inner);
                }
            }
            _ => {}
        }
    }

    fn exported(&mut self, node: Node<'_>, source: &str) {
        let mut cursor = node.walk();
        let words: Vec<&str> = node
            .children(&mut cursor)
            .filter(|child| !child.is_named())
            .map(|child| child.kind())
            .collect();
        let said = comment(node, source);
        let from = node.child_by_field_name("source").map(|from| unquoted(text(from, source)));
        let inner = node.child_by_field_name("declaration");
        if words.contains(&"default") {
            let value = node.child_by_field_name("value");
            let local = match (inner, value) {
                (Some(inner), _) => {
                    let own = declared(inner, source, &said).into_iter().next();
                    let name = own.as_ref().map(|own| own.name.clone()).unwrap_or_default();
                    if name.is_empty() {
                        Local::Declared(self::value(inner, source, &said))
                    } else {
                        Local::Name(name)
                    }
                }
                (None, Some(value)) => match common::meaning(value, source, &said) {
                    Local::Object(_) => Local::Declared(self::value(value, source, &said)),
                    local => local,
                },
                (None, None) => return,
            };
            self.exports.insert("default".to_owned(), local);
        } else if let Some(inner) = inner {
            for one in declared(inner, source, &said) {
                self.exports.insert(one.name.clone(), Local::Name(one.name));
            }
        } else if words.contains(&"=") {
            let name = children(node).last().map_or("", |name| text(*name, source)).to_owned();
            self.is_value(&name);
        } else {
            self.clauses(node, source, from.as_deref());
        }
    }

    /// Learns that the module is one value: its members are exports, too.
    fn is_value(&mut self, name: &str) {
        for local in self.locals.get(name).cloned().unwrap_or_default() {
            let Local::Declared(one) = local else { continue };
            for member in one.members.iter().filter(|_| is_namespace(&one)) {
                let shown = member.name.clone();
                let lines = vec![(String::new(), member.usage.clone())];
                let said = member.description.clone();
                let one =
                    Declared { name: String::new(), lines, comment: said, members: Vec::new() };
                // The usage has the name in it already.
                if !shown.contains('.') {
                    self.exports.insert(shown, Local::Declared(one));
                }
            }
        }
        self.exports.insert("default".to_owned(), Local::Name(name.to_owned()));
    }

    fn clauses(&mut self, node: Node<'_>, source: &str, from: Option<&str>) {
        let mut is_star = from.is_some();
        for inner in children(node) {
            match (inner.kind(), from) {
                ("export_clause", _) => {
                    is_star = false;
                    for (name, alias) in specifiers(inner, source) {
                        // So a module says what `require` gives.
                        if alias == "module.exports" {
                            continue;
                        }
                        let local = match from {
                            Some(from) => Local::Imported { from: from.to_owned(), name },
                            None => Local::Name(name),
                        };
                        self.exports.insert(alias, local);
                    }
                }
                ("namespace_export", Some(from)) => {
                    is_star = false;
                    let name = inner.named_child(0).map_or("", |name| text(name, source));
                    let local = Local::Namespace { from: from.to_owned() };
                    self.exports.insert(unquoted(name), local);
                }
                _ => {}
            }
        }
        if let Some(from) = from.filter(|_| is_star) {
            self.stars.push(from.to_owned());
        }
    }
}

fn is_namespace(one: &Declared) -> bool {
    one.lines.iter().any(|(before, _)| before == "namespace ")
}

/// Returns the names of `{ a, b as c }`, each with the one that it gets.
fn specifiers(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let all = children(node).into_iter().filter_map(|one| {
        let name = one.child_by_field_name("name")?;
        let alias = one.child_by_field_name("alias").unwrap_or(name);
        Some((unquoted(text(name, source)), unquoted(text(alias, source))))
    });
    all.collect()
}

pub(super) fn unquoted(text: &str) -> String {
    text.trim_matches(['"', '\'', '`']).to_owned()
}
