//! Lowers JavaScript and TypeScript.

use tree_sitter::Node;

use super::lowering::{self, Grammar, Lowering, augmented, builtin_call, number, unknown, unnamed};
use super::{Arg, Expr, Step, children, unquoted};
use crate::excerpt::slice;

/// The grammar to parse with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    JavaScript,
    TypeScript,
}

struct JavaScript;

pub(super) fn steps(text: &str, dialect: Dialect) -> Option<Vec<Step>> {
    let language = match dialect {
        Dialect::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Dialect::TypeScript => tree_sitter_typescript::LANGUAGE_TSX.into(),
    };
    lowering::steps::<JavaScript>(text, &language)
}

impl Grammar for JavaScript {
    fn statement(code: &mut Lowering<'_, Self>, node: Node<'_>, depth: usize) {
        match node.kind() {
            "import_statement" => code.import(node),
            "variable_declarator" => code.declarator(node, depth),
            "expression_statement" => {
                for child in children(node) {
                    code.push_expression(child, depth);
                }
            }
            "function_declaration" | "method_definition" | "generator_function_declaration" => {
                let name = code.field(node, "name").unwrap_or_default();
                code.function(node, name, depth);
            }
            "for_in_statement" => {
                if let (Some(left), Some(right)) =
                    (node.child_by_field_name("left"), node.child_by_field_name("right"))
                {
                    let value = code.expression(right, depth);
                    let to = code.names(left);
                    code.steps.push(Step::Assign { to, value });
                }
                if let Some(body) = node.child_by_field_name("body") {
                    code.statement(body, depth);
                }
            }
            kind if kind.ends_with("_expression") || kind == "identifier" => {
                code.push_expression(node, depth);
            }
            _ => code.block(node, depth),
        }
    }

    fn expression(code: &mut Lowering<'_, Self>, node: Node<'_>, depth: usize) -> Expr {
        match node.kind() {
            "identifier" | "this" | "super" => Expr::Name(code.source(node).to_owned()),
            "string" => {
                let text = code.source(node);
                let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
                Expr::Text(unquoted(inner))
            }
            "template_string" => code.template(node, depth),
            "number" => Expr::Number(number(code.source(node))),
            "member_expression" => code.member(node, "property", depth),
            "subscript_expression" => {
                let object = code.part(node, "object", depth);
                let index = code.part(node, "index", depth);
                Expr::Index(Box::new(object), Box::new(index))
            }
            "call_expression" | "new_expression" => code.call(node, depth),
            "binary_expression" => {
                let is_sum = code.field(node, "operator").is_some_and(|operator| operator == "+");
                let parts = code.all(node, depth);
                if is_sum { Expr::Join(parts) } else { Expr::Many(parts) }
            }
            "array" => Expr::List(code.all(node, depth)),
            "object" => code.object(node, depth),
            "assignment_expression" | "augmented_assignment_expression" => {
                let to = code.names_of(node, "left");
                let value = code.part(node, "right", depth);
                let is_added = node.kind().starts_with("augmented");
                let value = if is_added { augmented(&to, value) } else { value };
                code.steps.push(Step::Assign { to, value: value.clone() });
                value
            }
            "parenthesized_expression"
            | "await_expression"
            | "as_expression"
            | "non_null_expression"
            | "spread_element"
            | "satisfies_expression" => code.inner(node.named_child(0), depth),
            "arrow_function" | "function_expression" | "function" => {
                // The body is traced where the function is defined. What it returns may be what its caller returns.
                code.function(node, String::new(), depth + 1);
                match node.child_by_field_name("body") {
                    Some(body) if body.kind() != "statement_block" => {
                        Expr::Many(vec![code.expression(body, depth + 1)])
                    }
                    _ => unknown(),
                }
            }
            _ => Expr::Many(code.all(node, depth)),
        }
    }

    fn names(code: &Lowering<'_, Self>, node: Node<'_>) -> Vec<String> {
        match node.kind() {
            "identifier"
            | "shorthand_property_identifier_pattern"
            | "property_identifier"
            | "this"
            | "member_expression" => vec![code.source(node).to_owned()],
            "subscript_expression" => code.names_of(node, "object"),
            "pair_pattern" => code.names_of(node, "value"),
            "type_annotation" => Vec::new(),
            _ => code.names_inside(node),
        }
    }
}

