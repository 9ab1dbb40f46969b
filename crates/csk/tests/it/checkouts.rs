//! csk never runs git in a project: it reads git's files itself and gets the same results as git.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use csk_core::{not_ignored, tracked, work_tree};
use skill_fs::AbsPath;
use testkit::TestEnv;

use crate::{SKILL, World};

/// Commands that users run in a project.
const COMMANDS: [&str; 20] = [
    "status",
    "install --dry-run",
    "install",
    "install --fix-gitignore",
    "verify",
    "doctor",
    "outdated",
    "import",
    "import --dry-run",
    "diff",
    "diff --local pdf",
    "why pdf",
    "list",
    "lock",
    "audit",
    "project resolve",
    "init --private",
    "add other --tag v1",
    "exec -- true",
    "upgrade",
];

/// Runs every command in the project.
fn run_all(world: &World, mut after: impl FnMut(&str)) {
    for command in COMMANDS {
        let call = format!("cd app && {} {command} < /dev/null", env!("CARGO_BIN_EXE_csk"));
        world.env.run_args("sh", &["-c", &call]);
        after(command);
    }
}

/// Ways to make the project a repository whose configuration runs a program.
const ATTACKS: [(&str, &str); 6] = [
    (
        "a folder that git recognizes as a repository",
        "rm -rf .git; mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = \"%s\"\\n' \"$PWD\" \"$RUN\" > config",
    ),
    (
        "a .git folder from an archive",
        "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$RUN\" >> .git/config",
    ),
    (
        "a .git file that points to a repository",
        "mv .git data; echo 'gitdir: data' > .git; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$RUN\" >> data/config",
    ),
    (
        "the configuration of a worktree",
        "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$RUN\" > .git/config.worktree",
    ),
    (
        "an included configuration",
        "printf '[include]\\n\\tpath = ../more\\n' >> .git/config; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$RUN\" > more",
    ),
    (
        "hooks and everything else",
        "printf '[core]\\n\\tfsmonitor = \"%s\"\\n\\tsshCommand = \"%s\"\\n\\tpager = \"%s\"\\n\\tgitProxy = \"%s\"\\n\\teditor = \"%s\"\\n' \"$RUN\" \"$RUN\" \"$RUN\" \"$RUN\" \"$RUN\" >> .git/config; \
         for hook in post-index-change pre-auto-gc reference-transaction; do printf '#!/bin/sh\\n%s\\n' \"$RUN\" > .git/hooks/$hook; chmod +x .git/hooks/$hook; done",
    ),
];

#[test]
fn repositories_in_a_checkout_cannot_run_programs() {
    for (what, attack) in ATTACKS {
        let world = World::new();
        let canary = world.env.path("canary");
        let script = format!("cd app && RUN='touch {}; false' && {attack}", canary.display());
        let run = world.env.run_args("sh", &["-c", &script]);
        assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
        run_all(&world, |command| assert!(!canary.exists(), "{what}: csk {command}"));
        assert!(world.installed("pdf/SKILL.md").exists(), "{what}: the skill is still installed");
        // The attack works with git itself.
        world.env.run_args("sh", &["-c", "git -C app ls-files; git -C app status"]);
        assert!(canary.exists(), "{what} is no longer an attack");
    }
}

