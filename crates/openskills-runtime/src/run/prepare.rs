//! Everything that a run needs, before it starts: a copy of what was permitted, what of it runs, and with which capabilities.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment and files")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::Spec;
use sandbox_wasm::{MAX_MODULE, WasmError};
use skill::{MARKER_FILE, RelPath};
use skill_fs::{FsError, Kind, Root, WalkLimits, digests, walk};
use skill_state::runtime_place;

use crate::decide::permit::{Permit, Plan, Subject};
use crate::discover::index::Place;
use crate::quote::shell_word;
use crate::run::packages::ProjectPackages;
use crate::run::unpacked::Unpacked;
use crate::run::{
    Candidate, Chosen, Expected, Interpreter, Permitted, PrivateCopy, Provided, RunFolder,
    RunInputs, Runs, Search, choose, interpreter, own_places, real_home, run_folder, spec, touches,
    with_types,
};
use crate::runtime::OpenSkillRuntime;
use crate::state::decided::nowhere;
use crate::{RuntimeError, Skill};

/// How much of a file is read to know how it is run.
const START: u64 = 256;

/// Everything that a run needs.
pub(crate) struct Prepared {
    /// What starts, under its permit.
    pub(crate) run: Permitted,
    /// What runs, seen from the skill.
    pub(crate) script: String,
    /// What runs it, where that is an interpreter.
    pub(crate) interpreter: Option<PathBuf>,
    /// Folders of packages that the project has and that are not used, each with the reason.
    pub(crate) unused: Vec<String>,
    /// The module, if it is WebAssembly.
    pub(crate) module: Option<Vec<u8>>,
    /// The copy of the skill.
    pub(crate) skill: PathBuf,
    /// The copy of the skill, and an empty workspace: they are there as long as this is.
    _held: (PrivateCopy, RunFolder),
}

impl Prepared {
    /// Returns the specification for the sandbox.
    pub(crate) fn spec(&self) -> &Spec {
        self.run.spec()
    }
}

/// The folder that something of is run.
struct Source {
    root: Root,
    expected: Expected,
    /// What of it runs, if that is named.
    script: Option<String>,
    /// What was fetched from a server: it is there as long as this is.
    _unpacked: Option<Unpacked>,
}

