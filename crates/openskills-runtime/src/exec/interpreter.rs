//! Finds the interpreter that runs a script: on this machine's PATH, behind whatever stands in front of it, and never in a place that the
//! skill or the workspace could have put it.

#![expect(clippy::disallowed_methods, reason = "the edge: PATH, files and programs")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skill_fs::AbsPath;

use super::interpreter_answers::{Answers, key};
use super::packages::Environment;

/// A program, and what it needs to be read beside the system: itself, the links that lead to it, and its own library. The folder that it
/// stands in is not among them: that may hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) program: PathBuf,
    pub(crate) places: Vec<PathBuf>,
    /// Where it looks for packages.
    pub(crate) packages: Vec<PathBuf>,
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

/// Programs that run scripts. One of another name runs them only where the system brought it: a script names it by its `#!` line, and what it does
/// with a file is not known.
const KNOWN: [&str; 20] = [
    "awk", "bash", "bun", "dash", "deno", "fish", "gawk", "ksh", "lua", "luajit", "mawk", "node",
    "perl", "php", "pwsh", "python", "ruby", "sh", "tclsh", "zsh",
];

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
             for p in site.getsitepackages(): print('packages:' + p)\n\
             if sys.prefix == sys.base_prefix: print('packages:' + site.getusersitepackages()); print('user:' + site.getuserbase())",
        ],
    ),
    (
        "node",
        &[
            "-p",
            "const can = process.features.typescript, flag = process.allowedNodeEnvironmentFlags.has('--experimental-strip-types'); \
             process.execPath + (can ? '' : flag ? '\\ntypes:option' : '\\ntypes:never')",
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
    /// The project's environment of Python.
    pub(crate) environment: Option<&'a Environment>,
    /// Where answers of interpreters are kept.
    pub(crate) cache: Option<&'a AbsPath>,
}

/// Finds an interpreter by its name.
pub(crate) fn interpreter(name: &str, search: &Search<'_>) -> Result<Interpreter, String> {
    let avoid = search.avoid;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(usual);
    // What csk or openskills installed comes from skills, wherever a PATH puts it.
    let is_foreign = |path: &Path| {
        !avoid.iter().any(|avoid| path.starts_with(avoid))
            && !path.components().any(|part| part.as_os_str() == ".agents")
    };
    let of_environment = search.environment.and_then(|environment| {
        let program = environment.program(name);
        let real = std::fs::canonicalize(&program).ok()?;
        // Only an interpreter of the machine is asked about itself, and only Python is one here.
        let is_python = |path: &Path| {
            path.file_name().is_some_and(|name| base(&name.to_string_lossy()) == "python")
        };
        let is_meant =
            is_python(&program) && is_python(&real) && is_program(&real) && is_foreign(&real);
        is_meant.then_some((environment, program, real))
    });
    if let Some((environment, program, real)) = of_environment {
        let told = Told::new(asked(name, &real, search.cache));
        let own = environment.places().into_iter().chain(links(&program));
        let of_system = told.packages.iter().filter(|_| environment.has_system_packages);
        return Ok(Interpreter {
            places: wanted(own.chain(told.paths.clone()), |_| true),
            packages: environment.packages().into_iter().chain(of_system.cloned()).collect(),
            user_base: told.user_base.filter(|_| environment.has_system_packages),
            types: told.types,
            program,
        });
    }
    let found = folders
        .map(|folder| folder.join(name))
        .filter_map(|program| {
            let real = std::fs::canonicalize(&program).ok()?;
            (is_program(&real) && is_foreign(&real) && is_foreign(&program)).then_some(program)
        })
        .next();
    let Some(program) = found else {
        return Err(format!("there is no `{name}` on this machine's PATH"));
    };
    if !KNOWN.contains(&base(name))
        && !std::fs::canonicalize(&program).is_ok_and(|real| is_system(&real))
    {
        return Err(format!(
            "cannot run scripts with `{name}` ({}): it is neither a known interpreter nor in a system folder",
            program.display()
        ));
    }
    let told = Told::new(asked(name, &program, search.cache));
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut paths = told.paths.into_iter();
    let itself = paths.next().filter(|program| is_program(program)).unwrap_or(program);
    if !is_foreign(&real(&itself)) {
        return Err(format!("the `{name}` that is found stands in the skill or in the workspace"));
    }
    let packages: Vec<PathBuf> = told.packages;
    let places = wanted(paths.chain(packages.iter().cloned()).chain(links(&itself)), is_foreign);
    Ok(Interpreter {
        program: itself,
        places,
        packages,
        user_base: told.user_base,
        types: told.types,
    })
}

/// What an interpreter said of itself.
struct Told {
    /// Itself, and its library.
    paths: Vec<PathBuf>,
    packages: Vec<PathBuf>,
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
fn is_system(path: &Path) -> bool {
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

/// Returns the name of a program without its version: `python3.12` is python.
fn base(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
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

/// Returns what an interpreter says of itself. A shim leads to another one by more than its file, so what it says is not kept.
fn asked(name: &str, program: &Path, cache: Option<&AbsPath>) -> Vec<String> {
    let Some((_, question)) = ASK.iter().find(|(known, _)| base(name) == *known) else {
        return Vec::new();
    };
    let mut answers = Answers::load(cache);
    let key = key(program);
    if let Some(known) = key.as_ref().and_then(|key| answers.get(key)) {
        return known;
    }
    let told = ask(question, program);
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let is_itself = told.first().is_some_and(|itself| real(Path::new(itself)) == real(program));
    if let Some(key) = key.filter(|_| is_itself) {
        answers.keep(key, &told);
    }
    told
}

/// Asks an interpreter what it is: what is found on the PATH may be a shim that only starts it.
fn ask(question: &[&str], program: &Path) -> Vec<String> {
    let answer = Command::new(program)
        .args(question)
        .current_dir("/")
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME")
        .env_remove("PYTHONUSERBASE")
        .env_remove("NODE_OPTIONS")
        .env_remove("RUBYOPT")
        .env_remove("PERL5OPT")
        .env_remove("PERL5LIB")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = answer
        .map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned())
        .unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
