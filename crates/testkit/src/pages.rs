//! Pages of the documentation that are made by a program.

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

/// Fails unless the pages in `made` that begin with `prefix` are those in the folder `published` of the repository. With `UPDATE_EXPECT` they become those.
pub fn same_pages(made: &Path, published: &str, prefix: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder: PathBuf = root.join(published);
    let (made, there) = (read(made, prefix), read(&folder, prefix));
    assert!(!made.is_empty(), "no page was made");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for name in there.keys().filter(|name| !made.contains_key(*name)) {
            fs::remove_file(folder.join(name)).unwrap();
        }
        for (name, text) in &made {
            fs::write(folder.join(name), text).unwrap();
        }
        return;
    }
    for (name, text) in &made {
        assert_eq!(
            there.get(name),
            Some(text),
            "{published}/{name} is not current; UPDATE_EXPECT=1 writes it"
        );
    }
    let gone: Vec<&String> = there.keys().filter(|name| !made.contains_key(*name)).collect();
    assert!(gone.is_empty(), "{published} has pages of nothing: {gone:?}");
}

/// Fails unless `made` stands between the marks `<!-- begin NAME -->` and `<!-- end NAME -->` of a page of the repository. With `UPDATE_EXPECT` it comes there.
pub fn same_section(page: &str, name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = text.split_once(&begin).expect("the page has the mark of the begin");
    let (there, after) = rest.split_once(&end).expect("the page has the mark of the end");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(there, made, "{page}: {name} is not current; UPDATE_EXPECT=1 writes it");
}
