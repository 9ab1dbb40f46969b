use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::{SKILL, World};

#[test]
fn a_bad_config_is_explained_and_exits_2() {
    let world = World::new();
    let path = world.home().join(".cocoaskills/config.json");
    for (text, expected) in [
        ("{", "error[json-syntax]"),
        ("{}", "`schema_version` is missing"),
        (r#"{"schema_version": 2}"#, "this file requires a newer version"),
        (r#"{"schema_version": 1, "skill_indexes": ["x"]}"#, "which is not an absolute path"),
        (r#"{"schema_version": 1, "skills_root": "x"}"#, "which is not an absolute path"),
        (
            r#"{"schema_version": 1, "skills_root": "/s", "default_agents": ["claud_code"]}"#,
            "did you mean `claude_code`?",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let run = world.csk("install");
        assert_eq!(run.code, Some(2), "{text}");
        assert!(run.stderr.contains(expected), "{text}: {}", run.stderr);
        assert!(run.stderr.contains("config.json:1:"), "{text}: {}", run.stderr);
    }
    fs::remove_file(&path).unwrap();
    // No config is needed, but one that CSK_CONFIG names must exist.
    let world = World { env: world.env.var("CSK_CONFIG", path.to_str().unwrap()) };
    let run = world.csk("status");
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("hint: CSK_CONFIG names this file: run `csk bootstrap`"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_bad_skillfile_is_explained_and_exits_2() {
    let world = World::new();
    for (text, expected) in [
        (r#"{"schema_version": 2, "skills": []}"#, "`schema_version` is 2"),
        (
            r#"{"schema_version": 1, "skills": [{"name": "a", "tag": "1"}, {"name": "a", "tag": "2"}]}"#,
            "duplicate skill `a`",
        ),
        ("{\"schema_version\": 1,", "invalid JSON"),
    ] {
        world.env.write("app/Skillfile.json", text.as_bytes());
        let run = world.csk("install app");
        assert_eq!(run.code, Some(2), "{text}");
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(!world.app(".agents").exists());
    }
    world.env.write(
        "app/Skillfile.json",
        b"{\"schema_version\": 1, \"lcale\": \"ru\",\n\"skills\": [{\"name\": \"pdf\", \"tag\": \"v1\", \"brnch\": \"x\"}]}",
    );
    let run = world.install();
    assert!(run.stderr.contains("unknown key `lcale`"), "{}", run.stderr);
    assert!(run.stderr.contains("did you mean `branch`?"), "{}", run.stderr);
}

#[test]
fn a_missing_skills_root_exits_2() {
    let world = World::new();
    fs::remove_dir_all(world.env.path("skills")).unwrap();
    for command in ["install app", "update", "upgrade app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(2), "{command}");
        assert!(run.stderr.contains("skills_root"), "{}", run.stderr);
    }
}

/// Rules that ignore a folder but not everything in it, or only names that begin with a dot.
#[test]
fn ignore_rules_must_cover_all_files_of_skills() {
    let world = World::new();
    world.env.write("app/.gitignore", b".agents/*\n!.agents/skills/\n.claude/\n.codex/\n");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("not ignored by git: .agents/"), "{}", run.stderr);
    world.config(r#", "agents": {"mine": {"project_path": "tools/skills"}}"#);
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "agents": ["mine"], "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    world.env.write("app/.gitignore", b".*\n");
    let run = world.csk("install app");
    assert!(run.stderr.contains("not ignored by git: tools/skills/"), "{}", run.stderr);
    let run = world.csk("install app --fix-gitignore --dry-run");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("app: tools/skills/ would be added to .gitignore (dry-run)"),
        "{}",
        run.stdout
    );
    assert_eq!(world.read(world.app(".gitignore")), ".*\n");
    assert_eq!(world.csk("install app --fix-gitignore").code, Some(0));
    assert_eq!(world.read(world.app(".gitignore")), ".*\n# CocoaSkill\ntools/skills/\n");
}

#[test]
fn an_unknown_key_is_reported_and_ignored() {
    let world = World::new();
    world.config(r#", "preferred_lcoale": "ru""#);
    let run = world.install();
    assert!(
        run.stderr.contains("warning[unknown-key]")
            && run.stderr.contains("did you mean `preferred_locale`?"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_skills_root_without_repositories_exits_2() {
    let world = World::bare();
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    for command in ["install app", "update", "upgrade app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(2), "{command}");
        assert!(run.stderr.contains("contains no git repositories"), "{command}: {}", run.stderr);
    }
    assert_eq!(world.csk("list").code, Some(0));
    assert_eq!(world.csk("config show").code, Some(0));
}

#[test]
fn folders_not_ignored_by_git_are_refused_and_can_be_fixed() {
    let world = World::new();
    fs::write(world.app(".gitignore"), "# mine\n.agents/").unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("app: not ignored by git: .claude/skills/, .codex/skills/"),
        "{}",
        run.stderr
    );
    assert!(!world.app(".agents").exists());
    assert_eq!(world.csk("install app --fix-gitignore").code, Some(0));
    assert_eq!(
        world.read(world.app(".gitignore")),
        "# mine\n.agents/\n# CocoaSkill\n.claude/skills/\n.codex/skills/\n"
    );
    assert_eq!(world.csk("install app --fix-gitignore").code, Some(0));
    assert_eq!(world.read(world.app(".gitignore")).matches("CocoaSkill").count(), 1);
}

#[test]
fn ignore_rules_outside_the_project_count_as_well() {
    let world = World::new();
    fs::remove_file(world.app(".gitignore")).unwrap();
    world.env.write("app/.git/info/exclude", b".agents/\n.claude/\n.codex/\n");
    world.install();
}

#[test]
fn an_install_by_a_newer_csk_is_left_alone() {
    let world = World::new();
    world.install();
    let path = world.installed("pdf/.csk-install.json");
    let newer = world.read(&path).replace("\"schema_version\": 1", "\"schema_version\": 9");
    fs::write(&path, &newer).unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Unsupported installed marker schema"), "{}", run.stderr);
    assert!(run.stderr.contains("requires a newer csk"), "{}", run.stderr);
    assert_eq!(world.read(&path), newer);
    // It is not removed either: only the csk that wrote it knows which files belong to it.
    world.skillfile("");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Unsupported installed marker schema"), "{}", run.stderr);
    assert_eq!(world.read(&path), newer);
    assert!(world.app(".claude/skills/pdf/SKILL.md").exists());
}

#[test]
fn a_malformed_ledger_fails_the_project_before_any_change() {
    let world = World::new();
    world.install();
    fs::write(world.installed(".csk-managed.json"), "{").unwrap();
    world.skillfile("");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains(".csk-managed.json"), "{}", run.stderr);
    assert!(world.installed("pdf/SKILL.md").exists());
}

#[test]
fn concurrent_runs_wait_or_report_the_lock() {
    let world = World::new();
    fs::create_dir_all(world.home().join(".cocoaskills")).unwrap();
    fs::write(
        world.home().join(".cocoaskills/.lock"),
        format!("{{\"pid\": {}, \"created_at\": 1}}", std::process::id()),
    )
    .unwrap();
    let mut command = world.env.command(env!("CARGO_BIN_EXE_csk"), &["install", "app"]);
    let output = command.env("CSK_LOCK_TIMEOUT", "0.1").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("another csk process holds lock at ") && stderr.contains("created_at=1;"),
        "{stderr}"
    );
    fs::remove_file(world.home().join(".cocoaskills/.lock")).unwrap();
    let start = || {
        world
            .env
            .command(env!("CARGO_BIN_EXE_csk"), &["install", "app"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert!(world.install().stdout.contains("up-to-date"));
}

#[test]
fn a_project_that_cannot_be_written_fails_with_its_name() {
    let world = World::new();
    // Root may write anywhere, so a file blocks the path of the folder.
    world.env.write("app/.agents", b"a file");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.starts_with("app: "), "{}", run.stderr);
    assert_eq!(world.read(world.app(".agents")), "a file");
}

/// Runs as a user who can read the project but not write to it.
#[test]
fn a_read_only_project_fails_and_stays_unchanged() {
    let world = World::new();
    world.install();
    world.commit("pdf", "//- /references/new.md\nnew\n");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
    let before = world.listing(".agents/skills");
    let script = format!(
        "chmod 755 .. && chown -R 65534:65534 ../home && \
         exec setpriv --reuid 65534 --regid 65534 --clear-groups env GIT_CONFIG_COUNT=1 \
         GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=* {} install app",
        env!("CARGO_BIN_EXE_csk")
    );
    if world.env.run_args("sh", &["-c", "test $(id -u) = 0 && setpriv --version"]).code != Some(0) {
        testkit::skip("a read-only project", "only root can switch to another user, with setpriv");
        return;
    }
    let run = world.env.run_args("sh", &["-c", &script]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("Permission denied"), "{}", run.stderr);
    assert_eq!(world.listing(".agents/skills"), before);
    assert!(world.read(world.installed("pdf/SKILL.md")).contains("Body."));
    world.install();
    assert!(world.installed("pdf/references/new.md").exists());
}

#[test]
fn a_large_file_is_installed_with_little_memory() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    let file =
        fs::File::create(repo.path().join("references/large.bin")).unwrap_or_else(|_| panic!());
    file.set_len(40 << 20).unwrap();
    repo.commit("");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    // Address space includes the program and its libraries, so the limit is above 96 MB.
    let program = env!("CARGO_BIN_EXE_csk");
    let run = world.env.run_args("sh", &["-c", &format!("ulimit -d 60000; {program} install app")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(fs::metadata(world.installed("pdf/references/large.bin")).unwrap().len(), 40 << 20);
    assert!(world.install().stdout.contains("up-to-date"));
}

#[test]
fn a_damaged_install_is_repaired() {
    let world = World::new();
    world.install();
    fs::remove_file(world.installed("pdf/SKILL.md")).unwrap();
    fs::create_dir(world.installed("pdf/SKILL.md")).unwrap();
    fs::set_permissions(world.installed("pdf/SKILL.md"), PermissionsExt::from_mode(0o755)).unwrap();
    let run = world.install();
    assert!(run.stdout.contains("installed"), "the installed files were damaged: {}", run.stdout);
    assert!(world.installed("pdf/SKILL.md").is_file());
}

#[test]
fn common_mistakes_have_specific_messages() {
    let world = World::new();
    let error_of = |skillfile: &[u8]| {
        world.env.write("app/Skillfile.json", skillfile);
        let run = world.csk("install app");
        assert_eq!(run.code, Some(2), "{}{}", run.stdout, run.stderr);
        run.stderr
    };
    let missing = error_of(br#"{"skills": [{"name": "pdf", "tag": "v1"}], "agents": []}"#);
    assert!(missing.contains("schema_version") && !missing.contains("`agents`"), "{missing}");
    let mark = error_of(b"\xef\xbb\xbf{\"schema_version\": 1, \"skills\": []}");
    assert!(mark.contains("byte order mark"), "{mark}");
    let twice = error_of(
        br#"{"schema_version": 1, "skills": [{"name": "pdf", "tag": "v1"}, {"name": "PDF", "source": "pdf", "tag": "v1"}]}"#,
    );
    assert!(twice.contains("`pdf` and `PDF` differ only in case"), "{twice}");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.env.write("app/.agents/.csk-journal.json", b"half");
    let run = world.csk("install app");
    assert!(run.stderr.contains("delete it if no other csk process is running"), "{}", run.stderr);
}

/// Without an argument, the hook is for the user's shell, or bash.
#[test]
fn shell_init_detects_the_users_shell() {
    let world = World::new();
    let csk = env!("CARGO_BIN_EXE_csk");
    for (shell, expected) in
        [("SHELL=/bin/zsh", "zsh"), ("SHELL=/usr/bin/fish", "fish"), ("SHELL=", "bash")]
    {
        let own = world.env.run_args("sh", &["-c", &format!("env {shell} {csk} shell-init")]);
        let named = world.env.run_args(csk, &["shell-init", expected]);
        assert_eq!((own.code, own.stdout), (Some(0), named.stdout), "{shell}");
    }
}
