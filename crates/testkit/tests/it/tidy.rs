use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::{Value, json};
use testkit::tidy::{
    Crate, EDGES, crates, edge_violations, license_violations, program_violations,
    re_export_violations, size_violations, tuple_violations,
};

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

fn metadata() -> Value {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(root())
        .output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn sources(folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push((path.to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    let metadata = metadata();
    let manifests: BTreeMap<String, String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read_to_string(entry.path().join("Cargo.toml")).unwrap(),
            )
        })
        .collect();
    let crates = crates(&metadata, &manifests);
    assert!(crates.len() >= 5, "the workspace was not read");
    assert_eq!(edge_violations(&crates), Vec::<String>::new());
}

#[test]
fn the_allowed_dependencies_have_no_cycle_and_keep_csk_and_openskills_apart() {
    let position = |name: &str| EDGES.iter().position(|(known, _)| *known == name).unwrap();
    for (from, all) in EDGES {
        for to in *all {
            assert!(position(to) < position(from), "`{to}` must be listed before `{from}`");
            let sides = [from.starts_with("csk"), to.starts_with("openskills")];
            assert_ne!(sides, [true, true], "{from} -> {to}");
            let sides = [from.starts_with("openskills"), to.starts_with("csk")];
            assert_ne!(sides, [true, true], "{from} -> {to}");
        }
    }
}

#[test]
fn no_crate_re_exports_names_of_another() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 20, "the sources were not read");
    assert_eq!(re_export_violations(&files), Vec::<String>::new());
}

#[test]
fn no_file_is_too_long() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 20, "the sources were not read");
    assert_eq!(size_violations(&files), Vec::<String>::new());
}

#[test]
fn no_parameter_is_a_tuple() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert_eq!(tuple_violations(&files), Vec::<String>::new());
    let file = |text: &str| [("crates/a/src/a.rs".to_owned(), text.to_owned())];
    for bad in ["fn a(b: u8, (c, d): (u8, u8)) {", "    (mut c, d): (u8, &str),"] {
        assert_eq!(tuple_violations(&file(bad)).len(), 1, "{bad}");
    }
    for good in
        ["fn a(b: u8, c: (u8, u8)) {", "let a = |(c, d): (u8, u8)| c;", "fn a() -> (u8, u8) {"]
    {
        assert_eq!(tuple_violations(&file(good)), Vec::<String>::new(), "{good}");
    }
}

#[test]
fn agent_folders_are_protected_from_scripts() {
    let text = |path: &str| fs::read_to_string(root().join("crates").join(path)).unwrap();
    let (agents, names) = (text("csk-core/src/config/agents.rs"), text("sandbox/src/names.rs"));
    let table = agents.split("const ADAPTED").nth(1).unwrap().split("];").next().unwrap();
    let folders: Vec<&str> =
        table.split('"').filter(|text| text.starts_with('.') && text.contains('/')).collect();
    assert!(folders.len() > 20, "{folders:?}");
    for folder in folders {
        let first = folder.split('/').next().unwrap();
        assert!(names.contains(&format!("\"{first}\"")), "a script may write {folder}");
    }
}

#[test]
fn exit_codes_and_the_network_are_used_in_one_place() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 10);
    assert_eq!(program_violations(&files), Vec::<String>::new());
    let file =
        |name: &str, text: &str| (format!("/x/crates/openskills/src/{name}"), text.to_owned());
    let bad = [
        file("commands/run.rs", "std::process::exit(78)"),
        file("commands/show.rs", "use std::process::ExitCode;"),
        file("mcp/host/web.rs", "ureq::get(url)"),
    ];
    assert_eq!(program_violations(&bad).len(), 3);
    let good = [file("main.rs", "std::process::ExitCode"), file("http.rs", "ureq::get(url)")];
    assert_eq!(program_violations(&good), Vec::<String>::new());
}

#[test]
fn every_dependency_has_an_allowed_license() {
    assert_eq!(license_violations(&metadata()), Vec::<String>::new());
}

