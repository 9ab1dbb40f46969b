//! The user's audit decisions: pins, revocations and suppressions.

use jiff::Timestamp;
use jiff::civil::Date;
use skill_state::audit::{Revoked, Suppression};
use term::{Failure, safe_line};

use super::inspect::InspectedSkill;
use super::load;
use crate::context::Context;
use crate::exit_code::ExitCode;

/// Parses a bundle digest, with or without the `sha256:` prefix.
fn parse_digest(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let digits = lower.strip_prefix("sha256:").unwrap_or(&lower);
    let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| format!("sha256:{digits}"))
}

fn require_reason(reason: &str) -> anyhow::Result<()> {
    if reason.trim().is_empty() {
        Err(Failure::usage("--reason must not be empty").into())
    } else {
        Ok(())
    }
}

pub(super) fn allow(context: &mut Context, digest: &str, reason: &str) -> anyhow::Result<ExitCode> {
    require_reason(reason)?;
    let Some(digest) = parse_digest(digest) else {
        return Err(Failure::usage(format!("invalid bundle digest `{digest}`"))
            .with_hint("copy the digest that `csk audit` prints: 64 hexadecimal digits")
            .into());
    };
    let _lock = context.lock()?;
    let policy = load(context)?;
    if let Some(revoked) = policy.revocation(&digest, &[]) {
        return Err(Failure::usage(format!(
            "cannot pin `{digest}`, because it is revoked: {}",
            revoked.reason
        ))
        .into());
    }
    policy.with_pin(&digest, reason, &context.time()).save(&context.home)?;
    context.ui.error(&format!("pinned {digest}\n"))?;
    Ok(ExitCode::Done)
}

/// Returns true if a skill can come from `text`. A name, a relative path or a partial digest would revoke nothing.
fn is_source(text: &str) -> bool {
    let is_address = text.contains("://") || text.starts_with("mcp:");
    let has_host = text.split_once(':').is_some_and(|(host, path)| {
        host != "sha256" && host.contains(['.', '@']) && !path.is_empty()
    });
    let has_path = text.split_once('/').is_some_and(|(host, path)| {
        !host.starts_with('.') && host.contains('.') && !path.is_empty()
    });
    // Patterns are not supported, and no source contains these characters.
    !text.contains(['*', '?']) && (is_address || has_host || has_path || text.starts_with('/'))
}

pub(super) fn revoke(
    context: &mut Context,
    target: &str,
    reason: &str,
) -> anyhow::Result<ExitCode> {
    require_reason(reason)?;
    let target = target.trim();
    let revoked = match parse_digest(target) {
        Some(bundle) => Revoked::Bundle(bundle),
        None if is_source(target) => Revoked::Source(target.to_owned()),
        None => {
            return Err(Failure::usage(format!("`{target}` is neither a digest nor a source"))
                .with_hint("use the full digest that `csk audit` prints, or a source: a URL, HOST:PATH or an absolute path").into());
        }
    };
    let _lock = context.lock()?;
    let policy = load(context)?;
    policy.with_revocation(revoked, reason, &context.time()).save(&context.home)?;
    context.ui.error(&format!("revoked {}\n", safe_line(target)))?;
    Ok(ExitCode::Done)
}

pub(super) fn suppress(
    context: &mut Context,
    inspected: &[InspectedSkill],
    fingerprint: &str,
    reason: &str,
    expires: Option<&str>,
) -> anyhow::Result<ExitCode> {
    require_reason(reason)?;
    let all = || inspected.iter().flat_map(|inspected| &inspected.report().findings);
    let Some(finding) = all().find(|finding| finding.fingerprint() == fingerprint) else {
        return Err(Failure::usage(format!(
            "the target has no finding with fingerprint `{fingerprint}`"
        ))
        .with_hint("run `csk audit --json` to see fingerprints")
        .into());
    };
    let expires_at = expires.map(parse_expiry).transpose()?;
    let _lock = context.lock()?;
    let mut policy = load(context)?;
    policy.suppressions.retain(|one| one.evidence != fingerprint);
    policy.suppressions.push(Suppression {
        rule: finding.rule.id.to_string(),
        path: finding.file.clone(),
        evidence: fingerprint.to_owned(),
        reason: reason.to_owned(),
        author: context.user.clone().unwrap_or_else(|| "unknown user".to_owned()),
        expires_at,
    });
    let (rule, file) = (finding.rule.id, finding.file.clone());
    policy.save(&context.home)?;
    context.ui.error(&format!("suppressed {rule} in {}\n", safe_line(&file)))?;
    Ok(ExitCode::Done)
}

/// Parses an expiry: a date, or a timestamp.
fn parse_expiry(text: &str) -> anyhow::Result<String> {
    let expiry = text.parse::<Timestamp>().ok().or_else(|| {
        let day: Date = text.parse().ok()?;
        day.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    });
    let expiry = expiry.ok_or_else(|| {
        Failure::usage(format!("invalid date `{text}`")).with_hint("use a date like 2027-01-31")
    })?;
    Ok(expiry.to_string())
}
