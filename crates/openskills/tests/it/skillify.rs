//! Bundles derived from packages, small ones that are written here and real ones that CI brings.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::{TestEnv, skip};

use crate::openskills;

const PACKAGES: &str = "\
//- /lib/my.math/DESCRIPTION
Package: my.math
Version: 0.2.1
Title: Small Mathematics
Description: Adds things up.
//- /lib/my.math/NAMESPACE
export(add)
//- /lib/my.math/man/add.Rd
\\name{add}
\\alias{add}
\\title{Add numbers}
\\usage{add(x, y)}
\\arguments{\\item{x}{a vector}\\item{y}{another}}
\\description{Adds.}
//- /py/my_tools-1.2.dist-info/METADATA
Name: my-tools
Version: 1.2
Summary: Tools for it
//- /py/my_tools/__init__.py
def fetch(url):
    \"\"\"Fetch a page.

    :param url: where it is
    \"\"\"
";

/// Every kind of package.
const KINDS: [&str; 4] = ["npm", "python", "r", "rust"];

fn env() -> TestEnv {
    let env = TestEnv::with(PACKAGES);
    let (r, python) = (env.path("lib"), env.path("py"));
    env.var("R_LIBS", &r.to_string_lossy()).var("PYTHONPATH", &python.to_string_lossy())
}

#[test]
fn a_generated_bundle_replaces_only_one_from_the_same_package() {
    let env = env();
    let first: Value =
        serde_json::from_str(&openskills(&env, "skillify my.math --json").stdout).unwrap();
    assert_eq!(
        (first["name"].as_str(), first["topics"].as_u64()),
        (Some("my-math"), Some(1)),
        "{first}"
    );
    let again: Value =
        serde_json::from_str(&openskills(&env, "skillify ./lib/my.math --json").stdout).unwrap();
    assert_eq!(first["path"], again["path"]);
    // From a tarball it is the same.
    assert_eq!(env.run("tar", "-C lib -czf math.tar.gz my.math").code, Some(0));
    let packed: Value =
        serde_json::from_str(&openskills(&env, "skillify ./math.tar.gz --json").stdout).unwrap();
    assert_eq!((&packed["path"], &packed["sourceHash"]), (&first["path"], &first["sourceHash"]));
    let run = openskills(&env, "skillify my.math --output skills");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(openskills(&env, "validate skills/my-math").code, Some(0));
    assert!(
        std::fs::read_to_string(env.path("skills/my-math/references/add.md"))
            .unwrap()
            .contains("- `x`: a vector")
    );
    // Its library is there, so it can be activated.
    assert_eq!(openskills(&env, "activate my-math --dir skills").code, Some(0));
    // Another version shows its difference, and replaces only with approval.
    let text = std::fs::read_to_string(env.path("lib/my.math/man/add.Rd")).unwrap();
    env.write("lib/my.math/man/add.Rd", text.replace("a vector", "a list").as_bytes());
    let shown = openskills(&env, "skillify my.math --output skills --diff");
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(
        shown.stdout.contains("-- `x`: a vector") && shown.stdout.contains("+- `x`: a list"),
        "{}",
        shown.stdout
    );
    assert_eq!(openskills(&env, "skillify my.math --output skills").code, Some(5));
    assert!(
        std::fs::read_to_string(env.path("skills/my-math/references/add.md"))
            .unwrap()
            .contains("a vector")
    );
    assert_eq!(openskills(&env, "skillify my.math --output skills --yes").code, Some(0));
    assert!(
        std::fs::read_to_string(env.path("skills/my-math/references/add.md"))
            .unwrap()
            .contains("a list")
    );
    // What someone else wrote is not replaced.
    env.write("mine/my-math/SKILL.md", b"---\nname: my-math\ndescription: mine\n---\n");
    let run = openskills(&env, "skillify my.math --output mine --yes");
    assert!(
        run.code == Some(2) && run.stderr.contains("not generated from the R package `my.math`"),
        "{}",
        run.stderr
    );
    let run = openskills(&env, "skillify python:my-tools --output skills");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        std::fs::read_to_string(env.path("skills/my-tools/references/my_tools-fetch.md"))
            .unwrap()
            .contains("where it is")
    );
    // Edits in a bundle are kept.
    env.write("skills/my-math/references/add.md", b"mine\n");
    let run = openskills(&env, "skillify my.math --output skills --yes");
    assert!(run.stderr.contains("your edited version was backed up to "), "{}", run.stderr);
    let backups = env.path("../home/.local/share/openskills/backups");
    let kept = std::fs::read_dir(backups).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_to_string(kept.join("references/add.md")).unwrap(), "mine\n");
    // A package of another kind with the same name is another package.
    env.write("js/package.json", br#"{"name": "my.math", "version": "1.0.0", "main": "i.js"}"#);
    env.write("js/i.js", b"export function add(a) {}\n");
    let run = openskills(&env, "skillify ./js --output skills --yes");
    assert!(run.code == Some(2) && run.stderr.contains("npm package `my.math`"), "{}", run.stderr);
    for (words, code, told) in [
        ("skillify missing", 3, "no installed package named `missing`"),
        ("skillify ./none", 2, "cannot read"),
        ("skillify ./lib", 1, "not an R (DESCRIPTION)"),
        ("skillify my.math --diff", 2, "--output"),
    ] {
        let run = openskills(&env, words);
        assert_eq!(run.code, Some(code), "{words}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{words}: {}", run.stderr);
    }
}

