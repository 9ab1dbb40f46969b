//! The configuration of a repository in which git is going to run.
//!
//! A repository under `skills_root` may come from someone else, and its configuration can name programs in dozens of
//! ways. So git runs there only if every setting is on an allowlist of settings that name none. The parser accepts
//! simple lines only. The user's own configuration is not checked: credentials, ssh and proxies keep working.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use skill_fs::AbsPath;

use crate::GitError;
use crate::git::user::is_declared_safe;

/// The size limit of a configuration file.
const MAX_CONFIG: u64 = 4 << 20;
/// The size limit of a gitfile or `commondir`.
const MAX_POINTER: u64 = 64 << 10;

/// Sections in which no setting can start a program when git fetches, lists references or reads an object.
const SECTIONS: [&str; 22] = [
    "advice",
    "author",
    "branch",
    "checkout",
    "color",
    "column",
    "committer",
    "feature",
    "gui",
    "index",
    "init",
    "lfs",
    "log",
    "pull",
    "push",
    "rebase",
    "rerere",
    "stash",
    "status",
    "tag",
    "user",
    "worktree",
];

/// Settings of other sections that cannot start a program. `core.fsmonitor` and `core.hooksPath` can, but csk overrides
/// them for every git that it starts.
const KEYS: [&str; 68] = [
    "commit.gpgsign",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commitgraph",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.fsmonitor",
    "core.hidedotfiles",
    "core.hookspath",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.loosecompression",
    "core.multipackindex",
    "core.packedgitlimit",
    "core.packedgitwindowsize",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.worktree",
    "diff.algorithm",
    "diff.renames",
    "extensions.objectformat",
    "extensions.worktreeconfig",
    "fetch.fsckobjects",
    "fetch.parallel",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.writecommitgraph",
    "gc.auto",
    "gc.autodetach",
    "maintenance.auto",
    "maintenance.strategy",
    "merge.conflictstyle",
    "merge.ff",
    "receive.denycurrentbranch",
    "receive.denydeletes",
    "receive.denynonfastforwards",
    "remote.fetch",
    "remote.followremotehead",
    "remote.gh-resolved",
    "remote.mirror",
    "remote.prune",
    "remote.prunetags",
    "remote.push",
    "remote.pushurl",
    "remote.skipdefaultupdate",
    "remote.skipfetchall",
    "remote.tagopt",
    "remote.url",
    "submodule.active",
    "submodule.url",
    "transfer.fsckobjects",
];

/// A repository's git folder and its settings.
#[derive(Debug, Clone)]
pub(crate) struct GitDir {
    repository: AbsPath,
    /// The folder with `HEAD`.
    path: PathBuf,
    /// Every setting, in file order.
    settings: Vec<Setting>,
    /// The error for the first line that could not be parsed.
    unread: Option<GitError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    /// `section.key` in lower case, without the subsection.
    key: String,
    /// The subsection, as in `[remote "origin"]`.
    name: Option<String>,
    value: String,
}

impl GitDir {
    /// Finds the git folder of `repository`: its `.git` folder, the target of its gitfile, or, for a bare repository,
    /// the folder itself.
    pub(crate) fn of(repository: &AbsPath) -> Result<Self, GitError> {
        let no_repository =
            || GitError::Failed(format!("`{repository}` is not a git repository, or is corrupt"));
        let entry = repository.join(".git").as_path().to_owned();
        let path = match fs::metadata(&entry) {
            Ok(found) if found.is_dir() => entry,
            Ok(_) => {
                let text = read(&entry, MAX_POINTER)?.ok_or_else(no_repository)?;
                let place = text.strip_prefix("gitdir: ").ok_or_else(no_repository)?;
                repository.as_path().join(place.trim_end())
            }
            Err(_) => repository.as_path().to_owned(),
        };
        let common = match read(&path.join("commondir"), MAX_POINTER)? {
            Some(text) => path.join(text.trim_end()),
            None => path.clone(),
        };
        let is_one = path.join("HEAD").is_file()
            && common.join("objects").is_dir()
            && common.join("refs").is_dir();
        if !is_one {
            return Err(no_repository());
        }
        let mut git_dir = Self {
            repository: repository.clone(),
            path: path.clone(),
            settings: Vec::new(),
            unread: None,
        };
        for file in [common.join("config"), path.join("config.worktree")] {
            if let Some(text) = read(&file, MAX_CONFIG)? {
                git_dir.add(&file, &text);
            }
        }
        Ok(git_dir)
    }

