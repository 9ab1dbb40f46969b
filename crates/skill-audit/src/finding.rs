//! What was found, how bad it is, and what follows from it.

use std::fmt;

use skill::Span;

use crate::decode::Encoding;
use crate::op::Role;
use crate::rules::Rule;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Usual, and still a capability.
    Low,
    /// Somebody should look.
    Medium,
    /// Somebody must look.
    High,
    /// Nobody who means well does this.
    Critical,
}

impl Severity {
    /// All of them, the mildest first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Reads the word for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word)
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What is to be done with a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing was found.
    Pass,
    /// It has capabilities that are worth knowing.
    Note,
    /// Somebody should look at it.
    Review,
    /// It holds what cannot be looked into.
    Unanalyzable,
    /// It is not to be installed.
    Block,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Self; 5] =
        [Self::Pass, Self::Note, Self::Review, Self::Unanalyzable, Self::Block];

    /// Reads the word for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Note => "NOTE",
            Self::Review => "REVIEW",
            Self::Unanalyzable => "UNANALYZABLE",
            Self::Block => "BLOCK",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where in a file something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineRange {
    /// The first line, from 1.
    pub line: usize,
    /// The first column, from 1.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
}

impl From<Span> for LineRange {
    fn from(span: Span) -> Self {
        Self { line: span.start.line, column: span.start.column, end_line: span.end.line }
    }
}

/// One step on the way of something that flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowStep {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What happens there.
    pub what: String,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// By which rule.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// Whether it alone is enough not to install the skill.
    pub blocks: bool,
    /// The file.
    pub file: String,
    /// Where in it.
    pub location: LineRange,
    /// What that place is to its reader.
    pub role: Role,
    /// How it was encoded, from the outside in.
    pub chain: Vec<Encoding>,
    /// What was found, in words.
    pub message: String,
    /// The text, with secrets taken out.
    pub evidence: String,
    /// The way that something takes, where that is known.
    pub flow: Vec<FlowStep>,
    /// Why it counts less than usual.
    pub lowered: Option<String>,
}

impl Finding {
    /// Returns what of a finding stays the same when other lines of the file change: what a suppression is bound to.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest as _, Sha256};

        let evidence: String = self.evidence.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut hash = Sha256::new();
        // What the line means is part of it: the host it leads to may stand elsewhere.
        for part in
            [self.rule.id.as_str(), &self.file, &evidence, &self.message, self.severity.as_str()]
        {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns what follows from findings.
pub fn verdict(findings: &[Finding]) -> Verdict {
    let of = |finding: &Finding| match finding.severity {
        _ if finding.blocks => Verdict::Block,
        _ if finding.rule.is_opaque => Verdict::Unanalyzable,
        Severity::Critical | Severity::High | Severity::Medium => Verdict::Review,
        Severity::Low | Severity::Info => Verdict::Note,
    };
    findings.iter().map(of).max().unwrap_or(Verdict::Pass)
}
