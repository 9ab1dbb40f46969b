//! Inspects a skill before it is declared: what it provides, what it needs, which capabilities it declares.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use skill::{CommandKind, Manifest};

use crate::install::resolve::check_origin;
use crate::install::sources::clone_missing;
use crate::install::{
    Cache, CacheMode, Environment, MissingCommand, Network, SkillError, Sources, prepare,
};
use crate::which::find_program;
use crate::{Commit, Declaration, Progress, Repository, redacted};

/// The result of inspecting a skill.
#[derive(Debug)]
pub struct Inspection {
    /// The commit that its reference points to.
    pub commit: Commit,
    /// The manifest of the skill.
    pub manifest: Option<Manifest>,
    /// Programs that it needs and the system does not have.
    pub missing: Vec<MissingCommand>,
    /// Warnings about its format.
    pub warnings: Vec<String>,
    /// Its files that are not installed.
    pub not_installed: Vec<String>,
}

impl Inspection {
    /// Returns the commands that the skill provides.
    pub fn script_commands(&self) -> impl Iterator<Item = &str> {
        let commands = self.manifest.iter().flat_map(|manifest| &manifest.commands);
        commands
            .filter(|command| matches!(command.kind, CommandKind::Script { .. }))
            .map(|command| command.name.as_str())
    }
}

/// Inspects a skill; clones its repository if it is missing and the network may be used.
pub fn inspect(
    environment: &Environment,
    skill: &Declaration,
    network: Network,
    progress: &dyn Progress,
) -> Result<Inspection, SkillError> {
    if network == Network::Allowed
        && let Some((_, error)) = clone_missing(environment, [skill], progress).into_iter().next()
    {
        return Err(error);
    }
    let place = environment.skills_root.join(skill.source.as_str());
    if let Some(url) = skill.git.as_deref().filter(|_| !place.as_path().exists()) {
        return Err(SkillError::NotCloned { url: redacted(url) });
    }
    check_origin(&environment.skills_root, skill)?;
    let repository = Repository::open(&place)?;
    let commit = repository.resolve(&skill.reference)?;
    let sources = Sources {
        skills_root: &environment.skills_root,
        cache: &Cache::new(&environment.home, CacheMode::ReadOnly),
        path: None,
        except: &[],
        auditor: None,
        is_adopting: false,
    };
    let prepared = prepare(&sources, skill, &commit, None)?;
    let tree = repository.objects().tree(&commit, skill.path.as_ref())?;
    let snapshot = repository.objects().snapshot(&tree)?;
    let own = prepared.files.iter().map(|file| file.path.as_str());
    let run = prepared.runtime.iter().flat_map(|runtime| &runtime.files);
    let installed: BTreeSet<&str> = own.chain(run.map(|file| file.path.as_str())).collect();
    let is_skipped = |path: &&str| !installed.contains(path);
    let not_installed = snapshot.files().iter().map(|file| file.path.as_str()).filter(is_skipped);
    let path: &OsStr = environment.path.as_deref().unwrap_or_default();
    let commands = prepared.manifest.iter().flat_map(|manifest| &manifest.commands);
    let missing = commands.filter_map(|command| match &command.kind {
        CommandKind::System { program, hint }
            if find_program(program, Some(path), &[]).is_none() =>
        {
            Some(MissingCommand { program: program.clone(), hint: hint.clone() })
        }
        CommandKind::System { .. } | CommandKind::Script { .. } => None,
    });
    Ok(Inspection {
        commit,
        missing: missing.collect(),
        not_installed: not_installed.map(str::to_owned).collect(),
        warnings: prepared.warnings,
        manifest: prepared.manifest,
    })
}