    fn add(&mut self, file: &Path, text: &str) {
        match parse(text) {
            Ok(settings) => self.settings.extend(settings),
            Err(line) => {
                let message =
                    format!("cannot read `{}`: unsupported syntax on line {line}", file.display());
                self.unread = Some(GitError::Failed(message));
            }
        }
    }

    /// Returns the git folder if the user owns it and none of its settings can start a program.
    pub(crate) fn checked(&self) -> Result<&Path, GitError> {
        self.check_owner()?;
        self.check_settings()?;
        Ok(&self.path)
    }

    /// Refuses a repository that another user could change at any time. Git does the same for a repository that it
    /// discovers, but not for one given with `--git-dir`.
    fn check_owner(&self) -> Result<(), GitError> {
        let folders = [self.repository.as_path(), self.path.as_path()];
        let is_own = |path: &Path| {
            gix::sec::Trust::from_path_ownership(path)
                .map(|trust| trust == gix::sec::Trust::Full)
                .map_err(|error| {
                    GitError::Failed(format!("cannot read `{}`: {error}", path.display()))
                })
        };
        if (is_own(folders[0])? && is_own(folders[1])?) || is_declared_safe(&self.path, &folders)? {
            return Ok(());
        }
        let repository = &self.repository;
        Err(GitError::Failed(format!(
            "dubious ownership: `{repository}` belongs to another user; to trust it, run `git config --global --add safe.directory {repository}`"
        )))
    }

    fn check_settings(&self) -> Result<(), GitError> {
        if let Some(error) = &self.unread {
            return Err(error.clone());
        }
        let is_known = |setting: &Setting| {
            let section = setting.key.split('.').next().unwrap_or_default();
            SECTIONS.contains(&section) || KEYS.contains(&setting.key.as_str())
        };
        match self.settings.iter().find(|setting| !is_known(setting)) {
            None => Ok(()),
            Some(setting) => Err(GitError::Setting {
                path: self.path.display().to_string(),
                key: setting.shown(),
            }),
        }
    }

    /// Returns the URL that the repository is fetched from, or `None` if it has no `origin`.
    pub(crate) fn origin(&self) -> Result<Option<String>, GitError> {
        if let Some(error) = &self.unread {
            return Err(error.clone());
        }
        // An included file could set another origin.
        let is_include = |setting: &&Setting| setting.key.starts_with("include");
        if let Some(setting) = self.settings.iter().find(is_include) {
            let path = self.path.display().to_string();
            return Err(GitError::Setting { path, key: setting.shown() });
        }
        let is_url = |setting: &&Setting| {
            setting.key == "remote.url" && setting.name.as_deref() == Some("origin")
        };
        // Git fetches from the first URL; the others are for pushing.
        let urls = self.settings.iter().filter(is_url).map(|setting| setting.value.clone());
        Ok(urls.into_iter().find(|url| !url.is_empty()))
    }
}

impl Setting {
    fn shown(&self) -> String {
        match (&self.name, self.key.split_once('.')) {
            (Some(name), Some((section, key))) => format!("{section}.{name}.{key}"),
            _ => self.key.clone(),
        }
    }
}

fn read(path: &Path, limit: u64) -> Result<Option<String>, GitError> {
    let failed = |what: &str| GitError::Failed(format!("cannot read `{}`: {what}", path.display()));
    // Opening anything but a regular file may block.
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(failed("not a regular file")),
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(&error.to_string())),
    }
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| failed(&error.to_string()))?;
    file.take(limit + 1).read_to_string(&mut text).map_err(|error| failed(&error.to_string()))?;
    if text.len() as u64 > limit {
        return Err(failed("the file is too large"));
    }
    Ok(Some(text))
}

