//! Audits a skill: from its files to a report.

use std::collections::BTreeMap;

use rayon::prelude::*;
use skill::capabilities::{CapabilityExtents, Declared, Extent};
use skill::{Digest, Source};

use crate::artifact::{File, FileKind};
use crate::contained::{InternalError, contained};
use crate::contents::{Contents, asset_word, contents};
use crate::excerpt::{self, slice};
use crate::finding::{Finding, FlowStep, LineRange, Verdict, verdict};
use crate::inspect::{InspectedFile, inspect, trace};
use crate::observed::{Observed, ObservedKind, observed};
use crate::op::{Location, Role};
use crate::rules::{Hit, RuleId, Skill, apply};
use crate::topic::SkillTopic;
use crate::undeclared::undeclared;

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The skill's name, from its frontmatter or its folder.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// Findings that the user suppressed.
    pub suppressed: Vec<Suppressed>,
    /// The declared capabilities.
    pub declared: CapabilityExtents,
    /// The capabilities that scripts and instructions use.
    pub observed: Observed,
    /// The number of audited files.
    pub files: usize,
    /// The number of files that contain no code, by type: `font`, `image`.
    pub assets: BTreeMap<String, usize>,
}

/// The report on one exact bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleReport {
    /// The digest of the whole skill.
    pub bundle: Digest,
    /// The report.
    pub report: Report,
}

/// A suppressed finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// The reason that the user gave.
    pub reason: String,
}

impl Report {
    /// Returns the declared extent of a kind; `None` for kinds that cannot be declared.
    pub fn declared_of(&self, kind: ObservedKind) -> Option<&Extent> {
        match kind {
            ObservedKind::Capability(kind) => Some(self.declared.of(kind)),
            ObservedKind::Persistence
            | ObservedKind::AgentMemory
            | ObservedKind::Install
            | ObservedKind::Opaque => None,
        }
    }

    /// Returns the number of files, and of those without code: `60 files (54 fonts, 2 images)`.
    pub fn described_files(&self) -> String {
        let counted = |count: usize, noun: &str| match (count, noun.split_once(' ')) {
            (1, _) => format!("1 {noun}"),
            (_, Some((first, rest))) if rest.starts_with("of ") => {
                format!("{count} {first}s {rest}")
            }
            _ => format!("{count} {noun}s"),
        };
        let files = counted(self.files, "file");
        let assets: Vec<String> =
            self.assets.iter().map(|(noun, count)| counted(*count, noun)).collect();
        if assets.is_empty() { files } else { format!("{files} ({})", assets.join(", ")) }
    }

    /// Suppresses the findings for which `reason` returns a reason, and updates the verdict.
    pub fn suppress(&mut self, reason: impl Fn(&Finding) -> Option<String>) {
        let (mut kept, mut suppressed) = (Vec::new(), Vec::new());
        for finding in self.findings.drain(..) {
            match reason(&finding) {
                Some(reason) => suppressed.push(Suppressed { finding, reason }),
                None => kept.push(finding),
            }
        }
        self.findings = kept;
        self.suppressed.extend(suppressed);
        self.verdict = verdict(&self.findings);
    }
}

/// The maximum number of files to audit, and their total size.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: usize = 256 << 20;
/// Below this size, starting threads takes longer than it saves.
const MIN_PARALLEL_BYTES: usize = 128 << 10;

