//! The interpreter table. Shells come first, then languages by how much is known about them.

use super::{Interpreter, InterpreterLanguage as Language, InterpreterLocation, Scripts};
use crate::programs::Program;

/// Options after which programs of many languages take code. Some of them mean something else to some programs;
/// reading a harmless argument as code does no damage.
const CODE_FLAGS: &[&str] = &["-e", "-r", "-c", "/c", "/k", "-E", "-command", "-Command", "-ne"];
const JAVASCRIPT_FLAGS: &[&str] = &["-e", "-p", "--eval", "--print", "eval"];
const VERSION: &[&str] = &["--version"];

impl Interpreter {
    const fn new(names: &'static [&'static str], language: Language) -> Self {
        let program = match language {
            Language::Shell | Language::PowerShell | Language::Batch => Program::launcher(
                names,
                "manual page of each shell",
                "runs the commands passed to it",
            ),
            Language::Python | Language::JavaScript | Language::Awk | Language::Other => {
                Program::launcher(
                    names,
                    "manual page of each interpreter",
                    "runs the code passed to it",
                )
            }
        };
        Self {
            program,
            language,
            location: InterpreterLocation::System,
            scripts: None,
            sources: &[],
            code_flags: &[],
            variables: &[],
            variable_prefixes: &[],
            version_flags: &[],
        }
    }

    const fn shell(names: &'static [&'static str]) -> Self {
        Self::new(names, Language::Shell).code_flags(&["-c"])
    }

    const fn other(names: &'static [&'static str]) -> Self {
        Self::new(names, Language::Other)
    }

    /// Lets the runner look for it anywhere on the PATH, which requires knowing its variables.
    const fn on_path(self, variables: &'static [&'static str]) -> Self {
        Self { location: InterpreterLocation::Path, variables, ..self }
    }

    const fn variables(self, variables: &'static [&'static str]) -> Self {
        Self { variables, ..self }
    }

    const fn prefixes(self, variable_prefixes: &'static [&'static str]) -> Self {
        Self { variable_prefixes, ..self }
    }

    const fn runs(self, extensions: &'static [&'static str], program: &'static str) -> Self {
        Self { scripts: Some(Scripts { extensions, program }), ..self }
    }

    const fn sources(self, sources: &'static [&'static str]) -> Self {
        Self { sources, ..self }
    }

    const fn code_flags(self, code_flags: &'static [&'static str]) -> Self {
        Self { code_flags, ..self }
    }

    const fn version(self, version_flags: &'static [&'static str]) -> Self {
        Self { version_flags, ..self }
    }
}

