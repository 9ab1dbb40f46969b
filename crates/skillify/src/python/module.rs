//! Parses a module: the bindings of its names, and its `__all__`.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::syntax::{children, parse, text};

use super::definition::{Class, Definition};

/// A parsed module.
#[derive(Default)]
pub(super) struct Module {
    /// The bindings of its names; a later binding replaces an earlier one.
    pub names: BTreeMap<String, Binding>,
    /// Modules from which it imports `*`.
    pub stars: Vec<String>,
    /// The names in `__all__`; `None` if there is no such list.
    pub all: Option<BTreeSet<String>>,
    /// `__all__` is computed in a way that cannot be read, so names may be missing.
    pub is_all_unread: bool,
}

/// What a name in a module refers to.
#[derive(Clone)]
pub(super) enum Binding {
    Function(Box<Definition>),
    Class(Box<Class>),
    /// A name in another module, or a submodule.
    Imported {
        module: String,
        name: String,
    },
    /// A module, or its top-level package.
    Module(String),
    /// An alias of another name: `a = b`, `a = b.c`.
    Alias(Vec<String>),
    /// Any other value.
    Other,
}

impl Module {
    /// Parses a module. Relative imports start at `package`.
    pub(super) fn read(package: &str, source: &str) -> Self {
        let language = tree_sitter_python::LANGUAGE.into();
        let mut module = Self::default();
        if let Some(tree) = parse(&language, source) {
            module.block(&children(tree.root_node()), package, source);
        }
        module
    }

