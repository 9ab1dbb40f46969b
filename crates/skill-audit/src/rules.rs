//! The audit rules. Every rule describes what it finds, with an example and a fix; docs/audit-rules.md is generated
//! from these texts.

mod archives;
mod catalogue;
mod code;
mod conduct;
mod delivery;
mod instructions;
mod letters;
mod opaque;
mod packages;
mod steps;

use std::fmt;

use crate::cues::Cue;
use crate::decode::Encoding;
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::InspectedFile;
use crate::op::{Location, Role};
use crate::topic::SkillTopic;

pub use catalogue::RULES;

/// The version of the rule set. Verdicts stored under another version are recomputed.
pub const RULESET: u32 = 5;

/// The stable ID of a rule: `DEL-01`. Only rules in the catalogue have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(&'static str);

impl RuleId {
    /// Scripts use something that the skill does not declare.
    pub const UNDECLARED: Self = Self("CAP-01");
    /// A skill has scripts but declares no capabilities.
    pub const NOTHING_DECLARED: Self = Self("CAP-02");

    /// The audit of a skill failed with an internal error.
    pub const AUDIT_FAILED: Self = Self("OPQ-03");

    /// Parses the ID of a rule in the catalogue.
    pub fn parse(id: &str) -> Option<Self> {
        RULES.iter().map(|rule| rule.id).find(|known| known.0 == id)
    }

    /// Returns the ID as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Returns the rule with this ID.
    pub(crate) fn rule(self) -> &'static Rule {
        RULES
            .iter()
            .find(|rule| rule.id == self)
            .expect("every rule that is used is in the catalogue; a test covers them all")
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One audit rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The stable ID.
    pub id: RuleId,
    /// The readable name.
    pub name: &'static str,
    /// The usual severity; a finding can have another one.
    pub severity: Severity,
    /// What the rule finds.
    pub description: &'static str,
    /// Why it matters.
    pub rationale: &'static str,
    /// Code or text that the rule finds.
    pub example: &'static str,
    /// What the author or the user should do.
    pub fix: &'static str,
    /// Whether it finds content that cannot be analyzed.
    pub is_opaque: bool,
}

impl Rule {
    /// Returns a rule by its ID or name.
    pub fn find(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.id.0.eq_ignore_ascii_case(name) || rule.name == name)
    }

    /// Returns the family: the letters at the start of the ID.
    pub fn family(&self) -> &'static str {
        self.id.0.split('-').next().unwrap_or(self.id.0)
    }
}

/// An inspected skill, as the rules see it.
pub(crate) struct Skill<'a> {
    pub(crate) files: &'a [InspectedFile<'a>],
    pub(crate) topic: &'a SkillTopic,
    pub(crate) name: &'a str,
}

/// A finding before it is given line numbers and evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: &'static Rule,
    pub(crate) severity: Severity,
    pub(crate) blocks: bool,
    pub(crate) location: Location,
    pub(crate) message: String,
    /// Where the data was read, with a description, if the finding is about a data flow.
    pub(crate) from: Option<(Location, String)>,
    pub(crate) lowered: Option<&'static str>,
}

impl Hit {
    /// Returns a hit of the rule with this ID, which must be in the catalogue.
    pub(crate) fn new(id: &'static str, location: Location, message: impl Into<String>) -> Self {
        Self::of(RuleId(id), location, message)
    }

    pub(crate) fn of(id: RuleId, location: Location, message: impl Into<String>) -> Self {
        let rule = id.rule();
        Self {
            rule,
            severity: rule.severity,
            blocks: false,
            location,
            message: message.into(),
            from: None,
            lowered: None,
        }
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(crate) fn blocking(mut self) -> Self {
        self.blocks = true;
        self
    }

    pub(crate) fn not_blocking(mut self) -> Self {
        self.blocks = false;
        self
    }

    /// Lowers the severity if the text only quotes the attack.
    pub(crate) fn unless_quoted(mut self, skill: &Skill<'_>) -> Self {
        if let Some(reason) = skill.quote_reason(&self.location) {
            self.blocks = false;
            self.severity = self.severity.min(Severity::Medium);
            self.lowered = Some(reason);
        }
        self
    }
}

impl Hit {
    /// Like [`Hit::unless_quoted`], for data that a host sends or receives. Security texts use placeholder hosts; a
    /// real host counts as quoted only in a warning.
    pub(crate) fn unless_quoted_for(self, skill: &Skill<'_>, remote: &Remote) -> Self {
        let is_real = remote.class != HostClass::Local && !remote.host.is_empty();
        let is_quoted = skill.topic.is_about_security && skill.is_in_warning(&self.location);
        if is_real && !is_quoted { self } else { self.unless_quoted(skill) }
    }
}

impl Skill<'_> {
    /// Returns why the text at a location is a quote rather than an instruction. Code that runs and hidden text never
    /// are.
    pub(crate) fn quote_reason(&self, at: &Location) -> Option<&'static str> {
        if matches!(at.role, Role::Script | Role::Comment | Role::Frontmatter)
            || !at.chain.is_empty()
        {
            return None;
        }
        if self.topic.is_about_security {
            return Some("the skill is about security and quotes attacks");
        }
        self.is_in_warning(at).then_some("the text quotes it in a warning")
    }

    /// Returns true if a warning precedes the location, or its section title is one.
    fn is_in_warning(&self, at: &Location) -> bool {
        let file = &self.files[at.file];
        let length = file.text.text.len();
        let start = at.span.start.min(length);
        let section = file.document.section(start, length);
        let from = section.start.max(start.saturating_sub(200));
        let title = section.start..section.end.min(section.start + 120);
        let window = from..(at.span.end + 80).min(section.end).max(from);
        [window, title].iter().any(|window| file.cues.find_in(Cue::Warning, window).is_some())
    }

    /// Returns the location of a range in a file.
    pub(crate) fn location(
        &self,
        file: usize,
        span: std::ops::Range<usize>,
        chain: &[Encoding],
    ) -> Location {
        let one = &self.files[file];
        let role = match one.kind {
            crate::artifact::FileKind::Markdown => one.document.role_at(span.start),
            _ if one.is_script() => Role::Script,
            _ => Role::Data,
        };
        Location { file, span: one.text.origin(&span), role, chain: chain.to_vec() }
    }
}

/// Applies all rules.
pub(crate) fn apply(skill: &Skill<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    delivery::find(skill, &mut hits);
    archives::find(skill, &mut hits);
    steps::find(skill, &mut hits);
    code::find(skill, &mut hits);
    instructions::find(skill, &mut hits);
    conduct::find(skill, &mut hits);
    letters::find(skill, &mut hits);
    opaque::find(skill, &mut hits);
    packages::find(skill, &mut hits);
    hits
}
