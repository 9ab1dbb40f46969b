//! A declaration is a request: nothing beyond the skill and the workspace is granted by it alone.

use std::fs;

use testkit::{Run, TestEnv};

use crate::openskills;

/// A checkout whose skill asks for a key, a folder and a variable, and a skill of the user's that asks for any host.
const SKILLS: &str = "\
//- /app/.agents/skills/sync/SKILL.md
---
name: sync
description: Prints files and variables.
---
Body.
//- /app/.agents/skills/sync/csk-skill.json
{\"schema_version\": 3, \"commands\": {}, \"capabilities\": {
  \"filesystem\": [\"repo\", \"~/.ssh\", \"~/data\", \"~/shortcut\"], \"env_read\": [\"DEPLOY_NAME\"]}}
//- /app/.agents/skills/sync/scripts/show.sh
for file in \"$@\"; do cat \"$file\"; done
echo \"name=$DEPLOY_NAME$LC_TOKEN\"
true
//- /s/web/SKILL.md
---
name: web
description: Says which proxy it was given.
side_effects: [network]
---
Body.
//- /s/web/scripts/proxy.sh
echo \"proxy=$HTTPS_PROXY\"
";

fn machine() -> TestEnv {
    let env =
        TestEnv::with(SKILLS).var("DEPLOY_NAME", "canary-of-env").var("LC_TOKEN", "canary-of-env");
    env.write("../home/.ssh/id_test", b"canary-of-ssh\n");
    env.write("../home/data/a.txt", b"canary-of-data\n");
    std::os::unix::fs::symlink(env.path("../home/.ssh"), env.path("../home/shortcut")).unwrap();
    env
}

/// Runs the skill of the checkout on the three places.
fn run(env: &TestEnv, flags: &str) -> Run {
    let home = env.path("../home");
    let home = fs::canonicalize(home).unwrap();
    let files = ["data/a.txt", ".ssh/id_test", "shortcut/id_test"].map(|file| home.join(file));
    let files = files.map(|file| file.display().to_string()).join(" ");
    openskills(env, &format!("run sync --project app {flags} -- {files}"))
}

/// Returns which canaries a run saw: of the folder, the key and the variable.
fn seen(run: &Run) -> [bool; 3] {
    ["data", "ssh", "env"].map(|what| run.stdout.contains(&format!("canary-of-{what}")))
}

#[test]
fn approve_flags_do_not_grant_what_is_only_declared() {
    let env = machine();
    let once = run(&env, "--approve-once");
    assert_eq!((once.code, seen(&once)), (Some(0), [false; 3]), "{}{}", once.stdout, once.stderr);
    for line in ["read: ~/.ssh (protected)", "read: ~/data", "env: DEPLOY_NAME"] {
        assert!(once.stderr.contains(line), "{line}: {}", once.stderr);
    }
    // The same with an approval that a script gave, in a folder that is trusted.
    assert_eq!(openskills(&env, "trust app").code, Some(0));
    let approved = openskills(&env, "approve sync --project app --yes");
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert!(approved.stderr.contains("grant explicitly with --read,"), "{}", approved.stderr);
    assert_eq!(seen(&run(&env, "")), [false; 3]);
    // What is named is granted, and is remembered.
    let named = run(&env, "--approve-once --env DEPLOY_NAME");
    assert_eq!(seen(&named), [false, false, true], "{}", named.stderr);
    let data = fs::canonicalize(env.path("../home/data")).unwrap();
    let named = run(&env, &format!("--approve-once --read {}", data.display()));
    assert_eq!(seen(&named), [true, false, false], "{}", named.stderr);
    let line = "approve sync --project app --yes --read ~/.ssh --env DEPLOY_NAME";
    assert_eq!(openskills(&env, line).code, Some(0));
    assert_eq!(seen(&run(&env, "")), [false, true, true]);
    let listed = openskills(&env, "approvals list --json").stdout;
    assert!(listed.contains("read: ~/.ssh"), "{listed}");
    // One that changes what runs is never granted, and never offered.
    let loader = run(&env, "--approve-once --env LD_PRELOAD");
    assert!(loader.stderr.contains("never passed to scripts"), "{}", loader.stderr);
    // Another variable than the declared one is beyond the skill's own request.
    let more = run(&env, "--approve-once --env PATH_TO_KEYS");
    assert_eq!(more.code, Some(125), "{}", more.stderr);
    for (path, told) in
        [("~", "entire home"), ("/etc", "it is a system path"), ("~/none", "No such file")]
    {
        let refused = run(&env, &format!("--approve-once --read {path}"));
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(125), ""), "{path}");
        assert!(refused.stderr.contains(told), "{path}: {}", refused.stderr);
    }
}

