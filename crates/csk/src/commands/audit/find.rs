//! From the words of the command line to the files of skills.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use csk_core::audit::{Bundle, of_folder, of_snapshot};
use csk_core::{AbsPath, Config, Declaration, Reference, Repository, SourceError};
use skill::{RefKind, RelPath, SKILL_FILE, nearest};

use crate::context::Context;
use crate::failure::Failure;
use crate::projects::{Selected, Selection, select};

type Bundles = Vec<(Bundle, String)>;

/// Returns the skills that a word means, each with what its paths are relative to.
pub(super) fn bundles(context: &mut Context, target: Option<&str>) -> Result<Bundles, Failure> {
    let Some(target) = target else {
        let config = context.config()?;
        let selected = project(context, &config)?;
        let all = selected.targets.iter().flat_map(|target| &target.skills);
        return all.map(|skill| declared(&config, skill)).collect();
    };
    let path = context.cwd.join(target);
    if fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir()) {
        return folder(&path, target);
    }
    if let Some((repository, reference)) = target.rsplit_once('@') {
        return committed(context, repository, reference).map(|bundle| vec![bundle]);
    }
    if !context.config_path.as_path().exists() {
        return Err(Failure::usage(format!("there is no folder `{target}`"))
            .with_hint("skills of projects are known once `csk bootstrap` has made a config"));
    }
    let config = context.config()?;
    let selected = project(context, &config)?;
    let skills: Vec<&Declaration> =
        selected.targets.iter().flat_map(|target| &target.skills).collect();
    match skills.iter().find(|skill| skill.name.as_str() == target) {
        Some(skill) => declared(&config, skill).map(|bundle| vec![bundle]),
        None => {
            let failure = Failure::usage(format!(
                "there is no skill `{target}` here, and no folder of that name"
            ));
            Err(match nearest(target, skills.iter().map(|skill| skill.name.as_str())) {
                Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                None => failure.with_hint("name a skill of the project, a folder, or REPO@REF"),
            })
        }
    }
}

/// Returns a skill of the project as it is installed.
pub(super) fn installed(context: &mut Context, name: &str) -> Result<Bundles, Failure> {
    let config = context.config()?;
    let selected = project(context, &config)?;
    for target in &selected.targets {
        let path = target.root.join(csk_core::install::SKILLS).join(name);
        if fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir()) {
            return folder(&path, name);
        }
    }
    Err(Failure::usage(format!("the skill `{name}` is not installed here"))
        .with_hint("name two versions: --diff REPO@OLD REPO@NEW"))
}

/// Returns every skill that is installed in the project here.
pub(super) fn all_installed(context: &mut Context) -> Result<Bundles, Failure> {
    let config = context.config()?;
    let selected = project(context, &config)?;
    let mut all = Vec::new();
    for target in &selected.targets {
        for skill in &target.skills {
            let path = target.root.join(csk_core::install::SKILLS).join(skill.name.as_str());
            if fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir()) {
                all.extend(folder(&path, skill.name.as_str())?);
            }
        }
    }
    Ok(all)
}

fn project(context: &mut Context, config: &Config) -> Result<Selected, Failure> {
    select(context, config, &Selection::default())
}

/// A folder that is a skill, or that holds some.
fn folder(path: &AbsPath, shown: &str) -> Result<Bundles, Failure> {
    let has_skill = |path: &AbsPath| {
        path.join(SKILL_FILE).as_path().exists() || path.join("skill.md").as_path().exists()
    };
    let read = |path: &AbsPath, shown: String| {
        of_folder(path)
            .map(|bundle| (bundle, shown))
            .map_err(|error| Failure::usage(error.to_string()))
    };
    if has_skill(path) {
        return Ok(vec![read(path, shown.to_owned())?]);
    }
    let entries = fs::read_dir(path.as_path())
        .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let inner = names
        .iter()
        .map(|name| (path.join(name), format!("{}/{name}", shown.trim_end_matches('/'))));
    let found: Bundles = inner
        .filter(|(path, _)| has_skill(path))
        .map(|(path, shown)| read(&path, shown))
        .collect::<Result<_, _>>()?;
    if found.is_empty() {
        return Err(Failure::usage(format!(
            "there is no {SKILL_FILE} in {path}, nor in a folder of it"
        )));
    }
    Ok(found)
}

fn declared(config: &Config, skill: &Declaration) -> Result<(Bundle, String), Failure> {
    let repository = Repository::open(&config.skills_root.join(skill.source.as_str()))
        .map_err(|error| told(&error))?;
    bundle(&repository, skill.name.as_str(), (&skill.reference, skill.path.as_ref()))
}

fn committed(
    context: &mut Context,
    name: &str,
    reference: &str,
) -> Result<(Bundle, String), Failure> {
    let path = context.cwd.join(name);
    let is_path = fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir());
    let path = if is_path { path } else { context.config()?.skills_root.join(name) };
    let repository = Repository::open(&path).map_err(|error| told(&error))?;
    for kind in [RefKind::Tag, RefKind::Branch, RefKind::Revision] {
        let reference = Reference { kind, name: reference.to_owned() };
        if let Ok(found) = bundle(&repository, name, (&reference, None)) {
            return Ok(found);
        }
    }
    Err(Failure::usage(format!("{name} has no tag, branch or commit `{reference}`"))
        .with_hint("`csk update` fetches what is new"))
}

fn bundle(
    repository: &Repository,
    name: &str,
    (reference, folder): (&Reference, Option<&RelPath>),
) -> Result<(Bundle, String), Failure> {
    let read = || {
        let tree = repository.objects().tree(&repository.resolve(reference)?, folder)?;
        let name = name.rsplit('/').next().unwrap_or(name);
        of_snapshot(name, &repository.objects().snapshot(&tree)?)
    };
    read().map(|bundle| (bundle, name.to_owned())).map_err(|error| told(&error))
}

fn told(error: &SourceError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