/// Parses simple lines only: a section, a setting, a comment or a blank line. Fails with the number of any other line,
/// since git might read it differently from this parser.
fn parse(text: &str) -> Result<Vec<Setting>, usize> {
    let mut section: Option<(String, Option<String>)> = None;
    let mut settings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let bad = number + 1;
        let line = line.trim();
        let is_odd = |c: char| c.is_control() && c != '\t';
        if line.contains(is_odd) || line.contains('\u{feff}') {
            return Err(bad);
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let (header, rest) = header.split_once(']').ok_or(bad)?;
            // A setting on the line of its section is not accepted.
            if !rest.trim_start().is_empty() && !rest.trim_start().starts_with(['#', ';']) {
                return Err(bad);
            }
            section = Some(header_of(header).ok_or(bad)?);
            continue;
        }
        let (section, name) = section.as_ref().ok_or(bad)?;
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim_end(), value_of(value.trim_start()).ok_or(bad)?),
            None => (line, String::new()),
        };
        let is_plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if key.is_empty() || !is_plain {
            return Err(bad);
        }
        let key = format!("{section}.{}", key.to_ascii_lowercase());
        settings.push(Setting { key, name: name.clone(), value });
    }
    Ok(settings)
}

/// Parses the text between the brackets of a section.
fn header_of(text: &str) -> Option<(String, Option<String>)> {
    let is_plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let Some((section, name)) = text.split_once([' ', '\t']) else {
        // The legacy form `[remote.origin]` is not accepted.
        return is_plain(text).then(|| (text.to_ascii_lowercase(), None));
    };
    let name = name.trim_start().strip_prefix('"')?.strip_suffix('"')?;
    let is_simple = !name.contains(['"', '\\']);
    (is_plain(section) && is_simple).then(|| (section.to_ascii_lowercase(), Some(name.to_owned())))
}

/// Parses a value: removes quotes and comments. A value that continues on the next line is not accepted.
fn value_of(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'b' => '\u{8}',
                other @ ('"' | '\\') => other,
                _ => return None,
            }),
            '#' | ';' if !is_quoted => break,
            other => value.push(other),
        }
    }
    (!is_quoted).then(|| if text.contains('"') { value } else { value.trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> GitDir {
        let repository = AbsPath::new("/r").unwrap();
        GitDir { repository, path: PathBuf::from("/r"), settings: Vec::new(), unread: None }
    }

    fn verdict(text: &str) -> String {
        let path = PathBuf::from("/r");
        let mut dir = empty();
        dir.add(&path.join("config"), text);
        match dir.check_settings() {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn settings_that_git_writes_are_accepted() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                    [remote \"origin\"]\n\turl = https://x.test/a.git # here\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = \"A; B\"\n";
        assert_eq!(verdict(text), "fine");
        let mut dir = empty();
        dir.add(Path::new("config"), text);
        assert_eq!(dir.origin(), Ok(Some("https://x.test/a.git".to_owned())));
    }

    #[test]
    fn settings_that_could_start_a_program_are_refused() {
        for text in [
            "[core]\n\tsshCommand = x",
            "[core]\n\tgitProxy = x",
            "[core]\n\taskPass = x",
            "[core]\n\talternateRefsCommand = x",
            "[core]\n\tpager = x",
            "[core] sshCommand = x",
            "[core]sshCommand = x",
            "[core]\n\tbare = true \\\n\tsshCommand = x",
            "[user]\n\tname = \"a\n[core]\nsshCommand = x\"",
            "[user]\rsshCommand = x",
            "[credential]\n\thelper = x",
            "[credential \"https://x.test\"]\n\thelper = x",
            "[remote \"origin\"]\n\tuploadpack = x",
            "[remote \"https://x.test/a.git\"]\n\tuploadpack = x",
            "[remote \"origin\"]\n\tvcs = x",
            "[remote \"origin\"]\n\tproxy = x",
            "[remote.origin]\n\tuploadpack = x",
            "[url \"ext::x\"]\n\tinsteadOf = https://x.test",
            "[include]\n\tpath = x",
            "[includeIf \"gitdir:/\"]\n\tpath = x",
            "[filter \"x\"]\n\tsmudge = x",
            "[protocol \"ext\"]\n\tallow = always",
            "[uploadpack]\n\tpackObjectsHook = x",
            "[gpg]\n\tprogram = x",
            "[diff]\n\texternal = x",
            "[gc]\n\trecentObjectsHook = x",
            "[fetch]\n\trecurseSubmodules = true",
            "[submodule \"x\"]\n\tupdate = !x",
            "[http]\n\tproxy = x",
            "[trace2]\n\teventTarget = x",
            "[unknown]\n\tkey = x",
            "sshCommand = x",
            "\u{feff}[core]\n\tsshCommand = x",
        ] {
            assert_ne!(verdict(text), "fine", "{text}");
        }
        assert!(verdict("[remote \"o\"]\nvcs=x").contains("`remote.o.vcs`"));
    }
}
