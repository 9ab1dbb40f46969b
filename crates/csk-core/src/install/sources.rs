//! The repositories under `skills_root`: cloned when missing, fetched on request, several in parallel. Only one csk
//! works on each at a time.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::fs;

use rayon::prelude::*;
use skill::Identifier;
use skill_fs::{AbsPath, Lock, LockError};

use super::{Environment, RunError, SkillError, Target};
use crate::git::program::update_default_branch;
use crate::{
    Declaration, Fetched, GitError, Progress, Repository, Work, clone, fetch, origin, redacted,
};

/// The name prefix of an unfinished clone.
const STAGED: &str = ".csk-clone-";
/// How many repositories are cloned or fetched in parallel; they mostly wait for the network.
const MAX_PARALLEL: usize = 8;

/// Returns the names of the git repositories under `skills_root`, sorted.
pub fn repositories(skills_root: &AbsPath) -> Vec<String> {
    let entries = fs::read_dir(skills_root.as_path()).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join(".git").exists() || entry.path().join("HEAD").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort_unstable();
    names
}

/// Checks that there are repositories to install from, or that all of them can be cloned.
pub(super) fn check_root(environment: &Environment, targets: &[Target]) -> Result<(), RunError> {
    let root = &environment.skills_root;
    let mut skills = targets.iter().flat_map(|target| &target.skills);
    if skills.all(|skill| skill.git.is_some()) || !repositories(root).is_empty() {
        return Ok(());
    }
    let what =
        if root.as_path().is_dir() { "contains no git repositories" } else { "does not exist" };
    Err(RunError::SkillsRoot(format!("skills_root `{root}` {what}")))
}

/// The name of a repository, and the result of fetching it.
pub type FetchReport = (String, Result<Fetched, GitError>);

/// Fetches every repository, in parallel; a failure does not stop the others.
pub fn update(
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Vec<FetchReport>, RunError> {
    let root = &environment.skills_root;
    let names = repositories(root);
    if names.is_empty() {
        let message =
            format!("skills_root `{root}` does not exist or contains no git repositories");
        return Err(RunError::SkillsRoot(message));
    }
    let fetch_one = |name: String| {
        let fetched = fetch_repository(environment, &name, progress);
        (name, fetched)
    };
    Ok(in_parallel(|| names.into_par_iter().map(fetch_one).collect()))
}

/// Fetches the repository `name` under `skills_root` from its origin.
pub(crate) fn fetch_repository(
    environment: &Environment,
    name: &str,
    progress: &dyn Progress,
) -> Result<Fetched, GitError> {
    let repository = environment.skills_root.join(name);
    let Some(url) = origin(&repository)? else { return Ok(Fetched::NoRemote) };
    let _lock = lock(environment, name)?;
    let running = progress.begin(Work::Fetch { source: name });
    let local = environment.local.of_clone();
    fetch(&repository, &url, local, running.as_ref())?;
    let is_gone = Repository::open(&repository).is_ok_and(|opened| opened.is_default_branch_gone());
    if is_gone {
        update_default_branch(&repository, &url, local, running.as_ref())?;
    }
    Ok(Fetched::Done)
}

/// Returns every declared skill.
pub(super) fn declared(targets: &[Target]) -> impl Iterator<Item = &Declaration> {
    targets.iter().flat_map(|target| &target.skills)
}

/// Clones missing repositories that are declared with a URL; returns the ones that failed.
pub(crate) fn clone_missing<'a>(
    environment: &Environment,
    skills: impl IntoIterator<Item = &'a Declaration>,
    progress: &dyn Progress,
) -> BTreeMap<Identifier, SkillError> {
    let mut missing: BTreeMap<&Identifier, (&Declaration, &str)> = BTreeMap::new();
    for skill in skills {
        let place = environment.skills_root.join(skill.source.as_str());
        if let Some(url) = skill.git.as_deref().filter(|_| !place.as_path().exists()) {
            missing.entry(&skill.source).or_insert((skill, url));
        }
    }
    if missing.is_empty() {
        return BTreeMap::new();
    }
    let clone_one = |(source, (skill, url)): (&Identifier, (&Declaration, &str))| {
        let cloned = clone_repository(environment, source, url, progress);
        let failed = |error: GitError| SkillError::Clone {
            skill: skill.name.to_string(),
            url: redacted(url),
            source: error,
        };
        cloned.err().map(|error| (source.clone(), failed(error)))
    };
    in_parallel(|| missing.into_par_iter().filter_map(clone_one).collect())
}

