//! `openskills prompt`: the catalogue of skills for a system prompt.

use std::path::PathBuf;

use clap::ValueEnum;
use openskills_runtime::{
    Addressing, Disclosed, Prompt, PromptFormat, PromptOptions, is_showable_path, problem_of,
    prompt as write_prompt,
};
use skill::{Code, Diagnostic, Strictness};
use term::{HelpText, Palette, counted, render, safe_line};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::load::{Loaded, load};
use crate::target::{Search, Target, is_wrong_call, not_taken, visit};

const HELP: HelpText = HelpText {
    text: "\
Without a PATH it is about the skills that `openskills list` shows, and a skill that cannot be
loaded stops no other. With paths it is about those, whatever the project: if one of them cannot
be loaded nothing but the failure is written.

Reads:  the frontmatter of each SKILL.md, its agents/openai.yaml
Writes: the index, to be faster the next time

Only name, description and location are disclosed; the body is not. Without a location each
skill has its id, for clients that activate skills by a tool; so has a skill that is in no file.
A description longer than the standard allows is cut, with `…` at its end. With --budget all
descriptions are cut to the same length until the text fits, and standard error says so; no
skill is left out for it. A skill that the model may not invoke by itself is left out, and
standard error says so.",
    exit_codes: &[
        ExitCode::Done.when("the block was written; no skill, no block"),
        ExitCode::Invalid.when("a skill that was named cannot be loaded"),
        ExitCode::Usage.when("the call or the configuration is wrong, a path is not there, or the budget is too small"),
    ],
    examples: &[
        "openskills prompt",
        "openskills prompt --budget 4000 --instructions",
        "openskills prompt --dir ./skills --no-location --format json",
        "openskills prompt skills/pdf skills/csv",
        "openskills prompt --recursive .claude/skills --format markdown",
    ],
};

/// Write the block that tells a model which skills there are
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct PromptArgs {
    /// Folders of skills, or their SKILL.md files; by default the skills that are discovered
    #[arg(value_name = "PATH", conflicts_with = "dir")]
    paths: Vec<PathBuf>,
    /// Take every skill at or below the paths
    #[arg(long, short, requires = "paths")]
    recursive: bool,
    /// The format of the block
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Leave the location out, for clients without a file system
    #[arg(long)]
    no_location: bool,
    /// About how many tokens the text may have
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Say how a skill is used, above the block
    #[arg(long)]
    instructions: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
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

impl PromptArgs {
    /// Returns whether failures are told as data.
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

/// What became of one skill.
enum Outcome {
    Disclosed(Disclosed),
    /// The model may not know of it.
    Hidden(String),
    /// It cannot be loaded; the words say why, and so do the problems.
    Refused(String, Vec<Diagnostic>),
}

pub(crate) fn prompt(context: &mut Context, args: &PromptArgs) -> anyhow::Result<ExitCode> {
    if !args.paths.is_empty() {
        return of_paths(context, args);
    }
    let runtime = args.discovery.discover(context)?;
    let disclosure = runtime.prompt(&args.options())?;
    for id in &disclosure.hidden {
        left_out(context, id, "the model may not invoke it")?;
    }
    for id in &disclosure.unfit {
        left_out(context, id, "its path holds a character that no prompt may hold")?;
    }
    args.discovery.note_problems(context, runtime)?;
    write(context, &disclosure.prompt)
}

fn left_out(context: &mut Context, skill: &str, why: &str) -> std::io::Result<()> {
    context.ui.note(&format!("note: {} is left out: {why}\n", safe_line(skill)))
}

fn write(context: &mut Context, prompt: &Prompt) -> anyhow::Result<ExitCode> {
    if let Some((count, most)) = prompt.shortened {
        let cut = counted(count, "description");
        context.ui.note(&format!("note: {cut} cut to {most} characters to keep the budget\n"))?;
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
    // To find no skill is an answer, not a failure: no skill, no block (C5).
    let (nothing, mut problems): (Vec<Diagnostic>, Vec<Diagnostic>) =
        visited.problems.into_iter().partition(|problem| problem.code == Code::NothingFound);
    for Diagnostic { file, .. } in &nothing {
        let folder = safe_line(file);
        context.ui.note(&format!("note: there is no skill at or below {folder}\n"))?;
    }
    let mut words: String =
        problems.iter().map(|problem| render(problem, None, palette) + "\n").collect();
    let mut skills = Vec::new();
    for outcome in visited.skills {
        match outcome {
            Outcome::Disclosed(skill) => skills.push(skill),
            Outcome::Hidden(folder) => {
                left_out(context, &folder, "the model may not invoke it")?;
            }
            Outcome::Refused(rendered, diagnostics) => {
                words += &rendered;
                problems.extend(diagnostics);
            }
        }
    }
    if !problems.is_empty() {
        if args.is_json() {
            return Err(not_taken(problems).into());
        }
        context.ui.error(&words)?;
        return Ok(if is_wrong_call(&problems) { ExitCode::Usage } else { ExitCode::Invalid });
    }
    write(context, &write_prompt(&skills, &args.options())?)
}

fn disclose(target: &Target, loaded: &Loaded, args: &PromptArgs, palette: Palette) -> Outcome {
    let Some((document, file)) = loaded.document.as_ref().zip(loaded.name_of_file.as_ref()) else {
        return Outcome::Refused(loaded.rendered(palette), loaded.diagnostics.clone());
    };
    if !loaded.model_may_invoke() {
        return Outcome::Hidden(loaded.folder.clone());
    }
    let location = target.root.path().join(file.as_str()).to_string();
    if !args.no_location && !is_showable_path(&location) {
        let message =
            "the path holds a control character or one that changes the direction of writing";
        let problem = problem_of(Code::PathNotText, &loaded.file, message);
        return Outcome::Refused(render(&problem, None, palette), vec![problem]);
    }
    let frontmatter = &document.frontmatter;
    Outcome::Disclosed(Disclosed {
        location: (!args.no_location).then_some(location),
        ..Disclosed::new(&frontmatter.name, &frontmatter.listing())
    })
}
