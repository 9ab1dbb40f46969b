//! `openskills validate`: checks skills against the standard.

use std::path::PathBuf;

use skill::{Diagnostic, Severity, Strictness};
use term::{DiagnosticJson, HelpText, Palette, counted, safe_line, sarif};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::load::{Loaded, load};
use crate::output::{VERSION, ValidateJson, ValidatedJson};
use crate::target::{Search, Visited, is_wrong_call, named, visit};

const HELP: HelpText = HelpText {
    text: "\
Reads the SKILL.md of each skill, its agents/openai.yaml, its csk-skill.json, and the names of its
files: what `approve` refuses is a problem here, too.
Writes nothing but its report: verdicts and data to standard output, problems to standard error.",
    exit_codes: &[
        ExitCode::Done.when("every skill is valid"),
        ExitCode::Invalid.when(
            "a skill is invalid, or there is none (with --strict-warnings: or has a warning)",
        ),
        ExitCode::Usage.when("the call is wrong, or a path is not there"),
    ],
    examples: &[
        "openskills validate .",
        "openskills validate pdf",
        "openskills validate skills/pdf skills/csv/SKILL.md",
        "openskills validate --recursive skills --strict-warnings",
        "openskills validate --recursive . --sarif > skills.sarif",
        "openskills validate downloaded --lenient --json",
    ],
};

/// Check skills against the Agent Skills standard
///
/// Every problem is reported at once, with its line, its column and what to do about it.
/// Fields of Claude Code and corteza.skill/v1 are accepted; other unknown fields are errors.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ValidateArgs {
    /// Folders of skills, their SKILL.md files, or names of skills
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check every skill at or below the paths
    #[arg(long, short)]
    recursive: bool,
    /// Check only what it takes to load a skill
    #[arg(long)]
    lenient: bool,
    /// Fail on warnings, too
    #[arg(long)]
    strict_warnings: bool,
    /// Write the report as JSON
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Write the report as SARIF 2.1.0, for code scanning
    #[arg(long)]
    sarif: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// A skill that was checked, its problems already in words where people will read them.
struct Checked {
    folder: String,
    name: Option<String>,
    diagnostics: Vec<Diagnostic>,
    rendered: String,
    errors: usize,
    warnings: usize,
}

pub(crate) fn validate(context: &mut Context, args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let strictness = if args.lenient { Strictness::Lenient } else { Strictness::Strict };
    // Words are made on the worker that read the file, and only if they are going to be read.
    let palette = (!args.json && !args.sarif).then_some(context.ui.error_palette);
    let search = if args.recursive { Search::Recursive } else { Search::Exact };
    let paths = args.paths.iter().map(|path| named(context, &args.discovery, path));
    let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
    let Visited { skills: checked, problems } = visit(&context.cwd, &paths, search, |target| {
        let mut loaded = load(&target, strictness);
        loaded.add_what_approval_refuses(&target, strictness);
        check(&loaded, palette)
    });
    let fails = |skill: &Checked| skill.errors > 0 || (args.strict_warnings && skill.warnings > 0);
    let valid = problems.is_empty() && !checked.iter().any(fails);
    if args.json {
        let skills = checked.iter().map(as_json).collect();
        let problems = problems.iter().map(DiagnosticJson::from).collect();
        context.ui.json(&ValidateJson { version: VERSION, valid, skills, problems })?;
    } else if args.sarif {
        let all = checked.iter().flat_map(|skill| &skill.diagnostics).chain(&problems);
        context.ui.json(&sarif::diagnostics("openskills", env!("CARGO_PKG_VERSION"), all))?;
    } else {
        show(context, &checked, &problems)?;
        if args.strict_warnings
            && checked.iter().any(|skill| skill.errors == 0 && skill.warnings > 0)
        {
            context.ui.error("error: there are warnings, and --strict-warnings is given\n")?;
        }
    }
    Ok(match valid {
        true => ExitCode::Done,
        false if is_wrong_call(&problems) => ExitCode::Usage,
        false => ExitCode::Invalid,
    })
}

fn check(loaded: &Loaded, palette: Option<Palette>) -> Checked {
    Checked {
        folder: loaded.folder.clone(),
        name: loaded.document.as_ref().map(|document| document.frontmatter.name.clone()),
        diagnostics: loaded.diagnostics.clone(),
        rendered: palette.map(|palette| loaded.rendered(palette)).unwrap_or_default(),
        errors: loaded.count(Severity::Error),
        warnings: loaded.count(Severity::Warning),
    }
}

fn show(context: &mut Context, checked: &[Checked], problems: &[Diagnostic]) -> anyhow::Result<()> {
    for skill in checked {
        if !skill.rendered.is_empty() {
            context.ui.error(&skill.rendered)?;
        }
        let folder = safe_line(&skill.folder);
        let line = match (skill.errors, skill.warnings) {
            (0, 0) => format!("Valid skill: {folder}\n"),
            (0, warnings) => format!("Valid skill: {folder} ({})\n", counted(warnings, "warning")),
            (errors, 0) => format!("Invalid skill: {folder} ({})\n", counted(errors, "error")),
            (errors, warnings) => {
                format!(
                    "Invalid skill: {folder} ({}, {})\n",
                    counted(errors, "error"),
                    counted(warnings, "warning")
                )
            }
        };
        context.ui.out(&line)?;
    }
    for problem in problems {
        context.ui.problem(problem)?;
    }
    if checked.len() > 1 {
        let invalid = checked.iter().filter(|skill| skill.errors > 0).count();
        let summary = format!(
            "{}: {} valid, {invalid} invalid\n",
            counted(checked.len(), "skill"),
            checked.len() - invalid
        );
        context.ui.error(&summary)?;
    }
    Ok(())
}

fn as_json(skill: &Checked) -> ValidatedJson {
    ValidatedJson {
        path: skill.folder.clone(),
        name: skill.name.clone(),
        valid: skill.errors == 0,
        diagnostics: skill.diagnostics.iter().map(DiagnosticJson::from).collect(),
    }
}
