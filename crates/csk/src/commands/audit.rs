//! `csk audit`: what skills can do, found by reading them, before they are installed.

mod find;
mod look;
mod policy;
mod sarif;
mod show;
mod verify;

use skill::nearest;

use look::{Looked, fails, look};
use skill_audit::show::{AuditedJson, AuditedSkill, ReportsJson, RuleJson, Source, html};
use skill_audit::{RULES, Rule};
use skill_state::audit::AuditPolicy;

use crate::context::Context;
use crate::failure::Failure;

const AFTER: &str = "\
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
  list          what was found before, pins, revocations and suppressions
  verify        audits what is installed again; says how it differs from what csk installed and
                from the verdict that is kept

Reads:  the files of the skills, audit/policy.json in csk's home; config.json and the repositories
        where a target needs them
Writes: with --output that file; audit/policy.json with --allow, --revoke and --suppress;
        audit/verdicts/ in csk's home, with what is found about commits
Words of the user live in csk's home alone: nothing that a skill ships is read as one.

Exit codes:
  0  nothing is blocked or revoked; with --strict nothing needs a look either
  1  a skill is blocked or revoked; with --strict also REVIEW and UNANALYZABLE without a pin;
     with verify also: something differs
  2  usage or configuration, or a target that cannot be read

Examples:
  csk audit
  csk audit ./skills/pdf
  csk audit skill-pdf@v1.2.0 --json
  csk audit --diff skill-pdf@v1.2.0 skill-pdf@v1.3.0
  csk audit --html --output report.html
  csk audit --explain DEL-01
  csk audit --allow 3f1c… --reason 'read by us on Monday'
  csk audit --revoke https://example.com/skill.git --reason 'the account was taken over'
  csk audit ./skills/pdf --suppress 9c02… --reason 'our own installer' --expires 2027-01-01";

/// Say what skills can do and what is bad about them, by reading them
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct AuditArgs {
    /// What to audit [default: the skills of the project here]
    #[arg(value_name = "SKILL|DIR|REPO@REF|list|verify")]
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
    /// Fail also where somebody should look
    #[arg(long)]
    strict: bool,
}

pub(crate) fn audit(context: &mut Context, args: &AuditArgs) -> Result<u8, Failure> {
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
    match args.target.as_deref() {
        Some("list") if args.json => return policy::list_json(context, &policy),
        Some("list") => return policy::list(context, &policy),
        Some("verify") => return verify::verify(context, args, &policy),
        _ => {}
    }
    if !args.diff.is_empty() {
        return diff(context, args, &policy);
    }
    let found = find::bundles(context, args.target.as_deref())?;
    let looked = look(context, found, &policy)?;
    if let Some(fingerprint) = &args.suppress {
        return policy::suppress(context, &looked, fingerprint, (&reason, args.expires.as_deref()));
    }
    write(context, args, &looked)?;
    Ok(u8::from(looked.iter().any(|looked| fails(args, &policy, looked))))
}

/// Reads what the user said. What is malformed stops everything.
fn load(context: &Context) -> Result<AuditPolicy, Failure> {
    AuditPolicy::load(&context.home).map_err(Failure::from)
}

fn diff(context: &mut Context, args: &AuditArgs, policy: &AuditPolicy) -> Result<u8, Failure> {
    let (before, after) = match args.diff.as_slice() {
        [one, other] => (find::bundles(context, Some(one))?, find::bundles(context, Some(other))?),
        [one] => (find::installed(context, one)?, find::bundles(context, Some(one))?),
        _ => return Err(Failure::usage("--diff takes two versions, or one skill of the project")),
    };
    if before.len() != after.len() {
        return Err(Failure::usage("the two hold different numbers of skills")
            .with_hint("name one skill on each side"));
    }
    let before = look(context, before, policy)?;
    let mut after = look(context, after, policy)?;
    for (at, one) in after.iter_mut().enumerate() {
        let same = before.iter().find(|old| old.report().name == one.report().name);
        if let Some(old) = same.or(before.get(at)) {
            one.audited.before = Some(old.audited.found.clone());
        }
    }
    write(context, args, &after)?;
    Ok(u8::from(after.iter().any(|looked| fails(args, policy, looked))))
}

fn write(context: &mut Context, args: &AuditArgs, looked: &[Looked]) -> Result<(), Failure> {
    let text = if args.json {
        let all = looked.iter().map(|looked| AuditedJson::new(&looked.audited)).collect();
        let mut text = serde_json::to_string_pretty(&ReportsJson::new(all)).unwrap_or_default();
        text.push('\n');
        text
    } else if args.sarif {
        let mut text = serde_json::to_string_pretty(&sarif::log(looked)).unwrap_or_default();
        text.push('\n');
        text
    } else if args.html {
        let sources: Vec<Vec<(String, String)>> = looked.iter().map(texts).collect();
        let sources: Vec<Vec<Source<'_>>> = sources
            .iter()
            .map(|files| files.iter().map(|(path, text)| Source { path, text }).collect())
            .collect();
        let all: Vec<AuditedSkill> = looked.iter().map(|one| one.audited.clone()).collect();
        html(&all, &sources)
    } else {
        show::text(looked, context.ui.width)
    };
    match &args.output {
        None => Ok(context.ui.out(&text)?),
        Some(file) => {
            let path = context.cwd.join(file);
            skill_fs::write_file(&path, text.as_bytes())
                .map_err(|error| Failure::usage(error.to_string()))?;
            Ok(context.ui.error(&format!("written to {file}\n"))?)
        }
    }
}

/// Returns the files of a skill that have findings, as text.
fn texts(looked: &Looked) -> Vec<(String, String)> {
    let is_named = |path: &str| looked.report().findings.iter().any(|finding| finding.file == path);
    let files = looked.bundle.files.iter().filter(|(path, ..)| is_named(path));
    files
        .map(|(path, bytes, _)| (path.clone(), String::from_utf8_lossy(bytes).into_owned()))
        .collect()
}

fn explain(context: &mut Context, name: &str, args: &AuditArgs) -> Result<u8, Failure> {
    let Some(rule) = Rule::find(name) else {
        let failure = Failure::usage(format!("there is no rule `{name}`"));
        return Err(
            match nearest(&name.to_uppercase(), RULES.iter().map(|rule| rule.id.as_str())) {
                Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                None => failure.with_hint(format!(
                    "rules are {} to {}",
                    RULES[0].id,
                    RULES[RULES.len() - 1].id
                )),
            },
        );
    };
    if args.json {
        context.ui.json(&RuleJson::new(rule))?;
    } else {
        let width = context.ui.width;
        context.ui.out(&show::rule(rule, width))?;
    }
    Ok(0)
}
