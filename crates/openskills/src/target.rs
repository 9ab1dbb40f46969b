//! Resolves paths on the command line to skill folders.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Component, Path, PathBuf};

use openskills_runtime::{RuntimeError, file_problem, problem_of, shell_word};
use skill::{Code, Diagnostic, RelPath, SKILL_FILE, nearest};
use skill_fs::{AbsPath, FindLimits, FsError, Root, SkillFile, find_skills};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;

/// The hint for a path that holds no skill.
pub(crate) const SKILL_HINT: &str = "pass a skill folder";

/// A folder that should contain one skill.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) root: Root,
    pub(crate) file: SkillFile,
    /// The folder as the user typed it; empty for the current directory.
    pub(crate) shown: String,
    /// The folder's name, which should match the skill's.
    pub(crate) directory: Option<String>,
}

impl Target {
    /// Returns a path inside the folder as the user would type it.
    pub(crate) fn shown_path(&self, path: &str) -> String {
        shown_below(self.root.path(), &self.shown, path)
    }
}

/// Returns `path`, which is at or below `base`, with `base` shown as `shown`.
fn shown_below(base: &AbsPath, shown: &str, path: &str) -> String {
    let below = Path::new(path).strip_prefix(base.as_path()).ok();
    match below.map(|below| below.to_string_lossy()) {
        None => path.to_owned(),
        Some(below) if below.is_empty() => shown.to_owned(),
        Some(below) if shown.is_empty() => below.into_owned(),
        Some(below) => format!("{}/{below}", shown.trim_end_matches('/')),
    }
}

/// How to search paths for skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// Each path is one skill.
    Exact,
    /// Every skill at or below the paths.
    Recursive,
}

/// The result of a search.
#[derive(Debug)]
pub(crate) struct SearchResult<T> {
    /// The result for each skill, in order.
    pub(crate) skills: Vec<T>,
    /// Problems with the search itself.
    pub(crate) problems: Vec<Diagnostic>,
}

/// Returns true if a given path does not exist, which is a usage error.
pub(crate) fn has_missing_path(problems: &[Diagnostic]) -> bool {
    problems.iter().any(|problem| problem.code == Code::PathNotFound)
}

/// Returns the problems of a search as an error, for JSON output.
pub(crate) fn search_error(problems: Vec<Diagnostic>) -> RuntimeError {
    match problems.iter().find(|problem| problem.code == Code::PathNotFound) {
        Some(missing) => RuntimeError::Setup {
            message: format!("{}: {}", missing.file, missing.message),
            hint: Some(missing.hint.clone().unwrap_or_else(|| SKILL_HINT.to_owned())),
        },
        None => RuntimeError::InvalidManifest {
            file: problems.first().map(|problem| problem.file.clone()).unwrap_or_default(),
            diagnostics: problems,
        },
    }
}

/// Returns the folder of the skill called `path`, unless that is an existing path. Also finds skills that are disabled
/// or cannot be loaded. Fails with the nearest name if `path` is neither a path nor a skill.
pub(crate) fn resolve_name(
    context: &Context,
    discovery: &DiscoveryArgs,
    path: &Path,
) -> Result<PathBuf, RuntimeError> {
    let exists = fs::symlink_metadata(context.cwd.as_path().join(path)).is_ok();
    let Some(name) = path.to_str().filter(|_| !exists || !discovery.dir.is_empty()) else {
        return Ok(path.to_owned());
    };
    let runtime = discovery.discover(context)?;
    let found = match runtime.skill(name) {
        Ok(skill) => Some(skill),
        // A disabled skill still has a folder.
        Err(_) => runtime.candidates(name).first(),
    };
    if let Some(skill) = found {
        return match skill.location() {
            Some(_) => Ok(PathBuf::from(skill.path())),
            None => Err(RuntimeError::Setup {
                message: format!("`{name}` has no local folder: {}", skill.path()),
                hint: Some(format!("read it with `openskills activate {}`", shell_word(&skill.id))),
            }),
        };
    }
    match runtime.skill(name) {
        _ if exists => Ok(path.to_owned()),
        Err(RuntimeError::InvalidManifest { file, .. }) => {
            Ok(Path::new(&file).parent().map_or_else(|| path.to_owned(), Path::to_owned))
        }
        // Without a similar name, the caller reports a missing path and may suggest a similar one.
        Err(RuntimeError::SkillNotFound { nearest: Some(nearest), .. }) => {
            let message = format!("no path or skill named `{name}`");
            let hint = Some(format!("did you mean `{nearest}`?"));
            Err(RuntimeError::Setup { message, hint })
        }
        Ok(_) | Err(_) => Ok(path.to_owned()),
    }
}

/// Calls `visit` for every skill at `paths`.
pub(crate) fn visit<T: Send>(
    cwd: &AbsPath,
    paths: &[PathBuf],
    search: Search,
    visit: impl Fn(Target) -> T + Sync,
) -> SearchResult<T> {
    let mut visited = SearchResult { skills: Vec::new(), problems: Vec::new() };
    for path in paths {
        match (find(cwd, path), search) {
            (Err(problem), _) => visited.problems.push(*problem),
            (Ok(target), Search::Exact) => visited.skills.push(visit(target)),
            (Ok(top), Search::Recursive) => visit_below(top, &visit, &mut visited),
        }
    }
    visited
}

fn visit_below<T: Send>(
    top: Target,
    visit: &(impl Fn(Target) -> T + Sync),
    visited: &mut SearchResult<T>,
) {
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
        let message = format!("no {SKILL_FILE} in or below this folder");
        visited.problems.push(problem_of(Code::NothingFound, &shown_top, message));
    }
    visited.skills.extend(found.skills);
}

/// Opens the skill at `path`, which is a folder or the SKILL.md in it.
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
        _ => Err(refuse(Code::NoSkillFile, "neither a folder nor a SKILL.md".to_owned())),
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

/// Returns the path without `.` components. A path with `..` is resolved, since a component before it may be a link.
fn clean(path: &AbsPath) -> AbsPath {
    let has_parent = path.as_path().components().any(|part| part == Component::ParentDir);
    let clean = if has_parent { fs::canonicalize(path.as_path()).ok() } else { None };
    let clean = clean.unwrap_or_else(|| path.as_path().components().collect());
    AbsPath::new(clean).unwrap_or_else(|_| path.clone())
}

/// Returns a path as diagnostics show it: without a leading `./` or a trailing `/`.
fn display(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    if path == "." { String::new() } else { path.to_owned() }
}

fn not_found(full: &AbsPath, shown: &str) -> Box<Diagnostic> {
    let message = "the path does not exist".to_owned();
    let mut diagnostic = Box::new(problem_of(Code::PathNotFound, shown, message));
    let list = "check the path, or run `openskills list` to see all skills".to_owned();
    diagnostic.hint = did_you_mean(full).or(Some(list));
    diagnostic
}

/// Returns a hint with the most similar name in the folder of a missing path.
pub(crate) fn did_you_mean(full: &AbsPath) -> Option<String> {
    let siblings: Vec<String> = fs::read_dir(full.parent()?.as_path())
        .map(|entries| {
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
        })
        .unwrap_or_default();
    let others = siblings.iter().map(String::as_str).filter(|name| Some(*name) != full.file_name());
    nearest(full.file_name()?, others).map(|near| format!("did you mean `{near}`?"))
}

/// Returns the path of `name` in the folder shown as `folder`.
pub(crate) fn shown_in(folder: &str, name: &RelPath) -> String {
    if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") }
}
