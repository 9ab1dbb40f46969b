//! What both programs show people, and how.
//!
//! Text of a skill is a stranger's text: everything that is shown goes through [`safe_line`] or
//! [`safe_text`], so that it can neither steer the terminal nor pretend to be something else.

mod completions;
mod count;
mod environment;
mod json;
mod manual;
mod progress;
mod safe;
pub mod sarif;
mod snippet;
mod table;
mod ui;
mod usage;

pub use completions::{CompletionShell, complete_if_asked, completions, names};
pub use count::counted;
pub use environment::with_environment;
pub use json::{DiagnosticJson, ErrorJson, FailureJson};
pub use manual::{ManualArgs, ManualFormat, manual};
pub use progress::{Progress, Running};
pub use safe::{safe_line, safe_text};
pub use snippet::{Palette, render};
pub use table::{headed_table, table, whole_table};
pub use ui::{ColorChoice, Ui};
pub use usage::{tell_usage, usage_hint, usage_message, version_if_asked};
