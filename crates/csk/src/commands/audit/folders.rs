//! Finds the skills in a folder, at any depth.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;

use skill::{RESOURCE_FOLDERS, SKILL_FILE, is_git_folder};
use skill_fs::AbsPath;
use term::Failure;

/// The most files and folders that a search visits.
const MAX_VISITED: usize = 1_000_000;
/// The most nested folder levels that a search visits.
const MAX_LEVELS: usize = 30;

/// A folder that is still to be searched.
struct Pending {
    path: AbsPath,
    /// Its path in messages.
    shown: String,
    levels: usize,
}

/// Returns the skills at or below a folder with their paths in messages, sorted. Links are followed only directly in
/// the folder, since agents' folders consist of links.
pub(super) fn skill_folders(
    folder: &AbsPath,
    shown: &str,
) -> Result<Vec<(AbsPath, String)>, Failure> {
    let mut found = Vec::new();
    let mut visited = 0;
    let mut seen: BTreeSet<std::path::PathBuf> = BTreeSet::new();
    let shown = shown.trim_end_matches('/').to_owned();
    let mut pending = vec![Pending { path: folder.clone(), shown, levels: 0 }];
    while let Some(Pending { path, shown, levels }) = pending.pop() {
        if fs::canonicalize(path.as_path()).is_ok_and(|real| !seen.insert(real)) {
            continue;
        }
        let failed = |error| Failure::files(format!("cannot read `{path}`"), error);
        let mut is_skill = false;
        let mut inner = Vec::new();
        for entry in fs::read_dir(path.as_path()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            visited += 1;
            if visited > MAX_VISITED {
                return Err(Failure::usage(format!(
                    "`{folder}` contains more than {MAX_VISITED} files and folders"
                ))
                .with_hint("specify a smaller folder"));
            }
            let kind = entry.file_type().map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            is_skill |= !kind.is_dir() && name.eq_ignore_ascii_case(SKILL_FILE);
            let is_linked_folder = || {
                levels == 0
                    && kind.is_symlink()
                    && entry.path().metadata().is_ok_and(|to| to.is_dir())
            };
            if kind.is_dir() || is_linked_folder() {
                inner.push(name);
            }
        }
        for name in inner {
            // The resource folders of a skill contain templates, not skills.
            let is_template = is_skill && RESOURCE_FOLDERS.contains(&name.as_str());
            let is_other = is_git_folder(&name) || name == "node_modules";
            if !is_template && !is_other && levels < MAX_LEVELS {
                let (path, shown) = (path.join(&name), format!("{shown}/{name}"));
                pending.push(Pending { path, shown, levels: levels + 1 });
            }
        }
        if is_skill {
            found.push((path, shown));
        }
    }
    found.sort_by(|(_, one), (_, other)| one.cmp(other));
    Ok(found)
}
