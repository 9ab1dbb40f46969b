//! `csk audit verify`: what is installed is audited again, and compared with what was installed and with what was found then.

use skill::Marker;
use skill_audit::{BundleReport, Finding};
use skill_state::audit::{AuditPolicy, Verdicts};
use term::{HelpText, counted, safe_line};

use super::inspect::{Inspected, fails, inspect};
use super::{ReportArgs, find, load, write};
use crate::context::Context;
use crate::exit_code::ExitCode;

/// How many new findings are named.
const MAX_NAMED: usize = 5;

const HELP: HelpText = HelpText {
    text: "\
Purpose: audits what is installed again, and shows how it differs from what csk installed and from the verdict that is kept.

Reads:  the installed skills, config.json, Skillfile.json, audit/ in csk's home
Writes: with --output that file",
    exit_codes: &[
        ExitCode::Done.when("nothing differs, and nothing is blocked or revoked"),
        ExitCode::Failed.when("something differs, or a skill is blocked or revoked; with --strict also REVIEW and UNANALYZABLE without a pin"),
        ExitCode::Usage.usual(),
    ],
    examples: &["csk audit verify", "csk audit verify --strict --json"],
};

/// Audit the installed skills again, and compare them with what was installed
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
    let mut inspected = inspect(context, found, policy)?;
    let verdicts = Verdicts::new(&context.home, policy, context.timestamp());
    let mut unknown = Vec::new();
    for one in &mut inspected {
        let kept = kept(&verdicts, one);
        if kept.is_none() {
            unknown.push(one.report().name.clone());
        }
        let differs = differences(&one.audited.found, one.marker.as_ref(), kept.as_ref());
        one.audited.differs = Some(differs);
        one.audited.before = kept;
    }
    if args.json || args.sarif || args.html {
        write(context, args, &inspected)?;
    } else {
        context.ui.out(&text(&inspected))?;
    }
    for name in &missing {
        context.ui.error(&format!("note: {} is not installed\n", safe_line(name)))?;
    }
    for name in &unknown {
        let name = safe_line(name);
        context.ui.error(&format!(
            "note: no verdict of {name} is kept to compare with; `csk audit` keeps one\n"
        ))?;
    }
    warn_of_suppressions(context, policy, &inspected)?;
    let is_bad = |one: &Inspected| {
        fails(args, policy, one) || one.audited.differs.iter().flatten().next().is_some()
    };
    Ok(ExitCode::failed_if(inspected.iter().any(is_bad)))
}

/// Returns what was found about the commit that was installed, or else about these very files.
fn kept(verdicts: &Verdicts, inspected: &Inspected) -> Option<BundleReport> {
    let commit = inspected.marker.as_ref().and_then(|marker| marker.bundle_sha256);
    let commit = commit.and_then(|bundle| verdicts.before(&bundle));
    commit.or_else(|| verdicts.before(&inspected.digest()))
}

/// Says how a skill is not what was installed, or not what was found. An install may leave files of its commit out, so
/// that less is found than was kept says nothing, unless the files are the same.
fn differences(
    found: &BundleReport,
    marker: Option<&Marker>,
    kept: Option<&BundleReport>,
) -> Vec<String> {
    let mut all = Vec::new();
    match marker.map(|marker| marker.context_sha256.or(marker.bundle_sha256)) {
        None => all.push("it was not installed by csk, or its marker cannot be read".to_owned()),
        Some(Some(digest)) if digest != found.bundle => {
            all.push("its files are not those that csk installed".to_owned());
        }
        Some(_) => {}
    }
    let Some(kept) = kept else { return all };
    let is_same = kept.bundle == found.bundle;
    let (kept, now) = (&kept.report, &found.report);
    let (old, new) = (kept.verdict, now.verdict);
    if new > old || is_same && new != old {
        all.push(format!("the verdict was {old} and is {new}"));
    }
    for change in now.observed.changes_since(&kept.observed) {
        if !change.gained.is_empty() {
            all.push(format!("gained {} {}", change.kind, change.gained.join(", ")));
        }
        if is_same && !change.lost.is_empty() {
            all.push(format!("lost {} {}", change.kind, change.lost.join(", ")));
        }
    }
    let suppressed = kept.suppressed.iter().map(|one| &one.finding);
    let known: Vec<String> =
        kept.findings.iter().chain(suppressed).map(Finding::fingerprint).collect();
    let new: Vec<String> = now
        .findings
        .iter()
        .filter(|finding| !known.contains(&finding.fingerprint()))
        .map(|one| format!("{} {}:{}", one.rule.id, one.file, one.location.line))
        .collect();
    if !new.is_empty() {
        let more = new.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = new[..new.len().min(MAX_NAMED)].join(", ");
        all.push(format!("{} not found before: {named}{more}", counted(new.len(), "finding")));
    }
    all
}

fn text(inspected: &[Inspected]) -> String {
    let mut text = String::new();
    for one in inspected {
        text += &format!("{} {}\n", safe_line(&one.report().name), one.audited.word());
        if let Some(reason) = &one.audited.revoked {
            text += &format!("  revoked: {}\n", safe_line(reason));
        }
        for difference in one.audited.differs.iter().flatten() {
            text += &format!("  differs: {}\n", safe_line(difference));
        }
    }
    text
}

/// Notes suppressions that have ended, or are for nothing here.
fn warn_of_suppressions(
    context: &mut Context,
    policy: &AuditPolicy,
    inspected: &[Inspected],
) -> anyhow::Result<()> {
    let now = context.timestamp();
    let suppressed = inspected.iter().flat_map(|one| &one.report().suppressed);
    let used: Vec<String> = suppressed.map(|one| one.finding.fingerprint()).collect();
    for one in &policy.suppressions {
        let what = match (one.holds(now), used.contains(&one.evidence)) {
            (false, _) => "has ended",
            (true, false) => "suppresses nothing here",
            (true, true) => continue,
        };
        let (rule, path) = (&one.rule, safe_line(&one.path));
        context.ui.error(&format!("note: the suppression of {rule} in {path} {what}\n"))?;
    }
    Ok(())
}
