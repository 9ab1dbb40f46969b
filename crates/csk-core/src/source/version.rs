//! Chooses the version of a repository: the one that was asked for, else the newest version tag, else the default
//! branch.

use skill::{RefKind, RelPath, is_commit_id};

use super::VersionAndFolder;
use crate::{Commit, Reference, Repository, SourceError, is_ref_name};

/// The version that the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedVersion {
    /// A tag, branch or commit, given by a flag.
    Exactly(Reference),
    /// What the source says, if it says anything.
    AsInSource(VersionAndFolder),
}

/// The version to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenVersion {
    /// The tag, branch or commit to declare.
    pub reference: Reference,
    /// The commit that it points to.
    pub commit: Commit,
    /// The folder or file in the source, if it specifies one.
    pub path: Option<RelPath>,
    /// Why this version was chosen, if the user specified none.
    pub note: Option<String>,
}

/// Chooses a version. Without a wanted one, `has_skills` decides whether a version can be used: an old version tag may
/// be older than the skills.
pub fn choose_version(
    repository: &Repository,
    wanted: &WantedVersion,
    has_skills: impl Fn(&Commit, Option<&RelPath>) -> bool,
) -> Result<ChosenVersion, SourceError> {
    let chosen = |reference: Reference, path: Option<RelPath>| {
        let commit = repository.resolve(&reference)?;
        Ok(ChosenVersion { reference, commit, path, note: None })
    };
    let (path, name) = match wanted {
        WantedVersion::Exactly(reference) => return chosen(reference.clone(), None),
        WantedVersion::AsInSource(VersionAndFolder::Page(page)) => {
            let (reference, path) = split_page(repository, page)?;
            return chosen(reference, path);
        }
        WantedVersion::AsInSource(VersionAndFolder::Known { reference, path }) => {
            (path.clone(), reference.as_deref())
        }
    };
    if let Some(name) = name {
        return chosen(named(repository, name)?, path);
    }
    let tags = repository.tags()?;
    let newest = newest_version_tag(tags.iter().map(String::as_str)).map(str::to_owned);
    let branch = repository.default_branch();
    let mut note = None;
    if let Some(tag) = &newest {
        let found = chosen(tag_named(tag), path.clone())?;
        if branch.is_none() || has_skills(&found.commit, path.as_ref()) {
            return Ok(found);
        }
        note = Some(format!("the newest version tag, {tag}, does not contain the skill"));
    }
    let Some(branch) = branch else {
        let path = repository.path().to_string();
        let reason = "it has no default branch; specify a version".to_owned();
        return Err(SourceError::Broken { path, reason });
    };
    let reference = Reference { kind: RefKind::Branch, name: branch };
    if tags.is_empty()
        && repository.head_commit().is_none()
        && repository.resolve(&reference).is_err()
    {
        let path = repository.path().to_string();
        return Err(SourceError::Broken { path, reason: "it has no commits".to_owned() });
    }
    Ok(ChosenVersion { note, ..chosen(reference, path)? })
}

fn tag_named(name: &str) -> Reference {
    Reference { kind: RefKind::Tag, name: name.to_owned() }
}

/// Returns the tag, else the branch, else the commit of this name. Digits of a commit never mean a tag or a branch that
/// leads elsewhere, since anyone with write access to the repository can name those.
fn named(repository: &Repository, name: &str) -> Result<Reference, SourceError> {
    let of = |kind| Reference { kind, name: name.to_owned() };
    // `HEAD` is the default branch, whose name may change.
    if let Some(name) = repository.default_branch().filter(|_| name == "HEAD") {
        return Ok(Reference { kind: RefKind::Branch, name });
    }
    let (mut nearest, mut available) = (None, Vec::new());
    let mut found: Option<(Reference, Commit)> = None;
    let may_be_name = is_ref_name(name) && !is_commit_id(&name.to_ascii_lowercase());
    let kinds = [RefKind::Tag, RefKind::Branch, RefKind::Revision];
    for kind in kinds.into_iter().filter(|kind| *kind == RefKind::Revision || may_be_name) {
        match (repository.resolve(&of(kind)), &found) {
            // A lockfile needs the whole ID anyway.
            (Ok(commit), None) if kind == RefKind::Revision => {
                return Ok(Reference { kind, name: commit.as_str().to_owned() });
            }
            (Ok(commit), None) => found = Some((of(kind), commit)),
            (Ok(commit), Some((_, other))) if kind == RefKind::Revision && commit != *other => {
                let path = repository.path().to_string();
                return Err(SourceError::Ambiguous { name: name.to_owned(), path });
            }
            (Ok(_), Some(_)) => {}
            (Err(SourceError::UnknownReference { nearest: near, available: names, .. }), _) => {
                nearest = nearest.or(near);
                available.extend(names);
            }
            (Err(error), _) => return Err(error),
        }
    }
    if let Some((reference, _)) = found {
        return Ok(reference);
    }
    available.sort();
    available.dedup();
    let kind = if is_commit_id(name) { "commit" } else { "tag, branch or commit" };
    let (name, path) = (name.to_owned(), repository.path().to_string());
    Err(SourceError::UnknownReference { kind, name, path, nearest, available })
}

