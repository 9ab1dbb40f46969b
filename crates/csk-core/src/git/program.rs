//! Runs the `git` program for what needs the user's credentials. It never runs in a project: see
//! [`crate::git::checkout`].
//!
//! Git is started in the root folder, outside any repository, and gets the repository as an argument. In an existing
//! repository it runs only after [`GitDir::checked`] has checked every setting.

#![expect(clippy::disallowed_methods, reason = "runs git")]

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use skill_fs::AbsPath;

use crate::git::settings::GitDir;
use crate::git::url::{LocalSources, check_url, is_relative_path};
use crate::{ProgressHandle, is_ref_name};

/// The time limit of a clone or a fetch.
pub const TIME_LIMIT: Duration = Duration::from_secs(600);
/// How often a running git is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long to wait for the rest of stderr after git has failed.
const STDERR_GRACE: Duration = Duration::from_millis(500);
/// The most bytes of git's messages that are kept.
const MAX_STDERR: usize = 64 << 10;
/// The most bytes of git's stdout that are read.
const MAX_OUTPUT: u64 = 64 << 20;

/// Why a git operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// Git could not be started.
    #[error("cannot run `git`: {0}; csk requires git 2.25 or later on PATH")]
    NotRun(String),
    /// Git failed with this message.
    #[error("{0}")]
    Failed(String),
    /// Git exceeded the time limit.
    #[error("git timed out after {0} seconds")]
    TimedOut(u64),
    /// A setting in the repository's own configuration could start a program.
    #[error(
        "repository `{path}` sets `{key}` in its own config, which could run a program; move the setting to your ~/.gitconfig, or unset it"
    )]
    Setting {
        /// The repository's git folder.
        path: String,
        /// The setting.
        key: String,
    },
    /// Another csk process is using the same repository.
    #[error("{0}")]
    Busy(String),
    /// The type of URL is not allowed.
    #[error("URL `{url}` is not allowed: {reason}")]
    Url {
        /// The URL.
        url: String,
        /// Why it is not allowed.
        reason: &'static str,
    },
}

/// Variables, set in git hooks for example, that would point git at another repository.
const REDIRECTING_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Settings for every git that csk starts, whatever a repository configures: no hooks, no file system monitor, no `ext`
/// transport, no implicit bare repository.
const OWN_SETTINGS: [&str; 5] = [
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
];

/// Returns a git command with English messages and without redirecting variables. It runs in the root folder of the
/// file system that `place` is on, which is outside any repository.
fn plain_git(place: &AbsPath) -> Command {
    let mut git = Command::new("git");
    for name in REDIRECTING_VARIABLES {
        git.env_remove(name);
    }
    git.env("LC_ALL", "C").stdin(Stdio::null());
    git.current_dir(place.as_path().ancestors().last().unwrap_or(Path::new("/")));
    for setting in OWN_SETTINGS {
        git.args(["-c", setting]);
    }
    git
}

/// Returns a git command for the repository at `path` after checking that none of its settings can start a program.
pub(crate) fn git_at(path: &AbsPath) -> Result<Command, GitError> {
    let git_dir = GitDir::of(path)?;
    let mut git = plain_git(path);
    git.arg("--git-dir").arg(git_dir.checked()?);
    Ok(git)
}

/// Clones `url` to `target`, which must not exist.
pub fn clone(
    url: &str,
    target: &AbsPath,
    local: LocalSources,
    running: &dyn ProgressHandle,
) -> Result<(), GitError> {
    check_url(url, local)?;
    let here = std::env::current_dir().map_err(|error| GitError::NotRun(error.to_string()))?;
    let mut git = network(plain_git(target), local);
    // Nothing is checked out, so no hook, filter or attribute ever sees an untrusted file.
    git.args(["clone", "--quiet", "--progress", "--no-checkout", "--no-recurse-submodules"]);
    // The user's template could contain settings that `GitDir::checked` rejects.
    git.arg("--template=");
    // Overrides the user's `clone.defaultRemoteName`.
    git.args(["--origin", "origin"]);
    git.args(["--", &absolute_url(&here, url)]).arg(target.as_path());
    git.env("GIT_DEFAULT_REF_FORMAT", "files").env("GIT_DEFAULT_HASH", "sha1");
    run(git, running, TIME_LIMIT).map(|_| ())
}

