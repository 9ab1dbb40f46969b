//! Audits skills and adds what the policy and the install marker say about them.

use anyhow::Context as _;
use csk_core::audit::{audit_all, store_verdict};
use csk_core::origin;
use skill::{Digest, Marker};
use skill_audit::show::AuditedSkill;
use skill_audit::{Report, Verdict};
use skill_state::audit::{AuditPolicy, Bundle, Verdicts};

use super::ReportArgs;
use super::find::AuditTarget;
use crate::context::Context;

/// An audited skill.
pub(super) struct InspectedSkill {
    pub(super) bundle: Bundle,
    /// The prefix of its file paths in reports.
    pub(super) base: String,
    pub(super) marker: Option<Marker>,
    pub(super) audited: AuditedSkill,
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

/// Audits skills and stores the verdicts of those that come from a commit.
pub(super) fn inspect(
    context: &Context,
    found: Vec<AuditTarget>,
    policy: &AuditPolicy,
) -> anyhow::Result<Vec<InspectedSkill>> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now);
    let (mut bundles, mut details) = (Vec::new(), Vec::new());
    for found in found {
        let sources = sources(&found, policy)?;
        bundles.push((found.bundle, found.base));
        details.push((sources, found.marker, found.is_commit));
    }
    let inspected = audit_all(bundles, policy, now).into_iter().zip(details);
    let inspected = inspected.map(|((bundle, base, found), (sources, marker, is_commit))| {
        if is_commit {
            store_verdict(&verdicts, &found);
        }
        let revocation = policy.revocation(&found.bundle.to_string(), &sources);
        let revoked = revocation.map(|one| one.reason.clone());
        InspectedSkill {
            bundle,
            base,
            marker,
            audited: AuditedSkill { revoked, ..AuditedSkill::new(found) },
        }
    });
    Ok(inspected.collect())
}

/// Returns the sources of a skill: those declared, and the remote of its repository. The remote is read only if the
/// policy revokes a source.
fn sources(found: &AuditTarget, policy: &AuditPolicy) -> anyhow::Result<Vec<String>> {
    let mut sources = found.declared_sources.clone();
    if let Some(repository) = found.repository.as_ref().filter(|_| policy.revokes_sources()) {
        sources.push(repository.to_string());
        let own = origin(repository)
            .with_context(|| format!("cannot determine the source of `{}`", found.bundle.name))?;
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
