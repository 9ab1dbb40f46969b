//! From a path on the command line to the folders of skills it means.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Component, Path, PathBuf};

use openskills_runtime::{RuntimeError, file_problem, problem_of, shell_word};
use skill::{Code, Diagnostic, RelPath, SKILL_FILE, nearest};
use skill_fs::{AbsPath, FindLimits, FsError, Root, SkillFile, find_skills};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;

/// What to do where no skill is.
pub(crate) const SKILL_HINT: &str = "name the folder of a skill";

/// A folder that should hold one skill.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) root: Root,
    pub(crate) file: SkillFile,
    /// The folder as the user named it; empty for the working folder.
    pub(crate) shown: String,
    /// The folder's name, to compare with the skill's.
    pub(crate) directory: Option<String>,
}

impl Target {
    /// Returns the path of something in the folder as the user would name it.
    pub(crate) fn shown_path(&self, path: &str) -> String {
        shown_below(self.root.path(), &self.shown, path)
    }
}

/// Returns `path`, which is at or below `base`, as seen from where `base` is called `shown`.
fn shown_below(base: &AbsPath, shown: &str, path: &str) -> String {
    let below = Path::new(path).strip_prefix(base.as_path()).ok();
    match below.map(|below| below.to_string_lossy()) {
        None => path.to_owned(),
        Some(below) if below.is_empty() => shown.to_owned(),
        Some(below) if shown.is_empty() => below.into_owned(),
        Some(below) => format!("{}/{below}", shown.trim_end_matches('/')),
    }
}

/// Where to look for skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// Each path is a skill.
    Exact,
    /// Every skill at or below the paths.
    Recursive,
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct Visited<T> {
    /// What was made of each skill, in order.
    pub(crate) skills: Vec<T>,
    /// What stood in the way of finding them.
    pub(crate) problems: Vec<Diagnostic>,
}

/// Returns true if a path that was named is not there, which is a slip in the call.
pub(crate) fn is_wrong_call(problems: &[Diagnostic]) -> bool {
    problems.iter().any(|problem| problem.code == Code::PathNotFound)
}

/// Returns the failure to find skills, for whoever reads data.
pub(crate) fn not_taken(problems: Vec<Diagnostic>) -> RuntimeError {
    match problems.iter().find(|problem| problem.code == Code::PathNotFound) {
        Some(slip) => RuntimeError::Setup {
            message: format!("{}: {}", slip.file, slip.message),
            hint: Some(slip.hint.clone().unwrap_or_else(|| SKILL_HINT.to_owned())),
        },
        None => RuntimeError::InvalidManifest {
            file: problems.first().map(|problem| problem.file.clone()).unwrap_or_default(),
            diagnostics: problems,
        },
    }
}

/// Returns the folder of the skill that a name means, where no such path is there: also of one that is disabled or cannot be loaded. A path stays
/// as it is; what is neither is told with the name that comes nearest.
pub(crate) fn named(
    context: &Context,
    discovery: &DiscoveryArgs,
    path: &Path,
) -> Result<PathBuf, RuntimeError> {
    let is_there = fs::symlink_metadata(context.cwd.as_path().join(path)).is_ok();
    let Some(name) = path.to_str().filter(|_| !is_there || !discovery.dir.is_empty()) else {
        return Ok(path.to_owned());
    };
    let runtime = discovery.discover(context)?;
    let found = match runtime.skill(name) {
        Ok(skill) => Some(skill),
        // What is disabled has its folder all the same.
        Err(_) => runtime.candidates(name).first(),
    };
    if let Some(skill) = found {
        return match skill.location() {
            Some(_) => Ok(PathBuf::from(skill.path())),
            None => Err(RuntimeError::Setup {
                message: format!("`{name}` has no folder here: {}", skill.path()),
                hint: Some(format!("read it: openskills activate {}", shell_word(&skill.id))),
            }),
        };
    }
    match runtime.skill(name) {
        _ if is_there => Ok(path.to_owned()),
        Err(RuntimeError::InvalidManifest { file, .. }) => {
            Ok(Path::new(&file).parent().map_or_else(|| path.to_owned(), Path::to_owned))
        }
        // What is beside a path that is not there may be meant as well.
        Err(RuntimeError::SkillNotFound { nearest: Some(nearest), .. }) => {
            let message = format!("{name}: the path does not exist, and no skill is named so");
            let hint = Some(format!("did you mean `{nearest}`?"));
            Err(RuntimeError::Setup { message, hint })
        }
        Ok(_) | Err(_) => Ok(path.to_owned()),
    }
}

