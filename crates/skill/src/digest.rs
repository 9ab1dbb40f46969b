//! The two digests of a skill, computed incrementally, entry by entry.
//!
//! [`ContentHasher`] computes the hash of the installed files, which is stored in the install marker. It covers paths
//! and bytes. [`BundleHasher`] computes the digest that trust is bound to: it also covers modes and links, and every
//! part is length-prefixed, so that no two different trees produce the same input.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::RelPath;

/// The marker that an install writes into a skill's root. Neither digest covers it.
pub const MARKER_FILE: &str = ".csk-install.json";
/// The list of everything that csk created in a folder.
pub const LEDGER_FILE: &str = ".csk-managed.json";

/// A SHA-256 digest, written `sha256:<hex>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is not a [`Digest`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Not `sha256:` and 64 lower-case hexadecimal digits.
    #[error("`{0}` is not a digest; expected `sha256:` and 64 lower-case hexadecimal digits")]
    Malformed(String),
}

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the first 32 hexadecimal digits, for file names.
    pub fn short(&self) -> String {
        self.0[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let malformed = || DigestError::Malformed(text.to_owned());
        let hex =
            text.strip_prefix("sha256:").filter(|hex| hex.len() == 64).ok_or_else(malformed)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let digit = |c: u8| match c {
                b'0'..=b'9' => Some(c - b'0'),
                b'a'..=b'f' => Some(c - b'a' + 10),
                _ => None,
            };
            *byte = digit(pair[0])
                .zip(digit(pair[1]))
                .map(|(high, low)| high << 4 | low)
                .ok_or_else(malformed)?;
        }
        Ok(Self(bytes))
    }
}

/// Computes `content_sha256`: `path NUL bytes` for each entry, joined with a NUL.
///
/// Entries must be sorted by path; the caller leaves out [`MARKER_FILE`].
#[derive(Debug, Default)]
pub struct ContentHasher {
    sha: Sha256,
    started: bool,
}

impl ContentHasher {
    /// Starts the next file; its bytes follow through [`Self::bytes`].
    pub fn file(&mut self, path: &RelPath) {
        if self.started {
            self.sha.update([0]);
        }
        self.started = true;
        self.sha.update(path.as_str());
        self.sha.update([0]);
    }

    /// Adds bytes to the current file.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.sha.update(bytes);
    }

    /// Returns the digest.
    pub fn finish(self) -> Digest {
        Digest(self.sha.finalize().into())
    }
}

/// The type of a bundle entry. Modes follow git: only the executable bit counts, since other bits differ between
/// machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file that is not executable.
    File,
    /// A regular file that its owner can execute.
    Executable,
    /// A symbolic link and its target.
    Link(String),
}

/// Computes the bundle digest: length-prefixed path, mode, type, link target and bytes of each entry.
///
/// Entries must be sorted by path; the caller leaves out the root's [`MARKER_FILE`].
#[derive(Debug)]
pub struct BundleHasher(Sha256);

impl Default for BundleHasher {
    fn default() -> Self {
        let mut sha = Sha256::new();
        sha.update(b"skill-bundle-v1\0");
        Self(sha)
    }
}

impl BundleHasher {
    /// Starts the next entry, whose `length` bytes follow through [`Self::bytes`]; a link has none.
    pub fn entry(&mut self, path: &RelPath, kind: &EntryKind, length: u64) {
        let (mode, name, target) = match kind {
            EntryKind::File => ("100644", "file", ""),
            EntryKind::Executable => ("100755", "file", ""),
            EntryKind::Link(target) => ("120000", "link", target.as_str()),
        };
        for part in [path.as_str(), mode, name, target] {
            self.0.update((part.len() as u64).to_be_bytes());
            self.0.update(part);
        }
        self.0.update(length.to_be_bytes());
    }

    /// Adds bytes to the current entry.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    #[test]
    fn the_content_hash_is_the_hash_of_the_documented_payload() {
        let mut hasher = ContentHasher::default();
        hasher.file(&path("SKILL.md"));
        hasher.bytes(b"hel");
        hasher.bytes(b"lo");
        hasher.file(&path("references/a.md"));
        hasher.bytes(b"");
        assert_eq!(hasher.finish(), Digest::of(b"SKILL.md\0hello\0references/a.md\0"));
        assert_eq!(ContentHasher::default().finish(), Digest::of(b""));
    }

    #[test]
    fn a_digest_is_written_and_read_back() {
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.parse(), Ok(Digest::of(b"")));
        for bad in [
            "",
            "sha256:",
            &text[7..],
            &text.to_uppercase(),
            &format!("{text}0"),
            &text.replace('e', "g"),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }

    #[test]
    fn moving_bytes_between_parts_changes_the_bundle_digest() {
        let digest = |name: &str, kind: EntryKind, bytes: &[u8]| {
            let mut hasher = BundleHasher::default();
            hasher.entry(&path(name), &kind, bytes.len() as u64);
            hasher.bytes(bytes);
            hasher.finish()
        };
        let all = [
            digest("ab", EntryKind::File, b"c"),
            digest("a", EntryKind::File, b"bc"),
            digest("ab", EntryKind::Executable, b"c"),
            digest("ab", EntryKind::Link("c".into()), b""),
            digest("a", EntryKind::Link("bc".into()), b""),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one));
        }
    }
}
