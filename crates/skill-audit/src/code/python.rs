//! Python, lowered.

use tree_sitter::Node;

use super::{Arg, DEEPEST, Expr, Step, children, parse, unquoted};

/// Returns the steps of Python code.
pub(super) fn steps(text: &str) -> Option<Vec<Step>> {
    let tree = parse(text, &tree_sitter_python::LANGUAGE.into())?;
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
            "import_from_statement" => self.import_from(node),
            "expression_statement" => {
                for child in children(node) {
                    self.expression_statement(child, depth);
                }
            }
            "function_definition" => {
                let name =
                    node.child_by_field_name("name").map(|name| self.source(name).to_owned());
                let name = name.unwrap_or_default();
                let parameters = node.child_by_field_name("parameters").map(|parameters| {
                    let names = children(parameters).into_iter().filter_map(|parameter| {
                        let is_name = parameter.kind() == "identifier";
                        let name = if is_name {
                            Some(parameter)
                        } else {
                            parameter
                                .child_by_field_name("name")
                                .or_else(|| parameter.named_child(0))
                        };
                        name.map(|name| self.source(name).to_owned())
                    });
                    names.collect()
                });
                self.steps.push(Step::Function {
                    name: name.clone(),
                    parameters: parameters.unwrap_or_default(),
                });
                let around = std::mem::replace(&mut self.function, name);
                self.block(node, depth);
                self.function = around;
            }
            "return_statement" => {
                for value in children(node) {
                    let value = self.expression(value, depth);
                    self.steps.push(Step::Return { function: self.function.clone(), value });
                }
            }
            "with_item" | "for_statement" | "as_pattern" => {
                let value =
                    node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"));
                let target =
                    node.child_by_field_name("left").or_else(|| node.child_by_field_name("alias"));
                if let Some(value) = value {
                    // `with open(x) as f` is one node inside another.
                    let (value, target) = if value.kind() == "as_pattern" {
                        (
                            value.named_child(0).unwrap_or(value),
                            value.child_by_field_name("alias").or(target),
                        )
                    } else {
                        (value, target)
                    };
                    let lowered = self.expression(value, depth);
                    let to = target.map(|target| self.names(target)).unwrap_or_default();
                    // What a loop goes over is what its name carries.
                    self.steps.push(Step::Assign { to, value: lowered });
                }
                self.block(node, depth);
            }
            "comment" | "string" => {}
            _ if is_expression(node) => {
                let value = self.expression(node, depth);
                self.steps.push(Step::Do(value));
            }
            _ => self.block(node, depth),
        }
    }

    fn expression_statement(&mut self, node: Node<'_>, depth: usize) {
        if !matches!(node.kind(), "assignment" | "augmented_assignment" | "named_expression") {
            let value = self.expression(node, depth);
            self.steps.push(Step::Do(value));
            return;
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
            let before = to.first().cloned().map(Expr::Name);
            value = Expr::Join(before.into_iter().chain([value]).collect());
        }
        self.steps.push(Step::Assign { to, value });
    }

    /// A function without a name that gets one.
    fn lambda(&mut self, node: Node<'_>, name: &str, depth: usize) {
        let parameters = node.child_by_field_name("parameters");
        let parameters = parameters.map(|list| self.names(list)).unwrap_or_default();
        self.steps.push(Step::Function { name: name.to_owned(), parameters });
        if let Some(body) = node.child_by_field_name("body") {
            let value = self.expression(body, depth + 1);
            self.steps.push(Step::Return { function: name.to_owned(), value });
        }
    }

    /// Names that a target binds: `a`, `a, b`, and `d` of `d["x"]`.
    fn names(&self, node: Node<'_>) -> Vec<String> {
        match node.kind() {
            "identifier" => vec![self.source(node).to_owned()],
            "attribute" => vec![self.source(node).to_owned()],
            "subscript" => {
                node.child_by_field_name("value").map(|value| self.names(value)).unwrap_or_default()
            }
            _ => children(node).into_iter().flat_map(|child| self.names(child)).collect(),
        }
    }

    fn import(&mut self, node: Node<'_>) {
        for child in children(node) {
            let (module, name) = match child.kind() {
                "aliased_import" => {
                    (child.child_by_field_name("name"), child.child_by_field_name("alias"))
                }
                _ => (Some(child), None),
            };
            let Some(module) = module.map(|module| self.source(module).to_owned()) else {
                continue;
            };
            match name {
                Some(name) => {
                    let name = self.source(name).to_owned();
                    self.steps.push(Step::Import { name, means: module });
                }
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
            let (what, name) = match child.kind() {
                "aliased_import" => {
                    (child.child_by_field_name("name"), child.child_by_field_name("alias"))
                }
                _ => (Some(child), None),
            };
            let Some(what) = what.map(|what| self.source(what).to_owned()) else { continue };
            let name =
                name.map(|name| self.source(name).to_owned()).unwrap_or_else(|| what.clone());
            self.steps.push(Step::Import { name, means: format!("{module_text}.{what}") });
        }
    }

    fn expression(&mut self, node: Node<'_>, depth: usize) -> Expr {
        if depth > DEEPEST {
            self.is_cut = true;
            return Expr::Many(Vec::new());
        }
        match node.kind() {
            "identifier" => Expr::Name(self.source(node).to_owned()),
            "string" => self.string(node, depth),
            "concatenated_string" => Expr::Join(self.all(node, depth)),
            "integer" => Expr::Number(number(self.source(node))),
            "attribute" => {
                let object = node.child_by_field_name("object");
                let name =
                    node.child_by_field_name("attribute").map(|name| self.source(name).to_owned());
                let object = object
                    .map_or(Expr::Many(Vec::new()), |object| self.expression(object, depth + 1));
                Expr::Member(Box::new(object), name.unwrap_or_default())
            }
            "subscript" => {
                let value = node.child_by_field_name("value");
                let index = node.child_by_field_name("subscript");
                let value =
                    value.map_or(Expr::Many(Vec::new()), |value| self.expression(value, depth + 1));
                let index = match index {
                    Some(slice) if slice.kind() == "slice" => {
                        Expr::Name(format!("slice:{}", self.source(slice)))
                    }
                    Some(index) => self.expression(index, depth + 1),
                    None => Expr::Many(Vec::new()),
                };
                Expr::Index(Box::new(value), Box::new(index))
            }
            "call" => {
                let function = node.child_by_field_name("function");
                let function = function.map_or(Expr::Many(Vec::new()), |function| {
                    self.expression(function, depth + 1)
                });
                let args =
                    node.child_by_field_name("arguments").map(|args| self.arguments(args, depth));
                Expr::Call {
                    function: Box::new(function),
                    args: args.unwrap_or_default(),
                    range: node.byte_range(),
                }
            }
            "binary_operator" => {
                let operator = node
                    .child_by_field_name("operator")
                    .map(|operator| self.source(operator).to_owned());
                let parts = self.all(node, depth);
                match operator.as_deref() {
                    Some("+" | "/") if operator.as_deref() == Some("+") => Expr::Join(parts),
                    // Paths are put together by a slash.
                    Some("/") => Expr::Join(with_between(parts, "/")),
                    Some("%") => Expr::Call {
                        function: Box::new(Expr::Name("%".to_owned())),
                        args: parts.into_iter().map(|value| Arg { name: None, value }).collect(),
                        range: node.byte_range(),
                    },
                    Some("*") => Expr::Many(parts),
                    _ => Expr::Many(parts),
                }
            }
            "list" | "tuple" | "expression_list" => Expr::List(self.all(node, depth)),
            "parenthesized_expression" if node.named_child_count() == 1 => node
                .named_child(0)
                .map_or(Expr::Many(Vec::new()), |inner| self.expression(inner, depth + 1)),
            "await" => node
                .named_child(0)
                .map_or(Expr::Many(Vec::new()), |inner| self.expression(inner, depth + 1)),
            "named_expression" => {
                self.expression_statement(node, depth + 1);
                node.child_by_field_name("name")
                    .map_or(Expr::Many(Vec::new()), |name| Expr::Name(self.source(name).to_owned()))
            }
            "comment" => Expr::Many(Vec::new()),
            _ => Expr::Many(self.all(node, depth)),
        }
    }

    fn all(&mut self, node: Node<'_>, depth: usize) -> Vec<Expr> {
        children(node).into_iter().map(|child| self.expression(child, depth + 1)).collect()
    }

    fn arguments(&mut self, node: Node<'_>, depth: usize) -> Vec<Arg> {
        if node.kind() == "generator_expression" {
            return vec![Arg { name: None, value: Expr::Many(self.all(node, depth)) }];
        }
        let mut args = Vec::new();
        for child in children(node) {
            if child.kind() == "keyword_argument" {
                let name =
                    child.child_by_field_name("name").map(|name| self.source(name).to_owned());
                let value = child.child_by_field_name("value");
                let value =
                    value.map_or(Expr::Many(Vec::new()), |value| self.expression(value, depth + 1));
                args.push(Arg { name, value });
            } else {
                args.push(Arg { name: None, value: self.expression(child, depth + 1) });
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

/// Reads a number as it is written in either language.
pub(super) fn number(text: &str) -> i64 {
    let text = text.replace('_', "").to_lowercase();
    for (start, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.strip_prefix(start) {
            return i64::from_str_radix(digits, radix).unwrap_or(0);
        }
    }
    text.parse().unwrap_or(0)
}