/// An installed package of Python may be one module, or have folders of other names: its RECORD says so.
#[test]
fn the_files_of_a_python_package_are_read_from_its_record() {
    let env = env();
    for (name, text) in [
        ("solo-1.0.dist-info/METADATA", "Name: solo\nVersion: 1.0\nSummary: One module\n"),
        (
            "solo-1.0.dist-info/RECORD",
            "solo.py,,\nsolo-1.0.dist-info/METADATA,,\n../../bin/solo,,\n",
        ),
        ("solo.py", "def alone(x):\n    \"\"\"Do it alone.\"\"\"\n"),
        ("duo-1.0.dist-info/METADATA", "Name: duo\nVersion: 1.0\nSummary: Two folders\n"),
        ("duo-1.0.dist-info/RECORD", "first/__init__.py,,\nsecond/__init__.py,,\n"),
        ("first/__init__.py", "def one(x):\n    \"\"\"One.\"\"\"\n"),
        ("second/__init__.py", "def two(x):\n    \"\"\"Two.\"\"\"\n"),
    ] {
        env.write(&format!("py/{name}"), text.as_bytes());
    }
    for (package, pages) in
        [("solo", &["solo-alone.md"][..]), ("duo", &["first-one.md", "second-two.md"])]
    {
        let run = openskills(&env, &format!("skillify python:{package} --output skills"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for page in pages {
            assert!(env.path(&format!("skills/{package}/references/{page}")).is_file(), "{page}");
        }
    }
}

#[test]
fn a_summarize_command_rewrites_sections_and_is_recorded() {
    let env = env();
    let endless = ["skillify", "my.math", "--summarize", "yes"];
    let run = env.run_args(env!("CARGO_BIN_EXE_openskills"), &endless);
    assert!(
        run.code == Some(1) && run.stderr.contains("output is larger than 1 MiB"),
        "{}",
        run.stderr
    );
    let words = [
        "skillify",
        "my.math",
        "--output",
        "skills",
        "--summarize",
        "printf '# %s\\n\\nshort\\n' \"$SKILLIFY_SECTION\"; cat > /dev/null",
    ];
    let run = env.run_args(env!("CARGO_BIN_EXE_openskills"), &words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        std::fs::read_to_string(env.path("skills/my-math/references/add.md")).unwrap(),
        "# add\n\nshort\n"
    );
    let skill = std::fs::read_to_string(env.path("skills/my-math/SKILL.md")).unwrap();
    assert!(skill.contains("summarized-by:") && skill.contains("# overview"), "{skill}");
    assert_eq!(openskills(&env, "validate skills/my-math").code, Some(0));
    let run = env.run_args(
        env!("CARGO_BIN_EXE_openskills"),
        &["skillify", "my.math", "--summarize", "exit 3"],
    );
    assert!(run.code == Some(1) && run.stderr.contains("`exit 3` failed: "), "{}", run.stderr);
}

#[test]
fn diff_writes_nothing_and_wheels_are_supported() {
    let env = env();
    let run = openskills(&env, "skillify my.math --output skills --diff");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("nothing was written"), "{}", run.stdout);
    assert!(!env.path("skills").exists() && !env.path("../home/.cache/openskills").exists());
    let made = "cd py && python3 -m zipfile -c ../my_tools-1.2-py3-none-any.whl my_tools my_tools-1.2.dist-info";
    assert_eq!(env.run_args("sh", &["-c", made]).code, Some(0));
    let run = openskills(&env, "skillify ./my_tools-1.2-py3-none-any.whl --output skills");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let page = std::fs::read_to_string(env.path("skills/my-tools/references/my_tools-fetch.md"));
    assert!(page.unwrap().contains("where it is"));
}

#[test]
fn real_packages_become_valid_bundles() {
    let folder = std::env::var("SKILLIFY_PACKAGES").unwrap_or_default();
    let real: Vec<_> =
        std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).collect();
    if real.len() < KINDS.len() {
        return skip(
            "real packages",
            "SKILLIFY_PACKAGES names no folder with one of R, PyPI, crates.io and npm each",
        );
    }
    let env = TestEnv::with("//- /x\nx\n");
    let mut seen = BTreeSet::new();
    for entry in real {
        let path = entry.path().to_string_lossy().into_owned();
        let run = env.run_args(
            env!("CARGO_BIN_EXE_openskills"),
            &["skillify", &path, "--output", "skills", "--json"],
        );
        assert_eq!(run.code, Some(0), "{path}: {}{}", run.stdout, run.stderr);
        let told: Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(told["topics"].as_u64().unwrap() > 3, "{path}: {told}");
        seen.insert(told["kind"].as_str().unwrap().to_owned());
        let name = told["name"].as_str().unwrap();
        let valid = openskills(&env, &format!("validate skills/{name}"));
        assert_eq!(valid.code, Some(0), "{path}: {}{}", valid.stdout, valid.stderr);
        for (package, page, part) in [
            ("commander", "Command-argument.md", "Define argument syntax"),
            ("requests", "requests-get.md", "- `url`: URL for the new"),
            ("similar", "similar--TextDiff.md", "TextDiff"),
        ] {
            if name == package {
                let page = env.path(&format!("skills/{package}/references/{page}"));
                let page = std::fs::read_to_string(page).unwrap();
                assert!(page.contains(part), "{page}");
            }
        }
        if name == "jsonlite" {
            let pages = std::fs::read_dir(env.path("skills/jsonlite/references")).unwrap();
            let mut pages =
                pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap());
            let page = pages.find(|page| page.contains("\nfromJSON(")).unwrap();
            for part in ["`simplifyVector`", "`flatten`", "fromJSON("] {
                assert!(page.contains(part), "{part}\n{page}");
            }
        }
    }
    assert_eq!(seen, KINDS.map(str::to_owned).into());
}
