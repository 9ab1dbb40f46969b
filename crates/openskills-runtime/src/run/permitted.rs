//! Pairs a sandbox specification with its permit. This is the only module that starts anything from a skill.
//!
//! Preparing a run depends on facts that were unknown when the permit was given, such as the path of the copy and the
//! interpreter. So the specification is checked against the permit before it can start, and cannot change afterwards.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the clock, and sandbox::start behind a permit"
)]

mod command;
mod fetch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sandbox::proxy::HostGrant;
use sandbox::{Captured, Guarantee, Network, Outcome, SandboxError, Spec, Workspace, Writes};
use sandbox_wasm::{Artifact, Guest, Job, Report, Stop, WasmError};
use skill::capabilities::{Anchor, AnchoredFolder, Capabilities, Cover, Host, Reach};

use super::Cancel;
use super::environment::{PYTHON_PATH, is_own_variable};
use super::outside::{overlaps, path_of};
use super::run_result::RunResult;
use super::spec::required;
use super::variables::forbidden_variable;
use crate::RuntimeError;
use crate::decide::permit::Permit;

pub(crate) use command::{FinishedCommand, PermittedCommand, ProvidedToCommand};
pub(crate) use fetch::{
    FinishedFetch, PermittedFetch, ProvidedToFetch, required as fetch_requirements,
};

/// Paths that every run gets without a grant.
#[derive(Debug)]
pub(crate) struct ProvidedPaths {
    /// The private copy of the skill.
    pub(crate) skill: PathBuf,
    /// Interpreters with their libraries.
    pub(crate) interpreters: Vec<PathBuf>,
    /// The project's Node.js packages, and prepared packages.
    pub(crate) packages: Vec<PathBuf>,
    /// The folder that it starts in: the requested workspace, or an empty one.
    pub(crate) workspace: PathBuf,
    /// The user's home folder with links resolved; granted places are relative to it.
    pub(crate) home: Option<PathBuf>,
    /// The folders of openskills and csk, which are never granted.
    pub(crate) own: Vec<PathBuf>,
}

/// A permit with the specification made for it. Both constructors refuse a specification that exceeds the permit.
#[derive(Debug)]
pub(crate) struct Permitted {
    permit: Arc<Permit>,
    spec: Spec,
}

/// The result of a module run.
pub(crate) struct ModuleResult {
    pub(crate) ran: RunResult,
    pub(crate) report: Report,
    /// Paths that it may read but did not get, because modules can only be given folders.
    pub(crate) skipped_paths: Vec<PathBuf>,
}

impl Permitted {
    /// Pairs a specification with its permit. Fails if the specification exceeds the permit.
    pub(crate) fn new(
        permit: Permit,
        spec: Spec,
        provided: &ProvidedPaths,
    ) -> Result<Self, RuntimeError> {
        match excess(&permit, &spec, provided) {
            Some(excess) => Err(beyond(&permit, &excess)),
            None => Ok(Self { permit: Arc::new(permit), spec }),
        }
    }

    /// Returns a specification for the module runner under the same permit. Fails if `spec` has anything beyond this
    /// one, except the runner itself.
    pub(crate) fn in_runner(&self, spec: Spec, runner: &Path) -> Result<Self, RuntimeError> {
        match self.excess_in_runner(&spec, runner) {
            Some(excess) => Err(beyond(&self.permit, &excess)),
            None => Ok(Self { permit: Arc::clone(&self.permit), spec }),
        }
    }

    /// Returns the permit.
    pub(crate) fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Returns the specification for the sandbox.
    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Runs the program in the sandbox, with the network proxy if it has network access.
    pub(crate) fn run(&self, cancel: &Cancel) -> Result<RunResult, RuntimeError> {
        let failed = |error| unavailable(&self.permit.plan().subject.skill_id, error);
        let start = Instant::now();
        let mut running = sandbox::start(&self.spec).map_err(failed)?;
        cancel.watch(running.canceller());
        let set_up = ("start the sandbox", start.elapsed());
        let layer = running.take_layer();
        let network = self.permit.capabilities().network.clone();
        let requests = running.take_proxy().map(|listener| {
            let allow = move |host: &str, port: u16| granted(&network, host, port);
            sandbox::proxy::serve(listener, Arc::new(allow))
        });
        let start = Instant::now();
        let outcome = running.wait().map_err(failed)?;
        let timings = vec![set_up, ("run the program", start.elapsed())];
        let reached = requests.map(|requests| requests.all()).unwrap_or_default();
        Ok(RunResult { layer, reached, timings, ..RunResult::new(outcome) })
    }

