//! Prepares a run: copies the permitted files, chooses the script, and determines its capabilities.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment and files")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::Spec;
use sandbox_wasm::{MAX_MODULE, WasmError};
use skill::{MARKER_FILE, RelPath};
use skill_fs::{FsError, Kind, Root, WalkLimits, digests, walk};
use skill_state::{PackageSource, command_files_path};

use crate::decide::permit::{Permit, Plan, Subject};
use crate::discover::index::SkillLocation;
use crate::quote::shell_word;
use crate::run::package_store::PackageStore;
use crate::run::packages::ProjectPackages;
use crate::run::permitted::unavailable;
use crate::run::unpacked::Unpacked;
use crate::run::{
    Candidate, ChosenScript, ExpectedDigest, Interpreter, Permitted, PrivateCopy, ProvidedPaths,
    RunFolder, RunInputs, RunMethod, Search, add_typescript_flag, choose, interpreter, overlaps,
    own_folders, real_home, run_folder, spec,
};
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::{Places, RuntimeError, Skill};

/// How many bytes of a file are read to determine how to run it.
const START: u64 = 256;

/// A run that is ready to start.
pub(crate) struct Prepared {
    /// The specification with its permit.
    pub(crate) run: Permitted,
    /// The script, relative to the skill.
    pub(crate) script: String,
    /// Its interpreter, if it has one.
    pub(crate) interpreter: Option<PathBuf>,
    /// Package folders of the project that are ignored, each with the reason.
    pub(crate) unused: Vec<String>,
    /// The module's bytes, if it is WebAssembly.
    pub(crate) module: Option<Vec<u8>>,
    /// The copy of the skill.
    pub(crate) skill: PathBuf,
    /// Keeps the copy of the skill and the temporary workspace alive.
    _held: (PrivateCopy, RunFolder),
}

impl Prepared {
    /// Returns the specification for the sandbox.
    pub(crate) fn spec(&self) -> &Spec {
        self.run.spec()
    }
}

/// The folder that contains the script.
struct RunSource {
    root: Root,
    expected: ExpectedDigest,
    /// The requested script, if any.
    script: Option<String>,
    /// Keeps files fetched from a server alive.
    _unpacked: Option<Unpacked>,
}

