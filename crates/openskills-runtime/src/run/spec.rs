//! From a permit to what the sandbox takes. Whatever is not in the permit is not in there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sandbox::proxy::Granted;
use sandbox::{Guarantee, Limits, Network, PROXY, Spec, Stdin, Workspace, Writes};
use skill::capabilities::{Anchor, Cover, Host, Place, Reach};
use skill_state::SkillSource;

use super::choose::{Module, Runs};
use super::interpreter::Interpreter;
use super::outside::path_of;
use super::packages::ProjectPackages;
use super::variables::never_given;
use super::{ExecutionOptions, Input};
use crate::decide::permit::Permit;

/// What is around a run.
pub(crate) struct Around<'a> {
    /// The copy of the skill that runs.
    pub(crate) skill: &'a Path,
    /// The script in it.
    pub(crate) script: &'a Path,
    pub(crate) runs: &'a Runs,
    pub(crate) module: Option<&'a Module>,
    pub(crate) interpreter: Option<&'a Interpreter>,
    /// Python and node as the project has them, for scripts that start them.
    pub(crate) companions: &'a [Interpreter],
    /// The project's folders of packages for node, and what links in them lead to.
    pub(crate) packages: &'a ProjectPackages,
    pub(crate) workspace: &'a Path,
    pub(crate) home: Option<&'a Path>,
    /// The environment of the caller, of which only what is named is given on.
    pub(crate) env: &'a [(OsString, OsString)],
}

/// Runs a module of Python as `-m` does, but for where it is looked for.
const RUN_MODULE: &str = "import runpy, sys; sys.path[0] = sys.argv[1]; name = sys.argv[2]; \
                          del sys.argv[1:3]; runpy.run_module(name, run_name='__main__', alter_sys=True)";

/// The memory of a module, unless more is asked for.
const WASM_MEMORY: u64 = 128 << 20;

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

/// Returns what the sandbox is to run, and with which capabilities.
pub(crate) fn spec(
    permit: &Permit,
    options: &ExecutionOptions,
    around: &Around<'_>,
) -> Result<Spec, String> {
    let capabilities = permit.capabilities();
    let (program, mut args) = match (around.runs, around.interpreter) {
        (Runs::Itself | Runs::Wasm, _) | (Runs::By { .. }, None) => {
            (around.script.to_owned(), Vec::new())
        }
        (Runs::By { options, .. }, Some(interpreter)) => {
            let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
            match around.module {
                // The folder that a module is imported from is the skill's, wherever it runs.
                Some(module) => {
                    let folder = around.skill.join(module.folder).into_os_string();
                    args.extend(["-c".into(), RUN_MODULE.into(), folder, (&module.name).into()]);
                }
                None => args.push(around.script.into()),
            }
            (interpreter.program.clone(), args)
        }
    };
    args.extend(options.args.iter().cloned());
    let may_write = capabilities.write.has(&Place::at(Anchor::Workspace));
    let writes = match (may_write, permit.may_write_directly()) {
        (false, _) => Writes::Never,
        (true, true) if permit.may_delete() => Writes::Direct,
        (true, true) => {
            return Err("direct writes need the approval of deletions: --deletions".to_owned());
        }
        (true, false) => Writes::Layer,
    };
    let mut read = vec![around.skill.to_owned()];
    let interpreters = around.interpreter.into_iter().chain(around.companions);
    for place in interpreters.flat_map(|interpreter| &interpreter.places) {
        if !read.contains(place) {
            read.push(place.clone());
        }
    }
    read.extend(granted_places(&capabilities.read, around)?);
    // What is sent cannot be taken back, so a dry run sends nothing.
    let is_cut = capabilities.network.is_nothing() || options.dry_run;
    let network = if is_cut { Network::None } else { Network::Proxy };
    let usual = Limits::default();
    let is_wasm = *around.runs == Runs::Wasm;
    let memory = if is_wasm { WASM_MEMORY } else { usual.memory };
    let limits = Limits {
        wall: options.timeout.unwrap_or(usual.wall),
        memory: options.memory.unwrap_or(memory),
        ..usual
    };
    // A program of this machine starts in its workspace; one in WebAssembly sees it only if it may read or write it.
    let has_workspace =
        !is_wasm || may_write || capabilities.read.has(&Place::at(Anchor::Workspace));
    let source = permit.plan().subject.source;
    Ok(Spec {
        program,
        args,
        env: environment(permit, options, around, &network)?,
        cwd: around.workspace.to_owned(),
        read,
        workspace: has_workspace.then(|| Workspace { path: around.workspace.to_owned(), writes }),
        network,
        limits,
        stdin: match &options.input {
            // Defaults of the skill do not take the place of what is piped in.
            Some(input) if !(input.is_default() && options.is_piped) => {
                Stdin::Bytes(input.as_str().as_bytes().to_vec())
            }
            Some(_) | None if options.is_piped => Stdin::Inherited,
            Some(_) | None => Stdin::Bytes(Vec::new()),
        },
        handed: None,
        required: required(source, writes, &options.allow_degraded),
        strongest: sandbox::Tier::A,
    })
}

