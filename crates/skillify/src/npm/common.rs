//! CommonJS: what is assigned to `exports`.

use tree_sitter::Node;

use crate::syntax::{children, text};

use super::declared::{one_line, value};
use super::module::{Local, Module, unquoted};

/// Reads the statements that fill `exports`.
pub(super) struct Assignments<'a> {
    pub module: &'a mut Module,
    pub source: &'a str,
    pub path: &'a str,
    /// The comment before the statement.
    pub said: &'a str,
}

impl Assignments<'_> {
    pub(super) fn read(&mut self, node: Node<'_>) {
        match node.kind() {
            "assignment_expression" => self.assigned(node),
            "call_expression" => self.called(node),
            "parenthesized_expression" | "sequence_expression" => {
                children(node).into_iter().for_each(|inner| self.read(inner));
            }
            // Bundlers write `0 && (module.exports = { a, b })` for those who read.
            "binary_expression" => {
                node.child_by_field_name("right").into_iter().for_each(|inner| self.read(inner));
            }
            _ => {}
        }
    }

    /// Reads `exports.a = exports.b = value`.
    fn assigned(&mut self, node: Node<'_>) {
        let (mut targets, mut at) = (Vec::new(), node);
        while at.kind() == "assignment_expression" {
            let (Some(left), Some(right)) =
                (at.child_by_field_name("left"), at.child_by_field_name("right"))
            else {
                return;
            };
            targets.push(left);
            at = right;
        }
        for target in targets {
            let target: String = text(target, self.source).split_whitespace().collect();
            if target == "module.exports" {
                self.whole(at);
            } else if let Some(name) = property(&target) {
                let is_empty = matches!(text(at, self.source), "void 0" | "undefined");
                if !is_empty || !self.module.exports.contains_key(&name) {
                    let local = meaning(at, self.source, self.said);
                    self.module.exports.insert(name, local);
                }
            }
        }
    }

    /// Reads what a module is as a whole.
    fn whole(&mut self, node: Node<'_>) {
        match meaning(node, self.source, self.said) {
            Local::Object(_) => self.spread(node),
            Local::Required { from } => self.module.same.push(from),
            Local::Name(name) => {
                let locals = self.module.locals.get(&name).cloned().unwrap_or_default();
                match locals.first() {
                    Some(Local::Object(all)) => self.module.exports.extend(all.clone()),
                    Some(Local::Required { from }) => self.module.same.push(from.clone()),
                    _ => {
                        self.module.exports.insert("default".to_owned(), Local::Name(name));
                    }
                }
            }
            local => {
                self.module.exports.insert("default".to_owned(), local);
            }
        }
    }

    /// Reads an object that is written out, and those that are spread into it.
    fn spread(&mut self, node: Node<'_>) {
        if let Local::Object(all) = meaning(node, self.source, "") {
            self.module.exports.extend(all);
        }
        for inner in children(node) {
            let is_computed = inner
                .child_by_field_name("key")
                .is_some_and(|key| key.kind() == "computed_property_name");
            if inner.kind() == "spread_element" {
                inner.named_child(0).into_iter().for_each(|from| self.take_all(from));
            } else if is_computed {
                self.not_read(inner);
            }
        }
    }

    /// Reads an object whose properties become exports.
    fn take_all(&mut self, node: Node<'_>) {
        match meaning(node, self.source, "") {
            Local::Object(_) => self.spread(node),
            Local::Required { from } => self.module.stars.push(from),
            Local::Name(name) => match self.module.locals.get(&name).and_then(|all| all.first()) {
                Some(Local::Required { from } | Local::Namespace { from }) => {
                    self.module.stars.push(from.clone());
                }
                Some(Local::Object(all)) => self.module.exports.extend(all.clone()),
                _ => self.not_read(node),
            },
            _ => self.not_read(node),
        }
    }

    fn not_read(&mut self, node: Node<'_>) {
        let shown: String = one_line(text(node, self.source)).chars().take(60).collect();
        self.module
            .unread
            .insert(format!("`{}` adds exports by `{shown}`, which is not read.", self.path));
    }

    /// Reads what compilers write: `Object.defineProperty(exports, ...)`, `__exportStar(require(...), exports)`.
    fn called(&mut self, node: Node<'_>) {
        let function = node.child_by_field_name("function").map_or("", |it| text(it, self.source));
        let given = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        let is_exports =
            |node: &Node<'_>| matches!(text(*node, self.source), "exports" | "module.exports");
        match (function, given.as_slice()) {
            ("Object.defineProperty", [target, name, what]) if is_exports(target) => {
                let name = unquoted(text(*name, self.source));
                if name != "__esModule" {
                    let local = getter(text(*what, self.source));
                    let other = || meaning(*what, self.source, "");
                    self.module.exports.insert(name, local.unwrap_or_else(other));
                }
            }
            ("Object.assign", [target, rest @ ..]) if is_exports(target) => {
                rest.iter().for_each(|from| self.take_all(*from));
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

/// Returns what the getter that a compiler writes returns: `a.b`, or `a`.
fn getter(text: &str) -> Option<Local> {
    let given = text.split_once("return ")?.1.split([';', '}']).next()?.trim();
    match given.split_once('.') {
        Some((of, name)) if is_name(of) && is_name(name) => {
            Some(Local::Property { of: of.to_owned(), name: name.to_owned() })
        }
        None if is_name(given) => Some(Local::Name(given.to_owned())),
        _ => None,
    }
}

/// Returns the export that `exports.a` means.
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
    // Compilers wrap what they import.
    if name.ends_with("__importDefault") || name.ends_with("__importStar") {
        return required(given, source);
    }
    (name == "require" && given.kind() == "string").then(|| unquoted(text(given, source)))
}

/// Returns what an expression means.
pub(super) fn meaning(node: Node<'_>, source: &str, said: &str) -> Local {
    if let Some(from) = required(node, source) {
        return Local::Required { from };
    }
    match node.kind() {
        "identifier" => Local::Name(text(node, source).to_owned()),
        "parenthesized_expression" | "as_expression" | "satisfies_expression" => {
            match node.named_child(0) {
                Some(inner) => meaning(inner, source, said),
                None => Local::Declared(value(node, source, said)),
            }
        }
        "member_expression" => {
            let object = node.child_by_field_name("object");
            let name = node.child_by_field_name("property").map_or("", |name| text(name, source));
            let name = name.to_owned();
            match object {
                Some(object) if object.kind() == "identifier" => {
                    Local::Property { of: text(object, source).to_owned(), name }
                }
                Some(object) => match required(object, source) {
                    Some(from) => Local::Imported { from, name },
                    None => Local::Declared(value(node, source, said)),
                },
                None => Local::Declared(value(node, source, said)),
            }
        }
        "object" => {
            let all = children(node).into_iter().filter_map(|inner| entry(inner, source));
            Local::Object(all.collect())
        }
        _ => Local::Declared(value(node, source, said)),
    }
}

/// Returns a property of an object.
fn entry(node: Node<'_>, source: &str) -> Option<(String, Local)> {
    let said = super::jsdoc::comment(node, source);
    match node.kind() {
        "shorthand_property_identifier" => {
            let name = text(node, source).to_owned();
            Some((name.clone(), Local::Name(name)))
        }
        "pair" => {
            let key = node.child_by_field_name("key")?;
            let name = unquoted(text(key, source));
            let local = match meaning(node.child_by_field_name("value")?, source, &said) {
                Local::Object(_) => {
                    Local::Declared(value(node.child_by_field_name("value")?, source, &said))
                }
                local => local,
            };
            (key.kind() != "computed_property_name").then_some((name, local))
        }
        "method_definition" => {
            let name = node.child_by_field_name("name")?;
            let mut one = value(node, source, &said);
            one.name = unquoted(text(name, source));
            (name.kind() != "computed_property_name")
                .then(|| (one.name.clone(), Local::Declared(one)))
        }
        _ => None,
    }
}
