//! Parses a module: its declarations, imports and exports.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::{Language, Node};

use crate::syntax::{children, parse, text};

use super::common;
use super::declared::{Declared, bound, declared, value};
use super::entries::is_typed;
use super::jsdoc::comment;

/// The exports of a module, and the bindings of its names.
#[derive(Default)]
pub(super) struct Module {
    pub bindings: BTreeMap<String, Vec<Binding>>,
    pub exports: BTreeMap<String, Binding>,
    /// Modules from which everything but the default is re-exported: `export *`.
    pub stars: Vec<String>,
    /// Modules whose exports it takes over: `module.exports = require(...)`.
    pub replaced_by: Vec<String>,
    /// Notes on exports that cannot be read.
    pub unread: BTreeSet<String>,
}

/// What a name in a module refers to.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    Declared(Declared),
    /// Another name of the same module.
    Name(String),
    /// An export of another module, which may be `default`.
    Imported {
        from: String,
        name: String,
    },
    /// All exports of another module, as an object.
    Namespace {
        from: String,
    },
    /// The result of `require`: an object of exports, or a single value.
    Required {
        from: String,
    },
    /// A property of what another name refers to.
    Property {
        of: String,
        name: String,
    },
    /// An object literal.
    Object(Vec<(String, Binding)>),
}

impl Module {
    /// Parses a module.
    pub(super) fn read(path: &str, source: &str) -> Self {
        let language: Language = if is_typed(path) {
            tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()
        } else {
            tree_sitter_javascript::LANGUAGE.into()
        };
        let mut module = Self::default();
        let Some(tree) = parse(&language, source) else {
            module.unread.insert(format!("`{path}` is too large."));
            return module;
        };
        let nodes = children(tree.root_node());
        nodes.iter().for_each(|node| module.names(*node, source));
        nodes.iter().for_each(|node| module.statement(*node, path, source));
        // A declaration file without an export or import statement exports everything that it declares.
        let is_export_or_import =
            |node: &&Node<'_>| matches!(node.kind(), "export_statement" | "import_statement");
        if path.contains(".d.") && !nodes.iter().any(|node| is_export_or_import(&node)) {
            for node in nodes.iter().filter(|node| node.kind() == "ambient_declaration") {
                for one in declared(*node, source, "") {
                    module.exports.insert(one.name.clone(), Binding::Name(one.name));
                }
            }
        }
        module
    }

    /// Records the names that a statement declares or imports.
    fn names(&mut self, node: Node<'_>, source: &str) {
        let inner = match node.kind() {
            "export_statement" => node.child_by_field_name("declaration").unwrap_or(node),
            _ => node,
        };
        match inner.kind() {
            "import_statement" => self.imported(inner, source),
            "lexical_declaration" | "variable_declaration" => {
                let doc = comment(node, source);
                for one in children(inner) {
                    self.variable(one, source);
                }
                declared(inner, source, &doc).into_iter().for_each(|one| self.declare(one));
            }
            _ => {
                let doc = comment(node, source);
                declared(inner, source, &doc).into_iter().for_each(|one| self.declare(one));
            }
        }
    }

    fn declare(&mut self, one: Declared) {
        let known = self.bindings.entry(one.name.clone()).or_default();
        // An imported name is described in its own module.
        if !known.iter().any(|binding| !matches!(binding, Binding::Declared(_))) {
            known.push(Binding::Declared(one));
        }
    }