    /// Runs a module in this process. Nothing separates it from the workspace here, so a writable workspace is refused
    /// and a temporary one is omitted.
    pub(crate) fn run_here(
        &self,
        guest: &Guest,
        code: &Artifact,
        cancel: &Cancel,
    ) -> Result<ModuleResult, WasmError> {
        let is_named = self.permit.plan().invocation.workspace.is_some();
        if is_named && may_write(self.spec.workspace.as_ref()) {
            let what = "a module can only write to a workspace inside the sandbox: omit `--wasm-stage never`";
            return Err(WasmError::InvalidInput(what.to_owned()));
        }
        let workspace = self.spec.workspace.clone().filter(|_| is_named);
        let job = Job::in_process(&Spec { workspace, ..self.spec.clone() }, guest)?;
        let start = Instant::now();
        let stop = Stop::default();
        cancel.watch_module(stop.clone());
        let report = sandbox_wasm::run_until(&job, code, &stop)?;
        let timings = vec![("set up", start.elapsed().saturating_sub(report.duration))];
        let outcome = Outcome {
            ended: report.ended,
            stdout: Captured::default(),
            stderr: Captured::default(),
            violations: Vec::new(),
            more_violations: 0,
            duration: report.duration,
            // The engine provides only what was granted: no processes, no threads, and nothing writable.
            enforced: Guarantee::ALL.to_vec(),
            tier: None,
        };
        let ran = RunResult { timings, ..RunResult::new(outcome) };
        Ok(ModuleResult { ran, report, skipped_paths: job.skipped_paths().to_vec() })
    }

    fn excess_in_runner(&self, spec: &Spec, runner: &Path) -> Option<String> {
        let own = &self.spec;
        let read = spec.read.iter().find(|path| *path != runner && !own.read.contains(path));
        let env = spec.env.iter().find(|variable| !own.env.contains(variable));
        let is_narrow = (spec.workspace.is_none() || spec.workspace == own.workspace)
            && (spec.network == Network::None || spec.network == own.network)
            && spec.program == runner;
        let missing = own.required.difference(&spec.required).next();
        read.map(|path| format!("reading `{}`", path.display()))
            .or_else(|| env.map(|(name, _)| format!("the variable `{}`", name.display())))
            .or_else(|| {
                missing.map(|guarantee| format!("running without the guarantee `{guarantee}`"))
            })
            .or_else(|| (!is_narrow).then(|| "more access than the module has".to_owned()))
    }
}

/// Returns true for a workspace that may be written.
pub(crate) fn may_write(workspace: Option<&Workspace>) -> bool {
    match workspace.map(|workspace| workspace.writes) {
        None | Some(Writes::Never) => false,
        Some(Writes::Layer | Writes::Direct) => true,
    }
}

/// Returns the first thing in a specification that exceeds its permit.
fn excess(permit: &Permit, spec: &Spec, provided: &ProvidedPaths) -> Option<String> {
    excess_read(permit.capabilities(), spec, provided)
        .or_else(|| excess_python_path(spec, provided))
        .or_else(|| excess_write(permit, spec.workspace.as_ref()?, provided))
        .or_else(|| excess_network(permit, spec))
        .or_else(|| excess_variable(permit.capabilities(), spec))
        .or_else(|| excess_degraded(permit, spec))
        .or_else(|| spec.payload.as_ref().map(|_| "passing it data".to_owned()))
}

fn excess_read(
    capabilities: &Capabilities,
    spec: &Spec,
    provided: &ProvidedPaths,
) -> Option<String> {
    let is_provided = |path: &PathBuf| {
        *path == provided.skill
            || provided.interpreters.contains(path)
            || provided.packages.contains(path)
    };
    let rest = spec.read.iter().filter(|path| !is_provided(path));
    excess_read_of(capabilities, rest, provided.home.as_deref(), &provided.own)
}

/// Python imports from these folders, so they must be prepared packages.
fn excess_python_path(spec: &Spec, provided: &ProvidedPaths) -> Option<String> {
    let (_, value) = spec.env.iter().find(|(name, _)| name == PYTHON_PATH)?;
    let mut folders = std::env::split_paths(value);
    let excess = folders.find(|folder| !provided.packages.contains(folder))?;
    Some(format!("importing from `{}`", excess.display()))
}

