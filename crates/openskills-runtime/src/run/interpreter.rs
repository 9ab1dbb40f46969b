//! Finds the interpreter that runs a script: on this machine's PATH, behind whatever stands in front of it, and never in a place that the
//! skill or the workspace could have put it.

#![expect(clippy::disallowed_methods, reason = "the edge: PATH, files and programs")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skill::interpreters::{self, InterpreterLocation, without_version};
use skill_fs::AbsPath;

use super::interpreter_answers::Answers;
use super::linked::{PythonLink, python_links};
use super::packages::{Environment, ProjectPackages};
use super::variables::steers_interpreters;
use crate::state::variables::Variables;

/// A program, and what it needs to be read beside the system: itself, the links that lead to it, and its own library. The folder that it
/// stands in is not among them: that may hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) program: PathBuf,
    pub(crate) places: Vec<PathBuf>,
    /// Where it looks for packages.
    pub(crate) packages: Vec<PathBuf>,
    /// What files among the packages of Python link to.
    pub(crate) links: Vec<PythonLink>,
    /// Below which the user's own packages of Python are.
    pub(crate) user_base: Option<PathBuf>,
    /// What node says of types in a script.
    pub(crate) types: Types,
}

/// Whether an interpreter of JavaScript runs TypeScript by leaving its types out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Types {
    /// By itself, or it is another interpreter, which knows best.
    Fine,
    /// If it is told to.
    ByOption,
    /// It cannot.
    Never,
}

/// How to ask an interpreter for itself and its library, one path a line.
const ASK: [(&str, &[&str]); 4] = [
    (
        "python",
        &[
            "-I",
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
/// Folders that every script may read anyway, or never.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];
const NEVER: [&str; 5] = ["/etc", "/run", "/proc", "/sys", "/dev"];
/// How many links may lead to a program.
const MAX_LINKS: usize = 16;

/// Where interpreters are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    /// The skill, the workspace and what skills installed.
    pub(crate) avoid: &'a [&'a Path],
    /// What the project has, its environment of Python among it.
    pub(crate) project: &'a ProjectPackages,
    /// Where answers of interpreters are kept.
    pub(crate) cache: Option<&'a AbsPath>,
    /// The environment, whose PATH counts.
    pub(crate) variables: &'a Variables,
}

impl Search<'_> {
    /// Returns true for what neither the skill nor the workspace can have brought. What csk or openskills installed comes from skills,
    /// wherever a PATH puts it.
    fn is_foreign(&self, path: &Path) -> bool {
        !self.avoid.iter().any(|avoid| path.starts_with(avoid))
            && !path.components().any(|part| part.as_os_str() == ".agents")
    }
}

/// Finds an interpreter by its name.
pub(crate) fn interpreter(name: &str, search: &Search<'_>) -> Result<Interpreter, String> {
    let mut found = match of_environment(name, search) {
        Some(found) => found,
        None => on_path(name, search)?,
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

/// Finds the interpreter of the project's environment of Python.
fn of_environment(name: &str, search: &Search<'_>) -> Option<Interpreter> {
    let environment =
        search.project.environment.as_ref().filter(|_| without_version(name) == "python")?;
    let program = environment.program(name);
    let itself = original(environment, name, search)?;
    let told = Told::new(asked(name, &itself, search).ok()?);
    let has_system = environment.has_system_packages;
    let of_system: Vec<PathBuf> = told.packages.iter().filter(|_| has_system).cloned().collect();
    let own = environment.places().into_iter().chain(links(&program));
    Some(Interpreter {
        places: wanted(own.chain(told.paths).chain(of_system.clone()), |_| true),
        packages: environment.packages(&told.venv).into_iter().chain(of_system).collect(),
        links: Vec::new(),
        user_base: told.user_base.filter(|_| has_system),
        types: told.types,
        program,
    })
}

/// Returns the interpreter of the machine that one of an environment is, or is a copy of: only such a one is asked about itself.
fn original(environment: &Environment, name: &str, search: &Search<'_>) -> Option<PathBuf> {
    let is_python = |path: &Path| {
        path.file_name().is_some_and(|name| without_version(&name.to_string_lossy()) == "python")
    };
    let program = environment.program(name);
    let real = std::fs::canonicalize(&program).ok().filter(|real| is_program(real))?;
    let is_copy = real.starts_with(std::fs::canonicalize(environment.program("")).ok()?);
    let candidates = if is_copy { environment.originals(name) } else { vec![real] };
    candidates.into_iter().find_map(|path| {
        let real = std::fs::canonicalize(path).ok()?;
        (is_python(&real) && is_program(&real) && search.is_foreign(&real)).then_some(real)
    })
}

/// Finds the first on the PATH that is an interpreter, or leads to one.
fn on_path(name: &str, search: &Search<'_>) -> Result<Interpreter, String> {
    let path = search.variables.get("PATH").unwrap_or_default();
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute()).chain(usual);
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut failure = None;
    for program in folders.map(|folder| folder.join(name)) {
        let Ok(real) = std::fs::canonicalize(&program) else { continue };
        let is_meant = is_program(&real) && search.is_foreign(&real) && search.is_foreign(&program);
        if !is_meant || seen.contains(&program) {
            continue;
        }
        match resolved(name, &program, &real, search) {
            Ok(found) => return Ok(found),
            Err(why) => failure = failure.or(Some(why)),
        }
        seen.push(program);
    }
    Err(failure.unwrap_or_else(|| format!("there is no `{name}` on this machine's PATH")))
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
    let told = match asked(name, program, search) {
        Ok(lines) => Told::new(lines),
        // One of the system is no shim, whatever it does not answer.
        Err(_) if is_system(real) => Told::new(Vec::new()),
        Err(why) => {
            return Err(format!(
                "cannot resolve the interpreter `{name}`: {shown} starts none: {why}"
            ));
        }
    };
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut paths = told.paths.into_iter();
    let itself = paths.next().filter(|program| is_program(program));
    let itself = itself.unwrap_or_else(|| program.to_owned());
    if !search.is_foreign(&real(&itself)) {
        return Err(format!("the `{name}` that is found stands in the skill or in the workspace"));
    }
    let packages: Vec<PathBuf> = told.packages;
    let all = paths.chain(packages.iter().cloned()).chain(links(&itself));
    Ok(Interpreter {
        program: itself,
        places: wanted(all, |path| search.is_foreign(path)),
        packages,
        links: Vec::new(),
        user_base: told.user_base,
        types: told.types,
    })
}

/// What an interpreter said of itself.
struct Told {
    /// Itself, and its library.
    paths: Vec<PathBuf>,
    packages: Vec<PathBuf>,
    /// Where packages are in an environment of it.
    venv: Vec<PathBuf>,
    user_base: Option<PathBuf>,
    types: Types,
}

impl Told {
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
                None => Types::Fine,
                Some("option") => Types::ByOption,
                Some(_) => Types::Never,
            },
            paths: lines.into_iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect(),
        }
    }
}

