//! Finds the skills of a source: opens its repository, chooses a version and lists the skills in it.

#![expect(clippy::disallowed_methods, reason = "looks for a folder that may be meant")]

use std::fs;

use csk_core::install::{Environment, Network};
use csk_core::source::{
    ChosenVersion, Offer, OfferedSkill, OpenedSource, SourceLocation, SourceSpec, UnusableFolder,
    VersionAndFolder, WantedVersion, choose_version, is_cloned, offered, open, open_in_place,
};
use csk_core::{Config, Declaration, Reference, SourceError, redacted};
use skill::{Identifier, RelPath};
use skill_fs::AbsPath;
use term::{Failure, safe_line};

use super::select::{by_name, no_skills};
use crate::context::Context;

/// The skills of a source.
pub(crate) struct FoundSkills {
    /// What the user typed.
    pub(crate) text: String,
    pub(crate) source: OpenedSource,
    pub(crate) version: ChosenVersion,
    pub(crate) offer: Offer,
    /// The environment that the repository belongs to.
    pub(crate) environment: Environment,
}

/// What to find, and how.
#[derive(Debug, Clone)]
pub(crate) struct Fetching {
    /// The tag, branch or commit that a flag asks for.
    pub(crate) reference: Option<Reference>,
    /// The folder that a flag asks for.
    pub(crate) folder: Option<RelPath>,
    pub(crate) network: Network,
    /// Whether the skills are only looked at. Then csk clones nothing into the user's own `skills_root`.
    pub(crate) is_only_read: bool,
}

impl FoundSkills {
    /// Returns the declaration of one of the skills.
    pub(crate) fn declaration(&self, name: &Identifier, path: Option<&RelPath>) -> Declaration {
        Declaration {
            name: name.clone(),
            source: self.source.name.clone(),
            git: self.source.url.clone(),
            path: path.cloned(),
            reference: self.version.reference.clone(),
        }
    }

    /// Returns the skill with this name or folder.
    pub(crate) fn skill(&self, wanted: &str) -> Result<&OfferedSkill, Failure> {
        by_name(self, wanted)
    }

    /// Returns where a skill is, for messages: the URL of its repository, or its path, and its folder.
    pub(crate) fn place_text(&self, skill: &OfferedSkill) -> String {
        let repository = match &self.source.url {
            Some(url) => redacted(url),
            None => self.source.repository.path().to_string(),
        };
        match &skill.path {
            Some(path) => format!("{repository}, folder {path}"),
            None => repository,
        }
    }

    /// Returns the version for messages: `tag v1.2 (2ef373e)`.
    pub(crate) fn version_text(&self) -> String {
        let Reference { kind, name } = &self.version.reference;
        let commit = self.version.commit.short();
        if self.version.commit.as_str() == name {
            return format!("commit {commit}");
        }
        format!("{} {} ({commit})", kind.as_str(), safe_line(name))
    }
}

/// Finds the skills of a source.
pub(crate) fn skills_of(
    context: &mut Context,
    config: &Config,
    text: &str,
    wanted: &Fetching,
) -> anyhow::Result<FoundSkills> {
    let spec = SourceSpec::parse(text, &context.cwd, context.user_home.as_ref())?;
    check_unambiguous(context, text, &spec)?;
    let mut environment = context.environment(config);
    let mut source = None;
    if wanted.is_only_read && !is_cloned(&environment, &spec.location) {
        environment.skills_root = context.own_repositories();
        if let SourceLocation::Folder(folder) = &spec.location
            && let Some((root, found)) = open_in_place(folder)?
        {
            environment.skills_root = root;
            source = Some(found);
        }
    }
    let source = match source {
        Some(source) => source,
        None => open(&environment, &spec.location, wanted.network, &context.progress())?,
    };
    let version = version(&source, &spec.within, wanted);
    let version = version.map_err(|error| with_short_name(&source, error))?;
    let path = wanted.folder.clone().or_else(|| version.path.clone()).or(source.below.clone());
    let offer = offered(&source.repository, &version.commit, path.as_ref(), &source.name)
        .map_err(|error| without_folder(&spec, text, &source, &version, error))?;
    if let Some(note) = &version.note {
        let name = &version.reference.name;
        context.ui.note(&format!("note: using branch {}: {note}\n", safe_line(name)))?;
    }
    for UnusableFolder { path, reason } in &offer.unusable {
        let folder = path.as_ref().map_or(".", RelPath::as_str);
        context.ui.error(&format!("warning: {}: {}\n", safe_line(folder), safe_line(reason)))?;
    }
    let version = ChosenVersion { path, ..version };
    let found = FoundSkills { text: text.to_owned(), source, version, offer, environment };
    if found.offer.skills.is_empty() { Err(no_skills(&found)) } else { Ok(found) }
}