/// Returns the first path that is not in a granted place.
fn excess_read_of<'a>(
    capabilities: &Capabilities,
    mut paths: impl Iterator<Item = &'a PathBuf>,
    home: Option<&Path>,
    own: &[PathBuf],
) -> Option<String> {
    let granted: Vec<PathBuf> = match &capabilities.read {
        Reach::Only(places) => places.iter().filter_map(|place| path_of(place, home)).collect(),
        // A grant lists each place, so this grants none.
        Reach::Everything => Vec::new(),
    };
    let is_granted = |path: &PathBuf| {
        granted.iter().any(|place| path.starts_with(place)) && !overlaps(path, own)
    };
    let excess = paths.find(|path| !is_granted(path))?;
    Some(format!("reading `{}`", excess.display()))
}

fn excess_write(
    permit: &Permit,
    workspace: &Workspace,
    provided: &ProvidedPaths,
) -> Option<String> {
    if workspace.path != provided.workspace {
        return Some(format!("working in `{}`", workspace.path.display()));
    }
    let may_write = permit.capabilities().write.has(&AnchoredFolder::at(Anchor::Workspace));
    let is_allowed = match workspace.writes {
        Writes::Never => true,
        Writes::Layer => may_write,
        Writes::Direct => {
            may_write
                && permit.may_write_directly()
                && permit.may_delete()
                && !permit.plan().invocation.dry_run
        }
    };
    (!is_allowed).then(|| format!("writing to `{}`", workspace.path.display()))
}

/// Sent data cannot be taken back, so a dry run has no network either.
fn excess_network(permit: &Permit, spec: &Spec) -> Option<String> {
    let is_closed = permit.capabilities().network.is_nothing() || permit.plan().invocation.dry_run;
    match spec.network {
        Network::None => None,
        Network::Proxy => is_closed.then(|| "network access".to_owned()),
    }
}

fn excess_variable(capabilities: &Capabilities, spec: &Spec) -> Option<String> {
    let is_granted = |name: &str| match &capabilities.env {
        Reach::Only(names) => names.contains(name) && forbidden_variable(name).is_none(),
        // Declaring all variables grants none of them.
        Reach::Everything => false,
    };
    let is_allowed = |name: &std::ffi::OsStr| {
        name.to_str().is_some_and(|name| is_own_variable(name) || is_granted(name))
    };
    let (name, _) = spec.env.iter().find(|(name, _)| !is_allowed(name))?;
    Some(format!("the variable `{}`", name.display()))
}

fn excess_degraded(permit: &Permit, spec: &Spec) -> Option<String> {
    let writes = spec.workspace.as_ref().map_or(Writes::Never, |workspace| workspace.writes);
    let needed = required(permit.plan().subject.source, writes, permit.allow_degraded());
    let missing = needed.difference(&spec.required).next()?;
    Some(format!("running without the guarantee `{missing}`"))
}

fn beyond(permit: &Permit, excess: &str) -> RuntimeError {
    let skill = &permit.plan().subject.skill_id;
    let message = format!("`{skill}` was not started: {excess} was not approved");
    RuntimeError::PermissionDenied { message, hint: None }
}

/// Returns whether a host was granted, and how. Only web ports are granted, no other services of the host.
fn granted(network: &Reach<Host>, host: &str, port: u16) -> HostGrant {
    let Some(host) = Host::parse(host).filter(|_| matches!(port, 80 | 443)) else {
        return HostGrant::Denied;
    };
    match network {
        Reach::Everything => HostGrant::Pattern,
        Reach::Only(hosts) if hosts.contains(&host) => HostGrant::Exact,
        Reach::Only(hosts) if hosts.iter().any(|known| known.covers(&host)) => HostGrant::Pattern,
        Reach::Only(_) => HostGrant::Denied,
    }
}

pub(super) fn unavailable(skill: &str, error: SandboxError) -> RuntimeError {
    match error {
        SandboxError::Unavailable { missing, reason, fix } => RuntimeError::SandboxUnavailable {
            missing: missing.iter().map(ToString::to_string).collect(),
            reason,
            hint: fix,
        },
        other => {
            RuntimeError::Script { skill: skill.to_owned(), message: other.to_string(), hint: None }
        }
    }
}

#[cfg(test)]
mod tests;
