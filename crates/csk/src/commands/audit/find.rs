//! Resolves audit targets to the files of skills.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use csk_core::audit::read_snapshot;
use csk_core::install::{Network, check_origin, repositories};
use csk_core::{Config, Declaration, Reference, Repository, SKILLFILE, SourceError};
use skill::{Identifier, MARKER_FILE, Marker, RelPath, SKILL_FILE, nearest};
use skill_fs::{AbsPath, FindLimits, Root, find_skills, read_text};
use skill_state::audit::Bundle;

use term::Failure;

use crate::commands::add::{Fetching, skills_of};
use crate::context::Context;
use crate::projects::{SelectedProjects, Selection, select, select_any};

/// A skill to audit.
pub(super) struct AuditTarget {
    pub(super) files: TargetFiles,
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

/// The files of a skill to audit.
pub(super) enum TargetFiles {
    /// They are in memory.
    Read(Bundle),
    /// They are in this folder, and read when it is their turn.
    Folder(AbsPath),
}

impl AuditTarget {
    /// Returns a name for messages.
    pub(super) fn name(&self) -> &str {
        match &self.files {
            TargetFiles::Read(bundle) => &bundle.name,
            TargetFiles::Folder(path) => {
                path.as_path().file_name().and_then(|name| name.to_str()).unwrap_or_default()
            }
        }
    }
}

/// The skills that a target refers to.
#[derive(Default)]
pub(super) struct AuditTargets {
    pub(super) skills: Vec<AuditTarget>,
    /// What could not be read, and may contain a skill.
    pub(super) problems: Vec<String>,
}

impl AuditTargets {
    /// Returns the skills; fails if anything could not be read.
    pub(super) fn complete(self) -> anyhow::Result<Vec<AuditTarget>> {
        match self.problems.into_iter().next() {
            Some(problem) => Err(Failure::usage(problem).into()),
            None => Ok(self.skills),
        }
    }
}

impl From<Vec<AuditTarget>> for AuditTargets {
    fn from(skills: Vec<AuditTarget>) -> Self {
        Self { skills, ..Self::default() }
    }
}

/// Returns the skills that a target refers to.
pub(super) fn bundles(
    context: &mut Context,
    target: Option<&str>,
    network: Network,
) -> anyhow::Result<AuditTargets> {
    let Some(target) = target else {
        let config = context.config()?;
        let selected = project(context, &config)?;
        let all = selected.targets.iter().flat_map(|target| &target.skills);
        let all: anyhow::Result<Vec<AuditTarget>> =
            all.map(|skill| declared(&config, skill)).collect();
        return all.map(AuditTargets::from);
    };
    let path = context.cwd.join(target);
    if fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir()) {
        return folder(&path, target);
    }
    let config = context.config()?;
    if Identifier::new(target).is_err() {
        return of_source(context, &config, target, network);
    }
    let selected = select_any(context, &config, &Selection::default())?;
    let skills: Vec<&Declaration> =
        selected.targets.iter().flat_map(|target| &target.skills).collect();
    if let Some(skill) = skills.iter().find(|skill| skill.name.as_str() == target) {
        return declared(&config, skill).map(|bundle| vec![bundle].into());
    }
    let known = repositories(&config.skills_root);
    if known.iter().any(|name| name == target) {
        return of_source(context, &config, target, network);
    }
    let failure = Failure::usage(format!("no skill, folder or repository named `{target}`"));
    let names = skills.iter().map(|skill| skill.name.as_str());
    Err(match nearest(target, names.chain(known.iter().map(String::as_str))) {
        Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
        None => failure.with_hint(
            "specify a skill of this project, a folder, or a source such as owner/repo; `csk add --help` lists them",
        ),
    }
    .into())
}

