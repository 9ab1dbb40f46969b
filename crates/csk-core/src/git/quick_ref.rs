//! What a tag or a branch names, read from git's own files where they say it plainly. Opening a whole repository costs as much as reading a small skill; most runs only
//! want to know that nothing moved.
//!
//! Whatever is not plain (worktrees, reftables, symbolic references, tags whose object is in a pack) is left to [`Repository`](crate::Repository).

#![expect(clippy::disallowed_methods, reason = "the edge to git")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use skill::RefKind;
use skill_fs::AbsPath;

use crate::{Commit, Reference};

/// The most that is read of a file of references.
const MAX_PACKED: u64 = 16 << 20;

/// Returns the commit that a reference names, if git's files say it plainly.
pub(crate) fn quick_ref(repository: &AbsPath, reference: &Reference) -> Option<Commit> {
    let git = plain(repository)?;
    let git = git.as_path();
    let name = match reference.kind {
        RefKind::Tag => format!("refs/tags/{}", reference.name),
        RefKind::Branch => format!("refs/remotes/origin/{}", reference.name),
        RefKind::Revision => return None,
    };
    // A reference of its own comes before what is packed.
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

/// Returns git's own folder of a repository, if everything is in it.
fn plain(repository: &AbsPath) -> Option<PathBuf> {
    let git = repository.join(".git").as_path().to_owned();
    // A file there leads to another repository, and so does one called `commondir`.
    let is_plain = fs::symlink_metadata(&git).is_ok_and(|found| found.is_dir())
        && fs::symlink_metadata(git.join("HEAD")).is_ok_and(|found| found.is_file())
        && fs::symlink_metadata(git.join("commondir")).is_err()
        && fs::symlink_metadata(git.join("reftable")).is_err();
    is_plain.then_some(git)
}

/// Returns the text of a repository's settings.
fn settings(git: &Path) -> Option<String> {
    let path = git.join("config");
    // What is no file may keep whoever opens it waiting.
    fs::metadata(&path).is_ok_and(|found| found.is_file()).then(|| fs::read_to_string(path).ok())?
}

/// Returns the folder of the objects of a repository that is plain, and is of no kind that is not read.
pub(crate) fn plain_objects(repository: &AbsPath) -> Option<PathBuf> {
    let git = plain(repository)?;
    let config = settings(&git)?.to_ascii_lowercase();
    // What other kinds of repositories say of themselves stands under `extensions`, or is a promise.
    let is_usual = !["extensions", "include", "promisor"].iter().any(|word| config.contains(word));
    let has_folder =
        |name: &str| fs::symlink_metadata(git.join(name)).is_ok_and(|found| found.is_dir());
    (is_usual && has_folder("refs") && has_folder("objects")).then(|| git.join("objects"))
}

/// Returns true if an object is a commit by itself; one in a pack is not looked for.
fn is_loose_commit(git: &Path, id: &str) -> bool {
    let Some((start, rest)) = id.split_at_checked(2) else { return false };
    let Ok(file) = fs::File::open(git.join("objects").join(start).join(rest)) else { return false };
    let mut head = [0; 7];
    ZlibDecoder::new(file).read_exact(&mut head).is_ok() && head == *b"commit "
}

/// Looks a reference up among the packed ones. What a tag leads to stands there only in a file that says so.
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
    // What an annotated tag leads to stands below it.
    let peeled = lines.next().and_then(|line| line.strip_prefix('^'));
    Commit::new(peeled.unwrap_or(id))
}
