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

use crate::decide::permit::{Permit, Subject};
use crate::discover::index::Place;
use crate::quote::shell_word;
use crate::run::packages::ProjectPackages;
use crate::run::{
    Around, Candidate, ExecutionOptions, Expected, Interpreter, PrivateCopy, RunFolder, Runs,
    Search, choose, interpreter, own_places, real_home, run_folder, spec, touches, with_types,
};
use crate::runtime::OpenSkillRuntime;
use crate::state::decided::nowhere;
use crate::{RuntimeError, Skill};

/// How much of a file is read to know how it is run.
const START: u64 = 256;

/// Everything that a run needs.
pub(crate) struct Prepared {
    pub(crate) spec: Spec,
    /// What runs, seen from the skill.
    pub(crate) script: String,
    /// What runs it, where that is an interpreter.
    pub(crate) interpreter: Option<PathBuf>,
    /// Folders of packages that the project has and that are not used, each with the reason.
    pub(crate) unused: Vec<String>,
    /// The same, if it is WebAssembly.
    pub(crate) module: Option<Vec<u8>>,
    /// The copy of the skill.
    pub(crate) skill: PathBuf,
    /// The copy of the skill, and an empty workspace: they are there as long as this is.
    _held: (PrivateCopy, RunFolder),
}

impl OpenSkillRuntime {
    /// Copies what was permitted, chooses what of it runs, and says with which capabilities.
    pub(crate) fn prepare(
        &mut self,
        permit: &Permit,
        options: &ExecutionOptions,
    ) -> Result<Prepared, RuntimeError> {
        let subject = &permit.plan().subject;
        let skill = &Arc::clone(self.skill(&subject.skill_id)?);
        let wrong = |message: String| not_run(subject, message, None);
        let unpacked = match &skill.place {
            Place::Served(served) => Some(self.unpack(skill, served, subject.bundle)?),
            Place::Builtin(_) | Place::Folder { .. } => None,
        };
        let places = self.places()?;
        let (root, expected, named) = match &unpacked {
            // Each file was held to what was approved when it was fetched.
            Some(unpacked) => {
                let root = unpacked.root()?;
                let digest = digests(&root, &walk(&root, &WalkLimits::SKILL)?)?.bundle;
                (root, Expected::Bundle(digest), permit.plan().script.clone())
            }
            None => self.what_runs(skill, subject, permit.plan().script.as_deref())?,
        };
        let base = places.cache.as_ref().or(places.state.as_ref()).ok_or_else(nowhere)?;
        let base = base.join(run_folder::FOLDER);
        if options.dry_run && options.asked.direct_writes {
            return Err(wrong("a dry run cannot write directly".to_owned()));
        }
        run_folder::sweep(&base);
        let packages = ProjectPackages::find(places, self.config.project_root.as_deref());
        // node looks for packages in the folders above a script: each `node_modules` gets one.
        let copy = PrivateCopy::new(&root, &base, expected, packages.node.len())?;
        let copied = Root::open(&copy.root)?;
        let mut chosen = choose(&candidates(&copied)?, named.as_deref())
            .map_err(|message| not_run(subject, message, could_run(skill)))?;
        let failed = |source| FsError::Io { path: base.to_string(), source };
        let scratch = RunFolder::new(&base)?;
        let home = real_home(places.home.as_ref());
        let home = home.as_deref();
        let own = own_places(places);
        let workspace = match &options.workspace {
            Some(path) => real_workspace(&places.cwd.as_path().join(path), home, &own)?,
            None => std::fs::canonicalize(scratch.path()).map_err(failed)?,
        };
        let skill_path = Path::new(skill.path());
        let mut avoid = vec![skill_path, copy.root.as_path(), workspace.as_path()];
        avoid.extend(packages.avoid.iter().map(PathBuf::as_path));
        let search = Search { avoid: &avoid, project: &packages, cache: places.cache.as_ref() };
        let mut found = match &chosen.runs {
            Runs::By { interpreter: name, .. } => Some(interpreter(name, &search).map_err(wrong)?),
            Runs::Itself | Runs::Wasm => None,
        };
        let mut companions = match &chosen.runs {
            Runs::By { .. } | Runs::Itself => companions(&search),
            Runs::Wasm => Vec::new(),
        };
        if let Some(found) = &found {
            with_types(&mut chosen, found.types).map_err(wrong)?;
        }
        // An interpreter may live in a folder with much else; never are our own files granted with it.
        for found in found.iter_mut().chain(&mut companions) {
            found.places.retain(|place| {
                let real = std::fs::canonicalize(place).unwrap_or_else(|_| place.clone());
                [place, &real].iter().all(|place| {
                    !touches(place, &own) && home.is_none_or(|home| !home.starts_with(place))
                })
            });
        }
        let script = copy.root.join(&chosen.path);
        let around = Around {
            skill: copy.root.as_path(),
            script: script.as_path(),
            runs: &chosen.runs,
            module: chosen.module.as_ref(),
            interpreter: found.as_ref(),
            companions: &companions,
            packages: &packages,
            workspace: &workspace,
            home,
            env: &std::env::vars_os().collect::<Vec<_>>(),
        };
        let mut spec = spec(permit, options, &around).map_err(wrong)?;
        spec.read.retain(|path| path == copy.root.as_path() || !touches(path, &own));
        if chosen.runs != Runs::Wasm {
            spec.read.extend(link_modules(&copy, &packages).map_err(failed)?);
        }
        let module = match &chosen.runs {
            Runs::Wasm => {
                let path = RelPath::new(&chosen.path).map_err(|error| wrong(error.to_string()))?;
                let size = std::fs::metadata(script.as_path()).map_err(failed)?.len();
                if size > MAX_MODULE as u64 {
                    let size = usize::try_from(size).unwrap_or(usize::MAX);
                    let error = WasmError::TooLarge { size, most: MAX_MODULE };
                    return Err(wasm_error(&chosen.path, &error));
                }
                Some(copied.read(&path, MAX_MODULE as u64)?)
            }
            Runs::Itself | Runs::By { .. } => None,
        };
        let skill = copy.root.as_path().to_owned();
        let interpreter = found.map(|found| found.program);
        let script = chosen.path;
        let unused = packages.unused;
        Ok(Prepared { spec, script, interpreter, unused, module, skill, _held: (copy, scratch) })
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
        let (root, _, named) = self.what_runs(skill, subject, named)?;
        choose(&candidates(&root)?, named.as_deref())
            .map(drop)
            .map_err(|message| not_run(subject, message, could_run(skill)))
    }

    /// Finds the folder that something of is run: the skill's own, or that of a command which csk installed from it.
    fn what_runs(
        &self,
        skill: &Skill,
        subject: &Subject,
        named: Option<&str>,
    ) -> Result<(Root, Expected, Option<String>), RuntimeError> {
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
            return Ok((root, Expected::Runtime(*list), Some(path.to_string())));
        }
        let root =
            crate::disclose::load::open(skill)?.ok_or_else(|| wrong("it has no script to run"))?;
        Ok((root, Expected::Bundle(subject.folder), named.map(str::to_owned)))
    }
}

/// Programs that scripts of every kind start, and expect to be those of the project.
const COMPANIONS: [&str; 3] = ["python3", "python", "node"];

/// Returns those of them that are there.
fn companions(search: &Search<'_>) -> Vec<Interpreter> {
    COMPANIONS.into_iter().filter_map(|name| interpreter(name, search).ok()).collect()
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
