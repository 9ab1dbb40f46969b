//! Prepares packages for scripts with pip and npm, in a sandbox that contains nothing of a skill or of a project: they
//! are fetched from the user's index, never built, and none of their code runs.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

mod npm;
mod pip;
mod unpacked;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{Limits, Network, PROXY_PLACEHOLDER, PrivateFolder, Spec, Tier};
use skill::Digest;
use skill_fs::AbsPath;
use skill_state::{PackageRequest, PackageSet, PackageSource};

use super::environment::PROXIES;
use super::interpreter::{Interpreter, Search, machine_interpreter};
use super::package_index::{IndexLocation, PackageIndex, SettingsProgram};
use super::package_store::{PackageStore, key};
use super::packages::ProjectPackages;
use super::permitted::{FinishedFetch, PermittedFetch, ProvidedToFetch, fetch_requirements};
use super::{Caller, Cancel, RunFolder, own_folders, run_folder};
use crate::RuntimeError;
use crate::decide::packages::{FetchPermit, authorize_fetch};
use crate::decide::permit::{Plan, RequestedAccess};
use crate::record::event::PackagesPrepared;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::{Event, Places};

/// How long fetching may take.
const TIME: Duration = Duration::from_secs(600);
const MEMORY: u64 = 2 << 30;
/// The largest size of all packages together, packed and unpacked.
const MAX_BYTES: u64 = 4 << 30;
/// Where the package manager works, as it sees it.
const WORK: &str = "/packages";
/// Folders of the system. The sandbox shows what programs need of them.
const SYSTEM: [&str; 6] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"];

impl OpenSkillRuntime {
    /// Prepares the packages that a plan requests, unless they are prepared already, and returns the plan with them. It
    /// is logged before anything uses them.
    pub fn with_packages(&mut self, plan: Plan, caller: &Caller) -> Result<Plan, RuntimeError> {
        if plan.requested.with.is_empty() {
            return Ok(plan);
        }
        // A skill that may not run gets no packages.
        let requested = RequestedAccess { with: Vec::new(), ..plan.requested.clone() };
        self.request(&Plan { requested, ..plan.clone() })?.map_err(|refusal| refusal.error())?;
        let mut packages = BTreeSet::new();
        for source in PackageSource::ALL {
            let of_source = plan.requested.with.iter().filter(|one| one.source() == source);
            let requests: Vec<PackageRequest> = of_source.cloned().collect();
            if !requests.is_empty() {
                packages.insert(self.prepare_packages(&plan, requests, source, caller)?);
            }
        }
        Ok(Plan { packages, ..plan })
    }

    fn prepare_packages(
        &mut self,
        plan: &Plan,
        mut requests: Vec<PackageRequest>,
        source: PackageSource,
        caller: &Caller,
    ) -> Result<PackageSet, RuntimeError> {
        requests.sort();
        requests.dedup();
        let setup = |message: String| RuntimeError::Setup { message, hint: None };
        let places = self.places()?;
        let cache = places.cache.clone().or_else(|| places.state.clone());
        let cache = cache.ok_or_else(no_state_folder)?;
        let tool =
            Tool::find(source, places, self.config.project_root.as_deref()).map_err(setup)?;
        let index = tool.index(places).map_err(setup)?;
        let specs: Vec<String> = requests.iter().map(|one| one.spec().to_owned()).collect();
        let key = key(&index, &specs, &tool.interpreter.program);
        let permit = authorize_fetch(requests, index, &self.found.policy)
            .map_err(|refusal| refusal.error())?;
        let store = PackageStore::new(&cache);
        if let Some(known) = store.known(&key) {
            return Ok(known);
        }
        let label = permit.index().label();
        if let Some((host, _)) = permit.hosts().first()
            && sandbox::proxy::is_always_blocked(host)
        {
            return Err(setup(format!(
                "cannot use the index {label}: the sandbox never connects to this machine or a reserved address; use an \
                 index with a file:// URL"
            )));
        }
        if let Some(announce) = caller.announce {
            announce(&format!("preparing {} from {label}", specs.join(", ")));
        }
        let base = cache.join(run_folder::FOLDER);
        run_folder::sweep(&base);
        let fetch = Fetch { permit: &permit, tool: &tool, base: &base, cancel: &caller.cancel };
        let fetched = match source {
            PackageSource::Pypi => pip::fetch(&fetch, &specs)?,
            PackageSource::Npm => npm::fetch(&fetch, &specs)?,
        };
        let files = unpacked_digest(&fetched.folder).map_err(|message| fetch.failed(message))?;
        let requests = permit.requests().iter().cloned().collect();
        let set = PackageSet { source, requests, index: label, packages: fetched.packages, files };
        self.record(&Event::PackagesPrepared(PackagesPrepared {
            skill_id: plan.subject.skill_id.clone(),
            session_id: self.session.id.clone(),
            source: source.as_str().to_owned(),
            requests: set.requests.iter().map(ToString::to_string).collect(),
            index: set.index.clone(),
            packages: set.packages.clone(),
            digest: set.digest().to_string(),
        }))?;
        store.keep(&key, &set, &fetched.folder)?;
        Ok(set)
    }
}

