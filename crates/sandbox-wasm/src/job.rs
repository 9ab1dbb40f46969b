//! What a module run is granted, derived from the sandbox's specification. Anything that a job does not list is not
//! granted.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{Limits, Network, PROXY_PLACEHOLDER, Spec, Stdin, Writes};
use serde::{Deserialize, Serialize};

use crate::WasmError;

/// The paths of the skill, the workspace and the working folder, as the module sees them.
const SKILL: &str = "/skill";
const WORKSPACE: &str = "/workspace";
const WORKING_FOLDER: &str = ".";

/// Settings that only WebAssembly modules need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// The folder of the skill, which must be readable in the specification.
    pub skill: PathBuf,
    /// The seed for random numbers and clocks; without one they are those of the machine.
    pub seed: Option<u64>,
}

/// What a module run is granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) folders: Vec<Folder>,
    pub(crate) has_proxy: bool,
    /// Whether a host call may block the whole process. Inside the stage it may, because the stage enforces the time
    /// limit.
    pub(crate) may_block: bool,
    /// Its standard input; `None` for that of this process.
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) seed: Option<u64>,
    pub(crate) wall: Duration,
    pub(crate) memory: u64,
    pub(crate) output_kept: u64,
    pub(crate) output_max: u64,
    /// Readable paths that are not folders. WASI cannot grant them.
    skipped_paths: Vec<PathBuf>,
}

/// A folder that is visible to the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
    pub(crate) may_write: bool,
}

impl Job {
    /// Returns the job for a run in this process. Writes to a layer and network access are not available here, because
    /// they need the sandbox.
    pub fn in_process(spec: &Spec, guest: &Guest) -> Result<Self, WasmError> {
        let invalid = |what: &str| Err(WasmError::InvalidInput(what.to_owned()));
        if spec.network != Network::None {
            return invalid("modules can use the network only in the sandbox stage");
        }
        match spec.workspace.as_ref().map(|workspace| workspace.writes) {
            Some(Writes::Layer) => {
                invalid("modules can write to a workspace only in the sandbox stage")
            }
            None | Some(Writes::Never | Writes::Direct) => Self::new(spec, guest),
        }
    }

    /// Returns the job for a run inside the stage, which enforces the same specification.
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
        let mut skipped_paths = Vec::new();
        for path in spec.read.iter().filter(|path| **path != guest.skill) {
            if path.is_dir() {
                folders.push(folder(path, &text(path.as_os_str(), "a path")?, false));
            } else {
                skipped_paths.push(path.clone());
            }
        }
        if let Some(workspace) = &spec.workspace {
            let may_write = workspace.writes != Writes::Never;
            let paths = [WORKSPACE, WORKING_FOLDER];
            folders.extend(paths.map(|guest| folder(&workspace.path, guest, may_write)));
        }
        let Limits { wall, memory, output_kept, output_max, .. } = spec.limits;
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
            output_max,
            skipped_paths,
        })
    }

    /// Returns the readable paths that WASI cannot grant, because they are not folders.
    pub fn skipped_paths(&self) -> &[PathBuf] {
        &self.skipped_paths
    }

    pub(crate) fn limits(&self) -> Limits {
        let Self { wall, memory, output_kept, output_max, .. } = *self;
        Limits { wall, memory, output_kept, output_max, ..Limits::default() }
    }

    /// Replaces the placeholder in variables with the proxy's address.
    pub(crate) fn with_proxy(mut self, address: &str) -> Self {
        for (_, value) in self.env.iter_mut().filter(|(_, value)| value == PROXY_PLACEHOLDER) {
            address.clone_into(value);
        }
        self
    }
}

fn name_of(program: &Path) -> Result<String, WasmError> {
    text(program.file_name().unwrap_or_default(), "the name of the module")
}

/// Converts text for a WebAssembly program, which must be Unicode without null bytes.
fn text(text: &OsStr, what: &str) -> Result<String, WasmError> {
    let invalid = |why: &str| WasmError::InvalidInput(format!("{what} {why}: {}", text.display()));
    let text = OsString::from(text).into_string().map_err(|_| invalid("is not valid Unicode"))?;
    if text.contains('\0') { Err(invalid("contains a null byte")) } else { Ok(text) }
}
