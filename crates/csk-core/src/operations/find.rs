//! Searches the skills on this machine: installed ones, those in cloned repositories, and those in index files.

use std::collections::BTreeSet;

use rayon::prelude::*;
use skill::{Identifier, Input, LEDGER_FILE, SKILL_FILE, Strictness, parse_head};
use skill_fs::{AbsPath, read_text};

use crate::config::index::SkillIndex;
use crate::install::{Environment, SKILLS, repositories};
use crate::source::{VersionAndFolder, WantedVersion, choose_version, offered, public_origin};
use crate::{Ledger, Repository, SourceError};

/// Where to search.
#[derive(Debug, Clone)]
pub struct SearchPlaces {
    /// The projects and the global scope, each with its name in messages.
    pub projects: Vec<(String, AbsPath)>,
    /// The folders with cloned repositories.
    pub repositories: Vec<AbsPath>,
    /// The index files.
    pub indexes: Vec<AbsPath>,
}

/// Where a skill was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundIn {
    /// Installed into a project or the global scope.
    Installed,
    /// In a cloned repository.
    Repository,
    /// In an index file.
    Index,
}

impl FoundIn {
    /// Returns the name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Repository => "repository",
            Self::Index => "index",
        }
    }
}

/// A skill that matches a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSkill {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Where it was found.
    pub found_in: FoundIn,
    /// The project, the repository or the index file.
    pub place: String,
    /// The arguments of `csk add`, unless the skill is only known as installed.
    pub add: Option<Vec<String>>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct SearchResult {
    /// The matching skills, best first.
    pub skills: Vec<FoundSkill>,
    /// The names of all skills that were searched, for a "did you mean" hint.
    pub names: BTreeSet<String>,
    /// What could not be searched, and why.
    pub problems: Vec<String>,
}

/// Searches for skills whose name or description contains every word.
pub fn search(environment: &Environment, places: &SearchPlaces, words: &[String]) -> SearchResult {
    let mut result = SearchResult::default();
    let mut all: Vec<FoundSkill> = Vec::new();
    for (name, root) in &places.projects {
        let of_project = installed(name, root, &mut result.problems);
        all.extend(of_project);
    }
    let clones: Vec<(AbsPath, String)> = places
        .repositories
        .iter()
        .flat_map(|root| repositories(root).into_iter().map(|name| (root.clone(), name)))
        .collect();
    let in_clone = |(root, name): &(AbsPath, String)| {
        in_repository(root, name).map_err(|error| format!("{name}: {error}"))
    };
    let in_clones: Vec<Result<Vec<FoundSkill>, String>> = clones.par_iter().map(in_clone).collect();
    let is_own = |root: &AbsPath| *root == environment.skills_root;
    for ((root, _), found) in clones.iter().zip(in_clones) {
        match found {
            Ok(found) => all.extend(found.into_iter().map(|skill| match is_own(root) {
                true => skill,
                false => by_path(skill, root),
            })),
            Err(problem) => result.problems.push(problem),
        }
    }
    for path in &places.indexes {
        match SkillIndex::read(path) {
            Ok(index) => all.extend(index.skills.into_iter().map(|skill| FoundSkill {
                name: skill.name.to_string(),
                description: skill.description,
                found_in: FoundIn::Index,
                place: path.to_string(),
                add: Some(vec![skill.source]),
            })),
            Err(problem) => result.problems.push(problem),
        }
    }
    result.names = all.iter().map(|skill| skill.name.clone()).collect();
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let scored = all.into_iter().filter_map(|skill| Some((score(&skill, &words)?, skill)));
    let mut scored: Vec<(usize, FoundSkill)> = scored.collect();
    scored.sort_by(|(one_score, one), (other_score, other)| {
        let key = |skill: &FoundSkill| (skill.found_in, skill.name.clone(), skill.place.clone());
        other_score.cmp(one_score).then_with(|| key(one).cmp(&key(other)))
    });
    result.skills = scored.into_iter().map(|(_, skill)| skill).collect();
    result
}

/// Returns how well a skill matches; `None` if a word is missing.
fn score(skill: &FoundSkill, words: &[String]) -> Option<usize> {
    let (name, description) = (skill.name.to_lowercase(), skill.description.to_lowercase());
    let one = |word: &String| match () {
        () if name == *word => Some(8),
        () if name.starts_with(word.as_str()) => Some(5),
        () if name.contains(word.as_str()) => Some(4),
        () if description.contains(word.as_str()) => Some(1),
        () => None,
    };
    words.iter().map(one).sum()
}

/// Returns the skills that csk installed into a project.
fn installed(name: &str, root: &AbsPath, problems: &mut Vec<String>) -> Vec<FoundSkill> {
    let folder = root.join(SKILLS);
    let file = folder.join(LEDGER_FILE);
    let ledger = match read_text(&file) {
        Ok(None) => return Vec::new(),
        Ok(Some(text)) => Ledger::parse(file.as_str(), &text).0.ok_or("it is malformed".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let ledger = match ledger {
        Ok(ledger) => ledger,
        Err(reason) => {
            problems.push(format!("cannot read `{file}`: {reason}"));
            return Vec::new();
        }
    };
    let one = |skill: &Identifier| {
        let text = read_text(&folder.join(skill.as_str()).join(SKILL_FILE)).ok().flatten()?;
        Some(FoundSkill {
            name: skill.to_string(),
            description: description(skill.as_str(), &text),
            found_in: FoundIn::Installed,
            place: name.to_owned(),
            add: None,
        })
    };
    ledger.entries.iter().filter_map(one).collect()
}

fn description(name: &str, text: &str) -> String {
    let input = Input { file: SKILL_FILE, directory: Some(name), bytes: text.as_bytes() };
    let head = parse_head(&input, Strictness::Lenient);
    head.frontmatter.map_or_else(String::new, |frontmatter| frontmatter.description)
}

/// Returns the skills in the newest version of a cloned repository.
fn in_repository(root: &AbsPath, name: &str) -> Result<Vec<FoundSkill>, SourceError> {
    let Ok(source) = Identifier::new(name) else { return Ok(Vec::new()) };
    let repository = Repository::open(&root.join(name))?;
    let any = WantedVersion::AsInSource(VersionAndFolder::Known { reference: None, path: None });
    let list = |commit: &crate::Commit| offered(&repository, commit, None, &source);
    let url = public_origin(&root.join(name));
    let version = choose_version(&repository, &any, |commit, _| {
        list(commit).is_ok_and(|offer| !offer.skills.is_empty())
    })?;
    let found = list(&version.commit)?.skills.into_iter().map(|skill| {
        let folder = skill.folder().to_owned();
        // A name says little: any project can choose the name under which csk clones a repository.
        let words = [url.as_deref().unwrap_or(name), "--skill", &folder];
        let words = if skill.path.is_none() { &words[..1] } else { &words[..] };
        FoundSkill {
            name: skill.name.to_string(),
            description: skill.description,
            found_in: FoundIn::Repository,
            place: name.to_owned(),
            add: Some(words.iter().map(|word| (*word).to_owned()).collect()),
        }
    });
    Ok(found.collect())
}

/// Refers to a repository that is not under `skills_root` by its path.
fn by_path(skill: FoundSkill, root: &AbsPath) -> FoundSkill {
    let add = skill.add.map(|mut words| {
        if let Some(first) =
            words.first_mut().filter(|first| Identifier::new(first.as_str()).is_ok())
        {
            *first = root.join(first.as_str()).to_string();
        }
        words
    });
    FoundSkill { add, ..skill }
}
