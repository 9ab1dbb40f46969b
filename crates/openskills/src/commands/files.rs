//! `openskills files`: the files of a skill.

use term::{HelpText, table};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{FilesJson, VERSION, file_json};

const HELP: HelpText = HelpText {
    text: "\
Reads:  the names and sizes of the skill's files, and none of them
Writes: the index, to be faster the next time",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the skill has changed meanwhile, or its folder cannot be read"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill"),
    ],
    examples: &["openskills files pdf", "openskills files pdf --json"],
};

/// List the files of a skill
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct FilesArgs {
    /// A name or an id
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn files(context: &mut Context, args: &FilesArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.discovery.discover(context)?;
    let skill = runtime.skill(&args.name)?;
    let all = runtime.files(&args.name)?;
    let files: Vec<_> =
        all.into_iter().filter_map(|entry| file_json(entry.path, entry.kind)).collect();
    if args.json {
        let (skill_id, path) = (skill.id.clone(), skill.path().to_owned());
        context.ui.json(&FilesJson { version: VERSION, skill_id, path, files })?;
        return Ok(ExitCode::Done);
    }
    let row = |file: &crate::output::FileJson| {
        let what = match (&file.target, file.kind.as_str()) {
            (Some(target), _) => format!("-> {target}"),
            (None, "other") => "(neither file, folder nor link)".to_owned(),
            (None, _) => format!("{:>9}", file.size),
        };
        vec![file.path.clone(), what + if file.executable { "  executable" } else { "" }]
    };
    context.ui.out(&table(&files.iter().map(row).collect::<Vec<_>>(), context.ui.width))?;
    Ok(ExitCode::Done)
}
