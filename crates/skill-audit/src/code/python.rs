//! Lowers Python.

use tree_sitter::Node;

use super::lowering::{self, Grammar, Lowering, augmented, builtin_call, number, unknown, unnamed};
use super::{Arg, Expr, Step, children, unquoted};

struct Python;

pub(super) fn steps(text: &str) -> Option<Vec<Step>> {
    lowering::steps::<Python>(text, &tree_sitter_python::LANGUAGE.into())
}

impl Grammar for Python {
    fn statement(code: &mut Lowering<'_, Self>, node: Node<'_>, depth: usize) {
        match node.kind() {
            "import_statement" => code.import(node),
            "import_from_statement" => code.import_from(node),
            "expression_statement" => {
                for child in children(node) {
                    code.expression_statement(child, depth);
                }
            }
            "function_definition" => code.function(node, depth),
            "with_item" | "for_statement" | "as_pattern" => {
                code.binding(node, depth);
                code.block(node, depth);
            }
            "string" => {}
            _ if is_expression(node) => code.push_expression(node, depth),
            _ => code.block(node, depth),
        }
    }

    fn expression(code: &mut Lowering<'_, Self>, node: Node<'_>, depth: usize) -> Expr {
        match node.kind() {
            "identifier" => Expr::Name(code.source(node).to_owned()),
            "string" => code.string(node, depth),
            "concatenated_string" => Expr::Join(code.all(node, depth)),
            "integer" => Expr::Number(number(code.source(node))),
            "attribute" => code.member(node, "attribute", depth),
            "subscript" => {
                let value = code.part(node, "value", depth);
                let index = match node.child_by_field_name("subscript") {
                    Some(slice) if slice.kind() == "slice" => {
                        Expr::Name(format!("slice:{}", code.source(slice)))
                    }
                    index => code.inner(index, depth),
                };
                Expr::Index(Box::new(value), Box::new(index))
            }
            "call" => {
                let function = Box::new(code.part(node, "function", depth));
                let args = node.child_by_field_name("arguments");
                let args = args.map(|args| code.arguments(args, depth)).unwrap_or_default();
                Expr::Call { function, args, range: node.byte_range() }
            }
            "binary_operator" => {
                let operator = code.field(node, "operator");
                let parts = code.all(node, depth);
                match operator.as_deref() {
                    Some("+") => Expr::Join(parts),
                    // `pathlib` joins paths with a slash.
                    Some("/") => Expr::Join(with_between(parts, "/")),
                    Some("%") => builtin_call("%", parts.into_iter().map(unnamed).collect(), node),
                    _ => Expr::Many(parts),
                }
            }
            "dictionary" => {
                let mut args = Vec::new();
                for child in children(node) {
                    let key = child.child_by_field_name("key").filter(|_| child.kind() == "pair");
                    let name = key
                        .filter(|key| key.kind() == "string")
                        .map(|key| code.source(key).trim_matches(['"', '\'']).to_owned());
                    match (name, child.child_by_field_name("value")) {
                        (Some(name), Some(value)) => {
                            let value = code.expression(value, depth + 1);
                            args.push(Arg { name: Some(name), value });
                        }
                        _ => args.push(unnamed(code.expression(child, depth + 1))),
                    }
                }
                builtin_call("{}", args, node)
            }
            "list" | "tuple" | "expression_list" => Expr::List(code.all(node, depth)),
            "parenthesized_expression" if node.named_child_count() == 1 => {
                code.inner(node.named_child(0), depth)
            }
            "await" => code.inner(node.named_child(0), depth),
            "list_comprehension"
            | "dictionary_comprehension"
            | "set_comprehension"
            | "generator_expression" => {
                // The clauses bind the names that the first child uses.
                let clauses =
                    children(node).into_iter().filter(|child| child.kind() == "for_in_clause");
                clauses.for_each(|clause| code.binding(clause, depth + 1));
                Expr::Many(code.all(node, depth))
            }
            "named_expression" => {
                code.expression_statement(node, depth + 1);
                code.field(node, "name").map_or_else(unknown, Expr::Name)
            }
            _ => Expr::Many(code.all(node, depth)),
        }
    }

    /// Returns the names that a target binds: `a`, `a, b`, and `d` for `d["x"]`.
    fn names(code: &Lowering<'_, Self>, node: Node<'_>) -> Vec<String> {
        match node.kind() {
            "identifier" | "attribute" => vec![code.source(node).to_owned()],
            "subscript" => code.names_of(node, "value"),
            _ => code.names_inside(node),
        }
    }
}

