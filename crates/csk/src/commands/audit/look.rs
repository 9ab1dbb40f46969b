//! What is found about a skill, and what else is known of it: whether it is revoked, and what it was before.

use csk_core::audit::{keep, look_all};
use csk_core::origin;
use skill::{Digest, Marker};
use skill_audit::show::AuditedSkill;
use skill_audit::{Report, Verdict};
use skill_state::audit::{AuditPolicy, Bundle, Verdicts};

use super::AuditArgs;
use super::find::Found;
use crate::context::Context;
use crate::failure::Failure;

/// A skill that was looked at.
pub(super) struct Looked {
    pub(super) bundle: Bundle,
    /// What paths of it are relative to, for those who open files.
    pub(super) base: String,
    pub(super) marker: Option<Marker>,
    pub(super) audited: AuditedSkill,
}

impl Looked {
    pub(super) fn report(&self) -> &Report {
        &self.audited.found.report
    }

    /// Returns the digest of everything that it is.
    pub(super) fn digest(&self) -> Digest {
        self.audited.found.bundle
    }
}

/// Looks at skills. What is found about a commit is kept.
pub(super) fn look(
    context: &Context,
    found: Vec<Found>,
    policy: &AuditPolicy,
) -> Result<Vec<Looked>, Failure> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now);
    let (mut bundles, mut known) = (Vec::new(), Vec::new());
    for found in found {
        let sources = sources(&found, policy)?;
        bundles.push((found.bundle, found.base));
        known.push((sources, found.marker, found.is_commit));
    }
    let looked = look_all(bundles, policy, now).into_iter().zip(known);
    let looked = looked.map(|((bundle, base, found), (sources, marker, is_commit))| {
        if is_commit {
            keep(&verdicts, &found);
        }
        let revocation = policy.revocation(&found.bundle.to_string(), &sources);
        let revoked = revocation.map(|one| one.reason.clone());
        Looked {
            bundle,
            base,
            marker,
            audited: AuditedSkill { revoked, ..AuditedSkill::new(found) },
        }
    });
    Ok(looked.collect())
}

/// Returns where a skill comes from: as it is said, and as its repository says. That matters only where a source is revoked.
fn sources(found: &Found, policy: &AuditPolicy) -> Result<Vec<String>, Failure> {
    let mut sources = found.said.clone();
    if let Some(repository) = found.repository.as_ref().filter(|_| policy.revokes_sources()) {
        sources.push(repository.to_string());
        let own = origin(repository).map_err(|error| {
            Failure::usage(format!("cannot tell where {} comes from: {error}", found.bundle.name))
        })?;
        sources.extend(own);
    }
    Ok(sources)
}

/// Returns true if a skill makes the command fail.
pub(super) fn fails(args: &AuditArgs, policy: &AuditPolicy, looked: &Looked) -> bool {
    let is_pinned = || policy.pin(&looked.digest().to_string()).is_some();
    let is_bad = match looked.report().verdict {
        Verdict::Pass | Verdict::Note => false,
        Verdict::Review | Verdict::Unanalyzable => args.strict && !is_pinned(),
        Verdict::Block => true,
    };
    looked.audited.revoked.is_some() || is_bad
}
