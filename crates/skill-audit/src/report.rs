//! The audit of a skill, from its files to its report.

use std::collections::BTreeMap;

use rayon::prelude::*;
use skill::capabilities::{CapabilityExtents, Declared, Extent};
use skill::{Digest, Source};

use crate::about::About;
use crate::artifact::{File, Kind};
use crate::finding::{Finding, FlowStep, Verdict, verdict};
use crate::inspect::{Inspected, follow, inspect};
use crate::near;
use crate::observed::{Observed, ObservedKind, observed};
use crate::op::{Location, Role};
use crate::rules::{Hit, RuleId, Skill, apply};
use crate::undeclared::undeclared;

/// What was found about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The skill's name, by its frontmatter or its folder.
    pub name: String,
    /// What follows.
    pub verdict: Verdict,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// What was found, and somebody said is fine.
    pub suppressed: Vec<Suppressed>,
    /// What it declares.
    pub declared: CapabilityExtents,
    /// What it is seen to use.
    pub observed: Observed,
    /// How many files were looked at.
    pub files: usize,
}

/// What was found about exactly this bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleReport {
    /// The digest of everything that the skill is.
    pub bundle: Digest,
    /// What was found.
    pub report: Report,
}

/// A finding of which somebody said that it is fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// Why it is fine.
    pub reason: String,
}

impl Report {
    /// Returns how far a kind is declared; nothing for what no declaration covers.
    pub fn declared_of(&self, kind: ObservedKind) -> Option<&Extent> {
        match kind {
            ObservedKind::Capability(kind) => Some(self.declared.of(kind)),
            ObservedKind::Persistence
            | ObservedKind::AgentMemory
            | ObservedKind::Install
            | ObservedKind::Opaque => None,
        }
    }

