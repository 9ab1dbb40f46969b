//! From a permit to what the sandbox takes. Whatever is not in the permit is not in there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sandbox::{Guarantee, Limits, Network, Spec, Stdin, Workspace, Writes};
use skill::capabilities::{Anchor, Place, Reach};
use skill_state::SkillSource;

use super::choose::{Chosen, Runs};
use super::environment::environment;
use super::interpreter::Interpreter;
use super::outside::{path_of, touches};
use super::packages::ProjectPackages;
use super::{Invocation, Provided};
use crate::decide::permit::Permit;

/// What was found on this machine for a run.
pub(crate) struct RunInputs<'a> {
    /// What it is given without a grant.
    pub(crate) provided: &'a Provided,
    /// The script in the copy of the skill.
    pub(crate) script: &'a Path,
    /// What runs, and how.
    pub(crate) chosen: &'a Chosen,
    pub(crate) interpreter: Option<&'a Interpreter>,
    /// Python and node as the project has them, for scripts that start them.
    pub(crate) companions: &'a [Interpreter],
    /// The project's folders of packages for node, and what links in them lead to.
    pub(crate) packages: &'a ProjectPackages,
    /// The environment of the caller, of which only what is named is given on.
    pub(crate) env: &'a [(OsString, OsString)],
}

/// Runs a module of Python as `-m` does, but for where it is looked for.
const RUN_MODULE: &str = "import runpy, sys; sys.path[0] = sys.argv[1]; name = sys.argv[2]; \
                          del sys.argv[1:3]; runpy.run_module(name, run_name='__main__', alter_sys=True)";

/// The memory of a module, unless more is asked for.
const WASM_MEMORY: u64 = 128 << 20;

/// Returns what the sandbox is to run, and with which capabilities.
pub(crate) fn spec(permit: &Permit, inputs: &RunInputs<'_>) -> Result<Spec, String> {
    let (capabilities, options) = (permit.capabilities(), &permit.plan().invocation);
    let (program, mut args) = program(inputs);
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
    let provided = inputs.provided;
    let mut read = vec![provided.skill.clone()];
    read.extend(provided.interpreters.iter().cloned());
    read.extend(granted_places(&capabilities.read, provided)?);
    read.extend(provided.packages.iter().cloned());
    // What is sent cannot be taken back, so a dry run sends nothing.
    let is_cut = capabilities.network.is_nothing() || options.dry_run;
    let network = if is_cut { Network::None } else { Network::Proxy };
    let is_wasm = inputs.chosen.runs == Runs::Wasm;
    // A program of this machine starts in its workspace; one in WebAssembly sees it only if it may read or write it.
    let has_workspace =
        !is_wasm || may_write || capabilities.read.has(&Place::at(Anchor::Workspace));
    let workspace = Workspace { path: provided.workspace.clone(), writes };
    Ok(Spec {
        program,
        args,
        env: environment(permit, inputs, &network)?,
        cwd: provided.workspace.clone(),
        read,
        workspace: has_workspace.then_some(workspace),
        network,
        limits: limits(options, &inputs.chosen.runs),
        stdin: stdin(options),
        handed: None,
        required: required(permit.plan().subject.source, writes, permit.allow_degraded()),
        strongest: sandbox::Tier::A,
    })
}

/// Returns the program that starts, and what stands before the script's own arguments.
fn program(inputs: &RunInputs<'_>) -> (PathBuf, Vec<OsString>) {
    match (&inputs.chosen.runs, inputs.interpreter) {
        (Runs::Itself | Runs::Wasm, _) | (Runs::By { .. }, None) => {
            (inputs.script.to_owned(), Vec::new())
        }
        (Runs::By { options, .. }, Some(interpreter)) => {
            let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
            match &inputs.chosen.module {
                // The folder that a module is imported from is the skill's, wherever it runs.
                Some(module) => {
                    let folder = inputs.provided.skill.join(module.folder).into_os_string();
                    args.extend(["-c".into(), RUN_MODULE.into(), folder, (&module.name).into()]);
                }
                None => args.push(inputs.script.into()),
            }
            (interpreter.program.clone(), args)
        }
    }
}

fn limits(options: &Invocation, runs: &Runs) -> Limits {
    let usual = Limits::default();
    let memory = match runs {
        Runs::Wasm => WASM_MEMORY,
        Runs::Itself | Runs::By { .. } => usual.memory,
    };
    Limits {
        wall: options.timeout.unwrap_or(usual.wall),
        memory: options.memory.unwrap_or(memory),
        ..usual
    }
}

fn stdin(options: &Invocation) -> Stdin {
    match &options.input {
        // Defaults of the skill do not take the place of what is piped in.
        Some(input) if !(input.is_default() && options.is_piped) => {
            Stdin::Bytes(input.as_str().as_bytes().to_vec())
        }
        Some(_) | None if options.is_piped => Stdin::Inherited,
        Some(_) | None => Stdin::Bytes(Vec::new()),
    }
}

/// Returns what must hold: for a third-party skill everything but a bound on memory, for others the core.
pub(super) fn required(
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
fn granted_places(read: &Reach<Place>, provided: &Provided) -> Result<Vec<PathBuf>, String> {
    let Reach::Only(places) = read else { return Ok(Vec::new()) };
    let mut paths = Vec::new();
    for (place, path) in
        places.iter().filter_map(|place| Some((place, path_of(place, provided.home.as_deref())?)))
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
    paths.retain(|path| !touches(path, &provided.own));
    Ok(paths)
}
