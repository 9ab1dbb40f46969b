//! Finds the interpreter that runs a script: on this machine's PATH, behind whatever stands in front of it, and never in a place that the
//! skill or the workspace could have put it.

#![expect(clippy::disallowed_methods, reason = "the edge: PATH, files and programs")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program, and the folders that it needs to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) program: PathBuf,
    pub(crate) folders: Vec<PathBuf>,
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

/// How to ask an interpreter for itself and its folders, one a line.
const ASK: [(&str, &[&str]); 4] = [
    (
        "python",
        &[
            "-I",
            "-c",
            "import sys\nfor p in (sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix): print(p)",
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
    ("ruby", &["--disable-gems", "-e", "puts RbConfig.ruby, RbConfig::CONFIG['prefix']"]),
    ("perl", &["-e", "print \"$^X\\n\"; print \"$_\\n\" for @INC"]),
];
/// Folders that every script may read anyway.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Finds an interpreter by its name. `avoid` are the skill and the workspace.
pub(crate) fn interpreter(name: &str, avoid: &[&Path]) -> Result<Interpreter, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(usual);
    let is_foreign = |path: &Path| !avoid.iter().any(|avoid| path.starts_with(avoid));
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
    let told = ask(name, &program);
    let types = match told.iter().find_map(|line| line.strip_prefix("types:")) {
        None => Types::Fine,
        Some("option") => Types::ByOption,
        Some(_) => Types::Never,
    };
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut told = told.into_iter().map(PathBuf::from).filter(|path| path.is_absolute());
    let itself = told.next().filter(|program| is_program(program)).unwrap_or(program);
    if !is_foreign(&real(&itself)) {
        return Err(format!("the `{name}` that is found stands in the skill or in the workspace"));
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    let parts = told.chain([real(&itself), itself.clone()]).map(|path| {
        if path.is_dir() { path } else { path.parent().map(Path::to_owned).unwrap_or_default() }
    });
    for folder in parts.flat_map(|folder| [real(&folder), folder]) {
        let is_system = SYSTEM.iter().any(|system| folder.starts_with(system));
        let is_small = folder.components().count() > 2 && folder.is_dir();
        if !is_system && is_small && is_foreign(&folder) && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    Ok(Interpreter { program: itself, folders, types })
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

/// Asks an interpreter what it is: what is found on the PATH may be a shim that only starts it.
fn ask(name: &str, program: &Path) -> Vec<String> {
    let Some((_, question)) = ASK.iter().find(|(known, _)| {
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == *known
    }) else {
        return Vec::new();
    };
    let answer = Command::new(program)
        .args(*question)
        .current_dir("/")
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME")
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
