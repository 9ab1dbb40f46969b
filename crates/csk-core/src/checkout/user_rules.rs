//! The user's own file of ignore rules, which holds in every repository. Only the configuration of the user and of the
//! system says where it is; what a repository says does not count.

#![expect(clippy::disallowed_methods, reason = "reads the user's git configuration")]

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gix::config::file::includes;
use gix::config::file::includes::conditional;
use gix::config::path::interpolate;
use gix::config::{File, Source, file};

use crate::GitError;

/// Returns the user's file of ignore rules. `git_dir` decides about what is included for some repositories only.
pub(super) fn user_rules(git_dir: &Path) -> Result<Option<PathBuf>, GitError> {
    let failed = |error: &dyn std::fmt::Display| {
        GitError::Failed(format!("cannot read your git configuration: {error}"))
    };
    let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
    let xdg = env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let xdg = xdg.or_else(|| Some(home.as_ref()?.join(".config"))).map(|folder| folder.join("git"));
    let interpolate = interpolate::Context {
        git_install_dir: None,
        home_dir: home.as_deref(),
        home_for_user: Some(interpolate::home_for_user),
    };
    let conditional = conditional::Context { git_dir: Some(git_dir), ..Default::default() };
    let options = file::init::Options {
        includes: includes::Options::follow(interpolate, conditional),
        ..Default::default()
    };
    let mut found = None;
    for (source, path) in sources(home.as_deref(), xdg.as_deref()) {
        if !path.is_file() {
            continue;
        }
        let meta = file::Metadata::from(source).at(path);
        let config = File::from_paths_metadata([meta], options).map_err(|error| failed(&error))?;
        let path = config.and_then(|config| config.path("core.excludesFile"));
        found = path.or(found);
    }
    let told = File::from_env(options).map_err(|error| failed(&error))?;
    let found = told.and_then(|config| config.path("core.excludesFile")).or(found);
    match found {
        Some(path) if path.value.is_empty() => Ok(None),
        Some(path) => path.interpolate(interpolate).map(Some).map_err(|error| failed(&error)),
        None => Ok(xdg.map(|folder| folder.join("ignore"))),
    }
}

/// Returns the files of configuration, the later of which win. That of the system is looked for where Linux has it:
/// finding that of another installation would take starting git.
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