/// Returns those of the places that a script needs beside the system, each once.
fn wanted(
    places: impl Iterator<Item = PathBuf>,
    is_foreign: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for place in places {
        let is_never = NEVER.iter().any(|never| place.starts_with(never));
        let is_small = place.components().count() > 2 && place.exists();
        let is_wanted = !is_system(&place) && !is_never && is_small && is_foreign(&place);
        if is_wanted && !all.contains(&place) {
            all.push(place);
        }
    }
    all
}

/// Returns true for what every script may read anyway.
pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Returns a program and every link on the way to the file that it really is.
fn links(program: &Path) -> Vec<PathBuf> {
    let mut all = vec![program.to_owned()];
    while let Some(last) = all.last().filter(|_| all.len() < MAX_LINKS) {
        let Ok(to) = std::fs::read_link(last) else { break };
        let next = last.parent().unwrap_or(Path::new("/")).join(to);
        // The folder of a link is named as it really is, so that `..` in it is gone.
        let folder = next.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
        let Some((folder, name)) = folder.zip(next.file_name()) else { break };
        let next = folder.join(name);
        all.push(next);
    }
    all.extend(std::fs::canonicalize(program));
    all
}

/// Returns true for what runs scripts wherever it is. A program of another name runs them only where the system brought it: a script names
/// it by its `#!` line, and what it does with a file is not known.
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

/// Returns what an interpreter says of itself, or why it says nothing. One that no question is known for says nothing, and that is fine.
fn asked(name: &str, program: &Path, search: &Search<'_>) -> Result<Vec<String>, String> {
    let Some((_, question)) = ASK.iter().find(|(known, _)| without_version(name) == *known) else {
        return Ok(Vec::new());
    };
    let mut answers = Answers::load(search.cache, search.variables);
    if let Some(known) = answers.get(program) {
        return Ok(known);
    }
    let told = ask(question, program, search.variables)?;
    answers.keep(program, &told);
    Ok(told)
}

/// Asks an interpreter what it is: what is found on the PATH may be a shim that only starts it. The first line is its program.
fn ask(question: &[&str], program: &Path, variables: &Variables) -> Result<Vec<String>, String> {
    let mut command = Command::new(program);
    command.args(question).current_dir("/").stdin(Stdio::null());
    command.env_clear();
    let steers = |name: &OsStr| name.to_str().is_some_and(steers_interpreters);
    let kept = variables.all().iter().filter(|(name, _)| !steers(name));
    command.envs(kept.map(|(name, value)| (name, value))).env("PWD", "/");
    let answer = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if answer.status.success() && lines.first().is_some_and(|path| Path::new(path).is_absolute()) {
        return Ok(lines);
    }
    let error = String::from_utf8_lossy(&answer.stderr).into_owned();
    let first = error.lines().map(str::trim).find(|line| !line.is_empty());
    Err(first.map_or_else(|| format!("it ended with {}", answer.status), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_interpreters_of_the_table_are_asked_and_taken_from_anywhere() {
        for (name, _) in ASK {
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