impl Lowering<'_, JavaScript> {
    fn function(&mut self, node: Node<'_>, name: String, depth: usize) {
        let list = node
            .child_by_field_name("parameters")
            .or_else(|| node.child_by_field_name("parameter"));
        let parameters = match list {
            Some(one) if one.kind() == "identifier" => vec![self.source(one).to_owned()],
            Some(list) => {
                let first = |one| self.names(one).into_iter().take(1);
                children(list).into_iter().flat_map(first).collect()
            }
            None => Vec::new(),
        };
        self.define(name, parameters, |code| match node.child_by_field_name("body") {
            Some(body) if body.kind() == "statement_block" => code.block(body, depth),
            Some(body) => {
                let value = code.expression(body, depth + 1);
                code.returns(value);
            }
            None => {}
        });
    }

    fn call(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let function = node
            .child_by_field_name("function")
            .or_else(|| node.child_by_field_name("constructor"));
        let function = Box::new(self.inner(function, depth));
        self.bind_callbacks(node, &function);
        let args = match node.child_by_field_name("arguments") {
            Some(args) if args.kind() == "template_string" => {
                vec![unnamed(self.template(args, depth))]
            }
            Some(args) => self.all(args, depth).into_iter().map(unnamed).collect(),
            None => Vec::new(),
        };
        Expr::Call { function, args, range: node.byte_range() }
    }

    /// Binds the parameter of a callback to the value that it is called with: `answer.then((text) => …)`.
    fn bind_callbacks(&mut self, node: Node<'_>, function: &Expr) {
        const CALLERS: [&str; 6] = ["then", "map", "forEach", "filter", "flatMap", "on"];
        let Expr::Member(object, name) = function else { return };
        if !CALLERS.contains(&name.as_str()) {
            return;
        }
        let args = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        for callback in args
            .into_iter()
            .filter(|arg| matches!(arg.kind(), "arrow_function" | "function_expression"))
        {
            let list = callback
                .child_by_field_name("parameters")
                .or_else(|| callback.child_by_field_name("parameter"));
            let first = list.and_then(|list| {
                if list.kind() == "identifier" { Some(list) } else { list.named_child(0) }
            });
            let to = first.map(|first| self.names(first)).unwrap_or_default();
            if !to.is_empty() {
                self.steps.push(Step::Assign { to, value: object.as_ref().clone() });
            }
        }
    }

    fn declarator(&mut self, node: Node<'_>, depth: usize) {
        let (Some(name), Some(value)) =
            (node.child_by_field_name("name"), node.child_by_field_name("value"))
        else {
            return;
        };
        let is_function =
            matches!(value.kind(), "arrow_function" | "function_expression" | "function");
        if is_function && name.kind() == "identifier" {
            let name = self.source(name).to_owned();
            self.function(value, name, depth);
            return;
        }
        let lowered = self.expression(value, depth);
        if let Some(module) = required(&lowered) {
            self.bind(name, &module);
            return;
        }
        // `const { exec } = child` binds a member.
        if name.kind() == "object_pattern" {
            for part in children(name) {
                for bound in self.names(part) {
                    let value = Expr::Member(Box::new(lowered.clone()), self.key(part));
                    self.steps.push(Step::Assign { to: vec![bound], value });
                }
            }
            return;
        }
        let to = self.names(name);
        self.steps.push(Step::Assign { to, value: lowered });
    }

    fn bind(&mut self, name: Node<'_>, module: &str) {
        if name.kind() == "object_pattern" {
            for part in children(name) {
                let means = format!("{module}.{}", self.key(part));
                for bound in self.names(part) {
                    self.steps.push(Step::Import { name: bound, means: means.clone() });
                }
            }
        } else {
            let name = self.source(name).to_owned();
            self.steps.push(Step::Import { name, means: module.to_owned() });
        }
    }

    fn key(&self, part: Node<'_>) -> String {
        let key = part.child_by_field_name("key").unwrap_or(part);
        self.source(key).trim_matches(['"', '\'']).to_owned()
    }

    fn import(&mut self, node: Node<'_>) {
        let Some(source) = node.child_by_field_name("source") else { return };
        let module = module_name(self.source(source));
        let mut open = children(node);
        while let Some(child) = open.pop() {
            match child.kind() {
                "import_specifier" => {
                    if let Some(what) = self.field(child, "name") {
                        let means = format!("{module}.{what}");
                        let name = self.field(child, "alias").unwrap_or(what);
                        self.steps.push(Step::Import { name, means });
                    }
                }
                "identifier" => {
                    let name = self.source(child).to_owned();
                    self.steps.push(Step::Import { name, means: module.clone() });
                }
                "string" => {}
                _ => open.extend(children(child)),
            }
        }
    }

    /// Lowers an object literal to its values by name.
    fn object(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let mut args = Vec::new();
        for child in children(node) {
            match child.kind() {
                "pair" => {
                    let name = self.key(child);
                    if let Some(value) = child.child_by_field_name("value") {
                        let value = self.expression(value, depth + 1);
                        args.push(Arg { name: Some(name), value });
                    }
                }
                "shorthand_property_identifier" => {
                    let name = self.source(child).to_owned();
                    args.push(Arg { name: Some(name.clone()), value: Expr::Name(name) });
                }
                _ => args.push(unnamed(self.expression(child, depth + 1))),
            }
        }
        builtin_call("{}", args, node)
    }

    fn template(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let mut parts = Vec::new();
        let mut at = node.start_byte() + 1;
        for child in children(node) {
            if child.kind() == "template_substitution" {
                parts.push(Expr::Text(unquoted(slice(self.text, at..child.start_byte()))));
                parts.extend(self.all(child, depth));
                at = child.end_byte();
            }
        }
        let end = node.end_byte().saturating_sub(1).max(at);
        parts.push(Expr::Text(unquoted(slice(self.text, at..end))));
        Expr::Join(parts)
    }
}

/// Returns the module of `require("x")`, also through member access.
fn required(value: &Expr) -> Option<String> {
    match value {
        Expr::Call { function, args, .. } if matches!(function.as_ref(), Expr::Name(name) if name == "require") => {
            match args.first().map(|arg| &arg.value) {
                Some(Expr::Text(module)) => Some(module_name(module)),
                _ => None,
            }
        }
        Expr::Member(object, name) => required(object).map(|module| format!("{module}.{name}")),
        _ => None,
    }
}

fn module_name(text: &str) -> String {
    text.trim_matches(['"', '\'', '`']).trim_start_matches("node:").to_owned()
}
