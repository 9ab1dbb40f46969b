//! Builds the sandbox specification from a permit. It contains nothing beyond the permit.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sandbox::{Guarantee, Limits, Network, Spec, Stdin, Workspace, Writes};
use skill::capabilities::{Anchor, AnchoredFolder, Reach};
use skill_state::SkillSource;

use super::choose::{ChosenScript, RunMethod};
use super::environment::environment;
use super::interpreter::Interpreter;
use super::outside::{overlaps, path_of};
use super::packages::ProjectPackages;
use super::{Invocation, ProvidedPaths};
use crate::decide::permit::Permit;

/// What was found for a run on this machine.
pub(crate) struct RunInputs<'a> {
    /// Paths that it gets without a grant.
    pub(crate) provided: &'a ProvidedPaths,
    /// The script in the copy of the skill.
    pub(crate) script: &'a Path,
    /// The script, and how to run it.
    pub(crate) chosen: &'a ChosenScript,
    pub(crate) interpreter: Option<&'a Interpreter>,
    /// The project's Python and node, for scripts that start them.
    pub(crate) companions: &'a [Interpreter],
    /// The project's packages.
    pub(crate) packages: &'a ProjectPackages,
    /// The caller's environment; only granted variables are passed on.
    pub(crate) env: &'a [(OsString, OsString)],
}

/// Runs a Python module like `-m` does, but imports it from the skill.
const RUN_MODULE: &str = "import runpy, sys; sys.path[0] = sys.argv[1]; name = sys.argv[2]; \
                          del sys.argv[1:3]; runpy.run_module(name, run_name='__main__', alter_sys=True)";

/// The default memory limit of a module.
const WASM_MEMORY: u64 = 128 << 20;

/// Returns the program for the sandbox with its arguments and capabilities.
pub(crate) fn spec(permit: &Permit, inputs: &RunInputs<'_>) -> Result<Spec, String> {
    let (capabilities, options) = (permit.capabilities(), &permit.plan().invocation);
    let (program, mut args) = program(inputs);
    args.extend(options.args.iter().cloned());
    let may_write = capabilities.write.has(&AnchoredFolder::at(Anchor::Workspace));
    let writes = match (may_write, permit.may_write_directly()) {
        (false, _) => Writes::Never,
        (true, true) if permit.may_delete() => Writes::Direct,
        (true, true) => {
            return Err(
                "direct writes also need approval for deletions; pass --deletions".to_owned()
            );
        }
        (true, false) => Writes::Layer,
    };
    let provided = inputs.provided;
    let mut read = vec![provided.skill.clone()];
    read.extend(provided.interpreters.iter().cloned());
    read.extend(granted_places(&capabilities.read, provided)?);
    read.extend(provided.packages.iter().cloned());
    // Sent data cannot be taken back, so a dry run sends nothing.
    let is_cut = capabilities.network.is_nothing() || options.dry_run;
    let network = if is_cut { Network::None } else { Network::Proxy };
    let is_wasm = inputs.chosen.runs == RunMethod::Wasm;
    // A native program starts in its workspace; a module only sees the workspace if it may read or write it.
    let has_workspace =
        !is_wasm || may_write || capabilities.read.has(&AnchoredFolder::at(Anchor::Workspace));
    let workspace = Workspace { path: provided.workspace.clone(), writes };
    Ok(Spec {
        args,
        env: environment(permit, inputs, &network)?,
        cwd: provided.workspace.clone(),
        read,
        workspace: has_workspace.then_some(workspace),
        network,
        limits: limits(options, &inputs.chosen.runs),
        stdin: stdin(options),
        required: required(permit.plan().subject.source, writes, permit.allow_degraded()),
        ..Spec::new(program)
    })
}

/// Returns the program to start, and the arguments before the script's own.
fn program(inputs: &RunInputs<'_>) -> (PathBuf, Vec<OsString>) {
    match (&inputs.chosen.runs, inputs.interpreter) {
        (RunMethod::Native | RunMethod::Wasm, _) | (RunMethod::Interpreted { .. }, None) => {
            (inputs.script.to_owned(), Vec::new())
        }
        (RunMethod::Interpreted { options, .. }, Some(interpreter)) => {
            let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
            match &inputs.chosen.module {
                // A module is imported from the skill, whatever the working folder is.
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

fn limits(options: &Invocation, runs: &RunMethod) -> Limits {
    let usual = Limits::default();
    let memory = match runs {
        RunMethod::Wasm => WASM_MEMORY,
        RunMethod::Native | RunMethod::Interpreted { .. } => usual.memory,
    };
    Limits {
        wall: options.timeout.unwrap_or(usual.wall),
        memory: options.memory.unwrap_or(memory),
        ..usual
    }
}

fn stdin(options: &Invocation) -> Stdin {
    match &options.input {
        // The skill's defaults do not replace piped input.
        Some(input) if !(input.is_default() && options.is_piped) => {
            Stdin::Bytes(input.as_str().as_bytes().to_vec())
        }
        Some(_) | None if options.is_piped => Stdin::Inherited,
        Some(_) | None => Stdin::Bytes(Vec::new()),
    }
}

/// Returns the required guarantees: for an untrusted skill everything except the memory limit, for others the core.
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
    // Direct writes must not reach protected names.
    let more = (writes == Writes::Direct).then_some(Guarantee::SubpathProtect);
    all.into_iter().chain(more).filter(|guarantee| !without.contains(guarantee)).collect()
}

/// Returns the paths of granted places. Each was granted by its real path, so a path that now leads elsewhere is not
/// covered.
fn granted_places(
    read: &Reach<AnchoredFolder>,
    provided: &ProvidedPaths,
) -> Result<Vec<PathBuf>, String> {
    let Reach::Only(places) = read else { return Ok(Vec::new()) };
    let mut paths = Vec::new();
    for (place, path) in
        places.iter().filter_map(|place| Some((place, path_of(place, provided.home.as_deref())?)))
    {
        match path.canonicalize() {
            Ok(real) if real == path => paths.push(path),
            Ok(real) => {
                return Err(format!(
                    "`{place}` now resolves to `{}`, which was not approved",
                    real.display()
                ));
            }
            // A deleted path cannot be read anyway.
            Err(_) => {}
        }
    }
    paths.retain(|path| !overlaps(path, &provided.own));
    Ok(paths)
}
