//! `openskills validate`: checks skills against the standard.

use std::path::PathBuf;

use skill::{Diagnostic, Severity, Strictness};
use term::{DiagnosticJson, HelpText, Palette, counted, safe_line, sarif};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::load::{LoadedFolder, load};
use crate::output::{VERSION, ValidateJson, ValidatedJson};
use crate::target::{Search, SearchResult, has_missing_path, resolve_name, visit};

const HELP: HelpText = HelpText {
    text: "\
Also reports problems that would prevent `openskills approve`. Verdicts and data go to standard
output, problems to standard error.

Reads:  each skill's SKILL.md, agents/openai.yaml, csk-skill.json and file names
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("every skill is valid"),
        ExitCode::Invalid.when(
            "a skill is invalid, or no skill was found; with --strict-warnings, a skill has warnings",
        ),
        ExitCode::Usage.when("usage error, or a path does not exist"),
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
/// All problems are reported at once, each with its line, column and a fix.
/// Claude Code and corteza.skill/v1 fields are accepted; any other nonstandard field is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ValidateArgs {
    /// Skill folders, SKILL.md files or skill names
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check every skill at or below the paths
    #[arg(long, short)]
    recursive: bool,
    /// Check only what is needed to load a skill
    #[arg(long)]
    lenient: bool,
    /// Treat warnings as errors
    #[arg(long)]
    strict_warnings: bool,
    /// Print the report as JSON
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print the report as SARIF 2.1.0, for code scanning
    #[arg(long)]
    sarif: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// A checked skill, with its problems rendered as text if the output is text.
struct CheckedSkill {
    folder: String,
    name: Option<String>,
    diagnostics: Vec<Diagnostic>,
    rendered: String,
    errors: usize,
    warnings: usize,
}

pub(crate) fn validate(context: &mut Context, args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let strictness = if args.lenient { Strictness::Lenient } else { Strictness::Strict };
    // Text is rendered on the worker that read the file, and only if it will be printed.
    let palette = (!args.json && !args.sarif).then_some(context.ui.error_palette);
    let search = if args.recursive { Search::Recursive } else { Search::Exact };
    let paths = args.paths.iter().map(|path| resolve_name(context, &args.discovery, path));
    let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
    let SearchResult { skills: checked, problems } =
        visit(&context.cwd, &paths, search, |target| {
            let mut loaded = load(&target, strictness);
            loaded.add_approval_problems(&target, strictness);
            check(&loaded, palette)
        });
    let fails =
        |skill: &CheckedSkill| skill.errors > 0 || (args.strict_warnings && skill.warnings > 0);
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
            context.ui.error("error: there are warnings, and --strict-warnings is set\n")?;
        }
    }
    Ok(match valid {
        true => ExitCode::Done,
        false if has_missing_path(&problems) => ExitCode::Usage,
        false => ExitCode::Invalid,
    })
}

fn check(loaded: &LoadedFolder, palette: Option<Palette>) -> CheckedSkill {
    CheckedSkill {
        folder: loaded.folder.clone(),
        name: loaded.document.as_ref().map(|document| document.frontmatter.name.clone()),
        diagnostics: loaded.diagnostics.clone(),
        rendered: palette.map(|palette| loaded.rendered(palette)).unwrap_or_default(),
        errors: loaded.count(Severity::Error),
        warnings: loaded.count(Severity::Warning),
    }
}

fn show(
    context: &mut Context,
    checked: &[CheckedSkill],
    problems: &[Diagnostic],
) -> anyhow::Result<()> {
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

fn as_json(skill: &CheckedSkill) -> ValidatedJson {
    ValidatedJson {
        path: skill.folder.clone(),
        name: skill.name.clone(),
        valid: skill.errors == 0,
        diagnostics: skill.diagnostics.iter().map(DiagnosticJson::from).collect(),
    }
}