    /// Records a variable whose value comes from another module or is an object.
    fn variable(&mut self, node: Node<'_>, source: &str) {
        let (Some(name), Some(value)) =
            (node.child_by_field_name("name"), node.child_by_field_name("value"))
        else {
            return;
        };
        if name.kind() == "identifier" {
            let binding = common::meaning(value, source, "");
            if !matches!(binding, Binding::Declared(_)) {
                self.bindings.insert(text(name, source).to_owned(), vec![binding]);
            }
        } else if let Some(from) = common::required(value, source) {
            for (name, alias) in bound(name, source) {
                self.bindings.insert(alias, vec![Binding::Imported { from: from.clone(), name }]);
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
                    let binding = Binding::Imported { from: from.clone(), name };
                    self.bindings.insert(text(one, source).to_owned(), vec![binding]);
                }
                "namespace_import" => {
                    let name = one.named_child(0).map_or("", |name| text(name, source));
                    let binding = Binding::Namespace { from: from.clone() };
                    self.bindings.insert(name.to_owned(), vec![binding]);
                }
                "named_imports" => {
                    for (name, alias) in specifiers(one, source) {
                        let binding = Binding::Imported { from: from.clone(), name };
                        self.bindings.insert(alias, vec![binding]);
                    }
                }
                _ => {}
            }
        }
    }

    /// Records the exports of a statement.
    fn statement(&mut self, node: Node<'_>, path: &str, source: &str) {
        match node.kind() {
            "export_statement" => self.exported(node, source),
            // `declare module "name" { ... }` contains the exports of the package.
            "ambient_declaration" => {
                let modules = children(node).into_iter().filter(|inner| inner.kind() == "module");
                for inner in modules.filter_map(|inner| inner.child_by_field_name("body")) {
                    for inner in children(inner) {
                        self.names(inner, source);
                        self.statement(inner, path, source);
                    }
                }
            }
            // Builds for different environments have the same exports, so the first branch is enough.
            "if_statement" => {
                let before = (self.exports.len(), self.replaced_by.len());
                for key in ["consequence", "alternative"] {
                    let branch = node.child_by_field_name(key);
                    for inner in branch.map(children).unwrap_or_default() {
                        if before == (self.exports.len(), self.replaced_by.len())
                            || key == "consequence"
                        {
                            self.statement(inner, path, source);
                        }
                    }
                }
            }
            // `const re = exports.re = []` also exports.
            "lexical_declaration" | "variable_declaration" => {
                let values =
                    children(node).into_iter().filter_map(|one| one.child_by_field_name("value"));
                for value in values.filter(|value| value.kind() == "assignment_expression") {
                    common::Assignments { module: self, source, path, doc: "" }.read(value);
                }
            }
            "expression_statement" => {
                if let Some(inner) = node.named_child(0) {
                    let doc = comment(node, source);
                    common::Assignments { module: self, source, path, doc: &doc }.read(inner);
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
        let doc = comment(node, source);
        let from = node.child_by_field_name("source").map(|from| unquoted(text(from, source)));
        let inner = node.child_by_field_name("declaration");
        if words.contains(&"default") {
            let value = node.child_by_field_name("value");
            let binding = match (inner, value) {
                (Some(inner), _) => {
                    let own = declared(inner, source, &doc).into_iter().next();
                    let name = own.as_ref().map(|own| own.name.clone()).unwrap_or_default();
                    if name.is_empty() {
                        Binding::Declared(self::value(inner, source, &doc))
                    } else {
                        Binding::Name(name)
                    }
                }
                (None, Some(value)) => match common::meaning(value, source, &doc) {
                    Binding::Object(_) => Binding::Declared(self::value(value, source, &doc)),
                    binding => binding,
                },
                (None, None) => return,
            };
            self.exports.insert("default".to_owned(), binding);
        } else if let Some(inner) = inner {
            for one in declared(inner, source, &doc) {
                self.exports.insert(one.name.clone(), Binding::Name(one.name));
            }
        } else if words.contains(&"=") {
            let name = children(node).last().map_or("", |name| text(*name, source)).to_owned();
            self.export_value(&name);
        } else {
            self.clauses(node, source, from.as_deref());
        }
    }

    /// Records `export = name`: the members of a namespace are exports, too.
    fn export_value(&mut self, name: &str) {
        for binding in self.bindings.get(name).cloned().unwrap_or_default() {
            let Binding::Declared(one) = binding else { continue };
            for member in one.members.iter().filter(|_| is_namespace(&one)) {
                let shown = member.name.clone();
                let lines = vec![(String::new(), member.usage.clone())];
                let doc = member.description.clone();
                let one =
                    Declared { name: String::new(), lines, comment: doc, members: Vec::new() };
                // The usage already contains the name.
                if !shown.contains('.') {
                    self.exports.insert(shown, Binding::Declared(one));
                }
            }
        }
        self.exports.insert("default".to_owned(), Binding::Name(name.to_owned()));
    }

    fn clauses(&mut self, node: Node<'_>, source: &str, from: Option<&str>) {
        let mut is_star = from.is_some();
        for inner in children(node) {
            match (inner.kind(), from) {
                ("export_clause", _) => {
                    is_star = false;
                    for (name, alias) in specifiers(inner, source) {
                        // This form defines the result of `require`.
                        if alias == "module.exports" {
                            continue;
                        }
                        let binding = match from {
                            Some(from) => Binding::Imported { from: from.to_owned(), name },
                            None => Binding::Name(name),
                        };
                        self.exports.insert(alias, binding);
                    }
                }
                ("namespace_export", Some(from)) => {
                    is_star = false;
                    let name = inner.named_child(0).map_or("", |name| text(name, source));
                    let binding = Binding::Namespace { from: from.to_owned() };
                    self.exports.insert(unquoted(name), binding);
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

/// Returns the names of `{ a, b as c }` as pairs of name and alias.
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
