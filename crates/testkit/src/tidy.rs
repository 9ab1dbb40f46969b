//! Checks of the repository: allowed dependencies between crates, re-exports, file sizes, licenses of dependencies.
//!
//! Each check takes plain data and returns the violations, so that a test can show it failing.

use std::collections::BTreeMap;

use serde_json::Value;

/// The maximum number of lines in a source file, without its tests.
pub const MAX_LINES: usize = 800;

/// The crates of the workspace that each crate may depend on (`ARCHITECTURE.md` explains why). A crate is listed after
/// all its dependencies, so there are no cycles. `csk` and `openskills` do not depend on each other's libraries.
pub const EDGES: &[(&str, &[&str])] = &[
    ("skill", &[]),
    ("skill-fs", &["skill"]),
    ("term", &["skill"]),
    ("shell", &[]),
    ("skill-audit", &["skill", "shell"]),
    ("skill-state", &["skill", "skill-fs", "skill-audit"]),
    ("skill-pack", &["skill", "skill-fs"]),
    ("skillify", &["skill", "skill-fs", "skill-pack"]),
    ("csk-core", &["skill", "skill-fs", "skill-audit", "skill-state"]),
    ("csk", &["csk-core", "skill", "skill-fs", "skill-audit", "skill-state", "term"]),
    ("sandbox", &["skill"]),
    ("sandbox-wasm", &["sandbox"]),
    (
        "openskills-runtime",
        &[
            "skill",
            "skill-fs",
            "shell",
            "skill-audit",
            "skill-state",
            "skill-pack",
            "sandbox",
            "sandbox-wasm",
        ],
    ),
    (
        "openskills",
        &[
            "openskills-runtime",
            "skillify",
            "skill",
            "skill-fs",
            "skill-audit",
            "skill-state",
            "skill-pack",
            "sandbox",
            "term",
        ],
    ),
    ("testkit", &[]),
];

/// The licenses allowed for dependencies.
pub const LICENSES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    // Data, not code: the root certificates that browsers trust.
    "CDLA-Permissive-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// A crate of the workspace and its dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crate {
    /// The name.
    pub name: String,
    /// The crates of the workspace that it depends on, with the kind (`normal`, `dev`, `build`).
    pub edges: Vec<(String, String)>,
    /// Whether it inherits the lints of the workspace.
    pub lints: bool,
}

/// Reads the crates of the workspace from the output of `cargo metadata`.
pub fn crates(metadata: &Value, manifests: &BTreeMap<String, String>) -> Vec<Crate> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let is_ours = |package: &Value| package["source"].is_null();
    let ours: Vec<&str> = packages()
        .filter(|package| is_ours(package))
        .filter_map(|package| package["name"].as_str())
        .collect();
    let read = |package: &Value| {
        let name = package["name"].as_str().unwrap_or_default().to_owned();
        let edges =
            package["dependencies"].as_array().into_iter().flatten().filter_map(|dependency| {
                let to = dependency["name"].as_str().filter(|to| ours.contains(to))?;
                Some((to.to_owned(), dependency["kind"].as_str().unwrap_or("normal").to_owned()))
            });
        let lints =
            // The sandbox calls the kernel directly, and its WebAssembly engine loads compiled code: these crates have
            // all lints but the one against `unsafe`.
            manifests.get(&name).is_some_and(|text| {
                let has_own = ["sandbox", "sandbox-wasm"].contains(&name.as_str())
                    && text.contains("disallowed_methods");
                has_own || text.contains("[lints]\nworkspace = true")
            });
        Crate { edges: edges.collect(), lints, name }
    };
    packages().filter(|package| is_ours(package)).map(read).collect()
}

/// Returns the dependencies between `crates` that are not allowed.
pub fn edge_violations(crates: &[Crate]) -> Vec<String> {
    let mut violations = Vec::new();
    for from in crates {
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == from.name) else {
            violations.push(format!("crate `{}` is not in the list of crates", from.name));
            continue;
        };
        if !from.lints {
            violations
                .push(format!("crate `{}` does not inherit the lints of the workspace", from.name));
        }
        for (to, kind) in &from.edges {
            let fits = if to == "testkit" { kind == "dev" } else { allowed.contains(&to.as_str()) };
            if !fits {
                violations.push(format!("crate `{}` may not depend on `{to}` ({kind})", from.name));
            }
        }
    }
    violations
}

/// Returns the places where a crate re-exports names of another crate of the workspace. A crate that uses a type must
/// depend on the crate that owns it, so that [`EDGES`] lists all dependencies. `files` are pairs of a path, from the
/// root of the repository, and a text.
pub fn re_export_violations(files: &[(String, String)]) -> Vec<String> {
    let names: Vec<String> = EDGES.iter().map(|(name, _)| name.replace('-', "_")).collect();
    let mut violations = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.contains("/src/")) {
        for (number, line) in text.lines().enumerate() {
            let Some(what) = line.trim_start().strip_prefix("pub use ") else { continue };
            let what = what.trim_start_matches([':', '{']);
            let name = what.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            let is_own_module = text.lines().any(|line| line.ends_with(&format!("mod {name};")));
            if names.iter().any(|known| known == name) && !is_own_module {
                violations.push(format!("{path}:{} re-exports names of `{name}`", number + 1));
            }
        }
    }
    violations
}

