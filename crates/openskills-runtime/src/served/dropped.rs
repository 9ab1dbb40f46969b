//! Forgets servers and single skills of theirs: what was listed, and the files in the cache.

#![expect(clippy::disallowed_methods, reason = "the edge: files of the cache are removed")]

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use skill_fs::FsError;

use super::{KeptSkills, ServedSkill};
use crate::state::caches::{Cache, CacheKind, SERVED_ENDING, caches};
use crate::{Places, RuntimeError};

/// What was dropped of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// How many skills are not listed any more.
    pub skills: usize,
    /// How many files were removed from the cache.
    pub files: usize,
    /// How many bytes they had.
    pub bytes: u64,
}

impl Dropped {
    /// Drops everything that is kept of a server: its list, and every cached file, also those of earlier versions. A file in the cache bears the label of
    /// its server, so no other server's skill names it.
    pub fn server(places: &Places, label: &str) -> Result<Self, RuntimeError> {
        // What cannot be read any more is dropped all the same.
        let kept = KeptSkills::load(places.state.as_ref(), label).ok().flatten();
        let dropped = cached(places, |name| label_of(name) == Some(label))?;
        KeptSkills::forget(places.state.as_ref(), label)?;
        Ok(Self { skills: kept.map_or(0, |kept| kept.len()), ..dropped })
    }

    /// Drops the cached files of skills that no skill in `left` names.
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

/// Returns the label in the name of a cached file: `<label>-<16 digits of its URI>-<its digest>`. A label may have hyphens, too.
fn label_of(name: &str) -> Option<&str> {
    let mut parts = name.rsplitn(3, '-');
    let (digest, uri) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = digest.len() == 64 && uri.len() == 16 && is_hex(digest) && is_hex(uri);
    parts.next().filter(|_| is_ours)
}

/// Removes the cached files whose name, without its ending, is meant.
fn cached(places: &Places, is_meant: impl Fn(&str) -> bool) -> Result<Dropped, RuntimeError> {
    let mut dropped = Dropped::default();
    let is_served = |cache: &Cache| cache.kind == CacheKind::Served;
    for Cache { folder, files, .. } in caches(places)?.into_iter().filter(is_served) {
        for (name, bytes) in files {
            if !name.strip_suffix(SERVED_ENDING).is_some_and(&is_meant) {
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
    fn a_label_is_read_from_the_right() {
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
