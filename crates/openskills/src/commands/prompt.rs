//! `openskills prompt`: the catalogue of skills for a system prompt.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use skill::{Code, Diagnostic, MAX_DESCRIPTION, MAX_NAME, Strictness, is_unsafe_to_show};
use term::{Palette, render, safe_line};

use crate::catalogue::{markdown, one_line, shortened, xml};
use crate::cli::INVALID;
use crate::context::Context;
use crate::load::{Loaded, load};
use crate::output::{DisclosedJson, PromptJson, VERSION};
use crate::target::{Search, Target, visit};

const AFTER: &str = "\
Reads the SKILL.md of each skill. Only name, description and location are disclosed; the body is not.
A description longer than the standard allows is cut, with `…` at its end.
A skill that the model may not invoke by itself is left out, and standard error says so.
If one skill cannot be loaded nothing is written to standard output.

Exit codes:
  0  the block was written; no skill, no block
  1  a skill cannot be loaded
  2  the call is wrong

Examples:
  openskills prompt skills/pdf skills/csv
  openskills prompt --recursive .claude/skills --format markdown
  openskills prompt skills/pdf --no-location --format json";

/// Write the block that tells a model which skills there are
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct PromptArgs {
    /// Folders of skills, or their SKILL.md files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Take every skill at or below the paths
    #[arg(long, short)]
    recursive: bool,
    /// The format of the block
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Leave the location out, for clients without a file system
    #[arg(long)]
    no_location: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// `<available_skills>`, as Claude reads it
    #[default]
    Xml,
    /// A list
    Markdown,
    /// Data
    Json,
}

/// What became of one skill.
enum Outcome {
    Disclosed(DisclosedJson),
    /// The model may not know of it.
    Hidden(String),
    /// It cannot be loaded; the words say why.
    Refused(String),
}

pub(crate) fn prompt(context: &mut Context, args: &PromptArgs) -> anyhow::Result<ExitCode> {
    let search = if args.recursive { Search::Recursive } else { Search::Exact };
    let palette = context.ui.error_palette;
    let visited = visit(&context.cwd, &args.paths, search, Strictness::Lenient, |target| {
        disclose(&target, &load(&target, Strictness::Lenient), args, palette)
    });
    // To find no skill is an answer, not a failure: no skill, no block (C5).
    let mut refused = visited.problems.iter().any(|problem| problem.code != Code::NothingFound);
    for problem in &visited.problems {
        match problem.code {
            Code::NothingFound => {
                let folder = safe_line(&problem.file);
                context.ui.error(&format!("note: there is no skill at or below {folder}\n"))?;
            }
            _ => context.ui.problem(problem)?,
        }
    }
    let mut skills = Vec::new();
    for outcome in visited.skills {
        match outcome {
            Outcome::Disclosed(skill) => skills.push(skill),
            Outcome::Hidden(folder) => {
                let folder = safe_line(&folder);
                context
                    .ui
                    .error(&format!("note: {folder} is left out: the model may not invoke it\n"))?;
            }
            Outcome::Refused(rendered) => {
                refused = true;
                context.ui.error(&rendered)?;
            }
        }
    }
    if refused {
        return Ok(ExitCode::from(INVALID));
    }
    match args.format {
        Format::Xml => context.ui.out(&xml(&skills))?,
        Format::Markdown => context.ui.out(&markdown(&skills))?,
        Format::Json => context.ui.json(&PromptJson { version: VERSION, skills })?,
    }
    Ok(ExitCode::SUCCESS)
}

fn disclose(target: &Target, loaded: &Loaded, args: &PromptArgs, palette: Palette) -> Outcome {
    let Some((document, file)) = loaded.document.as_ref().zip(loaded.name_of_file.as_ref()) else {
        return Outcome::Refused(loaded.rendered(palette));
    };
    if !loaded.model_may_invoke() {
        return Outcome::Hidden(loaded.folder.clone());
    }
    let location = target.root.path().join(file.as_str()).to_string();
    // A location must be exact to be of use, so it cannot be made harmless: such a path is refused.
    if !args.no_location && location.contains(|c| c == '\n' || c == '\t' || is_unsafe_to_show(c)) {
        let message =
            "the path holds a control character or one that changes the direction of writing"
                .to_owned();
        let problem =
            Diagnostic::of_file(Code::PathNotText, Strictness::Lenient, &loaded.file, message);
        return Outcome::Refused(
            problem.map(|problem| render(&problem, None, palette)).unwrap_or_default(),
        );
    }
    Outcome::Disclosed(DisclosedJson {
        name: shortened(&one_line(&document.frontmatter.name), MAX_NAME),
        description: shortened(&one_line(&document.frontmatter.listing()), MAX_DESCRIPTION),
        location: (!args.no_location).then_some(location),
    })
}
