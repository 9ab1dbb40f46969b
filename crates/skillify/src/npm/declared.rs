//! Functions, classes, types and values, with their signatures.

use tree_sitter::Node;

use crate::Topic;
use crate::syntax::{children, head, text};

use super::jsdoc::{comment, topic};

/// The maximum length of a part of a signature.
const MAX_SHOWN: usize = 1_500;
/// The maximum length of a value that is shown.
const MAX_VALUE: usize = 60;

/// A declaration of a module.
#[derive(Debug, Clone, Default)]
pub(super) struct Declared {
    /// The name in the module; empty if it has none.
    pub name: String,
    /// The text before and after the name: one line for each overload.
    pub lines: Vec<(String, String)>,
    /// The doc comment.
    pub comment: String,
    /// The members of a class, an interface or a namespace, by their names in it.
    pub members: Vec<Topic>,
}

impl Declared {
    /// Returns the signatures, with another name.
    pub(super) fn usage(&self, name: &str) -> String {
        let lines: Vec<String> =
            self.lines.iter().map(|(before, after)| format!("{before}{name}{after}")).collect();
        lines.join("\n")
    }

    /// Returns the page: `exported` is its title, `called` the name in the signature.
    pub(super) fn topic(&self, exported: &str, called: &str) -> Topic {
        topic(exported, &self.comment, self.usage(called))
    }

    /// Adds another declaration of the same name: an overload, or its type.
    pub(super) fn merge(&mut self, other: &Self) {
        for line in &other.lines {
            if !self.lines.contains(line) {
                self.lines.push(line.clone());
            }
        }
        if self.comment.is_empty() {
            self.comment.clone_from(&other.comment);
        }
        for member in &other.members {
            if !self.members.iter().any(|known| known.name == member.name) {
                self.members.push(member.clone());
            }
        }
    }
}