/// Returns the digest of unpacked packages.
pub(super) fn unpacked_digest(folder: &Path) -> Result<Digest, String> {
    unpacked::digest(folder, MAX_BYTES)
}

/// The packages with their hashes, and the folder that contains them.
struct Fetched {
    packages: BTreeMap<String, String>,
    folder: PathBuf,
    /// Keeps the folder alive.
    _scratch: RunFolder,
}

/// The machine's own interpreter of a package manager.
struct Tool {
    source: PackageSource,
    interpreter: Interpreter,
    /// What is run, and what it must be able to read: npm's script, or the folder that contains pip.
    manager: (PathBuf, PathBuf),
}

impl Tool {
    /// Finds it outside of the project: scripts of skills may write to a project's environment, and with it to the pip
    /// in there.
    fn find(
        source: PackageSource,
        places: &Places,
        project: Option<&Path>,
    ) -> Result<Self, String> {
        let found = ProjectPackages::find(places, project);
        let own = own_folders(places);
        let avoid: Vec<&Path> = own.iter().chain(&found.avoid).map(PathBuf::as_path).collect();
        let no_project = ProjectPackages { root: found.root.clone(), ..ProjectPackages::default() };
        let search = Search {
            avoid: &avoid,
            project: &no_project,
            cache: places.cache.as_ref(),
            variables: &places.variables,
        };
        match source {
            PackageSource::Pypi => {
                let python = machine_interpreter("python3", &search)?;
                let folder = python.packages.iter().find(|folder| {
                    let is_own =
                        python.user_base.as_ref().is_some_and(|own| folder.starts_with(own));
                    !is_own && folder.join("pip/__init__.py").is_file()
                });
                let folder = folder.cloned().ok_or_else(|| pip::missing(&python.program))?;
                Ok(Self { source, interpreter: python, manager: (folder.clone(), folder) })
            }
            PackageSource::Npm => {
                let node = machine_interpreter("node", &search)?;
                let manager = npm::script(&node.program).ok_or_else(|| {
                    format!("npm was not found beside `{}`; install npm", node.program.display())
                })?;
                Ok(Self { source, interpreter: node, manager })
            }
        }
    }

    /// Asks the package manager for its index.
    fn index(&self, places: &Places) -> Result<PackageIndex, String> {
        let (program, variables) = (&self.interpreter.program, &places.variables);
        match self.source {
            PackageSource::Pypi => {
                let args = pip::start(&self.manager.0);
                PackageIndex::of_pip(&SettingsProgram { program, args, variables })
            }
            PackageSource::Npm => {
                let args = vec![self.manager.0.clone().into()];
                PackageIndex::of_npm(&SettingsProgram { program, args, variables })
            }
        }
    }
}

/// What fetching needs.
struct Fetch<'a> {
    permit: &'a FetchPermit,
    tool: &'a Tool,
    base: &'a AbsPath,
    cancel: &'a Cancel,
}

