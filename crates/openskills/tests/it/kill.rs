//! Installs of packages and derived bundles that are killed at each of their changes: what is discovered is the old skill or the new one.

use testkit::{Fault, TestEnv, skip};

use crate::openskills;

const OPENSKILLS: &str = env!("CARGO_BIN_EXE_openskills");
const NO_STRACE: &str = "there is no `strace` to kill with";

/// Returns the ids of all skills that are discovered, and those alone that are not built in.
fn discovered(env: &TestEnv, flags: &str) -> String {
    let run = openskills(env, &format!("list --json {flags}"));
    assert_eq!(run.code, Some(0), "{flags}: {}", run.stderr);
    let list: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let all =
        list["skills"].as_array().unwrap().iter().filter(|skill| skill["source"] != "builtin");
    all.map(|skill| skill["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
}

fn package(version: u32) -> String {
    format!(
        "//- /src/pdf/SKILL.md\n---\nname: pdf\ndescription: Reads PDFs. Use when a PDF is given.\n---\nVersion {version}.\n\
         //- /src/pdf/references/guide.md\nGuide {version}.\n//- /src/pdf/scripts/a.sh\necho {version}\n"
    )
}

#[test]
fn a_killed_install_of_a_package_leaves_the_old_skill_or_the_new() {
    for old in ["", "1"] {
        let env = TestEnv::with(&package(1));
        if !env.has_faults() {
            return skip(
                "a_killed_install_of_a_package_leaves_the_old_skill_or_the_new",
                NO_STRACE,
            );
        }
        if !old.is_empty() {
            let run = openskills(&env, "install src/pdf --yes");
            assert_eq!(run.code, Some(0), "{}", run.stderr);
        }
        testkit::write_tree(&env.work(), &package(2));
        let installed = env.path(".keep-up/skills/pdf");
        let versions = || {
            let read = |name: &str| std::fs::read_to_string(installed.join(name)).ok();
            let digits =
                |text: String| text.chars().filter(char::is_ascii_digit).collect::<String>();
            ["SKILL.md", "references/guide.md", "scripts/a.sh"]
                .map(|name| read(name).map(digits).unwrap_or_default())
        };
        let kills = env.at_each_change(
            Fault::Kill,
            &[OPENSKILLS, "install", "src/pdf", "--yes"],
            |at, _| {
                let found = versions();
                assert!(found == [old, old, old] || found == ["2", "2", "2"], "{at}: {found:?}");
                let listed = discovered(&env, "");
                assert_eq!(listed, if found[0].is_empty() { "" } else { "pdf" }, "{at}");
                let run = openskills(&env, "install src/pdf --yes");
                assert_eq!(run.code, Some(0), "{at}: {}", run.stderr);
                assert_eq!(versions(), ["2", "2", "2"], "{at}");
                let run = openskills(&env, "log verify");
                assert_eq!(run.code, Some(0), "{at}: {}{}", run.stdout, run.stderr);
                let run = openskills(&env, "remove pdf");
                assert_eq!(run.code, Some(0), "{at}: {}", run.stderr);
                assert_eq!(discovered(&env, ""), "", "{at}");
            },
        );
        assert!(kills > 15, "only {kills} changes were killed at");
    }
}

#[test]
fn a_killed_skillify_leaves_the_old_bundle_or_the_new() {
    let sources = |text: &str| {
        format!(
            "//- /py/my_tools-1.2.dist-info/METADATA\nName: my-tools\nVersion: 1.2\nSummary: Tools for it\n\
             //- /py/my_tools/__init__.py\ndef fetch(url):\n    \"\"\"Fetch {text}.\"\"\"\n\ndef store(url):\n    \"\"\"Store {text}.\"\"\"\n"
        )
    };
    for old in ["", "one"] {
        let env = TestEnv::with(&format!("//- /skills/.keep\n{}", sources("one")));
        if !env.has_faults() {
            return skip("a_killed_skillify_leaves_the_old_bundle_or_the_new", NO_STRACE);
        }
        let python = env.path("py");
        let env = env.var("PYTHONPATH", &python.to_string_lossy());
        let words = ["skillify", "python:my-tools", "--output", "skills", "--yes"];
        if !old.is_empty() {
            assert_eq!(env.run_args(OPENSKILLS, &words).code, Some(0));
        }
        testkit::write_tree(&env.work(), &sources("two"));
        let page = |name: &str| {
            let path = env.path(&format!("skills/my-tools/references/my_tools-{name}.md"));
            let text = std::fs::read_to_string(path).unwrap_or_default();
            ["one", "two"].into_iter().find(|word| text.contains(word)).unwrap_or("")
        };
        let call = [&[OPENSKILLS][..], &words].concat();
        let kills = env.at_each_change(Fault::Kill, &call, |at, _| {
            let found = [page("fetch"), page("store")];
            assert!(found == [old; 2] || found == ["two"; 2], "{at}: {found:?}");
            let listed = discovered(&env, "--dir skills");
            assert_eq!(listed, if found[0].is_empty() { "" } else { "my-tools" }, "{at}");
            let run = env.run_args(OPENSKILLS, &words);
            assert_eq!(run.code, Some(0), "{at}: {}", run.stderr);
            assert_eq!([page("fetch"), page("store")], ["two"; 2], "{at}");
            assert_eq!(openskills(&env, "validate skills/my-tools").code, Some(0), "{at}");
        });
        assert!(kills > 10, "only {kills} changes were killed at");
    }
}