/// Returns the declarations of a statement.
pub(super) fn declared(node: Node<'_>, source: &str, comment: &str) -> Vec<Declared> {
    match node.kind() {
        "lexical_declaration" | "variable_declaration" => {
            let all = children(node).into_iter().filter(|one| one.kind() == "variable_declarator");
            all.flat_map(|one| variables(one, source, comment)).collect()
        }
        "ambient_declaration" => {
            children(node).into_iter().flat_map(|inner| declared(inner, source, comment)).collect()
        }
        "expression_statement" => {
            let inner = node.named_child(0).filter(|inner| inner.kind() == "internal_module");
            inner.map(|inner| declared(inner, source, comment)).unwrap_or_default()
        }
        "internal_module" | "module" => namespace(node, source, comment).into_iter().collect(),
        "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "type_alias_declaration"
        | "enum_declaration" => named(node, source, comment).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns a declaration with a name.
fn named(node: Node<'_>, source: &str, comment: &str) -> Option<Declared> {
    let name = node.child_by_field_name("name")?;
    let start = source.get(node.start_byte()..name.start_byte())?;
    Some(Declared {
        name: text(name, source).to_owned(),
        lines: vec![(format!("{} ", one_line(start)), after(node, name.end_byte(), source))],
        comment: comment.to_owned(),
        members: members(node, source),
    })
}

/// Returns the text between a name and the body.
fn after(node: Node<'_>, from: usize, source: &str) -> String {
    let end = node.child_by_field_name("body").map_or(node.end_byte(), |body| body.start_byte());
    let text = source.get(from..end).unwrap_or_default();
    let line = one_line(text);
    let line = line.trim_end_matches(['{', ';', ' ']);
    let is_tight = text.starts_with(|c: char| !c.is_whitespace());
    cut(&if is_tight || line.is_empty() { line.to_owned() } else { format!(" {line}") })
}

/// Returns the variables of a declarator: one, or several for a pattern.
fn variables(node: Node<'_>, source: &str, comment: &str) -> Vec<Declared> {
    let Some(name) = node.child_by_field_name("name") else { return Vec::new() };
    if name.kind() != "identifier" {
        let plain = |name: &str| Declared {
            name: name.to_owned(),
            lines: vec![("const ".to_owned(), String::new())],
            ..Declared::default()
        };
        return bound(name, source).into_iter().map(|(_, name)| plain(&name)).collect();
    }
    let kind = node.child_by_field_name("type").map(|kind| cut(&one_line(text(kind, source))));
    let mut found = match (node.child_by_field_name("value"), kind) {
        (Some(value), None) => self::value(value, source, comment),
        (_, kind) => Declared {
            lines: vec![("const ".to_owned(), kind.unwrap_or_default())],
            comment: comment.to_owned(),
            ..Declared::default()
        },
    };
    found.name = text(name, source).to_owned();
    vec![found]
}

/// Returns the pairs of property and variable that a pattern such as `{ a, b: c }` binds.
pub(super) fn bound(node: Node<'_>, source: &str) -> Vec<(String, String)> {
    let name = |node: Node<'_>| text(node, source).to_owned();
    match node.kind() {
        "identifier" | "shorthand_property_identifier_pattern" => vec![(name(node), name(node))],
        "pair_pattern" => {
            let key = node.child_by_field_name("key").map(name).unwrap_or_default();
            let inner = node.child_by_field_name("value").map(|value| bound(value, source));
            inner.unwrap_or_default().into_iter().map(|(_, name)| (key.clone(), name)).collect()
        }
        "object_assignment_pattern" | "assignment_pattern" => {
            node.named_child(0).map(|inner| bound(inner, source)).unwrap_or_default()
        }
        "object_pattern" | "array_pattern" | "rest_pattern" => {
            children(node).into_iter().flat_map(|inner| bound(inner, source)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns a value: the signature of a function, the head of a class, or the value itself if it is short.
pub(super) fn value(node: Node<'_>, source: &str, comment: &str) -> Declared {
    let name = node.child_by_field_name("name");
    let (before, after) = match node.kind() {
        "arrow_function"
        | "function_expression"
        | "generator_function"
        | "function_declaration"
        | "function_signature"
        | "method_definition" => {
            let parameters = node.child_by_field_name("parameters");
            let parameters = parameters.map(|list| one_line(text(list, source)));
            let single =
                || Some(format!("({})", text(node.child_by_field_name("parameter")?, source)));
            let parameters = parameters.or_else(single).unwrap_or_else(|| "()".to_owned());
            let generics = node.child_by_field_name("type_parameters");
            let generics = generics.map(|list| one_line(text(list, source))).unwrap_or_default();
            let result = node.child_by_field_name("return_type");
            let result = result.map(|result| one_line(text(result, source))).unwrap_or_default();
            ("function ", format!("{generics}{parameters}{result}"))
        }
        "class" | "class_declaration" => {
            let start = node.start_byte() + "class".len();
            let start = name.map_or(start, |name| name.end_byte());
            let rest = after(node, start, source);
            ("class ", if rest.is_empty() { rest } else { format!(" {}", rest.trim()) })
        }
        _ => {
            let shown = one_line(text(node, source));
            let is_shown = shown.chars().count() <= MAX_VALUE && node.kind() != "identifier";
            ("const ", if is_shown { format!(" = {shown}") } else { String::new() })
        }
    };
    Declared {
        name: name.map(|name| text(name, source).to_owned()).unwrap_or_default(),
        lines: vec![(before.to_owned(), cut(&after))],
        comment: comment.to_owned(),
        members: members(node, source),
    }
}

/// Returns a namespace; its exports are its members.
fn namespace(node: Node<'_>, source: &str, comment: &str) -> Option<Declared> {
    let name = text(node.child_by_field_name("name")?, source).to_owned();
    let mut members = Vec::new();
    for inner in node.child_by_field_name("body").map(children).unwrap_or_default() {
        let doc = self::comment(inner, source);
        let inner = match inner.kind() {
            "export_statement" => inner.child_by_field_name("declaration"),
            _ => Some(inner),
        };
        for one in inner.map(|inner| declared(inner, source, &doc)).unwrap_or_default() {
            members.push(one.topic(&one.name, &one.name));
            let below = one.members.iter();
            members.extend(below.map(|member| Topic {
                name: format!("{}.{}", one.name, member.name),
                ..member.clone()
            }));
        }
    }
    let lines = vec![("namespace ".to_owned(), String::new())];
    Some(Declared { name, lines, comment: comment.to_owned(), members })
}

/// Returns the public members of a class or an interface, without fields that have no doc comment.
fn members(node: Node<'_>, source: &str) -> Vec<Topic> {
    let body = match node.kind() {
        "class_declaration" | "abstract_class_declaration" | "interface_declaration" | "class" => {
            node.child_by_field_name("body").map(children)
        }
        _ => None,
    };
    body.unwrap_or_default().into_iter().filter_map(|member| self::member(member, source)).collect()
}

fn member(node: Node<'_>, source: &str) -> Option<Topic> {
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
    let name = node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"))?;
    let name = text(name, source);
    let usage = cut(&head(node, source));
    let is_hidden = name.starts_with(['_', '#', '[']) || usage.starts_with("private ");
    let comment = comment(node, source);
    // The page of the class shows fields without a doc comment.
    if is_hidden || (is_field && comment.is_empty()) {
        return None;
    }
    Some(topic(name, &comment, usage))
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
