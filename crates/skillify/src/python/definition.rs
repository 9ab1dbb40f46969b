//! Functions and classes in the source.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::library::first_sentence;
use crate::syntax::{children, text};
use crate::{Argument, Topic};

use super::docs::{docstring, sections};

/// A function, or the head of a class.
#[derive(Clone, Default)]
pub(super) struct Definition {
    pub name: String,
    /// The text before the name: decorators that change how it is called, and `def ` or `class `.
    before: String,
    /// The text after the name: parameters and result, or bases.
    after: String,
    doc: String,
    /// The parameters, without `self` or `cls`.
    pub parameters: Vec<String>,
    /// The decorators, without `@`.
    pub decorators: Vec<String>,
}

/// A class.
#[derive(Clone, Default)]
pub(super) struct Class {
    pub head: Definition,
    /// The bases, as written.
    pub bases: Vec<String>,
    /// The functions; a later one replaces an earlier one of the same name.
    pub functions: BTreeMap<String, Definition>,
    /// The fields with a type annotation.
    pub fields: Vec<Field>,
}

/// A field with a type annotation.
#[derive(Clone)]
pub(super) struct Field {
    pub name: String,
    pub kind: String,
    pub value: Option<String>,
}

/// Decorators that change how a function is called.
const SHOWN_DECORATORS: [&str; 4] = ["property", "classmethod", "staticmethod", "cached_property"];

impl Definition {
    /// Reads a function or a class, with its decorators.
    pub(super) fn read(node: Node<'_>, source: &str) -> Option<Self> {
        let inner = node.child_by_field_name("definition").unwrap_or(node);
        if !matches!(inner.kind(), "function_definition" | "class_definition") {
            return None;
        }
        let name = inner.child_by_field_name("name")?;
        let decorators = children(node).into_iter().filter(|one| one.kind() == "decorator");
        let decorators: Vec<String> = decorators
            .map(|one| one_line(text(one, source)).trim_start_matches('@').trim().to_owned())
            .collect();
        let body = inner.child_by_field_name("body").map_or(inner.end_byte(), |it| it.start_byte());
        let start = source.get(inner.start_byte()..name.start_byte()).unwrap_or_default();
        let end = without_comments(inner, name.end_byte(), body, source);
        let parameters = inner.child_by_field_name("parameters").map(children).unwrap_or_default();
        let parameters = parameters.into_iter().filter(|one| one.kind() != "comment");
        let shown = decorators.iter().filter(|one| SHOWN_DECORATORS.contains(&last_part(one)));
        let shown: String = shown.map(|one| format!("@{one}\n")).collect();
        Some(Self {
            name: text(name, source).to_owned(),
            before: format!("{shown}{} ", one_line(start)),
            after: one_line(&end).trim_end_matches([':', ' ']).to_owned(),
            doc: docstring(inner, source),
            parameters: parameters.skip(1).map(|one| one_line(text(one, source))).collect(),
            decorators,
        })
    }

    /// Returns the page, under the name that users import.
    pub(super) fn topic(&self, exported: &str) -> Topic {
        let called = exported.rsplit('.').next().unwrap_or(exported);
        let (description, arguments, value) = sections(&self.doc);
        let usage = format!("{}{called}{}", self.before, self.after);
        let title = first_sentence(&description);
        let title = if title.is_empty() { usage.replace('\n', " ") } else { title };
        let name = exported.to_owned();
        Topic { name, title, usage, description, arguments, value, ..Topic::default() }
    }

    /// Returns the arguments documented in the docstring.
    pub(super) fn arguments(&self) -> Vec<Argument> {
        sections(&self.doc).1
    }
}

impl Class {
    /// Reads the body of a class.
    pub(super) fn read(head: Definition, node: Node<'_>, source: &str) -> Self {
        let bases = node.child_by_field_name("superclasses").map(children).unwrap_or_default();
        let bases =
            bases.into_iter().filter(|base| !matches!(base.kind(), "keyword_argument" | "comment"));
        let mut class = Self {
            head,
            bases: bases.map(|base| one_line(text(base, source))).collect(),
            ..Self::default()
        };
        for inner in node.child_by_field_name("body").map(children).unwrap_or_default() {
            if let Some(field) = field(inner, source) {
                class.fields.push(field);
            }
            let Some(function) = Definition::read(inner, source) else { continue };
            // `@x.setter` extends the existing property.
            let adds = |one: &String| one.ends_with(".setter") || one.ends_with(".deleter");
            if !function.decorators.iter().any(adds) {
                class.functions.insert(function.name.clone(), function);
            }
        }
        class
    }
}

fn field(node: Node<'_>, source: &str) -> Option<Field> {
    let inner = node.named_child(0).filter(|inner| inner.kind() == "assignment")?;
    let kind = inner.child_by_field_name("type")?;
    let value = inner.child_by_field_name("right").map(|value| one_line(text(value, source)));
    let name = text(inner.child_by_field_name("left")?, source).to_owned();
    Some(Field { name, kind: one_line(text(kind, source)), value })
}

/// Returns a part of the source without its comments.
fn without_comments(node: Node<'_>, from: usize, to: usize, source: &str) -> String {
    let mut comments = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        for inner in children(node).into_iter().filter(|inner| inner.start_byte() < to) {
            if inner.kind() == "comment" && inner.start_byte() >= from {
                comments.push(inner.byte_range());
            } else if inner.kind() != "block" {
                open.push(inner);
            }
        }
    }
    comments.sort_by_key(|range| range.start);
    let (mut text, mut at) = (String::new(), from);
    for range in comments {
        text += source.get(at..range.start).unwrap_or_default();
        at = range.end.max(at);
    }
    text + source.get(at..to).unwrap_or_default()
}

/// Returns the last name of a path, without arguments: `dataclass` of `dataclasses.dataclass(frozen=True)`.
pub(super) fn last_part(text: &str) -> &str {
    let path = text.split(['(', '[']).next().unwrap_or(text).trim();
    path.rsplit('.').next().unwrap_or(path)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