#[test]
fn the_checks_detect_violations() {
    let one = |name: &str, edges: &[(&str, &str)], lints| Crate {
        name: name.to_owned(),
        edges: edges.iter().map(|(to, kind)| ((*to).to_owned(), (*kind).to_owned())).collect(),
        lints,
    };
    let bad = [
        one("skill", &[("skill-fs", "normal"), ("testkit", "dev")], true),
        one("term", &[("skill", "normal"), ("testkit", "normal")], true),
        one("skill-fs", &[("skill", "normal")], false),
        one("helpers", &[], true),
    ];
    assert_eq!(
        edge_violations(&bad),
        [
            "crate `skill` may not depend on `skill-fs` (normal)",
            "crate `term` may not depend on `testkit` (normal)",
            "crate `skill-fs` does not inherit the lints of the workspace",
            "crate `helpers` is not in the list of crates",
        ]
    );

    let long = "x\n".repeat(801);
    let tested = format!(
        "{}#[cfg(all(test, unix))]\nmod tests {{\n{}",
        "x\n".repeat(100),
        "x\n".repeat(900)
    );
    let attribute = format!("#[cfg(test)]\nuse x;\n{}", "x\n".repeat(801));
    let files = [
        ("crates/a/src/d.rs", attribute),
        ("crates/a/src/a.rs", long.clone()),
        ("crates/a/src/b.rs", tested),
        ("crates/a/tests/it/c.rs", long),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text));
    assert_eq!(
        size_violations(&files),
        [
            "crates/a/src/d.rs has 803 lines without its tests; at most 800 are allowed",
            "crates/a/src/a.rs has 801 lines without its tests; at most 800 are allowed",
        ]
    );

    let files = [
        (
            "crates/csk/src/lib.rs",
            "pub use skill_fs::AbsPath;\n    pub use ::skill;\nuse term::Ui;\n",
        ),
        (
            "crates/csk/src/a.rs",
            "mod shell;\npub use shell::read;\npub(crate) use skill::Digest;\n",
        ),
        ("crates/csk/tests/it/main.rs", "pub use skill_fs::AbsPath;\n"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(
        re_export_violations(&files),
        [
            "crates/csk/src/lib.rs:1 re-exports names of `skill_fs`",
            "crates/csk/src/lib.rs:2 re-exports names of `skill`",
        ]
    );

    let packages = json!({ "packages": [
        { "name": "good", "license": "MIT OR GPL-3.0" },
        { "name": "old", "license": "MIT/Apache-2.0" },
        { "name": "copyleft", "license": "GPL-3.0-only" },
        { "name": "both", "license": "MIT AND GPL-3.0-only" },
        { "name": "none", "license": null },
    ] });
    assert_eq!(
        license_violations(&packages),
        [
            "the license `GPL-3.0-only` of `copyleft` is not allowed",
            "the license `MIT AND GPL-3.0-only` of `both` is not allowed",
            "the license `` of `none` is not allowed",
        ]
    );
}

#[test]
fn dependencies_are_read_from_cargo_metadata() {
    let metadata = json!({ "packages": [
        { "name": "skill", "source": null, "dependencies": [] },
        { "name": "term", "source": null, "dependencies": [
            { "name": "skill", "kind": null }, { "name": "serde", "kind": null }, { "name": "skill", "kind": "dev" },
        ] },
        { "name": "serde", "source": "registry", "dependencies": [] },
    ] });
    let manifests = BTreeMap::from([("term".to_owned(), "[lints]\nworkspace = true\n".to_owned())]);
    let edges =
        vec![("skill".to_owned(), "normal".to_owned()), ("skill".to_owned(), "dev".to_owned())];
    let term = Crate { name: "term".to_owned(), edges, lints: true };
    assert_eq!(
        crates(&metadata, &manifests).into_iter().find(|found| found.name == "term"),
        Some(term)
    );
}
