//! What reaches a terminal: nothing that steers it, nothing wider than it, and little where it is to be quiet.

use testkit::{Run, TestEnv};

use crate::openskills;

/// Runs the program on a terminal of so many columns; `None` where none can be made.
fn on_terminal(env: &TestEnv, columns: usize, arguments: &str) -> Option<Run> {
    if env.run("script", "--version").code != Some(0) {
        testkit::skip("output on a terminal", "there is no `script` to make a terminal");
        return None;
    }
    let program = env!("CARGO_BIN_EXE_openskills");
    let call = format!("stty rows 24 cols {columns}; {program} {arguments}");
    Some(env.run_args("script", &["-qec", &call, "/dev/null"]))
}

const SKILLS: &str = "\
//- /s/loud/SKILL.md
---
name: loud
description: Writes what a terminal would obey, with a description that is longer than many terminals are wide.
---
Body.
//- /s/loud/scripts/loud.sh
printf 'a\\tb\\033]0;owned\\007\\n'; printf 'c\\033[2Jd\\n' >&2
";

#[test]
fn a_script_cannot_control_the_terminal() {
    let env = TestEnv::with(SKILLS);
    assert_eq!(openskills(&env, "approve loud --dir s --yes").code, Some(0));
    let piped = openskills(&env, "run loud --dir s");
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    assert_eq!(piped.stdout, "a\tb\u{1b}]0;owned\u{7}\n", "a program gets the bytes");
    assert!(piped.stderr.starts_with("c\u{1b}[2Jd\n"), "{}", piped.stderr);
    let Some(shown) = on_terminal(&env, 80, "run loud --dir s") else { return };
    assert!(shown.stdout.contains("a\tb␛]0;owned␇"), "{:?}", shown.stdout);
    assert!(shown.stdout.contains("c␛[2Jd"), "{:?}", shown.stdout);
    assert!(!shown.stdout.contains('\u{1b}'), "{:?}", shown.stdout);
}

#[test]
fn no_table_is_wider_than_the_terminal() {
    let env = TestEnv::with(SKILLS);
    assert_eq!(openskills(&env, "approve loud --dir s --yes").code, Some(0));
    openskills(&env, "activate loud --dir s");
    openskills(&env, "read loud scripts/loud.sh --dir s");
    for columns in [40, 60, 80] {
        for arguments in [
            "log show",
            "log tail",
            "log stats",
            "approvals list",
            "where loud --dir s",
            "list --dir s",
            "list --all --dir s",
            "cache",
        ] {
            let Some(shown) = on_terminal(&env, columns, arguments) else { return };
            assert!(!shown.stdout.trim().is_empty(), "{arguments}");
            // `[ROOT]` stands for a longer path, which a cut one does not hold any more.
            for line in shown.stdout.lines().filter(|line| !line.contains("note:")) {
                // The sentence above the candidates is no table.
                let is_prose = line.contains(" refers to ");
                let width = line.trim_end().chars().count();
                assert!(is_prose || width <= columns, "{columns} {arguments}: {width} {line}");
            }
        }
    }
    // Whoever reads it as a file gets all of it.
    assert!(
        openskills(&env, "list --dir s").stdout.contains("longer than many terminals are wide")
    );
}

#[test]
fn quiet_keeps_data_and_warnings() {
    let env = TestEnv::with(SKILLS);
    env.write(
        "s/old/SKILL.md",
        b"---\nname: old\ndescription: d\nuser-invocable: false\n---\nB.\n",
    );
    for arguments in [
        "trust",
        "trust --remove",
        "disable loud --dir s",
        "enable loud --dir s",
        "approve loud --dir s --yes",
        "run loud scripts/loud.sh --dir s --dry-run",
        "approvals revoke loud",
        "new fresh",
        "install s/loud --yes",
        "remove loud",
        "replay --dir s",
        "log archive",
        "cache clear",
        "mcp install cursor --project --yes",
        "mcp add docs --no-sync -- none",
        "mcp remove docs",
        "prompt --budget 90 --dir s",
        "migrate s/old --yes",
        "log verify",
    ] {
        let run = openskills(&env, &format!("--quiet {arguments}"));
        assert_eq!(run.code, Some(0), "{arguments}: {}", run.stderr);
        let stderr = run.stderr.replace("c\u{1b}[2Jd\n", "");
        assert_eq!(stderr, "", "{arguments}");
        // What was asked for is written all the same.
        let is_data = ["run", "prompt", "replay", "mcp install", "migrate", "log verify"];
        let is_data = is_data.iter().any(|command| arguments.starts_with(command));
        assert_eq!(run.stdout.is_empty(), !is_data, "{arguments}: {}", run.stdout);
        assert!(!run.stdout.contains("note:"), "{arguments}: {}", run.stdout);
    }
}
