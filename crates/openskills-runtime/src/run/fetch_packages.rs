//! Prepares packages for scripts with pip and npm, in a sandbox that contains nothing of a skill: they are fetched from
//! the user's index, never built, and none of their code runs.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

mod npm;
mod pip;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{Limits, Network, PROXY_PLACEHOLDER, PrivateFolder, Spec, Tier};
use skill_fs::AbsPath;
use skill_state::{PackageRequest, PackageSet, PackageSource};

use super::environment::PROXIES;
use super::interpreter::{Interpreter, Search, interpreter};
use super::package_index::{IndexLocation, PackageIndex};
use super::package_store::{PackageStore, key};
use super::packages::ProjectPackages;
use super::permitted::{FinishedFetch, PermittedFetch, ProvidedToFetch, fetch_requirements};
use super::{Caller, Cancel, RunFolder, own_folders, run_folder};
use crate::RuntimeError;
use crate::decide::packages::{FetchPermit, authorize_fetch};
use crate::decide::permit::Plan;
use crate::record::event::PackagesPrepared;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::{Event, Places};

/// How long fetching may take.
const TIME: Duration = Duration::from_secs(600);
const MEMORY: u64 = 2 << 30;
/// The largest size of all packages together, unpacked.
const MAX_BYTES: u64 = 2 << 30;
/// The most files and folders of all packages together.
const MAX_ENTRIES: usize = 400_000;
/// Folders of the system. The sandbox shows what programs need of them.
const SYSTEM: [&str; 6] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"];
/// Where the package manager works, as it sees it.
const WORK: &str = "/tmp";

impl OpenSkillRuntime {
    /// Prepares the packages that a plan requests, unless they are prepared already, and returns the plan with them. It
    /// is logged before anything uses them.
    pub fn with_packages(&mut self, plan: Plan, caller: &Caller) -> Result<Plan, RuntimeError> {
        if plan.requested.with.is_empty() {
            return Ok(plan);
        }
        // A skill that may not run gets no packages.
        self.request(&Plan { requested: without_packages(&plan), ..plan.clone() })?
            .map_err(|refusal| refusal.error())?;
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
        let index = PackageIndex::find(source, places).map_err(setup)?;
        let tool =
            Tool::find(source, places, self.config.project_root.as_deref()).map_err(setup)?;
        let specs: Vec<String> = requests.iter().map(|one| one.spec().to_owned()).collect();
        let key = key(&index, &specs, &tool.interpreter.program);
        let store = PackageStore::new(&cache);
        if let Some(known) = store.known(&key) {
            return Ok(known);
        }
        let permit = authorize_fetch(requests, index, &self.found.policy)
            .map_err(|refusal| refusal.error())?;
        if let Some(announce) = caller.announce {
            announce(&format!(
                "preparing {} from {}",
                specs.join(", "),
                permit.index().location.label()
            ));
        }
        let base = cache.join(run_folder::FOLDER);
        run_folder::sweep(&base);
        let scratch = RunFolder::new(&base)?;
        let fetch =
            Fetch { permit: &permit, tool: &tool, folder: scratch.path(), cancel: &caller.cancel };
        let (packages, prepared) = match source {
            PackageSource::Pypi => pip::fetch(&fetch, &specs)?,
            PackageSource::Npm => npm::fetch(&fetch, &specs)?,
        };
        check_size(&prepared).map_err(|message| fetch.failed(message))?;
        let index = permit.index().location.label();
        let requests = permit.requests().iter().cloned().collect();
        let set = PackageSet { source, requests, index, packages };
        self.record(&Event::PackagesPrepared(PackagesPrepared {
            skill_id: plan.subject.skill_id.clone(),
            session_id: self.session.id.clone(),
            source: source.as_str().to_owned(),
            requests: set.requests.iter().map(ToString::to_string).collect(),
            index: set.index.clone(),
            packages: set.packages.clone(),
            digest: set.digest().to_string(),
        }))?;
        store.keep(&key, &set, &prepared)?;
        Ok(set)
    }
}

/// Returns the access that a plan requests, apart from packages.
fn without_packages(plan: &Plan) -> crate::decide::permit::RequestedAccess {
    crate::decide::permit::RequestedAccess { with: Vec::new(), ..plan.requested.clone() }
}

/// The interpreter of a package manager.
struct Tool {
    interpreter: Interpreter,
    /// The package manager, if it is a script of its own, and what it must be able to read.
    script: Option<(PathBuf, PathBuf)>,
}

impl Tool {
    fn find(
        source: PackageSource,
        places: &Places,
        project: Option<&Path>,
    ) -> Result<Self, String> {
        let packages = ProjectPackages::find(places, project);
        let own = own_folders(places);
        let avoid: Vec<&Path> = own.iter().chain(&packages.avoid).map(PathBuf::as_path).collect();
        let search = Search {
            avoid: &avoid,
            project: &packages,
            cache: places.cache.as_ref(),
            variables: &places.variables,
        };
        match source {
            PackageSource::Pypi => {
                Ok(Self { interpreter: interpreter("python3", &search)?, script: None })
            }
            PackageSource::Npm => {
                let node = interpreter("node", &search)?;
                let script = npm::script(&node.program).ok_or_else(|| {
                    format!("npm was not found beside `{}`; install npm", node.program.display())
                })?;
                Ok(Self { interpreter: node, script: Some(script) })
            }
        }
    }
}

