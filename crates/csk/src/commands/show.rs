//! `csk show`: shows the skills of a source, or one skill, without installing anything.

use csk_core::output::{SourceSkillsJson, VERSION};
use term::{HelpText, counted, safe_line, table};

use crate::commands::add::{Fetching, as_json, examine_all, facts_about, skills_of};
use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Shows the skills of a source without installing anything. For a single skill, csk shows its description, its commands, the \
programs it requires, what it can do, and the audit verdict. Of several skills it shows a list; use --skill for details. \
`csk add --help` explains what SOURCE can be.

Reads:  config.json, the repository
Writes: repositories/ in csk's home folder, if the repository is not cloned yet",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, or the source cannot be read"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk show acme/skills",
        "csk show acme/skills --skill pdf",
        "csk show https://github.com/acme/skills/tree/main/skills/pdf --json",
    ],
};

/// The number of characters of a description in a list.
const MAX_DESCRIPTION: usize = 90;

/// Show the skills of a source without installing them
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ShowArgs {
    /// Where the skills are
    #[arg(value_name = "SOURCE", add = term::names(crate::completion::repositories))]
    source: String,
    /// Show the details of these skills
    #[arg(long = "skill", short, value_name = "NAME", num_args = 1..)]
    skills: Vec<String>,
    /// Do not use the network; use only repositories that are already cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
    /// Print JSON, with the details of every skill
    #[arg(long)]
    json: bool,
}

pub(crate) fn show(context: &mut Context, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let wanted = Fetching {
        reference: None,
        folder: None,
        network: network(args.offline || context.is_frozen),
        is_only_read: true,
    };
    let found = skills_of(context, &config, &args.source, &wanted)?;
    let offered = &found.offer.skills;
    if args.skills.is_empty() && offered.len() > 1 && !args.json {
        let row = |skill: &csk_core::source::OfferedSkill| {
            let description: String = skill.description.chars().take(MAX_DESCRIPTION).collect();
            vec![skill.name.to_string(), skill.folder().to_owned(), description]
        };
        let rows: Vec<Vec<String>> = offered.iter().map(row).collect();
        context.ui.note(&format!(
            "{} at {} contains {}:\n",
            safe_line(found.source.url.as_deref().unwrap_or(&args.source)),
            found.version_text(),
            counted(offered.len(), "skill")
        ))?;
        context.ui.out(&table(&rows, context.ui.width))?;
        let source = safe_line(&args.source);
        context.ui.note(&format!("for details: csk show {source} --skill NAME\n"))?;
        return Ok(ExitCode::Done);
    }
    let selected = match args.skills.as_slice() {
        [] => offered.clone(),
        names => names.iter().map(|name| found.skill(name).cloned()).collect::<Result<_, _>>()?,
    };
    let examined = examine_all(context, &config, &found, selected)?;
    if args.json {
        context.ui.json(&SourceSkillsJson {
            version: VERSION,
            dry_run: true,
            project: None,
            skills: examined.iter().map(|one| as_json(one, None)).collect(),
            agents: Vec::new(),
            written: Vec::new(),
        })?;
    } else {
        for one in &examined {
            context.ui.out(&facts_about(&found, one))?;
        }
    }
    Ok(ExitCode::Done)
}
