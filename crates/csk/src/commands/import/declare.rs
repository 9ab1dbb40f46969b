//! Turns import candidates into declarations that can be fetched.

use std::collections::BTreeMap;

use csk_core::install::{Environment, SkillError};
use csk_core::operations::{Inspection, inspect};
use csk_core::{
    Config, Declaration, ForeignOrigin, Reference, Repository, check_declared_url, is_ref_name,
    is_same_repository, long_source_name, origin,
};
use skill::{Identifier, RefKind, is_commit_id};
use skill_fs::AbsPath;

use super::ImportArgs;
use super::adopt::{adopt, check_skill};
use super::find::{Candidate, CandidateOrigin};
use crate::commands::install::network;
use crate::context::Context;
use crate::progress::Progress;

/// The number of files that a note about files that are not installed lists.
const MAX_LISTED: usize = 5;

/// Creates declarations and checks that they can be fetched.
pub(super) struct Declarer<'a> {
    environment: Environment,
    config: &'a Config,
    args: &'a ImportArgs,
    progress: Progress,
    /// The repository names used in this run, each with its URL.
    sources: BTreeMap<Identifier, String>,
    /// Notes to print for the user.
    pub(super) notes: Vec<String>,
}

impl<'a> Declarer<'a> {
    pub(super) fn new(context: &Context, config: &'a Config, args: &'a ImportArgs) -> Self {
        Self {
            environment: context.environment(config),
            config,
            args,
            progress: context.progress(),
            sources: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn declaration(&mut self, candidate: &Candidate) -> Result<Declaration, String> {
        let name = Identifier::new(candidate.name.as_str()).map_err(|error| error.to_string())?;
        self.notes.extend(candidate.note.clone());
        match &candidate.origin {
            CandidateOrigin::Git(origin) => self.of_git(&name, origin),
            CandidateOrigin::Folder(folder) if self.args.adopt => self.of_folder(name, folder),
            CandidateOrigin::Folder(_) => {
                Err("plain folder; use --adopt to turn it into a repository".to_owned())
            }
        }
    }

    fn of_git(&mut self, name: &Identifier, origin: &ForeignOrigin) -> Result<Declaration, String> {
        check_declared_url(&origin.git, self.environment.local)
            .map_err(|error| error.to_string())?;
        if let Some(name) = origin.reference.as_ref().filter(|name| !is_ref_name(name)) {
            return Err(format!("invalid tag, branch or commit `{name}`"));
        }
        let source = self.source(origin)?;
        let made = |reference: Reference| Declaration {
            name: name.clone(),
            source: source.clone(),
            git: Some(origin.git.clone()),
            path: origin.path.clone(),
            reference,
        };
        let repository = self.config.skills_root.join(source.as_str());
        let is_cloned = repository.as_path().exists();
        if self.args.dry_run && !is_cloned {
            // A dry run does not clone, so the kind of the reference is only a guess.
            let reference = origin.reference.as_deref();
            if origin.kind.is_none() && reference.is_none_or(|name| !is_commit_id(name)) {
                let reference = reference.unwrap_or("main");
                self.notes.push(format!(
                    "{name}: cannot tell whether `{reference}` is a tag or a branch without cloning the repository"
                ));
            }
            return Ok(made(guess_reference(reference, origin.kind)));
        }
        // The first inspection clones the repository.
        let mut first = None;
        let name_and_kind = origin.reference.as_deref().map(|name| (name, origin.kind));
        for reference in references(&repository, name_and_kind) {
            let declaration = made(reference);
            match self.inspect(&declaration) {
                Ok(_) => return Ok(declaration),
                Err(SkillError::Clone { source, url, .. }) => {
                    return Err(format!("cannot clone `{url}`: {source}"));
                }
                Err(error) => {
                    let is_other_reference = matches!(
                        &error,
                        SkillError::Source(csk_core::SourceError::UnknownReference { .. })
                    );
                    // A problem of the skill itself is more useful than an unknown reference.
                    if !is_other_reference || first.is_none() {
                        let hint = error.hint().map(|hint| format!(" ({hint})"));
                        first = Some(format!("{error}{}", hint.unwrap_or_default()));
                    }
                    if !is_other_reference {
                        break;
                    }
                }
            }
            if !is_cloned && origin.reference.is_none() && repository.as_path().exists() {
                let own = default_branch(&repository).map(&made);
                if let Some(own) = own.filter(|own| self.inspect(own).is_ok()) {
                    return Ok(own);
                }
            }
        }
        Err(first.unwrap_or_else(|| "its repository has no branches".to_owned()))
    }

    /// Returns a name for the repository under `skills_root` that no other repository uses.
    fn source(&mut self, wanted: &ForeignOrigin) -> Result<Identifier, String> {
        let long = long_source_name(&wanted.git);
        for source in [Some(wanted.source.clone()), long].into_iter().flatten() {
            let existing = self.config.skills_root.join(source.as_str());
            let is_same = match self.sources.get(&source) {
                Some(url) => is_same_repository(url, &wanted.git),
                // A local repository without a remote is a different one.
                None if existing.as_path().exists() => origin(&existing)
                    .map_err(|error| error.to_string())?
                    .is_some_and(|url| is_same_repository(&url, &wanted.git)),
                None => true,
            };
            if is_same {
                self.sources.insert(source.clone(), wanted.git.clone());
                return Ok(source);
            }
        }
        Err(format!(
            "`{}` already contains a different repository; add the skill with `csk add --source NAME --git URL`",
            self.config.skills_root.join(wanted.source.as_str())
        ))
    }

    fn of_folder(&mut self, name: Identifier, folder: &AbsPath) -> Result<Declaration, String> {
        check_skill(folder.as_path())?;
        let reference = Reference { kind: RefKind::Branch, name: "main".to_owned() };
        let declaration =
            Declaration { source: name.clone(), name, git: None, path: None, reference };
        if self.args.dry_run {
            let existing = self.config.skills_root.join(declaration.source.as_str());
            if existing.as_path().symlink_metadata().is_ok() {
                return Err(format!(
                    "`{existing}` already exists; a dry run does not compare its contents"
                ));
            }
            return Ok(declaration);
        }
        let inspected = adopt(&self.environment, &declaration, folder)?;
        if !inspected.not_installed.is_empty() {
            let mut shown: Vec<&str> =
                inspected.not_installed.iter().take(MAX_LISTED).map(String::as_str).collect();
            if inspected.not_installed.len() > MAX_LISTED {
                shown.push("...");
            }
            self.notes.push(format!(
                "{}: these files are in its repository but are not installed: {}",
                declaration.name,
                shown.join(", ")
            ));
        }
        Ok(declaration)
    }

    fn inspect(&self, declaration: &Declaration) -> Result<Inspection, SkillError> {
        inspect(&self.environment, declaration, network(self.args.offline), &self.progress)
    }
}

fn guess_reference(name: Option<&str>, kind: Option<RefKind>) -> Reference {
    let kind = kind.unwrap_or(match name {
        Some(name) if is_commit_id(name) => RefKind::Revision,
        _ => RefKind::Branch,
    });
    Reference { kind, name: name.unwrap_or("main").to_owned() }
}

/// Returns the references that a name may stand for. Without a name: the default branch of the repository, then `main`
/// and `master`.
fn references(
    repository: &AbsPath,
    name_and_kind: Option<(&str, Option<RefKind>)>,
) -> Vec<Reference> {
    let of = |kind: RefKind, name: &str| Reference { kind, name: name.to_owned() };
    match name_and_kind {
        Some((name, Some(kind))) => vec![of(kind, name)],
        Some((name, None)) if is_commit_id(name) => vec![of(RefKind::Revision, name)],
        Some((name, None)) => vec![of(RefKind::Tag, name), of(RefKind::Branch, name)],
        None => {
            let usual = ["main", "master"].map(|name| of(RefKind::Branch, name));
            default_branch(repository).into_iter().chain(usual).collect()
        }
    }
}

fn default_branch(repository: &AbsPath) -> Option<Reference> {
    let name = Repository::open(repository).ok()?.default_branch()?;
    Some(Reference { kind: RefKind::Branch, name })
}
