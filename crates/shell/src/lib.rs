//! Determines what a command line would run, as far as that is certain.
//!
//! [`read`] splits a line into plain commands: programs, arguments, variables and redirections. It supports only a small
//! subset on purpose. A line is parsed twice, with a full bash grammar and with our own lexer. If the two disagree, or the
//! line contains anything other than plain commands, the result is a [`Refusal`], never a guess.
//!
//! ```
//! let line = shell::read("git log --oneline | git apply").unwrap();
//! assert_eq!(line.commands[0].words[0].text, "git");
//! assert!(shell::read("git $(curl evil)").is_err());
//! ```

#![warn(clippy::string_slice)]

mod braces;
mod lex;
mod line;
pub mod sketch;
mod text;
mod tree;
mod word;

pub use line::{Assignment, Command, Line, Redirect, Refusal};
pub use text::{floor, slice};
pub use tree::{parse_within, read};
pub use word::{Certainty, Word};
