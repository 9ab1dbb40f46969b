//! Resolves audit targets to the files of skills.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use csk_core::audit::{read_folder, read_snapshot};
use csk_core::install::check_origin;
use csk_core::{Config, Declaration, Reference, Repository, SKILLFILE, SourceError};
use skill::{MARKER_FILE, Marker, RefKind, RelPath, SKILL_FILE, nearest};
use skill_fs::{AbsPath, read_text};
use skill_state::audit::Bundle;

use term::Failure;

use crate::context::Context;
use crate::projects::{SelectedProjects, Selection, select};

/// A skill to audit.
pub(super) struct AuditTarget {
    pub(super) bundle: Bundle,
    /// The prefix of its file paths in reports.
    pub(super) base: String,
    /// Its sources according to the Skillfile and the install marker.
    pub(super) declared_sources: Vec<String>,
    /// Its repository; the remote of it counts as a source as well.
    pub(super) repository: Option<AbsPath>,
    /// The install marker in its folder.
    pub(super) marker: Option<Marker>,
    /// Whether the files come from a commit. Only verdicts of commits are stored.
    pub(super) is_commit: bool,
}

/// Returns the skills that a target refers to.
pub(super) fn bundles(
    context: &mut Context,
    target: Option<&str>,
) -> anyhow::Result<Vec<AuditTarget>> {
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
        return Err(Failure::usage(format!("no folder named `{target}`"))
            .with_hint("run `csk bootstrap` to create a config before auditing a skill by name")
            .into());
    }
    let config = context.config()?;
    let selected = project(context, &config)?;
    let skills: Vec<&Declaration> =
        selected.targets.iter().flat_map(|target| &target.skills).collect();
    match skills.iter().find(|skill| skill.name.as_str() == target) {
        Some(skill) => declared(&config, skill).map(|bundle| vec![bundle]),
        None => {
            let failure = Failure::usage(format!("no skill or folder named `{target}`"));
            Err(match nearest(target, skills.iter().map(|skill| skill.name.as_str())) {
                Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                None => failure.with_hint("specify a skill in this project, a folder, or REPO@REF"),
            }
            .into())
        }
    }
}

/// Returns the installed version of a skill of the project.
pub(super) fn installed(context: &mut Context, name: &str) -> anyhow::Result<Vec<AuditTarget>> {
    let config = context.config()?;
    let selected = project(context, &config)?;
    for target in &selected.targets {
        let path = target.root.join(csk_core::install::SKILLS).join(name);
        if fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir()) {
            return folder(&path, name);
        }
    }
    Err(Failure::usage(format!("skill `{name}` is not installed in this project"))
        .with_hint("specify two versions: --diff REPO@OLD REPO@NEW")
        .into())
}

/// Returns the installed skills of the enclosing project, and the names of declared skills that are not installed.
pub(super) fn all_installed(
    context: &mut Context,
) -> anyhow::Result<(Vec<AuditTarget>, Vec<String>)> {
    let config = context.config()?;
    let selected = project(context, &config)?;
    let (mut all, mut missing) = (Vec::new(), Vec::new());
    for target in &selected.targets {
        for skill in &target.skills {
            let path = target.root.join(csk_core::install::SKILLS).join(skill.name.as_str());
            if !fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir()) {
                missing.push(skill.name.to_string());
                continue;
            }
            for mut found in folder(&path, skill.name.as_str())? {
                found.declared_sources.extend(skill.git.clone());
                let repository = config.skills_root.join(skill.source.as_str());
                found.repository = repository.as_path().exists().then_some(repository);
                all.push(found);
            }
        }
    }
    Ok((all, missing))
}

/// Finds the enclosing project. Auditing nothing is an error.
fn project(context: &mut Context, config: &Config) -> anyhow::Result<SelectedProjects> {
    let selected = select(context, config, &Selection::default())?;
    if selected.failed {
        let what = format!("nothing was audited: a project's {SKILLFILE} is invalid");
        return Err(Failure::usage(what).with_hint("fix the errors above").into());
    }
    if selected.targets.is_empty() {
        return Err(Failure::usage(format!("no configured project has a {SKILLFILE}"))
            .with_hint("run `csk init` to create one here")
            .into());
    }
    Ok(selected)
}

