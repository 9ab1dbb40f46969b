//! Removes servers or some of their skills: the stored list and the cached files.

#![expect(clippy::disallowed_methods, reason = "the edge: files of the cache are removed")]

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use skill_fs::FsError;

use super::{ServedSkill, SyncedSkills};
use crate::state::caches::{Cache, CacheKind, SERVED_SUFFIX, caches};
use crate::{Places, RuntimeError};

/// What was removed with a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DropSummary {
    /// Number of removed skills.
    pub skills: usize,
    /// Number of files removed from the cache.
    pub files: usize,
    /// Total size of these files.
    pub bytes: u64,
}

impl DropSummary {
    /// Removes everything stored for a server: its list and all cached files, including those of earlier versions. The
    /// name of a cached file contains the server's label, so files of other servers are not affected.
    pub fn server(places: &Places, label: &str) -> Result<Self, RuntimeError> {
        // An unreadable list is removed too.
        let kept = SyncedSkills::load(places.state.as_ref(), label).ok().flatten();
        let dropped = cached(places, |name| label_of(name) == Some(label))?;
        SyncedSkills::forget(places.state.as_ref(), label)?;
        Ok(Self { skills: kept.map_or(0, |kept| kept.len()), ..dropped })
    }

    /// Removes the cached files of `gone` that no skill in `left` uses.
    pub(super) fn skills(
        places: &Places,
        gone: &[ServedSkill],
        left: &[ServedSkill],
    ) -> Result<Self, RuntimeError> {
        let blobs = |skills: &[ServedSkill]| -> BTreeSet<String> {
            let of = |skill: &ServedSkill| -> Vec<String> {
                skill.files.iter().map(|file| skill.blob(file)).collect()
            };
            skills.iter().flat_map(of).collect()
        };
        let (gone_blobs, left) = (blobs(gone), blobs(left));
        let is_gone = |name: &str| gone_blobs.contains(name) && !left.contains(name);
        Ok(Self { skills: gone.len(), ..cached(places, is_gone)? })
    }
}

/// Returns the label in the name of a cached file: `<label>-<16 hex digits of its URI's digest>-<its digest>`. Labels
/// may contain hyphens.
fn label_of(name: &str) -> Option<&str> {
    let mut parts = name.rsplitn(3, '-');
    let (digest, uri) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = digest.len() == 64 && uri.len() == 16 && is_hex(digest) && is_hex(uri);
    parts.next().filter(|_| is_ours)
}

/// Removes the cached files whose name without suffix matches.
fn cached(places: &Places, matches: impl Fn(&str) -> bool) -> Result<DropSummary, RuntimeError> {
    let mut dropped = DropSummary::default();
    let is_served = |cache: &Cache| cache.kind == CacheKind::Served;
    for Cache { folder, files, .. } in caches(places)?.into_iter().filter(is_served) {
        for (name, bytes) in files {
            if !name.strip_suffix(SERVED_SUFFIX).is_some_and(&matches) {
                continue;
            }
            let path = folder.join(&name);
            match fs::remove_file(path.as_path()) {
                Ok(()) => {
                    dropped.files += 1;
                    dropped.bytes += bytes;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(FsError::Io { path: path.to_string(), source }.into()),
            }
        }
    }
    Ok(dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_hyphens_are_parsed() {
        let (uri, digest) = ("0123456789abcdef", "0".repeat(64));
        for label in ["docs", "docs-2", "a-0123456789abcdef"] {
            assert_eq!(label_of(&format!("{label}-{uri}-{digest}")), Some(label));
        }
        for name in [
            format!("docs-{uri}"),
            format!("docs-{digest}"),
            format!("{uri}-{digest}"),
            "docs".to_owned(),
        ] {
            assert_eq!(label_of(&name), None, "{name}");
        }
    }
}
