//! Selects the skills to add from those that a source offers.

use std::collections::BTreeMap;

use csk_core::source::OfferedSkill;
use skill::nearest;
use term::{Failure, counted, safe_line, table};

use super::AddFlags;
use super::found::FoundSkills;
use crate::context::Context;
use crate::project_edit::Refused;
use crate::prompt::{ask, can_ask};

/// The number of names that an error lists.
const MAX_LISTED: usize = 20;
/// The number of characters of a description in a list.
const MAX_DESCRIPTION: usize = 70;

/// Returns the skills to add.
pub(super) fn select(
    context: &mut Context,
    found: &FoundSkills,
    flags: &AddFlags,
    skills: &[String],
) -> anyhow::Result<Vec<OfferedSkill>> {
    let offered = &found.offer.skills;
    let selected = if !skills.is_empty() {
        let one = |wanted: &String| by_name(found, wanted).cloned();
        skills.iter().map(one).collect::<Result<Vec<_>, _>>()?
    } else if flags.all || offered.len() == 1 {
        let except = flags.except.iter().map(|name| by_name(found, name).map(OfferedSkill::folder));
        let except = except.collect::<Result<Vec<_>, _>>()?;
        let is_kept = |skill: &&OfferedSkill| !except.contains(&skill.folder());
        offered.iter().filter(is_kept).cloned().collect()
    } else if can_ask() && !flags.json {
        prompt(context, found)?
    } else {
        return Err(several(found));
    };
    let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
    for skill in &selected {
        if let Some(other) = paths.insert(skill.name.as_str(), skill.folder()) {
            return Err(same_name(found, skill.name.as_str(), &[other, skill.folder()]).into());
        }
    }
    Ok(selected)
}

/// Returns the skill with this name or folder.
pub(super) fn by_name<'a>(
    found: &'a FoundSkills,
    wanted: &str,
) -> Result<&'a OfferedSkill, Failure> {
    let offered = &found.offer.skills;
    let wanted = wanted.trim_end_matches('/');
    let is_wanted = |skill: &&OfferedSkill| skill.name.as_str() == wanted;
    match offered.iter().filter(is_wanted).collect::<Vec<_>>().as_slice() {
        [skill] => return Ok(skill),
        [] => {}
        several => {
            let folders: Vec<&str> = several.iter().map(|skill| skill.folder()).collect();
            return Err(same_name(found, wanted, &folders));
        }
    }
    let mut all = offered.iter().chain(&found.offer.copies);
    if let Some(skill) = all.find(|skill| skill.folder() == wanted) {
        return Ok(skill);
    }
    let is_last = |skill: &&OfferedSkill| skill.folder().rsplit('/').next() == Some(wanted);
    if let [skill] = offered.iter().filter(is_last).collect::<Vec<_>>().as_slice() {
        return Ok(skill);
    }
    let failure = Failure::usage(format!(
        "no skill `{wanted}` in {} at {}",
        found.text,
        found.version_text()
    ));
    let names: Vec<&str> = offered.iter().map(|skill| skill.name.as_str()).collect();
    Err(match nearest(wanted, names.iter().copied()) {
        Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
        None => failure.with_hint(format!("available: {}", listed(&names))),
    })
}

fn same_name(found: &FoundSkills, name: &str, folders: &[&str]) -> Failure {
    Failure::usage(format!(
        "{} contains {} named `{name}`: {}",
        found.text,
        counted(folders.len(), "skill"),
        folders.join(", ")
    ))
    .with_hint("select one by its folder, with --skill FOLDER or --path FOLDER")
}

/// Returns the error for a source without skills.
pub(super) fn no_skills(found: &FoundSkills) -> anyhow::Error {
    let at = found.version.path.as_ref().map_or_else(String::new, |path| format!(" in `{path}`"));
    let what = format!("no skills{at} in {} at {}", found.text, found.version_text());
    let failure = Failure::usage(what);
    let hint = match found.version.path {
        Some(_) => "specify another folder, or the whole repository",
        None => "a skill is a folder with a SKILL.md; check the repository and the version",
    };
    failure.with_hint(hint).into()
}

/// Returns the error for a source of several skills if csk cannot ask which ones are wanted.
fn several(found: &FoundSkills) -> anyhow::Error {
    let names: Vec<&str> = found.offer.skills.iter().map(|skill| skill.name.as_str()).collect();
    Failure::usage(format!("{} contains {}", found.text, counted(names.len(), "skill")))
        .with_hint(format!("use --all, or --skill with one of: {}", listed(&names)))
        .into()
}

fn listed(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.dedup();
    let more = names.len().saturating_sub(MAX_LISTED);
    let shown = names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Lists the skills and asks which ones to add.
fn prompt(context: &mut Context, found: &FoundSkills) -> anyhow::Result<Vec<OfferedSkill>> {
    let offered = &found.offer.skills;
    let rows: Vec<Vec<String>> = offered
        .iter()
        .enumerate()
        .map(|(index, skill)| {
            let description: String = skill.description.chars().take(MAX_DESCRIPTION).collect();
            vec![format!("  {}", index + 1), skill.name.to_string(), description]
        })
        .collect();
    let head = format!(
        "{} at {} contains {}:\n",
        safe_line(&found.text),
        found.version_text(),
        counted(offered.len(), "skill")
    );
    context.ui.error(&(head + &table(&rows, context.ui.width)))?;
    loop {
        let question =
            "Skills to add (numbers or names, separated by spaces; `all`; Enter for none): ";
        let Some(answer) = ask(&mut context.ui, question)? else {
            return Err(Refused::declined().into());
        };
        match answered(found, &answer) {
            Ok(selected) if selected.is_empty() => {
                return Err(Refused::declined().into());
            }
            Ok(selected) => return Ok(selected),
            Err(failure) => context.ui.error(&format!("{}\n", safe_line(&failure.message)))?,
        }
    }
}

/// Parses the answer to [`prompt`].
fn answered(found: &FoundSkills, answer: &str) -> Result<Vec<OfferedSkill>, Failure> {
    let offered = &found.offer.skills;
    if matches!(answer, "all" | "*") {
        return Ok(offered.clone());
    }
    let mut selected: Vec<OfferedSkill> = Vec::new();
    for word in answer.split([' ', ',']).filter(|word| !word.is_empty()) {
        let by_number =
            word.parse::<usize>().ok().and_then(|number| offered.get(number.checked_sub(1)?));
        let skill = match by_number {
            Some(skill) => skill,
            None => by_name(found, word)?,
        };
        if !selected.contains(skill) {
            selected.push(skill.clone());
        }
    }
    Ok(selected)
}
