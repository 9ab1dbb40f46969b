//! A specification together with the permit that it was made for, and the one place where anything of a skill starts.
//!
//! Preparing a run takes a while and needs much that was not known when the permit was given: where the copy is, which interpreter
//! there is. So the result is compared with the permit before it can start, and nothing can change it afterwards.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the clock, and sandbox::start behind a permit"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sandbox::proxy::Granted;
use sandbox::{Captured, Guarantee, Network, Outcome, SandboxError, Spec, Workspace, Writes};
use sandbox_wasm::{Artifact, Guest, Job, Report, Stop, WasmError};
use skill::capabilities::{Anchor, Capabilities, Cover, Host, Place, Reach};

use super::Cancel;
use super::environment::is_own_variable;
use super::outside::{path_of, touches};
use super::ran::Ran;
use super::spec::required;
use super::variables::never_given;
use crate::RuntimeError;
use crate::decide::permit::Permit;

/// What every run is given without a grant.
#[derive(Debug)]
pub(crate) struct Provided {
    /// The private copy of the skill.
    pub(crate) skill: PathBuf,
    /// Interpreters with their libraries.
    pub(crate) interpreters: Vec<PathBuf>,
    /// The project's packages for node.
    pub(crate) packages: Vec<PathBuf>,
    /// The folder that it starts in: the one that was named, or an empty one.
    pub(crate) workspace: PathBuf,
    /// The user's home without links, which granted places are below.
    pub(crate) home: Option<PathBuf>,
    /// The folders of openskills and csk, of which nothing is ever granted.
    pub(crate) own: Vec<PathBuf>,
}

/// A permit with the specification that was made for it. Both constructors refuse a specification that goes beyond the permit.
#[derive(Debug)]
pub(crate) struct Permitted {
    permit: Arc<Permit>,
    spec: Spec,
}

/// What a module leaves.
pub(crate) struct ModuleRan {
    pub(crate) ran: Ran,
    pub(crate) report: Report,
    /// Places that it may read and was not given, since they are no folders.
    pub(crate) left_out: Vec<PathBuf>,
}

impl Permitted {
    /// Returns a specification as what its permit lets run, unless it goes beyond that.
    pub(crate) fn new(
        permit: Permit,
        spec: Spec,
        provided: &Provided,
    ) -> Result<Self, RuntimeError> {
        match excess(&permit, &spec, provided) {
            Some(excess) => Err(beyond(&permit, &excess)),
            None => Ok(Self { permit: Arc::new(permit), spec }),
        }
    }

    /// Returns what the runner of modules does under the same permit: `spec` has nothing that this has not, but the runner itself.
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

    /// Runs the program in the sandbox, with its way to the network where it has one.
    pub(crate) fn run(&self, cancel: &Cancel) -> Result<Ran, RuntimeError> {
        let failed = |error| unavailable(&self.permit.plan().subject.skill_id, error);
        let start = Instant::now();
        let mut running = sandbox::start(&self.spec).map_err(failed)?;
        cancel.watch(running.canceller());
        let set_up = ("start the sandbox", start.elapsed());
        let layer = running.take_layer();
        let network = self.permit.capabilities().network.clone();
        let reachings = running.take_proxy().map(|listener| {
            let allow = move |host: &str, port: u16| granted(&network, host, port);
            sandbox::proxy::serve(listener, Arc::new(allow))
        });
        let start = Instant::now();
        let outcome = running.wait().map_err(failed)?;
        let timings = vec![set_up, ("run the program", start.elapsed())];
        let reached = reachings.map(|reachings| reachings.all()).unwrap_or_default();
        Ok(Ran { layer, reached, timings, ..Ran::new(outcome) })
    }

    /// Runs a module in this process, where nothing stands between it and a workspace: one that it may write is refused, and an empty
    /// one of its own is not even there.
    pub(crate) fn run_here(
        &self,
        guest: &Guest,
        code: &Artifact,
        cancel: &Cancel,
    ) -> Result<ModuleRan, WasmError> {
        let is_named = self.permit.plan().invocation.workspace.is_some();
        if is_named && may_write(self.spec.workspace.as_ref()) {
            let what =
                "a workspace is written only from inside the sandbox: leave --wasm-stage away";
            return Err(WasmError::Given(what.to_owned()));
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
            // The engine gives it nothing but what it was granted: no process, no thread, and nothing that it could write.
            enforced: Guarantee::ALL.to_vec(),
            tier: None,
        };
        let ran = Ran { timings, ..Ran::new(outcome) };
        Ok(ModuleRan { ran, report, left_out: job.left_out().to_vec() })
    }