    /// Puts findings aside for which `reason` has one; what follows from the rest is said anew.
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

/// The most files that are looked at, and the most bytes of all of them.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: usize = 256 << 20;
/// Few bytes are read faster than threads are started.
const WORTH_THREADS: usize = 128 << 10;

/// Looks at the files of a skill. `name` is what it is called where it comes from.
pub fn audit(name: &str, files: &[File<'_>]) -> Report {
    let mut files = files.to_vec();
    files.sort_by_key(|file| file.path);
    let all: usize = files.iter().map(|file| file.bytes.len()).sum();
    let is_too_much = files.len() > MOST_FILES || all > MOST_BYTES;
    if is_too_much {
        // What an agent reads and runs comes first.
        files.sort_by_key(|file| (importance(file), file.path));
        let mut left = MOST_BYTES;
        files.truncate(MOST_FILES);
        files.retain(|file| {
            let fits = file.bytes.len() <= left;
            left = left.saturating_sub(file.bytes.len());
            fits
        });
        files.sort_by_key(|file| file.path);
    }
    let mut read: Vec<Inspected<'_>> = if all > WORTH_THREADS {
        files.par_iter().map(|file| inspect(*file)).collect()
    } else {
        files.iter().map(|file| inspect(*file)).collect()
    };
    follow(&mut read);
    let (own_name, description, declared) = declaration(&files);
    let shown = own_name.clone().unwrap_or_else(|| name.to_owned());
    // What a skill is called elsewhere says nothing about it: the same bytes are the same skill.
    let about = About::new(own_name.as_deref().unwrap_or_default(), &description);
    let skill = Skill { files: &read, about: &about, name: &shown };
    let mut hits = apply(&skill);
    if is_too_much {
        let at = Location { file: 0, span: 0..0, role: Role::Data, chain: Vec::new() };
        if !read.is_empty() {
            hits.push(Hit::new(
                "OPQ-01",
                at,
                "the skill has more files, or larger ones, than are looked at",
            ));
        }
    }
    let observed = observed(&read);
    hits.extend(undeclared(&skill, &declared, &observed));
    let findings = findings(&skill, hits);
    let verdict = verdict(&findings);
    let (declared, files) = (declared.extents(), files.len());
    Report { name: shown, verdict, findings, suppressed: Vec::new(), declared, observed, files }
}

fn importance(file: &File<'_>) -> u8 {
    match Kind::of(file) {
        _ if file.path.eq_ignore_ascii_case("SKILL.md") => 0,
        Kind::Shell | Kind::Python | Kind::JavaScript | Kind::TypeScript | Kind::Code => 1,
        Kind::Markdown => 2,
        _ => 3,
    }
}

/// Reads what a skill says of itself: its name, its description, and what it declares.
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

/// Puts hits into words, the worst first, each once.
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
        // What is found a hundred times is not better known after the next hundred.
        let count = counts.entry((hit.at.file, hit.rule.id, hit.blocks)).or_default();
        *count += 1;
        if *count > MOST_OF_A_RULE {
            continue;
        }
        let source = &sources[hit.at.file];
        let location = source.span(hit.at.span.clone()).into();
        let place = |at: &Location, what: String| FlowStep {
            file: skill.files[at.file].file.path.to_owned(),
            line: sources[at.file].span(at.span.clone()).start.line,
            what,
        };
        let mut flow: Vec<FlowStep> =
            hit.from.iter().map(|(at, what)| place(at, what.clone())).collect();
        if !flow.is_empty() {
            flow.push(place(&hit.at, hit.message.clone()));
        }
        let finding = Finding {
            rule: hit.rule,
            severity: hit.severity,
            blocks: hit.blocks,
            file: skill.files[hit.at.file].file.path.to_owned(),
            evidence: evidence(&texts[hit.at.file], &hit.at),
            location,
            role: hit.at.role,
            chain: hit.at.chain,
            message: hit.message,
            flow,
            lowered: hit.lowered.map(str::to_owned),
        };
        let key = (hit.at.file, hit.at.span.start, hit.rule.id, finding.message.clone());
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

/// How many findings of a rule are kept for one file.
const MOST_OF_A_RULE: usize = 100;
/// The longest piece of a file that is shown.
const LONGEST: usize = 240;

/// Returns the lines that a finding stands in, with secrets taken out and nothing that could steer a terminal.
fn evidence(text: &str, at: &Location) -> String {
    let line = near::line(text, &at.span, LONGEST);
    let start = near::floor(text, at.span.start);
    let from = near::floor(text, line.start.max(start.saturating_sub(LONGEST / 2)));
    let to = near::floor(text, line.end.min(start + LONGEST));
    let (from, to) = whole_words(text, from, to.max(from));
    let shown: String = text[from..to]
        .trim()
        .chars()
        .map(|c| if skill::is_unsafe_to_show(c) || skill::is_invisible(c) { '\u{fffd}' } else { c })
        .collect();
    redacted(&shown)
}

/// Moves the ends of a piece so that no word is cut: half a secret is not known for one. A word that is too long for that is left out.
fn whole_words(text: &str, from: usize, to: usize) -> (usize, usize) {
    const MAX_WORD: usize = 400;
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let run = |bytes: &mut dyn Iterator<Item = &u8>| bytes.take_while(|byte| is_part(byte)).count();
    let is_cut =
        |at: usize| at > 0 && bytes.get(at).is_some_and(is_part) && is_part(&bytes[at - 1]);
    let mut ends = (from, to);
    if is_cut(from) {
        let before = run(&mut bytes[..from].iter().rev());
        ends.0 = if before <= MAX_WORD {
            from - before
        } else {
            from + run(&mut bytes[from..to].iter())
        };
    }
    if is_cut(to) {
        let after = run(&mut bytes[to..].iter());
        ends.1 = if after <= MAX_WORD {
            to + after
        } else {
            to - run(&mut bytes[from..to].iter().rev())
        };
    }
    (ends.0, ends.1.max(ends.0))
}

/// Takes out what looks like a real secret: long runs of letters and digits after a name for one.
pub(crate) fn redacted(text: &str) -> String {
    use std::sync::LazyLock;

    use regex::Regex;

    static SECRET: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|(?-u:\b)sk-[A-Za-z0-9_-]{20,}|sk-(?:proj|ant|svcacct)-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|xox[abps]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,}|glpat-[A-Za-z0-9_-]{16,}").expect("a pattern that is tested")
    });
    SECRET.replace_all(text, "[secret]").into_owned()
}
