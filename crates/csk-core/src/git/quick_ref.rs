//! Resolves a tag or branch directly from git's files in simple cases. Opening a whole repository costs as much as
//! reading a small skill, and most runs only need to know that nothing moved.
//!
//! Everything else (worktrees, reftables, symbolic references, tags whose object is in a pack) is left to
//! [`Repository`](crate::Repository).

#![expect(clippy::disallowed_methods, reason = "the edge to git")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use skill::RefKind;
use skill_fs::AbsPath;

use crate::{Commit, Reference};

/// The size limit of `packed-refs`.
const MAX_PACKED: u64 = 16 << 20;

/// Returns the commit that a reference points to, or `None` if it takes more than reading git's files.
pub(crate) fn quick_ref(repository: &AbsPath, reference: &Reference) -> Option<Commit> {
    let git = plain_git_dir(repository)?;
    let git = git.as_path();
    let name = match reference.kind {
        RefKind::Tag => format!("refs/tags/{}", reference.name),
        RefKind::Branch => format!("refs/remotes/origin/{}", reference.name),
        RefKind::Revision => return None,
    };
    // A loose reference takes precedence over a packed one.
    match fs::read(git.join(&name)) {
        Ok(bytes) => {
            let id = std::str::from_utf8(&bytes).ok()?.trim_end();
            let commit = Commit::new(id)?;
            (reference.kind == RefKind::Branch || is_loose_commit(git, id)).then_some(commit)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            packed(git, &name, reference.kind)
        }
        Err(_) => None,
    }
}

/// Returns a repository's git folder if it is self-contained.
fn plain_git_dir(repository: &AbsPath) -> Option<PathBuf> {
    let git = repository.join(".git").as_path().to_owned();
    // A gitfile or a `commondir` file would point to another repository.
    let is_plain = fs::symlink_metadata(&git).is_ok_and(|found| found.is_dir())
        && fs::symlink_metadata(git.join("HEAD")).is_ok_and(|found| found.is_file())
        && fs::symlink_metadata(git.join("commondir")).is_err()
        && fs::symlink_metadata(git.join("reftable")).is_err();
    is_plain.then_some(git)
}

/// Returns the text of a repository's configuration.
fn settings(git: &Path) -> Option<String> {
    let path = git.join("config");
    // Opening anything but a regular file may block.
    fs::metadata(&path).is_ok_and(|found| found.is_file()).then(|| fs::read_to_string(path).ok())?
}

/// Returns the objects folder of a self-contained repository with a standard format.
pub(crate) fn plain_objects(repository: &AbsPath) -> Option<PathBuf> {
    let git = plain_git_dir(repository)?;
    let config = settings(&git)?.to_ascii_lowercase();
    // Other repository formats show up under `extensions` or as a promisor remote.
    let is_usual = !["extensions", "include", "promisor"].iter().any(|word| config.contains(word));
    let has_folder =
        |name: &str| fs::symlink_metadata(git.join(name)).is_ok_and(|found| found.is_dir());
    (is_usual && has_folder("refs") && has_folder("objects")).then(|| git.join("objects"))
}

/// Returns true if an object is loose and a commit; packs are not searched.
fn is_loose_commit(git: &Path, id: &str) -> bool {
    let Some((start, rest)) = id.split_at_checked(2) else { return false };
    let Ok(file) = fs::File::open(git.join("objects").join(start).join(rest)) else { return false };
    let mut head = [0; 7];
    ZlibDecoder::new(file).read_exact(&mut head).is_ok() && head == *b"commit "
}

/// Looks up a reference in `packed-refs`. The commit of a tag is recorded there only if the file is fully peeled.
fn packed(git: &Path, name: &str, kind: RefKind) -> Option<Commit> {
    let file = fs::File::open(git.join("packed-refs")).ok()?;
    if file.metadata().ok()?.len() > MAX_PACKED {
        return None;
    }
    let mut text = String::new();
    let mut file = file.take(MAX_PACKED);
    file.read_to_string(&mut text).ok()?;
    let is_peeled = text.lines().next().is_some_and(|line| line.contains(" fully-peeled"));
    if kind == RefKind::Tag && !is_peeled {
        return None;
    }
    let mut lines = text.lines().skip_while(|line| {
        line.split_once(' ').is_none_or(|(_, found)| found != name) || line.starts_with('#')
    });
    let (id, _) = lines.next()?.split_once(' ')?;
    // The commit of an annotated tag is on the following line.
    let peeled = lines.next().and_then(|line| line.strip_prefix('^'));
    Commit::new(peeled.unwrap_or(id))
}
