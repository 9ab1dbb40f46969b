//! Builds the environment of a command line: what the caller's environment may contribute, and nothing else.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sandbox::{Network, PROXY_PLACEHOLDER};
use skill::capabilities::Reach;

use super::toolchains::SearchPath;
use crate::decide::command::CommandPermit;
use crate::run::{PROXIES, forbidden_variable, is_locale};
use crate::state::variables::Variables;

/// Variables that a command line gets with the caller's value: terminals, languages, build tools. None of them is a
/// secret, and none makes a program outside of the sandbox do anything.
const PASSED: [&str; 46] = [
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "LANG",
    "LANGUAGE",
    "CI",
    "USER",
    "LOGNAME",
    "SHELL",
    "SHLVL",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_PROJECT_DIR",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_EDITOR",
    "GIT_PAGER",
    "PAGER",
    "MANPAGER",
    "LESS",
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUTF8",
    "PYTHONIOENCODING",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_ROOT_USER_ACTION",
    "NPM_CONFIG_UPDATE_NOTIFIER",
    "NPM_CONFIG_FUND",
    "NPM_CONFIG_AUDIT",
    "DEBIAN_FRONTEND",
    "SOURCE_DATE_EPOCH",
    "MAKEFLAGS",
];

/// Folders that some programs find through a variable; passed on only if the command line can read the folder.
const FOLDERS: [&str; 12] = [
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "GOROOT",
    "JAVA_HOME",
    "RBENV_ROOT",
    "ASDF_DIR",
    "PNPM_HOME",
];

/// What the environment of a command line depends on.
pub(super) struct EnvironmentInputs<'a> {
    pub(super) variables: &'a Variables,
    pub(super) search: &'a SearchPath,
    pub(super) network: &'a Network,
    /// The home folder in the sandbox.
    pub(super) home: &'a Path,
    /// Settings of git, as pairs of key and value.
    pub(super) git: &'a [(String, String)],
}

/// Returns every variable of a command line.
pub(super) fn environment(
    permit: &CommandPermit,
    inputs: &EnvironmentInputs<'_>,
) -> Result<Vec<(OsString, OsString)>, String> {
    let path = std::env::join_paths(&inputs.search.folders)
        .map_err(|error| format!("cannot build PATH: {error}"))?;
    let mut env: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), path),
        ("HOME".into(), inputs.home.into()),
        ("TMPDIR".into(), "/tmp".into()),
        ("OPENSKILLS_SANDBOX".into(), "1".into()),
    ];
    let known = |name: &str| inputs.variables.get(name).map(OsStr::to_owned);
    env.extend(PASSED.iter().filter_map(|name| Some(((*name).into(), known(name)?))));
    let workspace = &permit.plan().workspace;
    let is_readable = |folder: &Path| {
        let reads = inputs.search.reads.iter().map(std::path::PathBuf::as_path);
        let mut visible = reads.chain([workspace.as_path(), Path::new("/usr")]);
        visible.any(|read| folder.starts_with(read) || read.starts_with(folder))
    };
    env.extend(FOLDERS.iter().filter_map(|name| {
        let value = known(name).filter(|value| is_readable(Path::new(value)))?;
        Some(((*name).into(), value))
    }));
    let is_locale = |name: &OsString| name.to_str().is_some_and(is_locale);
    env.extend(inputs.variables.all().iter().filter(|(name, _)| is_locale(name)).cloned());
    if *inputs.network == Network::Proxy {
        env.extend(PROXIES.map(|name| (name.into(), PROXY_PLACEHOLDER.into())));
    }
    env.extend(git_settings(inputs.git));
    if let Reach::Only(names) = &permit.capabilities().env {
        for name in names.iter().filter(|name| forbidden_variable(name).is_none()) {
            if let Some(value) =
                known(name).filter(|_| !env.iter().any(|(known, _)| known == name.as_str()))
            {
                env.push((name.into(), value));
            }
        }
    }
    Ok(env)
}

/// Returns true for a variable that a command line may get without a grant.
pub(crate) fn is_command_variable(name: &str) -> bool {
    const OWN: [&str; 4] = ["PATH", "HOME", "TMPDIR", "OPENSKILLS_SANDBOX"];
    OWN.contains(&name)
        || PASSED.contains(&name)
        || FOLDERS.contains(&name)
        || PROXIES.contains(&name)
        || is_locale(name)
        || name.starts_with("GIT_CONFIG_")
}

/// Passes settings to git by its own variables, because the user's configuration is not visible in the sandbox.
fn git_settings(settings: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let mut env = vec![("GIT_CONFIG_COUNT".into(), settings.len().to_string().into())];
    for (number, (key, value)) in settings.iter().enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{number}").into(), key.into()));
        env.push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
    }
    env
}
