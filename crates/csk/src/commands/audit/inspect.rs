//! What is found about a skill, and what else is known of it: whether it is revoked, and what it was before.

use anyhow::Context as _;
use csk_core::audit::rules::Verdict;
use csk_core::audit::rules::show::{AuditedJson, ReportJson};
use csk_core::audit::state::{AuditPolicy, Verdicts};
use csk_core::audit::{Bundle, keep, look_all};
use csk_core::origin;
use skill::Marker;

use super::ReportArgs;
use super::find::Found;
use crate::context::Context;

/// A skill that was inspected.
pub(super) struct Inspected {
    pub(super) bundle: Bundle,
    /// What paths of it are relative to, for those who open files.
    pub(super) base: String,
    pub(super) marker: Option<Marker>,
    pub(super) audited: AuditedJson,
}

impl Inspected {
    pub(super) fn report(&self) -> &ReportJson {
        &self.audited.report
    }

    /// Returns the word for it: what is revoked is that before anything else.
    pub(super) fn word(&self) -> &str {
        if self.audited.revoked.is_some() { "REVOKED" } else { &self.report().verdict }
    }
}

/// Inspects skills. What is found about a commit is kept.
pub(super) fn inspect(
    context: &Context,
    found: Vec<Found>,
    policy: &AuditPolicy,
) -> anyhow::Result<Vec<Inspected>> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now);
    let (mut bundles, mut known) = (Vec::new(), Vec::new());
    for found in found {
        let sources = sources(&found, policy)?;
        bundles.push((found.bundle, found.base));
        known.push((sources, found.marker, found.is_commit));
    }
    let inspected = look_all(bundles, policy, now).into_iter().zip(known);
    let inspected = inspected.map(|((bundle, base, report), (sources, marker, is_commit))| {
        if is_commit {
            keep(&verdicts, &report);
        }
        let revocation = policy.revocation(&report.bundle_sha256, &sources);
        let revoked = revocation.map(|one| one.reason.clone());
        Inspected {
            bundle,
            base,
            marker,
            audited: AuditedJson { revoked, ..AuditedJson::new(report) },
        }
    });
    Ok(inspected.collect())
}

/// Returns where a skill comes from: as it is said, and as its repository says. That matters only where a source is revoked.
fn sources(found: &Found, policy: &AuditPolicy) -> anyhow::Result<Vec<String>> {
    let mut sources = found.said.clone();
    if let Some(repository) = found.repository.as_ref().filter(|_| policy.revokes_sources()) {
        sources.push(repository.to_string());
        let own = origin(repository)
            .with_context(|| format!("cannot tell where {} comes from", found.bundle.name))?;
        sources.extend(own);
    }
    Ok(sources)
}

/// Returns true if a skill makes the command fail.
pub(super) fn fails(args: &ReportArgs, policy: &AuditPolicy, inspected: &Inspected) -> bool {
    let report = inspected.report();
    let is_odd = report.verdict == Verdict::Review.as_str()
        || report.verdict == Verdict::Unanalyzable.as_str();
    inspected.audited.revoked.is_some()
        || report.verdict == Verdict::Block.as_str()
        || args.strict && is_odd && policy.pin(&report.bundle_sha256).is_none()
}