#[test]
fn git_is_never_started_in_a_project() {
    let mut world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.git("tag v1");
    world.config(r#", "allow_local_sources": true"#);
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    let log = world.env.path("calls").display().to_string();
    world.wrap_git("*", &format!("printf '%s %s\\n' \"$PWD\" \"$*\" >> {log}"));
    run_all(&world, |_| {});
    let calls = fs::read_to_string(&log).unwrap();
    assert!(calls.contains(" clone ") && calls.contains(" fetch "), "{calls}");
    let app = world.env.path("app").display().to_string();
    for call in calls.lines() {
        assert!(!call.contains(&app), "{call}");
        assert!(call.starts_with("/ ") || call.ends_with("--version"), "not in the root: {call}");
        let settings = ["safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath"];
        let is_safe =
            call.ends_with("--version") || settings.iter().all(|setting| call.contains(setting));
        assert!(is_safe, "{call}");
    }
}

/// A repository under `skills_root` may be untrusted: csk runs git there only if no setting can start a program.
#[test]
fn settings_of_a_skill_repository_cannot_run_programs() {
    let world = World::new();
    world.config(r#", "allow_local_sources": true"#);
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    let url = format!("file://{}", upstream.path().display());
    world.git("skills/pdf", &format!("remote add origin {url}"));
    let canary = world.env.path("canary");
    let config = world.env.path("skills/pdf/.git/config");
    let settings = world.read(&config);
    let run = format!("touch {}; git-upload-pack", canary.display());
    for (key, text) in [
        ("remote.origin.uploadpack", format!("[remote \"origin\"]\n\tuploadpack = \"{run}\"\n")),
        ("core.sshcommand", format!("[core]\n\tsshCommand = \"{run}\"\n")),
        ("include.path", "[include]\n\tpath = ../x\n".to_owned()),
    ] {
        fs::write(&config, format!("{settings}{text}")).unwrap();
        for command in ["update", "outdated app", "upgrade app"] {
            let run = world.csk(command);
            assert_ne!(run.code, Some(0), "{command} {key}");
            assert!(run.stderr.contains(key), "{command} {key}: {}", run.stderr);
            assert!(!canary.exists(), "{command} {key}");
        }
    }
    // The attack works with git itself.
    let text = format!("{settings}[remote \"origin\"]\n\tuploadpack = \"{run}\"\n");
    fs::write(&config, text).unwrap();
    world.env.run_args("git", &["-C", "skills/pdf", "fetch", "origin"]);
    assert!(canary.exists());
    fs::remove_file(&canary).unwrap();
    // Hooks and fsmonitor do not run, and the command succeeds.
    let touch = format!("touch {}", canary.display());
    let more = format!("[core]\n\tfsmonitor = \"{touch}\"\n\thooksPath = .git/hooks\n");
    fs::write(&config, format!("{settings}{more}")).unwrap();
    let hook = "skills/pdf/.git/hooks/reference-transaction";
    world.program(hook, &format!("#!/bin/sh\ntouch {}\n", canary.display()));
    upstream.commit("//- /references/new.md\nnew\n");
    assert_eq!(world.csk("update").code, Some(0));
    assert!(!canary.exists());
    assert!(world.git("skills/pdf", "log --oneline origin/main").lines().count() > 1);
}

/// Ignore files configured by the user count as in git; those configured by a repository do not.
#[test]
fn ignore_rules_configured_by_the_user_count_and_those_configured_by_a_repository_do_not() {
    let rules = ".agents/\n.claude/skills/\n.codex/skills/\n";
    for (file, setup, counts) in [
        ("home/.config/git/ignore", "true", true),
        ("home/rules", "git config --global core.excludesFile '~/rules'", true),
        ("work/app/.git/info/exclude", "true", true),
        ("home/rules", "git -C app config core.excludesFile '~/rules'", false),
        ("home/.config/git/ignore", "git config --global core.excludesFile /none", false),
    ] {
        let world = World::new();
        fs::remove_file(world.app(".gitignore")).unwrap();
        let path = world.env.work().parent().unwrap().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, rules).unwrap();
        assert_eq!(world.env.run_args("sh", &["-c", setup]).code, Some(0), "{setup}");
        let run = world.csk("install app");
        assert_eq!(run.code == Some(0), counts, "{file} {setup}: {}", run.stderr);
    }
}

/// An index that csk cannot read is an error that says why.
#[test]
fn a_damaged_git_index_is_reported() {
    let world = World::new();
    world.install();
    let index = world.app(".git/index");
    let good = fs::read(&index).unwrap();
    let mut huge = good.clone();
    huge[8..12].copy_from_slice(&[0xff; 4]);
    for (bytes, expected) in [
        (b"junk".to_vec(), "the file is corrupt"),
        (huge, "the file is corrupt"),
        ([&b"DIRC\0\0\0\x09"[..], &good[8..]].concat(), "version 9"),
    ] {
        fs::write(&index, bytes).unwrap();
        world.commit("pdf", "//- /references/new.md\nnew\n");
        world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
        let run = world.csk("install app");
        assert_eq!(run.code, Some(1));
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(world.env.run_args("mkfifo", &["app/.git/index"]).code, Some(0));
    assert!(world.csk("install app").stderr.contains("not a regular file"));
}

/// `csk init` writes no rules through a `.git` that points to the repository of another project.
#[test]
fn init_writes_only_to_a_repository_that_points_back() {
    let world = World::new();
    let call = |script: &str| {
        let csk = env!("CARGO_BIN_EXE_csk");
        let script = script.replace("csk ", &format!("{csk} "));
        world.env.run_args("sh", &["-c", &script])
    };
    // A worktree created by git points back.
    let run = call("git -C app worktree add -q --detach ../tree && cd tree && csk init --private");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.read(world.app(".git/info/exclude")).contains(".agents/"));
    let before = world.read(world.env.path("skills/pdf/.git/info/exclude"));
    for script in [
        "mkdir a && echo \"gitdir: $PWD/skills/pdf/.git\" > a/.git && cd a && csk init --private",
        "mkdir b && ln -s \"$PWD/skills/pdf/.git\" b/.git && cd b && csk init --private",
        "git init -q d && echo \"$PWD/skills/pdf/.git\" > d/.git/commondir && cd d && csk init --private",
        "git init -q c && rm -r c/.git/info && ln -s \"$PWD/skills/pdf/.git/info\" c/.git/info && cd c && csk init --private",
    ] {
        let run = call(script);
        assert_eq!(run.code, Some(2), "{script}: {}", run.stdout);
        assert!(run.stderr.contains("csk init` without --private"), "{}", run.stderr);
    }
    assert_eq!(world.read(world.env.path("skills/pdf/.git/info/exclude")), before);
}

/// Runs a script with the environment of this process, which the tested functions use as well.
fn sh(folder: &Path, script: &str) -> String {
    let identity = "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t; ";
    let output = Command::new("sh")
        .args(["-c", &format!("{identity}{script}")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const PROBES: [&str; 16] = [
    ".agents/skills/pdf/SKILL.md",
    ".agents/bin/.csk-probe",
    ".agents/skills/.csk-probe",
    ".claude/skills/pdf",
    ".codex/skills/pdf",
    "a",
    "a/b",
    "a/b/c.txt",
    "a/keep/c.txt",
    "build/x",
    "src/build/x",
    "foo bar",
    "foo",
    "#x",
    "!x",
    "deep/er/and/deeper.log",
];

#[test]
fn ignore_rules_have_the_same_meaning_as_in_git() {
    let cases: [&[(&str, &str)]; 22] = [
        &[(".gitignore", ".agents/\n")],
        &[(".gitignore", ".agents\n")],
        &[(".gitignore", "/.agents/\n!.agents/\n")],
        &[(".gitignore", ".agents/*\n!.agents/skills\n")],
        &[(".gitignore", ".agents/**\n")],
        &[(".gitignore", "**/skills/\n")],
        &[(".gitignore", "**/skills/**\n!**/SKILL.md\n")],
        &[(".gitignore", "*\n!a\n!a/b\n!*/\n")],
        &[(".gitignore", "*\n"), ("a/.gitignore", "!b\n")],
        &[(".gitignore", "a/\n"), ("a/.gitignore", "!b\n")],
        &[("a/.gitignore", "b\n!b/c.txt\n")],
        &[("a/.gitignore", "*\n!keep/\n"), ("a/keep/.gitignore", "!c.txt\n")],
        &[(".gitignore", "build/\n!src/build/\n")],
        &[(".gitignore", "/build\nfoo\\ bar\nfoo \n")],
        &[(".gitignore", "\\#x\n\\!x\n# a\n\n   \n")],
        &[(".gitignore", ".agents/\r\na\r\n")],
        &[(".gitignore", "\u{feff}.agents/\n")],
        &[(".gitignore", "[a-c]\n.[!b]*\n")],
        &[(".gitignore", "*.log\n!deeper.log\n"), ("deep/.gitignore", "er/**/deeper.*\n")],
        &[(".git/info/exclude", ".agents/\na/b\n"), (".gitignore", "!.agents/\n!b\n")],
        &[(".gitignore", ".AGENTS/\n.Claude\n")],
        &[(".gitignore", "a/b/\na/**/c.txt\n?oo\n**\n!**/\n")],
    ];
    let env = TestEnv::new();
    for (number, files) in cases.iter().enumerate() {
        for case in ["false", "true"] {
            let folder = env.work().join(format!("r{number}{case}"));
            fs::create_dir_all(&folder).unwrap();
            sh(&folder, &format!("git init -q . && git config core.ignoreCase {case}"));
            sh(&folder, "mkdir -p a/b a/keep build src/build deep/er/and foo .agents/skills");
            for (path, text) in *files {
                fs::write(folder.join(path), text).unwrap();
            }
            check_ignored(&folder, &folder, files);
            // From a subfolder as well.
            check_ignored(&folder, &folder.join("a"), files);
        }
    }
}

fn check_ignored(repository: &Path, root: &Path, files: &[(&str, &str)]) {
    let probes: Vec<String> = PROBES.iter().map(|probe| (*probe).to_owned()).collect();
    let list = repository.join("../list");
    fs::write(&list, probes.join("\0")).unwrap();
    let call =
        format!("git check-ignore --no-index -z --stdin < {} || test $? = 1", list.display());
    let output = sh(root, &call);
    let ignored: Vec<&str> = output.split('\0').collect();
    let theirs: Vec<&String> =
        probes.iter().filter(|probe| !ignored.contains(&probe.as_str())).collect();
    let ours = not_ignored(&AbsPath::new(root).unwrap(), &probes).unwrap();
    let ours: Vec<String> = ours.into_iter().map(|one| one.path).collect();
    assert_eq!(ours.iter().collect::<Vec<_>>(), theirs, "{files:?} in {}", root.display());
}

#[test]
fn tracked_files_are_the_same_as_in_git() {
    let tool = "mkdir -p .agents/bin src && echo x > .agents/bin/x && echo f > f && echo s > src/s";
    let cases = [
        ("plain", "", "git add -f ."),
        ("another", "", "git add -f f src"),
        (
            "skills",
            "",
            "mkdir .agents/skills && echo x > .agents/skills/x && git add -f .agents/skills f",
        ),
        ("a file with a similar name", "", "echo x > .agents/binary && git add -f .agents/binary"),
        ("version 4", "", "git add -f . && git update-index --index-version 4"),
        ("version 4, another", "", "git add -f f src && git update-index --index-version 4"),
        (
            "split, removed",
            "",
            "git add -f . && git update-index --split-index && git rm -q --cached .agents/bin/x",
        ),
        (
            "split, replaced",
            "",
            "git add -f . && git update-index --split-index && echo more >> .agents/bin/x && git add -f .",
        ),
        ("split, added", "", "git add -f f && git update-index --split-index && git add -f ."),
        (
            "split, many",
            "",
            "for n in $(seq 300); do echo $n > src/$n; done; git add -f . && git update-index --split-index && git rm -q --cached .agents/bin/x src/7 src/8 src/150",
        ),
        ("intent to add", "", "git add -N -f ."),
        (
            "submodule",
            "",
            "git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789,.agents",
        ),
        ("link", "", "rm -r .agents && ln -s src .agents && git add -f .agents"),
        ("no checksum", "", "git -c index.skipHash=true add -f ."),
        (
            "untracked cache",
            "",
            "git update-index --untracked-cache; git add -f . && git status > /dev/null",
        ),
        ("sha256", "--object-format=sha256", "git add -f ."),
        ("sha256, another", "--object-format=sha256", "git add -f f"),
        (
            "sparse",
            "",
            "git add -f . && git commit -qm x && git sparse-checkout set --sparse-index src",
        ),
        (
            "sparse, another",
            "",
            "git add -f f src && git commit -qm x && git sparse-checkout set --sparse-index src",
        ),
        (
            "conflict",
            "",
            "git add -f f && git commit -qm x && git checkout -qb o && git add -f . && git commit -qm o && git checkout -q - && mkdir -p .agents/bin && echo y > .agents/bin/x && git add -f . && git commit -qm y && ! git merge -q o > /dev/null 2>&1",
        ),
        ("nothing", "", "true"),
    ];
    let env = TestEnv::new();
    for (number, (what, options, script)) in cases.into_iter().enumerate() {
        let folder = env.work().join(format!("r{number}"));
        fs::create_dir_all(&folder).unwrap();
        sh(&folder, &format!("git init -q {options} . && {tool} && {script}"));
        check_tracked(&folder, what);
    }
    // In a subfolder, in a linked worktree, and without a repository.
    let folder = env.work().join("outer");
    fs::create_dir_all(folder.join("inner")).unwrap();
    sh(
        &folder,
        "git init -q . && mkdir -p inner/.agents/bin && echo x > inner/.agents/bin/x && git add -f . && git commit -qm x && git worktree add -q ../tree",
    );
    check_tracked(&folder.join("inner"), "inside");
    check_tracked(&env.work().join("tree/inner"), "in a work tree");
    check_tracked(&env.work().join("tree"), "above it");
    assert!(work_tree(&AbsPath::new(env.work().join("tree/inner")).unwrap()).unwrap());
    assert!(!work_tree(&AbsPath::new(env.work()).unwrap()).unwrap());
    // Also if only the case differs, as on some file systems.
    sh(
        &folder,
        "git update-index --add --cacheinfo 100644,$(git hash-object -w inner/.agents/bin/x),.Agents/Bin/y",
    );
    let found = tracked(&AbsPath::new(&folder).unwrap(), ".agents/bin").unwrap();
    assert_eq!(found.as_deref(), Some(".Agents/Bin/y"));
}

fn check_tracked(root: &Path, what: &str) {
    let listed = sh(root, "git ls-files -z -- .agents");
    let brings = |name: &&str| {
        name.starts_with(".agents/bin/") || ".agents/bin" == *name || ".agents" == *name
    };
    let theirs = listed.split('\0').find(brings);
    let ours = tracked(&AbsPath::new(root).unwrap(), ".agents/bin").unwrap();
    assert_eq!(ours.is_some(), theirs.is_some(), "{what}: {ours:?} {theirs:?}");
}