/// Returns the files that are too long. `files` are pairs of path and text.
pub fn size_violations(files: &[(String, String)]) -> Vec<String> {
    let long =
        files.iter().filter(|(path, _)| !path.contains("/tests/") && !path.ends_with("/tests.rs"));
    let long = long.map(|(path, text)| (path, lines_without_tests(text)));
    long.filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| {
            format!("{path} has {lines} lines without its tests; at most {MAX_LINES} are allowed")
        })
        .collect()
}

/// Returns the parameters that are tuples. Values that belong together must be a named struct; a tuple would only
/// circumvent the lint about the number of parameters.
pub fn tuple_violations(files: &[(String, String)]) -> Vec<String> {
    let is_name = |name: &str| {
        let name = name.trim().trim_start_matches("mut ");
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    };
    let is_tuple = |line: &&str| {
        // A parameter is on a line of its own, or on the line of its function.
        let is_signature =
            (line.contains("fn ") || line.trim_start().starts_with('(')) && !line.contains('|');
        let before = line.split_once("): (").map(|(before, _)| before);
        let names = before.and_then(|before| before.rsplit_once('(')).map(|(_, names)| names);
        is_signature && names.is_some_and(|names| names.split(',').all(is_name))
    };
    let sources =
        files.iter().filter(|(path, _)| path.contains("/src/") && !path.contains("/tests"));
    let found = sources.flat_map(|(path, text)| {
        text.lines().filter(is_tuple).map(move |line| format!("{path}: {}", line.trim()))
    });
    found.collect()
}

/// Returns the number of lines before the test module at the end of a file.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |pair: &[&str]| {
        pair[0].starts_with("#[cfg(")
            && pair[0].contains("test")
            && pair[1].starts_with("mod tests")
    };
    lines.windows(2).position(is_tests).unwrap_or(lines.len())
}

/// Terms that only some files of the programs may contain: the term, the files, and the reason.
const RESTRICTED_TERMS: &[(&str, &[&str], &str)] = &[
    ("process::ExitCode", &["main.rs", "cli.rs"], "commands return the program's own enum"),
    ("ExitCode::from(", &[], "commands return the program's own enum"),
    ("ureq", &["http.rs"], "only one module accesses the network"),
    ("reqwest", &[], "only one module accesses the network"),
    ("TcpStream", &[], "only one module accesses the network"),
];

/// Returns the restricted terms in the sources of the programs. `files` are pairs of path and text.
pub fn program_violations(files: &[(String, String)]) -> Vec<String> {
    let mut violations = Vec::new();
    let programs = ["crates/csk/src/", "crates/openskills/src/"];
    for (path, text) in files {
        let Some(file) = programs.iter().find_map(|program| path.split(program).nth(1)) else {
            continue;
        };
        // The templates of new skills are not part of the program.
        if file.starts_with("commands/new/") {
            continue;
        }
        for (term, allowed, why) in RESTRICTED_TERMS {
            if text.contains(term) && !allowed.contains(&file) {
                violations.push(format!("{path} contains `{term}`: {why}"));
            }
        }
        let exits = text.split("process::exit(").skip(1);
        if exits.into_iter().any(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            violations.push(format!("{path} exits with a number: exit codes are an enum"));
        }
    }
    violations
}

/// Returns the dependencies whose license is not allowed.
pub fn license_violations(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap_or("?");
            let license = package["license"].as_str().unwrap_or("");
            (!is_allowed(license))
                .then(|| format!("the license `{license}` of `{name}` is not allowed"))
        })
        .collect()
}

fn is_allowed(license: &str) -> bool {
    // Older manifests write `MIT/Apache-2.0` for `OR`.
    let expression =
        spdx::Expression::parse_mode(&license.replace('/', " OR "), spdx::ParseMode::LAX);
    expression.is_ok_and(|expression| {
        expression.evaluate(|wanted| LICENSES.contains(&wanted.to_string().as_str()))
    })
}

/// Returns the variants of an enum without data, in source order.
pub fn plain_variants(source: &str, name: &str) -> Vec<String> {
    let body = source.split(&format!("enum {name} {{")).nth(1).unwrap_or_default();
    let body = body.split("\n}").next().unwrap_or_default();
    let lines = body.lines().map(str::trim).filter(|line| !line.starts_with(['/', '#']));
    let names = lines.filter_map(|line| line.strip_suffix(','));
    let names = names.map(|line| line.split(" = ").next().unwrap_or(line));
    names.filter(|name| !name.contains('(')).map(str::to_owned).collect()
}
