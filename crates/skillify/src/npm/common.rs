//! CommonJS: assignments to `exports`.

use tree_sitter::Node;

use crate::syntax::{children, text};

use super::declared::{one_line, value};
use super::module::{Binding, Module, unquoted};

/// Reads the statements that fill `exports`.
pub(super) struct Assignments<'a> {
    pub module: &'a mut Module,
    pub source: &'a str,
    pub path: &'a str,
    /// The comment before the statement.
    pub doc: &'a str,
}

impl Assignments<'_> {
    pub(super) fn read(&mut self, node: Node<'_>) {
        match node.kind() {
            "assignment_expression" => self.assigned(node),
            "call_expression" => self.called(node),
            "parenthesized_expression" | "sequence_expression" => {
                children(node).into_iter().for_each(|inner| self.read(inner));
            }
            // Bundlers write `0 && (module.exports = { a, b })` for static analysis.
            "binary_expression" => {
                node.child_by_field_name("right").into_iter().for_each(|inner| self.read(inner));
            }
            _ => {}
        }
    }

    /// Reads `exports.a = exports.b = value`.
    fn assigned(&mut self, node: Node<'_>) {
        let (mut targets, mut value) = (Vec::new(), node);
        while value.kind() == "assignment_expression" {
            let (Some(left), Some(right)) =
                (value.child_by_field_name("left"), value.child_by_field_name("right"))
            else {
                return;
            };
            targets.push(left);
            value = right;
        }
        for target in targets {
            let target: String = text(target, self.source).split_whitespace().collect();
            if target == "module.exports" {
                self.whole(value);
            } else if let Some(name) = property(&target) {
                let is_empty = matches!(text(value, self.source), "void 0" | "undefined");
                if !is_empty || !self.module.exports.contains_key(&name) {
                    let binding = meaning(value, self.source, self.doc);
                    self.module.exports.insert(name, binding);
                }
            }
        }
    }

    /// Reads the value of `module.exports = value`.
    fn whole(&mut self, node: Node<'_>) {
        match meaning(node, self.source, self.doc) {
            Binding::Object(_) => self.export_object(node),
            Binding::Required { from } => self.module.replaced_by.push(from),
            Binding::Name(name) => {
                let bindings = self.module.bindings.get(&name).cloned().unwrap_or_default();
                match bindings.first() {
                    Some(Binding::Object(all)) => self.module.exports.extend(all.clone()),
                    Some(Binding::Required { from }) => self.module.replaced_by.push(from.clone()),
                    _ => {
                        self.module.exports.insert("default".to_owned(), Binding::Name(name));
                    }
                }
            }
            binding => {
                self.module.exports.insert("default".to_owned(), binding);
            }
        }
    }

    /// Reads an object literal, and the objects that are spread into it.
    fn export_object(&mut self, node: Node<'_>) {
        if let Binding::Object(all) = meaning(node, self.source, "") {
            self.module.exports.extend(all);
        }
        for inner in children(node) {
            let is_computed = inner
                .child_by_field_name("key")
                .is_some_and(|key| key.kind() == "computed_property_name");
            if inner.kind() == "spread_element" {
                inner.named_child(0).into_iter().for_each(|from| self.export_all(from));
            } else if is_computed {
                self.note_unread(inner);
            }
        }
    }

    /// Reads an object whose properties become exports.
    fn export_all(&mut self, node: Node<'_>) {
        match meaning(node, self.source, "") {
            Binding::Object(_) => self.export_object(node),
            Binding::Required { from } => self.module.stars.push(from),
            Binding::Name(name) => {
                match self.module.bindings.get(&name).and_then(|all| all.first()) {
                    Some(Binding::Required { from } | Binding::Namespace { from }) => {
                        self.module.stars.push(from.clone());
                    }
                    Some(Binding::Object(all)) => self.module.exports.extend(all.clone()),
                    _ => self.note_unread(node),
                }
            }
            _ => self.note_unread(node),
        }
    }

    fn note_unread(&mut self, node: Node<'_>) {
        let shown: String = one_line(text(node, self.source)).chars().take(60).collect();
        self.module.unread.insert(format!(
            "`{}` adds exports with `{shown}`, which skillify cannot evaluate.",
            self.path
        ));
    }

    /// Reads calls in compiled code: `Object.defineProperty(exports, ...)`, `__exportStar(require(...), exports)`.
    fn called(&mut self, node: Node<'_>) {
        let function = node.child_by_field_name("function").map_or("", |it| text(it, self.source));
        let given = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        let is_exports =
            |node: &Node<'_>| matches!(text(*node, self.source), "exports" | "module.exports");
        match (function, given.as_slice()) {
            ("Object.defineProperty", [target, name, what]) if is_exports(target) => {
                let name = unquoted(text(*name, self.source));
                if name != "__esModule" {
                    let binding = getter(text(*what, self.source));
                    let other = || meaning(*what, self.source, "");
                    self.module.exports.insert(name, binding.unwrap_or_else(other));
                }
            }
            ("Object.assign", [target, rest @ ..]) if is_exports(target) => {
                rest.iter().for_each(|from| self.export_all(*from));
            }
            (function, [from, ..]) if function.ends_with("__exportStar") => {
                if let Some(from) = required(*from, self.source) {
                    self.module.stars.push(from);
                }
            }
            _ => {}
        }
    }
}