    fn block(&mut self, nodes: &[Node<'_>], package: &str, source: &str) {
        for node in nodes {
            self.statement(*node, package, source);
        }
    }

    fn statement(&mut self, node: Node<'_>, package: &str, source: &str) {
        match node.kind() {
            "function_definition" | "class_definition" | "decorated_definition" => {
                if let Some((name, binding)) = defined(node, source) {
                    self.names.insert(name, binding);
                }
            }
            "import_from_statement" => self.imported_from(node, package, source),
            "import_statement" => self.imported(node, source),
            "expression_statement" => {
                children(node).into_iter().for_each(|inner| self.expression(inner, source));
            }
            "delete_statement" => {
                let mut open = children(node);
                while let Some(one) = open.pop() {
                    if one.kind() == "identifier" {
                        self.names.remove(text(one, source));
                    }
                    open.extend(children(one));
                }
            }
            "with_statement" => {
                let body = node.child_by_field_name("body").map(children).unwrap_or_default();
                self.block(&body, package, source);
            }
            "if_statement" => self.branches(node, package, source),
            "try_statement" => self.attempt(node, package, source),
            _ => {}
        }
    }

    /// Records the names that every branch of an `if` defines. Other names may not exist, depending on the branch.
    fn branches(&mut self, node: Node<'_>, package: &str, source: &str) {
        let condition = node.child_by_field_name("condition").map_or("", |it| text(it, source));
        let mut blocks = vec![node.child_by_field_name("consequence")];
        let mut has_else = false;
        let mut cursor = node.walk();
        for other in node.children_by_field_name("alternative", &mut cursor) {
            has_else |= other.kind() == "else_clause";
            let body = other.child_by_field_name("consequence");
            blocks.push(body.or_else(|| other.child_by_field_name("body")));
        }
        // The branch for type checkers never runs.
        if condition.ends_with("TYPE_CHECKING") && !condition.starts_with("not") {
            blocks.remove(0);
        } else if !has_else {
            return;
        }
        let mut read = blocks.into_iter().flatten().map(|block| {
            let mut module = Self::default();
            module.block(&children(block), package, source);
            module
        });
        let Some(first) = read.next() else { return };
        let others: Vec<Self> = read.collect();
        let in_all = |name: &String| others.iter().all(|other| other.names.contains_key(name));
        self.names.extend(first.names.into_iter().filter(|(name, _)| in_all(name)));
        let is_star = |star: &String| others.iter().all(|other| other.stars.contains(star));
        self.stars.extend(first.stars.into_iter().filter(is_star));
    }

    /// Records the names that `try` or any `except` defines.
    fn attempt(&mut self, node: Node<'_>, package: &str, source: &str) {
        let mut tried = Self::default();
        let body = node.child_by_field_name("body").map(children).unwrap_or_default();
        tried.block(&body, package, source);
        for clause in children(node).into_iter().filter(|one| one.kind() == "except_clause") {
            let mut other = Self::default();
            for block in children(clause).into_iter().filter(|one| one.kind() == "block") {
                other.block(&children(block), package, source);
            }
            for (name, binding) in other.names {
                tried.names.entry(name).or_insert(binding);
            }
        }
        self.names.extend(tried.names);
        self.stars.extend(tried.stars);
    }

    fn imported_from(&mut self, node: Node<'_>, package: &str, source: &str) {
        let Some(from) = node.child_by_field_name("module_name") else { return };
        let Some(from) = absolute(package, text(from, source)) else { return };
        if children(node).iter().any(|inner| inner.kind() == "wildcard_import") {
            self.stars.push(from);
            return;
        }
        let mut cursor = node.walk();
        for one in node.children_by_field_name("name", &mut cursor) {
            let name = one.child_by_field_name("name").unwrap_or(one);
            let alias = one.child_by_field_name("alias").unwrap_or(name);
            let name = text(name, source).to_owned();
            let binding = Binding::Imported { module: from.clone(), name };
            self.names.insert(text(alias, source).to_owned(), binding);
        }
    }

    fn imported(&mut self, node: Node<'_>, source: &str) {
        let mut cursor = node.walk();
        for one in node.children_by_field_name("name", &mut cursor) {
            let name = one.child_by_field_name("name").unwrap_or(one);
            let module = text(name, source);
            let (alias, module) = match one.child_by_field_name("alias") {
                Some(alias) => (text(alias, source), module),
                // `import a.b` binds `a`.
                None => {
                    let top = module.split('.').next().unwrap_or(module);
                    (top, top)
                }
            };
            self.names.insert(alias.to_owned(), Binding::Module(module.to_owned()));
        }
    }

    fn expression(&mut self, node: Node<'_>, source: &str) {
        match node.kind() {
            "assignment" => {
                let (mut targets, mut assignment) = (Vec::new(), node);
                loop {
                    let left = assignment.child_by_field_name("left");
                    targets.extend(left.map(|left| text(left, source)));
                    match assignment.child_by_field_name("right") {
                        Some(right) if right.kind() == "assignment" => assignment = right,
                        Some(right) => {
                            self.assigned(&targets, right, source);
                            return;
                        }
                        None => return,
                    }
                }
            }
            "augmented_assignment" => {
                let left = node.child_by_field_name("left").map_or("", |left| text(left, source));
                if let Some(right) = node.child_by_field_name("right").filter(|_| left == "__all__")
                {
                    self.list(right, source);
                }
            }
            "call" => {
                let called = node.child_by_field_name("function").map_or("", |it| text(it, source));
                let given = node.child_by_field_name("arguments").map(children).unwrap_or_default();
                if matches!(called, "__all__.extend" | "__all__.append") {
                    given.into_iter().for_each(|given| self.list(given, source));
                }
            }
            _ => {}
        }
    }

    fn assigned(&mut self, targets: &[&str], value: Node<'_>, source: &str) {
        for target in targets {
            if *target == "__all__" {
                self.all = Some(BTreeSet::new());
                self.is_all_unread = false;
                self.list(value, source);
                continue;
            }
            let binding = match value.kind() {
                "identifier" | "attribute" => {
                    let parts = text(value, source).split('.').map(|part| part.trim().to_owned());
                    Binding::Alias(parts.collect())
                }
                _ => Binding::Other,
            };
            // `Thing = wrapped(Thing)` keeps its definition.
            let is_defined =
                matches!(self.names.get(*target), Some(Binding::Function(_) | Binding::Class(_)));
            if is_defined && value.kind() == "call" && mentions(value, target, source) {
                continue;
            }
            for name in target.split(',').map(|name| name.trim_matches(['(', ')', ' '])) {
                let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
                if is_name && !name.is_empty() {
                    self.names.insert(name.to_owned(), binding.clone());
                }
            }
        }
    }

    /// Adds the names of a list to `__all__`.
    fn list(&mut self, node: Node<'_>, source: &str) {
        match node.kind() {
            "list" | "tuple" | "set" | "binary_operator" | "parenthesized_expression" => {
                children(node).into_iter().for_each(|inner| self.list(inner, source));
            }
            "string" => {
                let name = text(node, source).trim_matches(['"', '\'']).to_owned();
                self.all.get_or_insert_default().insert(name);
            }
            "comment" => {}
            _ => self.is_all_unread = true,
        }
    }
}

/// Returns true if a name is used in an expression.
fn mentions(node: Node<'_>, name: &str, source: &str) -> bool {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if node.kind() == "identifier" && text(node, source) == name {
            return true;
        }
        open.extend(children(node));
    }
    false
}

/// Returns the name and binding of a definition.
fn defined(node: Node<'_>, source: &str) -> Option<(String, Binding)> {
    let inner = node.child_by_field_name("definition").unwrap_or(node);
    let definition = Definition::read(node, source)?;
    let name = definition.name.clone();
    let binding = match inner.kind() {
        "class_definition" => Binding::Class(Box::new(Class::read(definition, inner, source))),
        _ => Binding::Function(Box::new(definition)),
    };
    Some((name, binding))
}

/// Resolves the module of an import in a package.
fn absolute(package: &str, module: &str) -> Option<String> {
    let dots = module.len() - module.trim_start_matches('.').len();
    let rest = module.trim_start_matches('.');
    if dots == 0 {
        return Some(module.to_owned());
    }
    let parts: Vec<&str> = package.split('.').collect();
    let around = parts.get(..parts.len().checked_sub(dots - 1)?)?.join(".");
    Some(match (around.is_empty(), rest.is_empty()) {
        (true, _) => rest.to_owned(),
        (false, true) => around,
        (false, false) => format!("{around}.{rest}"),
    })
}
