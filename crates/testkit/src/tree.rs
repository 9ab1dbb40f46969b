//! Several files in one literal: each line `//- /path` starts the next file.

#![expect(clippy::disallowed_methods, reason = "writes fixtures")]

use std::fs;
use std::path::Path;

/// Returns path and text of each file in `literal`.
pub fn entries(literal: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in literal.split_inclusive('\n') {
        match (line.strip_prefix("//- /"), files.last_mut()) {
            (Some(path), _) => files.push((path.trim_end().to_owned(), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => {
                assert!(line.trim().is_empty(), "text before the first `//- /path`: {line:?}");
            }
        }
    }
    files
}

/// Writes every file of `literal` below `root`.
pub fn write_tree(root: &Path, literal: &str) {
    for (path, text) in entries(literal) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("the path is below the root"))
            .expect("the folder can be created");
        fs::write(&path, text).expect("the file can be written");
    }
}
