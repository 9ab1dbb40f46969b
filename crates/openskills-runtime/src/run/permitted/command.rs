//! Pairs the specification of a command line with its permit.

use std::path::PathBuf;
use std::sync::Arc;

use sandbox::{Background, BackgroundId, Layer, LeftRunning, Network, Outcome, Spec, Writes};
use skill::capabilities::Reach;

use super::{excess_read_of, granted, unavailable};
use crate::RuntimeError;
use crate::command::{is_command_variable, required};
use crate::decide::command::{CommandPermit, Leftovers};
use crate::run::{Cancel, forbidden_variable};

/// Paths that a command line gets without a grant.
#[derive(Debug)]
pub(crate) struct ProvidedToCommand {
    /// Folders of the user's toolchains.
    pub(crate) toolchains: Vec<PathBuf>,
    /// Private folders that stand for the home folder and `/tmp`.
    pub(crate) private: Vec<PathBuf>,
    /// The user's home folder with links resolved; granted places are relative to it.
    pub(crate) home: PathBuf,
    /// The folders of openskills and csk, which are never granted.
    pub(crate) own: Vec<PathBuf>,
    /// Processes of the same session with the same access, whose network it may share.
    pub(crate) joins: Option<BackgroundId>,
}

/// A permit with the specification made for it. The constructor refuses a specification that exceeds the permit.
#[derive(Debug)]
pub(crate) struct PermittedCommand {
    permit: CommandPermit,
    spec: Spec,
}

/// A command line that ended.
#[derive(Debug)]
pub(crate) struct FinishedCommand {
    pub(crate) outcome: Outcome,
    /// Its writes, if it may write.
    pub(crate) layer: Option<Layer>,
    /// The hosts that it tried to reach, and whether that was allowed.
    pub(crate) reached: Vec<sandbox::proxy::ProxyRequest>,
    /// Its processes that are still there, stopped until their session takes them over.
    pub(crate) left: Option<LeftRunning>,
}

impl PermittedCommand {
    /// Pairs a specification with its permit. Fails if the specification exceeds the permit.
    pub(crate) fn new(
        permit: CommandPermit,
        spec: Spec,
        provided: &ProvidedToCommand,
    ) -> Result<Self, RuntimeError> {
        match excess(&permit, &spec, provided) {
            Some(excess) => Err(RuntimeError::PermissionDenied {
                message: format!("the command was not started: {excess} was not approved"),
                hint: None,
            }),
            None => Ok(Self { permit, spec }),
        }
    }

    /// Returns the permit.
    pub(crate) fn permit(&self) -> &CommandPermit {
        &self.permit
    }

    /// Runs the command line in the sandbox, with the network proxy if it has network access. `started` learns of its
    /// processes; if it fails, they are killed.
    pub(crate) fn run(
        &self,
        cancel: &Cancel,
        started: impl FnOnce(Option<BackgroundId>) -> Result<(), RuntimeError>,
    ) -> Result<FinishedCommand, RuntimeError> {
        let failed = |error| unavailable("the command", error);
        let mut running = sandbox::start(&self.spec).map_err(failed)?;
        cancel.watch(running.canceller());
        started(running.id())?;
        let layer = running.take_layer();
        let network = self.permit.hosts().clone();
        let requests = running.take_proxy().map(|listener| {
            let allow = move |host: &str, port: u16| granted(&network, host, port);
            sandbox::proxy::serve(listener, Arc::new(allow))
        });
        let (outcome, left) = running.wait_for_main().map_err(failed)?;
        let reached = requests.map(|requests| requests.all()).unwrap_or_default();
        Ok(FinishedCommand { outcome, layer, reached, left })
    }
}

/// Returns the first thing in a specification that exceeds its permit.
fn excess(permit: &CommandPermit, spec: &Spec, provided: &ProvidedToCommand) -> Option<String> {
    excess_read(permit, spec, provided)
        .or_else(|| excess_write(permit, spec, provided))
        .or_else(|| excess_network(permit, spec))
        .or_else(|| excess_variable(permit, spec))
        .or_else(|| {
            let missing = required().into_iter().find(|one| !spec.required.contains(one))?;
            Some(format!("running without the guarantee `{missing}`"))
        })
        .or_else(|| spec.payload.as_ref().map(|_| "passing it data".to_owned()))
        .or_else(|| {
            let is_kept = spec.background == Background::Keep;
            (is_kept && permit.plan().background == Leftovers::End)
                .then(|| "leaving processes behind".to_owned())
        })
        .or_else(|| {
            let is_other = spec.joins.is_some() && spec.joins != provided.joins;
            is_other.then(|| "sharing the network of other processes".to_owned())
        })
}

fn excess_read(
    permit: &CommandPermit,
    spec: &Spec,
    provided: &ProvidedToCommand,
) -> Option<String> {
    let is_provided = |path: &PathBuf| {
        provided.toolchains.contains(path) || permit.skill_folders().any(|folder| folder == path)
    };
    let rest = spec.read.iter().filter(|path| !is_provided(path));
    excess_read_of(permit.capabilities(), rest, Some(&provided.home), &provided.own)
}

fn excess_write(
    permit: &CommandPermit,
    spec: &Spec,
    provided: &ProvidedToCommand,
) -> Option<String> {
    let private = spec.private.iter().find(|folder| !provided.private.contains(&folder.source));
    if let Some(folder) = private {
        return Some(format!("writing to `{}`", folder.source.display()));
    }
    let workspace = spec.workspace.as_ref()?;
    if workspace.path != permit.plan().workspace {
        return Some(format!("working in `{}`", workspace.path.display()));
    }
    let is_allowed = match workspace.writes {
        Writes::Never => true,
        Writes::Layer => permit.may_write(),
        Writes::Direct => false,
    };
    (!is_allowed).then(|| format!("writing to `{}`", workspace.path.display()))
}

fn excess_network(permit: &CommandPermit, spec: &Spec) -> Option<String> {
    match spec.network {
        Network::None => None,
        Network::Proxy => permit.hosts().is_nothing().then(|| "network access".to_owned()),
    }
}

fn excess_variable(permit: &CommandPermit, spec: &Spec) -> Option<String> {
    let is_granted = |name: &str| match &permit.capabilities().env {
        Reach::Only(names) => names.contains(name) && forbidden_variable(name).is_none(),
        // Declaring all variables grants none of them.
        Reach::Everything => false,
    };
    let is_allowed = |name: &std::ffi::OsStr| {
        name.to_str().is_some_and(|name| is_command_variable(name) || is_granted(name))
    };
    let (name, _) = spec.env.iter().find(|(name, _)| !is_allowed(name))?;
    Some(format!("the variable `{}`", name.display()))
}

#[cfg(test)]
mod tests;