/// Returns what must hold: for a stranger's skill everything but a bound on memory, for others the core.
pub(crate) fn required(
    source: SkillSource,
    writes: Writes,
    without: &BTreeSet<Guarantee>,
) -> BTreeSet<Guarantee> {
    let all: Vec<Guarantee> = match source {
        SkillSource::Builtin | SkillSource::Org | SkillSource::User => Guarantee::CORE.to_vec(),
        SkillSource::ThirdParty => {
            Guarantee::ALL.into_iter().filter(|guarantee| *guarantee != Guarantee::Mem).collect()
        }
    };
    // What is written directly must not reach names that run or steer something.
    let more = (writes == Writes::Direct).then_some(Guarantee::SubpathProtect);
    all.into_iter().chain(more).filter(|guarantee| !without.contains(guarantee)).collect()
}

/// Returns the paths of granted places. Each was granted by its real path; one that leads elsewhere by now was not.
fn granted_places(read: &Reach<Place>, around: &Around<'_>) -> Result<Vec<PathBuf>, String> {
    let Reach::Only(places) = read else { return Ok(Vec::new()) };
    let mut paths = Vec::new();
    for (place, path) in
        places.iter().filter_map(|place| Some((place, path_of(place, around.home)?)))
    {
        match path.canonicalize() {
            Ok(real) if real == path => paths.push(path),
            Ok(real) => {
                return Err(format!(
                    "`{place}` leads to {} now, which was not approved",
                    real.display()
                ));
            }
            // What is gone cannot be read, whoever granted it.
            Err(_) => {}
        }
    }
    Ok(paths)
}

