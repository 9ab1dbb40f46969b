//! Bundles derived from libraries: what a package exports and how its own help explains it, as a skill.
//!
//! [`Files`] are those of a package: a folder, a tarball, an installed library. [`derive`] reads them, as R, Python, Rust or npm, into a [`Library`], and
//! [`Library::bundle`] writes that as a skill. Nothing of a package is run. The same files give the same bytes.

mod bundle;
mod error;
mod files;
mod library;
mod npm;
mod python;
mod r;
mod rust;
mod syntax;

pub use error::SkillifyError;
pub use files::Files;
pub use library::{Argument, Kind, Library, Topic};

/// Reads a package: as what it looks like.
pub fn derive(files: &Files) -> Result<Library, SkillifyError> {
    let library = if files.has("DESCRIPTION") {
        r::library(files)
    } else if files.has("Cargo.toml") {
        rust::library(files)
    } else if files.has("package.json") {
        npm::library(files)
    } else if python::is_one(files) {
        python::library(files)
    } else {
        Err(SkillifyError::Unknown)
    }?;
    if library.topics.is_empty() {
        return Err(SkillifyError::Nothing(library.name));
    }
    Ok(library)
}
