//! Rust crates: public items with their signatures and doc comments.

mod attributes;
mod model;
mod reach;
mod read;
mod resolve;
mod show;
mod source;

use crate::library::{bounded, first_sentence};
use crate::{Files, Library, PackageKind, SkillifyError};

/// Reads a crate.
pub(crate) fn library(files: &Files) -> Result<Library, SkillifyError> {
    let manifest: toml::Table = files
        .text("Cargo.toml")
        .unwrap_or_default()
        .parse()
        .map_err(|error: toml::de::Error| SkillifyError::file("Cargo.toml", error.message()))?;
    let package = manifest.get("package").and_then(toml::Value::as_table);
    let package =
        package.ok_or_else(|| SkillifyError::file("Cargo.toml", "missing package name"))?;
    let get = |key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let name =
        get("name").ok_or_else(|| SkillifyError::file("Cargo.toml", "missing package name"))?;
    let of_library = |key: &str| manifest.get("lib").and_then(|lib| lib.get(key)?.as_str());
    let root = of_library("path").unwrap_or("src/lib.rs");
    let root = root.trim_start_matches("./");
    let text =
        files.text(root).ok_or_else(|| SkillifyError::file(root, "the crate has no library"))?;
    let file = source::parsed(&text).map_err(|why| SkillifyError::file(root, why))?;
    let usual = name.replace('-', "_");
    let crate_name = of_library("name").unwrap_or(&usual).to_owned();
    let description = attributes::docs(&file.attrs);
    let is_edition_2015 = matches!(get("edition").as_deref(), None | Some("2015"));
    let start = read::Root { path: root, file: &file, name: &crate_name, is_edition_2015 };
    let found = read::read(files, start);
    let (topics, mut unread) = reach::exported(&found, &crate_name);
    let (topics, note) = bounded(topics, |topic| topic.name.matches("::").count());
    unread.extend(note);
    Ok(Library {
        kind: PackageKind::Rust,
        title: get("description").unwrap_or_else(|| first_sentence(&description)),
        version: get("version").unwrap_or_else(|| "0.0.0".to_owned()),
        license: get("license"),
        description: description.split("\n#").next().unwrap_or_default().trim().to_owned(),
        topics,
        modules: if crate_name == usual { Vec::new() } else { vec![crate_name] },
        unread,
        vignettes: Vec::new(),
        source: files.digest(),
        name,
    })
}