pub(super) const ROWS: &[Interpreter] = &[
    Interpreter::shell(&["sh"])
        .on_path(&["ENV", "IFS", "CDPATH", "PS4"])
        .runs(&["sh"], "sh")
        .sources(&["command"]),
    Interpreter::shell(&["bash"])
        .on_path(&["BASH_ENV", "BASHOPTS", "SHELLOPTS", "PROMPT_COMMAND"])
        .prefixes(&["BASH_FUNC_"])
        .runs(&["bash"], "bash")
        .version(VERSION),
    Interpreter::shell(&["dash"]).on_path(&["ENV"]),
    Interpreter::shell(&["zsh"]).on_path(&["FPATH", "ZDOTDIR"]).sources(&["zsh"]).version(VERSION),
    Interpreter::shell(&["ksh"]).on_path(&["KSH_ENV"]).sources(&["ksh"]),
    Interpreter::shell(&["fish"])
        .on_path(&["fish_function_path", "fish_complete_path"])
        .sources(&["fish"])
        .version(VERSION),
    Interpreter::shell(&["mksh", "ash", "csh", "tcsh", "rbash", "yash", "elvish", "nu"]),
    // Their first argument is the name of a program.
    Interpreter::new(&["busybox", "toybox"], Language::Shell),
    Interpreter::new(&["pwsh"], Language::PowerShell)
        .on_path(&["PSModulePath", "DOTNET_STARTUP_HOOKS"])
        .prefixes(&["CORECLR_"])
        .sources(&["ps1", "psm1"])
        .code_flags(CODE_FLAGS),
    Interpreter::new(&["powershell"], Language::PowerShell).code_flags(CODE_FLAGS),
    Interpreter::new(&["cmd", "cmd.exe"], Language::Batch)
        .sources(&["bat", "cmd"])
        .code_flags(CODE_FLAGS),
    Interpreter::new(&["python"], Language::Python)
        .on_path(&[
            "PYTHONPATH",
            "PYTHONHOME",
            "PYTHONSTARTUP",
            "PYTHONINSPECT",
            "PYTHONUSERBASE",
            "PYTHONNOUSERSITE",
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONPYCACHEPREFIX",
            "PYTHONPLATLIBDIR",
            "PYTHONWARNINGS",
            "PYTHONBREAKPOINT",
            "PYTHONEXECUTABLE",
            "PYTHONCASEOK",
        ])
        .runs(&["py"], "python3")
        .sources(&["pyw", "pyi"])
        .code_flags(&["-c"])
        .version(&["--version", "-V"]),
    Interpreter::new(&["pypy", "ipython", "py"], Language::Python).code_flags(&["-c"]),
    Interpreter::new(&["jupyter"], Language::Python),
    Interpreter::new(&["node"], Language::JavaScript)
        .on_path(&["NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE"])
        .runs(&["js", "mjs", "cjs", "ts"], "node")
        .sources(&["jsx", "mts", "cts", "tsx"])
        .code_flags(JAVASCRIPT_FLAGS)
        .version(&["--version", "-v"]),
    Interpreter::new(&["nodejs"], Language::JavaScript)
        .code_flags(JAVASCRIPT_FLAGS)
        .version(VERSION),
    Interpreter::new(&["deno"], Language::JavaScript)
        .on_path(&["DENO_DIR", "DENO_V8_FLAGS"])
        .code_flags(JAVASCRIPT_FLAGS),
    Interpreter::new(&["bun"], Language::JavaScript)
        .on_path(&["BUN_OPTIONS", "BUN_INSPECT", "BUN_CONFIG_PRELOAD"])
        .code_flags(JAVASCRIPT_FLAGS),
    Interpreter::new(&["tsx", "ts-node"], Language::JavaScript).code_flags(JAVASCRIPT_FLAGS),
    Interpreter::other(&["perl"])
        .on_path(&["PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "PERLIO", "PERL5SHELL"])
        .runs(&["pl"], "perl")
        .code_flags(CODE_FLAGS)
        .version(VERSION),
    Interpreter::other(&["ruby"])
        .on_path(&[
            "RUBYOPT",
            "RUBYLIB",
            "RUBYPATH",
            "RUBYSHELL",
            "GEM_HOME",
            "GEM_PATH",
            "BUNDLE_GEMFILE",
        ])
        .runs(&["rb"], "ruby")
        .code_flags(CODE_FLAGS)
        .version(VERSION),
    Interpreter::other(&["php"])
        .on_path(&["PHPRC", "PHP_INI_SCAN_DIR"])
        .sources(&["php"])
        .code_flags(CODE_FLAGS)
        .version(VERSION),
    Interpreter::other(&["lua", "luajit"])
        .on_path(&["LUA_INIT", "LUA_PATH", "LUA_CPATH"])
        .prefixes(&["LUA_INIT_", "LUA_PATH_", "LUA_CPATH_"])
        .sources(&["lua"])
        .code_flags(CODE_FLAGS),
    Interpreter::other(&["tclsh"]).on_path(&["TCLLIBPATH", "TCL_LIBRARY"]).prefixes(&["TCL8"]),
    Interpreter::new(&["gawk"], Language::Awk).on_path(&["AWKPATH", "AWKLIBPATH"]).version(VERSION),
    Interpreter::new(&["awk", "mawk"], Language::Awk)
        .on_path(&["AWKPATH", "AWKLIBPATH"])
        .sources(&["awk"]),
    Interpreter::new(&["nawk"], Language::Awk),
    Interpreter::other(&["osascript"]).sources(&["applescript", "scpt"]).code_flags(CODE_FLAGS),
    Interpreter::other(&["R", "Rscript"])
        .variables(&["R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "R_HOME", "R_DEFAULT_PACKAGES"])
        .prefixes(&["R_PROFILE", "R_ENVIRON"])
        .sources(&["r"]),
    Interpreter::other(&["julia"]).prefixes(&["JULIA_"]).sources(&["jl"]),
    Interpreter::other(&["guile"]).prefixes(&["GUILE_"]),
    Interpreter::other(&["java"]).variables(&[
        "CLASSPATH",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
    ]),
    Interpreter::other(&[
        "irb", "wish", "expect", "octave", "swift", "scala", "groovy", "racket", "sbcl", "clojure",
        "elixir", "iex", "erl", "kotlin", "dotnet", "mono", "raku", "ghci", "runghc", "ocaml",
        "gnuplot", "maxima",
    ]),
];