/// Reads a skill folder.
fn read(path: &AbsPath, shown: String) -> anyhow::Result<AuditTarget> {
    let bundle = read_folder(path)?;
    let marker = marker(path);
    let declared = marker.as_ref().and_then(|marker| marker.git.clone());
    let declared_sources = declared.into_iter().chain([path.to_string()]).collect();
    let repository = path.join(".git").as_path().exists().then(|| path.clone());
    Ok(AuditTarget { bundle, base: shown, declared_sources, repository, marker, is_commit: false })
}

/// Reads a skill folder, or a folder of skill folders.
fn folder(path: &AbsPath, shown: &str) -> anyhow::Result<Vec<AuditTarget>> {
    let has_skill = |path: &AbsPath| {
        path.join(SKILL_FILE).as_path().exists() || path.join("skill.md").as_path().exists()
    };
    if has_skill(path) {
        return Ok(vec![read(path, shown.to_owned())?]);
    }
    let entries = fs::read_dir(path.as_path())
        .map_err(|error| Failure::files(format!("cannot read `{path}`"), error))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let inner = names
        .iter()
        .map(|name| (path.join(name), format!("{}/{name}", shown.trim_end_matches('/'))));
    let found: Vec<AuditTarget> = inner
        .filter(|(path, _)| has_skill(path))
        .map(|(path, shown)| read(&path, shown))
        .collect::<Result<_, _>>()?;
    if found.is_empty() {
        return Err(Failure::usage(format!("no {SKILL_FILE} in `{path}` or its subfolders"))
            .with_hint("specify a skill folder, or a folder of skill folders")
            .into());
    }
    Ok(found)
}

/// Returns the install marker of a folder. Anyone can write one, so it is used only as an additional reason to refuse.
fn marker(folder: &AbsPath) -> Option<Marker> {
    let text = read_text(&folder.join(MARKER_FILE)).ok().flatten()?;
    Marker::parse(MARKER_FILE, &text).0
}

fn declared(config: &Config, skill: &Declaration) -> anyhow::Result<AuditTarget> {
    check_origin(&config.skills_root, skill)?;
    let repository = Repository::open(&config.skills_root.join(skill.source.as_str()))?;
    let (name, folder) = (skill.name.as_str(), skill.path.as_ref());
    let found = bundle(&repository, name, &skill.reference, folder)?;
    Ok(AuditTarget { declared_sources: skill.git.iter().cloned().collect(), ..found })
}

fn committed(context: &mut Context, name: &str, reference: &str) -> anyhow::Result<AuditTarget> {
    let path = context.cwd.join(name);
    let is_path = fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir());
    let path = if is_path { path } else { context.config()?.skills_root.join(name) };
    let repository = Repository::open(&path)?;
    let mut near = None;
    for kind in [RefKind::Tag, RefKind::Branch, RefKind::Revision] {
        let reference = Reference { kind, name: reference.to_owned() };
        match bundle(&repository, name, &reference, None) {
            Ok(found) => return Ok(found),
            Err(SourceError::UnknownReference { nearest, .. }) => near = near.or(nearest),
            Err(error) => return Err(error.into()),
        }
    }
    let update = "run `csk update` to fetch new tags and branches";
    let hint = near.map(|near| format!("did you mean `{near}`? If not, {update}"));
    Err(Failure::usage(format!("no tag, branch or commit `{reference}` in `{name}`"))
        .with_hint(hint.unwrap_or_else(|| update.to_owned()))
        .into())
}

fn bundle(
    repository: &Repository,
    name: &str,
    reference: &Reference,
    folder: Option<&RelPath>,
) -> Result<AuditTarget, SourceError> {
    let tree = repository.objects().tree(&repository.resolve(reference)?, folder)?;
    let shown = name.rsplit('/').next().unwrap_or(name);
    let bundle = read_snapshot(shown, &repository.objects().snapshot(&tree)?)?;
    Ok(AuditTarget {
        bundle,
        base: name.to_owned(),
        declared_sources: Vec::new(),
        repository: Some(repository.path().clone()),
        marker: None,
        is_commit: true,
    })
}
