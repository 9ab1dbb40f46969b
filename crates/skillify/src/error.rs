//! Why no bundle was derived.

use skill_fs::FsError;
use skill_pack::PackError;

/// Why no bundle was derived.
#[derive(Debug, thiserror::Error)]
pub enum SkillifyError {
    /// It is no package of a kind that is known.
    #[error(
        "it is no package of R (DESCRIPTION), Python (pyproject.toml, PKG-INFO or METADATA), Rust (Cargo.toml) or npm (package.json)"
    )]
    Unknown,
    /// A file of it cannot be understood.
    #[error("{file}: {why}")]
    File {
        /// Which.
        file: String,
        /// Why.
        why: String,
    },
    /// It exports nothing that is documented or named.
    #[error("`{0}` has no exports to document")]
    Nothing(String),
    /// It may export something, but in a form that is not read.
    #[error("cannot read the exports of `{name}`: {why}")]
    NotRead {
        /// The package.
        name: String,
        /// What was not read.
        why: String,
    },
    /// It has more, or larger files, than are read.
    #[error("the package has more than {0}")]
    Limit(&'static str),
    /// A file or folder cannot be used.
    #[error(transparent)]
    Files(#[from] FsError),
    /// A tarball cannot be read.
    #[error(transparent)]
    Archive(#[from] PackError),
}

impl SkillifyError {
    pub(crate) fn file(file: &str, why: impl Into<String>) -> Self {
        Self::File { file: file.to_owned(), why: why.into() }
    }
}