/// Calls `visit` for every skill that `paths` mean.
pub(crate) fn visit<T: Send>(
    cwd: &AbsPath,
    paths: &[PathBuf],
    search: Search,
    visit: impl Fn(Target) -> T + Sync,
) -> Visited<T> {
    let mut visited = Visited { skills: Vec::new(), problems: Vec::new() };
    for path in paths {
        match (find(cwd, path), search) {
            (Err(problem), _) => visited.problems.push(*problem),
            (Ok(target), Search::Exact) => visited.skills.push(visit(target)),
            (Ok(top), Search::Recursive) => below(top, &visit, &mut visited),
        }
    }
    visited
}

fn below<T: Send>(top: Target, visit: &(impl Fn(Target) -> T + Sync), visited: &mut Visited<T>) {
    let base = top.root.path().clone();
    let (shown_top, directory_top) = (top.shown.clone(), top.directory.clone());
    let shown = |path: &str| shown_below(&base, &shown_top, path);
    let found = find_skills(top.root, &FindLimits::SEARCH, |skill| {
        let path = skill.root.path();
        let directory =
            if *path == base { directory_top.clone() } else { path.file_name().map(str::to_owned) };
        let shown = shown(path.as_str());
        visit(Target { root: skill.root, file: skill.file, shown, directory })
    });
    let problems = found.problems.iter().map(|error| file_problem(error, &shown(error.path())));
    visited.problems.extend(problems);
    if found.skills.is_empty() && found.problems.is_empty() {
        let message = format!("there is no {SKILL_FILE} at or below this folder");
        visited.problems.push(problem_of(Code::NothingFound, &shown_top, message));
    }
    visited.skills.extend(found.skills);
}

/// Finds the skill that `path` names: a folder, or the SKILL.md in it.
fn find(cwd: &AbsPath, path: &Path) -> Result<Target, Box<Diagnostic>> {
    let shown = path.to_string_lossy().into_owned();
    let refuse = |code, message: String| Box::new(problem_of(code, &shown, message));
    let Some(text) = path.to_str() else {
        return Err(refuse(Code::PathNotText, "the path is not valid UTF-8".to_owned()));
    };
    let full = clean(&cwd.join(text));
    let metadata = fs::metadata(full.as_path()).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            not_found(&full, &shown)
        } else {
            refuse(Code::Unreadable, format!("cannot access the path: {source}"))
        }
    })?;
    if metadata.is_dir() {
        return open(&full, None, &shown);
    }
    match (full.file_name().filter(|name| name.eq_ignore_ascii_case(SKILL_FILE)), full.parent()) {
        (Some(name), Some(folder)) => {
            let holder = path
                .parent()
                .map_or_else(String::new, |parent| parent.to_string_lossy().into_owned());
            open(&folder, Some(name), &holder)
        }
        _ => Err(refuse(Code::NoSkillFile, "this is neither a folder nor a SKILL.md".to_owned())),
    }
}

fn open(folder: &AbsPath, file: Option<&str>, shown: &str) -> Result<Target, Box<Diagnostic>> {
    let shown = display(shown);
    let failed = |error: &FsError| Box::new(file_problem(error, &shown));
    let root = Root::open(folder).map_err(|error| failed(&error))?.as_skill();
    let file = match file {
        Some(name) => SkillFile::named(name),
        None => root.skill_file().map_err(|error| failed(&error))?,
    };
    let directory = folder.file_name().map(str::to_owned);
    Ok(Target { root, file, shown, directory })
}

/// Returns the path without `.` parts; one with `..` is resolved, since a link may stand before it.
fn clean(path: &AbsPath) -> AbsPath {
    let has_parent = path.as_path().components().any(|part| part == Component::ParentDir);
    let clean = if has_parent { fs::canonicalize(path.as_path()).ok() } else { None };
    let clean = clean.unwrap_or_else(|| path.as_path().components().collect());
    AbsPath::new(clean).unwrap_or_else(|_| path.clone())
}

/// Returns a path as diagnostics show it: without `./` before and `/` after it.
fn display(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    if path == "." { String::new() } else { path.to_owned() }
}

fn not_found(full: &AbsPath, shown: &str) -> Box<Diagnostic> {
    let message = "the path does not exist".to_owned();
    let mut diagnostic = Box::new(problem_of(Code::PathNotFound, shown, message));
    let known = "it is no name of a skill either; `openskills list` shows those".to_owned();
    diagnostic.hint = meant(full).or(Some(known));
    diagnostic
}

/// Returns advice that names what is beside a path that is not there and is called nearly so.
pub(crate) fn meant(full: &AbsPath) -> Option<String> {
    let siblings: Vec<String> = fs::read_dir(full.parent()?.as_path())
        .map(|entries| {
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
        })
        .unwrap_or_default();
    let others = siblings.iter().map(String::as_str).filter(|name| Some(*name) != full.file_name());
    nearest(full.file_name()?, others).map(|near| format!("did you mean `{near}`?"))
}

/// Returns `name` in the folder that is shown as `folder`.
pub(crate) fn shown_in(folder: &str, name: &RelPath) -> String {
    if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") }
}
