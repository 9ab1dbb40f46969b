//! Variables of the environment that are never given on to a script: they change what runs, or how.

/// What interpreters of the table, shells and the C library read to load code, options or settings from elsewhere. Whoever adds an
/// interpreter adds its variables here.
pub(crate) const STEERING: &[&str] = &[
    // Shells.
    "IFS",
    "ENV",
    "CDPATH",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "FPATH",
    "ZDOTDIR",
    "KSH_ENV",
    "fish_function_path",
    "fish_complete_path",
    // The C library and the loader; LD_* and DYLD_* are beside them.
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "GETCONF_DIR",
    "MALLOC_TRACE",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "GLIBC_TUNABLES",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    // Python.
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
    // JavaScript.
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "BUN_OPTIONS",
    "BUN_INSPECT",
    "BUN_CONFIG_PRELOAD",
    "DENO_DIR",
    "DENO_V8_FLAGS",
    // Perl.
    "PERL5OPT",
    "PERL5LIB",
    "PERLLIB",
    "PERL5DB",
    "PERLIO",
    "PERL5SHELL",
    // Ruby.
    "RUBYOPT",
    "RUBYLIB",
    "RUBYPATH",
    "RUBYSHELL",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    // PHP, Lua, Tcl, PowerShell, awk.
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "TCLLIBPATH",
    "TCL_LIBRARY",
    "PSModulePath",
    "DOTNET_STARTUP_HOOKS",
    "AWKPATH",
    "AWKLIBPATH",
    // What speaks for the user.
    "SSH_AUTH_SOCK",
];

/// What a run has of its own.
const OWN: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Beginnings of names of the same kind: loaders, functions that bash imports, and what Lua and Tcl call by version.
const BEGINNINGS: [&str; 8] =
    ["LD_", "DYLD_", "BASH_FUNC_", "LUA_INIT_", "LUA_PATH_", "LUA_CPATH_", "TCL8", "CORECLR_"];

/// Returns why a variable is never given to a script.
pub(crate) fn never_given(name: &str) -> Option<String> {
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Some(format!("`{name}` is not the name of a variable"));
    }
    let is_steering = STEERING.contains(&name)
        || OWN.contains(&name)
        || BEGINNINGS.iter().any(|start| name.starts_with(start));
    is_steering.then(|| {
        format!("the variable `{name}` would change what runs; it is never given to a script")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_an_interpreter_is_never_given() {
        for name in [
            "PATH",
            "PYTHONPATH",
            "PERL5OPT",
            "PERLLIB",
            "RUBYLIB",
            "RUBYOPT",
            "NODE_PATH",
            "BUN_OPTIONS",
            "LUA_INIT_5_4",
            "LUA_CPATH",
            "PHPRC",
            "TCLLIBPATH",
            "AWKPATH",
            "ZDOTDIR",
            "LD_PRELOAD",
            "BASH_FUNC_ls",
            "PSModulePath",
            "OPENSSL_CONF",
        ] {
            assert!(never_given(name).is_some_and(|why| why.contains("what runs")), "{name}");
        }
        for name in ["", "A B", "A=B", "1A", "A-B", "A\0", "\u{e9}"] {
            assert!(never_given(name).is_some_and(|why| why.contains("not the name")), "{name}");
        }
        for name in ["MYVAR", "LANGUAGE", "API_TOKEN", "_x", "pythonpath"] {
            assert_eq!(never_given(name), None, "{name}");
        }
    }
}