#[test]
fn a_prompt_answer_grants_what_is_shown_except_protected_locations() {
    let env = machine();
    if env.run_args("sh", &["-c", "command -v script"]).code != Some(0) {
        testkit::skip("an answer on a terminal", "`script` is not there");
        return;
    }
    let (program, home) = (env!("CARGO_BIN_EXE_openskills"), env.path("../home"));
    let home = fs::canonicalize(home).unwrap().display().to_string();
    let typed = |answer: &str, flags: &str| {
        let line = format!(
            "printf '{answer}\\n' | script -qec '{program} run sync --project app {flags} -- {home}/data/a.txt {home}/.ssh/id_test' /dev/null; exit $?"
        );
        env.run_args("bash", &["-c", &line])
    };
    let no = typed("n", "");
    assert_eq!(seen(&no), [false; 3], "{}", no.stdout);
    let (granted, named_only) =
        no.stdout.split_once("grant explicitly with --read, --net or --env").unwrap();
    let (_, granted) = granted.split_once("You would grant:").unwrap();
    let has = |kind: &str, what: &str| {
        granted.lines().any(|line| line.trim_start().starts_with(kind) && line.contains(what))
    };
    assert!(has("packages ", ".venv, node_modules"), "{granted}");
    assert!(has("read ", "~/data") && has("env ", "DEPLOY_NAME"), "{granted}");
    assert!(!granted.contains(".ssh") && named_only.contains("~/.ssh"), "{}", no.stdout);
    assert!(no.stdout.contains("Audit: "), "the verdict comes first: {}", no.stdout);
    let once = typed("o", "");
    assert_eq!(seen(&once), [true, false, true], "{}", once.stdout);
    let named = typed("o", "--read ~/.ssh");
    assert_eq!(seen(&named), [true, true, true], "{}", named.stdout);
}

#[test]
fn an_approval_does_not_cover_a_folder_replaced_by_a_symlink() {
    let env = machine();
    assert_eq!(openskills(&env, "approve sync --project app --yes --read ~/data").code, Some(0));
    assert_eq!(seen(&run(&env, "")), [true, false, false]);
    fs::rename(env.path("../home/data"), env.path("../home/old")).unwrap();
    std::os::unix::fs::symlink(env.path("../home/.ssh"), env.path("../home/data")).unwrap();
    let swapped = run(&env, "");
    assert_eq!(seen(&swapped), [false; 3], "{}", swapped.stdout);
}

/// A folder is confirmed by an answer only if nothing in it has to be named.
#[test]
fn a_folder_with_protected_files_must_be_granted_by_name() {
    for hidden in [".env", "deep/er/server.pem", ".ssh/id"] {
        let env = machine();
        env.write(&format!("../home/data/{hidden}"), b"x");
        let once = run(&env, "--approve-once");
        assert!(once.stderr.contains("read: ~/data (protected)"), "{hidden}: {}", once.stderr);
    }
}

#[test]
fn access_to_any_host_needs_an_explicit_flag() {
    let env = machine();
    for flags in ["--approve-once", "--approve-once --net api.example.com"] {
        let once = openskills(&env, &format!("run web --dir s {flags}"));
        assert_eq!(once.code, Some(0), "{}", once.stderr);
        let has_proxy = once.stdout.trim() != "proxy=";
        assert_eq!(has_proxy, flags.contains("--net"), "{flags}: {}", once.stdout);
    }
    assert_eq!(openskills(&env, "approve web --dir s --yes").code, Some(0));
    assert_eq!(openskills(&env, "run web --dir s").stdout, "proxy=\n");
    assert_eq!(openskills(&env, "approve web --dir s --yes --net *").code, Some(0));
    assert_ne!(openskills(&env, "run web --dir s").stdout, "proxy=\n");
    let listed = openskills(&env, "approvals list").stdout;
    assert!(listed.contains("any host"), "{listed}");
    let theirs = openskills(&env, "run sync --project app --approve-once --net *");
    assert_eq!(theirs.code, Some(125), "{}", theirs.stderr);
}