/// Creates a repository with the files in `folder` as one commit on branch `main`. Every byte is committed as is,
/// whatever the attributes say.
pub fn init_repository(folder: &AbsPath, message: &str) -> Result<(), GitError> {
    let run = |arguments: &[&str]| {
        let mut git = plain_git(folder);
        git.arg("--git-dir").arg(folder.join(".git").as_path());
        git.arg("--work-tree").arg(folder.as_path());
        // Overrides the user's settings that could change content.
        git.args(["-c", "core.autocrlf=false"]);
        git.args(["-c", "core.attributesFile=/dev/null", "-c", "core.safecrlf=false"]);
        git.args(["-c", "commit.gpgsign=false", "-c", "core.fileMode=true"]);
        git.args(["-c", "user.name=csk", "-c", "user.email=csk@localhost"]).args(arguments);
        git.env("GIT_DEFAULT_REF_FORMAT", "files").env("GIT_DEFAULT_HASH", "sha1");
        let done = git.output().map_err(|error| GitError::NotRun(error.to_string()))?;
        if done.status.success() {
            return Ok(());
        }
        Err(GitError::Failed(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
    };
    run(&["init", "--quiet", "--initial-branch", "main", "--template", ""])?;
    // These override the attributes in the files themselves.
    let info = folder.join(".git/info");
    std::fs::create_dir_all(info.as_path())
        .and_then(|()| std::fs::write(info.join("attributes").as_path(), RAW_ATTRIBUTES))
        .map_err(|error| GitError::Failed(format!("cannot write `{info}`: {error}")))?;
    run(&["add", "--all", "--force", "."])?;
    run(&["commit", "--quiet", "--no-verify", "--message", message])
}

/// Attributes that keep git from changing any byte.
const RAW_ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// Returns the URL that a repository is fetched from, or `None` if it has no `origin`.
pub fn origin(repository: &AbsPath) -> Result<Option<String>, GitError> {
    GitDir::of(repository)?.origin()
}

/// Expands a URL by the user's `url.<base>.insteadOf` rules.
pub(crate) fn expanded_url(place: &AbsPath, url: &str) -> Option<String> {
    let mut git = plain_git(place);
    let output = git.args(["ls-remote", "--get-url", "--", url]).output().ok()?;
    let url = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
    Some(url).filter(|url| output.status.success() && !url.is_empty())
}

/// Fetches branches and tags from `url`, the origin. Tags follow the origin; tags that only exist locally stay. The
/// remote is given by URL, so that no setting for a named remote applies.
pub fn fetch(
    repository: &AbsPath,
    url: &str,
    local: LocalSources,
    running: &dyn ProgressHandle,
) -> Result<(), GitError> {
    check_url(url, local)?;
    let mut git = network(git_at(repository)?, local);
    git.args(["fetch", "--quiet", "--progress", "--no-recurse-submodules"]);
    // Tags given by an option instead of a refspec are not pruned.
    git.args(["--tags", "--force", "--prune", "--", &absolute_url(repository.as_path(), url)]);
    git.arg("+refs/heads/*:refs/remotes/origin/*");
    run(git, running, TIME_LIMIT).map(|_| ())
}

/// Lists the branches and tags of `url`, the origin, with their object ids. Writes nothing.
pub fn remote_refs(
    repository: &AbsPath,
    url: &str,
    local: LocalSources,
    running: &dyn ProgressHandle,
) -> Result<BTreeMap<String, String>, GitError> {
    check_url(url, local)?;
    let mut git = network(git_at(repository)?, local);
    git.args(["ls-remote", "--quiet", "--heads", "--tags", "--"]);
    git.arg(absolute_url(repository.as_path(), url)).stdout(Stdio::piped());
    let output = run(git, running, TIME_LIMIT)?;
    let mut refs = BTreeMap::new();
    for line in String::from_utf8_lossy(&output).lines() {
        let Some((id, name)) = line.split_once('\t') else { continue };
        // The peeled line of an annotated tag comes after the tag itself and replaces it.
        refs.insert(name.trim_end_matches("^{}").to_owned(), id.to_owned());
    }
    Ok(refs)
}

/// Records which branch is the default one of `url`, the origin. Git does so only for a new clone.
pub(crate) fn update_default_branch(
    repository: &AbsPath,
    url: &str,
    local: LocalSources,
    running: &dyn ProgressHandle,
) -> Result<(), GitError> {
    check_url(url, local)?;
    let mut git = network(git_at(repository)?, local);
    git.args(["ls-remote", "--quiet", "--symref", "--"]);
    git.arg(absolute_url(repository.as_path(), url)).arg("HEAD").stdout(Stdio::piped());
    let output = run(git, running, TIME_LIMIT)?;
    let text = String::from_utf8_lossy(&output);
    let head = text.lines().find_map(|line| line.strip_prefix("ref: refs/heads/"));
    let Some(branch) = head.and_then(|line| line.strip_suffix("\tHEAD")) else { return Ok(()) };
    if !is_ref_name(branch) {
        return Ok(());
    }
    let mut git = network(git_at(repository)?, local);
    git.args(["symbolic-ref", "refs/remotes/origin/HEAD"]);
    git.arg(format!("refs/remotes/origin/{branch}"));
    run(git, running, TIME_LIMIT).map(|_| ())
}

/// Makes a relative path URL absolute, since git runs in another folder.
fn absolute_url(folder: &Path, url: &str) -> String {
    if is_relative_path(url) { folder.join(url).display().to_string() } else { url.to_owned() }
}

/// The result of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    /// Everything was fetched.
    Done,
    /// The repository has no remote.
    NoRemote,
}

/// Configures git never to prompt, and to use only the allowed transports.
fn network(mut git: Command, local: LocalSources) -> Command {
    git.env("GIT_TERMINAL_PROMPT", "0");
    git.env(
        "GIT_ALLOW_PROTOCOL",
        match local {
            LocalSources::Allowed => "https:ssh:file",
            LocalSources::Refused | LocalSources::Forbidden => "https:ssh",
        },
    );
    // An agent or a key without a passphrase still works; a prompt would hang.
    if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
        git.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    }
    git.stdout(Stdio::null()).stderr(Stdio::piped());
    git
}

