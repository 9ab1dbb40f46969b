//! The audit of a skill, from its files to its report.

use std::collections::BTreeMap;

use rayon::prelude::*;
use skill::capabilities::{Cover, Declared, Host, Reach};
use skill::{Digest, Source};

use crate::about::About;
use crate::artifact::{File, Kind};
use crate::finding::{Finding, FlowStep, Severity, Verdict, verdict};
use crate::inspect::{Inspected, follow, inspect};
use crate::near;
use crate::observed::{Observed, Power, observed};
use crate::op::{Location, Role};
use crate::rules::{Hit, Skill, apply};

/// A file that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// Where it is.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// How long it is, in bytes.
    pub bytes: usize,
    /// The digest of what it holds.
    pub digest: Digest,
}

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
    pub declared: Declared,
    /// What it is seen to use.
    pub observed: Observed,
    /// What was looked at, by path.
    pub files: Vec<Scanned>,
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
    let files = files
        .iter()
        .zip(&read)
        .map(|(file, read)| Scanned {
            path: file.path.to_owned(),
            kind: read.kind,
            bytes: file.bytes.len(),
            digest: Digest::of(file.bytes),
        })
        .collect();
    let verdict = verdict(&findings);
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

/// Compares what is declared with what scripts are seen to use. That something is not declared is never enough to refuse it.
fn undeclared(skill: &Skill<'_>, declared: &Declared, observed: &Observed) -> Vec<Hit> {
    let mut hits = Vec::new();
    if skill.files.is_empty() {
        return hits;
    }
    let at = || skill.at(0, 0..0, &[]);
    let has_code = skill.files.iter().any(Inspected::is_script);
    let declares = declared.network.is_some()
        || declared.exec.is_some()
        || declared.read.is_some()
        || declared.write.is_some();
    if has_code && !declares && !observed.code.is_empty() {
        hits.push(Hit::new(
            "CAP-02",
            at(),
            "it has scripts and declares no powers: it may do anything",
        ));
        return hits;
    }
    let mut compare = |power: Power, is_covered: &dyn Fn(&str) -> bool| {
        let missing: Vec<&str> = observed
            .code
            .get(&power)
            .into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|item| !is_covered(item))
            .collect();
        if !missing.is_empty() {
            hits.push(
                Hit::new(
                    "CAP-01",
                    at(),
                    format!("not declared: {} {}", power.as_str(), missing.join(", ")),
                )
                .severity(if power == Power::Network {
                    Severity::Medium
                } else {
                    Severity::Low
                }),
            );
        }
    };
    if let Some(network) = &declared.network {
        compare(Power::Network, &|host| {
            Host::parse(host).is_some_and(|host| covers(network, &host))
        });
    }
    if let Some(exec) = &declared.exec {
        compare(Power::Exec, &|program| covers(exec, &program.to_owned()));
    }
    if let Some(env) = &declared.env {
        compare(Power::Env, &|name| covers(env, &name.to_owned()));
    }
    hits
}

fn covers<T: Cover>(reach: &Reach<T>, item: &T) -> bool {
    match reach {
        Reach::Everything => true,
        Reach::Only(items) => items.iter().any(|known| known.covers(item)),
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
    let mut once: BTreeMap<(usize, usize, &str, String), Finding> = BTreeMap::new();
    let mut counts: BTreeMap<(usize, &str, bool), usize> = BTreeMap::new();
    for hit in hits {
        // What is found a hundred times is not better known after the next hundred.
        let count = counts.entry((hit.at.file, hit.rule.id, hit.blocks)).or_default();
        *count += 1;
        if *count > MOST_OF_A_RULE {
            continue;
        }
        let source = &sources[hit.at.file];
        let span = source.span(hit.at.span.clone());
        let place = |at: &Location, what: String| FlowStep {
            file: skill.files[at.file].file.path.to_owned(),
            span: sources[at.file].span(at.span.clone()),
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
            span,
            role: hit.at.role,
            chain: hit.at.chain,
            message: hit.message,
            flow,
            lowered: hit.lowered,
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
            (&one.file, one.span.start, one.rule.id, &one.message).cmp(&(
                &other.file,
                other.span.start,
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
