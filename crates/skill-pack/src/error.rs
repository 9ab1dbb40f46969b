//! Errors of reading, creating, signing and verifying archives.

use skill::ByteSize;
use skill_fs::FsError;

use crate::tree::MAX_RATIO;

/// The reason why an archive is refused or cannot be created. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The file is not an archive of a supported format.
    #[error("neither a ZIP file nor a gzip-compressed tarball")]
    NotAnArchive,
    /// The structure of the archive is invalid.
    #[error("the archive is damaged or malicious: {0}")]
    Malformed(String),
    /// The archive uses a feature of its format that no skill needs.
    #[error("the archive uses {0}, which is not allowed for skills")]
    Unsupported(&'static str),
    /// The name of an entry leads out of the folder or is not allowed in a skill.
    #[error("`{name}` is not allowed in a skill: {why}")]
    Name {
        /// The name, as written in the archive.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// An entry is neither a file nor a folder.
    #[error("`{name}` is {kind}; only files and folders are allowed")]
    Kind {
        /// The name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// A number exceeds a limit.
    #[error("too many {what}: {found} (limit: {limit})")]
    Limit {
        /// What exceeds the limit.
        what: &'static str,
        /// The actual number.
        found: u64,
        /// The maximum number.
        limit: u64,
    },
    /// A size exceeds a limit.
    #[error("{what} is too large: {} (limit: {})", ByteSize(*size), ByteSize(*limit))]
    Size {
        /// What exceeds the limit.
        what: String,
        /// The actual size in bytes.
        size: u64,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The compression ratio is higher than that of any ordinary file.
    #[error(
        "{what} expands from {} to {} when unpacked, more than {} times its compressed size",
        ByteSize(*packed),
        ByteSize(*size),
        MAX_RATIO
    )]
    Bomb {
        /// What expands: an entry, or the whole archive.
        what: String,
        /// The compressed size.
        packed: u64,
        /// The uncompressed size, as far as it was read.
        size: u64,
    },
    /// The archive could not be installed.
    #[error("`openskills install` would reject the archive: {0}")]
    NotInstallable(Box<PackError>),
    /// The root of the archive does not contain exactly one folder.
    #[error("{0}")]
    Root(String),
    /// There is no SKILL.md.
    #[error("no SKILL.md in `{0}`")]
    NoSkillFile(String),
    /// The signature cannot be verified.
    #[error("invalid signature: {0}")]
    Signature(String),
    /// Signing failed.
    #[error("cannot sign the archive: {0}")]
    NotSigned(String),
    /// The program that signs and verifies cannot be run.
    #[error("cannot run `ssh-keygen`: {0}")]
    NoSigner(String),
    /// A file or folder cannot be used.
    #[error(transparent)]
    Files(#[from] FsError),
}

impl PackError {
    /// Returns how to fix the problem.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Root(_) => {
                Some("pack one folder named after the skill; `openskills pack DIR` does that")
            }
            Self::NotAnArchive => Some(
                "pass a folder with a SKILL.md, or an archive; `openskills pack DIR` creates one",
            ),
            Self::Malformed(_) => Some("download it again from its source, or contact its author"),
            Self::Bomb { .. } => Some(
                "it may be an archive bomb: download it again from its source, or contact its author",
            ),
            Self::NotInstallable(error) => match **error {
                Self::Bomb { .. } => Some(
                    "leave out highly repetitive files, or generate them in one of the skill's scripts",
                ),
                ref error => error.hint(),
            },
            Self::Unsupported(_) => Some("repack it with `openskills pack DIR`"),
            Self::Name { .. } => Some("rename it, or leave it out of the skill"),
            Self::Kind { .. } => Some("replace a symlink with a copy of its target"),
            Self::Limit { .. } | Self::Size { .. } => {
                Some("remove files that the skill does not need")
            }
            Self::NoSkillFile(_) => Some("pass a skill folder, which contains a SKILL.md"),
            Self::Signature(_) => Some("download it again, or contact whoever signed it"),
            Self::NotSigned(_) => Some("pass a readable SSH key: --sign ~/.ssh/id_ed25519"),
            Self::NoSigner(_) => Some("install OpenSSH 8.2 or later"),
            Self::Files(_) => None,
        }
    }
}
