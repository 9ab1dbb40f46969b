//! What is looked for, and why. Every rule says what it finds, an example of it, and what to do about it; the documentation is made from
//! these texts.

mod catalogue;
mod code;
mod delivery;
mod instructions;
mod letters;
mod opaque;
mod packages;

use std::fmt;

use crate::about::About;
use crate::cues::Cue;
use crate::decode::Encoding;
use crate::finding::Severity;
use crate::hosts::{HostClass, Remote};
use crate::inspect::Inspected;
use crate::op::{Location, Role};

pub use catalogue::RULES;

/// The version of all rules together: a verdict is as old as they are.
pub const RULESET: u32 = 3;

/// The name of a rule for machines: `DEL-01`. Only rules of the catalogue have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(&'static str);

impl RuleId {
    /// A skill uses what it does not declare.
    pub const UNDECLARED: Self = Self("CAP-01");
    /// A skill has scripts and declares nothing.
    pub const NOTHING_DECLARED: Self = Self("CAP-02");

    /// Reads the name of a rule that is in the catalogue.
    pub fn parse(id: &str) -> Option<Self> {
        RULES.iter().map(|rule| rule.id).find(|known| known.0 == id)
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Returns the rule.
    pub(crate) fn rule(self) -> &'static Rule {
        RULES
            .iter()
            .find(|rule| rule.id == self)
            .expect("every rule that is used is in the catalogue; a test names them all")
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One thing that is looked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name for machines.
    pub id: RuleId,
    /// Its name for people.
    pub name: &'static str,
    /// How bad what it finds usually is.
    pub severity: Severity,
    /// What it finds.
    pub what: &'static str,
    /// Why that matters.
    pub why: &'static str,
    /// An example.
    pub example: &'static str,
    /// What an author can do instead, or a reader should do.
    pub fix: &'static str,
    /// Whether it finds what cannot be looked into.
    pub is_opaque: bool,
}

impl Rule {
    /// Returns a rule by its name for machines or for people.
    pub fn find(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.id.0.eq_ignore_ascii_case(name) || rule.name == name)
    }

    /// Returns the family: the letters that its name begins with.
    pub fn family(&self) -> &'static str {
        self.id.0.split('-').next().unwrap_or(self.id.0)
    }
}

/// A skill, read.
pub(crate) struct Skill<'a> {
    pub(crate) files: &'a [Inspected<'a>],
    pub(crate) about: &'a About,
    pub(crate) name: &'a str,
}

/// A finding before it is put into words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: &'static Rule,
    pub(crate) severity: Severity,
    pub(crate) blocks: bool,
    pub(crate) at: Location,
    pub(crate) message: String,
    /// Where what flows comes from.
    pub(crate) from: Option<(Location, String)>,
    pub(crate) lowered: Option<&'static str>,
}

impl Hit {
    /// Returns a hit of the rule of that name, which is in the catalogue.
    pub(crate) fn new(id: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::of(RuleId(id), at, message)
    }

    pub(crate) fn of(id: RuleId, at: Location, message: impl Into<String>) -> Self {
        let rule = id.rule();
        Self {
            rule,
            severity: rule.severity,
            blocks: false,
            at,
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

    /// Lets it count less where it is quoted rather than meant.
    pub(crate) fn unless_quoted(mut self, skill: &Skill<'_>) -> Self {
        if let Some(reason) = skill.quoted(&self.at) {
            self.blocks = false;
            self.severity = self.severity.min(Severity::Medium);
            self.lowered = Some(reason);
        }
        self
    }
}

impl Hit {
    /// As [`Hit::unless_quoted`], for what goes to a host or comes from one. Texts that teach name hosts that are none; a real one
    /// has to stand in a warning.
    pub(crate) fn unless_quoted_for(self, skill: &Skill<'_>, remote: &Remote) -> Self {
        let is_real = remote.class != HostClass::Local && !remote.host.is_empty();
        let is_quoted = skill.about.is_teaching && skill.is_warned(&self.at);
        if is_real && !is_quoted { self } else { self.unless_quoted(skill) }
    }
}

impl Skill<'_> {
    /// Says why something stands there to be seen and not to be done, if so. What runs, and what was hidden, is never quoted.
    pub(crate) fn quoted(&self, at: &Location) -> Option<&'static str> {
        if matches!(at.role, Role::Script | Role::Comment | Role::Frontmatter)
            || !at.chain.is_empty()
        {
            return None;
        }
        if self.about.is_teaching {
            return Some("the skill teaches security, and quotes what it warns of");
        }
        self.is_warned(at).then_some("it stands in a warning")
    }

    /// Returns true if a place is warned of, just before it or by the title of its section.
    fn is_warned(&self, at: &Location) -> bool {
        let file = &self.files[at.file];
        let length = file.text.text.len();
        let start = at.span.start.min(length);
        let section = file.document.section(start, length);
        let from = section.start.max(start.saturating_sub(200));
        let title = section.start..section.end.min(section.start + 120);
        let window = from..(at.span.end + 80).min(section.end).max(from);
        [window, title].iter().any(|window| file.cues.near(Cue::Warned, window).is_some())
    }

    /// Returns a place in a file.
    pub(crate) fn at(
        &self,
        file: usize,
        span: std::ops::Range<usize>,
        chain: &[Encoding],
    ) -> Location {
        let one = &self.files[file];
        let role = match one.kind {
            crate::artifact::Kind::Markdown => one.document.role_at(span.start),
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
    code::find(skill, &mut hits);
    instructions::find(skill, &mut hits);
    letters::find(skill, &mut hits);
    opaque::find(skill, &mut hits);
    packages::find(skill, &mut hits);
    hits
}
