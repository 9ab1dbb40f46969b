//! `csk audit`: static analysis of skills, before or after they are installed.

mod find;
mod inspect;
mod list;
mod policy;
mod sarif;
mod show;
mod verify;

use skill::nearest;

use skill_audit::show::{AuditedJson, AuditedSkill, ReportsJson, RuleJson, Source, html};
use skill_audit::{RULES, Rule};
use skill_state::audit::AuditPolicy;
use term::{Failure, HelpText, safe_line};

use show::{Detail, Style};

use inspect::{InspectedSkill, SourceText, fails, inspect};

use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Analyzes skills without running them or sending data anywhere. It reports what each skill can do
and what looks malicious. It reads prose, code blocks, scripts, frontmatter, comments and encoded
text, and traces where secrets go.

Verdicts:
  PASS          no findings
  NOTE          capabilities worth knowing about
  REVIEW        needs review
  UNANALYZABLE  contains files that cannot be inspected: binaries, archives, packed code
  BLOCK         do not install
A revoked skill is always shown as REVOKED.

For one skill, csk prints what it runs, installs and reaches, and every finding with its reason and
fix. For several, it prints a table, and the findings of those that need attention; `--details`
prints everything. `--json` has all capabilities.

Targets:
  (none)        the enclosing project's skills
  SKILL         a skill declared by the project
  DIR           a folder: every skill in it, at any depth
  SOURCE        what `csk add` accepts: owner/repo, a URL, a repository's name or path, each with an
                optional @REF; all skills of that version, without installing anything
`list` and `verify` are subcommands; use `./list` to audit a folder of that name.

Reads:  the skill files; audit/policy.json in csk's home folder; config.json and the repositories if
        the target requires them
Writes: repositories/ in csk's home folder, if a source is not cloned yet; the --output file; audit/policy.json with --allow, --revoke and --suppress;
        audit/verdicts/ in csk's home folder (verdicts for commits)
Your decisions are stored only in csk's home folder; a skill cannot ship decisions of its own.",
    exit_codes: &[
        ExitCode::Done.when("no skill is blocked or revoked; with --strict, none needs review either"),
        ExitCode::Failed.when("a skill is blocked, revoked, or cannot be read; with --strict, also if an unpinned skill is rated REVIEW or UNANALYZABLE"),
        ExitCode::Usage.when("usage or configuration error, or the target cannot be read"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk audit",
        "csk audit ./skills/pdf",
        "csk audit ./skills --details",
        "csk audit acme/skills",
        "csk audit https://github.com/acme/skills/tree/main/skills/pdf",
        "csk audit skill-pdf@v1.2.0 --json",
        "csk audit --diff skill-pdf@v1.2.0 skill-pdf@v1.3.0",
        "csk audit --html --output report.html",
        "csk audit --explain DEL-01",
        "csk audit --allow 3f1c… --reason 'reviewed by the security team'",
        "csk audit --revoke https://example.com/skill.git --reason 'account compromised'",
        "csk audit ./skills/pdf --suppress 9c02… --reason 'our own installer' --expires 2027-01-01",
    ],
};

/// Analyze skills without running them: what they can do, and what looks malicious
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    /// What to audit [default: the enclosing project's skills]
    #[arg(value_name = "SKILL|DIR|SOURCE", add = term::names(crate::completion::repositories))]
    target: Option<String>,
    /// Show the capabilities gained and lost between two versions. With only A, a skill name, compare its installed version with the declared one
    #[arg(long, num_args = 1..=2, value_names = ["A", "B"], conflicts_with = "target")]
    diff: Vec<String>,
    /// Explain a rule: what it detects and why it matters
    #[arg(long, value_name = "RULE", conflicts_with_all = ["target", "diff"])]
    explain: Option<String>,
    /// Pin a bundle that you have reviewed, so that strict audits accept it unless it is rated BLOCK
    #[arg(long, value_name = "DIGEST", requires = "reason", conflicts_with_all = ["target", "diff", "revoke", "suppress"])]
    allow: Option<String>,
    /// Never install this bundle, or anything from this source
    #[arg(long, value_name = "DIGEST|SOURCE", requires = "reason", conflicts_with_all = ["target", "diff", "suppress"])]
    revoke: Option<String>,
    /// Suppress one finding in the target
    #[arg(long, value_name = "FINGERPRINT", requires = "reason", requires = "target")]
    suppress: Option<String>,
    /// Reason for the decision, stored with it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Date on which the suppression expires
    #[arg(long, value_name = "DATE", requires = "suppress")]
    expires: Option<String>,
    /// Do not use the network; use only repositories that are already cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
    /// Show everything about every skill, not only about those that need attention
    #[arg(long, conflicts_with_all = ["json", "sarif", "html", "explain", "allow", "revoke", "suppress"])]
    details: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl AuditArgs {
    fn detail(&self) -> Detail {
        if self.details { Detail::All } else { Detail::Summary }
    }
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    List(list::ListArgs),
    Verify(verify::VerifyArgs),
}

/// The flags for the report format and for what counts as a failure.
#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Write JSON
    #[arg(long, group = "format")]
    json: bool,
    /// Write SARIF 2.1.0
    #[arg(long, group = "format")]
    sarif: bool,
    /// Write a self-contained HTML page
    #[arg(long, group = "format")]
    html: bool,
    /// Write the report to a file instead of standard output
    #[arg(long, short, value_name = "FILE", requires = "format")]
    output: Option<String>,
    /// Also fail on REVIEW and UNANALYZABLE
    #[arg(long)]
    strict: bool,
}

