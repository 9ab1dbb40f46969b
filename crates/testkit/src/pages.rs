//! Checks generated pages of the documentation.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write the repository"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn read(folder: &Path, prefix: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap_or_default()))
        .collect()
}

/// Fails unless the pages in the folder `published` of the repository equal the generated pages in `made`. Only names
/// that begin with `prefix` are compared. With `UPDATE_EXPECT`, updates the published pages instead.
pub fn same_pages(made: &Path, published: &str, prefix: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder: PathBuf = root.join(published);
    let (made, current) = (read(made, prefix), read(&folder, prefix));
    assert!(!made.is_empty(), "no pages were generated");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for name in current.keys().filter(|name| !made.contains_key(*name)) {
            fs::remove_file(folder.join(name)).unwrap();
        }
        for (name, text) in &made {
            fs::write(folder.join(name), text).unwrap();
        }
        return;
    }
    for (name, text) in &made {
        assert_eq!(
            current.get(name),
            Some(text),
            "{published}/{name} is out of date; set UPDATE_EXPECT=1 to update it"
        );
    }
    let stale: Vec<&String> = current.keys().filter(|name| !made.contains_key(*name)).collect();
    assert!(stale.is_empty(), "{published} has pages that are no longer generated: {stale:?}");
}

/// Fails unless the text between `<!-- begin NAME -->` and `<!-- end NAME -->` on a page of the repository equals
/// `made`. With `UPDATE_EXPECT`, updates the page instead.
pub fn same_section(page: &str, name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = text.split_once(&begin).expect("the page has the begin marker");
    let (current, after) = rest.split_once(&end).expect("the page has the end marker");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(current, made, "{page}: {name} is out of date; set UPDATE_EXPECT=1 to update it");
}
