//! `csk audit verify`: re-audits installed skills and compares them with what csk installed and with the stored verdicts.

use skill::Marker;
use skill_audit::{BundleReport, Finding};
use skill_state::audit::{AuditPolicy, Verdicts};
use term::{HelpText, counted, safe_line};

use super::inspect::{InspectedSkill, fails, inspect};
use super::show::Detail;
use super::{ReportArgs, find, load, write};
use crate::context::Context;
use crate::exit_code::ExitCode;

/// The number of new findings that are listed.
const MAX_LISTED: usize = 5;

const HELP: HelpText = HelpText {
    text: "\
Re-audits the installed skills and reports any difference from what csk installed or from the stored verdicts.

Reads:  the installed skills, config.json, Skillfile.json, audit/ in csk's home folder
Writes: the --output file",
    exit_codes: &[
        ExitCode::Done.when("no differences, and no skill is blocked or revoked"),
        ExitCode::Failed.when("a difference was found, or a skill is blocked or revoked; with --strict, also if an unpinned skill is rated REVIEW or UNANALYZABLE"),
        ExitCode::Usage.usual(),
    ],
    examples: &["csk audit verify", "csk audit verify --strict --json"],
};

/// Re-audit installed skills and report what has changed since they were installed
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    report: ReportArgs,
}

pub(super) fn verify(context: &mut Context, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let args = &args.report;
    let policy = &load(context)?;
    let (found, missing) = find::all_installed(context)?;
    let mut inspected = inspect(context, found, policy, args.source_text())?.complete()?;
    let verdicts = Verdicts::new(&context.home, policy, context.timestamp());
    let mut without_verdict = Vec::new();
    for one in &mut inspected {
        let stored = stored_verdict(&verdicts, one);
        if stored.is_none() {
            without_verdict.push(one.report().name.clone());
        }
        let differs = differences(&one.audited.found, one.marker.as_ref(), stored.as_ref());
        one.audited.differences = Some(differs);
        one.audited.previous = stored;
    }
    if args.json || args.sarif || args.html {
        write(context, args, Detail::Summary, &inspected)?;
    } else {
        context.ui.out(&text(&inspected))?;
    }
    for name in &missing {
        context.ui.error(&format!("note: {} is not installed\n", safe_line(name)))?;
    }
    for name in &without_verdict {
        let name = safe_line(name);
        context.ui.error(&format!(
            "note: no stored verdict for {name}; run `csk audit` to store one\n"
        ))?;
    }
    note_unused_suppressions(context, policy, &inspected)?;
    let is_bad = |one: &InspectedSkill| {
        fails(args, policy, one) || one.audited.differences.iter().flatten().next().is_some()
    };
    Ok(ExitCode::failed_if(inspected.iter().any(is_bad)))
}

/// Returns the stored verdict for the installed commit, or else for exactly these files.
fn stored_verdict(verdicts: &Verdicts, inspected: &InspectedSkill) -> Option<BundleReport> {
    let commit = inspected.marker.as_ref().and_then(|marker| marker.bundle_sha256);
    let commit = commit.and_then(|bundle| verdicts.previous(&bundle));
    commit.or_else(|| verdicts.previous(&inspected.digest()))
}

/// Returns how a skill differs from what was installed and from the stored verdict.
///
/// An install may omit files of the commit, so missing findings and lost capabilities count only if the files are
/// identical.
fn differences(
    found: &BundleReport,
    marker: Option<&Marker>,
    stored: Option<&BundleReport>,
) -> Vec<String> {
    let mut all = Vec::new();
    match marker.map(|marker| marker.context_sha256.or(marker.bundle_sha256)) {
        None => all.push("not installed by csk, or its install marker cannot be read".to_owned()),
        Some(Some(digest)) if digest != found.bundle => {
            all.push("its files differ from what csk installed".to_owned());
        }
        Some(_) => {}
    }
    let Some(stored) = stored else { return all };
    let is_same = stored.bundle == found.bundle;
    let (stored, current) = (&stored.report, &found.report);
    let (old, new) = (stored.verdict, current.verdict);
    if new > old || is_same && new != old {
        all.push(format!("verdict changed from {old} to {new}"));
    }
    for change in current.observed.changes_since(&stored.observed) {
        if !change.gained.is_empty() {
            all.push(format!("gained {} {}", change.kind, change.gained.join(", ")));
        }
        if is_same && !change.lost.is_empty() {
            all.push(format!("lost {} {}", change.kind, change.lost.join(", ")));
        }
    }
    let suppressed = stored.suppressed.iter().map(|one| &one.finding);
    let known: Vec<String> =
        stored.findings.iter().chain(suppressed).map(Finding::fingerprint).collect();
    let new: Vec<String> = current
        .findings
        .iter()
        .filter(|finding| !known.contains(&finding.fingerprint()))
        .map(|one| format!("{} {}:{}", one.rule.id, one.file, one.location.line))
        .collect();
    if !new.is_empty() {
        let more = new.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let listed = new[..new.len().min(MAX_LISTED)].join(", ");
        all.push(format!("{}: {listed}{more}", counted(new.len(), "new finding")));
    }
    all
}

fn text(inspected: &[InspectedSkill]) -> String {
    let mut text = String::new();
    for one in inspected {
        text += &format!("{} {}\n", safe_line(&one.report().name), one.audited.label());
        if let Some(reason) = &one.audited.revoked {
            text += &format!("  revoked: {}\n", safe_line(reason));
        }
        for difference in one.audited.differences.iter().flatten() {
            text += &format!("  changed: {}\n", safe_line(difference));
        }
    }
    text
}

/// Prints a note for each suppression that has expired or matches no finding of the audited skills.
fn note_unused_suppressions(
    context: &mut Context,
    policy: &AuditPolicy,
    inspected: &[InspectedSkill],
) -> anyhow::Result<()> {
    let now = context.timestamp();
    let suppressed = inspected.iter().flat_map(|one| &one.report().suppressed);
    let used: Vec<String> = suppressed.map(|one| one.finding.fingerprint()).collect();
    for one in &policy.suppressions {
        let status = match (one.is_active(now), used.contains(&one.evidence)) {
            (false, _) => "has expired",
            (true, false) => "matches no finding",
            (true, true) => continue,
        };
        let (rule, path) = (&one.rule, safe_line(&one.path));
        context.ui.error(&format!("note: the suppression of {rule} in {path} {status}\n"))?;
    }
    Ok(())
}
