//! The `git` program, for what needs the user's credentials, and for its rules of ignoring.

#![expect(clippy::disallowed_methods, reason = "runs git")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read, Write};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use skill_fs::AbsPath;

use crate::url::{LocalSources, check_url};
use crate::{Running, Silent};

/// How long a clone or a fetch may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(600);
/// How long git may take to tell a setting.
const SETTING_LIMIT: Duration = Duration::from_secs(10);
/// How often a running git is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the last words of a git that failed are waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How much of what git says is kept for a message.
const MAX_WORDS: usize = 64 << 10;
/// The most that is read of what git lists.
const MAX_OUTPUT: u64 = 64 << 20;

/// Why git did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// It cannot be started.
    #[error("cannot run git: {0}; csk needs git 2.25 or later on PATH")]
    NotRun(String),
    /// It said no.
    #[error("{0}")]
    Failed(String),
    /// It took too long.
    #[error("git did not finish within {0} seconds")]
    TimedOut(u64),
    /// Another csk works on the same repository.
    #[error("{0}")]
    Busy(String),
    /// The URL is of a kind that is not allowed.
    #[error("the URL `{url}` is not allowed: {why}")]
    Url {
        /// The URL.
        url: String,
        /// Why.
        why: &'static str,
    },
}

/// Variables that would make git work on another repository than the one it is told; a hook sets them.
const REDIRECTING: &[&str] = &[
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

/// Returns git, with its messages in English and nothing that leads it elsewhere.
fn plain_git() -> Command {
    let mut git = Command::new("git");
    for name in REDIRECTING {
        git.env_remove(name);
    }
    git.env("LC_ALL", "C").stdin(Stdio::null());
    git
}

/// Returns git for the work tree that `path` is in.
pub(crate) fn git_around(path: &AbsPath) -> Command {
    let mut git = plain_git();
    git.arg("-C").arg(path.as_path());
    git
}

/// Returns git for the repository at `path`, and never for one around it.
pub(crate) fn git_at(path: &AbsPath) -> Command {
    let mut git = git_around(path);
    if let Some(parent) = path.parent() {
        git.env("GIT_CEILING_DIRECTORIES", parent.as_path());
    }
    git
}

/// Clones `url` to `target`, which must not exist.
pub fn clone(
    url: &str,
    target: &AbsPath,
    local: LocalSources,
    running: &dyn Running,
) -> Result<(), GitError> {
    check_url(url, local)?;
    let mut git = network(plain_git(), local);
    // Nothing is checked out: no hook, filter or attribute ever sees a file of a stranger.
    git.args(["clone", "--quiet", "--progress", "--no-checkout", "--no-recurse-submodules"]);
    // Whatever the user calls remotes.
    git.args(["--origin", "origin"]);
    git.args(["--", url]).arg(target.as_path());
    git.env("GIT_DEFAULT_REF_FORMAT", "files").env("GIT_DEFAULT_HASH", "sha1");
    run(git, running, TIME_LIMIT).map(|_| ())
}

/// Makes a repository of the files in `folder`, with one commit on the branch `main`: byte by byte what is there,
/// whatever attributes say.
pub fn make_repository(folder: &AbsPath, message: &str) -> Result<(), GitError> {
    let run = |arguments: &[&str]| {
        let mut git = git_at(folder);
        // As it is, whatever the user has set; nobody's hooks run.
        git.args(["-c", "core.autocrlf=false", "-c", "core.hooksPath=/dev/null"]);
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
    // These come before the attributes of the files themselves.
    let info = folder.join(".git/info");
    std::fs::create_dir_all(info.as_path())
        .and_then(|()| std::fs::write(info.join("attributes").as_path(), AS_IT_IS))
        .map_err(|error| GitError::Failed(format!("cannot write {info}: {error}")))?;
    run(&["add", "--all", "--force", "."])?;
    run(&["commit", "--quiet", "--no-verify", "--message", message])
}

/// Attributes under which git changes no byte.
const AS_IT_IS: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// Returns the URL that a repository is fetched from; none if it has no `origin`.
pub fn origin(repository: &AbsPath) -> Result<Option<String>, GitError> {
    let failed = |output: &Output| {
        GitError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    };
    // Asked first, since reading a setting works in a folder that git refuses. What is no file may keep git waiting.
    let mut git = git_at(repository);
    git.args(["rev-parse", "--git-dir"]).stdout(Stdio::null()).stderr(Stdio::piped());
    run(git, &Silent, SETTING_LIMIT)?;
    let run = |arguments: &[&str]| {
        let output = git_at(repository).args(arguments).output();
        output.map_err(|error| GitError::NotRun(error.to_string()))
    };
    let output = run(&["config", "--get-all", "remote.origin.url"])?;
    match output.status.code() {
        Some(0) => {
            // Of several the first is fetched from; what comes after it is for pushing.
            let urls = String::from_utf8_lossy(&output.stdout).into_owned();
            let url = urls.lines().next().unwrap_or_default().trim().to_owned();
            Ok(Some(url).filter(|url| !url.is_empty()))
        }
        Some(1) => Ok(None),
        _ => Err(failed(&output)),
    }
}

/// Returns the URL that git makes of a repository's `origin`, by the rules of the user's for writing addresses shorter.
pub(crate) fn expanded_origin(repository: &AbsPath) -> Option<String> {
    let output = git_at(repository).args(["remote", "get-url", "origin"]).output().ok()?;
    let url = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
    Some(url).filter(|url| output.status.success() && !url.is_empty())
}

/// Fetches branches and tags from `origin`, which is at `url`. Tags move with it; those that only this
/// repository has stay.
pub fn fetch(
    repository: &AbsPath,
    url: &str,
    local: LocalSources,
    running: &dyn Running,
) -> Result<(), GitError> {
    check_url(url, local)?;
    let mut git = network(git_at(repository), local);
    git.args(["fetch", "--quiet", "--progress", "--no-recurse-submodules"]);
    // Named by an option and not by a reference, tags are not pruned.
    git.args(["--tags", "--force", "--prune", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
    run(git, running, TIME_LIMIT).map(|_| ())
}

/// Asks `origin`, which is at `url`, what its branches and tags name. Nothing is written.
pub fn remote_refs(
    repository: &AbsPath,
    url: &str,
    local: LocalSources,
    running: &dyn Running,
) -> Result<BTreeMap<String, String>, GitError> {
    check_url(url, local)?;
    let mut git = network(git_at(repository), local);
    git.args(["ls-remote", "--quiet", "--heads", "--tags", "origin"]).stdout(Stdio::piped());
    let told = run(git, running, TIME_LIMIT)?;
    let mut refs = BTreeMap::new();
    for line in String::from_utf8_lossy(&told).lines() {
        let Some((id, name)) = line.split_once('\t') else { continue };
        // What an annotated tag names comes after the tag itself, and counts.
        refs.insert(name.trim_end_matches("^{}").to_owned(), id.to_owned());
    }
    Ok(refs)
}

/// What a fetch did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    /// Everything was fetched.
    Done,
    /// There is nowhere to fetch from.
    NoRemote,
}

/// Returns those of `paths` that git would not ignore in the work tree at `root`; none outside a work tree.
pub fn not_ignored(root: &AbsPath, paths: &[String]) -> Result<Vec<String>, GitError> {
    let failed = |error: std::io::Error| GitError::NotRun(error.to_string());
    let mut git = git_around(root);
    git.args(["check-ignore", "--no-index", "-z", "--stdin"]);
    let mut child = git
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let input = paths.iter().fold(String::new(), |all, path| all + path + "\0");
    // Outside a repository git ends before it has read anything; how it ended says more than the pipe.
    match child.stdin.take().expect("it is piped").write_all(input.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(failed(error)),
        _ => {}
    }
    let output = child.wait_with_output().map_err(failed)?;
    match output.status.code() {
        Some(0 | 1) => {
            let out = String::from_utf8_lossy(&output.stdout);
            let ignored: BTreeSet<&str> = out.split('\0').collect();
            Ok(paths.iter().filter(|path| !ignored.contains(&path.as_str())).cloned().collect())
        }
        _ if String::from_utf8_lossy(&output.stderr).contains("not a git repository") => {
            Ok(Vec::new())
        }
        _ => Err(GitError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// Returns true if `root` is in a work tree.
pub fn work_tree(root: &AbsPath) -> Result<bool, GitError> {
    exclude_file(root).map(|file| file.is_some())
}

/// Returns the file of ignore rules that is this machine's alone; none outside a work tree.
pub fn exclude_file(root: &AbsPath) -> Result<Option<AbsPath>, GitError> {
    let mut git = git_around(root);
    git.args(["rev-parse", "--git-path", "info/exclude"]);
    let output = git.output().map_err(|error| GitError::NotRun(error.to_string()))?;
    if output.status.success() {
        return Ok(Some(root.join(String::from_utf8_lossy(&output.stdout).trim_end())));
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if words.contains("not a git repository") { Ok(None) } else { Err(GitError::Failed(words)) }
}

/// Returns the first entry at or below `folder` that git has in the work tree at `root`, or a submodule that would
/// bring it; none outside a work tree.
pub(crate) fn tracked(root: &AbsPath, folder: &str) -> Result<Option<String>, GitError> {
    let top = folder.split('/').next().unwrap_or(folder);
    let mut git = git_around(root);
    git.args(["ls-files", "-z", "--", top]);
    let output = git.output().map_err(|error| GitError::NotRun(error.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return match words.contains("not a git repository") {
            true => Ok(None),
            false => Err(GitError::Failed(words.trim().to_owned())),
        };
    }
    let names = String::from_utf8_lossy(&output.stdout);
    // A name that is a folder on the way is a submodule, or a link.
    let below = format!("{folder}/");
    let brings = |name: &&str| name.starts_with(&below) || below.starts_with(&format!("{name}/"));
    Ok(names.split('\0').filter(|name| !name.is_empty()).find(brings).map(str::to_owned))
}

/// Sets git up never to ask and to use no transport but the allowed ones.
fn network(mut git: Command, local: LocalSources) -> Command {
    git.env("GIT_TERMINAL_PROMPT", "0");
    git.env(
        "GIT_ALLOW_PROTOCOL",
        match local {
            LocalSources::Allowed => "https:ssh:file",
            LocalSources::Refused | LocalSources::Forbidden => "https:ssh",
        },
    );
    // An agent or a key without a passphrase still works; a question would hang.
    if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
        git.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    }
    git.stdout(Stdio::null()).stderr(Stdio::piped());
    git
}

/// Runs git and returns what it wrote to standard output, where that is piped.
fn run(mut git: Command, running: &dyn Running, limit: Duration) -> Result<Vec<u8>, GitError> {
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
    let errors = child.stderr.take().expect("it is piped");
    let (sender, lines) = mpsc::channel();
    // Never waited for: what git has started may hold the pipe open long after git itself is gone.
    std::thread::spawn(move || listen(errors, &sender));
    let start = Instant::now();
    let mut words = String::new();
    let mut hear = |line: String| {
        if line.contains("% (") {
            running.note(&line);
        } else if words.len() < MAX_WORDS {
            words += &line;
            words.push('\n');
        }
    };
    let status = loop {
        lines.try_iter().for_each(&mut hear);
        match child.try_wait().map_err(not_run)? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(GitError::TimedOut(limit.as_secs()));
            }
            None => std::thread::sleep(PAUSE),
        }
    };
    if status.success() {
        return output.recv_timeout(limit).map_err(|_| GitError::TimedOut(limit.as_secs()));
    }
    // Its last words are on their way.
    while let Ok(line) = lines.recv_timeout(LAST_WORDS) {
        hear(line);
    }
    match words.trim() {
        "" => Err(GitError::Failed(status.to_string())),
        words => Err(GitError::Failed(words.to_owned())),
    }
}

/// Reads what git says to its end and hands it on line by line. A pipe that breaks only makes it shorter.
fn listen(errors: impl Read, lines: &mpsc::Sender<String>) {
    let mut line = Vec::new();
    for byte in BufReader::new(errors).bytes().map_while(Result::ok) {
        if !matches!(byte, b'\r' | b'\n') {
            line.push(byte);
            // A line without an end is no line of git's.
            if line.len() < MAX_WORDS {
                continue;
            }
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        if !text.is_empty() && lines.send(text).is_err() {
            return;
        }
    }
    // Nobody may be there to hear it any more.
    let _ = lines.send(String::from_utf8_lossy(&line).trim().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a hung ssh does: the child of git holds the pipe after git was killed.
    #[test]
    #[cfg(unix)]
    fn the_time_limit_holds_whatever_git_has_started() {
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
