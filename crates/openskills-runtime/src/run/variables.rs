//! Environment variables that are never passed to a script, because they change what runs, or how.

use skill::interpreters;

/// Variables with which libc, its loader and OpenSSL load code or settings from elsewhere. Those of interpreters are in
/// `skill::interpreters`.
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

/// The SSH agent can act on behalf of the user.
const SSH_AGENT: &str = "SSH_AUTH_SOCK";

/// Variables that the runtime sets itself.
const OWN: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Prefixes of loader variables.
const LOADERS: [&str; 2] = ["LD_", "DYLD_"];

/// Returns true for a variable that changes what an interpreter runs or loads. Loader variables are not included: an
/// interpreter in an unusual location may need them to start at all.
pub(super) fn steers_interpreters(name: &str) -> bool {
    interpreters::loads_code(name) || STEERING.contains(&name) || name == SSH_AGENT
}

/// Returns why a variable is never passed to scripts, if so.
pub(crate) fn forbidden_variable(name: &str) -> Option<String> {
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Some(format!("`{name}` is not a valid variable name"));
    }
    let is_steering = steers_interpreters(name)
        || OWN.contains(&name)
        || LOADERS.iter().any(|start| name.starts_with(start));
    is_steering
        .then(|| format!("the variable `{name}` changes what runs and is never passed to scripts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_control_an_interpreter_are_never_passed() {
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
            assert!(
                forbidden_variable(name).is_some_and(|why| why.contains("what runs")),
                "{name}"
            );
        }
        for name in ["", "A B", "A=B", "1A", "A-B", "A\0", "\u{e9}"] {
            assert!(
                forbidden_variable(name).is_some_and(|why| why.contains("not a valid")),
                "{name}"
            );
        }
        for name in ["MYVAR", "LANGUAGE", "API_TOKEN", "_x", "pythonpath"] {
            assert_eq!(forbidden_variable(name), None, "{name}");
        }
    }
}