/// Audits the files of a skill. `name` is used if the frontmatter has none. An internal error of the audit is a finding
/// that makes the skill UNANALYZABLE.
pub fn audit(name: &str, files: &[File<'_>]) -> Report {
    contained_audit(name, files, audit_files)
}

fn contained_audit(
    name: &str,
    files: &[File<'_>],
    audit: impl FnOnce(&str, &[File<'_>]) -> Result<Report, InternalError>,
) -> Report {
    let report = contained(|| audit(name, files)).flatten();
    report.unwrap_or_else(|error| failed(name, files, error))
}

/// Returns the report on a skill whose audit failed.
fn failed(name: &str, files: &[File<'_>], error: InternalError) -> Report {
    let at = error.location.map(|at| format!(" at {at}")).unwrap_or_default();
    let first = files.iter().map(|file| file.path).min();
    let finding = Finding {
        rule: RuleId::AUDIT_FAILED.rule(),
        severity: RuleId::AUDIT_FAILED.rule().severity,
        blocks: false,
        file: first.unwrap_or(skill::SKILL_FILE).to_owned(),
        location: LineRange { line: 1, column: 1, end_line: 1 },
        role: Role::Data,
        chain: Vec::new(),
        message: format!(
            "the audit of this skill failed with an internal error{at}; please report it with a copy of the skill"
        ),
        evidence: String::new(),
        flow: Vec::new(),
        lowered: None,
    };
    let findings = vec![finding];
    Report {
        name: name.to_owned(),
        verdict: verdict(&findings),
        findings,
        suppressed: Vec::new(),
        declared: Declared::default().extents(),
        observed: Observed::default(),
        files: files.len(),
        assets: BTreeMap::new(),
    }
}

fn audit_files(name: &str, files: &[File<'_>]) -> Result<Report, InternalError> {
    let mut files = files.to_vec();
    files.sort_by_key(|file| file.path);
    let all: usize = files.iter().map(|file| file.bytes.len()).sum();
    let is_too_much = files.len() > MAX_FILES || all > MAX_BYTES;
    if is_too_much {
        // Files that an agent reads or runs come first.
        files.sort_by_key(|file| (importance(file), file.path));
        let mut left = MAX_BYTES;
        files.truncate(MAX_FILES);
        files.retain(|file| {
            let fits = file.bytes.len() <= left;
            left = left.saturating_sub(file.bytes.len());
            fits
        });
        files.sort_by_key(|file| file.path);
    }
    let mut read: Vec<InspectedFile<'_>> = if all > MIN_PARALLEL_BYTES {
        // A panic must not unwind through other work of the thread pool.
        files.par_iter().map(|file| contained(|| inspect(*file))).collect::<Result<_, _>>()?
    } else {
        files.iter().map(|file| inspect(*file)).collect()
    };
    trace(&mut read);
    let (own_name, description, declared) = declaration(&files);
    let shown = own_name.clone().unwrap_or_else(|| name.to_owned());
    // Only the name in the skill itself counts, so that the same bytes give the same report.
    let topic = SkillTopic::new(own_name.as_deref().unwrap_or_default(), &description);
    let skill = Skill { files: &read, topic: &topic, name: &shown };
    let mut hits = apply(&skill);
    if is_too_much {
        let at = Location { file: 0, span: 0..0, role: Role::Data, chain: Vec::new() };
        if !read.is_empty() {
            hits.push(Hit::new(
                "OPQ-01",
                at,
                format!(
                    "the skill exceeds the audit limit of {MAX_FILES} files or {} MiB",
                    MAX_BYTES >> 20
                ),
            ));
        }
    }
    let observed = observed(&read);
    hits.extend(undeclared(&skill, &declared, &observed));
    let findings = findings(&skill, hits);
    let verdict = verdict(&findings);
    let (declared, files) = (declared.extents(), files.len());
    Ok(Report {
        name: shown,
        verdict,
        findings,
        suppressed: Vec::new(),
        declared,
        observed,
        files,
        assets: assets(&read),
    })
}

/// Counts the files that contain no code.
fn assets(files: &[InspectedFile<'_>]) -> BTreeMap<String, usize> {
    let mut assets = BTreeMap::new();
    for file in files {
        let word = match file.kind {
            FileKind::Media => asset_word(file.file.path, file.file.bytes),
            FileKind::Document => "document",
            FileKind::Archive if contents(file.file.bytes) == Contents::Assets => {
                "archive of assets"
            }
            _ => continue,
        };
        *assets.entry(word.to_owned()).or_insert(0) += 1;
    }
    assets
}

fn importance(file: &File<'_>) -> u8 {
    match FileKind::of(file) {
        _ if file.path.eq_ignore_ascii_case("SKILL.md") => 0,
        FileKind::Shell
        | FileKind::Python
        | FileKind::JavaScript
        | FileKind::TypeScript
        | FileKind::Code => 1,
        FileKind::Markdown => 2,
        _ => 3,
    }
}

/// Reads a skill's name, description and declared capabilities.
fn declaration(files: &[File<'_>]) -> (Option<String>, String, Declared) {
    let file = |name: &str| files.iter().find(|file| file.path == name);
    let skill_file = file(skill::SKILL_FILE).or_else(|| file(skill::SKILL_FILE_FALLBACK));
    let bytes = skill_file.map(|file| file.bytes).unwrap_or_default();
    let input = skill::Input { file: skill::SKILL_FILE, directory: None, bytes };
    let parsed = skill::parse(&input, skill::Strictness::Lenient);
    let tree = |path: &str| {
        let is_below = |file: &File<'_>| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        match files.iter().find(|file| file.path == path) {
            Some(_) => Some(skill::TreeEntry::File),
            None => files.iter().any(is_below).then_some(skill::TreeEntry::Folder),
        }
    };
    let read = |name: &'static str| {
        let text = file(name).and_then(|file| std::str::from_utf8(file.bytes).ok());
        Ok::<_, std::convert::Infallible>(text.map(str::to_owned))
    };
    let manifest = skill::Manifest::read(read, str::to_owned, &tree).ok().flatten();
    let manifest = manifest.and_then(|(manifest, _)| manifest);
    let capabilities = manifest.as_ref().and_then(|manifest| manifest.capabilities.as_ref());
    match parsed.document {
        Some(document) => {
            let frontmatter = document.frontmatter;
            let declared = Declared::of(&frontmatter, capabilities);
            (
                Some(frontmatter.name).filter(|name| !name.is_empty()),
                frontmatter.description,
                declared,
            )
        }
        None => (None, String::new(), capabilities.map(Declared::of_manifest).unwrap_or_default()),
    }
}

/// Turns hits into findings, without duplicates, worst first.
fn findings(skill: &Skill<'_>, hits: Vec<Hit>) -> Vec<Finding> {
    let texts: Vec<String> = skill
        .files
        .iter()
        .map(|file| String::from_utf8_lossy(file.file.bytes).into_owned())
        .collect();
    let sources: Vec<Source<'_>> = texts.iter().map(|text| Source::new(text)).collect();
    let mut once: BTreeMap<(usize, usize, RuleId, String), Finding> = BTreeMap::new();
    let mut counts: BTreeMap<(usize, RuleId, bool), usize> = BTreeMap::new();
    for hit in hits {
        // After a hundred findings of a rule, more of them add nothing.
        let count = counts.entry((hit.location.file, hit.rule.id, hit.blocks)).or_default();
        *count += 1;
        if *count > MAX_FINDINGS_PER_RULE {
            continue;
        }
        let source = &sources[hit.location.file];
        let location = source.span(hit.location.span.clone()).into();
        let step = |at: &Location, description: String| FlowStep {
            file: skill.files[at.file].file.path.to_owned(),
            line: sources[at.file].span(at.span.clone()).start.line,
            description,
        };
        let mut flow: Vec<FlowStep> =
            hit.from.iter().map(|(at, text)| step(at, text.clone())).collect();
        if !flow.is_empty() {
            flow.push(step(&hit.location, hit.message.clone()));
        }
        let finding = Finding {
            rule: hit.rule,
            severity: hit.severity,
            blocks: hit.blocks,
            file: skill.files[hit.location.file].file.path.to_owned(),
            evidence: evidence(&texts[hit.location.file], &hit.location),
            location,
            role: hit.location.role,
            chain: hit.location.chain,
            message: hit.message,
            flow,
            lowered: hit.lowered.map(str::to_owned),
        };
        let key =
            (hit.location.file, hit.location.span.start, hit.rule.id, finding.message.clone());
        match once.get(&key) {
            Some(known) if (known.blocks, known.severity) >= (finding.blocks, finding.severity) => {
            }
            _ => {
                once.insert(key, finding);
            }
        }
    }
    let mut all: Vec<Finding> = once.into_values().collect();
    all.sort_by(|one, other| {
        (other.blocks, other.severity).cmp(&(one.blocks, one.severity)).then_with(|| {
            (&one.file, one.location, one.rule.id, &one.message).cmp(&(
                &other.file,
                other.location,
                other.rule.id,
                &other.message,
            ))
        })
    });
    all
}

/// The maximum number of findings per rule and file.
const MAX_FINDINGS_PER_RULE: usize = 100;
/// The maximum length of evidence.
const MAX_EVIDENCE: usize = 240;

/// Returns the source line of a finding, without secrets and terminal control characters.
fn evidence(text: &str, at: &Location) -> String {
    let line = excerpt::line(text, &at.span, MAX_EVIDENCE);
    let start = excerpt::floor(text, at.span.start);
    let from = excerpt::floor(text, line.start.max(start.saturating_sub(MAX_EVIDENCE / 2)));
    let to = excerpt::floor(text, line.end.min(start + MAX_EVIDENCE));
    let (from, to) = whole_words(text, from, to.max(from));
    let shown: String = slice(text, from..to)
        .trim()
        .chars()
        .map(|c| if skill::is_unsafe_to_show(c) || skill::is_invisible(c) { '\u{fffd}' } else { c })
        .collect();
    redacted(&shown)
}

/// Moves the ends of an excerpt to word boundaries, since half a secret would not be redacted. Overlong words are
/// dropped.
fn whole_words(text: &str, from: usize, to: usize) -> (usize, usize) {
    const MAX_WORD: usize = 400;
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let run = |bytes: &mut dyn Iterator<Item = &u8>| bytes.take_while(|byte| is_part(byte)).count();
    let is_truncated =
        |at: usize| at > 0 && bytes.get(at).is_some_and(is_part) && is_part(&bytes[at - 1]);
    let mut ends = (from, to);
    if is_truncated(from) {
        let before = run(&mut bytes[..from].iter().rev());
        ends.0 = if before <= MAX_WORD {
            from - before
        } else {
            from + run(&mut bytes[from..to].iter())
        };
    }
    if is_truncated(to) {
        let after = run(&mut bytes[to..].iter());
        ends.1 = if after <= MAX_WORD {
            to + after
        } else {
            to - run(&mut bytes[from..to].iter().rev())
        };
    }
    (ends.0, ends.1.max(ends.0))
}

/// Redacts tokens with a known prefix.
pub(crate) fn redacted(text: &str) -> String {
    use std::sync::LazyLock;

    use regex::Regex;

    static SECRET: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|(?-u:\b)sk-[A-Za-z0-9_-]{20,}|sk-(?:proj|ant|svcacct)-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|xox[abps]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,}|glpat-[A-Za-z0-9_-]{16,}").expect("the pattern is valid")
    });
    SECRET.replace_all(text, "[secret]").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_makes_only_its_own_skill_unanalyzable() {
        let files = [File { path: "SKILL.md", bytes: b"Plain words.", is_executable: false }];
        let report = contained_audit("broken", &files, |_, _| panic!("an error in a rule"));
        assert_eq!((report.name.as_str(), report.verdict), ("broken", Verdict::Unanalyzable));
        let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        assert_eq!(finding.rule.id, RuleId::AUDIT_FAILED);
        assert!(finding.message.contains("please report it"), "{}", finding.message);
        assert_eq!(audit("fine", &files).verdict, Verdict::Pass);
    }
}
