//! What is kept of a skill from one start to the next: enough to list and disclose it without opening its file.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skill::{Code, Diagnostic, Frontmatter, Position, Severity, Span, ToolRule};
use skill_fs::Stamp;

use crate::one_line;

/// One folder with a SKILL.md, as it was when it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The folder, seen from its root; empty for the root itself.
    pub(crate) folder: String,
    /// The name of its file; `None` for the usual one.
    pub(crate) file: Option<String>,
    pub(crate) stamp: Option<StampRecord>,
    /// Whether the stamp tells every later version apart. Where it does not, the file is read again.
    pub(crate) is_settled: bool,
    /// Whether csk left a marker in the folder.
    pub(crate) has_marker: bool,
    pub(crate) problems: Vec<ProblemRecord>,
    /// What it says about itself; absent where the skill cannot be loaded.
    pub(crate) said: Option<Said>,
    /// The name of one that cannot be loaded, as far as it can be read.
    pub(crate) refused_name: Option<String>,
}

/// The name of a skill, and all else that it says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) name: Arc<str>,
    pub(crate) details: Arc<Details>,
}

impl Said {
    pub(crate) fn new(frontmatter: Frontmatter) -> Self {
        let name = Arc::from(frontmatter.name.as_str());
        Self { name, details: Arc::new(Details::new(&Summary::from(frontmatter))) }
    }
}

/// A [`Summary`] in the form in which it is kept. It is taken apart when somebody looks: most are never looked at.
pub(crate) struct Details {
    kept: Box<[u8]>,
    read: OnceLock<Box<Summary>>,
}

impl Details {
    fn new(summary: &Summary) -> Self {
        let room = Vec::with_capacity(summary.description.len() + 256);
        let kept =
            postcard::to_extend(summary, room).expect("text and lists can always be written");
        Self { kept: kept.into(), read: OnceLock::new() }
    }

    /// Returns the summary.
    pub(crate) fn get(&self) -> &Summary {
        // The bytes are as this version wrote them: just now, or to a file whose checksum fits. If they are not, nobody
        // may use what they stand for.
        self.read.get_or_init(|| {
            Box::new(postcard::from_bytes(&self.kept).unwrap_or_else(|_| Summary::hidden()))
        })
    }
}

impl PartialEq for Details {
    fn eq(&self, other: &Self) -> bool {
        self.kept == other.kept
    }
}

impl Eq for Details {}

impl fmt::Debug for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The form of a [`Record`] in a file: text is not copied to be written, and details not taken apart to be read.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    folder: &'a str,
    file: Option<&'a str>,
    stamp: Option<StampRecord>,
    is_settled: bool,
    has_marker: bool,
    problems: Cow<'a, [ProblemRecord]>,
    refused_name: Option<&'a str>,
    #[serde(borrow)]
    said: Option<(&'a str, Bytes<'a>)>,
}

/// Bytes that are written at once, not one by one.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Kept {
            folder: &self.folder,
            file: self.file.as_deref(),
            stamp: self.stamp,
            is_settled: self.is_settled,
            has_marker: self.has_marker,
            problems: Cow::Borrowed(&self.problems),
            refused_name: self.refused_name.as_deref(),
            said: self.said.as_ref().map(|said| (&*said.name, Bytes(&said.details.kept))),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kept = Kept::deserialize(deserializer)?;
        Ok(Self {
            folder: kept.folder.to_owned(),
            file: kept.file.map(str::to_owned),
            stamp: kept.stamp,
            is_settled: kept.is_settled,
            has_marker: kept.has_marker,
            problems: kept.problems.into_owned(),
            refused_name: kept.refused_name.map(str::to_owned),
            said: kept.said.map(|(name, Bytes(details))| Said {
                name: Arc::from(name),
                details: Arc::new(Details { kept: details.into(), read: OnceLock::new() }),
            }),
        })
    }
}

/// What a skill says about itself besides its name, as far as listings need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// What it does and when to use it.
    pub description: String,
    /// More about when to use it.
    pub when_to_use: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs around it.
    pub compatibility: Option<String>,
    /// Free data, nested values as text.
    pub metadata: Vec<(String, String)>,
    /// The tools it may use, by all fields that name some, in one line.
    pub allowed_tools: Option<String>,
    /// What to show after `/name`.
    pub argument_hint: Option<String>,
    /// Whether its frontmatter lets the model start it. [`crate::OpenSkillRuntime::model_may_invoke`] has the last word.
    pub model_may_invoke: bool,
    /// Whether the user may start it by name.
    pub user_may_invoke: bool,
}

impl Summary {
    /// Returns what is said of a skill of which nothing is known: nobody may start it.
    fn hidden() -> Self {
        Self {
            description: String::new(),
            when_to_use: None,
            license: None,
            compatibility: None,
            metadata: Vec::new(),
            allowed_tools: Some(String::new()),
            argument_hint: None,
            model_may_invoke: false,
            user_may_invoke: false,
        }
    }

    /// Returns the description as listings show it: on one line, nothing hidden, `when_to_use` appended.
    pub fn listing(&self) -> String {
        match &self.when_to_use {
            None => one_line(&self.description),
            Some(more) => one_line(&format!("{} {more}", self.description)),
        }
    }
}

