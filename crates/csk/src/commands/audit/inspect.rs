//! What is found about a skill, and what else is known of it: whether it is revoked, and what it was before.

use anyhow::Context as _;
use csk_core::audit::{keep, look_all};
use csk_core::origin;
use skill::{Digest, Marker};
use skill_audit::show::AuditedSkill;
use skill_audit::{Report, Verdict};
use skill_state::audit::{AuditPolicy, Bundle, Verdicts};

use super::ReportArgs;
use super::find::Found;
use crate::context::Context;

/// A skill that was inspected.
pub(super) struct Inspected {
    pub(super) bundle: Bundle,
    /// What paths of it are relative to, for those who open files.
    pub(super) base: String,
    pub(super) marker: Option<Marker>,
    pub(super) audited: AuditedSkill,
}

impl Inspected {
    pub(super) fn report(&self) -> &Report {
        &self.audited.found.report
    }

    /// Returns the digest of everything that it is.
    pub(super) fn digest(&self) -> Digest {
        self.audited.found.bundle
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
    let inspected = inspected.map(|((bundle, base, found), (sources, marker, is_commit))| {
        if is_commit {
            keep(&verdicts, &found);
        }
        let revocation = policy.revocation(&found.bundle.to_string(), &sources);
        let revoked = revocation.map(|one| one.reason.clone());
        Inspected {
            bundle,
            base,
            marker,
            audited: AuditedSkill { revoked, ..AuditedSkill::new(found) },
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
    let is_pinned = || policy.pin(&inspected.digest().to_string()).is_some();
    let is_bad = match inspected.report().verdict {
        Verdict::Pass | Verdict::Note => false,
        Verdict::Review | Verdict::Unanalyzable => args.strict && !is_pinned(),
        Verdict::Block => true,
    };
    inspected.audited.revoked.is_some() || is_bad
}
