//! `openskills prompt`: prints the skill catalog for a system prompt.

use std::path::PathBuf;

use clap::ValueEnum;
use openskills_runtime::{
    Addressing, CatalogEntry, Prompt, PromptFormat, PromptOptions, is_showable_path, problem_of,
    prompt as write_prompt,
};
use skill::{Code, Diagnostic, Strictness};
use term::{HelpText, Palette, counted, render, safe_line};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::load::{LoadedFolder, load};
use crate::target::{Search, Target, has_missing_path, search_error, visit};

const HELP: HelpText = HelpText {
    text: "\
Without PATH, lists the same skills as `openskills list`; skills that cannot be loaded are skipped.
With PATH, lists exactly those skills; if one of them cannot be loaded, only the error is printed.

Only the name, description and location are included, not the instructions. With --no-location, and
for skills without a file, the ID is printed instead of the location, for clients that activate
skills through a tool. A description longer than the standard allows is truncated with `…`. With
--budget, all descriptions are truncated to the same length until the text fits; no skill is
dropped. Skills that the model cannot invoke are left out. Notes on standard error report truncated
descriptions and skills that are left out.

Reads:  the frontmatter of each SKILL.md, and each skill's agents/openai.yaml
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.when("done; prints nothing if there are no skills"),
        ExitCode::Invalid.when("a given skill cannot be loaded"),
        ExitCode::Usage.when(
            "usage or configuration error, a path does not exist, or the budget is too small",
        ),
    ],
    examples: &[
        "openskills prompt",
        "openskills prompt --budget 4000 --instructions",
        "openskills prompt --dir ./skills --no-location --format json",
        "openskills prompt skills/pdf skills/csv",
        "openskills prompt --recursive .claude/skills --format markdown",
    ],
};

/// Print the list of available skills for a system prompt
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct PromptArgs {
    /// Skill folders or SKILL.md files [default: all discovered skills]
    #[arg(value_name = "PATH", conflicts_with = "dir")]
    paths: Vec<PathBuf>,
    /// Include every skill at or below the paths
    #[arg(long, short, requires = "paths")]
    recursive: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Leave out the location, for clients without file access
    #[arg(long)]
    no_location: bool,
    /// Approximate maximum length, in tokens
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Start with instructions for using skills
    #[arg(long)]
    instructions: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// `<available_skills>` block, as used by Claude
    #[default]
    Xml,
    /// Markdown list
    Markdown,
    /// JSON
    Json,
}

impl PromptArgs {
    /// Returns true if errors are reported as JSON.
    fn is_json(&self) -> bool {
        self.json || self.format == Format::Json
    }

    fn options(&self) -> PromptOptions {
        PromptOptions {
            format: match self.format {
                _ if self.json => PromptFormat::Json,
                Format::Xml => PromptFormat::Xml,
                Format::Markdown => PromptFormat::Markdown,
                Format::Json => PromptFormat::Json,
            },
            addressing: if self.no_location { Addressing::Id } else { Addressing::Location },
            budget: self.budget,
            with_instructions: self.instructions,
        }
    }
}

/// The outcome for one skill.
enum Outcome {
    Disclosed(CatalogEntry),
    /// The model cannot invoke this skill.
    Hidden(String),
    /// The skill cannot be loaded: the rendered problems, and the problems themselves.
    Refused(String, Vec<Diagnostic>),
}

pub(crate) fn prompt(context: &mut Context, args: &PromptArgs) -> anyhow::Result<ExitCode> {
    if !args.paths.is_empty() {
        return of_paths(context, args);
    }
    let runtime = args.discovery.discover(context)?;
    let disclosure = runtime.prompt(&args.options())?;
    for id in &disclosure.hidden {
        note_omitted(context, id, "the model cannot invoke it")?;
    }
    for id in &disclosure.unprintable {
        note_omitted(context, id, "its path contains a character that is not allowed in a prompt")?;
    }
    args.discovery.note_problems(context, runtime)?;
    write(context, &disclosure.prompt)
}

fn note_omitted(context: &mut Context, skill: &str, reason: &str) -> std::io::Result<()> {
    context.ui.note(&format!("note: omitted {}: {reason}\n", safe_line(skill)))
}

fn write(context: &mut Context, prompt: &Prompt) -> anyhow::Result<ExitCode> {
    if let Some((count, length)) = prompt.shortened {
        let descriptions = counted(count, "description");
        let note =
            format!("note: truncated {descriptions} to {length} characters to fit the budget\n");
        context.ui.note(&note)?;
    }
    context.ui.out(&prompt.text)?;
    Ok(ExitCode::Done)
}

fn of_paths(context: &mut Context, args: &PromptArgs) -> anyhow::Result<ExitCode> {
    let search = if args.recursive { Search::Recursive } else { Search::Exact };
    let palette = context.ui.error_palette;
    let visited = visit(&context.cwd, &args.paths, search, |target| {
        disclose(&target, &load(&target, Strictness::Lenient), args, palette)
    });
    // Finding no skill is not a failure: no skill, no block (C5).
    let (nothing, mut problems): (Vec<Diagnostic>, Vec<Diagnostic>) =
        visited.problems.into_iter().partition(|problem| problem.code == Code::NothingFound);
    for Diagnostic { file, .. } in &nothing {
        let folder = safe_line(file);
        context.ui.note(&format!("note: no skills in or below {folder}\n"))?;
    }
    let mut rendered_problems: String =
        problems.iter().map(|problem| render(problem, None, palette) + "\n").collect();
    let mut skills = Vec::new();
    for outcome in visited.skills {
        match outcome {
            Outcome::Disclosed(skill) => skills.push(skill),
            Outcome::Hidden(folder) => {
                note_omitted(context, &folder, "the model cannot invoke it")?;
            }
            Outcome::Refused(rendered, diagnostics) => {
                rendered_problems += &rendered;
                problems.extend(diagnostics);
            }
        }
    }
    if !problems.is_empty() {
        if args.is_json() {
            return Err(search_error(problems).into());
        }
        context.ui.error(&rendered_problems)?;
        return Ok(if has_missing_path(&problems) { ExitCode::Usage } else { ExitCode::Invalid });
    }
    write(context, &write_prompt(&skills, &args.options())?)
}

fn disclose(
    target: &Target,
    loaded: &LoadedFolder,
    args: &PromptArgs,
    palette: Palette,
) -> Outcome {
    let Some((document, file)) = loaded.document.as_ref().zip(loaded.skill_file.as_ref()) else {
        return Outcome::Refused(loaded.rendered(palette), loaded.diagnostics.clone());
    };
    if !loaded.model_may_invoke() {
        return Outcome::Hidden(loaded.folder.clone());
    }
    let location = target.root.path().join(file.as_str()).to_string();
    if !args.no_location && !is_showable_path(&location) {
        let message = "the path contains a control character or a text direction character";
        let problem = problem_of(Code::PathNotText, &loaded.file, message);
        return Outcome::Refused(render(&problem, None, palette), vec![problem]);
    }
    let frontmatter = &document.frontmatter;
    Outcome::Disclosed(CatalogEntry {
        location: (!args.no_location).then_some(location),
        ..CatalogEntry::new(&frontmatter.name, &frontmatter.listing())
    })
}
