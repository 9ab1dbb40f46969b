//! How one line holds the next: by a plain digest, or by one that needs a key.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fmt;
use std::fs;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};
use skill_fs::AbsPath;

use super::LogError;
use super::head::Head;

/// The fewest bytes that make a key.
const MIN_KEY: usize = 32;
/// The most that are read of one.
const MAX_KEY: u64 = 4096;

/// A secret that the chain is made with.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Reads a key: all bytes of a file but a line break at its end. Nobody but the user may read it.
    pub fn load(path: &AbsPath) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let wrong = |what: String| LogError::Key { path: path.to_string(), what };
        let metadata = fs::metadata(path.as_path()).map_err(failed)?;
        if metadata.len() > MAX_KEY {
            return Err(wrong(format!("it has more than {MAX_KEY} bytes")));
        }
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::mode(&metadata) & 0o077 != 0 {
            return Err(wrong("others may read or write it; `chmod 600` it".to_owned()));
        }
        let mut bytes = fs::read(path.as_path()).map_err(failed)?;
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        if bytes.len() < MIN_KEY {
            return Err(wrong(format!(
                "it has {} bytes; at least {MIN_KEY} are needed",
                bytes.len()
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

    /// Returns the word that stands before every digest.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Plain => "sha256",
            Self::Keyed(_) => "hmac-sha256",
        }
    }

    /// Returns what the line after `line` holds of it.
    pub(super) fn link(&self, line: &[u8]) -> Hex {
        self.digest(&[line])
    }

    /// Returns what a line holds of itself where there is a key: the last one has no next to hold it.
    pub(super) fn mac(&self, line: &[u8]) -> Option<Hex> {
        match self {
            Self::Plain => None,
            Self::Keyed(_) => Some(self.digest(&[b"openskills log line\n", line])),
        }
    }

    /// Returns what the head holds of everything else that it says, and of the last line. It is no link: those can be read
    /// in the log, and would seal a shorter one.
    pub(super) fn seal(&self, head: &Head, last: &[u8]) -> Hex {
        let Head { schema_version, chain, id, previous, events, first, size, last: length, .. } =
            head;
        let said = match schema_version {
            // Of a log of the first format `first` and `last` are outside; they are compared with its files.
            1 => format!("openskills log head\n{events}\n{size}\n"),
            _ => format!(
                "openskills log head {schema_version}\n{chain}\n{id}\n{previous}\n{events}\n{first}\n{size}\n{length}\n"
            ),
        };
        self.digest(&[said.as_bytes(), last])
    }

    /// Returns what a checkpoint is signed with; nothing without a key.
    pub(super) fn sign(&self, said: &str) -> Option<Hex> {
        match self {
            Self::Plain => None,
            Self::Keyed(_) => Some(self.digest(&[b"openskills log checkpoint\n", said.as_bytes()])),
        }
    }

    /// Returns a name of the key that tells nothing of it.
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
                    Hmac::new_from_slice(key).expect("a key of any length will do");
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
    std::str::from_utf8(hex).expect("hexadecimal digits are text")
}
