//! What the user decides about audits: pins, revocations, suppressions.

use jiff::Timestamp;
use jiff::civil::Date;
use skill_state::audit::{Revoked, Suppression};
use term::{Failure, safe_line};

use super::inspect::Inspected;
use super::load;
use crate::context::Context;
use crate::exit_code::ExitCode;

/// Reads the digest of a bundle, with or without the word before it.
fn digest_of(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let digits = lower.strip_prefix("sha256:").unwrap_or(&lower);
    let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| format!("sha256:{digits}"))
}

fn with_reason(reason: &str) -> anyhow::Result<()> {
    if reason.trim().is_empty() {
        Err(Failure::usage("--reason must say why").into())
    } else {
        Ok(())
    }
}

pub(super) fn allow(context: &mut Context, digest: &str, reason: &str) -> anyhow::Result<ExitCode> {
    with_reason(reason)?;
    let Some(digest) = digest_of(digest) else {
        return Err(Failure::usage(format!("`{digest}` is no digest of a bundle"))
            .with_hint("`csk audit` shows it: 64 digits from 0 to f")
            .into());
    };
    let _lock = context.lock()?;
    let policy = load(context)?;
    if let Some(revoked) = policy.revocation(&digest, &[]) {
        return Err(Failure::usage(format!("it is revoked: {}", revoked.reason)).into());
    }
    policy.with_pin(&digest, reason, &context.time()).save(&context.home)?;
    context.ui.error(&format!("pinned {digest}\n"))?;
    Ok(ExitCode::Done)
}

/// Returns true for what a skill can come from. A name, a relative path or half a digest would revoke nothing.
fn is_source(text: &str) -> bool {
    let is_address = text.contains("://") || text.starts_with("mcp:");
    let has_host = text.split_once(':').is_some_and(|(host, path)| {
        host != "sha256" && host.contains(['.', '@']) && !path.is_empty()
    });
    let has_path = text.split_once('/').is_some_and(|(host, path)| {
        !host.starts_with('.') && host.contains('.') && !path.is_empty()
    });
    // A pattern is a name that no source has.
    !text.contains(['*', '?']) && (is_address || has_host || has_path || text.starts_with('/'))
}

pub(super) fn revoke(context: &mut Context, what: &str, reason: &str) -> anyhow::Result<ExitCode> {
    with_reason(reason)?;
    let what = what.trim();
    let revoked = match digest_of(what) {
        Some(bundle) => Revoked::Bundle(bundle),
        None if is_source(what) => Revoked::Source(what.to_owned()),
        None => {
            return Err(Failure::usage(format!("`{what}` is neither a digest nor a source"))
                .with_hint("give the whole digest that `csk audit` shows, or where it comes from: a URL, HOST:PATH or an absolute path").into());
        }
    };
    let _lock = context.lock()?;
    let policy = load(context)?;
    policy.with_revocation(revoked, reason, &context.time()).save(&context.home)?;
    context.ui.error(&format!("revoked {}\n", safe_line(what)))?;
    Ok(ExitCode::Done)
}

pub(super) fn suppress(
    context: &mut Context,
    inspected: &[Inspected],
    fingerprint: &str,
    reason: &str,
    expires: Option<&str>,
) -> anyhow::Result<ExitCode> {
    with_reason(reason)?;
    let all = || inspected.iter().flat_map(|inspected| &inspected.report().findings);
    let Some(finding) = all().find(|finding| finding.fingerprint() == fingerprint) else {
        return Err(Failure::usage(format!(
            "the target has no finding with the fingerprint `{fingerprint}`"
        ))
        .with_hint("`csk audit --json` shows fingerprints")
        .into());
    };
    let expires_at = expires.map(end).transpose()?;
    let _lock = context.lock()?;
    let mut policy = load(context)?;
    policy.suppressions.retain(|one| one.evidence != fingerprint);
    policy.suppressions.push(Suppression {
        rule: finding.rule.id.to_string(),
        path: finding.file.clone(),
        evidence: fingerprint.to_owned(),
        reason: reason.to_owned(),
        author: context.user.clone().unwrap_or_else(|| "the user".to_owned()),
        expires_at,
    });
    let (rule, file) = (finding.rule.id, finding.file.clone());
    policy.save(&context.home)?;
    context.ui.error(&format!("suppressed {rule} in {}\n", safe_line(&file)))?;
    Ok(ExitCode::Done)
}

/// Reads when something ends: a day, or a moment.
fn end(text: &str) -> anyhow::Result<String> {
    let moment = text.parse::<Timestamp>().ok().or_else(|| {
        let day: Date = text.parse().ok()?;
        day.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    });
    let moment = moment.ok_or_else(|| {
        Failure::usage(format!("`{text}` is no date")).with_hint("write it as 2027-01-31")
    })?;
    Ok(moment.to_string())
}
