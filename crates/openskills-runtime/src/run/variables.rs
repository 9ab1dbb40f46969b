//! Variables of the environment that are never given on to a script: they change what runs, or how.

use skill::interpreters;

/// What the C library, its loader and OpenSSL read to load code or settings from elsewhere. The variables of interpreters are in their table.
const STEERING: [&str; 11] = [
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
];

/// What speaks for the user.
const AGENT: &str = "SSH_AUTH_SOCK";

/// What a run has of its own.
const OWN: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Beginnings of names that loaders read.
const LOADERS: [&str; 2] = ["LD_", "DYLD_"];

/// Returns true for what changes what an interpreter runs or loads. Loaders are left out: where an interpreter lives elsewhere, it may
/// need them to start at all.
pub(super) fn steers_interpreters(name: &str) -> bool {
    interpreters::is_steered_by(name) || STEERING.contains(&name) || name == AGENT
}

/// Returns why a variable is never given to a script.
pub(crate) fn never_given(name: &str) -> Option<String> {
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Some(format!("`{name}` is not the name of a variable"));
    }
    let is_steering = steers_interpreters(name)
        || OWN.contains(&name)
        || LOADERS.iter().any(|start| name.starts_with(start));
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
            "R_LIBS_USER",
            "R_PROFILE_USER",
            "JAVA_TOOL_OPTIONS",
            "JULIA_LOAD_PATH",
            "GUILE_LOAD_PATH",
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
