//! Selects the files of a snapshot that go into a project: instructions and assets, no development files.

mod mentions;
mod rules;
mod selection;
#[cfg(test)]
mod tests;
mod warnings;

use std::collections::BTreeSet;

use skill::{FileNameError, Manifest, RelPath, SKILL_FILE, SKILL_FILE_FALLBACK};

pub(crate) use self::rules::v1_context;
use self::rules::{Rules, is_excluded};
use self::selection::select_files;
use crate::content::snapshot::{File, FileKind, Snapshot, check_names, stray_links};

/// Why a snapshot has no context to install.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// There is no SKILL.md.
    #[error("no SKILL.md found{}", others(.0))]
    NoSkillFile(Vec<String>),
    /// A file name is not allowed in a skill.
    #[error(transparent)]
    Name(#[from] FileNameError),
}

/// Returns the folders of a snapshot that contain a skill.
fn skills_below(snapshot: &Snapshot) -> Vec<String> {
    let folder = |file: &File| {
        let (folder, name) = file.path.as_str().rsplit_once('/')?;
        let is_skill = name == SKILL_FILE || name == SKILL_FILE_FALLBACK;
        let is_kept = !folder.split('/').any(is_excluded);
        (is_skill && is_kept).then(|| folder.to_owned())
    };
    let found: BTreeSet<String> = snapshot.files().iter().filter_map(folder).collect();
    found.into_iter().collect()
}

/// Lists folders that contain a skill, for the error message.
fn others(folders: &[String]) -> String {
    const SHOWN: usize = 12;
    if folders.is_empty() {
        return String::new();
    }
    let more = folders.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown: Vec<&str> = folders.iter().take(SHOWN).map(String::as_str).collect();
    format!("; skills found in: {}{more}", shown.join(", "))
}

/// What a snapshot contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A whole repository: only the standard skill folders are installed.
    Repository,
    /// A folder of a repository, or an artifact: installed as a whole.
    Folder,
}

/// The part of a snapshot that is installed into a project.
#[derive(Debug)]
pub struct Context {
    /// The files, sorted by path.
    pub files: Vec<File>,
    /// Broken or uninstalled references in the skill's text, one sentence each.
    pub warnings: Vec<String>,
}

/// The version of the selection rules. An install made with other rules is not treated as edited; it is reinstalled.
pub(crate) const CONTEXT_RULES: u64 = 3;

/// Returns the files to install into a project. Runtime roots and the files of declared commands go into the command
/// store instead. Files that installed Markdown refers to are included whatever their name, and so are the targets of
/// symlinks.
pub fn context(
    snapshot: &Snapshot,
    manifest: Option<&Manifest>,
    shape: Shape,
) -> Result<Context, ContextError> {
    let is_plain =
        |name: &&&str| snapshot.file(name).is_some_and(|file| file.kind != FileKind::Link);
    let Some(skill_file) = [SKILL_FILE, SKILL_FILE_FALLBACK].iter().find(is_plain) else {
        return Err(ContextError::NoSkillFile(skills_below(snapshot)));
    };
    let rules = Rules { manifest, shape, skill_file };
    let (wanted, mut problems) = select_files(snapshot, &rules);
    let is_wanted = |file: &&File| wanted.contains(file.path.as_str());
    let files: Vec<File> = snapshot.files().iter().filter(is_wanted).cloned().collect();
    let is_renamed = *skill_file == SKILL_FILE_FALLBACK;
    let mut files = if is_renamed { with_skill_file(files) } else { files };
    for link in drop_stray_links(&mut files) {
        problems.dropped(&link);
    }
    let mut warnings = problems.into_warnings();
    if is_renamed {
        warnings.push(format!("{SKILL_FILE_FALLBACK} is installed as {SKILL_FILE}"));
    }
    check_names(&files)?;
    Ok(Context { files, warnings })
}

/// Returns the files of a snapshot that an install marker lists, regardless of the rules that selected them.
pub(crate) fn listed_context(snapshot: &Snapshot, names: &[String]) -> Vec<File> {
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let is_plain = |name| snapshot.file(name).is_some_and(|file| file.kind != FileKind::Link);
    // SKILL.md may be the fallback file, renamed.
    let is_renamed = !is_plain(SKILL_FILE);
    let is_listed = |file: &&File| {
        let name = file.path.as_str();
        names.contains(name) || (is_renamed && name == SKILL_FILE_FALLBACK)
    };
    let files = snapshot.files().iter().filter(is_listed).cloned().collect();
    if is_renamed { with_skill_file(files) } else { files }
}

/// Renames the fallback file to the standard name that every agent looks for.
fn with_skill_file(mut files: Vec<File>) -> Vec<File> {
    for file in files.iter_mut().filter(|file| file.path.as_str() == SKILL_FILE_FALLBACK) {
        file.path = RelPath::new(SKILL_FILE).expect("SKILL.md is a plain name");
    }
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    files
}

/// Removes and returns symlinks whose target is not among the files, repeatedly, so that symlinks to removed symlinks
/// go too.
fn drop_stray_links(files: &mut Vec<File>) -> Vec<File> {
    let mut dropped = Vec::new();
    loop {
        let stray: BTreeSet<String> =
            stray_links(files).map(|link| link.path.to_string()).collect();
        if stray.is_empty() {
            return dropped;
        }
        dropped.extend(files.extract_if(.., |file| stray.contains(file.path.as_str())));
    }
}
