//! Analyzes Python, JavaScript and TypeScript: lowers them to one small form and traces values through it.

mod calls;
mod evaluate;
mod javascript;
mod library;
mod lowering;
mod network;
mod python;
mod texts;

use std::ops::Range;

use tree_sitter::{Language, Node, Parser, Tree};

use crate::op::OpCollector;

pub(crate) use evaluate::{Program, Shared};

/// An expression, reduced to what the analysis needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// A string literal.
    Text(String),
    /// A number literal.
    Number(i64),
    /// A name.
    Name(String),
    /// A member: `a.b`.
    Member(Box<Expr>, String),
    /// An item: `a[b]`.
    Index(Box<Expr>, Box<Expr>),
    /// Concatenated strings.
    Join(Vec<Expr>),
    /// A list literal.
    List(Vec<Expr>),
    /// A call.
    Call { function: Box<Expr>, args: Vec<Arg>, range: Range<usize> },
    /// Anything else that contains these expressions.
    Many(Vec<Expr>),
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arg {
    pub(crate) name: Option<String>,
    pub(crate) value: Expr,
}

/// A statement of a program, in source order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Assigns a value to names.
    Assign { to: Vec<String>, value: Expr },
    /// Defines a function.
    Function { name: String, parameters: Vec<String> },
    /// Returns a value from a function.
    Return { function: String, value: Expr },
    /// Imports a module, or a member of one, under a name.
    Import { name: String, means: String },
    /// Evaluates an expression.
    Do(Expr),
}

/// The maximum nesting of the syntax tree.
const MAX_DEPTH: usize = 200;

/// Analyzes Python code.
pub(crate) fn python_code(text: &str, collector: &mut OpCollector) {
    match python::steps(text) {
        Some(steps) => Program::default().run(&steps, collector),
        None => collector.is_truncated = true,
    }
}

/// Analyzes JavaScript code.
pub(crate) fn javascript_code(text: &str, collector: &mut OpCollector) {
    match javascript::steps(text, javascript::Dialect::TypeScript) {
        Some(steps) => Program::default().run(&steps, collector),
        None => collector.is_truncated = true,
    }
}

/// Returns the steps of a file; `None` if it cannot be parsed.
pub(crate) fn steps_of(text: &str, kind: crate::artifact::FileKind) -> Option<Vec<Step>> {
    match kind {
        crate::artifact::FileKind::Python => python::steps(text),
        crate::artifact::FileKind::JavaScript => {
            javascript::steps(text, javascript::Dialect::JavaScript)
        }
        crate::artifact::FileKind::TypeScript => {
            javascript::steps(text, javascript::Dialect::TypeScript)
        }
        _ => None,
    }
}

/// The parser's budget for a text: a fixed number of steps, and one more per `BYTES_PER_STEP` bytes.
const STEPS: usize = 200;
const BYTES_PER_STEP: usize = 24;

fn parse(text: &str, language: &Language) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    shell::parse_within(&mut parser, text, STEPS + text.len() / BYTES_PER_STEP)
}

fn children<'a>(node: Node<'a>) -> Vec<Node<'a>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Resolves escapes in a string literal of either language.
fn unquoted(text: &str) -> String {
    shell::sketch::escapes(&text.replace("\\\n", ""))
}
