//! Python, JavaScript and TypeScript: lowered to one small form, and followed from there.

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

/// An expression, as much of it as matters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// A text that is written out.
    Text(String),
    /// A number that is written out.
    Number(i64),
    /// A name.
    Name(String),
    /// Something of a value: `a.b`.
    Member(Box<Expr>, String),
    /// An item of a value: `a[b]`.
    Index(Box<Expr>, Box<Expr>),
    /// Texts put together.
    Join(Vec<Expr>),
    /// A list that is written out.
    List(Vec<Expr>),
    /// A call.
    Call { function: Box<Expr>, args: Vec<Arg>, range: Range<usize> },
    /// Anything made of these.
    Many(Vec<Expr>),
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arg {
    pub(crate) name: Option<String>,
    pub(crate) value: Expr,
}

/// One step of a program, in the order it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Names get a value.
    Assign { to: Vec<String>, value: Expr },
    /// A function is defined; its parameters by name.
    Function { name: String, parameters: Vec<String> },
    /// A function gives a value back.
    Return { function: String, value: Expr },
    /// A name stands for something of a module from here on.
    Import { name: String, means: String },
    /// Something is done.
    Do(Expr),
}

/// How deep things are looked for inside each other.
const MAX_DEPTH: usize = 200;

/// Looks at Python code in a text.
pub(crate) fn python_code(text: &str, scene: &mut OpCollector) {
    match python::steps(text) {
        Some(steps) => Program::default().run(&steps, scene),
        None => scene.is_cut = true,
    }
}

/// Looks at JavaScript code in a text.
pub(crate) fn javascript_code(text: &str, scene: &mut OpCollector) {
    match javascript::steps(text, javascript::Dialect::TypeScript) {
        Some(steps) => Program::default().run(&steps, scene),
        None => scene.is_cut = true,
    }
}

/// Returns the steps of a file, by the language that it is in; `None` if it cannot be read.
pub(crate) fn steps_of(text: &str, kind: crate::artifact::Kind) -> Option<Vec<Step>> {
    match kind {
        crate::artifact::Kind::Python => python::steps(text),
        crate::artifact::Kind::JavaScript => {
            javascript::steps(text, javascript::Dialect::JavaScript)
        }
        crate::artifact::Kind::TypeScript => {
            javascript::steps(text, javascript::Dialect::TypeScript)
        }
        _ => None,
    }
}

/// How much work a grammar may be for one text: hundreds of steps, and one more for so many bytes.
const STEPS: usize = 200;
const BYTES_A_STEP: usize = 24;

fn parse(text: &str, language: &Language) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    shell::parse_within(&mut parser, text, STEPS + text.len() / BYTES_A_STEP)
}

fn children<'a>(node: Node<'a>) -> Vec<Node<'a>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Resolves escapes in a quoted text of either language.
fn unquoted(text: &str) -> String {
    shell::sketch::escapes(&text.replace("\\\n", ""))
}
