//! Why an archive is not taken.

use skill_fs::FsError;

use crate::tree::MAX_RATIO;

/// Why an archive is not taken, or not made. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// It is no archive that is known.
    #[error("it is neither a ZIP file nor a tarball compressed with gzip")]
    NotAnArchive,
    /// It is not put together as it should be.
    #[error("the archive is damaged or made to deceive: {0}")]
    Malformed(String),
    /// It uses something that no skill needs.
    #[error("the archive uses {0}, which no skill needs")]
    Unsupported(&'static str),
    /// An entry has a name that leads elsewhere, or that no skill may use.
    #[error("`{name}`: {why}")]
    Name {
        /// The name as it stands there.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// An entry is no file and no folder.
    #[error("`{name}` is {kind}; only files and folders are taken")]
    Kind {
        /// Its name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// It has more, or larger ones, than are taken.
    #[error("{what}: {found}, and at most {limit} are taken")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        found: u64,
        /// How much is taken.
        limit: u64,
    },
    /// It grows more than anything that is packed for good.
    #[error(
        "`{name}` grows from {packed} to {size} bytes when it is unpacked, more than {MAX_RATIO} times"
    )]
    Bomb {
        /// The entry.
        name: String,
        /// Its size in the archive.
        packed: u64,
        /// Its size as far as it was read.
        size: u64,
    },
    /// It would be refused by whoever installs it.
    #[error("`openskills install` would refuse the archive: {0}")]
    NotInstallable(Box<PackError>),
    /// There is not one folder at its root.
    #[error("{0}")]
    Root(String),
    /// There is no SKILL.md in it.
    #[error("there is no SKILL.md in `{0}`")]
    NoSkillFile(String),
    /// Its signature does not hold.
    #[error("the signature does not hold: {0}")]
    Signature(String),
    /// It cannot be signed.
    #[error("it cannot be signed: {0}")]
    NotSigned(String),
    /// The program that signs and verifies cannot be used.
    #[error("`ssh-keygen` cannot be used: {0}")]
    NoSigner(String),
    /// A file or folder cannot be used.
    #[error(transparent)]
    Files(#[from] FsError),
}

impl PackError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Root(_) => Some(
                "an archive holds one folder, called as the skill; `openskills pack DIR` makes one",
            ),
            Self::NotAnArchive => Some(
                "name a folder with a SKILL.md, or an archive; `openskills pack DIR` makes one",
            ),
            Self::Malformed(_) => Some("get it again from where it is from, or ask who made it"),
            Self::Bomb { .. } => Some(
                "archives that fill a disk do that: get it again from where it is from, or ask who made it",
            ),
            Self::NotInstallable(error) => match **error {
                Self::Bomb { .. } => Some(
                    "leave files of mostly repeated bytes out, or have a script of the skill make them",
                ),
                ref error => error.hint(),
            },
            Self::Unsupported(_) => Some("pack it again by `openskills pack DIR`"),
            Self::Name { .. } => Some("give it another name, or leave it out of the skill"),
            Self::Kind { .. } => Some("copy what a link leads to into the skill"),
            Self::Limit { .. } => Some("leave out what the skill does not need"),
            Self::NoSkillFile(_) => Some("name the folder of a skill: it holds a SKILL.md"),
            Self::Signature(_) => Some("get it again, or ask who signed it"),
            Self::NotSigned(_) => {
                Some("name a key of SSH that may be read: --sign ~/.ssh/id_ed25519")
            }
            Self::NoSigner(_) => Some("install OpenSSH 8.2 or later"),
            Self::Files(_) => None,
        }
    }
}
