//! Errors of generating a bundle.

use skill_fs::FsError;
use skill_pack::PackError;

/// The reason why no bundle was generated.
#[derive(Debug, thiserror::Error)]
pub enum SkillifyError {
    /// The files are not a package of a supported kind.
    #[error(
        "not an R (DESCRIPTION), Python (pyproject.toml, PKG-INFO or METADATA), Rust (Cargo.toml) or npm \
         (package.json) package"
    )]
    Unknown,
    /// A file of the package cannot be parsed.
    #[error("{file}: {why}")]
    File {
        /// The path of the file.
        file: String,
        /// The reason.
        why: String,
    },
    /// The package has no exports.
    #[error("`{0}` has no exports to document")]
    Nothing(String),
    /// The package may have exports, but none that can be read.
    #[error("cannot read the exports of `{name}`: {why}")]
    NotRead {
        /// The name of the package.
        name: String,
        /// What was not read.
        why: String,
    },
    /// The package exceeds a limit.
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
