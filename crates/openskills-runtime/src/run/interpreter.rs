//! Finds the interpreter of a script: on PATH, resolved through shims, and never in a location that the skill or the
//! workspace controls.

#![expect(clippy::disallowed_methods, reason = "the edge: PATH, files and programs")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skill::interpreters::{self, InterpreterLocation, without_version};
use skill_fs::AbsPath;

use super::interpreter_cache::InterpreterCache;
use super::linked::{PythonLink, python_links};
use super::packages::{ProjectPackages, PythonEnvironment};
use super::variables::steers_interpreters;
use crate::state::variables::Variables;

/// An interpreter, with what it must be able to read besides the system: itself, the links that lead to it, and its
/// library. Its folder is not included, because that may contain anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) program: PathBuf,
    pub(crate) places: Vec<PathBuf>,
    /// Its package folders.
    pub(crate) packages: Vec<PathBuf>,
    /// Folders that Python packages link to.
    pub(crate) links: Vec<PythonLink>,
    /// The folder of the user's own Python packages.
    pub(crate) user_base: Option<PathBuf>,
    /// Whether it runs TypeScript.
    pub(crate) types: TypeScriptSupport,
}

/// Whether a JavaScript interpreter runs TypeScript by stripping the types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeScriptSupport {
    /// It does without a flag, or it is not node.
    Native,
    /// It does with a flag.
    WithFlag,
    /// It cannot run TypeScript.
    Unsupported,
}

/// Programs that make an interpreter print its own path and its library paths, one per line.
const QUERIES: [(&str, &[&str]); 4] = [
    (
        "python",
        &[
            // Without `-S`, files of installed packages run first.
            "-I",
            "-S",
            "-c",
            "import sys, sysconfig as c, site\nprint(sys.executable)\nprint(sys.prefix + '/pyvenv.cfg')\n\
             for n in ('stdlib', 'platstdlib', 'purelib', 'platlib'): print(c.get_path(n))\n\
             print((c.get_config_var('LIBDIR') or '') + '/' + (c.get_config_var('INSTSONAME') or '-'))\n\
             s = 'venv' if 'venv' in c.get_scheme_names() else 'posix_prefix'\n\
             for n in ('purelib', 'platlib'): print('venv:' + c.get_path(n, s, vars={'base': '', 'platbase': ''}))\n\
             for p in site.getsitepackages(): print('packages:' + p)\n\
             if sys.prefix == sys.base_prefix: print('packages:' + site.getusersitepackages()); print('user:' + site.getuserbase())",
        ],
    ),
    (
        "node",
        &[
            "-p",
            "const can = process.features.typescript, flag = process.allowedNodeEnvironmentFlags.has('--experimental-strip-types'); \
             const home = require('os').homedir(), mine = path => home.length > 1 && path.startsWith(home + '/'); \
             const global = require('module').globalPaths.filter(path => !mine(path)).map(path => '\\npackages:' + path).join(''); \
             process.execPath + (can ? '' : flag ? '\\ntypes:option' : '\\ntypes:never') + global",
        ],
    ),
    (
        "ruby",
        &[
            "--disable-gems",
            "-e",
            "puts RbConfig.ruby, RbConfig::CONFIG['rubylibprefix'], RbConfig::CONFIG['libdir'] + '/' + RbConfig::CONFIG['LIBRUBY_SO'].to_s",
        ],
    ),
    ("perl", &["-e", "print \"$^X\\n\"; print \"$_\\n\" for @INC"]),
];
/// Folders that every script may read.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];
const NEVER: [&str; 5] = ["/etc", "/run", "/proc", "/sys", "/dev"];
/// Longer chains of links are not followed.
const MAX_LINKS: usize = 16;

/// Where to look for interpreters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    /// Locations that skills control: the skill, the workspace and our own folders.
    pub(crate) avoid: &'a [&'a Path],
    /// The project's packages, including its Python environment.
    pub(crate) project: &'a ProjectPackages,
    /// The cache folder.
    pub(crate) cache: Option<&'a AbsPath>,
    /// The environment, for PATH.
    pub(crate) variables: &'a Variables,
}

impl Search<'_> {
    /// Returns true for a path that neither the skill nor the workspace controls. Anything in `.agents` was installed
    /// from skills, so it does not count either.
    fn is_trusted_location(&self, path: &Path) -> bool {
        !self.avoid.iter().any(|avoid| path.starts_with(avoid))
            && !path.components().any(|part| part.as_os_str() == ".agents")
    }
}

/// Finds the machine's own interpreter by name: no virtual environment, and without what its packages link to.
pub(crate) fn machine_interpreter(name: &str, search: &Search<'_>) -> Result<Interpreter, String> {
    on_path(name, search, Environments::Skipped)
}

/// Whether an interpreter of a virtual environment counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Environments {
    Used,
    Skipped,
}

