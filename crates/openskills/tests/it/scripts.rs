//! Scripts as real skills bring them: with packages, modules, input and failures.

use std::fs;

use serde_json::Value;
use testkit::{Run, TestEnv};

use crate::openskills;

const SKILLS: &str = "\
//- /s/many/SKILL.md
---
name: many
description: d
---
Body.
//- /s/many/scripts/import.py
import sys, given
print(given.NAME, sys.prefix != sys.base_prefix)
//- /s/many/scripts/require.cjs
console.log(require('given').name)
//- /s/many/scripts/import.mjs
import given from 'given'
console.log(given.name)
//- /s/many/scripts/__init__.py
//- /s/many/scripts/tool.py
import sys
from scripts import other
print(other.WORD, sys.argv[1:], __name__)
//- /s/many/scripts/other.py
WORD = 'word'
//- /s/many/scripts/stdin.py
import os, sys
print(repr(sys.stdin.read()), os.environ['SKILL_INPUT'])
//- /s/many/scripts/fetch.py
import urllib.request
urllib.request.urlopen('https://files.example.com/a')
//- /s/many/scripts/hungry.py
x = [b'y' * (1 << 20) for _ in range(1000)]
//- /s/many/scripts/open.py
open('report.pdf')
//- /s/many/scripts/hook.sh
echo out; echo err >&2; mkdir .git; echo x > .git/config
//- /s/many/scripts/fail.sh
echo x > made; exit 3
";

fn run(env: &TestEnv, script: &str, more: &str) -> Run {
    openskills(env, &format!("run many {script} --dir s --approve-once {more}"))
}

fn piped(env: &TestEnv, line: &str) -> Run {
    let line = line.replace("openskills", env!("CARGO_BIN_EXE_openskills"));
    env.run_args("sh", &["-c", &line])
}

