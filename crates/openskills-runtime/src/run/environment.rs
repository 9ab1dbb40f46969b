//! Builds the environment of a run: variables set by the runtime, granted variables, and the user's locale.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sandbox::{Limits, Network, PROXY_PLACEHOLDER};
use skill::capabilities::Reach;

use super::choose::RunMethod;
use super::interpreter::Interpreter;
use super::variables::forbidden_variable;
use super::{Input, RunInputs};
use crate::decide::permit::Permit;

/// Variables that the runtime sets itself; all others need a grant.
const OWN: [&str; 14] = [
    "HOME",
    "TMPDIR",
    "LANG",
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUSERBASE",
    "PYTHONNOUSERSITE",
    PYTHON_PATH,
    "NODE_PATH",
    "SKILL_ID",
    "SKILL_NAME",
    "SKILL_DIR",
    "SKILL_INPUT",
    "TIMEOUT_MS",
];

/// The variable with the folders that Python imports from first.
pub(super) const PYTHON_PATH: &str = "PYTHONPATH";

/// Lets a script make its random numbers repeatable.
const SEED: &str = "RANDOM_SEED";

/// Variables in which programs look for a proxy.
pub(crate) const PROXIES: [&str; 5] =
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"];

/// The user's locale and time zone, which are not secret (POSIX, and what glibc adds).
const LOCALE: [&str; 14] = [
    "TZ",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];

/// Larger inputs are not passed as a variable, because the system limits the size of environment strings.
const MAX_INPUT: usize = 100_000;

/// Returns true for a variable that a run gets without a grant.
pub(super) fn is_own_variable(name: &str) -> bool {
    OWN.contains(&name) || name == SEED || PROXIES.contains(&name) || is_locale(name)
}

/// Returns true for a variable of the user's locale.
pub(crate) fn is_locale(name: &str) -> bool {
    LOCALE.contains(&name)
}

/// Returns every variable of a run.
pub(super) fn environment(
    permit: &Permit,
    inputs: &RunInputs<'_>,
    network: &Network,
) -> Result<Vec<(OsString, OsString)>, String> {
    let is_wasm = inputs.chosen.runs == RunMethod::Wasm;
    let mut env = if is_wasm { Vec::new() } else { of_machine(inputs)? };
    env.extend(of_skill(permit, inputs));
    if *network == Network::Proxy {
        env.extend(PROXIES.map(|name| (name.into(), PROXY_PLACEHOLDER.into())));
    }
    let Reach::Only(names) = &permit.capabilities().env else { return Ok(env) };
    for name in names {
        if let Some(why) = forbidden_variable(name) {
            return Err(why);
        }
        if let Some((_, value)) = inputs.env.iter().find(|(known, _)| known == name.as_str()) {
            env.push((name.into(), value.clone()));
        }
    }
    // Modules get neither locale nor time zone, so that their runs are reproducible.
    let is_of_locale = |name: &OsString| name.to_str().is_some_and(is_locale);
    let locale = inputs.env.iter().filter(|(name, _)| !is_wasm && is_of_locale(name));
    env.extend(locale.cloned());
    Ok(env)
}

/// Returns the variables that native programs need.
fn of_machine(inputs: &RunInputs<'_>) -> Result<Vec<(OsString, OsString)>, String> {
    // The user's own Python packages are in the real home folder, although HOME points elsewhere.
    let mut pythons = inputs.interpreter.into_iter().chain(inputs.companions);
    let user_base = pythons.find_map(|interpreter| interpreter.user_base.as_deref());
    let mut env: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), "/tmp/home".into()),
        ("TMPDIR".into(), "/tmp".into()),
        ("LANG".into(), "C.UTF-8".into()),
        ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
        ("PATH".into(), search_path(inputs)?),
        match user_base {
            Some(base) => ("PYTHONUSERBASE".into(), base.as_os_str().to_owned()),
            None => ("PYTHONNOUSERSITE".into(), "1".into()),
        },
    ];
    if !inputs.packages.prepared.is_empty() {
        env.push((PYTHON_PATH.into(), joined(&inputs.packages.prepared)?));
    }
    if !inputs.packages.node.is_empty() {
        env.push(("NODE_PATH".into(), joined(&inputs.packages.node)?));
    }
    Ok(env)
}

/// Returns the variables that every script and module gets.
fn of_skill(permit: &Permit, inputs: &RunInputs<'_>) -> Vec<(OsString, OsString)> {
    let plan = permit.plan();
    let options = &plan.invocation;
    let wall = options.timeout.unwrap_or(Limits::default().wall).as_millis();
    let folder = match inputs.chosen.runs {
        RunMethod::Wasm => "/skill".into(),
        RunMethod::Native | RunMethod::Interpreted { .. } => {
            inputs.provided.skill.clone().into_os_string()
        }
    };
    let mut env: Vec<(OsString, OsString)> = vec![
        ("SKILL_ID".into(), (&plan.subject.skill_id).into()),
        ("SKILL_NAME".into(), (&plan.subject.name).into()),
        ("TIMEOUT_MS".into(), wall.to_string().into()),
        ("SKILL_DIR".into(), folder),
    ];
    if let Some(seed) = options.seed {
        env.push((SEED.into(), seed.to_string().into()));
    }
    // A larger input is only on standard input.
    let input = options.input.as_ref().map_or("", Input::as_str);
    if input.len() < MAX_INPUT {
        env.push(("SKILL_INPUT".into(), input.into()));
    }
    env
}

/// Returns the PATH of a run: the project's environment first, as in an activated shell, and the system folders last.
fn search_path(inputs: &RunInputs<'_>) -> Result<OsString, String> {
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folder = |interpreter: &Interpreter| interpreter.program.parent().map(Path::to_owned);
    let own = inputs.interpreter.and_then(folder);
    let prepared = inputs.packages.prepared.iter().map(|folder| folder.join("bin"));
    let prepared = prepared.filter(|folder| folder.is_dir());
    let all = inputs.companions.iter().filter_map(folder).chain(own.clone());
    let mut path: Vec<PathBuf> = Vec::new();
    let first = all.filter(|folder| !usual.contains(folder));
    // Programs of packages never take the place of others.
    for folder in first.chain(own).chain(usual.clone()).chain(prepared) {
        if !path.contains(&folder) {
            path.push(folder);
        }
    }
    joined(&path)
}

fn joined(folders: &[PathBuf]) -> Result<OsString, String> {
    std::env::join_paths(folders).map_err(|error| format!("cannot build a search path: {error}"))
}
