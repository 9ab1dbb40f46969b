//! Reads the git configuration of the user and the system: the global ignore file, and which folders of other users are
//! safe. The repository's own configuration does not count.

#![expect(clippy::disallowed_methods, reason = "reads the user's git configuration")]

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::config::file::includes;
use gix::config::file::includes::conditional;
use gix::config::path::interpolate;
use gix::config::{File, Source, file};

use crate::GitError;

/// Returns the user's global ignore file. `git_dir` is needed to evaluate conditional includes.
pub(crate) fn user_rules(git_dir: &Path) -> Result<Option<PathBuf>, GitError> {
    let config_folders = ConfigFolders::find();
    let found = config_folders.configs(git_dir)?;
    let found = found.iter().rev().find_map(|config| config.path("core.excludesFile"));
    match found {
        Some(path) if path.value.is_empty() => Ok(None),
        Some(path) => {
            path.interpolate(config_folders.interpolate()).map(Some).map_err(|error| failed(&error))
        }
        None => Ok(config_folders.xdg.map(|folder| folder.join("ignore"))),
    }
}

/// Returns true if `safe.directory` lists one of these folders.
pub(crate) fn is_declared_safe(git_dir: &Path, folders: &[&Path]) -> Result<bool, GitError> {
    let config_folders = ConfigFolders::find();
    let mut is_safe = false;
    for config in config_folders.configs(git_dir)? {
        for value in config.strings("safe.directory").into_iter().flatten() {
            let value = value.to_str_lossy().into_owned();
            let value = match (value.strip_prefix("~/"), &config_folders.home) {
                (Some(rest), Some(home)) => home.join(rest).display().to_string(),
                _ => value,
            };
            is_safe = match (value.as_str(), value.strip_suffix("/*")) {
                // An empty value resets the list.
                ("", _) => false,
                ("*", _) => true,
                (_, Some(above)) => is_safe || folders.iter().any(|path| path.starts_with(above)),
                (exact, None) => is_safe || folders.iter().any(|path| *path == Path::new(exact)),
            };
        }
    }
    Ok(is_safe)
}

fn failed(error: &dyn std::fmt::Display) -> GitError {
    GitError::Failed(format!("cannot read your git configuration: {error}"))
}

/// Where the user's git configuration is.
struct ConfigFolders {
    home: Option<PathBuf>,
    xdg: Option<PathBuf>,
}

impl ConfigFolders {
    fn find() -> Self {
        let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
        let xdg = env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
        let xdg = xdg.map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".config")));
        Self { xdg: xdg.map(|folder| folder.join("git")), home }
    }

    fn interpolate(&self) -> interpolate::Context<'_> {
        interpolate::Context {
            git_install_dir: None,
            home_dir: self.home.as_deref(),
            home_for_user: Some(interpolate::home_for_user),
        }
    }

    /// Reads the configuration files of the system and the user; later ones win.
    fn configs(&self, git_dir: &Path) -> Result<Vec<File>, GitError> {
        let conditional = conditional::Context { git_dir: Some(git_dir), ..Default::default() };
        let options = file::init::Options {
            includes: includes::Options::follow(self.interpolate(), conditional),
            ..Default::default()
        };
        let mut configs = Vec::new();
        for (source, path) in sources(self.home.as_deref(), self.xdg.as_deref()) {
            if path.is_file() {
                let meta = file::Metadata::from(source).at(path);
                let config = File::from_paths_metadata([meta], options);
                configs.extend(config.map_err(|error| failed(&error))?);
            }
        }
        configs.extend(File::from_env(options).map_err(|error| failed(&error))?);
        Ok(configs)
    }
}

/// Returns the configuration files; later ones win. The system file is expected in its usual place on Linux, since
/// finding it elsewhere would require running git.
fn sources(home: Option<&Path>, xdg: Option<&Path>) -> Vec<(Source, PathBuf)> {
    let is_set = |value: &OsString| !matches!(value.to_str(), Some("" | "0" | "false" | "no"));
    let mut sources = Vec::new();
    if !env::var_os("GIT_CONFIG_NOSYSTEM").is_some_and(|value| is_set(&value)) {
        let system = env::var_os("GIT_CONFIG_SYSTEM").map(PathBuf::from);
        sources.push((Source::System, system.unwrap_or_else(|| PathBuf::from("/etc/gitconfig"))));
    }
    match env::var_os("GIT_CONFIG_GLOBAL") {
        Some(path) => sources.push((Source::User, PathBuf::from(path))),
        None => {
            sources.extend(xdg.map(|folder| (Source::Git, folder.join("config"))));
            sources.extend(home.map(|folder| (Source::User, folder.join(".gitconfig"))));
        }
    }
    sources
}