/// Chooses the version of a source.
fn version(
    source: &OpenedSource,
    within: &VersionAndFolder,
    wanted: &Fetching,
) -> Result<ChosenVersion, SourceError> {
    let within = match (&wanted.reference, within) {
        (Some(reference), VersionAndFolder::Known { path, .. }) => {
            let exactly = WantedVersion::Exactly(reference.clone());
            let chosen = choose_version(&source.repository, &exactly, |_, _| true)?;
            return Ok(ChosenVersion { path: path.clone(), ..chosen });
        }
        (Some(reference), VersionAndFolder::Page(_)) => {
            // The page's own reference only separates its path.
            let page = WantedVersion::AsInSource(within.clone());
            let page = choose_version(&source.repository, &page, |_, _| true)?;
            let exactly = WantedVersion::Exactly(reference.clone());
            let chosen = choose_version(&source.repository, &exactly, |_, _| true)?;
            return Ok(ChosenVersion { path: page.path, ..chosen });
        }
        (None, within) => WantedVersion::AsInSource(within.clone()),
    };
    choose_version(&source.repository, &within, |commit, path| {
        let at = wanted.folder.as_ref().or(path).or(source.below.as_ref());
        offered(&source.repository, commit, at, &source.name)
            .is_ok_and(|offer| !offer.skills.is_empty())
    })
}

/// Returns the error for a folder that does not exist: it may not be committed yet, or the name of a skill was meant.
fn without_folder(
    spec: &SourceSpec,
    text: &str,
    source: &OpenedSource,
    version: &ChosenVersion,
    error: SourceError,
) -> anyhow::Error {
    let SourceError::NoFolder { folder, commit, nearest, .. } = error else { return error.into() };
    if let (SourceLocation::Folder(path), None) = (&spec.location, &nearest) {
        return Failure::usage(format!("`{path}` is not part of commit {commit}"))
            .with_hint("csk installs commits; run `git add` and `git commit` there first")
            .into();
    }
    let failure = Failure::usage(format!("no folder `{folder}` in {text} at {commit}"));
    let last = folder.rsplit('/').next().unwrap_or(&folder);
    let all = offered(&source.repository, &version.commit, None, &source.name);
    let all = all.map(|offer| offer.skills).unwrap_or_default();
    let found = all.iter().find(|skill| {
        skill.name.as_str() == last || skill.folder().rsplit('/').next() == Some(last)
    });
    match (found, nearest) {
        (Some(skill), _) => failure.with_hint(format!("did you mean `{}`?", skill.folder())).into(),
        (None, Some(near)) => failure.with_hint(format!("did you mean `{near}`?")).into(),
        (None, None) => failure.with_hint("`csk show` lists the skills of a repository").into(),
    }
}

/// Returns the error for a version that does not exist. The repository was just fetched, so fetching it does not help.
fn with_short_name(source: &OpenedSource, error: SourceError) -> anyhow::Error {
    let SourceError::UnknownReference { kind, name, nearest, available, .. } = error else {
        return error.into();
    };
    let place = source.url.as_deref().map_or_else(|| source.name.to_string(), redacted);
    let failure = Failure::usage(format!("no {kind} `{name}` in `{place}`"));
    match (nearest, available.as_slice()) {
        (Some(near), _) => failure.with_hint(format!("did you mean `{near}`?")).into(),
        (None, []) => failure.into(),
        (None, available) => {
            failure.with_hint(format!("available: {}", available.join(", "))).into()
        }
    }
}

/// Returns true if a folder contains one with this name, in upper or lower case.
fn has_folder(folder: &AbsPath, name: &str) -> bool {
    let entries = fs::read_dir(folder.as_path()).into_iter().flatten().flatten();
    let mut named = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(|other| other.eq_ignore_ascii_case(name))
    });
    named.any(|entry| entry.path().is_dir())
}

/// Refuses `owner/repo` if there is a folder `owner` here: a mistyped path must not be sent to a server.
fn check_unambiguous(context: &Context, text: &str, spec: &SourceSpec) -> Result<(), Failure> {
    let is_url = matches!(spec.location, SourceLocation::Url(_));
    let owner = text.split('/').next().unwrap_or(text);
    let is_folder = |name: &str| !name.is_empty() && context.cwd.join(name).as_path().is_dir();
    let is_shorthand = is_url && !owner.contains([':', '.']);
    if !is_shorthand || !has_folder(&context.cwd, owner) {
        return Ok(());
    }
    let repository = format!("for the repository on GitHub, write `github:{text}`");
    let path = text.split(['@', '#']).next().unwrap_or(text);
    Err(if is_folder(path) {
        Failure::usage(format!("`{text}` may be a folder here or a repository on GitHub"))
            .with_hint(format!("for the folder, write `./{text}`; {repository}"))
    } else {
        Failure::usage(format!("no folder named `{text}`")).with_hint(repository)
    })
}