impl OpenSkillRuntime {
    /// Copies the permitted files, chooses the script and builds its specification.
    pub(crate) fn prepare(&mut self, permit: Permit) -> Result<Prepared, RuntimeError> {
        let plan = permit.plan();
        let (subject, options) = (&plan.subject, &plan.invocation);
        let skill = &Arc::clone(self.skill(&subject.skill_id)?);
        let wrong = |message: String| script_error(subject, message, None);
        let source = self.source(skill, plan)?;
        let places = self.places()?;
        let base = places.cache.as_ref().or(places.state.as_ref()).ok_or_else(no_state_folder)?;
        let base = base.join(run_folder::FOLDER);
        if options.dry_run && plan.requested.direct_writes {
            return Err(wrong("a dry run cannot write directly".to_owned()));
        }
        run_folder::sweep(&base);
        let mut packages = ProjectPackages::find(places, self.config.project_root.as_deref());
        add_prepared(&mut packages, &permit, places)?;
        // node looks for packages in the parent folders of a script, so create one for each `node_modules`.
        let copy = PrivateCopy::new(&source.root, &base, source.expected, packages.node.len())?;
        let copied = Root::open(&copy.root)?;
        let mut chosen = choose(&candidates(&copied)?, source.script.as_deref())
            .map_err(|message| script_error(subject, message, installed_commands_hint(skill)))?;
        if chosen.runs != RunMethod::Wasm {
            // Without a sandbox nothing else about the script matters, so this comes first.
            sandbox::supported().map_err(|error| unavailable(&subject.skill_id, error))?;
        }
        let failed = |source| FsError::Io { path: base.to_string(), source };
        let scratch = RunFolder::new(&base)?;
        let home = real_home(places.home.as_ref());
        let own = own_folders(places);
        let workspace = match &options.workspace {
            Some(path) => real_workspace(&places.cwd.as_path().join(path), home.as_deref(), &own)?,
            None => std::fs::canonicalize(scratch.path()).map_err(failed)?,
        };
        let mut avoid = vec![Path::new(skill.path()), copy.root.as_path(), workspace.as_path()];
        avoid.extend(packages.avoid.iter().map(PathBuf::as_path));
        let search = Search {
            avoid: &avoid,
            project: &packages,
            cache: places.cache.as_ref(),
            variables: &places.variables,
        };
        let mut found = Interpreters::find(&mut chosen, &search).map_err(wrong)?;
        found.retain_allowed(home.as_deref(), &own);
        let linked = match chosen.runs {
            RunMethod::Wasm => Vec::new(),
            RunMethod::Native | RunMethod::Interpreted { .. } => {
                let mut reads = link_modules(&copy, &packages).map_err(failed)?;
                reads.extend(packages.prepared.iter().cloned());
                reads
            }
        };
        let provided = ProvidedPaths {
            skill: copy.root.as_path().to_owned(),
            interpreters: found.places(),
            packages: linked,
            workspace,
            home,
            own,
        };
        let script = copy.root.join(&chosen.path);
        let inputs = RunInputs {
            provided: &provided,
            script: script.as_path(),
            chosen: &chosen,
            interpreter: found.own.as_ref(),
            companions: &found.companions,
            packages: &packages,
            env: places.variables.all(),
        };
        let spec = spec(&permit, &inputs).map_err(wrong)?;
        let module = module(subject, &chosen, &copied)?;
        Ok(Prepared {
            run: Permitted::new(permit, spec, &provided)?,
            script: chosen.path,
            interpreter: found.own.map(|found| found.program),
            unused: packages.unused,
            module,
            skill: provided.skill,
            _held: (copy, scratch),
        })
    }

    /// Finds the folder that contains the script, fetching it if necessary.
    fn source(&mut self, skill: &Skill, plan: &Plan) -> Result<RunSource, RuntimeError> {
        let subject = &plan.subject;
        match &skill.place {
            SkillLocation::Served(served) => {
                let unpacked = self.unpack(skill, served, subject.bundle)?;
                // Each file was checked against the approval when it was fetched.
                let root = unpacked.root()?;
                let digest = digests(&root, &walk(&root, &WalkLimits::SKILL)?)?.bundle;
                let (expected, script) = (ExpectedDigest::Bundle(digest), plan.script.clone());
                Ok(RunSource { root, expected, script, _unpacked: Some(unpacked) })
            }
            SkillLocation::Builtin(_) | SkillLocation::Folder { .. } => {
                self.local_source(skill, subject, plan.script.as_deref())
            }
        }
    }

    /// Checks that the requested script exists. Nothing is known about a skill that has not been fetched yet.
    pub(crate) fn check_script(
        &self,
        subject: &Subject,
        named: Option<&str>,
    ) -> Result<(), RuntimeError> {
        let skill = self.skill(&subject.skill_id)?;
        if matches!(skill.place, SkillLocation::Served(_)) {
            return Ok(());
        }
        let source = self.local_source(skill, subject, named)?;
        choose(&candidates(&source.root)?, source.script.as_deref())
            .map(drop)
            .map_err(|message| script_error(subject, message, installed_commands_hint(skill)))
    }

