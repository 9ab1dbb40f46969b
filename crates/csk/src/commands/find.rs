//! `csk find`: searches the skills on this machine.

use csk_core::install::Consumers;
use csk_core::operations::{FoundIn, FoundSkill, SearchPlaces, search};
use csk_core::output::{FindJson, FoundSkillJson, VERSION};
use csk_core::project::find_root;
use skill::nearest;
use skill_fs::AbsPath;
use term::{HelpText, counted, safe_line, table};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Searches the names and descriptions of the skills on this machine: installed skills, the newest version of every cloned \
repository, and the index files listed under `skill_indexes` in config.json. Every word must occur. Nothing is fetched or \
sent anywhere.

An index file is JSON: {\"schema_version\": 1, \"skills\": [{\"name\": …, \"description\": …, \"source\": …}]}; `source` \
is what `csk add` accepts.

Reads:  config.json, installed skills, repositories, index files
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("the search is complete, even if it found nothing"),
        ExitCode::Failed.when("something could not be searched; the rest was"),
        ExitCode::Usage.usual(),
    ],
    examples: &["csk find pdf", "csk find extract tables", "csk find pdf --json"],
};

/// The number of characters of a description.
const MAX_DESCRIPTION: usize = 80;

/// Search the skills on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct FindArgs {
    /// Words to search for
    #[arg(value_name = "QUERY", required = true)]
    words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn find(context: &mut Context, args: &FindArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let environment = context.environment(&config);
    let own = context.own_repositories();
    let mut repositories = vec![config.skills_root.clone()];
    repositories.extend((own != config.skills_root).then_some(own));
    let places = SearchPlaces {
        projects: projects(context, config.projects.values().map(|entry| &entry.path))?,
        repositories,
        indexes: config.skill_indexes.clone(),
    };
    let words: Vec<String> =
        args.words.iter().flat_map(|word| word.split_whitespace()).map(str::to_owned).collect();
    let found = search(&environment, &places, &words);
    if args.json {
        context.ui.json(&FindJson {
            version: VERSION,
            skills: found.skills.iter().map(as_json).collect(),
            problems: found.problems.clone(),
        })?;
    } else {
        let rows: Vec<Vec<String>> = found.skills.iter().map(row).collect();
        context.ui.out(&table(&rows, context.ui.width))?;
        if let Some(words) = found.skills.iter().find_map(|skill| skill.add.as_ref()) {
            context.ui.note(&format!("to add one: {}\n", safe_line(&command(words))))?;
        }
        if found.skills.is_empty() {
            let near = words.first().and_then(|word| {
                nearest(word, found.names.iter().map(String::as_str)).map(str::to_owned)
            });
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "{} searched; `csk show SOURCE` lists the skills of a repository",
                    counted(found.names.len(), "skill")
                ),
            };
            context.ui.note(&format!("no skill matches; {hint}\n"))?;
        }
    }
    for problem in &found.problems {
        context.ui.error(&format!("warning: {}\n", safe_line(problem)))?;
    }
    Ok(ExitCode::failed_if(!found.problems.is_empty()))
}

/// Returns the folders with installed skills: the project here, the configured ones, all that csk installed into, and the
/// global scope.
fn projects<'a>(
    context: &Context,
    configured: impl Iterator<Item = &'a AbsPath>,
) -> anyhow::Result<Vec<(String, AbsPath)>> {
    let mut roots: Vec<AbsPath> = find_root(&context.cwd).into_iter().collect();
    roots.extend(configured.cloned());
    roots.extend(Consumers::read(&context.home)?.0);
    let global = context.home.join("global");
    let mut seen = std::collections::BTreeSet::new();
    let named = |root: AbsPath| {
        let name = if root == global { "global".to_owned() } else { root.to_string() };
        (name, root)
    };
    roots.push(global.clone());
    Ok(roots.into_iter().filter(|root| seen.insert(root.clone())).map(named).collect())
}

fn row(skill: &FoundSkill) -> Vec<String> {
    let description: String = skill.description.chars().take(MAX_DESCRIPTION).collect();
    let place = match skill.found_in {
        FoundIn::Installed => format!("installed in {}", skill.place),
        FoundIn::Repository | FoundIn::Index => {
            skill.add.as_ref().map_or_else(String::new, |words| words.join(" "))
        }
    };
    vec![skill.name.clone(), place, description]
}

fn as_json(skill: &FoundSkill) -> FoundSkillJson {
    FoundSkillJson {
        name: skill.name.clone(),
        description: skill.description.clone(),
        kind: skill.found_in.as_str().to_owned(),
        place: skill.place.clone(),
        add: skill.add.clone(),
    }
}

/// Returns the command that adds a skill, quoted for a shell.
fn command(words: &[String]) -> String {
    let quoted = |word: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%_+=:,./-#".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    let words: Vec<String> = words.iter().map(quoted).collect();
    format!("csk add {}", words.join(" "))
}
