//! Builds the sandbox specification of a command line from its permit. It contains nothing beyond the permit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{
    Background, BackgroundId, GitData, Guarantee, LayerStorage, Limits, Loopback, Network,
    PrivateFolder, Spec, Stdin, Streams, User, Workspace, Writes,
};
use skill::capabilities::Reach;

use super::environment::{EnvironmentInputs, environment};
use super::session_folders::SessionFolders;
use super::toolchains::SearchPath;
use crate::decide::command::{CommandPermit, CommandStreams, Leftovers};
use crate::run::path_of;
use crate::state::variables::Variables;

/// The shell that runs command lines.
const BASH: &str = "/bin/bash";
/// Runs the command line as bash does with `-c`, and then writes down the folder that it ended in. A line that exits
/// by itself leaves no folder, as in the shells of agents.
const RUN_LINE: &str = "__line=$1; __folder=$2; set --; eval \"$__line\"\n\
                        __status=$?; builtin pwd -P >\"$__folder\" 2>/dev/null; exit \"$__status\"";
/// Bounds for a command line, which is not limited in time or memory: agents run builds and servers.
const MAX_PIDS: u32 = 16_384;

/// What was found for a command line on this machine.
pub(super) struct CommandInputs<'a> {
    pub(super) folders: &'a SessionFolders,
    /// The user's home folder.
    pub(super) home: &'a Path,
    pub(super) search: &'a SearchPath,
    pub(super) variables: &'a Variables,
    pub(super) git: &'a [(String, String)],
    /// Where its writes are kept until they are applied.
    pub(super) layer: &'a Path,
    /// The file, in the sandbox, that the last folder is written to.
    pub(super) last_folder: &'a Path,
    /// Processes of the session whose network it shares.
    pub(super) joins: Option<BackgroundId>,
}

/// Returns the specification of a command line.
pub(super) fn spec(permit: &CommandPermit, inputs: &CommandInputs<'_>) -> Result<Spec, String> {
    let plan = permit.plan();
    let network = match permit.hosts().is_nothing() {
        true => Network::None,
        false => Network::Proxy,
    };
    let env = environment(
        permit,
        &EnvironmentInputs {
            variables: inputs.variables,
            search: inputs.search,
            network: &network,
            home: inputs.home,
            git: inputs.git,
        },
    )?;
    let mut read: Vec<PathBuf> = permit
        .skill_folders()
        .filter(|folder| !folder.starts_with(&plan.workspace))
        .map(Path::to_owned)
        .collect();
    read.extend(inputs.search.reads.iter().cloned());
    read.extend(granted_reads(permit, inputs.home));
    let private = vec![
        PrivateFolder { source: inputs.folders.home.clone(), target: inputs.home.to_owned() },
        PrivateFolder { source: inputs.folders.temporary.clone(), target: "/tmp".into() },
    ];
    let writes = if permit.may_write() { Writes::Layer } else { Writes::Never };
    Ok(Spec {
        args: ["--noprofile", "--norc", "-c", RUN_LINE, "bash"]
            .map(OsString::from)
            .into_iter()
            .chain([OsString::from(&plan.line), inputs.last_folder.into()])
            .collect(),
        env,
        cwd: plan.cwd.clone(),
        read,
        workspace: Some(Workspace { path: plan.workspace.clone(), writes }),
        layer: LayerStorage::Folder(inputs.layer.to_owned()),
        git: GitData::Writable,
        network,
        loopback: Loopback::Allowed,
        limits: limits(plan.timeout),
        stdin: Stdin::Bytes(Vec::new()),
        streams: match plan.streams {
            CommandStreams::Shared => Streams::Shared,
            CommandStreams::Captured => Streams::Captured,
        },
        private,
        user: user(inputs.variables, inputs.home),
        background: match plan.background {
            Leftovers::End => Background::End,
            Leftovers::KeepForSession => Background::Keep,
        },
        joins: inputs.joins,
        required: required(),
        ..Spec::new(BASH)
    })
}

/// Returns the guarantees without which no command line starts: all but the memory limit, which it does not have.
pub(crate) fn required() -> std::collections::BTreeSet<Guarantee> {
    Guarantee::ALL.into_iter().filter(|guarantee| *guarantee != Guarantee::Mem).collect()
}

fn limits(timeout: Option<Duration>) -> Limits {
    Limits {
        wall: timeout.unwrap_or(Duration::MAX),
        memory: u64::MAX,
        pids: MAX_PIDS,
        output_kept: Limits::default().output_kept,
        output_max: u64::MAX,
        temporary: u64::MAX,
        open_files: None,
    }
}

/// Returns what every active skill was granted to read outside of the workspace, by its real path.
fn granted_reads(permit: &CommandPermit, home: &Path) -> Vec<PathBuf> {
    let Reach::Only(places) = &permit.capabilities().read else { return Vec::new() };
    let paths = places.iter().filter_map(|place| path_of(place, Some(home)));
    paths.filter(|path| path.canonicalize().is_ok_and(|real| real == *path)).collect()
}

/// Returns the user's name and home folder, which programs show and expand `~` to.
fn user(variables: &Variables, home: &Path) -> Option<User> {
    let name = variables.get("USER").or_else(|| variables.get("LOGNAME"))?.to_str()?.to_owned();
    // It becomes a field of `/etc/passwd`.
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    is_name.then(|| User { name, home: home.to_owned() })
}