impl Fetch<'_> {
    /// Returns an empty folder for the package manager.
    fn scratch(&self) -> Result<RunFolder, RuntimeError> {
        let scratch = RunFolder::new(self.base)?;
        for name in ["home", "work"] {
            let path = scratch.path().join(name);
            fs::create_dir(&path).map_err(|error| self.io(&path, &error))?;
        }
        Ok(scratch)
    }

    /// Runs the package manager with these arguments and variables.
    fn run(
        &self,
        scratch: &RunFolder,
        args: Vec<OsString>,
        settings: Vec<(OsString, OsString)>,
        network: Network,
    ) -> Result<FinishedFetch, RuntimeError> {
        let index = self.permit.index();
        let mut read = self.tool.interpreter.places.clone();
        read.push(self.tool.manager.1.clone());
        let provided = ProvidedToFetch {
            read: read.clone(),
            folder: scratch.path().to_owned(),
            max_bytes: MAX_BYTES,
        };
        if let IndexLocation::Folder(folder) = &index.location {
            read.push(folder.clone());
        }
        read.extend(index.folders.iter().cloned());
        read.extend(index.certificates.clone());
        read.retain(|path| !SYSTEM.iter().any(|system| path.starts_with(system)));
        // No program can be found by its name, so that none is started by accident.
        let mut env: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), seen("home")),
            ("TMPDIR".into(), seen("work")),
            ("LANG".into(), "C.UTF-8".into()),
            ("PATH".into(), "/nonexistent".into()),
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
        ];
        env.extend(settings);
        if network == Network::Proxy {
            env.extend(PROXIES.map(|name| (name.into(), PROXY_PLACEHOLDER.into())));
        }
        let folder = PrivateFolder { source: scratch.path().to_owned(), target: WORK.into() };
        let spec = Spec {
            args,
            env,
            cwd: WORK.into(),
            read,
            network,
            limits: Limits { wall: TIME, memory: MEMORY, ..Limits::default() },
            private: vec![folder],
            required: fetch_requirements().collect(),
            strongest: Tier::A,
            ..Spec::new(&self.tool.interpreter.program)
        };
        let done = PermittedFetch::new(self.permit, spec, provided)?.run(self.cancel)?;
        if done.is_too_large {
            return Err(
                self.failed(format!("the packages are larger than {} GiB", MAX_BYTES >> 30))
            );
        }
        Ok(done)
    }

    /// Returns the network that the index needs.
    fn network(&self) -> Network {
        match self.permit.index().location {
            IndexLocation::Hosts { .. } => Network::Proxy,
            IndexLocation::Folder(_) => Network::None,
        }
    }

    fn failed(&self, message: impl std::fmt::Display) -> RuntimeError {
        let requests: Vec<String> =
            self.permit.requests().iter().map(ToString::to_string).collect();
        let (requests, index) = (requests.join(", "), self.permit.index().label());
        RuntimeError::Setup {
            message: format!("cannot prepare {requests} from {index}: {message}"),
            hint: None,
        }
    }

    /// Returns the error for a package manager that failed.
    fn unsuccessful(&self, done: &FinishedFetch, reason: Option<String>) -> RuntimeError {
        let last = || {
            let lines = done.messages.lines().rev().map(str::trim);
            let line = lines.filter(|line| !line.is_empty()).find(|line| {
                let lower = line.to_lowercase();
                lower.contains("error") && !lower.contains("a complete log of this run")
            });
            line.unwrap_or("the package manager failed").to_owned()
        };
        let reason = self.denied(done).or_else(|| self.unreachable(done)).or(reason);
        self.failed(reason.unwrap_or_else(last))
    }

    fn denied(&self, done: &FinishedFetch) -> Option<String> {
        let host = done.denied.first()?;
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let is_own = self.permit.hosts().iter().any(|(own, port)| format!("{own}:{port}") == *host);
        Some(if is_own || sandbox::proxy::is_always_blocked(name) {
            format!(
                "`{host}` is this machine or a reserved address, which the sandbox never connects to"
            )
        } else {
            format!("its index refers to `{host}`, and only the index itself may be contacted")
        })
    }

    fn unreachable(&self, done: &FinishedFetch) -> Option<String> {
        const SIGNS: [&str; 8] = [
            "ProxyError",
            "NewConnectionError",
            "ConnectTimeoutError",
            "Max retries exceeded",
            "502 Bad Gateway",
            "ECONNREFUSED",
            "ETIMEDOUT",
            "ENOTFOUND",
        ];
        let (host, port) = self.permit.hosts().first()?;
        let is_so = SIGNS.iter().any(|sign| done.messages.contains(sign));
        is_so.then(|| format!("cannot reach {host}:{port}; check your network connection"))
    }

    fn io(&self, path: &Path, error: &std::io::Error) -> RuntimeError {
        self.failed(format!("`{}`: {error}", path.display()))
    }
}

/// Returns a path in the working folder, as the package manager sees it.
fn seen(name: &str) -> OsString {
    Path::new(WORK).join(name).into_os_string()
}

/// Returns true for the name of a package or of its file that is safe to show and to pass on.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+!@/-".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.len() <= 300 && name.chars().all(is_plain)
}
