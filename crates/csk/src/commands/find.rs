//! `csk find`: searches the skills on this machine.

use std::collections::BTreeMap;

use csk_core::install::Consumers;
use csk_core::operations::{FoundIn, FoundSkill, SearchPlaces, search};
use csk_core::output::{FindJson, FoundSkillJson, VERSION};
use csk_core::project::find_root;
use skill::nearest;
use skill_fs::AbsPath;
use term::{HelpText, counted, safe_line};

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
const MAX_DESCRIPTION: usize = 100;

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
        context.ui.out(&text(&found.skills))?;
        if let Some(words) = found.skills.iter().find_map(|skill| skill.add.as_ref()) {
            context.ui.note(&format!("to add a skill: {}\n", safe_line(&command(words))))?;
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

/// Returns two lines for each skill: its name and description, and where it is. Projects with the same skill share them.
fn text(skills: &[FoundSkill]) -> String {
    let mut text = String::new();
    let mut installed: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for skill in skills.iter().filter(|skill| skill.found_in == FoundIn::Installed) {
        installed.entry((&skill.name, &skill.description)).or_default().push(&skill.place);
    }
    for skill in skills {
        let places = match (skill.found_in, &skill.add) {
            (FoundIn::Installed, _) => {
                // The first line of a skill prints all of its projects.
                match installed.remove(&(skill.name.as_str(), skill.description.as_str())) {
                    Some(places) => format!("installed in {}", places.join(", ")),
                    None => continue,
                }
            }
            (FoundIn::Repository | FoundIn::Index, Some(words)) => words.join(" "),
            (FoundIn::Repository | FoundIn::Index, None) => skill.place.clone(),
        };
        let description: String = skill.description.chars().take(MAX_DESCRIPTION).collect();
        for line in [format!("{}  {description}", skill.name), format!("    {places}")] {
            text += safe_line(&line).trim_end();
            text.push('\n');
        }
    }
    text
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
