//! What a skill could do, found by reading it: no network, no model, no file but those that are handed over.
//!
//! [`audit`] takes the files of a skill as bytes. It takes Markdown apart by roles, parses every command and script, decodes what is hidden,
//! follows secrets to where they go, and says what it found, what the skill can do, and what follows from that. The same bytes give the same
//! report, on any machine and with any number of threads.

mod about;
mod artifact;
mod code;
mod cues;
mod decode;
mod entries;
mod finding;
mod generic;
mod hosts;
mod inspect;
mod markdown;
mod near;
mod normal;
mod observed;
mod op;
mod paths;
mod programs;
mod report;
mod rules;
mod shell_code;
pub mod show;
mod undeclared;
mod value;

pub use artifact::{File, Kind};
pub use decode::Encoding;
pub use finding::{Finding, FlowStep, LineRange, Severity, Verdict, verdict};
pub use hosts::{HostClass, Remote};
pub use observed::{Observed, ObservedChange, ObservedKind};
pub use op::{Action, Location, Op, Role};
pub use report::{BundleReport, Report, Suppressed, audit};
pub use rules::{RULES, RULESET, Rule, RuleId};
