//! Links each line to the previous one, with a plain digest or with one that needs a key.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fmt;
use std::fs;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};
use skill_fs::AbsPath;

use super::LogError;
use super::head::Head;
use skill::ByteSize;

/// Minimum size of a key in bytes.
const MIN_KEY: usize = 32;
/// Maximum size of a key file.
const MAX_KEY: u64 = 4096;

/// The secret that keys the chain.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Reads a key: the content of a file without a trailing line break. Only the user may have access to the file.
    pub fn load(path: &AbsPath) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let wrong = |what: String| LogError::Key { path: path.to_string(), what };
        let metadata = fs::metadata(path.as_path()).map_err(failed)?;
        if metadata.len() > MAX_KEY {
            return Err(wrong(format!("it is larger than {}", ByteSize(MAX_KEY))));
        }
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::mode(&metadata) & 0o077 != 0 {
            return Err(wrong(
                "other users can read or write it; run `chmod 600` on it".to_owned(),
            ));
        }
        let mut bytes = fs::read(path.as_path()).map_err(failed)?;
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        if bytes.len() < MIN_KEY {
            return Err(wrong(format!(
                "it has {}, but at least {MIN_KEY} bytes are required",
                ByteSize(bytes.len() as u64)
            )));
        }
        Ok(Self(bytes))
    }
}

/// How lines are linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chain {
    Plain,
    Keyed(Key),
}

/// 64 hexadecimal digits.
pub(super) type Hex = [u8; 64];

impl Chain {
    pub(super) fn new(key: Option<Key>) -> Self {
        key.map_or(Self::Plain, Self::Keyed)
    }

    /// Returns the algorithm name that precedes every digest.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Plain => "sha256",
            Self::Keyed(_) => "hmac-sha256",
        }
    }

    /// Returns the digest of `line` that the next line contains.
    pub(super) fn link(&self, line: &[u8]) -> Hex {
        self.digest(&[line])
    }

    /// Returns the MAC that a line contains of itself if there is a key: no later line protects the last one.
    pub(super) fn mac(&self, line: &[u8]) -> Option<Hex> {
        match self {
            Self::Plain => None,
            Self::Keyed(_) => Some(self.digest(&[b"openskills log line\n", line])),
        }
    }

    /// Returns the seal of the head, over its other fields and the last line. It differs from a link because links can
    /// be read in the log and could be used to seal a truncated one.
    pub(super) fn seal(&self, head: &Head, last: &[u8]) -> Hex {
        let Head { schema_version, chain, id, previous, events, first, size, last: length, .. } =
            head;
        let sealed = match schema_version {
            // In the first format, `first` and `last` are not sealed; they are compared with the files.
            1 => format!("openskills log head\n{events}\n{size}\n"),
            _ => format!(
                "openskills log head {schema_version}\n{chain}\n{id}\n{previous}\n{events}\n{first}\n{size}\n{length}\n"
            ),
        };
        self.digest(&[sealed.as_bytes(), last])
    }

    /// Returns the signature of a checkpoint, or `None` without a key.
    pub(super) fn sign(&self, text: &str) -> Option<Hex> {
        match self {
            Self::Plain => None,
            Self::Keyed(_) => Some(self.digest(&[b"openskills log checkpoint\n", text.as_bytes()])),
        }
    }

    /// Returns an identifier of the key that reveals nothing about it.
    pub(super) fn key_id(&self) -> Option<String> {
        match self {
            Self::Plain => None,
            Self::Keyed(_) => {
                let digest = self.digest(&[b"openskills log key id\n"]);
                Some(text(&digest)[..16].to_owned())
            }
        }
    }

    fn digest(&self, parts: &[&[u8]]) -> Hex {
        let digest: [u8; 32] = match self {
            Self::Plain => {
                let mut sha = Sha256::new();
                parts.iter().for_each(|part| sha.update(part));
                sha.finalize().into()
            }
            Self::Keyed(Key(key)) => {
                let mut mac: Hmac<Sha256> =
                    Hmac::new_from_slice(key).expect("HMAC accepts keys of any length");
                parts.iter().for_each(|part| mac.update(part));
                mac.finalize().into_bytes().into()
            }
        };
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(digest) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        hex
    }
}

pub(super) fn text(hex: &Hex) -> &str {
    std::str::from_utf8(hex).expect("hexadecimal digits are ASCII")
}
