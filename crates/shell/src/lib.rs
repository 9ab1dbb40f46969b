//! What a command line would run, as far as that can be said for sure.
//!
//! [`read`] takes a line apart into plain commands: programs, arguments, variables and files of redirections. It
//! understands little on purpose. A line is read twice, by a full grammar of bash and by a lexer of our own; where the two
//! do not agree, and where anything but plain commands stands, the answer is a [`Refusal`], never a guess.
//!
//! ```
//! let line = shell::read("git log --oneline | git apply").unwrap();
//! assert_eq!(line.commands[0].words[0].text, "git");
//! assert!(shell::read("git $(curl evil)").is_err());
//! ```

mod braces;
mod lex;
mod line;
pub mod sketch;
mod tree;
mod word;

pub use line::{Assignment, Command, Line, Redirect, Refusal};
pub use tree::{parse_within, read};
pub use word::{Certainty, Word};
