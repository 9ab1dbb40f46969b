//! `csk audit list`: what was found before, and what the user decided.

use csk_core::audit::state::{AuditPolicy, Revoked, Verdicts};
use serde_json::json;
use term::{HelpText, table};

use super::load;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Purpose: shows the verdicts that are kept, and your pins, revocations and suppressions.

Reads:  audit/policy.json and audit/verdicts/ in csk's home
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.usual()],
    examples: &["csk audit list", "csk audit list --json"],
};

/// List verdicts, pins, revocations and suppressions
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct ListArgs {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(context: &mut Context, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let policy = load(context)?;
    if args.json {
        json_of(context, &policy)?;
    } else {
        table_of(context, &policy)?;
    }
    Ok(ExitCode::Done)
}

/// Returns the first digits of a digest.
fn short(bundle: &str) -> &str {
    let digits = bundle.strip_prefix("sha256:").unwrap_or(bundle);
    digits.get(..12).unwrap_or(digits)
}

/// Shows it as a table.
fn table_of(context: &mut Context, policy: &AuditPolicy) -> anyhow::Result<()> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now).all()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for report in &verdicts {
        rows.push(vec![
            "verdict".to_owned(),
            short(&report.bundle_sha256).to_owned(),
            report.verdict.clone(),
            report.name.clone(),
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
    Ok(())
}

fn what(revoked: &Revoked) -> &str {
    match revoked {
        Revoked::Bundle(bundle) => short(bundle),
        Revoked::Source(source) => source,
    }
}

/// The same as data.
fn json_of(context: &mut Context, policy: &AuditPolicy) -> anyhow::Result<()> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now).all()?;
    let skills: Vec<_> = verdicts
        .iter()
        .map(|report| json!({ "name": report.name, "bundleSha256": report.bundle_sha256, "verdict": report.verdict, "pinned": policy.pin(&report.bundle_sha256).is_some() }))
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
    Ok(())
}
