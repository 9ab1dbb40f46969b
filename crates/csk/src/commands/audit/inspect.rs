//! Audits skills and adds what the policy and the install marker say about them.

use anyhow::Context as _;
use csk_core::audit::{audit_all, read_folder, store_verdict};
use csk_core::origin;
use skill::{Digest, Marker};
use skill_audit::show::AuditedSkill;
use skill_audit::{Report, Verdict};
use skill_state::audit::{AuditPolicy, Bundle, Verdicts};
use term::{Failure, counted};

use super::ReportArgs;
use super::find::{AuditTarget, TargetFiles};
use crate::context::Context;

/// How many skills are in memory at the same time.
const BATCH: usize = 64;

/// Whether the source text of findings is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceText {
    Keep,
    Drop,
}

/// An audited skill.
pub(super) struct InspectedSkill {
    /// Path and text of the files with findings, if they are kept.
    pub(super) sources: Vec<(String, String)>,
    /// The prefix of its file paths in reports.
    pub(super) base: String,
    pub(super) marker: Option<Marker>,
    pub(super) audited: AuditedSkill,
}

/// The audited skills, and what could not be read.
#[derive(Default)]
pub(super) struct Inspection {
    pub(super) skills: Vec<InspectedSkill>,
    pub(super) problems: Vec<String>,
}

impl Inspection {
    /// Returns the skills; fails if one could not be read.
    pub(super) fn complete(self) -> anyhow::Result<Vec<InspectedSkill>> {
        match self.problems.into_iter().next() {
            Some(problem) => Err(Failure::usage(problem).into()),
            None => Ok(self.skills),
        }
    }
}

impl InspectedSkill {
    pub(super) fn report(&self) -> &Report {
        &self.audited.found.report
    }

    /// Returns the digest of its bundle.
    pub(super) fn digest(&self) -> Digest {
        self.audited.found.bundle
    }
}

/// Audits skills and stores the verdicts of those that come from a commit. Reads them in batches, so that a folder of
/// thousands of skills does not have to fit into memory.
pub(super) fn inspect(
    context: &Context,
    found: Vec<AuditTarget>,
    policy: &AuditPolicy,
    source_text: SourceText,
) -> anyhow::Result<Inspection> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now);
    let count = found.len();
    let progress = context.progress().task(&format!("auditing {}", counted(count, "skill")));
    let mut inspection = Inspection::default();
    let mut found = found.into_iter().peekable();
    let mut done = 0;
    while found.peek().is_some() {
        progress.note(&format!("{done} of {count}"));
        let (mut bundles, mut details) = (Vec::new(), Vec::new());
        for target in found.by_ref().take(BATCH) {
            done += 1;
            let sources = sources(&target, policy)?;
            let bundle = match target.files {
                TargetFiles::Read(bundle) => bundle,
                TargetFiles::Folder(path) => match read_folder(&path) {
                    Ok(bundle) => bundle,
                    Err(error) => {
                        inspection.problems.push(error.to_string());
                        continue;
                    }
                },
            };
            bundles.push((bundle, target.base));
            details.push((sources, target.marker, target.is_commit));
        }
        let audited = audit_all(bundles, policy, now).into_iter().zip(details);
        inspection.skills.extend(audited.map(
            |((bundle, base, found), (sources, marker, is_commit))| {
                if is_commit {
                    store_verdict(&verdicts, &found);
                }
                let revocation = policy.revocation(&found.bundle.to_string(), &sources);
                let revoked = revocation.map(|one| one.reason.clone());
                let sources = match source_text {
                    SourceText::Keep => texts(&bundle, &found.report),
                    SourceText::Drop => Vec::new(),
                };
                InspectedSkill {
                    sources,
                    base,
                    marker,
                    audited: AuditedSkill { revoked, ..AuditedSkill::new(found) },
                }
            },
        ));
    }
    Ok(inspection)
}

/// Returns path and text of the files that have findings.
fn texts(bundle: &Bundle, report: &Report) -> Vec<(String, String)> {
    let has_finding = |path: &str| report.findings.iter().any(|finding| finding.file == path);
    let files = bundle.files.iter().filter(|(path, ..)| has_finding(path));
    files
        .map(|(path, bytes, _)| (path.clone(), String::from_utf8_lossy(bytes).into_owned()))
        .collect()
}

/// Returns the sources of a skill: those declared, and the remote of its repository. The remote is read only if the
/// policy revokes a source.
fn sources(found: &AuditTarget, policy: &AuditPolicy) -> anyhow::Result<Vec<String>> {
    let mut sources = found.declared_sources.clone();
    if let Some(repository) = found.repository.as_ref().filter(|_| policy.revokes_sources()) {
        sources.push(repository.to_string());
        let own = origin(repository)
            .with_context(|| format!("cannot determine the source of `{}`", found.name()))?;
        sources.extend(own);
    }
    Ok(sources)
}

/// Returns true if a skill makes the command fail.
pub(super) fn fails(args: &ReportArgs, policy: &AuditPolicy, inspected: &InspectedSkill) -> bool {
    let is_pinned = || policy.pin(&inspected.digest().to_string()).is_some();
    let is_bad = match inspected.report().verdict {
        Verdict::Pass | Verdict::Note => false,
        Verdict::Review | Verdict::Unanalyzable => args.strict && !is_pinned(),
        Verdict::Block => true,
    };
    inspected.audited.revoked.is_some() || is_bad
}