fn environment(
    permit: &Permit,
    options: &ExecutionOptions,
    around: &Around<'_>,
    network: &Network,
) -> Result<Vec<(OsString, OsString)>, String> {
    let is_wasm = *around.runs == Runs::Wasm;
    let subject = &permit.plan().subject;
    let input = options.input.as_ref().map_or("", Input::as_str);
    let wall = options.timeout.unwrap_or(Limits::default().wall).as_millis().to_string();
    let of_machine = [
        ("HOME", "/tmp/home"),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    let of_skill =
        [("SKILL_ID", &*subject.skill_id), ("SKILL_NAME", &subject.name), ("TIMEOUT_MS", &wall)];
    // The user's own packages of Python are found below their real home, and no others.
    let mut pythons = around.interpreter.into_iter().chain(around.companions);
    let user_base = pythons.find_map(|interpreter| interpreter.user_base.as_deref());
    let of_user = match user_base {
        Some(base) => ("PYTHONUSERBASE", base.as_os_str().to_owned()),
        None => ("PYTHONNOUSERSITE", "1".into()),
    };
    let mut env: Vec<(OsString, OsString)> = of_machine
        .into_iter()
        .filter(|_| !is_wasm)
        .chain(of_skill)
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    if !is_wasm {
        env.push(("PATH".into(), search_path(around)?));
        env.push((of_user.0.into(), of_user.1));
        if !around.packages.node.is_empty() {
            env.push(("NODE_PATH".into(), joined(&around.packages.node)?));
        }
    }
    env.push(("SKILL_DIR".into(), if is_wasm { "/skill".into() } else { around.skill.into() }));
    if let Some(seed) = options.seed {
        env.push(("RANDOM_SEED".into(), seed.to_string().into()));
    }
    // A string of the environment has a size limit; what is larger is on standard input alone.
    if input.len() < 100_000 {
        env.push(("SKILL_INPUT".into(), input.into()));
    }
    if *network == Network::Proxy {
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"] {
            env.push((name.into(), PROXY.into()));
        }
    }
    let Reach::Only(names) = &permit.capabilities().env else { return Ok(env) };
    for name in names {
        if let Some(why) = never_given(name) {
            return Err(why);
        }
        if let Some((_, value)) = around.env.iter().find(|(known, _)| known == name.as_str()) {
            env.push((name.into(), value.clone()));
        }
    }
    // Where and when it runs is nothing to a module.
    for (name, value) in around
        .env
        .iter()
        .filter(|_| !is_wasm)
        .filter(|(name, _)| name.to_str().is_some_and(|name| LOCALE.contains(&name)))
    {
        env.push((name.clone(), value.clone()));
    }
    Ok(env)
}

/// Returns where a script finds programs: those of the project's environment first, as a shell in it would, and those of the system last.
fn search_path(around: &Around<'_>) -> Result<OsString, String> {
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folder = |interpreter: &Interpreter| interpreter.program.parent().map(Path::to_owned);
    let own = around.interpreter.and_then(folder);
    let all = around.companions.iter().filter_map(folder).chain(own.clone());
    let mut path: Vec<PathBuf> = Vec::new();
    let first = all.filter(|folder| !usual.contains(folder));
    for folder in first.chain(own).chain(usual.clone()) {
        if !path.contains(&folder) {
            path.push(folder);
        }
    }
    joined(&path)
}

fn joined(folders: &[PathBuf]) -> Result<OsString, String> {
    std::env::join_paths(folders).map_err(|error| format!("a folder cannot be searched: {error}"))
}

/// Returns whether a host was granted, and by what. A host is granted for the web; other services of it are not.
pub(crate) fn granted(network: &Reach<Host>, host: &str, port: u16) -> Granted {
    let Some(host) = Host::parse(host).filter(|_| matches!(port, 80 | 443)) else {
        return Granted::No;
    };
    match network {
        Reach::Everything => Granted::Covered,
        Reach::Only(hosts) if hosts.contains(&host) => Granted::Named,
        Reach::Only(hosts) if hosts.iter().any(|known| known.covers(&host)) => Granted::Covered,
        Reach::Only(_) => Granted::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_granted_by_name_or_by_a_rule_and_for_the_web_alone() {
        let hosts = ["api.test", "*.wide.test", "10.1.2.3"].map(|host| Host::parse(host).unwrap());
        let only = Reach::only(hosts);
        for (host, port, expected) in [
            ("api.test", 443, Granted::Named),
            ("api.test", 80, Granted::Named),
            ("api.test", 22, Granted::No),
            ("x.wide.test", 443, Granted::Covered),
            ("wide.test", 443, Granted::No),
            ("10.1.2.3", 443, Granted::Named),
            ("10.1.2.4", 443, Granted::No),
            ("fd12::1", 443, Granted::No),
        ] {
            assert_eq!(granted(&only, host, port), expected, "{host}:{port}");
        }
        // Any host is no host by name: addresses of private networks are not in it.
        assert_eq!(granted(&Reach::Everything, "10.1.2.3", 443), Granted::Covered);
        assert_eq!(granted(&Reach::Everything, "10.1.2.3", 6379), Granted::No);
    }
}
