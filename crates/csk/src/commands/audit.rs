//! `csk audit`: what skills can do, found by reading them, before they are installed.

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
use term::{Failure, HelpText};

use inspect::{Inspected, fails, inspect};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Purpose: reads skills and says what they can do and what is bad about them. Nothing of a skill is
run, nothing is sent anywhere. Prose, code blocks, scripts, frontmatter, comments and encoded text
are read; secrets are followed to where they go.

Verdicts:
  PASS          nothing was found
  NOTE          capabilities that are worth knowing
  REVIEW        somebody should look at it
  UNANALYZABLE  it holds what cannot be looked into: programs, archives, packed code
  BLOCK         it is not to be installed
What you revoked is shown as REVOKED, whatever is found.

Targets:
  (none)        the skills of the project here
  SKILL         a skill that the project declares
  DIR           a folder with a SKILL.md, or with such folders in it
  REPO@REF      a commit of a repository: its name under skills_root, or its path; a tag, branch
                or commit
`list` and `verify` are commands: write `./list` for a folder of that name.

Reads:  the files of the skills, audit/policy.json in csk's home; config.json and the repositories
        where a target needs them
Writes: with --output that file; audit/policy.json with --allow, --revoke and --suppress;
        audit/verdicts/ in csk's home, with what is found about commits
Words of the user live in csk's home alone: nothing that a skill ships is read as one.",
    exit_codes: &[
        ExitCode::Done.when("nothing is blocked or revoked; with --strict nothing needs a look either"),
        ExitCode::Failed.when("a skill is blocked or revoked; with --strict also REVIEW and UNANALYZABLE without a pin"),
        ExitCode::Usage.when("usage or configuration, or a target that cannot be read"),
    ],
    examples: &[
        "csk audit",
        "csk audit ./skills/pdf",
        "csk audit skill-pdf@v1.2.0 --json",
        "csk audit --diff skill-pdf@v1.2.0 skill-pdf@v1.3.0",
        "csk audit --html --output report.html",
        "csk audit --explain DEL-01",
        "csk audit --allow 3f1c… --reason 'read by us on Monday'",
        "csk audit --revoke https://example.com/skill.git --reason 'the account was taken over'",
        "csk audit ./skills/pdf --suppress 9c02… --reason 'our own installer' --expires 2027-01-01",
    ],
};

/// Say what skills can do and what is bad about them, by reading them
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    /// What to audit [default: the skills of the project here]
    #[arg(value_name = "SKILL|DIR|REPO@REF")]
    target: Option<String>,
    /// Compare two versions: capabilities gained and lost. With one, the project's installed version is the first
    #[arg(long, num_args = 1..=2, value_names = ["A", "B"], conflicts_with = "target")]
    diff: Vec<String>,
    /// Say what a rule finds, and why
    #[arg(long, value_name = "RULE", conflicts_with_all = ["target", "diff"])]
    explain: Option<String>,
    /// Pin a bundle that you looked at
    #[arg(long, value_name = "DIGEST", requires = "reason", conflicts_with_all = ["target", "diff", "revoke", "suppress"])]
    allow: Option<String>,
    /// Never install a bundle, or anything from a source
    #[arg(long, value_name = "DIGEST|SOURCE", requires = "reason", conflicts_with_all = ["target", "diff", "suppress"])]
    revoke: Option<String>,
    /// Say that one finding of the target is fine
    #[arg(long, value_name = "FINGERPRINT", requires = "reason", requires = "target")]
    suppress: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// When a suppression ends
    #[arg(long, value_name = "DATE", requires = "suppress")]
    expires: Option<String>,
    #[command(flatten)]
    report: ReportArgs,
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    List(list::ListArgs),
    Verify(verify::VerifyArgs),
}

