//! From what was found to a declaration that can be had.

use std::collections::BTreeMap;

use csk_core::install::{Environment, SkillError};
use csk_core::operations::{Inspection, inspect};
use csk_core::{
    Config, Declaration, ForeignOrigin, Reference, Repository, check_declared_url, is_ref_name,
    is_same_place, long_source_name, origin,
};
use skill::{Identifier, RefKind, is_commit_id};
use skill_fs::AbsPath;

use super::ImportArgs;
use super::adopt::{adopt, check_skill};
use super::find::{Candidate, Origin};
use crate::commands::install::network;
use crate::context::Context;
use crate::progress::Progress;

/// How many files are named that are not installed.
const NAMED: usize = 5;

/// Makes declarations, and makes sure that they can be had.
pub(super) struct Declarer<'a> {
    environment: Environment,
    config: &'a Config,
    args: &'a ImportArgs,
    progress: Progress,
    /// The repositories that were named in this run, and where they come from.
    taken: BTreeMap<Identifier, String>,
    /// What to know before the next install.
    pub(super) notes: Vec<String>,
}

impl<'a> Declarer<'a> {
    pub(super) fn new(context: &Context, config: &'a Config, args: &'a ImportArgs) -> Self {
        Self {
            environment: context.environment(config),
            config,
            args,
            progress: context.progress(),
            taken: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn declaration(&mut self, candidate: &Candidate) -> Result<Declaration, String> {
        let name = Identifier::new(candidate.name.as_str()).map_err(|error| error.to_string())?;
        self.notes.extend(candidate.note.clone());
        match &candidate.origin {
            Origin::Git(origin) => self.of_git(&name, origin),
            Origin::Folder(folder) if self.args.adopt => self.of_folder(name, folder),
            Origin::Folder(_) => {
                Err("it is a plain folder; --adopt makes a repository of it".to_owned())
            }
        }
    }

    fn of_git(&mut self, name: &Identifier, origin: &ForeignOrigin) -> Result<Declaration, String> {
        check_declared_url(&origin.git, self.environment.local)
            .map_err(|error| error.to_string())?;
        if let Some(name) = origin.reference.as_ref().filter(|name| !is_ref_name(name)) {
            return Err(format!("`{name}` is no name of a tag, a branch or a commit"));
        }
        let source = self.source(origin)?;
        let made = |reference: Reference| Declaration {
            name: name.clone(),
            source: source.clone(),
            git: Some(origin.git.clone()),
            path: origin.path.clone(),
            reference,
        };
        let place = self.config.skills_root.join(source.as_str());
        let is_there = place.as_path().exists();
        if self.args.dry_run && !is_there {
            // Nothing is cloned, so nobody knows what the reference is.
            let reference = origin.reference.as_deref();
            if origin.kind.is_none() && reference.is_none_or(|name| !is_commit_id(name)) {
                let word = reference.unwrap_or("main");
                self.notes.push(format!(
                    "{name}: whether `{word}` is a tag or a branch is not known before it is cloned"
                ));
            }
            return Ok(made(guessed(reference, origin.kind)));
        }
        // The first look clones it; then it is known what it has.
        let mut first = None;
        let named = origin.reference.as_deref().map(|name| (name, origin.kind));
        for reference in references(&place, named) {
            let declaration = made(reference);
            match self.inspect(&declaration) {
                Ok(_) => return Ok(declaration),
                Err(SkillError::Clone { source, url, .. }) => {
                    return Err(format!("it cannot be cloned from {url}: {source}"));
                }
                Err(error) => {
                    let is_other_reference = matches!(
                        &error,
                        SkillError::Source(csk_core::SourceError::UnknownReference { .. })
                    );
                    // What is wrong with the skill itself says more than a name that is not there.
                    if !is_other_reference || first.is_none() {
                        let hint = error.hint().map(|hint| format!(" ({hint})"));
                        first = Some(format!("{error}{}", hint.unwrap_or_default()));
                    }
                    if !is_other_reference {
                        break;
                    }
                }
            }
            if !is_there && origin.reference.is_none() && place.as_path().exists() {
                let own = default_branch(&place).map(&made);
                if let Some(own) = own.filter(|own| self.inspect(own).is_ok()) {
                    return Ok(own);
                }
            }
        }
        Err(first.unwrap_or_else(|| "its repository has no branch".to_owned()))
    }

    /// Returns what the repository is called here: no two have one name.
    fn source(&mut self, wanted: &ForeignOrigin) -> Result<Identifier, String> {
        let long = long_source_name(&wanted.git);
        for source in [Some(wanted.source.clone()), long].into_iter().flatten() {
            let place = self.config.skills_root.join(source.as_str());
            let is_it = match self.taken.get(&source) {
                Some(url) => is_same_place(url, &wanted.git),
                // One that somebody made here is not the one that is wanted.
                None if place.as_path().exists() => origin(&place)
                    .map_err(|error| error.to_string())?
                    .is_some_and(|url| is_same_place(&url, &wanted.git)),
                None => true,
            };
            if is_it {
                self.taken.insert(source.clone(), wanted.git.clone());
                return Ok(source);
            }
        }
        Err(format!(
            "another repository is at {}",
            self.config.skills_root.join(wanted.source.as_str())
        ))
    }

    fn of_folder(&mut self, name: Identifier, folder: &AbsPath) -> Result<Declaration, String> {
        check_skill(folder.as_path())?;
        let reference = Reference { kind: RefKind::Branch, name: "main".to_owned() };
        let declaration =
            Declaration { source: name.clone(), name, git: None, path: None, reference };
        if self.args.dry_run {
            let place = self.config.skills_root.join(declaration.source.as_str());
            if place.as_path().symlink_metadata().is_ok() {
                return Err(format!(
                    "{place} is there already; whether it holds the same is seen when it is imported"
                ));
            }
            return Ok(declaration);
        }
        let inspected = adopt(&self.environment, &declaration, folder)?;
        if !inspected.left_out.is_empty() {
            let mut shown: Vec<&str> =
                inspected.left_out.iter().take(NAMED).map(String::as_str).collect();
            if inspected.left_out.len() > NAMED {
                shown.push("...");
            }
            self.notes.push(format!(
                "{}: these files are in its repository and are not installed: {}",
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

fn guessed(name: Option<&str>, kind: Option<RefKind>) -> Reference {
    let kind = kind.unwrap_or(match name {
        Some(name) if is_commit_id(name) => RefKind::Revision,
        _ => RefKind::Branch,
    });
    Reference { kind, name: name.unwrap_or("main").to_owned() }
}

/// Returns what a name may mean, or what a repository follows where there is none.
fn references(place: &AbsPath, named: Option<(&str, Option<RefKind>)>) -> Vec<Reference> {
    let of = |kind: RefKind, name: &str| Reference { kind, name: name.to_owned() };
    match named {
        Some((name, Some(kind))) => vec![of(kind, name)],
        Some((name, None)) if is_commit_id(name) => vec![of(RefKind::Revision, name)],
        Some((name, None)) => vec![of(RefKind::Tag, name), of(RefKind::Branch, name)],
        None => {
            let usual = ["main", "master"].map(|name| of(RefKind::Branch, name));
            default_branch(place).into_iter().chain(usual).collect()
        }
    }
}

fn default_branch(place: &AbsPath) -> Option<Reference> {
    let name = Repository::open(place).ok()?.default_branch()?;
    Some(Reference { kind: RefKind::Branch, name })
}