impl ReportArgs {
    /// Only the page shows source text.
    fn source_text(&self) -> SourceText {
        if self.html { SourceText::Keep } else { SourceText::Drop }
    }
}

pub(crate) fn audit(context: &mut Context, args: &AuditArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(AuditCommand::List(args)) => return list::list(context, args),
        Some(AuditCommand::Verify(args)) => return verify::verify(context, args),
        None => {}
    }
    if let Some(name) = &args.explain {
        return explain(context, name, args);
    }
    let reason = args.reason.clone().unwrap_or_default();
    if let Some(digest) = &args.allow {
        return policy::allow(context, digest, &reason);
    }
    if let Some(what) = &args.revoke {
        return policy::revoke(context, what, &reason);
    }
    let policy = load(context)?;
    if !args.diff.is_empty() {
        return diff(context, args, &policy);
    }
    let network = network(args.offline || context.is_frozen);
    let found = find::bundles(context, args.target.as_deref(), network)?;
    // The other skills are still worth a report, but the command fails.
    for problem in &found.problems {
        context.ui.error(&format!("error: not audited: {}\n", safe_line(problem)))?;
    }
    let inspection = inspect(context, found.skills, &policy, args.report.source_text())?;
    for problem in &inspection.problems {
        context.ui.error(&format!("error: not audited: {}\n", safe_line(problem)))?;
    }
    let is_incomplete = !found.problems.is_empty() || !inspection.problems.is_empty();
    let inspected = inspection.skills;
    if let Some(fingerprint) = &args.suppress {
        let expires = args.expires.as_deref();
        return policy::suppress(context, &inspected, fingerprint, &reason, expires);
    }
    write(context, &args.report, args.detail(), &inspected)?;
    let has_failed = inspected.iter().any(|one| fails(&args.report, &policy, one));
    Ok(ExitCode::failed_if(is_incomplete || has_failed))
}

/// Reads the user's audit decisions. A malformed file is an error, so that no revocation is missed.
fn load(context: &Context) -> anyhow::Result<AuditPolicy> {
    Ok(AuditPolicy::load(&context.home)?)
}

fn diff(context: &mut Context, args: &AuditArgs, policy: &AuditPolicy) -> anyhow::Result<ExitCode> {
    let network = network(args.offline || context.is_frozen);
    let (old, new) = match args.diff.as_slice() {
        [one, other] => (
            find::bundles(context, Some(one), network)?.complete()?,
            find::bundles(context, Some(other), network)?.complete()?,
        ),
        [one] => (
            find::installed(context, one)?,
            find::bundles(context, Some(one), network)?.complete()?,
        ),
        _ => {
            return Err(
                Failure::usage("--diff takes two versions, or one skill in the project").into()
            );
        }
    };
    if old.len() != new.len() {
        return Err(Failure::usage("the two versions contain different numbers of skills")
            .with_hint("specify one skill on each side")
            .into());
    }
    let old = inspect(context, old, policy, SourceText::Drop)?.complete()?;
    let mut new = inspect(context, new, policy, args.report.source_text())?.complete()?;
    for (index, one) in new.iter_mut().enumerate() {
        let same = old.iter().find(|old| old.report().name == one.report().name);
        if let Some(old) = same.or(old.get(index)) {
            one.audited.previous = Some(old.audited.found.clone());
        }
    }
    write(context, &args.report, args.detail(), &new)?;
    Ok(ExitCode::failed_if(new.iter().any(|one| fails(&args.report, policy, one))))
}

fn write(
    context: &mut Context,
    args: &ReportArgs,
    detail: Detail,
    inspected: &[InspectedSkill],
) -> anyhow::Result<()> {
    let text = if args.json {
        let all = inspected.iter().map(|one| AuditedJson::new(&one.audited)).collect();
        let mut text = serde_json::to_string_pretty(&ReportsJson::new(all)).unwrap_or_default();
        text.push('\n');
        text
    } else if args.sarif {
        let mut text = serde_json::to_string_pretty(&sarif::log(inspected)).unwrap_or_default();
        text.push('\n');
        text
    } else if args.html {
        let sources: Vec<Vec<Source<'_>>> = inspected
            .iter()
            .map(|one| one.sources.iter().map(|(path, text)| Source { path, text }).collect())
            .collect();
        let all: Vec<AuditedSkill> = inspected.iter().map(|one| one.audited.clone()).collect();
        html(&all, &sources)
    } else {
        let palette = context.ui.palette;
        show::text(inspected, Style { width: context.ui.width, palette, detail })
    };
    match &args.output {
        None => Ok(context.ui.out(&text)?),
        Some(file) => {
            let path = context.cwd.join(file);
            skill_fs::write_file(&path, text.as_bytes())?;
            Ok(context.ui.error(&format!("wrote {file}\n"))?)
        }
    }
}

fn explain(context: &mut Context, name: &str, args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let Some(rule) = Rule::find(name) else {
        let failure = Failure::usage(format!("unknown rule `{name}`"));
        let known = RULES.iter().map(|rule| rule.id.as_str());
        return Err(match nearest(&name.to_uppercase(), known) {
            Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
            None => failure.with_hint(format!(
                "use a rule ID from {} to {}",
                RULES[0].id,
                RULES[RULES.len() - 1].id
            )),
        }
        .into());
    };
    if args.report.json {
        context.ui.json(&RuleJson::new(rule))?;
    } else {
        let width = context.ui.width;
        context.ui.out(&show::rule(rule, width))?;
    }
    Ok(ExitCode::Done)
}
