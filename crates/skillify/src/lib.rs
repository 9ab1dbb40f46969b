//! Generates skills from libraries: what a package exports, with the explanations of its own help.
//!
//! [`Files`] reads the files of a package: a folder, a tarball or an installed library. [`derive()`] parses them as an
//! R, Python, Rust or npm package into a [`Library`], and [`Library::bundle`] writes that as a skill. No code of the
//! package is run. The same files give the same bytes.

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
pub use library::{Argument, Library, PackageKind, Topic};

/// Parses a package; its files decide of which kind it is.
pub fn derive(files: &Files) -> Result<Library, SkillifyError> {
    // The parsers recurse deeply. The nesting of the input is limited, and this stack is large enough for the limit.
    let work = || read(files);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| SkillifyError::file("", error.to_string()))?;
        thread.join().unwrap_or(Err(SkillifyError::Unknown))
    })
}

/// The stack size of the thread that parses a package.
const STACK_SIZE: usize = 512 << 20;

/// The maximum number of notes in a bundle about what it does not cover.
const MAX_NOTES: usize = 20;

fn read(files: &Files) -> Result<Library, SkillifyError> {
    let mut library = if files.has("DESCRIPTION") {
        r::library(files)
    } else if files.has("Cargo.toml") {
        rust::library(files)
    } else if files.has("package.json") {
        npm::library(files)
    } else if python::is_package(files) {
        python::library(files)
    } else {
        Err(SkillifyError::Unknown)
    }?;
    // These are written to the frontmatter and to the terminal.
    library.name = bundle::plain(&library.name);
    library.version = bundle::plain(&library.version);
    if library.unread.len() > MAX_NOTES {
        let more = library.unread.split_off(MAX_NOTES).len();
        let notes = if more == 1 { "note" } else { "notes" };
        library.unread.push(format!("Not shown: {more} more {notes} like this."));
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