/// Finds an interpreter by name.
pub(crate) fn interpreter(name: &str, search: &Search<'_>) -> Result<Interpreter, String> {
    let mut found = match of_environment(name, search) {
        Some(found) => found,
        None => on_path(name, search, Environments::Used)?,
    };
    if without_version(name) == "python" {
        let root = &search.project.root;
        found.links = found.packages.iter().flat_map(|folder| python_links(folder, root)).collect();
        for link in &found.links {
            found.places.extend(link.reads.iter().cloned());
            let is_open = !link.reads.is_empty();
            found.packages.extend(link.folder.clone().filter(|_| is_open));
        }
    }
    Ok(found)
}

/// Finds the interpreter of the project's Python environment.
fn of_environment(name: &str, search: &Search<'_>) -> Option<Interpreter> {
    let environment =
        search.project.environment.as_ref().filter(|_| without_version(name) == "python")?;
    in_environment(environment, name, search)
}

/// Finds the interpreter of a virtual environment. Its own packages never run: only the original interpreter is queried.
fn in_environment(
    environment: &PythonEnvironment,
    name: &str,
    search: &Search<'_>,
) -> Option<Interpreter> {
    let program = environment.program(name);
    let itself = original(environment, name, search)?;
    let info = InterpreterInfo::new(query_cached(name, &itself, search).ok()?);
    let has_system = environment.has_system_packages;
    let of_system: Vec<PathBuf> = info.packages.iter().filter(|_| has_system).cloned().collect();
    let own = environment.places().into_iter().chain(links(&program));
    Some(Interpreter {
        places: extra_read_paths(own.chain(info.paths).chain(of_system.clone()), |_| true),
        packages: environment.packages(&info.venv).into_iter().chain(of_system).collect(),
        links: Vec::new(),
        user_base: info.user_base.filter(|_| has_system),
        types: info.types,
        program,
    })
}

/// Returns the machine's interpreter that an environment's interpreter links to or is a copy of. Only that one is
/// executed to query it.
fn original(environment: &PythonEnvironment, name: &str, search: &Search<'_>) -> Option<PathBuf> {
    let is_python = |path: &Path| {
        path.file_name().is_some_and(|name| without_version(&name.to_string_lossy()) == "python")
    };
    let program = environment.program(name);
    let real = std::fs::canonicalize(&program).ok().filter(|real| is_program(real))?;
    let is_copy = real.starts_with(std::fs::canonicalize(environment.program("")).ok()?);
    let candidates = if is_copy { environment.originals(name) } else { vec![real] };
    candidates.into_iter().find_map(|path| {
        let real = std::fs::canonicalize(path).ok()?;
        (is_python(&real) && is_program(&real) && search.is_trusted_location(&real)).then_some(real)
    })
}

/// Finds the first interpreter on PATH, resolving shims.
fn on_path(
    name: &str,
    search: &Search<'_>,
    environments: Environments,
) -> Result<Interpreter, String> {
    let path = search.variables.get("PATH").unwrap_or_default();
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute()).chain(usual);
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut failure = None;
    for program in folders.map(|folder| folder.join(name)) {
        let Ok(real) = std::fs::canonicalize(&program) else { continue };
        // The folder may be reached through a link.
        let folder = program.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
        let is_meant = is_program(&real)
            && search.is_trusted_location(&real)
            && search.is_trusted_location(&program)
            && folder.as_ref().is_some_and(|folder| search.is_trusted_location(folder));
        if !is_meant || seen.contains(&program) {
            continue;
        }
        // What is installed in an environment can run as soon as its interpreter starts.
        if let Some(environment) = folder.as_deref().and_then(PythonEnvironment::around)
            && without_version(name) == "python"
        {
            let found = match environments {
                Environments::Used => in_environment(&environment, name, search),
                Environments::Skipped => None,
            };
            match found {
                Some(found) => return Ok(found),
                None => continue,
            }
        }
        match resolved(name, &program, &real, search) {
            Ok(found) => return Ok(found),
            Err(why) => failure = failure.or(Some(why)),
        }
        seen.push(program);
    }
    Err(failure.unwrap_or_else(|| format!("`{name}` not found on PATH")))
}

fn resolved(
    name: &str,
    program: &Path,
    real: &Path,
    search: &Search<'_>,
) -> Result<Interpreter, String> {
    let shown = program.display();
    if !is_known(name) && !is_system(real) {
        return Err(format!(
            "cannot run scripts with `{name}` ({shown}): it is neither a known interpreter nor in a system folder"
        ));
    }
    let info = match query_cached(name, program, search) {
        Ok(lines) => InterpreterInfo::new(lines),
        // A system program is not a shim, even if it does not answer.
        Err(_) if is_system(real) => InterpreterInfo::new(Vec::new()),
        Err(why) => {
            return Err(format!("cannot resolve the interpreter `{name}` from {shown}: {why}"));
        }
    };
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut paths = info.paths.into_iter();
    let itself = paths.next().filter(|program| is_program(program));
    let itself = itself.unwrap_or_else(|| program.to_owned());
    if !search.is_trusted_location(&real(&itself)) {
        return Err(format!("refusing to use `{name}`: it is inside the skill or the workspace"));
    }
    let packages: Vec<PathBuf> = info.packages;
    let all = paths.chain(packages.iter().cloned()).chain(links(&itself));
    Ok(Interpreter {
        program: itself,
        places: extra_read_paths(all, |path| search.is_trusted_location(path)),
        packages,
        links: Vec::new(),
        user_base: info.user_base,
        types: info.types,
    })
}

