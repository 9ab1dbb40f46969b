//! Bundles derived from libraries: what a package exports and how its own help explains it, as a skill.
//!
//! [`Files`] are those of a package: a folder, a tarball, an installed library. [`derive()`] reads them, as R, Python, Rust or npm, into a [`Library`], and
//! [`Library::bundle`] writes that as a skill. Nothing of a package is run. The same files give the same bytes.

mod bundle;
mod clean;
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
    // Parsers of code go deep; what they are given is bounded, and here is room for it.
    let work = || read(files);
    std::thread::scope(|scope| {
        let reading = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let reading = reading.map_err(|error| SkillifyError::file("", error.to_string()))?;
        reading.join().unwrap_or(Err(SkillifyError::Unknown))
    })
}

/// The stack of whoever reads a package.
const STACK: usize = 512 << 20;

/// How many notes of what is not covered a bundle has.
const MAX_NOTES: usize = 20;

fn read(files: &Files) -> Result<Library, SkillifyError> {
    let mut library = if files.has("DESCRIPTION") {
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
    // They stand in frontmatter, and are shown.
    library.name = bundle::plain(&library.name);
    library.version = bundle::plain(&library.version);
    if library.unread.len() > MAX_NOTES {
        let more = library.unread.split_off(MAX_NOTES).len();
        library.unread.push(format!("There are {more} more notes of this kind."));
    }
    if library.topics.is_empty() {
        let name = library.name;
        let notes: Vec<String> = library.unread.iter().map(|note| bundle::plain(note)).collect();
        return Err(if notes.is_empty() {
            SkillifyError::Nothing(name)
        } else {
            let why = notes.join(" ").trim_end_matches('.').to_owned();
            SkillifyError::NotRead { name, why }
        });
    }
    Ok(library)
}
