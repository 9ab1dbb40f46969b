//! What a run is given, taken from the sandbox's specification. What is not here is not there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{Limits, Network, PROXY, Spec, Stdin, Writes};
use serde::{Deserialize, Serialize};

use crate::WasmError;

/// Where a run finds its skill, its workspace, and what it works in.
const SKILL: &str = "/skill";
const WORKSPACE: &str = "/workspace";
const HERE: &str = ".";

/// What only WebAssembly needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// The folder of the skill, one of those that may be read.
    pub skill: PathBuf,
    /// What random numbers and clocks follow from; without it they are the machine's.
    pub seed: Option<u64>,
}

/// What a run is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) folders: Vec<Folder>,
    pub(crate) has_proxy: bool,
    /// Whether a call of the host may keep the whole process waiting: inside the stage somebody else looks at the clock.
    pub(crate) may_block: bool,
    /// What it reads from standard input; none where it reads that of its process.
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) seed: Option<u64>,
    pub(crate) wall: Duration,
    pub(crate) memory: u64,
    pub(crate) output_kept: u64,
    pub(crate) output_most: u64,
    /// Places that may be read and are no folders, which WASI has no way to give.
    left_out: Vec<PathBuf>,
}

/// A folder that a run sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
    pub(crate) may_write: bool,
}

impl Job {
    /// Returns what a run in this process is given. Here nothing stands between a run and its workspace, so one that is to be looked at
    /// before it is changed, and a way to the network, are not to be had.
    pub fn in_process(spec: &Spec, guest: &Guest) -> Result<Self, WasmError> {
        let given = |what: &str| Err(WasmError::Given(what.to_owned()));
        if spec.network != Network::None {
            return given("the network can be reached only from inside the sandbox's stage");
        }
        match spec.workspace.as_ref().map(|workspace| workspace.writes) {
            Some(Writes::Layer) => {
                given("a workspace can be written only from inside the sandbox's stage")
            }
            None | Some(Writes::Never | Writes::Direct) => Self::new(spec, guest),
        }
    }

    /// Returns what a run inside the stage is given: there the stage holds it to the same specification.
    pub fn staged(spec: &Spec, guest: &Guest) -> Result<Self, WasmError> {
        Ok(Self { may_block: true, ..Self::new(spec, guest)? })
    }

    fn new(spec: &Spec, guest: &Guest) -> Result<Self, WasmError> {
        let mut args = vec![name_of(&spec.program)?];
        for arg in &spec.args {
            args.push(text(arg, "an argument")?);
        }
        let mut env = Vec::new();
        for (name, value) in &spec.env {
            env.push((text(name, "a variable")?, text(value, "a variable")?));
        }
        let folder = |host: &Path, guest: &str, may_write| Folder {
            host: host.to_owned(),
            guest: guest.to_owned(),
            may_write,
        };
        let mut folders = vec![folder(&guest.skill, SKILL, false)];
        let mut left_out = Vec::new();
        for path in spec.read.iter().filter(|path| **path != guest.skill) {
            if path.is_dir() {
                folders.push(folder(path, &text(path.as_os_str(), "a path")?, false));
            } else {
                left_out.push(path.clone());
            }
        }
        if let Some(workspace) = &spec.workspace {
            let may_write = workspace.writes != Writes::Never;
            folders.extend([WORKSPACE, HERE].map(|at| folder(&workspace.path, at, may_write)));
        }
        let Limits { wall, memory, output_kept, output_most, .. } = spec.limits;
        Ok(Self {
            args,
            env,
            folders,
            has_proxy: spec.network == Network::Proxy,
            may_block: false,
            stdin: match &spec.stdin {
                Stdin::Bytes(bytes) => Some(bytes.clone()),
                Stdin::Inherited => None,
            },
            seed: guest.seed,
            wall,
            memory,
            output_kept,
            output_most,
            left_out,
        })
    }

    /// Returns the places that may be read and cannot be given, since they are no folders.
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    pub(crate) fn limits(&self) -> Limits {
        let Self { wall, memory, output_kept, output_most, .. } = *self;
        Limits { wall, memory, output_kept, output_most, ..Limits::default() }
    }

    /// Puts the proxy's address where the specification left room for it.
    pub(crate) fn with_proxy(mut self, address: &str) -> Self {
        for (_, value) in self.env.iter_mut().filter(|(_, value)| value == PROXY) {
            address.clone_into(value);
        }
        self
    }
}

fn name_of(program: &Path) -> Result<String, WasmError> {
    text(program.file_name().unwrap_or_default(), "the name of the module")
}

/// Programs in WebAssembly are given Unicode, and nothing with an end in the middle.
fn text(text: &OsStr, what: &str) -> Result<String, WasmError> {
    let given = |why: &str| WasmError::Given(format!("{what} {why}: {}", text.display()));
    let text = OsString::from(text).into_string().map_err(|_| given("is not Unicode"))?;
    if text.contains('\0') { Err(given("holds a null byte")) } else { Ok(text) }
}