/// Fetches the repositories that lack a locked commit, or a tag or branch that is not locked yet; returns the ones that
/// failed. Everything else is used as it is.
pub(crate) fn fetch_locked(
    environment: &Environment,
    targets: &[Target],
    progress: &dyn Progress,
) -> BTreeMap<Identifier, SkillError> {
    let is_missing = |target: &Target, skill: &Declaration| {
        let path = environment.skills_root.join(skill.source.as_str());
        // Other problems of a repository are reported when it is used.
        let Ok(repository) = Repository::open(&path) else { return false };
        match target.lock.as_ref().and_then(|lock| lock.get(skill)) {
            Some(locked) => !repository.objects().has_commit(&locked.commit),
            None => repository.resolve(&skill.reference).is_err(),
        }
    };
    let mut missing: BTreeMap<&Identifier, &Declaration> = BTreeMap::new();
    for target in targets {
        let skills = target.skills.iter().filter(|skill| is_missing(target, skill));
        missing.extend(skills.map(|skill| (&skill.source, skill)));
    }
    let fetch_one = |(source, skill): (&Identifier, &Declaration)| {
        let fetched = fetch_repository(environment, source.as_str(), progress);
        let failed = |error: GitError| SkillError::Clone {
            skill: skill.name.to_string(),
            url: redacted(skill.git.as_deref().unwrap_or(source.as_str())),
            source: error,
        };
        fetched.err().map(|error| (source.clone(), failed(error)))
    };
    if missing.is_empty() {
        return BTreeMap::new();
    }
    in_parallel(|| missing.into_par_iter().filter_map(fetch_one).collect())
}

/// Clones to a temporary folder, then renames it, so that a repository is never incomplete.
pub(crate) fn clone_repository(
    environment: &Environment,
    source: &Identifier,
    url: &str,
    progress: &dyn Progress,
) -> Result<(), GitError> {
    let root = &environment.skills_root;
    let files = |error: std::io::Error| GitError::Failed(format!("cannot write `{root}`: {error}"));
    let (_lock, staged) = stage_clone(environment, source)?;
    let place = root.join(source.as_str());
    // Another csk may have cloned it while this one waited.
    if place.as_path().exists() {
        return Ok(());
    }
    let running = progress.begin(Work::Clone { source, url: &redacted(url) });
    fs::create_dir_all(root.as_path()).map_err(files)?;
    let cloned = clone(url, &staged, environment.local, running.as_ref())
        .and_then(|()| skill_fs::rename(&staged, &place).map_err(files));
    if cloned.is_err() {
        // The next attempt uses its own folder.
        let _ = skill_fs::remove_folder(&staged);
    }
    cloned
}

/// Returns the folder in which a repository is created before it is moved into place, and the lock on it. Removes
/// leftovers of interrupted clones of the same repository.
pub fn stage_clone(
    environment: &Environment,
    source: &Identifier,
) -> Result<(Lock, AbsPath), GitError> {
    let root = &environment.skills_root;
    let lock = lock(environment, source.as_str())?;
    remove_stale_clones(root, source);
    Ok((lock, root.join(format!("{STAGED}{}-{source}", std::process::id()))))
}

/// Removes leftovers of interrupted clones of a repository. The lock on it must be held.
fn remove_stale_clones(root: &AbsPath, source: &Identifier) {
    let end = format!("-{source}");
    let number = |name: &str| {
        let number = name.strip_prefix(STAGED)?.strip_suffix(&end)?;
        number.parse::<u32>().ok()
    };
    for entry in fs::read_dir(root.as_path()).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| number(name).is_some()) {
            // Leftovers do no harm if they cannot be removed.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Waits for other csk processes that use the same repository.
fn lock(environment: &Environment, source: &str) -> Result<Lock, GitError> {
    let folder = environment.home.join("locks");
    let busy = |error: LockError| GitError::Busy(error.to_string());
    fs::create_dir_all(folder.as_path())
        .map_err(|error| GitError::Busy(format!("cannot create `{folder}`: {error}")))?;
    Lock::acquire(&folder.join(format!("{source}.lock")), environment.source_timeout).map_err(busy)
}

/// Runs `work` with more threads than cores, or with the default pool if that fails.
pub(crate) fn in_parallel<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(MAX_PARALLEL).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}
