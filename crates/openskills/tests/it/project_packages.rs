//! Packages of a project: what `activate` accepts `run` finds, in every way that projects have them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use testkit::{Run, TestEnv};

use crate::openskills;

const SKILLS: &str = "\
//- /s/many/SKILL.md
---
name: many
description: d
library_depends: ['LIBRARY']
---
Body.
//- /s/many/scripts/use.py
import given
print(given.NAME)
//- /s/many/scripts/given.cjs
console.log(require('given').name)
//- /s/many/scripts/given.mjs
import given from 'given'
console.log(given.name)
//- /s/many/scripts/both.sh
python3 -c 'import given; print(given.NAME)'
python -c 'import given; print(given.NAME)'
node -e \"console.log(require('given').name)\"
//- /s/many/scripts/shell.sh
python3 -c 'print(1)'
";

/// Makes the skill and a repository around it.
fn project(library: &str) -> TestEnv {
    let env = TestEnv::with(&SKILLS.replace("LIBRARY", library));
    shell(&env, "git init -q .");
    env
}

/// Runs a line of a shell, in which `openskills` is the program.
fn shell(env: &TestEnv, line: &str) -> Run {
    let line = line.replace("openskills", env!("CARGO_BIN_EXE_openskills"));
    env.run_args("sh", &["-c", &line])
}

fn fine(env: &TestEnv, line: &str) -> String {
    let done = shell(env, line);
    assert_eq!(done.code, Some(0), "{line}: {}{}", done.stdout, done.stderr);
    done.stdout
}

/// Both find the library, or neither does.
fn check(env: &TestEnv, folder: &str, script: &str, expected: Option<&str>) {
    let skills = env.path("s").display().to_string();
    let accepted = shell(env, &format!("cd {folder} && openskills activate many --dir {skills}"));
    let call = format!("cd {folder} && openskills run many {script} --dir {skills} --approve-once");
    let ran = shell(env, &call);
    match expected {
        Some(text) => {
            assert_eq!(accepted.code, Some(0), "{script}: {}", accepted.stderr);
            assert_eq!(ran.stdout, format!("{text}\n"), "{script}: {}", ran.stderr);
        }
        None => {
            assert_eq!(accepted.code, Some(1), "{script}: {}", accepted.stdout);
            assert_eq!(ran.code, Some(1), "{script}: {}", ran.stdout);
        }
    }
}

fn has_node(env: &TestEnv, test: &str) -> bool {
    let has = shell(env, "command -v node").code == Some(0);
    if !has {
        testkit::skip(test, "node");
    }
    has
}