/// Makes an environment of Python with a package in it.
fn environment(env: &TestEnv, folder: &str) {
    let made = env.run_args("python3", &["-m", "venv", "--without-pip", folder]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let line = format!(
        "for lib in {folder}/lib/python3.*/site-packages; do echo 'NAME = \"of {folder}\"' > $lib/given.py; done"
    );
    assert_eq!(env.run_args("sh", &["-c", &line]).code, Some(0));
}

#[test]
fn a_python_script_finds_packages_of_the_project_environment() {
    let env = TestEnv::with(SKILLS);
    let missing = run(&env, "import.py", "");
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("Python package `given` not found"), "{}", missing.stderr);
    assert!(missing.stderr.contains("interpreter: /"), "{}", missing.stderr);
    environment(&env, ".venv");
    for more in ["", "--workspace ."] {
        let found = run(&env, "import.py", more);
        assert_eq!(found.stdout, "of .venv True\n", "{}", found.stderr);
    }
    let told: Value = serde_json::from_str(&run(&env, "import.py", "--json").stdout).unwrap();
    let interpreter = told["interpreter"].as_str().unwrap();
    assert!(interpreter.ends_with(".venv/bin/python3"), "{interpreter}");
    // The active environment comes first.
    environment(&env, "other");
    let other = env.path("other").display().to_string();
    let call = format!("VIRTUAL_ENV={other} openskills run many import.py --dir s --approve-once");
    assert_eq!(piped(&env, &call).stdout, "of other True\n");
    // What a repository brings was installed by whoever wrote it.
    for line in ["git init -q .", "git add -f .venv/pyvenv.cfg"] {
        assert_eq!(env.run_args("sh", &["-c", line]).code, Some(0));
    }
    assert_eq!(run(&env, "import.py", "").code, Some(1));
    assert_eq!(env.run_args("git", &["rm", "-rq", "--cached", ".venv"]).code, Some(0));
    assert_eq!(run(&env, "import.py", "").stdout, "of .venv True\n");
    // Another program is not asked what it is.
    fs::remove_file(env.path(".venv/bin/python3")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", env.path(".venv/bin/python3")).unwrap();
    assert_eq!(run(&env, "import.py", "").code, Some(1));
}

#[test]
fn a_python_script_finds_the_users_own_packages() {
    let env = TestEnv::with(SKILLS);
    let version =
        env.run_args("python3", &["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
    let folder = format!("../home/.local/lib/python{}/site-packages", version.stdout.trim());
    env.write(&format!("{folder}/given.py"), b"NAME = 'of the user'\n");
    let found = run(&env, "import.py", "");
    assert_eq!(found.stdout, "of the user False\n", "{}", found.stderr);
}

/// What `activate` accepts `run` finds, and nothing else.
#[test]
fn required_libraries_are_looked_up_where_scripts_find_them() {
    let env = TestEnv::with(SKILLS);
    env.write(
        "s/many/SKILL.md",
        b"---\nname: many\ndescription: d\nlibrary_depends: ['python:given', 'node:given']\n---\nBody.\n",
    );
    let activate = |env: &TestEnv| openskills(env, "activate many --dir s");
    let missing = activate(&env);
    assert!(missing.stderr.contains("python:given, node:given"), "{}", missing.stderr);
    // A variable that no script is given does not count.
    env.write("named/given.py", b"NAME = 1\n");
    env.write("named/given/package.json", b"{}");
    let named = env.path("named").display().to_string();
    let line = format!("PYTHONPATH={named} NODE_PATH={named} openskills activate many --dir s");
    assert_eq!(piped(&env, &line).code, Some(1));
    environment(&env, ".venv");
    env.write("node_modules/given/package.json", br#"{"version": "1.0.0", "main": "a.js"}"#);
    let found = activate(&env);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
}

#[test]
fn a_node_script_finds_the_packages_of_the_project() {
    let env = TestEnv::with(SKILLS);
    if env.run_args("sh", &["-c", "command -v node"]).code != Some(0) {
        testkit::skip("a_node_script_finds_the_packages_of_the_project", "node");
        return;
    }
    let missing = run(&env, "require.cjs", "");
    assert!(missing.stderr.contains("add `--with npm:given`"), "{}", missing.stderr);
    env.write("node_modules/given/package.json", br#"{"version": "1.0.0", "main": "a.js"}"#);
    env.write("node_modules/given/a.js", b"exports.name = 'of the project'\n");
    for script in ["require.cjs", "import.mjs"] {
        for more in ["", "--workspace ."] {
            let found = run(&env, script, more);
            assert_eq!(found.stdout, "of the project\n", "{script} {more}: {}", found.stderr);
        }
    }
    for line in ["git init -q .", "git add -f node_modules"] {
        assert_eq!(env.run_args("sh", &["-c", line]).code, Some(0));
    }
    assert_eq!(run(&env, "require.cjs", "").code, Some(1));
}

#[test]
fn a_python_module_of_a_skill_runs_by_its_dotted_name() {
    let env = TestEnv::with(SKILLS);
    // What the workspace calls so is not what runs.
    env.write("w/scripts/__init__.py", b"");
    env.write("w/scripts/tool.py", b"print('evil')\n");
    let done = run(&env, "scripts.tool", "--workspace w -- a --b");
    assert_eq!(done.stdout, "word ['a', '--b'] __main__\n", "{}", done.stderr);
}

#[test]
fn input_is_passed_to_a_script_unchanged() {
    let env = TestEnv::with(SKILLS);
    let input = r#"{"id": 12345678901234567890123, "x": 1.50}"#;
    let program = env!("CARGO_BIN_EXE_openskills");
    let args = ["run", "many", "stdin.py", "--dir", "s", "--approve-once", "--input", input];
    assert_eq!(env.run_args(program, &args).stdout, format!("'{input}' {input}\n"));
    let call = "openskills run many stdin.py --dir s --approve-once";
    assert_eq!(piped(&env, &format!("echo piped | {call}")).stdout, "'piped\\n' \n");
    assert_eq!(
        piped(&env, &format!("{call} < s/many/scripts/other.py")).stdout,
        "\"WORD = 'word'\\n\" \n"
    );
    assert_eq!(piped(&env, &format!("{call} < /dev/null")).stdout, "'' \n");
    // A pipe that is never closed delays only scripts that read it.
    let call = call.replace("stdin.py", "scripts.tool");
    let done = piped(&env, &format!("sleep 5 | {call} --json"));
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(told["exitCode"], 0, "{told}");
    assert!(told["record"]["duration_ms"].as_u64().unwrap() < 4000, "{told}");
}

#[test]
fn input_is_checked_against_the_schema_of_the_skill() {
    let env = TestEnv::with(SKILLS);
    env.write(
        "s/many/SKILL.md",
        b"---\nname: many\ndescription: d\narguments:\n  schema:\n    type: object\n    properties:\n      n: { type: integer }\n      unit: { type: string, default: cm }\n    required: [n]\n---\nMeasure $n $unit $3.\n",
    );
    let program = env!("CARGO_BIN_EXE_openskills");
    let given = |input: &str| {
        let args = ["run", "many", "stdin.py", "--dir", "s", "--approve-once", "--input", input];
        env.run_args(program, &args)
    };
    assert!(given(r#"{"n": 3}"#).stdout.starts_with(r#"'{"n": 3, "unit": "cm"}'"#));
    let wrong = given(r#"{"n": "three"}"#);
    assert_eq!(wrong.code, Some(125));
    assert!(wrong.stderr.contains("n: \"three\" is not of type \"integer\""), "{}", wrong.stderr);
    // The same holds for the instructions; what has no value stays as it is.
    let text = openskills(&env, "activate many --dir s -- 3").stdout;
    assert!(text.contains("Measure 3 cm $3."), "{text}");
}

/// Numbers of a schema are numbers as they are written; what is piped in is never lost.
#[test]
fn default_values_are_passed_as_written() {
    let env = TestEnv::with(SKILLS);
    env.write(
        "s/many/SKILL.md",
        b"---\nname: many\ndescription: d\narguments:\n  schema:\n    type: object\n    properties:\n      a: { type: number, default: 0.10, minimum: 1e-3 }\n      b: { default: 12345678901234567890123 }\n      c: { default: 1e5 }\n      v: { type: string, default: 1.10 }\n---\nUse $a $b $c $v.\n",
    );
    let whole = r#"{"a": 0.10, "b": 12345678901234567890123, "c": 1e5, "v": "1.10"}"#;
    assert_eq!(run(&env, "stdin.py", "").stdout, format!("'{whole}' {whole}\n"));
    let call = "openskills run many stdin.py --dir s --approve-once";
    assert_eq!(piped(&env, &format!("echo x | {call}")).stdout, format!("'x\\n' {whole}\n"));
    for stdin in ["echo x |", "cat s/many/SKILL.md |"] {
        let both = piped(&env, &format!("{stdin} (sleep 0.3; {call} --input '{{}}')"));
        assert_eq!(both.code, Some(125), "{}", both.stdout);
        assert!(
            both.stderr.contains("`--input` and piped standard input cannot be combined"),
            "{}",
            both.stderr
        );
    }
    let file = piped(&env, &format!("{call} --input '{{}}' < s/many/SKILL.md"));
    assert!(
        file.stderr.contains("`--input` and piped standard input cannot be combined"),
        "{}",
        file.stderr
    );
    assert_eq!(openskills(&env, "validate s/many").code, Some(0));
    let text = openskills(&env, "activate many --dir s -- 0.50").stdout;
    assert!(text.contains("Use 0.50 12345678901234567890123 1e5 1.10."), "{text}");
    // What a script must have is asked for.
    env.write(
        "s/many/SKILL.md",
        b"---\nname: many\ndescription: d\narguments:\n  schema:\n    type: object\n    properties:\n      n: { type: integer }\n    required: [n]\n---\nBody.\n",
    );
    let missing = run(&env, "stdin.py", "");
    assert_eq!(missing.code, Some(125), "{}", missing.stdout);
    assert!(missing.stderr.contains("pass it with --input"), "{}", missing.stderr);
    assert_eq!(run(&env, "scripts.tool", "-- a").code, Some(0));
}

#[test]
fn any_json_number_is_accepted_as_input() {
    let env = TestEnv::with(SKILLS);
    for input in ["1e400", "-0", "[-1e400,1]"] {
        let done = run(&env, "stdin.py", &format!("--input {input}"));
        assert_eq!(done.stdout, format!("'{input}' {input}\n"), "{}", done.stderr);
    }
    let small = run(&env, "stdin.py", "--memory -1");
    assert!(small.stderr.contains("a whole number of MiB"), "{}", small.stderr);
    env.write("in.pdf", b"%PDF");
    let slip = run(&env, "stdin.py", "--input in.pdf");
    assert!(slip.stderr.contains("--input @in.pdf"), "{}", slip.stderr);
}

#[test]
fn missing_network_access_is_reported_however_a_run_ends() {
    let env = TestEnv::with(SKILLS);
    env.write(
        "s/many/scripts/connect.py",
        b"import socket\nsocket.create_connection(('93.184.216.34', 80))\n",
    );
    env.write(
        "s/many/scripts/wait.py",
        b"import socket, time\ntry: socket.create_connection(('93.184.216.34', 80))\nexcept OSError: time.sleep(60)\n",
    );
    let told = run(&env, "connect.py", "").stderr;
    let hint = "the script has no network access; to allow a host, run: openskills approve s/many --dir s --net HOST";
    assert!(told.contains(hint), "{told}");
    let late = run(&env, "wait.py", "--timeout 1s --json");
    let late: Value = serde_json::from_str(&late.stdout).unwrap();
    let causes = late["causes"].to_string();
    assert!(causes.contains("raise the limit with --timeout") && causes.contains(hint), "{causes}");
}

#[test]
fn a_run_that_does_not_start_is_logged_once() {
    let env = TestEnv::with(SKILLS);
    env.write("s/many/scripts/d.txt", b"text");
    run(&env, "d.txt", "");
    openskills(&env, "run nosuch --dir s --approve-once");
    let log = openskills(&env, "log show --json").stdout;
    for why in ["cannot run `", "nosuch"] {
        let found = log.lines().filter(|line| line.contains("not started") && line.contains(why));
        assert_eq!(found.count(), 1, "{why}: {log}");
    }
}

#[test]
fn a_failed_run_reports_the_likely_cause() {
    let env = TestEnv::with(SKILLS);
    let fetch = run(&env, "fetch.py", "");
    assert!(
        fetch.stderr.contains(
            "the script has no network access; to allow it, run: openskills approve s/many --dir s --net files.example.com"
        ),
        "{}",
        fetch.stderr
    );
    let opened = run(&env, "open.py", "");
    assert!(
        opened.stderr.contains("to run it in the current folder, add `--workspace .`"),
        "{}",
        opened.stderr
    );
    assert!(!run(&env, "open.py", "--workspace .").stderr.contains("--workspace ."));
    let small = run(&env, "scripts.tool", "--memory 1");
    assert_eq!(small.code, Some(2));
    assert!(small.stderr.contains("must be at least 8 MiB"), "{}", small.stderr);
    let hungry = run(&env, "hungry.py", "--memory 64");
    assert_ne!(hungry.code, Some(0));
    assert!(hungry.stderr.contains("64 MiB"), "{}", hungry.stderr);
    // What fails keeps nothing, and says so.
    env.write("w/kept", b"");
    let failed = run(&env, "fail.sh", "--workspace w");
    assert!(
        failed
            .stderr
            .contains("the script failed, so these changes were not applied:\n  added made"),
        "{}",
        failed.stderr
    );
    assert!(!env.path("w/made").exists());
}

#[test]
fn output_is_kept_if_changes_cannot_be_applied() {
    let env = TestEnv::with(SKILLS);
    env.write("w/kept", b"");
    let done = run(&env, "hook.sh", "--workspace w");
    assert_eq!((done.code, done.stdout.as_str()), (Some(125), "out\n"), "{}", done.stderr);
    assert!(done.stderr.starts_with("err\n"), "{}", done.stderr);
    assert!(done.stderr.contains("error: ") && done.stderr.contains(".git"), "{}", done.stderr);
    let done = run(&env, "hook.sh", "--workspace w --json");
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((done.code, told["exitCode"].as_u64()), (Some(125), Some(125)));
    assert_eq!(told["record"]["stdout"], "out\n");
    assert_eq!(told["applied"], false);
    assert!(told["notApplied"].as_str().unwrap().contains(".git"), "{told}");
}

#[test]
fn a_changed_skill_is_reported_and_the_hint_keeps_earlier_grants() {
    let env = TestEnv::with(SKILLS);
    openskills(&env, "approve many --dir s --yes --net a.example.com --env LANGUAGE");
    let more = openskills(&env, "run many fail.sh --dir s --net b.example.com");
    assert!(
        more.stderr.contains(
            "openskills approve s/many --dir s --net a.example.com --net b.example.com --env LANGUAGE"
        ),
        "{}",
        more.stderr
    );
    env.write("s/many/scripts/other.py", b"WORD = 'other'\n");
    let changed = openskills(&env, "run many fail.sh --dir s");
    assert!(
        changed.stderr.contains("it has changed since you approved it on 20"),
        "{}",
        changed.stderr
    );
    assert!(changed.stderr.contains("--net a.example.com --env LANGUAGE"), "{}", changed.stderr);
    // What can never be given cannot be approved.
    for never in [
        "--env PYTHONPATH",
        "--env PERL5OPT",
        "--env RUBYLIB",
        "--env A-B",
        "--net 169.254.169.254",
        "--net 127.0.0.1",
        "--net 127.1",
        "--net localhost",
        "--net *.localhost",
    ] {
        let refused = openskills(&env, &format!("approve many --dir s --yes {never}"));
        assert_eq!(refused.code, Some(4), "{never}: {}", refused.stderr);
    }
}

#[test]
fn the_hint_after_approve_once_keeps_earlier_grants() {
    let env = TestEnv::with(SKILLS);
    env.write("data/a.csv", b"");
    openskills(
        &env,
        "approve many --dir s --yes --net a.example.com --env MYVAR --read data --deletions",
    );
    let once = run(&env, "fetch.py", "--net b.example.com");
    let hint = once.stderr.lines().find(|line| line.contains("openskills approve")).unwrap();
    for kept in
        ["--net a.example.com", "--net b.example.com", "--env MYVAR", "/data", "--deletions"]
    {
        assert!(hint.contains(kept), "{kept}: {hint}");
    }
    env.write("w/kept", b"");
    env.write("s/many/scripts/delete.sh", b"rm kept\n");
    let refused = run(&env, "delete.sh", "--workspace w");
    assert!(
        refused.stderr.contains("to allow it, run: openskills approve s/many --dir s"),
        "{}",
        refused.stderr
    );
    assert_eq!(refused.stderr.matches(" --deletions").count(), 1, "{}", refused.stderr);
}

#[test]
fn script_arguments_without_a_double_dash_get_a_hint() {
    let env = TestEnv::with(SKILLS);
    let done = openskills(&env, "run many scripts.tool --dir s --approve-once in.pdf --pages=3");
    assert_eq!(done.code, Some(2));
    let hint = "openskills run many scripts.tool --dir s --approve-once -- in.pdf --pages=3";
    assert!(done.stderr.contains(hint), "{}", done.stderr);
    assert_eq!(piped(&env, hint).stdout, "word ['in.pdf', '--pages=3'] __main__\n");
    // Our own flags stay ours, wherever they stand.
    for (call, hint) in [
        (
            "run many scripts.tool in.pdf --dir s --approve-once",
            "openskills run many scripts.tool --dir s --approve-once -- in.pdf",
        ),
        (
            "--quiet run many scripts.tool in.pdf -v --dir=s --approve-once",
            "openskills --quiet run many scripts.tool --dir=s --approve-once -- in.pdf -v",
        ),
    ] {
        let done = openskills(&env, call);
        assert!(done.stderr.contains(&format!("{hint}\n")), "{}", done.stderr);
        assert_eq!(piped(&env, hint).code, Some(0), "{hint}");
    }
    let one = openskills(&env, "run many --dir s --approve-once --pages=3 --json");
    assert!(one.stdout.contains("put the script's arguments after `--`"), "{}", one.stdout);
}
