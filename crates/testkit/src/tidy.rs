//! The checks of the repository: who may depend on whom, who may pass on whose names, how long a file may be, which licences.
//!
//! Each check takes plain data and returns the offences, so that a test can show it failing.

use std::collections::BTreeMap;

use serde_json::Value;

/// The most lines a source file may have, tests apart.
pub const MAX_LINES: usize = 800;

/// The only crates of the workspace that each crate may depend on (`ARCHITECTURE.md` explains why). A crate stands below all that it may
/// depend on, so there are no cycles; `csk` and `openskills` and their libraries meet only in what both depend on.
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

/// The licences that a dependency may be used under.
pub const LICENCES: &[&str] = &[
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
    // Data, not code: the list of certificates that browsers believe.
    "CDLA-Permissive-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// One crate of the workspace and what it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Crates of the workspace among its dependencies, with the kind (`normal`, `dev`, `build`).
    pub edges: Vec<(String, String)>,
    /// Whether it takes the lints of the workspace.
    pub lints: bool,
}

/// Reads the crates of the workspace out of the answer of `cargo metadata`.
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
            // The sandbox talks to the kernel by hand, and its engine believes compiled code: they have all lints but the one against that.
            manifests.get(&name).is_some_and(|text| {
                let has_own = ["sandbox", "sandbox-wasm"].contains(&name.as_str())
                    && text.contains("disallowed_methods");
                has_own || text.contains("[lints]\nworkspace = true")
            });
        Crate { edges: edges.collect(), lints, name }
    };
    packages().filter(|package| is_ours(package)).map(read).collect()
}

/// Returns what is wrong with the edges between `crates`.
pub fn edge_offences(crates: &[Crate]) -> Vec<String> {
    let mut offences = Vec::new();
    for from in crates {
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == from.name) else {
            offences.push(format!("crate `{}` is not in the list of crates", from.name));
            continue;
        };
        if !from.lints {
            offences
                .push(format!("crate `{}` does not take the lints of the workspace", from.name));
        }
        for (to, kind) in &from.edges {
            let fits = if to == "testkit" { kind == "dev" } else { allowed.contains(&to.as_str()) };
            if !fits {
                offences.push(format!("crate `{}` may not depend on `{to}` ({kind})", from.name));
            }
        }
    }
    offences
}

/// Returns where a crate passes on names of another crate of the workspace: whoever names a type depends on the crate that owns it, so that
/// the list of edges is the whole truth. `files` are path, from the root of the repository, and text.
pub fn re_export_offences(files: &[(String, String)]) -> Vec<String> {
    let names: Vec<String> = EDGES.iter().map(|(name, _)| name.replace('-', "_")).collect();
    let mut offences = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.contains("/src/")) {
        for (number, line) in text.lines().enumerate() {
            let Some(what) = line.trim_start().strip_prefix("pub use ") else { continue };
            let what = what.trim_start_matches([':', '{']);
            let name = what.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            let is_own_module = text.lines().any(|line| line.ends_with(&format!("mod {name};")));
            if names.iter().any(|known| known == name) && !is_own_module {
                offences.push(format!("{path}:{} passes on names of `{name}`", number + 1));
            }
        }
    }
    offences
}

/// Returns the files that are too long. `files` are path and text.
pub fn size_offences(files: &[(String, String)]) -> Vec<String> {
    let long =
        files.iter().filter(|(path, _)| !path.contains("/tests/") && !path.ends_with("/tests.rs"));
    let long = long.map(|(path, text)| (path, lines_without_tests(text)));
    long.filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| {
            format!("{path} has {lines} lines without its tests; at most {MAX_LINES} are allowed")
        })
        .collect()
}

/// Returns parameters that are tuples: what belongs together is a struct with a name, whatever the lint about the number of parameters says.
pub fn tuple_offences(files: &[(String, String)]) -> Vec<String> {
    let is_name = |name: &str| {
        let name = name.trim().trim_start_matches("mut ");
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    };
    let is_tuple = |line: &&str| {
        // A parameter stands on a line of its own, or on that of its function.
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

/// Returns how many lines stand before the module of tests at the end of a file.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |pair: &[&str]| {
        pair[0].starts_with("#[cfg(")
            && pair[0].contains("test")
            && pair[1].starts_with("mod tests")
    };
    lines.windows(2).position(is_tests).unwrap_or(lines.len())
}

/// Words that only some files of the programs may hold: who they are for, and why.
const EDGES_OF_PROGRAMS: &[(&str, &[&str], &str)] = &[
    ("process::ExitCode", &["main.rs", "cli.rs"], "commands end with the program's own enum"),
    ("ExitCode::from(", &[], "commands end with the program's own enum"),
    ("ureq", &["http.rs"], "one module talks to the network"),
    ("reqwest", &[], "one module talks to the network"),
    ("TcpStream", &[], "one module talks to the network"),
];

/// Returns what the sources of the programs hold that belongs elsewhere. `files` are path and text.
pub fn program_offences(files: &[(String, String)]) -> Vec<String> {
    let mut offences = Vec::new();
    let programs = ["crates/csk/src/", "crates/openskills/src/"];
    for (path, text) in files {
        let Some(file) = programs.iter().find_map(|program| path.split(program).nth(1)) else {
            continue;
        };
        // What a new skill is made of is no part of the program.
        if file.starts_with("commands/new/") {
            continue;
        }
        for (word, allowed, why) in EDGES_OF_PROGRAMS {
            if text.contains(word) && !allowed.contains(&file) {
                offences.push(format!("{path} holds `{word}`: {why}"));
            }
        }
        let exits = text.split("process::exit(").skip(1);
        if exits.into_iter().any(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            offences.push(format!("{path} ends with a number: exit codes are an enum"));
        }
    }
    offences
}

/// Returns the dependencies whose licence is not on the list.
pub fn licence_offences(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap_or("?");
            let licence = package["license"].as_str().unwrap_or("");
            (!is_permitted(licence))
                .then(|| format!("`{name}` is under `{licence}`, which is not on the list"))
        })
        .collect()
}

fn is_permitted(licence: &str) -> bool {
    // `MIT/Apache-2.0` is how older manifests write `OR`.
    let expression =
        spdx::Expression::parse_mode(&licence.replace('/', " OR "), spdx::ParseMode::LAX);
    expression.is_ok_and(|expression| {
        expression.evaluate(|wanted| LICENCES.contains(&wanted.to_string().as_str()))
    })
}

/// Returns the variants without data of an enum, in the order of its source.
pub fn plain_variants(source: &str, name: &str) -> Vec<String> {
    let body = source.split(&format!("enum {name} {{")).nth(1).unwrap_or_default();
    let body = body.split("\n}").next().unwrap_or_default();
    let lines = body.lines().map(str::trim).filter(|line| !line.starts_with(['/', '#']));
    let names = lines.filter_map(|line| line.strip_suffix(','));
    let names = names.map(|line| line.split(" = ").next().unwrap_or(line));
    names.filter(|name| !name.contains('(')).map(str::to_owned).collect()
}
