//! `openskills search`: finds skills by keyword.

use term::{HelpText, counted, table};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{HitJson, SearchJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Ranks skills by where the words occur (name, description, body), how rare the words are and how many
of them match. A word also matches longer words that start with it, with a lower rank. Skills that
the model cannot invoke are left out unless you pass --all.

Reads:  the SKILL.md of every skill
Writes: the index cache",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no skill matches"),
    ],
    examples: &[
        "openskills search pdf tables",
        "openskills search 'release notes' --limit 3 --json",
    ],
};

/// Search skill names, descriptions and instructions
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct SearchArgs {
    /// Words to search for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Include skills that the model cannot invoke
    #[arg(long)]
    all: bool,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn search(context: &mut Context, args: &SearchArgs) -> anyhow::Result<ExitCode> {
    let runtime = args.discovery.discover(context)?;
    let query = args.query.join(" ");
    let mut hits = runtime.search(&query);
    let all = hits.len();
    hits.retain(|hit| args.all || runtime.model_may_invoke(&hit.skill));
    let hidden = all - hits.len();
    let found = hits.len();
    let shown = &hits[..found.min(args.limit)];
    if args.json {
        let hits = shown.iter().map(|hit| HitJson {
            skill_id: hit.skill.id.clone(),
            name: hit.skill.name.to_string(),
            description: hit.skill.description.clone(),
            source: hit.skill.source,
            path: hit.skill.path().to_owned(),
            score: (hit.score * 1000.0).round() / 1000.0,
            found_in: hit.found_in.iter().map(|&field| field.to_owned()).collect(),
        });
        context.ui.json(&SearchJson { version: VERSION, query, found, skills: hits.collect() })?;
    } else if found == 0 {
        context.ui.error("no matching skills\n")?;
    } else {
        let head = vec!["NAME".to_owned(), "SOURCE".to_owned(), "DESCRIPTION".to_owned()];
        let hits = shown.iter().map(|hit| {
            vec![hit.skill.name.to_string(), hit.skill.source.to_string(), hit.skill.listing()]
        });
        let rows: Vec<_> = std::iter::once(head).chain(hits).collect();
        context.ui.out(&table(&rows, context.ui.width))?;
        if found > shown.len() {
            let more = found - shown.len();
            context.ui.error(&format!("note: {more} more; use `--limit {found}` to show all\n"))?;
        }
    }
    if hidden > 0 && !args.json {
        let hidden = counted(hidden, "skill");
        let note = format!(
            "note: not shown: {hidden} that only the user can invoke; use `--all` to show everything\n"
        );
        context.ui.error(&note)?;
    }
    Ok(if found == 0 { ExitCode::NotFound } else { ExitCode::Done })
}
