//! What the user says about audits: pins, revocations, suppressions; and what was found before.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::json;
use skill_audit::BundleReport;
use skill_state::audit::{AuditPolicy, Revoked, Suppression, Verdicts};
use term::{safe_line, table};

use super::load;
use super::look::Looked;
use crate::context::Context;
use crate::failure::Failure;

/// Reads the digest of a bundle, with or without the word before it.
fn digest_of(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let digits = lower.strip_prefix("sha256:").unwrap_or(&lower);
    let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| format!("sha256:{digits}"))
}

/// Returns the first digits of a digest.
fn short(bundle: &str) -> &str {
    let digits = bundle.strip_prefix("sha256:").unwrap_or(bundle);
    digits.get(..12).unwrap_or(digits)
}

fn with_reason(reason: &str) -> Result<(), Failure> {
    if reason.trim().is_empty() { Err(Failure::usage("--reason must say why")) } else { Ok(()) }
}

pub(super) fn allow(context: &mut Context, digest: &str, reason: &str) -> Result<u8, Failure> {
    with_reason(reason)?;
    let Some(digest) = digest_of(digest) else {
        return Err(Failure::usage(format!("`{digest}` is no digest of a bundle"))
            .with_hint("`csk audit` shows it: 64 digits from 0 to f"));
    };
    let _lock = context.lock()?;
    let policy = load(context)?;
    if let Some(revoked) = policy.revocation(&digest, &[]) {
        return Err(Failure::usage(format!("it is revoked: {}", revoked.reason)));
    }
    policy.with_pin(&digest, reason, &context.time()).save(&context.home)?;
    context.ui.error(&format!("pinned {digest}\n"))?;
    Ok(0)
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

pub(super) fn revoke(context: &mut Context, what: &str, reason: &str) -> Result<u8, Failure> {
    with_reason(reason)?;
    let what = what.trim();
    let revoked = match digest_of(what) {
        Some(bundle) => Revoked::Bundle(bundle),
        None if is_source(what) => Revoked::Source(what.to_owned()),
        None => {
            return Err(Failure::usage(format!("`{what}` is neither a digest nor a source"))
                .with_hint("give the whole digest that `csk audit` shows, or where it comes from: a URL, HOST:PATH or an absolute path"));
        }
    };
    let _lock = context.lock()?;
    let policy = load(context)?;
    policy.with_revocation(revoked, reason, &context.time()).save(&context.home)?;
    context.ui.error(&format!("revoked {}\n", safe_line(what)))?;
    Ok(0)
}

pub(super) fn suppress(
    context: &mut Context,
    looked: &[Looked],
    fingerprint: &str,
    (reason, expires): (&str, Option<&str>),
) -> Result<u8, Failure> {
    with_reason(reason)?;
    let all = || looked.iter().flat_map(|looked| &looked.report().findings);
    let Some(finding) = all().find(|finding| finding.fingerprint() == fingerprint) else {
        return Err(Failure::usage(format!(
            "the target has no finding with the fingerprint `{fingerprint}`"
        ))
        .with_hint("`csk audit --json` shows fingerprints"));
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
    Ok(0)
}

/// Reads when something ends: a day, or a moment.
fn end(text: &str) -> Result<String, Failure> {
    let moment = text.parse::<Timestamp>().ok().or_else(|| {
        let day: Date = text.parse().ok()?;
        day.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    });
    moment.map(|moment| moment.to_string()).ok_or_else(|| {
        Failure::usage(format!("`{text}` is no date")).with_hint("write it as 2027-01-31")
    })
}

/// Shows what was found before, and what the user said.
pub(super) fn list(context: &mut Context, policy: &AuditPolicy) -> Result<u8, Failure> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now).all()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for found in &verdicts {
        rows.push(vec![
            "verdict".to_owned(),
            short(&found.bundle.to_string()).to_owned(),
            found.report.verdict.to_string(),
            found.report.name.clone(),
        ]);
    }
    for pin in &policy.pins {
        rows.push(vec![
            "pin".to_owned(),
            short(&pin.bundle).to_owned(),
            pin.at.clone(),
            pin.reason.clone(),
        ]);
    }
    for one in &policy.revoked {
        rows.push(vec![
            "revoked".to_owned(),
            what(&one.what).to_owned(),
            one.at.clone(),
            one.reason.clone(),
        ]);
    }
    for one in &policy.suppressions {
        // One that ended does nothing any more, and should go.
        let until = match (&one.expires_at, one.holds(now)) {
            (None, _) => "always".to_owned(),
            (Some(end), true) => format!("until {end}"),
            (Some(end), false) => format!("ended {end}"),
        };
        rows.push(vec![
            "suppression".to_owned(),
            format!("{} {}", one.rule, one.path),
            until,
            format!("{} ({})", one.reason, one.author),
        ]);
    }
    if rows.is_empty() {
        context.ui.error("nothing was audited or said yet\n")?;
    }
    let width = context.ui.width;
    context.ui.out(&table(&rows, width))?;
    Ok(0)
}

fn what(revoked: &Revoked) -> &str {
    match revoked {
        Revoked::Bundle(bundle) => short(bundle),
        Revoked::Source(source) => source,
    }
}

/// The same as data.
pub(super) fn list_json(context: &mut Context, policy: &AuditPolicy) -> Result<u8, Failure> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now).all()?;
    let skills: Vec<_> = verdicts
        .iter()
        .map(|BundleReport { bundle, report }| {
            let bundle = bundle.to_string();
            let pinned = policy.pin(&bundle).is_some();
            json!({ "name": report.name, "bundleSha256": bundle, "verdict": report.verdict.as_str(), "pinned": pinned })
        })
        .collect();
    let pins: Vec<_> = policy
        .pins
        .iter()
        .map(|pin| json!({ "bundleSha256": pin.bundle, "reason": pin.reason, "at": pin.at }))
        .collect();
    let revoked: Vec<_> = policy
        .revoked
        .iter()
        .map(|one| json!({ "what": what(&one.what), "reason": one.reason, "at": one.at }))
        .collect();
    let suppressions: Vec<_> = policy
        .suppressions
        .iter()
        .map(|one| json!({ "rule": one.rule, "path": one.path, "fingerprint": one.evidence, "reason": one.reason, "author": one.author, "expiresAt": one.expires_at, "holds": one.holds(now) }))
        .collect();
    context.ui.json(&json!({ "version": 1, "skills": skills, "pins": pins, "revoked": revoked, "suppressions": suppressions }))?;
    Ok(0)
}