impl From<Frontmatter> for Summary {
    fn from(frontmatter: Frontmatter) -> Self {
        let (model_may_invoke, user_may_invoke) =
            (frontmatter.model_may_invoke(), frontmatter.user_may_invoke());
        let allowed_tools = frontmatter.tools_allowed();
        let rules = |tools: skill::AllowedTools| {
            tools.rules.iter().map(ToolRule::to_string).collect::<Vec<_>>().join(", ")
        };
        let text = |(key, value): (String, skill::Value)| (key, value.to_text());
        Self {
            description: frontmatter.description,
            when_to_use: frontmatter.claude.when_to_use,
            license: frontmatter.license,
            compatibility: frontmatter.compatibility,
            metadata: frontmatter.metadata.into_iter().map(text).collect(),
            allowed_tools: allowed_tools.map(rules),
            argument_hint: frontmatter.claude.argument_hint,
            model_may_invoke,
            user_may_invoke,
        }
    }
}

/// Device, inode, size, and both times in seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StampRecord(u64, u64, u64, (i64, i64), (i64, i64));

impl From<Stamp> for StampRecord {
    fn from(stamp: Stamp) -> Self {
        let Stamp { device, inode, size, modified, changed } = stamp;
        Self(device, inode, size, modified, changed)
    }
}

impl From<StampRecord> for Stamp {
    fn from(StampRecord(device, inode, size, modified, changed): StampRecord) -> Self {
        Self { device, inode, size, modified, changed }
    }
}

/// A diagnostic of the skill's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProblemRecord {
    code: String,
    severity: u8,
    span: Option<[usize; 6]>,
    message: String,
    hint: Option<String>,
}

impl From<Diagnostic> for ProblemRecord {
    fn from(diagnostic: Diagnostic) -> Self {
        let severity = match diagnostic.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Note => 2,
        };
        let place = |at: Position| [at.line, at.column, at.offset];
        let span = diagnostic.span.map(|span| {
            let ([a, b, c], [d, e, f]) = (place(span.start), place(span.end));
            [a, b, c, d, e, f]
        });
        let Diagnostic { code, message, hint, .. } = diagnostic;
        Self { code: code.as_str().to_owned(), severity, span, message, hint }
    }
}

impl ProblemRecord {
    /// Returns the diagnostic of `file`; `None` if another version wrote it.
    pub(crate) fn diagnostic(&self, file: &str) -> Option<Diagnostic> {
        let code = *Code::ALL.iter().find(|code| code.as_str() == self.code)?;
        let severity = match self.severity {
            0 => Severity::Error,
            1 => Severity::Warning,
            2 => Severity::Note,
            _ => return None,
        };
        let place = |line, column, offset| Position { line, column, offset };
        let span =
            self.span.map(|[a, b, c, d, e, f]| Span { start: place(a, b, c), end: place(d, e, f) });
        let (message, hint) = (self.message.clone(), self.hint.clone());
        Some(Diagnostic { code, severity, file: file.to_owned(), span, message, hint })
    }
}

#[cfg(test)]
mod tests {
    use skill::{Input, Strictness, parse_head};

    use super::*;

    #[test]
    fn what_cannot_be_read_again_is_for_nobody() {
        let details = Details { kept: Box::from([0xff; 3]), read: OnceLock::new() };
        let summary = details.get();
        assert!(!summary.model_may_invoke && !summary.user_may_invoke);
        assert_eq!(summary.allowed_tools.as_deref(), Some(""));
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let bytes = b"---\nname: PDF\ndescription: a: b\nmetadata: {a: [1]}\n---\n";
        let input = Input { file: "f", directory: Some("pdf"), bytes };
        let head = parse_head(&input, Strictness::Lenient);
        let record = Record {
            folder: "group/pdf".into(),
            file: Some("skill.md".into()),
            stamp: Some(StampRecord(1, 2, 3, (4, 5), (6, 7))),
            is_settled: true,
            has_marker: false,
            problems: head.diagnostics.into_iter().map(ProblemRecord::from).collect(),
            said: head.frontmatter.map(Said::new),
            refused_name: Some("x".into()),
        };
        assert!(!record.problems.is_empty() && record.said.is_some());
        let kept = postcard::to_stdvec(&record).unwrap();
        let back: Record = postcard::from_bytes(&kept).unwrap();
        assert_eq!(back, record);
        let said = back.said.unwrap();
        assert_eq!((&*said.name, &*said.details.get().description), ("PDF", "a: b"));
        assert_eq!(said.details.get().metadata, [("a".to_owned(), "[1]".to_owned())]);
    }

    #[test]
    fn a_diagnostic_comes_back_as_it_was() {
        let bytes = b"---\nname: PDF\ndescription: a: b\nfoo: 1\n---\n";
        let input = Input { file: "f", directory: Some("pdf"), bytes };
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let diagnostics = parse_head(&input, strictness).diagnostics;
            assert!(diagnostics.len() > 1);
            for diagnostic in diagnostics {
                let record = ProblemRecord::from(diagnostic.clone());
                assert_eq!(record.diagnostic("f"), Some(diagnostic));
            }
        }
    }
}