    fn excess_in_runner(&self, spec: &Spec, runner: &Path) -> Option<String> {
        let own = &self.spec;
        let read = spec.read.iter().find(|path| *path != runner && !own.read.contains(path));
        let env = spec.env.iter().find(|variable| !own.env.contains(variable));
        let is_narrow = (spec.workspace.is_none() || spec.workspace == own.workspace)
            && (spec.network == Network::None || spec.network == own.network)
            && spec.program == runner;
        let missing = own.required.difference(&spec.required).next();
        read.map(|path| format!("reading {}", path.display()))
            .or_else(|| env.map(|(name, _)| format!("the variable {}", name.display())))
            .or_else(|| missing.map(|guarantee| format!("starting without `{guarantee}`")))
            .or_else(|| (!is_narrow).then(|| "more than the module has".to_owned()))
    }
}

/// Returns true for a workspace that may be written.
pub(crate) fn may_write(workspace: Option<&Workspace>) -> bool {
    match workspace.map(|workspace| workspace.writes) {
        None | Some(Writes::Never) => false,
        Some(Writes::Layer | Writes::Direct) => true,
    }
}

/// Returns the first thing that a specification has beyond its permit.
fn excess(permit: &Permit, spec: &Spec, provided: &Provided) -> Option<String> {
    excess_read(permit.capabilities(), spec, provided)
        .or_else(|| excess_write(permit, spec.workspace.as_ref()?, provided))
        .or_else(|| excess_network(permit, spec))
        .or_else(|| excess_variable(permit.capabilities(), spec))
        .or_else(|| excess_degraded(permit, spec))
        .or_else(|| spec.handed.as_ref().map(|_| "handing it data".to_owned()))
}

fn excess_read(capabilities: &Capabilities, spec: &Spec, provided: &Provided) -> Option<String> {
    let granted: Vec<PathBuf> = match &capabilities.read {
        Reach::Only(places) => {
            places.iter().filter_map(|place| path_of(place, provided.home.as_deref())).collect()
        }
        // A grant names each place, so this names none.
        Reach::Everything => Vec::new(),
    };
    let is_provided = |path: &PathBuf| {
        *path == provided.skill
            || provided.interpreters.contains(path)
            || provided.packages.contains(path)
    };
    let is_granted = |path: &PathBuf| {
        granted.iter().any(|place| path.starts_with(place)) && !touches(path, &provided.own)
    };
    let excess = spec.read.iter().find(|path| !is_provided(path) && !is_granted(path))?;
    Some(format!("reading {}", excess.display()))
}

fn excess_write(permit: &Permit, workspace: &Workspace, provided: &Provided) -> Option<String> {
    if workspace.path != provided.workspace {
        return Some(format!("working in {}", workspace.path.display()));
    }
    let may_write = permit.capabilities().write.has(&Place::at(Anchor::Workspace));
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
    (!is_allowed).then(|| format!("writing {}", workspace.path.display()))
}

/// What is sent cannot be taken back, so a dry run has no network either.
fn excess_network(permit: &Permit, spec: &Spec) -> Option<String> {
    let is_closed = permit.capabilities().network.is_nothing() || permit.plan().invocation.dry_run;
    match spec.network {
        Network::None => None,
        Network::Proxy => is_closed.then(|| "reaching the network".to_owned()),
    }
}

fn excess_variable(capabilities: &Capabilities, spec: &Spec) -> Option<String> {
    let is_granted = |name: &str| match &capabilities.env {
        Reach::Only(names) => names.contains(name) && never_given(name).is_none(),
        // To declare all of them grants none in particular.
        Reach::Everything => false,
    };
    let is_allowed = |name: &std::ffi::OsStr| {
        name.to_str().is_some_and(|name| is_own_variable(name) || is_granted(name))
    };
    let (name, _) = spec.env.iter().find(|(name, _)| !is_allowed(name))?;
    Some(format!("the variable {}", name.display()))
}

fn excess_degraded(permit: &Permit, spec: &Spec) -> Option<String> {
    let writes = spec.workspace.as_ref().map_or(Writes::Never, |workspace| workspace.writes);
    let needed = required(permit.plan().subject.source, writes, permit.allow_degraded());
    let missing = needed.difference(&spec.required).next()?;
    Some(format!("starting without the guarantee `{missing}`"))
}

fn beyond(permit: &Permit, excess: &str) -> RuntimeError {
    let skill = &permit.plan().subject.skill_id;
    let message = format!("`{skill}` is not started: {excess} was not approved");
    RuntimeError::PermissionDenied { message, hint: None }
}

/// Returns whether a host was granted, and by what. A host is granted for the web; other services of it are not.
fn granted(network: &Reach<Host>, host: &str, port: u16) -> Granted {
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

fn unavailable(skill: &str, error: SandboxError) -> RuntimeError {
    match error {
        SandboxError::Unavailable { missing, why, fix } => RuntimeError::SandboxUnavailable {
            missing: missing.iter().map(ToString::to_string).collect(),
            why,
            fix,
        },
        other => {
            RuntimeError::Script { skill: skill.to_owned(), message: other.to_string(), hint: None }
        }
    }
}

#[cfg(test)]
mod tests;
