//! Findings, their severity and the verdict.

use std::fmt;

use skill::Span;

use crate::decode::Encoding;
use crate::op::Role;
use crate::rules::Rule;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For information.
    Info,
    /// Common, but a capability worth knowing.
    Low,
    /// Needs review.
    Medium,
    /// Probably malicious or dangerous; needs review.
    High,
    /// No legitimate skill does this.
    Critical,
}

impl Severity {
    /// All severities, in ascending order.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Parses the name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word)
    }

    /// Returns the name.
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

/// The result of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// No findings.
    Pass,
    /// The skill has capabilities worth knowing.
    Note,
    /// The skill needs review.
    Review,
    /// The skill contains something that cannot be analyzed.
    Unanalyzable,
    /// The skill must not be installed.
    Block,
}

impl Verdict {
    /// All verdicts, from best to worst.
    pub const ALL: [Self; 5] =
        [Self::Pass, Self::Note, Self::Review, Self::Unanalyzable, Self::Block];

    /// Parses the name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }

    /// Returns the name.
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

/// The position of a finding in a file.
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

/// One step of a data flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowStep {
    /// The file's path in the skill.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What happens on that line.
    pub description: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static Rule,
    /// The severity of this finding, which can differ from the rule's.
    pub severity: Severity,
    /// Whether this finding alone blocks the install.
    pub blocks: bool,
    /// The file's path in the skill.
    pub file: String,
    /// The position in the file.
    pub location: LineRange,
    /// The part of the document that the finding is in.
    pub role: Role,
    /// The encodings around the text, outermost first.
    pub chain: Vec<Encoding>,
    /// The finding as one sentence.
    pub message: String,
    /// The source text, with secrets redacted.
    pub evidence: String,
    /// The data flow, if known.
    pub flow: Vec<FlowStep>,
    /// Why the severity was lowered.
    pub lowered: Option<String>,
}

impl Finding {
    /// Returns the fingerprint that suppressions are bound to. It does not change when other lines of the file do.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest as _, Sha256};

        let evidence: String = self.evidence.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut hash = Sha256::new();
        // The message is part of the hash: it contains the host, which the line may take from elsewhere.
        for part in
            [self.rule.id.as_str(), &self.file, &evidence, &self.message, self.severity.as_str()]
        {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns the verdict for a set of findings.
pub fn verdict(findings: &[Finding]) -> Verdict {
    let of = |finding: &Finding| match finding.severity {
        _ if finding.blocks => Verdict::Block,
        _ if finding.rule.is_opaque => Verdict::Unanalyzable,
        Severity::Critical | Severity::High | Severity::Medium => Verdict::Review,
        Severity::Low | Severity::Info => Verdict::Note,
    };
    findings.iter().map(of).max().unwrap_or(Verdict::Pass)
}
