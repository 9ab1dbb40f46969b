//! `openskills files`: lists the files of a skill.

use term::{HelpText, table};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{FilesJson, VERSION, file_json};

const HELP: HelpText = HelpText {
    text: "\
Reads:  names and sizes of the skill's files, not their contents
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid
            .when("the skill changed while the command ran, or its folder cannot be read"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill"),
    ],
    examples: &["openskills files pdf", "openskills files pdf --json"],
};

/// List a skill's files
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct FilesArgs {
    /// Skill name or ID
    #[arg(value_name = "NAME", add = term::names(crate::completion::skills))]
    name: String,
    /// Print the result as JSON
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
        let detail = match (&file.target, file.kind.as_str()) {
            (Some(target), _) => format!("-> {target}"),
            (None, "other") => "(special file)".to_owned(),
            (None, _) => format!("{:>9}", file.size),
        };
        vec![file.path.clone(), detail + if file.executable { "  executable" } else { "" }]
    };
    context.ui.out(&table(&files.iter().map(row).collect::<Vec<_>>(), context.ui.width))?;
    Ok(ExitCode::Done)
}