impl Lowering<'_, Python> {
    fn function(&mut self, node: Node<'_>, depth: usize) {
        let name = self.field(node, "name").unwrap_or_default();
        let parameters = node.child_by_field_name("parameters").map(children).unwrap_or_default();
        let parameters = parameters.into_iter().filter_map(|parameter| {
            let name = if parameter.kind() == "identifier" {
                Some(parameter)
            } else {
                parameter.child_by_field_name("name").or_else(|| parameter.named_child(0))
            };
            name.map(|name| self.source(name).to_owned())
        });
        let parameters = parameters.collect();
        self.define(name, parameters, |code| code.block(node, depth));
    }

    /// Binds the name of a loop or a `with` to the value that it iterates over or opens.
    fn binding(&mut self, node: Node<'_>, depth: usize) {
        let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"));
        let target = node.child_by_field_name("left").or_else(|| node.child_by_field_name("alias"));
        let Some(value) = value else { return };
        // `with open(x) as f` is a nested node.
        let (value, target) = if value.kind() == "as_pattern" {
            (value.named_child(0).unwrap_or(value), value.child_by_field_name("alias").or(target))
        } else {
            (value, target)
        };
        let value = self.expression(value, depth);
        let to = target.map(|target| self.names(target)).unwrap_or_default();
        self.steps.push(Step::Assign { to, value });
    }

    fn expression_statement(&mut self, node: Node<'_>, depth: usize) {
        if !matches!(node.kind(), "assignment" | "augmented_assignment" | "named_expression") {
            return self.push_expression(node, depth);
        }
        let left = node.child_by_field_name("left").or_else(|| node.child_by_field_name("name"));
        let to = left.map(|left| self.names(left)).unwrap_or_default();
        let Some(right) =
            node.child_by_field_name("right").or_else(|| node.child_by_field_name("value"))
        else {
            return;
        };
        if right.kind() == "assignment" {
            self.expression_statement(right, depth);
        }
        if right.kind() == "lambda"
            && let [name] = to.as_slice()
        {
            self.lambda(right, name, depth);
            return;
        }
        let mut value = self.expression(right, depth);
        if node.kind() == "augmented_assignment" {
            value = augmented(&to, value);
        }
        self.steps.push(Step::Assign { to, value });
    }

    /// Lowers a lambda that is assigned to a name.
    fn lambda(&mut self, node: Node<'_>, name: &str, depth: usize) {
        let parameters = self.names_of(node, "parameters");
        self.define(name.to_owned(), parameters, |code| {
            if let Some(body) = node.child_by_field_name("body") {
                let value = code.expression(body, depth + 1);
                code.returns(value);
            }
        });
    }

    fn import(&mut self, node: Node<'_>) {
        for child in children(node) {
            let Some((module, alias)) = self.imported(child) else { continue };
            match alias {
                Some(name) => self.steps.push(Step::Import { name, means: module }),
                None => {
                    let first = module.split('.').next().unwrap_or(&module).to_owned();
                    self.steps.push(Step::Import { name: first.clone(), means: first });
                }
            }
        }
    }

    fn import_from(&mut self, node: Node<'_>) {
        let Some(module) = node.child_by_field_name("module_name") else { return };
        let module_text = self.source(module).trim_start_matches('.').to_owned();
        for child in children(node).into_iter().filter(|child| child.id() != module.id()) {
            let Some((what, alias)) = self.imported(child) else { continue };
            let means = format!("{module_text}.{what}");
            self.steps.push(Step::Import { name: alias.unwrap_or(what), means });
        }
    }

    /// Returns the imported name and its alias.
    fn imported(&self, node: Node<'_>) -> Option<(String, Option<String>)> {
        match node.kind() {
            "aliased_import" => Some((self.field(node, "name")?, self.field(node, "alias"))),
            _ => Some((self.source(node).to_owned(), None)),
        }
    }

    fn arguments(&mut self, node: Node<'_>, depth: usize) -> Vec<Arg> {
        if node.kind() == "generator_expression" {
            return vec![unnamed(self.expression(node, depth + 1))];
        }
        let mut args = Vec::new();
        for child in children(node) {
            if child.kind() == "keyword_argument" {
                let name = self.field(child, "name");
                args.push(Arg { name, value: self.part(child, "value", depth) });
            } else {
                args.push(unnamed(self.expression(child, depth + 1)));
            }
        }
        args
    }

    fn string(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let is_raw =
            node.child(0).is_some_and(|start| self.source(start).to_lowercase().contains('r'));
        let mut parts = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "string_content" => {
                    let text = self.source(child);
                    parts.push(Expr::Text(if is_raw { text.to_owned() } else { unquoted(text) }));
                }
                "interpolation" => {
                    let inner =
                        child.child_by_field_name("expression").or_else(|| child.named_child(0));
                    parts.extend(inner.map(|inner| self.expression(inner, depth + 1)));
                }
                _ => {}
            }
        }
        match parts.len() {
            0 => Expr::Text(String::new()),
            1 => parts.remove(0),
            _ => Expr::Join(parts),
        }
    }
}

fn with_between(parts: Vec<Expr>, between: &str) -> Vec<Expr> {
    let mut all = Vec::new();
    for part in parts {
        if !all.is_empty() {
            all.push(Expr::Text(between.to_owned()));
        }
        all.push(part);
    }
    all
}

fn is_expression(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "call"
            | "identifier"
            | "attribute"
            | "subscript"
            | "binary_operator"
            | "comparison_operator"
            | "boolean_operator"
            | "not_operator"
            | "await"
            | "list"
            | "tuple"
            | "dictionary"
            | "conditional_expression"
            | "parenthesized_expression"
            | "lambda"
            | "list_comprehension"
            | "dictionary_comprehension"
            | "named_expression"
            | "yield"
    )
}
