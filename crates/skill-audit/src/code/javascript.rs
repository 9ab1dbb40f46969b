//! JavaScript and TypeScript, lowered.

use tree_sitter::Node;

use super::python::number;
use super::{Arg, DEEPEST, Expr, Step, children, parse, unquoted};

/// Which grammar a text is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    JavaScript,
    TypeScript,
}

/// Returns the steps of the code.
pub(super) fn steps(text: &str, dialect: Dialect) -> Option<Vec<Step>> {
    let language = match dialect {
        Dialect::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Dialect::TypeScript => tree_sitter_typescript::LANGUAGE_TSX.into(),
    };
    let tree = parse(text, &language)?;
    let mut lowering = Lowering { text, steps: Vec::new(), function: String::new(), is_cut: false };
    lowering.block(tree.root_node(), 0);
    (!lowering.is_cut).then_some(lowering.steps)
}

struct Lowering<'a> {
    text: &'a str,
    steps: Vec<Step>,
    function: String,
    /// Whether something stands deeper than is looked.
    is_cut: bool,
}

impl Lowering<'_> {
    fn source(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    fn block(&mut self, node: Node<'_>, depth: usize) {
        if depth > DEEPEST {
            self.is_cut = true;
            return;
        }
        for child in children(node) {
            self.statement(child, depth + 1);
        }
    }

    fn statement(&mut self, node: Node<'_>, depth: usize) {
        match node.kind() {
            "import_statement" => self.import(node),
            "variable_declarator" => self.declarator(node, depth),
            "expression_statement" => {
                for child in children(node) {
                    let value = self.expression(child, depth);
                    self.steps.push(Step::Do(value));
                }
            }
            "function_declaration" | "method_definition" | "generator_function_declaration" => {
                let name =
                    node.child_by_field_name("name").map(|name| self.source(name).to_owned());
                self.function(node, name.unwrap_or_default(), depth);
            }
            "return_statement" => {
                for value in children(node) {
                    let value = self.expression(value, depth);
                    self.steps.push(Step::Return { function: self.function.clone(), value });
                }
            }
            "for_in_statement" => {
                if let (Some(left), Some(right)) =
                    (node.child_by_field_name("left"), node.child_by_field_name("right"))
                {
                    let value = self.expression(right, depth);
                    let to = self.names(left);
                    self.steps.push(Step::Assign { to, value });
                }
                if let Some(body) = node.child_by_field_name("body") {
                    self.statement(body, depth);
                }
            }
            "comment" => {}
            kind if kind.ends_with("_expression") || kind == "identifier" => {
                let value = self.expression(node, depth);
                self.steps.push(Step::Do(value));
            }
            _ => self.block(node, depth),
        }
    }

    fn function(&mut self, node: Node<'_>, name: String, depth: usize) {
        let list = node
            .child_by_field_name("parameters")
            .or_else(|| node.child_by_field_name("parameter"));
        let parameters = list.map(|list| {
            if list.kind() == "identifier" {
                vec![self.source(list).to_owned()]
            } else {
                children(list)
                    .into_iter()
                    .flat_map(|one| self.names(one).into_iter().take(1))
                    .collect()
            }
        });
        self.steps.push(Step::Function {
            name: name.clone(),
            parameters: parameters.unwrap_or_default(),
        });
        let around = std::mem::replace(&mut self.function, name);
        if let Some(body) = node.child_by_field_name("body") {
            if body.kind() == "statement_block" {
                self.block(body, depth);
            } else {
                let value = self.expression(body, depth + 1);
                self.steps.push(Step::Return { function: self.function.clone(), value });
            }
        }
        self.function = around;
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
        // `const { exec } = child` takes a part of a value.
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
                    let what =
                        child.child_by_field_name("name").map(|name| self.source(name).to_owned());
                    let name = child
                        .child_by_field_name("alias")
                        .map(|alias| self.source(alias).to_owned());
                    if let Some(what) = what {
                        let means = format!("{module}.{what}");
                        self.steps.push(Step::Import { name: name.unwrap_or(what), means });
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

    fn names(&self, node: Node<'_>) -> Vec<String> {
        match node.kind() {
            "identifier"
            | "shorthand_property_identifier_pattern"
            | "property_identifier"
            | "this" => vec![self.source(node).to_owned()],
            "member_expression" => vec![self.source(node).to_owned()],
            "subscript_expression" => node
                .child_by_field_name("object")
                .map(|object| self.names(object))
                .unwrap_or_default(),
            "pair_pattern" => {
                node.child_by_field_name("value").map(|value| self.names(value)).unwrap_or_default()
            }
            "type_annotation" => Vec::new(),
            _ => children(node).into_iter().flat_map(|child| self.names(child)).collect(),
        }
    }

    fn expression(&mut self, node: Node<'_>, depth: usize) -> Expr {
        if depth > DEEPEST {
            self.is_cut = true;
            return Expr::Many(Vec::new());
        }
        let nothing = || Expr::Many(Vec::new());
        match node.kind() {
            "identifier" | "this" | "super" => Expr::Name(self.source(node).to_owned()),
            "string" => {
                let text = self.source(node);
                let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
                Expr::Text(unquoted(inner))
            }
            "template_string" => self.template(node, depth),
            "number" => Expr::Number(number(self.source(node))),
            "member_expression" => {
                let object = node
                    .child_by_field_name("object")
                    .map_or_else(nothing, |object| self.expression(object, depth + 1));
                let name =
                    node.child_by_field_name("property").map(|name| self.source(name).to_owned());
                Expr::Member(Box::new(object), name.unwrap_or_default())
            }
            "subscript_expression" => {
                let object = node
                    .child_by_field_name("object")
                    .map_or_else(nothing, |object| self.expression(object, depth + 1));
                let index = node
                    .child_by_field_name("index")
                    .map_or_else(nothing, |index| self.expression(index, depth + 1));
                Expr::Index(Box::new(object), Box::new(index))
            }
            "call_expression" | "new_expression" => {
                let function = node
                    .child_by_field_name("function")
                    .or_else(|| node.child_by_field_name("constructor"));
                let function =
                    function.map_or_else(nothing, |function| self.expression(function, depth + 1));
                let args = node.child_by_field_name("arguments").map(|args| {
                    if args.kind() == "template_string" {
                        return vec![Arg { name: None, value: self.template(args, depth) }];
                    }
                    children(args)
                        .into_iter()
                        .map(|arg| Arg { name: None, value: self.expression(arg, depth + 1) })
                        .collect()
                });
                Expr::Call {
                    function: Box::new(function),
                    args: args.unwrap_or_default(),
                    range: node.byte_range(),
                }
            }
            "binary_expression" => {
                let is_sum = node
                    .child_by_field_name("operator")
                    .is_some_and(|operator| self.source(operator) == "+");
                let parts = self.all(node, depth);
                if is_sum { Expr::Join(parts) } else { Expr::Many(parts) }
            }
            "array" => Expr::List(self.all(node, depth)),
            "object" => self.object(node, depth),
            "assignment_expression" | "augmented_assignment_expression" => {
                let to = node
                    .child_by_field_name("left")
                    .map(|left| self.names(left))
                    .unwrap_or_default();
                let value = node
                    .child_by_field_name("right")
                    .map_or_else(nothing, |right| self.expression(right, depth + 1));
                let value = if node.kind().starts_with("augmented") {
                    Expr::Join(
                        to.first().cloned().map(Expr::Name).into_iter().chain([value]).collect(),
                    )
                } else {
                    value
                };
                self.steps.push(Step::Assign { to, value: value.clone() });
                value
            }
            "parenthesized_expression"
            | "await_expression"
            | "as_expression"
            | "non_null_expression"
            | "spread_element"
            | "satisfies_expression" => {
                node.named_child(0).map_or_else(nothing, |inner| self.expression(inner, depth + 1))
            }
            "arrow_function" | "function_expression" | "function" => {
                // What a function does is looked at where it stands.
                self.function(node, String::new(), depth + 1);
                nothing()
            }
            "comment" => nothing(),
            _ => Expr::Many(self.all(node, depth)),
        }
    }

    fn all(&mut self, node: Node<'_>, depth: usize) -> Vec<Expr> {
        children(node).into_iter().map(|child| self.expression(child, depth + 1)).collect()
    }

    /// An object is its values, each under its name.
    fn object(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let mut args = Vec::new();
        for child in children(node) {
            match child.kind() {
                "pair" => {
                    let name = self.key(child);
                    if let Some(value) = child.child_by_field_name("value") {
                        args.push(Arg {
                            name: Some(name),
                            value: self.expression(value, depth + 1),
                        });
                    }
                }
                "shorthand_property_identifier" => {
                    let name = self.source(child).to_owned();
                    args.push(Arg { name: Some(name.clone()), value: Expr::Name(name) });
                }
                _ => args.push(Arg { name: None, value: self.expression(child, depth + 1) }),
            }
        }
        Expr::Call {
            function: Box::new(Expr::Name("{}".to_owned())),
            args,
            range: node.byte_range(),
        }
    }

    fn template(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let mut parts = Vec::new();
        let mut at = node.start_byte() + 1;
        for child in children(node) {
            if child.kind() == "template_substitution" {
                parts.push(Expr::Text(unquoted(&self.text[at..child.start_byte()])));
                parts.extend(self.all(child, depth));
                at = child.end_byte();
            }
        }
        let end = node.end_byte().saturating_sub(1).max(at);
        parts.push(Expr::Text(unquoted(&self.text[at..end])));
        Expr::Join(parts)
    }
}

/// `require("x")`, also through what is taken from it.
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
