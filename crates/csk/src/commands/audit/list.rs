//! `csk audit list`: stored verdicts, and the user's decisions.

use serde_json::json;
use skill_audit::BundleReport;
use skill_state::audit::{AuditPolicy, Revoked, Verdicts};
use term::{HelpText, table};

use super::load;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Lists the stored verdicts, and your pins, revocations and suppressions.

Reads:  audit/policy.json and audit/verdicts/ in csk's home folder
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.usual()],
    examples: &["csk audit list", "csk audit list --json"],
};

/// List verdicts, pins, revocations and suppressions
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(context: &mut Context, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let policy = load(context)?;
    if args.json {
        print_json(context, &policy)?;
    } else {
        print_table(context, &policy)?;
    }
    Ok(ExitCode::Done)
}

/// Returns the first 12 digits of a digest.
fn short(bundle: &str) -> &str {
    let digits = bundle.strip_prefix("sha256:").unwrap_or(bundle);
    digits.get(..12).unwrap_or(digits)
}

fn print_table(context: &mut Context, policy: &AuditPolicy) -> anyhow::Result<()> {
    let now = context.timestamp();
    let verdicts = Verdicts::new(&context.home, policy, now).all()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for BundleReport { bundle, report } in &verdicts {
        rows.push(vec![
            "verdict".to_owned(),
            short(&bundle.to_string()).to_owned(),
            report.verdict.to_string(),
            report.name.clone(),
        ]);
    }
    for pin in &policy.pins {
        rows.push(vec![
            "pin".to_owned(),
            short(&pin.bundle).to_owned(),
            pin.created_at.clone(),
            pin.reason.clone(),
        ]);
    }
    for one in &policy.revoked {
        rows.push(vec![
            "revoked".to_owned(),
            revoked_target(&one.target).to_owned(),
            one.created_at.clone(),
            one.reason.clone(),
        ]);
    }
    for one in &policy.suppressions {
        // Expired suppressions have no effect; list them so that the user removes them.
        let until = match (&one.expires_at, one.is_active(now)) {
            (None, _) => "always".to_owned(),
            (Some(end), true) => format!("until {end}"),
            (Some(end), false) => format!("expired {end}"),
        };
        rows.push(vec![
            "suppression".to_owned(),
            format!("{} {}", one.rule, one.path),
            until,
            format!("{} ({})", one.reason, one.author),
        ]);
    }
    if rows.is_empty() {
        context.ui.error("no stored verdicts, pins, revocations or suppressions\n")?;
    }
    let width = context.ui.width;
    context.ui.out(&table(&rows, width))?;
    Ok(())
}

fn revoked_target(revoked: &Revoked) -> &str {
    match revoked {
        Revoked::Bundle(bundle) => short(bundle),
        Revoked::Source(source) => source,
    }
}

fn print_json(context: &mut Context, policy: &AuditPolicy) -> anyhow::Result<()> {
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
        .map(|pin| json!({ "bundleSha256": pin.bundle, "reason": pin.reason, "createdAt": pin.created_at }))
        .collect();
    let revoked: Vec<_> = policy
        .revoked
        .iter()
        .map(|one| json!({ "target": revoked_target(&one.target), "reason": one.reason, "createdAt": one.created_at }))
        .collect();
    let suppressions: Vec<_> = policy
        .suppressions
        .iter()
        .map(|one| json!({ "rule": one.rule, "path": one.path, "fingerprint": one.evidence, "reason": one.reason, "author": one.author, "expiresAt": one.expires_at, "active": one.is_active(now) }))
        .collect();
    context.ui.json(&json!({ "version": 1, "skills": skills, "pins": pins, "revoked": revoked, "suppressions": suppressions }))?;
    Ok(())
}