    /// Returns the folder of a local skill: its own, or that of a command that csk installed from it.
    fn local_source(
        &self,
        skill: &Skill,
        subject: &Subject,
        named: Option<&str>,
    ) -> Result<RunSource, RuntimeError> {
        let wrong = |message: &str| script_error(subject, message.to_owned(), None);
        let from =
            skill.provenance.as_deref().filter(|from| from.has_receipt && !subject.is_drifted);
        let command = from.zip(named).and_then(|(from, named)| {
            let path = from.commands.get(named)?;
            Some((path.clone(), from.runtime.as_ref()?))
        });
        if let Some((path, (name, id, list))) = command {
            let home = self
                .places()?
                .csk_home
                .as_ref()
                .ok_or_else(|| wrong("csk's home folder was not found"))?;
            let root = Root::open(&command_files_path(home, name, id))?;
            let (expected, script) = (ExpectedDigest::CommandFiles(*list), Some(path.to_string()));
            return Ok(RunSource { root, expected, script, _unpacked: None });
        }
        let root =
            crate::disclose::load::open(skill)?.ok_or_else(|| wrong("the skill has no scripts"))?;
        let (expected, script) = (ExpectedDigest::Bundle(subject.folder), named.map(str::to_owned));
        Ok(RunSource { root, expected, script, _unpacked: None })
    }
}

/// The interpreters of a run.
struct Interpreters {
    /// The interpreter of the script, if it has one.
    own: Option<Interpreter>,
    /// Interpreters that scripts often start themselves and expect to be the project's.
    companions: Vec<Interpreter>,
}

/// Names of those interpreters.
const COMPANIONS: [&str; 3] = ["python3", "python", "node"];

impl Interpreters {
    /// Finds the interpreters of a script, and adds the flag for TypeScript if needed.
    fn find(chosen: &mut ChosenScript, search: &Search<'_>) -> Result<Self, String> {
        let companions =
            || COMPANIONS.into_iter().filter_map(|name| interpreter(name, search).ok()).collect();
        match &chosen.runs {
            RunMethod::Wasm => Ok(Self { own: None, companions: Vec::new() }),
            RunMethod::Native => Ok(Self { own: None, companions: companions() }),
            RunMethod::Interpreted { interpreter: name, .. } => {
                let own = interpreter(name, search)?;
                let companions = companions();
                add_typescript_flag(chosen, own.types)?;
                Ok(Self { own: Some(own), companions })
            }
        }
    }

    /// Drops paths that no run may read. An interpreter may be installed next to other files, and our own files are
    /// never granted with it.
    fn retain_allowed(&mut self, home: Option<&Path>, own: &[PathBuf]) {
        for found in self.own.iter_mut().chain(&mut self.companions) {
            found.places.retain(|place| {
                let real = std::fs::canonicalize(place).unwrap_or_else(|_| place.clone());
                [place, &real].iter().all(|place| {
                    !overlaps(place, own) && home.is_none_or(|home| !home.starts_with(place))
                })
            });
        }
    }

    /// Returns the paths that they must be able to read besides the system, without duplicates.
    fn places(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = Vec::new();
        for place in self.own.iter().chain(&self.companions).flat_map(|found| &found.places) {
            if !all.contains(place) {
                all.push(place.clone());
            }
        }
        all
    }
}

