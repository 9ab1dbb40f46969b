//! Static analysis of skills: what a skill can do, and what looks malicious. No network, no model, no file access.
//!
//! [`audit`] takes the files of a skill as bytes. It splits Markdown into roles, parses every command and script,
//! decodes hidden text and traces secrets to where they are sent. It reports findings, the capabilities in use and a
//! verdict. The same bytes give the same report on any machine, with any number of threads.

#![warn(clippy::string_slice)]

mod artifact;
mod code;
mod contained;
mod contents;
mod cues;
mod decode;
mod entries;
mod evidence;
mod excerpt;
mod finding;
mod generic;
mod hosts;
mod inspect;
mod markdown;
mod normalization;
mod observed;
mod op;
mod paths;
mod programs;
mod reached;
mod report;
mod rules;
mod shell_code;
pub mod show;
mod topic;
mod undeclared;
mod value;

pub use artifact::{File, FileKind};
pub use contained::abort_on_other_panics;
pub use decode::Encoding;
pub use finding::{Finding, FlowStep, LineRange, Severity, Verdict, verdict};
pub use hosts::{HostClass, Remote};
pub use observed::{Observed, ObservedChange, ObservedKind};
pub use op::{Action, Location, Op, Protection, Role};
pub use report::{BundleReport, Report, Suppressed, audit};
pub use rules::{RULES, RULESET, Rule, RuleId};
