//! Digests of skills, computed on demand and cached until the folder changes.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use skill::Digest;
use skill_fs::{Digests, FsError, Root, WalkLimits, fingerprint, version_digests, walk};

/// The cached digests of one folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HashRecord {
    fingerprint: [u8; 32],
    content: [u8; 32],
    bundle: [u8; 32],
}

/// The cached digests of a root's folders, by real path.
pub(crate) type Hashes = BTreeMap<String, HashRecord>;

/// The digests of a folder, and the record to cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashed {
    pub(crate) digests: Digests,
    /// Absent if a later write might go undetected.
    pub(crate) record: Option<HashRecord>,
}

/// Returns the digests of a folder. It is read only if it changed since `known`.
pub(crate) fn hash(
    root: &Root,
    known: Option<&HashRecord>,
    now: SystemTime,
) -> Result<Hashed, FsError> {
    let before = fingerprint(root)?;
    let same = known
        .filter(|known| before.is_some_and(|print| *print.digest.as_bytes() == known.fingerprint));
    if let Some(known) = same {
        let digests = Digests {
            content: Digest::from_bytes(known.content),
            bundle: Digest::from_bytes(known.bundle),
        };
        return Ok(Hashed { digests, record: Some(*known) });
    }
    let digests = version_digests(root, &walk(root, &WalkLimits::SKILL)?)?;
    if fingerprint(root)?.map(|print| print.digest) != before.map(|print| print.digest) {
        return Err(FsError::Changed { path: root.path().to_string() });
    }
    let record = before.filter(|print| print.is_settled(now)).map(|print| HashRecord {
        fingerprint: *print.digest.as_bytes(),
        content: *digests.content.as_bytes(),
        bundle: *digests.bundle.as_bytes(),
    });
    Ok(Hashed { digests, record })
}