/// Reads the script's bytes if it is a WebAssembly module.
fn module(
    subject: &Subject,
    chosen: &ChosenScript,
    copied: &Root,
) -> Result<Option<Vec<u8>>, RuntimeError> {
    match &chosen.runs {
        RunMethod::Native | RunMethod::Interpreted { .. } => Ok(None),
        RunMethod::Wasm => {
            let path = RelPath::new(&chosen.path)
                .map_err(|error| script_error(subject, error.to_string(), None))?;
            match copied.read(&path, MAX_MODULE as u64) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(FsError::TooLarge { size, .. }) => {
                    let size = usize::try_from(size).unwrap_or(usize::MAX);
                    let error = WasmError::TooLarge { size, max: MAX_MODULE };
                    Err(wasm_error(&chosen.path, &error))
                }
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Adds the packages that were prepared for a skill.
fn add_prepared(
    packages: &mut ProjectPackages,
    permit: &Permit,
    places: &Places,
) -> Result<(), RuntimeError> {
    let Some(cache) = places.cache.as_ref().or(places.state.as_ref()) else { return Ok(()) };
    let store = PackageStore::new(cache);
    for set in permit.packages() {
        let requests: String = set.requests.iter().map(|one| format!(" --with {one}")).collect();
        let folder = store.folder(set).ok_or_else(|| RuntimeError::Setup {
            message: format!("the approved packages are no longer in the cache: {}", set.summary()),
            hint: Some(format!("to prepare them again, run the command with{requests}")),
        })?;
        match set.source {
            PackageSource::Pypi => packages.prepared.push(folder),
            PackageSource::Npm => packages.node.insert(0, folder),
        }
    }
    Ok(())
}

/// Links the project's `node_modules` into the parent folders of the copy, where node looks for packages. Returns the
/// paths that it must be able to read.
fn link_modules(copy: &PrivateCopy, packages: &ProjectPackages) -> io::Result<Vec<PathBuf>> {
    let mut reads: Vec<PathBuf> =
        packages.node.iter().chain(&packages.node_links).cloned().collect();
    for (modules, above) in packages.node.iter().zip(copy.root.as_path().ancestors().skip(1)) {
        let link = above.join("node_modules");
        symlink(modules, &link)?;
        reads.push(link);
    }
    Ok(reads)
}

#[cfg(unix)]
fn symlink(to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

fn script_error(subject: &Subject, message: String, hint: Option<String>) -> RuntimeError {
    RuntimeError::Script { skill: subject.skill_id.clone(), message, hint }
}

/// Returns a hint that lists the commands csk installed from a skill. They can be run although they are not files of
/// the skill.
fn installed_commands_hint(skill: &Skill) -> Option<String> {
    let commands = &skill.provenance.as_ref()?.commands;
    let call =
        |name: &String| format!("openskills run {} {}", shell_word(&skill.name), shell_word(name));
    let calls: Vec<String> = commands.keys().map(call).collect();
    if calls.is_empty() {
        return None;
    }
    Some(format!("csk installed its commands; try: {}", calls.join(", or ")))
}

/// Converts an engine error to a runtime error.
pub(crate) fn wasm_error(module: &str, error: &WasmError) -> RuntimeError {
    let (module, message) = (module.to_owned(), error.to_string());
    RuntimeError::WasmError { module, message, hint: error.hint() }
}

/// Lists the files of a skill with their first bytes.
fn candidates(root: &Root) -> Result<Vec<Candidate>, RuntimeError> {
    let mut all = Vec::new();
    for entry in walk(root, &WalkLimits::SKILL)? {
        if entry.path.as_str() == MARKER_FILE {
            continue;
        }
        if let Kind::File { executable, .. } = entry.kind {
            use std::io::Read;

            let mut start = Vec::new();
            let read = root.file(&entry.path)?.take(START).read_to_end(&mut start);
            read.map_err(|source| FsError::Io { path: entry.path.to_string(), source })?;
            all.push(Candidate { path: entry.path.to_string(), is_executable: executable, start });
        }
    }
    Ok(all)
}

/// Returns the real path of a workspace, unless it is too broad to be one.
pub(crate) fn real_workspace(
    path: &Path,
    home: Option<&Path>,
    own: &[PathBuf],
) -> Result<PathBuf, RuntimeError> {
    let setup = |message: String| RuntimeError::Setup {
        message,
        hint: Some("pass a project folder: `--workspace DIR`".to_owned()),
    };
    let real = std::fs::canonicalize(path).map_err(|error| {
        setup(format!("cannot open the workspace `{}`: {error}", path.display()))
    })?;
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let is_too_much = real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real));
    if !real.is_dir() {
        return Err(setup(format!("the workspace `{}` is not a folder", path.display())));
    }
    if is_too_much {
        return Err(setup(format!(
            "cannot use `{}` as a workspace: it contains your home folder",
            path.display()
        )));
    }
    if overlaps(&real, own) {
        return Err(setup(format!(
            "cannot use `{}` as a workspace: it contains openskills or csk files",
            path.display()
        )));
    }
    Ok(real)
}