/// What fetching needs.
struct Fetch<'a> {
    permit: &'a FetchPermit,
    tool: &'a Tool,
    folder: &'a Path,
    cancel: &'a Cancel,
}

impl Fetch<'_> {
    /// Runs the package manager with these arguments.
    fn run(&self, args: Vec<OsString>, network: Network) -> Result<FinishedFetch, RuntimeError> {
        let index = self.permit.index();
        let mut read = self.tool.interpreter.places.clone();
        read.extend(self.tool.script.iter().map(|(_, folder)| folder.clone()));
        let provided = ProvidedToFetch { read: read.clone(), folder: self.folder.to_owned() };
        if let IndexLocation::Folder(folder) = &index.location {
            read.push(folder.clone());
        }
        read.extend(index.certificates.clone());
        read.retain(|path| !SYSTEM.iter().any(|system| path.starts_with(system)));
        let mut env: Vec<(OsString, OsString)> = [
            ("HOME", "/tmp/home"),
            ("TMPDIR", "/tmp/work"),
            ("LANG", "C.UTF-8"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        if let Some(path) = &index.certificates {
            env.push(("NODE_EXTRA_CA_CERTS".into(), path.into()));
        }
        if network == Network::Proxy {
            env.extend(PROXIES.map(|name| (name.into(), PROXY_PLACEHOLDER.into())));
        }
        let spec = Spec {
            args,
            env,
            cwd: WORK.into(),
            read,
            network,
            limits: Limits { wall: TIME, memory: MEMORY, ..Limits::default() },
            private: vec![PrivateFolder { source: self.folder.to_owned(), target: WORK.into() }],
            required: fetch_requirements().collect(),
            strongest: Tier::A,
            ..Spec::new(&self.tool.interpreter.program)
        };
        for name in ["home", "work"] {
            let path = self.folder.join(name);
            fs::create_dir_all(&path).map_err(|error| self.io(&path, &error))?;
        }
        PermittedFetch::new(self.permit, spec, &provided)?.run(self.cancel)
    }

    /// Returns the network that the index needs.
    fn network(&self) -> Network {
        match self.permit.index().location {
            IndexLocation::Hosts(_) => Network::Proxy,
            IndexLocation::Folder(_) => Network::None,
        }
    }

    fn failed(&self, message: impl std::fmt::Display) -> RuntimeError {
        let requests: Vec<String> =
            self.permit.requests().iter().map(ToString::to_string).collect();
        let (requests, index) = (requests.join(", "), self.permit.index().location.label());
        RuntimeError::Setup {
            message: format!("cannot prepare {requests} from {index}: {message}"),
            hint: None,
        }
    }

    /// Returns the error for a package manager that failed.
    fn unsuccessful(&self, done: &FinishedFetch, reason: Option<String>) -> RuntimeError {
        let denied = done.denied.first().map(|host| {
            format!("its index refers to `{host}`, and only the index itself may be contacted")
        });
        let last = || {
            let lines = done.messages.lines().rev().map(str::trim);
            let line = lines.filter(|line| !line.is_empty()).find(|line| {
                let lower = line.to_lowercase();
                lower.contains("error") && !lower.contains("a complete log of this run")
            });
            line.unwrap_or("the package manager failed").to_owned()
        };
        self.failed(denied.or(reason).unwrap_or_else(last))
    }

    fn io(&self, path: &Path, error: &std::io::Error) -> RuntimeError {
        self.failed(format!("`{}`: {error}", path.display()))
    }
}

/// Refuses packages that are too large, and links that leave them.
fn check_size(folder: &Path) -> Result<(), String> {
    let real = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    let (mut bytes, mut entries) = (0, 0);
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| error.to_string())? {
            let entry = entry.map_err(|error| error.to_string())?;
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            entries += 1;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_symlink() {
                let is_inside =
                    fs::canonicalize(entry.path()).is_ok_and(|to| to.starts_with(&real));
                if !is_inside {
                    return Err(format!("`{}` links out of the packages", entry.path().display()));
                }
            } else if kind.is_file() {
                bytes += entry.metadata().map_err(|error| error.to_string())?.len();
            } else {
                return Err(format!("`{}` is not a regular file", entry.path().display()));
            }
            if bytes > MAX_BYTES || entries > MAX_ENTRIES {
                return Err(format!(
                    "the packages are larger than {} GiB or {MAX_ENTRIES} files",
                    MAX_BYTES >> 30
                ));
            }
        }
    }
    Ok(())
}

/// The packages with their hashes, and the folder that contains them.
type Fetched = (BTreeMap<String, String>, PathBuf);

/// Returns the path of the cache folder's own file system for a name in the working folder of the package manager.
fn seen(name: &str) -> OsString {
    AbsPath::new(WORK).expect("an absolute path").join(name).to_string().into()
}