fn node_package(env: &TestEnv, folder: &str, name: &str) {
    env.write(&format!("{folder}/package.json"), br#"{"main": "a.js"}"#);
    env.write(&format!("{folder}/a.js"), format!("exports.name = '{name}'\n").as_bytes());
}

/// Returns where the packages of an environment are, once it is made.
fn environment(env: &TestEnv, options: &str) -> String {
    fine(env, &format!("python3 -m venv --without-pip {options} .venv"));
    fine(env, "cd .venv && echo lib/python3.*/site-packages").trim().to_owned()
}

#[test]
fn every_node_modules_folder_up_to_the_root_is_used() {
    let env = project("node:given");
    if !has_node(&env, "every_node_modules_folder_up_to_the_root_is_used") {
        return;
    }
    fs::create_dir_all(env.path("sub/deep")).unwrap();
    check(&env, "sub/deep", "given.cjs", None);
    node_package(&env, "node_modules/given", "of the root");
    node_package(&env, "sub/node_modules/other", "of the middle");
    node_package(&env, "sub/deep/node_modules/third", "of the folder");
    check(&env, "sub/deep", "given.cjs", Some("of the root"));
    check(&env, "sub/deep", "given.mjs", Some("of the root"));
    node_package(&env, "sub/node_modules/given", "of the middle");
    check(&env, "sub/deep", "given.mjs", Some("of the middle"));
    // The project that is named is the one whose packages count.
    let call = "cd s && openskills run many given.mjs --dir . --approve-once --project ..";
    assert_eq!(fine(&env, call), "of the root\n");
    let activate = "cd / && openskills activate many";
    let (skills, root) = (env.path("s").display().to_string(), env.path(".").display().to_string());
    assert_ne!(shell(&env, &format!("{activate} --dir {skills}")).code, Some(0));
    fine(&env, &format!("{activate} --dir {skills} --project {root}"));
}

#[test]
fn packages_of_an_npm_workspace_are_found() {
    let env = project("node:given");
    if !has_node(&env, "packages_of_an_npm_workspace_are_found") {
        return;
    }
    node_package(&env, "packages/given", "of the workspace");
    fs::create_dir_all(env.path("node_modules")).unwrap();
    symlink("../packages/given", env.path("node_modules/given")).unwrap();
    check(&env, ".", "given.cjs", Some("of the workspace"));
    check(&env, ".", "given.mjs", Some("of the workspace"));
    // It is source of the project: what may hold a credential is not opened.
    env.write("packages/given/.env", b"TOKEN=1");
    check(&env, ".", "given.cjs", None);
}

#[test]
fn an_editable_python_package_is_found() {
    let env = project("python:given");
    let site = format!(".venv/{}", environment(&env, ""));
    let root = fs::canonicalize(env.path(".")).unwrap().display().to_string();
    env.write("src/given.py", b"NAME = 'of the source'\n");
    env.write(&format!("{site}/given-1.0.dist-info/METADATA"), b"");
    let record = b"given.pth,,\ngiven-1.0.dist-info/METADATA,,\n";
    env.write(&format!("{site}/given-1.0.dist-info/RECORD"), record);
    env.write(&format!("{site}/given.pth"), format!("{root}/src\n").as_bytes());
    check(&env, ".", "use.py", Some("of the source"));
    // One that leads out of the project is not read, so it is not there.
    env.write("../elsewhere/given.py", b"NAME = 'of elsewhere'\n");
    env.write(&format!("{site}/given.pth"), format!("{root}/../elsewhere\n").as_bytes());
    check(&env, ".", "use.py", None);
}

#[test]
fn a_system_site_packages_environment_includes_user_packages() {
    let env = project("python:given");
    let site = environment(&env, "--system-site-packages");
    env.write(&format!("../home/.local/{site}/given.py"), b"NAME = 'of the user'\n");
    check(&env, ".", "use.py", Some("of the user"));
    // Another environment has its own alone.
    fine(&env, "rm -r .venv && python3 -m venv --without-pip .venv");
    check(&env, ".", "use.py", None);
    // What another version of Python had is not this one's.
    env.write(".venv/lib/python3.1/site-packages/given.py", b"NAME = 'stale'\n");
    check(&env, ".", "use.py", None);
}

#[test]
fn an_environment_made_with_copies_is_used() {
    let env = project("python:given");
    let site = environment(&env, "--copies");
    env.write(&format!(".venv/{site}/given.py"), b"NAME = 'of the copy'\n");
    assert!(!env.path(".venv/bin/python3").is_symlink());
    check(&env, ".", "use.py", Some("of the copy"));
    let call = "openskills run many use.py --dir s --approve-once --workspace .";
    assert_eq!(fine(&env, call), "of the copy\n");
    // What it says that it was made with is asked only if it is an interpreter of the machine.
    env.write("evil/python3", b"#!/bin/sh\ntouch \"$CANARY\"\n");
    fs::set_permissions(env.path("evil/python3"), PermissionsExt::from_mode(0o755)).unwrap();
    let evil = fs::canonicalize(env.path("evil")).unwrap().display().to_string();
    let settings = format!("home = {evil}\nexecutable = {evil}/python3\n");
    env.write(".venv/pyvenv.cfg", settings.as_bytes());
    let canary = env.path("canary").display().to_string();
    shell(&env, &format!("CANARY='{canary}' openskills run many use.py --dir s --approve-once"));
    assert!(!env.path("canary").exists());
}

#[test]
fn a_shell_script_uses_python_and_node_packages_of_the_project() {
    let env = project("python:given");
    if !has_node(&env, "a_shell_script_uses_python_and_node_packages_of_the_project") {
        return;
    }
    let site = environment(&env, "");
    env.write(&format!(".venv/{site}/given.py"), b"NAME = 'of the environment'\n");
    node_package(&env, "node_modules/given", "of the project");
    let expected = "of the environment\nof the environment\nof the project";
    check(&env, ".", "both.sh", Some(expected));
    let call = "openskills run many both.sh --dir s --approve-once --workspace .";
    assert_eq!(fine(&env, call), format!("{expected}\n"));
}

#[test]
fn only_an_environment_that_the_repository_tracks_is_ignored() {
    let env = project("python:given");
    let site = environment(&env, "");
    env.write(&format!(".venv/{site}/given.py"), b"NAME = 'mine'\n");
    env.write("fixtures/.venv/a", b"");
    fine(&env, "git add -f fixtures s");
    for version in ["2", "4"] {
        fine(&env, &format!("git update-index --index-version {version}"));
        check(&env, ".", "use.py", Some("mine"));
    }
    // Its packages are not used, and the output says so.
    fine(&env, "git add -f .venv/pyvenv.cfg");
    check(&env, ".", "use.py", None);
    let told = openskills(&env, "run many use.py --dir s --approve-once").stderr;
    assert!(told.contains(".venv` is ignored: the repository tracks files in it"), "{told}");
    let told = openskills(&env, "activate many --dir s").stderr;
    assert!(told.contains(".venv` is ignored: the repository tracks files in it"), "{told}");
}

/// A shim as pyenv makes it: it leads to an interpreter by a file, a variable and its own name.
#[test]
fn a_shim_is_queried_once_per_change_and_a_broken_one_is_reported() {
    let env = project("python:given");
    let calls = env.path("../calls").display().to_string();
    let real = fine(&env, "python3 -c 'import sys; print(sys.executable)'");
    let text = format!(
        "#!/bin/sh\necho x >> {calls}\ncase \"$0\" in *3.99) echo 'pyenv: python3.99: command not found' >&2; exit 127;; esac\nexec {} \"$@\"\n",
        real.trim()
    );
    fs::create_dir_all(env.path("../pyenv/versions")).unwrap();
    env.write("../pyenv/version", b"3.1\n");
    for name in ["python3", "python", "python3.99"] {
        let shim = format!("../pyenv/shims/{name}");
        env.write(&shim, text.as_bytes());
        fs::set_permissions(env.path(&shim), PermissionsExt::from_mode(0o755)).unwrap();
    }
    env.write("s/many/scripts/none", b"#!/usr/bin/env python3.99\nprint(1)\n");
    let shims = fs::canonicalize(env.path("../pyenv/shims")).unwrap().display().to_string();
    let run = |script: &str, more: &str| {
        let call = format!("openskills run many {script} --dir s --approve-once");
        shell(&env, &format!("PATH=\"{shims}:$PATH\" {more} {call}"))
    };
    let asked = || fs::read_to_string(&calls).unwrap_or_default().lines().count();
    assert_eq!(run("shell.sh", "").stdout, "1\n");
    let once = asked();
    assert_eq!(run("shell.sh", "").stdout, "1\n");
    assert_eq!(asked(), once);
    run("shell.sh", "PYENV_VERSION=3.2");
    assert!(asked() > once);
    let before = asked();
    env.write("../pyenv/version", b"3.20\n");
    run("shell.sh", "");
    assert!(asked() > before);
    let none = run("scripts/none", "");
    assert_eq!(none.code, Some(125), "{}", none.stdout);
    let why = "cannot resolve the interpreter `python3.99`";
    assert!(none.stderr.contains(why), "{}", none.stderr);
    assert!(none.stderr.contains("pyenv: python3.99: command not found"), "{}", none.stderr);
}
