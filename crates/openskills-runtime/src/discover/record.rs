//! The cached data of a skill: enough to list it and add it to a prompt without opening its SKILL.md.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skill::{Code, Diagnostic, Frontmatter, Position, Severity, Span, ToolRule};
use skill_fs::Stamp;

use crate::one_line;

/// A folder with a SKILL.md, as of the last time it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The folder, relative to its root; empty for the root itself.
    pub(crate) folder: String,
    /// The file name, if it is not `SKILL.md`.
    pub(crate) file: Option<String>,
    pub(crate) stamp: Option<StampRecord>,
    /// Whether any later write would change the stamp. If not, the file is read again.
    pub(crate) is_settled: bool,
    /// Whether the folder has an install marker of csk.
    pub(crate) has_marker: bool,
    pub(crate) problems: Vec<ProblemRecord>,
    /// The parsed frontmatter; absent if the skill cannot be loaded.
    pub(crate) header: Option<SkillHeader>,
    /// The name of a skill that cannot be loaded, if it can be read.
    pub(crate) refused_name: Option<String>,
}

/// The name of a skill, and the rest of its frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillHeader {
    pub(crate) name: Arc<str>,
    pub(crate) details: Arc<Details>,
}

impl SkillHeader {
    pub(crate) fn new(frontmatter: Frontmatter) -> Self {
        let name = Arc::from(frontmatter.name.as_str());
        Self { name, details: Arc::new(Details::new(&Summary::from(frontmatter))) }
    }
}

/// A serialized [`Summary`], parsed on first access because most are never used.
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
        // This version wrote the bytes, just now or to a file with a valid checksum. If they are invalid anyway, nobody may use the skill.
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

/// The serialized form of a [`Record`]. It borrows text for writing, and leaves details unparsed when reading.
#[derive(Serialize, Deserialize)]
struct StoredRecord<'a> {
    folder: &'a str,
    file: Option<&'a str>,
    stamp: Option<StampRecord>,
    is_settled: bool,
    has_marker: bool,
    problems: Cow<'a, [ProblemRecord]>,
    refused_name: Option<&'a str>,
    #[serde(borrow)]
    header: Option<(&'a str, Bytes<'a>)>,
}

/// Bytes that are serialized as one block.
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
        StoredRecord {
            folder: &self.folder,
            file: self.file.as_deref(),
            stamp: self.stamp,
            is_settled: self.is_settled,
            has_marker: self.has_marker,
            problems: Cow::Borrowed(&self.problems),
            refused_name: self.refused_name.as_deref(),
            header: self.header.as_ref().map(|header| (&*header.name, Bytes(&header.details.kept))),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kept = StoredRecord::deserialize(deserializer)?;
        Ok(Self {
            folder: kept.folder.to_owned(),
            file: kept.file.map(str::to_owned),
            stamp: kept.stamp,
            is_settled: kept.is_settled,
            has_marker: kept.has_marker,
            problems: kept.problems.into_owned(),
            refused_name: kept.refused_name.map(str::to_owned),
            header: kept.header.map(|(name, Bytes(details))| SkillHeader {
                name: Arc::from(name),
                details: Arc::new(Details { kept: details.into(), read: OnceLock::new() }),
            }),
        })
    }
}

/// The frontmatter of a skill without its name, as far as listings need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// What it does and when to use it.
    pub description: String,
    /// More details on when to use it.
    pub when_to_use: Option<String>,
    /// The license.
    pub license: Option<String>,
    /// Compatibility requirements.
    pub compatibility: Option<String>,
    /// Free-form metadata; nested values are serialized as text.
    pub metadata: Vec<(String, String)>,
    /// The allowed tools from all fields that list some, as one line.
    pub allowed_tools: Option<String>,
    /// The hint to show after `/name`.
    pub argument_hint: Option<String>,
    /// Whether its frontmatter allows the model to invoke it. [`crate::OpenSkillRuntime::model_may_invoke`] also
    /// considers its other files.
    pub model_may_invoke: bool,
    /// Whether the user may invoke it by name.
    pub user_may_invoke: bool,
}

impl Summary {
    /// Returns a summary that hides the skill: nobody may invoke it, and it may use no tools.
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

    /// Returns the description for listings: on one line, without hidden characters, followed by `when_to_use`.
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

/// Device, inode, size, and modification and change time in seconds and nanoseconds.
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

/// A cached diagnostic of the skill's file.
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
    /// Converts it back to a diagnostic for `file`; `None` if another version wrote it.
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
    fn corrupt_details_hide_the_skill() {
        let details = Details { kept: Box::from([0xff; 3]), read: OnceLock::new() };
        let summary = details.get();
        assert!(!summary.model_may_invoke && !summary.user_may_invoke);
        assert_eq!(summary.allowed_tools.as_deref(), Some(""));
    }

    #[test]
    fn records_round_trip() {
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
            header: head.frontmatter.map(SkillHeader::new),
            refused_name: Some("x".into()),
        };
        assert!(!record.problems.is_empty() && record.header.is_some());
        let kept = postcard::to_stdvec(&record).unwrap();
        let back: Record = postcard::from_bytes(&kept).unwrap();
        assert_eq!(back, record);
        let header = back.header.unwrap();
        assert_eq!((&*header.name, &*header.details.get().description), ("PDF", "a: b"));
        assert_eq!(header.details.get().metadata, [("a".to_owned(), "[1]".to_owned())]);
    }

    #[test]
    fn diagnostics_round_trip() {
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