/// Reads the skills of a source, without installing anything.
fn of_source(
    context: &mut Context,
    config: &Config,
    text: &str,
    network: Network,
) -> anyhow::Result<AuditTargets> {
    // `skills/pdf@v1` may be a repository here.
    let is_here = |path: &str| {
        fs::metadata(context.cwd.join(path).as_path()).is_ok_and(|metadata| metadata.is_dir())
    };
    let text = match text.rsplit_once('@') {
        Some((path, _)) if !path.starts_with(['.', '/', '~']) && is_here(path) => {
            format!("./{text}")
        }
        _ => text.to_owned(),
    };
    let wanted = Fetching { reference: None, folder: None, network, is_only_read: true };
    let found = skills_of(context, config, &text, &wanted)?;
    let usable = found
        .offer
        .skills
        .iter()
        .chain(&found.offer.copies)
        .map(|skill| (skill.name.as_str(), skill.path.as_ref()));
    // A folder that csk cannot install may still be copied by hand.
    let unusable = found.offer.unusable.iter().filter_map(|folder| {
        let path = folder.path.as_ref()?;
        Some((path.parts().last()?, Some(path)))
    });
    let objects = found.source.repository.objects();
    let read = |(name, path): (&str, Option<&RelPath>)| {
        let tree = objects.tree(&found.version.commit, path)?;
        Ok(AuditTarget {
            files: TargetFiles::Read(read_snapshot(name, &objects.snapshot(&tree)?)?),
            base: path.map_or_else(|| name.to_owned(), ToString::to_string),
            declared_sources: found.source.url.iter().cloned().collect(),
            repository: Some(found.source.repository.path().clone()),
            marker: None,
            is_commit: true,
        })
    };
    let all: anyhow::Result<Vec<AuditTarget>> = usable.map(read).collect();
    let mut all = AuditTargets::from(all?);
    for (name, path) in unusable {
        match read((name, path)) {
            Ok(target) => all.skills.push(target),
            Err(error) => all.problems.push(format!("{name}: {error}")),
        }
    }
    Ok(all)
}

/// Returns the installed version of a skill of the project.
pub(super) fn installed(context: &mut Context, name: &str) -> anyhow::Result<Vec<AuditTarget>> {
    let config = context.config()?;
    let selected = project(context, &config)?;
    for target in &selected.targets {
        let path = target.root.join(csk_core::install::SKILLS).join(name);
        if fs::metadata(path.as_path()).is_ok_and(|metadata| metadata.is_dir()) {
            return folder(&path, name)?.complete();
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
            for mut found in folder(&path, skill.name.as_str())?.complete()? {
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
fn read(path: &AbsPath, shown: String) -> AuditTarget {
    let files = TargetFiles::Folder(path.clone());
    let marker = marker(path);
    let declared = marker.as_ref().and_then(|marker| marker.git.clone());
    let declared_sources = declared.into_iter().chain([path.to_string()]).collect();
    let repository = path.join(".git").as_path().exists().then(|| path.clone());
    AuditTarget { files, base: shown, declared_sources, repository, marker, is_commit: false }
}

/// Reads the skills at or below a folder.
fn folder(path: &AbsPath, shown: &str) -> anyhow::Result<AuditTargets> {
    let root = Root::open(path)?;
    let found = find_skills(root, &FindLimits::SEARCH, |skill| skill.root.path().clone());
    let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    let found = found.skills;
    if found.is_empty() && problems.is_empty() {
        return Err(Failure::usage(format!("no {SKILL_FILE} in `{path}` or its subfolders"))
            .with_hint("specify a skill folder, or a folder that contains skills")
            .into());
    }
    let shown = shown.trim_end_matches('/');
    let read = |one: AbsPath| {
        let below =
            one.as_path().strip_prefix(path.as_path()).ok().and_then(|below| below.to_str());
        let below = below.filter(|below| !below.is_empty());
        read(&one, below.map_or_else(|| shown.to_owned(), |below| format!("{shown}/{below}")))
    };
    let mut all = AuditTargets { problems, ..AuditTargets::default() };
    all.skills.extend(found.into_iter().map(read));
    Ok(all)
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

fn bundle(
    repository: &Repository,
    name: &str,
    reference: &Reference,
    folder: Option<&RelPath>,
) -> Result<AuditTarget, SourceError> {
    let tree = repository.objects().tree(&repository.resolve(reference)?, folder)?;
    let shown = name.rsplit('/').next().unwrap_or(name);
    let files = TargetFiles::Read(read_snapshot(shown, &repository.objects().snapshot(&tree)?)?);
    Ok(AuditTarget {
        files,
        base: name.to_owned(),
        declared_sources: Vec::new(),
        repository: Some(repository.path().clone()),
        marker: None,
        is_commit: true,
    })
}