/// Runs git and returns its stdout if that is piped.
fn run(
    mut git: Command,
    running: &dyn ProgressHandle,
    limit: Duration,
) -> Result<Vec<u8>, GitError> {
    let not_run = |error: std::io::Error| GitError::NotRun(error.to_string());
    let mut child = git.spawn().map_err(not_run)?;
    let (written, output) = mpsc::channel();
    match child.stdout.take() {
        Some(stdout) => drop(std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stdout.take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = written.send(bytes);
        })),
        None => drop(written.send(Vec::new())),
    }
    let errors = child.stderr.take().expect("stderr is piped");
    let (sender, lines) = mpsc::channel();
    // Never joined: a process that git started may keep the pipe open long after git has exited.
    std::thread::spawn(move || forward_lines(errors, &sender));
    let start = Instant::now();
    let mut message = String::new();
    let mut handle_line = |line: String| {
        if line.contains("% (") {
            running.note(&line);
        } else if message.len() < MAX_STDERR {
            message += &line;
            message.push('\n');
        }
    };
    let status = loop {
        lines.try_iter().for_each(&mut handle_line);
        match child.try_wait().map_err(not_run)? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(GitError::TimedOut(limit.as_secs()));
            }
            None => std::thread::sleep(POLL_INTERVAL),
        }
    };
    if status.success() {
        return output.recv_timeout(limit).map_err(|_| GitError::TimedOut(limit.as_secs()));
    }
    // The rest of stderr may still be in the pipe.
    while let Ok(line) = lines.recv_timeout(STDERR_GRACE) {
        handle_line(line);
    }
    match message.trim() {
        "" => Err(GitError::Failed(status.to_string())),
        message => Err(GitError::Failed(message.to_owned())),
    }
}

/// Reads git's stderr to the end and sends it line by line. A broken pipe only ends it early.
fn forward_lines(errors: impl Read, lines: &mpsc::Sender<String>) {
    let mut line = Vec::new();
    for byte in BufReader::new(errors).bytes().map_while(Result::ok) {
        if !matches!(byte, b'\r' | b'\n') {
            line.push(byte);
            // Git does not write lines this long; send what there is.
            if line.len() < MAX_STDERR {
                continue;
            }
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        if !text.is_empty() && lines.send(text).is_err() {
            return;
        }
    }
    // The receiver may be gone.
    let _ = lines.send(String::from_utf8_lossy(&line).trim().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    /// Like a hung ssh: a child of git keeps the pipe open after git was killed.
    #[test]
    #[cfg(unix)]
    fn the_time_limit_applies_despite_running_children() {
        let start = Instant::now();
        let mut slow = Command::new("sh");
        slow.args(["-c", "sleep 20 & echo 'fatal: x' >&2; sleep 20"]).stderr(Stdio::piped());
        let ended = run(slow, &Silent, Duration::from_millis(200));
        assert_eq!(ended, Err(GitError::TimedOut(0)));
        let mut failing = Command::new("sh");
        failing.args(["-c", "sleep 20 & echo 'fatal: x' >&2; exit 1"]).stderr(Stdio::piped());
        let ended = run(failing, &Silent, Duration::from_secs(10));
        assert_eq!(ended, Err(GitError::Failed("fatal: x".to_owned())));
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
