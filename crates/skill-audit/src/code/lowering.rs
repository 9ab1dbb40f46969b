//! Lowering shared by all languages: a bounded walk over a syntax tree that collects steps in source order.

use std::marker::PhantomData;

use tree_sitter::{Language, Node};

use super::{Arg, Expr, MAX_DEPTH, Step, children, parse};
use crate::excerpt::slice;

/// The language-specific part: how nodes become steps and expressions.
pub(super) trait Grammar: Sized {
    /// Lowers a statement.
    fn statement(code: &mut Lowering<'_, Self>, node: Node<'_>, depth: usize);

    /// Lowers an expression within the depth limit.
    fn expression(code: &mut Lowering<'_, Self>, node: Node<'_>, depth: usize) -> Expr;

    /// Returns the names that an assignment target binds.
    fn names(code: &Lowering<'_, Self>, node: Node<'_>) -> Vec<String>;
}

/// The state of lowering one text.
pub(super) struct Lowering<'a, G> {
    pub(super) text: &'a str,
    pub(super) steps: Vec<Step>,
    /// The enclosing function.
    function: String,
    /// Whether the depth limit was exceeded.
    is_truncated: bool,
    grammar: PhantomData<G>,
}

/// Returns the steps of code; `None` if it cannot be parsed or is nested too deeply.
pub(super) fn steps<G: Grammar>(text: &str, language: &Language) -> Option<Vec<Step>> {
    let tree = parse(text, language)?;
    let (steps, function, grammar) = (Vec::new(), String::new(), PhantomData::<G>);
    let mut code = Lowering { text, steps, function, is_truncated: false, grammar };
    code.block(tree.root_node(), 0);
    (!code.is_truncated).then_some(code.steps)
}

/// Returns an unknown expression.
pub(super) fn unknown() -> Expr {
    Expr::Many(Vec::new())
}

impl<G: Grammar> Lowering<'_, G> {
    pub(super) fn source(&self, node: Node<'_>) -> &str {
        slice(self.text, node.byte_range())
    }

    /// Returns the text of a field of a node.
    pub(super) fn field(&self, node: Node<'_>, name: &str) -> Option<String> {
        node.child_by_field_name(name).map(|part| self.source(part).to_owned())
    }

    pub(super) fn names(&self, node: Node<'_>) -> Vec<String> {
        G::names(self, node)
    }

    /// Returns the names that the children of a node bind.
    pub(super) fn names_inside(&self, node: Node<'_>) -> Vec<String> {
        children(node).into_iter().flat_map(|child| self.names(child)).collect()
    }

    /// Returns the names that a field of a node binds.
    pub(super) fn names_of(&self, node: Node<'_>, field: &str) -> Vec<String> {
        node.child_by_field_name(field).map(|part| self.names(part)).unwrap_or_default()
    }

    pub(super) fn block(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_truncated = true;
            return;
        }
        for child in children(node) {
            self.statement(child, depth + 1);
        }
    }

    pub(super) fn statement(&mut self, node: Node<'_>, depth: usize) {
        match node.kind() {
            "comment" => {}
            "return_statement" => {
                for value in children(node) {
                    let value = self.expression(value, depth);
                    self.returns(value);
                }
            }
            _ => G::statement(self, node, depth),
        }
    }

    pub(super) fn expression(&mut self, node: Node<'_>, depth: usize) -> Expr {
        if depth > MAX_DEPTH {
            self.is_truncated = true;
            return unknown();
        }
        match node.kind() {
            "comment" => unknown(),
            _ => G::expression(self, node, depth),
        }
    }

    /// Lowers an optional node inside an expression.
    pub(super) fn inner(&mut self, node: Option<Node<'_>>, depth: usize) -> Expr {
        node.map_or_else(unknown, |node| self.expression(node, depth + 1))
    }

    /// Lowers an optional field of an expression.
    pub(super) fn part(&mut self, node: Node<'_>, field: &str, depth: usize) -> Expr {
        self.inner(node.child_by_field_name(field), depth)
    }

    /// Lowers all children of an expression.
    pub(super) fn all(&mut self, node: Node<'_>, depth: usize) -> Vec<Expr> {
        children(node).into_iter().map(|child| self.expression(child, depth + 1)).collect()
    }

    /// Lowers `a.b`.
    pub(super) fn member(&mut self, node: Node<'_>, property: &str, depth: usize) -> Expr {
        let object = self.part(node, "object", depth);
        Expr::Member(Box::new(object), self.field(node, property).unwrap_or_default())
    }

    /// Adds a step that evaluates an expression.
    pub(super) fn push_expression(&mut self, node: Node<'_>, depth: usize) {
        let value = self.expression(node, depth);
        self.steps.push(Step::Do(value));
    }

    /// Adds a step that returns a value from the enclosing function.
    pub(super) fn returns(&mut self, value: Expr) {
        self.steps.push(Step::Return { function: self.function.clone(), value });
    }

    /// Adds a function definition and lowers its body inside it.
    pub(super) fn define(
        &mut self,
        name: String,
        parameters: Vec<String>,
        body: impl FnOnce(&mut Self),
    ) {
        self.steps.push(Step::Function { name: name.clone(), parameters });
        let around = std::mem::replace(&mut self.function, name);
        body(self);
        self.function = around;
    }
}

/// Returns the new value of `a` in `a += b`.
pub(super) fn augmented(to: &[String], value: Expr) -> Expr {
    Expr::Join(to.first().cloned().map(Expr::Name).into_iter().chain([value]).collect())
}

/// Returns a call of a built-in operation that is not a function in the language.
pub(super) fn builtin_call(function: &str, args: Vec<Arg>, node: Node<'_>) -> Expr {
    let function = Box::new(Expr::Name(function.to_owned()));
    Expr::Call { function, args, range: node.byte_range() }
}

/// Returns a positional argument.
pub(super) fn unnamed(value: Expr) -> Arg {
    Arg { name: None, value }
}

/// Parses a number literal of either language.
pub(super) fn number(text: &str) -> i64 {
    let text = text.replace('_', "").to_lowercase();
    for (start, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.strip_prefix(start) {
            return i64::from_str_radix(digits, radix).unwrap_or(0);
        }
    }
    text.parse().unwrap_or(0)
}
