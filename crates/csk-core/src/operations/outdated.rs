//! Finds newer versions of installed skills, locally and at the repositories' origins. Nothing is fetched or written.

use std::collections::BTreeMap;

use rayon::prelude::*;
use skill::{Identifier, RefKind};

use crate::install::sources::in_parallel;
use crate::install::{Environment, Network, ProjectError, Target, status};
use crate::source::VersionTag;
use crate::{
    Commit, Declaration, GitError, Progress, Reference, Repository, Work, origin, remote_refs,
};

/// The versions of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillVersions {
    /// The skill.
    pub name: Identifier,
    /// The declared reference.
    pub reference: Reference,
    /// The installed commit.
    pub installed: Option<String>,
    /// The commit that an install would use, from local data.
    pub local: Option<Commit>,
    /// The commit that the reference points to at the origin.
    pub remote: Option<String>,
    /// The newest tag of the same form, if it is newer than the declared one.
    pub newest: Option<String>,
    /// Why some of this is unknown.
    pub error: Option<String>,
}

impl SkillVersions {
    /// Returns the commit that `csk upgrade` would install.
    pub fn wanted(&self) -> Option<&str> {
        self.remote.as_deref().or(self.local.as_ref().map(Commit::as_str))
    }

    /// Returns true if a newer version is known.
    pub fn is_outdated(&self) -> bool {
        let is_other = match (&self.installed, self.wanted()) {
            (Some(installed), Some(wanted)) => installed != wanted,
            (None, wanted) => wanted.is_some(),
            (Some(_), None) => false,
        };
        is_other || self.newest.is_some()
    }
}

/// The references of a repository, and why some of them are unknown.
#[derive(Default)]
struct SourceRefs {
    refs: BTreeMap<String, String>,
    is_remote: bool,
    error: Option<String>,
}

/// Checks every skill of every target.
pub fn outdated(
    environment: &Environment,
    targets: &[Target],
    network: Network,
    progress: &dyn Progress,
) -> Vec<Result<Vec<SkillVersions>, ProjectError>> {
    let mut sources: Vec<Identifier> = targets
        .iter()
        .flat_map(|target| &target.skills)
        .map(|skill| skill.source.clone())
        .collect();
    sources.sort();
    sources.dedup();
    // Each origin is queried once, however many skills come from it.
    let known: BTreeMap<Identifier, SourceRefs> = in_parallel(|| {
        sources
            .into_par_iter()
            .map(|source| {
                let known = list_refs(environment, &source, network, progress);
                (source, known)
            })
            .collect()
    });
    let plans = status(environment, targets);
    targets
        .iter()
        .zip(plans)
        .map(|(target, plan)| {
            let plan = plan?;
            let skills = target.skills.iter().zip(&plan.skills).filter_map(|(skill, plan)| {
                let failed = plan.error().map(ToString::to_string);
                let known = known.get(&skill.source)?;
                let remote =
                    known.is_remote.then(|| commit_of(&known.refs, &skill.reference)).flatten();
                let (kind, name) = (skill.reference.kind, &skill.reference.name);
                let is_gone = known.is_remote && kind != RefKind::Revision && remote.is_none();
                let gone = is_gone.then(|| format!("the remote has no {} `{name}`", kind.as_str()));
                Some(SkillVersions {
                    name: skill.name.clone(),
                    reference: skill.reference.clone(),
                    installed: plan.installed.as_ref().map(|installed| installed.commit.clone()),
                    local: plan.commit.clone(),
                    remote,
                    newest: newest(&known.refs, skill),
                    error: failed.or_else(|| known.error.clone()).or(gone),
                })
            });
            Ok(skills.collect())
        })
        .collect()
}

fn list_refs(
    environment: &Environment,
    source: &Identifier,
    network: Network,
    progress: &dyn Progress,
) -> SourceRefs {
    let path = environment.skills_root.join(source.as_str());
    let tags = || Repository::open(&path).and_then(|repository| repository.tags());
    let local = |error: Option<String>| match tags() {
        Ok(tags) => {
            let refs = tags.into_iter().map(|tag| (format!("refs/tags/{tag}"), String::new()));
            SourceRefs { refs: refs.collect(), is_remote: false, error }
        }
        Err(error) => SourceRefs { error: Some(error.to_string()), ..SourceRefs::default() },
    };
    if network == Network::Refused {
        return local(None);
    }
    let listed = origin(&path).and_then(|url| {
        let Some(url) = url else { return Ok(None) };
        let running = progress.begin(Work::ListRefs { source: source.as_str() });
        remote_refs(&path, &url, environment.local.of_clone(), running.as_ref()).map(Some)
    });
    match listed {
        Ok(Some(refs)) => SourceRefs { refs, is_remote: true, error: None },
        Ok(None) => local(None),
        Err(error @ GitError::NotRun(_)) => local(Some(error.to_string())),
        Err(error) => local(Some(format!("cannot query the remote of `{source}`: {error}"))),
    }
}

/// Returns the commit that a reference points to in an origin's list.
fn commit_of(refs: &BTreeMap<String, String>, reference: &Reference) -> Option<String> {
    let name = match reference.kind {
        RefKind::Tag => format!("refs/tags/{}", reference.name),
        RefKind::Branch => format!("refs/heads/{}", reference.name),
        // A commit never changes.
        RefKind::Revision => return None,
    };
    refs.get(&name).cloned()
}

/// Returns the newest tag of the same form that is newer than the declared one.
fn newest(refs: &BTreeMap<String, String>, skill: &Declaration) -> Option<String> {
    if skill.reference.kind != RefKind::Tag {
        return None;
    }
    let declared = VersionTag::of(&skill.reference.name)?;
    let tags = refs.keys().filter_map(|name| name.strip_prefix("refs/tags/"));
    let versions = tags.filter_map(VersionTag::of);
    let newer = versions.filter(|version| version.is_newer_than(&declared));
    let newer = newer.filter(|version| !version.is_prerelease);
    let newest = newer.reduce(|best, one| if one.is_newer_than(&best) { one } else { best });
    newest.map(|version| version.tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_tag_of_the_same_form_is_found() {
        for (declared, tags, expected) in [
            ("v1", &["v1", "v2", "v10", "v9"][..], Some("v10")),
            ("v1.2.0", &["v1.2", "v1.10.0-rc1", "v1.3.0"], Some("v1.3.0")),
            ("v2.0.0-rc1", &["v2.0.0-rc1", "v2.0.0"], Some("v2.0.0")),
            ("pdf-v1", &["v9", "pdf-v1", "pdf-v2", "notes-v3"], Some("pdf-v2")),
            ("v3", &["v1", "v2", "v3"], None),
            ("stable", &["stable", "v1"], None),
            ("v1", &["v1", "v1.0.0"], None),
        ] {
            let refs = tags.iter().map(|tag| (format!("refs/tags/{tag}"), String::new())).collect();
            let name = Identifier::new("a").unwrap();
            let reference = Reference { kind: RefKind::Tag, name: declared.to_owned() };
            let skill =
                Declaration { source: name.clone(), name, git: None, path: None, reference };
            assert_eq!(newest(&refs, &skill).as_deref(), expected, "{declared}");
        }
    }
}