/// What an interpreter reported about itself.
struct InterpreterInfo {
    /// Its own path, and its library.
    paths: Vec<PathBuf>,
    packages: Vec<PathBuf>,
    /// Package folders relative to a virtual environment.
    venv: Vec<PathBuf>,
    user_base: Option<PathBuf>,
    types: TypeScriptSupport,
}

impl InterpreterInfo {
    fn new(lines: Vec<String>) -> Self {
        let named = |name: &'static str| {
            let values = lines.iter().filter_map(move |line| line.strip_prefix(name));
            values.map(PathBuf::from).filter(|path| path.is_absolute())
        };
        Self {
            packages: named("packages:").collect(),
            venv: named("venv:")
                .filter_map(|path| Some(path.strip_prefix("/").ok()?.to_owned()))
                .collect(),
            user_base: named("user:").next(),
            types: match lines.iter().find_map(|line| line.strip_prefix("types:")) {
                None => TypeScriptSupport::Native,
                Some("option") => TypeScriptSupport::WithFlag,
                Some(_) => TypeScriptSupport::Unsupported,
            },
            paths: lines.into_iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect(),
        }
    }
}

/// Returns the paths that a script must be able to read besides the system, without duplicates.
fn extra_read_paths(
    places: impl Iterator<Item = PathBuf>,
    is_trusted_location: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for place in places {
        let is_never = NEVER.iter().any(|never| place.starts_with(never));
        let is_small = place.components().count() > 2 && place.exists();
        let is_wanted = !is_system(&place) && !is_never && is_small && is_trusted_location(&place);
        if is_wanted && !all.contains(&place) {
            all.push(place);
        }
    }
    all
}

/// Returns true for system paths, which every script may read.
pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Returns a program, every link on the way to its real file, and the real file.
fn links(program: &Path) -> Vec<PathBuf> {
    let mut all = vec![program.to_owned()];
    while let Some(last) = all.last().filter(|_| all.len() < MAX_LINKS) {
        let Ok(to) = std::fs::read_link(last) else { break };
        let next = last.parent().unwrap_or(Path::new("/")).join(to);
        // Resolve the folder of the link, so that it contains no `..`.
        let folder = next.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
        let Some((folder, name)) = folder.zip(next.file_name()) else { break };
        let next = folder.join(name);
        all.push(next);
    }
    all.extend(std::fs::canonicalize(program));
    all
}

/// Returns true for interpreters that may be used from any location. Other programs, named by a `#!` line, may only run
/// scripts from a system folder, because it is unknown what they do with a file.
fn is_known(name: &str) -> bool {
    interpreters::find(name).is_some_and(|known| known.location == InterpreterLocation::Path)
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        path.is_file()
    }
}

/// Queries an interpreter through the cache. Interpreters without a known query report nothing.
fn query_cached(name: &str, program: &Path, search: &Search<'_>) -> Result<Vec<String>, String> {
    let Some((_, question)) = QUERIES.iter().find(|(known, _)| without_version(name) == *known)
    else {
        return Ok(Vec::new());
    };
    let mut cache = InterpreterCache::load(search.cache, search.variables);
    if let Some(known) = cache.get(program) {
        return Ok(known);
    }
    let info = query(question, program, search.variables)?;
    cache.keep(program, &info);
    Ok(info)
}

/// Runs an interpreter to query its real path, because the program on PATH may be a shim. The first line is its path.
fn query(question: &[&str], program: &Path, variables: &Variables) -> Result<Vec<String>, String> {
    let mut command = Command::new(program);
    command.args(question).current_dir("/").stdin(Stdio::null());
    command.env_clear();
    let steers = |name: &OsStr| name.to_str().is_some_and(steers_interpreters);
    // pyenv would read the project's `.python-version`.
    let kept = variables.all().iter().filter(|(name, _)| !steers(name) && name != "PYENV_DIR");
    command.envs(kept.map(|(name, value)| (name, value))).env("PWD", "/");
    let answer = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if answer.status.success() && lines.first().is_some_and(|path| Path::new(path).is_absolute()) {
        return Ok(lines);
    }
    let error = String::from_utf8_lossy(&answer.stderr).into_owned();
    let first = error.lines().map(str::trim).find(|line| !line.is_empty());
    Err(first.map_or_else(|| format!("it failed with {}", answer.status), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_interpreters_in_the_table_are_known() {
        for (name, _) in QUERIES {
            assert!(is_known(name), "{name}");
        }
        for name in ["python3.12", "luajit", "tclsh8.6", "pwsh", "mawk", "bun"] {
            assert!(is_known(name), "{name}");
        }
        for name in ["pypy3", "nodejs", "powershell", "R", "java", "mksh", "python-", "make", ""] {
            assert!(!is_known(name), "{name}");
        }
    }
}