impl OpenSkillRuntime {
    /// Copies what was permitted, chooses what of it runs, and says with which capabilities.
    pub(crate) fn prepare(&mut self, permit: Permit) -> Result<Prepared, RuntimeError> {
        let plan = permit.plan();
        let (subject, options) = (&plan.subject, &plan.invocation);
        let skill = &Arc::clone(self.skill(&subject.skill_id)?);
        let wrong = |message: String| not_run(subject, message, None);
        let source = self.source(skill, plan)?;
        let places = self.places()?;
        let base = places.cache.as_ref().or(places.state.as_ref()).ok_or_else(nowhere)?;
        let base = base.join(run_folder::FOLDER);
        if options.dry_run && plan.asked.direct_writes {
            return Err(wrong("a dry run cannot write directly".to_owned()));
        }
        run_folder::sweep(&base);
        let packages = ProjectPackages::find(places, self.config.project_root.as_deref());
        // node looks for packages in the folders above a script: each `node_modules` gets one.
        let copy = PrivateCopy::new(&source.root, &base, source.expected, packages.node.len())?;
        let copied = Root::open(&copy.root)?;
        let mut chosen = choose(&candidates(&copied)?, source.script.as_deref())
            .map_err(|message| not_run(subject, message, could_run(skill)))?;
        let failed = |source| FsError::Io { path: base.to_string(), source };
        let scratch = RunFolder::new(&base)?;
        let home = real_home(places.home.as_ref());
        let own = own_places(places);
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
        found.retain_foreign(home.as_deref(), &own);
        let linked = match chosen.runs {
            Runs::Wasm => Vec::new(),
            Runs::Itself | Runs::By { .. } => link_modules(&copy, &packages).map_err(failed)?,
        };
        let provided = Provided {
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

    /// Finds the folder that something of is run, and fetches it where it is not here.
    fn source(&mut self, skill: &Skill, plan: &Plan) -> Result<Source, RuntimeError> {
        let subject = &plan.subject;
        match &skill.place {
            Place::Served(served) => {
                let unpacked = self.unpack(skill, served, subject.bundle)?;
                // Each file was held to what was approved when it was fetched.
                let root = unpacked.root()?;
                let digest = digests(&root, &walk(&root, &WalkLimits::SKILL)?)?.bundle;
                let (expected, script) = (Expected::Bundle(digest), plan.script.clone());
                Ok(Source { root, expected, script, _unpacked: Some(unpacked) })
            }
            Place::Builtin(_) | Place::Folder { .. } => {
                self.what_runs(skill, subject, plan.script.as_deref())
            }
        }
    }

    /// Makes sure that there is something to run. Of a skill that is not here yet nothing is known.
    pub(crate) fn check_script(
        &self,
        subject: &Subject,
        named: Option<&str>,
    ) -> Result<(), RuntimeError> {
        let skill = self.skill(&subject.skill_id)?;
        if matches!(skill.place, Place::Served(_)) {
            return Ok(());
        }
        let source = self.what_runs(skill, subject, named)?;
        choose(&candidates(&source.root)?, source.script.as_deref())
            .map(drop)
            .map_err(|message| not_run(subject, message, could_run(skill)))
    }

    /// Returns the folder of a skill that is here: its own, or that of a command which csk installed from it.
    fn what_runs(
        &self,
        skill: &Skill,
        subject: &Subject,
        named: Option<&str>,
    ) -> Result<Source, RuntimeError> {
        let wrong = |message: &str| not_run(subject, message.to_owned(), None);
        let from =
            skill.provenance.as_deref().filter(|from| from.has_receipt && !subject.is_drifted);
        let command = from.zip(named).and_then(|(from, named)| {
            let path = from.commands.get(named)?;
            Some((path.clone(), from.runtime.as_ref()?))
        });
        if let Some((path, (name, id, list))) = command {
            let home =
                self.places()?.csk_home.as_ref().ok_or_else(|| wrong("csk has no home here"))?;
            let root = Root::open(&runtime_place(home, name, id))?;
            let (expected, script) = (Expected::Runtime(*list), Some(path.to_string()));
            return Ok(Source { root, expected, script, _unpacked: None });
        }
        let root =
            crate::disclose::load::open(skill)?.ok_or_else(|| wrong("it has no script to run"))?;
        let (expected, script) = (Expected::Bundle(subject.folder), named.map(str::to_owned));
        Ok(Source { root, expected, script, _unpacked: None })
    }
}

/// The interpreters of a run.
struct Interpreters {
    /// The one that runs the script, where one does.
    own: Option<Interpreter>,
    /// Programs that scripts of every kind start, and expect to be those of the project.
    companions: Vec<Interpreter>,
}

/// Programs that scripts of every kind start.
const COMPANIONS: [&str; 3] = ["python3", "python", "node"];

impl Interpreters {
    /// Finds what runs a script, and has TypeScript run by what can.
    fn find(chosen: &mut Chosen, search: &Search<'_>) -> Result<Self, String> {
        let companions =
            || COMPANIONS.into_iter().filter_map(|name| interpreter(name, search).ok()).collect();
        match &chosen.runs {
            Runs::Wasm => Ok(Self { own: None, companions: Vec::new() }),
            Runs::Itself => Ok(Self { own: None, companions: companions() }),
            Runs::By { interpreter: name, .. } => {
                let own = interpreter(name, search)?;
                let companions = companions();
                with_types(chosen, own.types)?;
                Ok(Self { own: Some(own), companions })
            }
        }
    }

    /// Leaves out what no run may read: an interpreter may live in a folder with much else, and never are our own files granted with it.
    fn retain_foreign(&mut self, home: Option<&Path>, own: &[PathBuf]) {
        for found in self.own.iter_mut().chain(&mut self.companions) {
            found.places.retain(|place| {
                let real = std::fs::canonicalize(place).unwrap_or_else(|_| place.clone());
                [place, &real].iter().all(|place| {
                    !touches(place, own) && home.is_none_or(|home| !home.starts_with(place))
                })
            });
        }
    }

    /// Returns what they need to be read beside the system, each once.
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

/// Reads the module that runs, if it is one.
fn module(
    subject: &Subject,
    chosen: &Chosen,
    copied: &Root,
) -> Result<Option<Vec<u8>>, RuntimeError> {
    match &chosen.runs {
        Runs::Itself | Runs::By { .. } => Ok(None),
        Runs::Wasm => {
            let path = RelPath::new(&chosen.path)
                .map_err(|error| not_run(subject, error.to_string(), None))?;
            match copied.read(&path, MAX_MODULE as u64) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(FsError::TooLarge { size, .. }) => {
                    let size = usize::try_from(size).unwrap_or(usize::MAX);
                    let error = WasmError::TooLarge { size, most: MAX_MODULE };
                    Err(wasm_error(&chosen.path, &error))
                }
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Lets a script of node find the packages of the project: node looks for them in the folders above the script. Returns what it reads then.
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

fn not_run(subject: &Subject, message: String, hint: Option<String>) -> RuntimeError {
    RuntimeError::Script { skill: subject.skill_id.clone(), message, hint }
}

/// Names the commands that csk installed from a skill: they are no files of it, and run all the same.
fn could_run(skill: &Skill) -> Option<String> {
    let commands = &skill.provenance.as_ref()?.commands;
    let call =
        |name: &String| format!("openskills run {} {}", shell_word(&skill.name), shell_word(name));
    let calls: Vec<String> = commands.keys().map(call).collect();
    if calls.is_empty() {
        return None;
    }
    Some(format!("csk installed commands of it: {}", calls.join(", or ")))
}

/// Returns why a module is not run.
pub(crate) fn wasm_error(module: &str, error: &WasmError) -> RuntimeError {
    let (module, message) = (module.to_owned(), error.to_string());
    RuntimeError::WasmError { module, message, hint: error.hint() }
}

/// Lists the files of a skill with how each begins.
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

/// Returns the real path of a workspace, unless it is more than anybody means.
fn real_workspace(
    path: &Path,
    home: Option<&Path>,
    own: &[PathBuf],
) -> Result<PathBuf, RuntimeError> {
    let setup = |message: String| RuntimeError::Setup {
        message,
        hint: Some("name the folder of a project: --workspace DIR".to_owned()),
    };
    let real = std::fs::canonicalize(path)
        .map_err(|error| setup(format!("{}: {error}", path.display())))?;
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let is_too_much = real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real));
    if !real.is_dir() {
        return Err(setup(format!("{} is not a folder", path.display())));
    }
    if is_too_much {
        return Err(setup(format!("{} holds more than a project", path.display())));
    }
    if touches(&real, own) {
        return Err(setup(format!(
            "{} holds files of openskills or csk, or is one of their folders",
            path.display()
        )));
    }
    Ok(real)
}