/// How reports are written, and what fails.
#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Write JSON
    #[arg(long, group = "format")]
    json: bool,
    /// Write SARIF 2.1.0
    #[arg(long, group = "format")]
    sarif: bool,
    /// Write a page that needs nothing else
    #[arg(long, group = "format")]
    html: bool,
    /// Write to a file
    #[arg(long, short, value_name = "FILE", requires = "format")]
    output: Option<String>,
    /// Fail also where a skill needs review
    #[arg(long)]
    strict: bool,
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
    let found = find::bundles(context, args.target.as_deref())?;
    let inspected = inspect(context, found, &policy)?;
    if let Some(fingerprint) = &args.suppress {
        let expires = args.expires.as_deref();
        return policy::suppress(context, &inspected, fingerprint, &reason, expires);
    }
    write(context, &args.report, &inspected)?;
    Ok(ExitCode::failed_if(inspected.iter().any(|one| fails(&args.report, &policy, one))))
}

/// Reads what the user said. What is malformed stops everything.
fn load(context: &Context) -> anyhow::Result<AuditPolicy> {
    Ok(AuditPolicy::load(&context.home)?)
}

fn diff(context: &mut Context, args: &AuditArgs, policy: &AuditPolicy) -> anyhow::Result<ExitCode> {
    let (before, after) = match args.diff.as_slice() {
        [one, other] => (find::bundles(context, Some(one))?, find::bundles(context, Some(other))?),
        [one] => (find::installed(context, one)?, find::bundles(context, Some(one))?),
        _ => {
            return Err(
                Failure::usage("--diff takes two versions, or one skill of the project").into()
            );
        }
    };
    if before.len() != after.len() {
        return Err(Failure::usage("the two hold different numbers of skills")
            .with_hint("name one skill on each side")
            .into());
    }
    let before = inspect(context, before, policy)?;
    let mut after = inspect(context, after, policy)?;
    for (at, one) in after.iter_mut().enumerate() {
        let same = before.iter().find(|old| old.report().name == one.report().name);
        if let Some(old) = same.or(before.get(at)) {
            one.audited.before = Some(old.audited.found.clone());
        }
    }
    write(context, &args.report, &after)?;
    Ok(ExitCode::failed_if(after.iter().any(|one| fails(&args.report, policy, one))))
}

fn write(context: &mut Context, args: &ReportArgs, inspected: &[Inspected]) -> anyhow::Result<()> {
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
        let sources: Vec<Vec<(String, String)>> = inspected.iter().map(texts).collect();
        let sources: Vec<Vec<Source<'_>>> = sources
            .iter()
            .map(|files| files.iter().map(|(path, text)| Source { path, text }).collect())
            .collect();
        let all: Vec<AuditedSkill> = inspected.iter().map(|one| one.audited.clone()).collect();
        html(&all, &sources)
    } else {
        show::text(inspected, context.ui.width)
    };
    match &args.output {
        None => Ok(context.ui.out(&text)?),
        Some(file) => {
            let path = context.cwd.join(file);
            skill_fs::write_file(&path, text.as_bytes())?;
            Ok(context.ui.error(&format!("written to {file}\n"))?)
        }
    }
}

/// Returns the files of a skill that have findings, as text.
fn texts(inspected: &Inspected) -> Vec<(String, String)> {
    let is_named =
        |path: &str| inspected.report().findings.iter().any(|finding| finding.file == path);
    let files = inspected.bundle.files.iter().filter(|(path, ..)| is_named(path));
    files
        .map(|(path, bytes, _)| (path.clone(), String::from_utf8_lossy(bytes).into_owned()))
        .collect()
}

fn explain(context: &mut Context, name: &str, args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let Some(rule) = Rule::find(name) else {
        let failure = Failure::usage(format!("there is no rule `{name}`"));
        let known = RULES.iter().map(|rule| rule.id.as_str());
        return Err(match nearest(&name.to_uppercase(), known) {
            Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
            None => failure.with_hint(format!(
                "rules are {} to {}",
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