/// Returns what a getter in compiled code returns: `a.b`, or `a`.
fn getter(text: &str) -> Option<Binding> {
    let given = text.split_once("return ")?.1.split([';', '}']).next()?.trim();
    match given.split_once('.') {
        Some((of, name)) if is_name(of) && is_name(name) => {
            Some(Binding::Property { of: of.to_owned(), name: name.to_owned() })
        }
        None if is_name(given) => Some(Binding::Name(given.to_owned())),
        _ => None,
    }
}

/// Returns the name of the export in `exports.a` or `exports["a"]`.
fn property(target: &str) -> Option<String> {
    let rest = target.strip_prefix("module.exports").or_else(|| target.strip_prefix("exports"))?;
    let quoted = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match quoted.filter(|inner| inner.starts_with(['"', '\''])) {
        Some(inner) => Some(unquoted(inner)),
        None => rest.strip_prefix('.').filter(|name| is_name(name)).map(str::to_owned),
    }
    .filter(|name| name != "__esModule")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// Returns the module of `require("...")`.
pub(super) fn required(node: Node<'_>, source: &str) -> Option<String> {
    let function =
        node.child_by_field_name("function").filter(|_| node.kind() == "call_expression")?;
    let given = node.child_by_field_name("arguments")?.named_child(0)?;
    let name = text(function, source);
    // Compilers wrap imports in these functions.
    if name.ends_with("__importDefault") || name.ends_with("__importStar") {
        return required(given, source);
    }
    (name == "require" && given.kind() == "string").then(|| unquoted(text(given, source)))
}

/// Returns what an expression refers to.
pub(super) fn meaning(node: Node<'_>, source: &str, doc: &str) -> Binding {
    if let Some(from) = required(node, source) {
        return Binding::Required { from };
    }
    match node.kind() {
        "identifier" => Binding::Name(text(node, source).to_owned()),
        "parenthesized_expression" | "as_expression" | "satisfies_expression" => {
            match node.named_child(0) {
                Some(inner) => meaning(inner, source, doc),
                None => Binding::Declared(value(node, source, doc)),
            }
        }
        "member_expression" => {
            let object = node.child_by_field_name("object");
            let name = node.child_by_field_name("property").map_or("", |name| text(name, source));
            let name = name.to_owned();
            match object {
                Some(object) if object.kind() == "identifier" => {
                    Binding::Property { of: text(object, source).to_owned(), name }
                }
                Some(object) => match required(object, source) {
                    Some(from) => Binding::Imported { from, name },
                    None => Binding::Declared(value(node, source, doc)),
                },
                None => Binding::Declared(value(node, source, doc)),
            }
        }
        "object" => {
            let all = children(node).into_iter().filter_map(|inner| entry(inner, source));
            Binding::Object(all.collect())
        }
        _ => Binding::Declared(value(node, source, doc)),
    }
}

/// Returns a property of an object.
fn entry(node: Node<'_>, source: &str) -> Option<(String, Binding)> {
    let doc = super::jsdoc::comment(node, source);
    match node.kind() {
        "shorthand_property_identifier" => {
            let name = text(node, source).to_owned();
            Some((name.clone(), Binding::Name(name)))
        }
        "pair" => {
            let key = node.child_by_field_name("key")?;
            let name = unquoted(text(key, source));
            let binding = match meaning(node.child_by_field_name("value")?, source, &doc) {
                Binding::Object(_) => {
                    Binding::Declared(value(node.child_by_field_name("value")?, source, &doc))
                }
                binding => binding,
            };
            (key.kind() != "computed_property_name").then_some((name, binding))
        }
        "method_definition" => {
            let name = node.child_by_field_name("name")?;
            let mut one = value(node, source, &doc);
            one.name = unquoted(text(name, source));
            (name.kind() != "computed_property_name")
                .then(|| (one.name.clone(), Binding::Declared(one)))
        }
        _ => None,
    }
}