/// Splits the path of a web page into the reference and what follows it.
fn split_page(
    repository: &Repository,
    page: &str,
) -> Result<(Reference, Option<RelPath>), SourceError> {
    let page = page.trim_matches('/');
    let ends = page.match_indices('/').map(|(at, _)| at).chain([page.len()]);
    let mut first = None;
    for end in ends {
        match named(repository, &page[..end]) {
            Ok(reference) => {
                let rest = page[end..].trim_matches('/');
                let path = match rest {
                    "" => None,
                    rest => Some(RelPath::new(rest).map_err(|error| SourceError::BadName {
                        path: repository.path().to_string(),
                        reason: error.to_string(),
                    })?),
                };
                return Ok((reference, path));
            }
            Err(error @ SourceError::UnknownReference { .. }) => first = first.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    Err(first.unwrap_or_else(|| SourceError::Broken {
        path: repository.path().to_string(),
        reason: "the URL names no version".to_owned(),
    }))
}

/// Returns the newest tag that is a version, such as `v1.2.0` or `1.2`. A pre-release counts only if there is nothing
/// else.
pub(crate) fn newest_version_tag<'a>(tags: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let versions = tags.filter_map(VersionTag::of);
    let versions = versions.filter(|version| matches!(version.prefix, "" | "v" | "V"));
    versions.max_by(|one, other| one.order().cmp(&other.order())).map(|version| version.tag)
}

/// A tag that is a version: a prefix before the first digit, then numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VersionTag<'a> {
    pub(crate) tag: &'a str,
    pub(crate) prefix: &'a str,
    numbers: Vec<u64>,
    rest: &'a str,
    pub(crate) is_prerelease: bool,
}

impl<'a> VersionTag<'a> {
    /// Parses a tag; `None` if it is not a version.
    pub(crate) fn of(tag: &'a str) -> Option<Self> {
        let start = tag.find(|c: char| c.is_ascii_digit())?;
        let (prefix, version) = tag.split_at(start);
        let (numbers, rest) = version.split_once(['-', '+']).unwrap_or((version, ""));
        let numbers: Option<Vec<u64>> = numbers.split('.').map(|part| part.parse().ok()).collect();
        let mut numbers = numbers?;
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        Some(Self { tag, prefix, numbers, rest, is_prerelease: version.contains('-') })
    }

    /// Returns true if this is a newer version of the same form.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        let key = |version: &Self| {
            (version.numbers.clone(), !version.is_prerelease, version.rest.to_owned())
        };
        self.prefix == other.prefix && key(self) > key(other)
    }

    /// Orders all versions: every release is newer than every pre-release.
    fn order(&self) -> impl Ord + use<'a> {
        (!self.is_prerelease, self.numbers.clone(), self.rest, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_tag_is_a_release_if_there_is_one() {
        for (tags, expected) in [
            (&["v1", "v2", "v10"][..], Some("v10")),
            (&["v1.0.0", "v1.1.0-rc1"], Some("v1.0.0")),
            (&["v1.0.0-rc1", "v1.0.0-rc2"], Some("v1.0.0-rc2")),
            (&["pdf-v9", "1.2"], Some("1.2")),
            (&["stable", "release-2"], None),
            (&[], None),
        ] {
            assert_eq!(newest_version_tag(tags.iter().copied()), expected, "{tags:?}");
        }
    }
}
