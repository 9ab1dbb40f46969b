//! The command-line framework of both programs, and their terminal output.
//!
//! [`main`] parses the arguments, runs the command and returns its exit code. A [`Program`] provides the commands and maps
//! errors to reports. Text from a skill is untrusted: everything that is shown goes through [`safe_line`] or [`safe_text`],
//! so that it can neither control the terminal nor imitate other output.

mod completions;
mod count;
mod environment;
mod exit_code;
mod failure;
mod help;
mod json;
mod manual;
mod program;
mod progress;
mod report;
mod safe;
pub mod sarif;
mod snippet;
mod table;
mod ui;
mod usage;

pub use completions::{CompletionShell, completions, names};
pub use count::counted;
pub use exit_code::{BROKEN_PIPE, ExitCodeHelp, USAGE, exit_code_section, exit_code_table};
pub use failure::{Failure, FailureKind};
pub use help::HelpText;
pub use json::{DiagnosticJson, ErrorJson, FailureJson};
pub use manual::{ManualArgs, ManualFormat};
pub use program::{GlobalArgs, Program, commands, main, note_waiting};
pub use progress::{Progress, Running};
pub use report::{ErrorFormat, ErrorReport};
pub use safe::{safe_line, safe_text};
pub use snippet::{Palette, render};
pub use table::{headed_table, table, whole_table};
pub use ui::{ColorChoice, Ui};
