use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::{SKILL, World};

#[test]
fn a_bad_config_is_explained_and_exit_2() {
    let world = World::new();
    let path = world.home().join(".cocoaskills/config.json");
    for (text, said) in [
        ("{", "error[json-syntax]"),
        ("{}", "`schema_version` is missing"),
        (r#"{"schema_version": 2}"#, "the file requires a newer csk"),
        (r#"{"schema_version": 1}"#, "`skills_root` is missing"),
        (r#"{"schema_version": 1, "skills_root": "x"}"#, "which is not an absolute path"),
        (
            r#"{"schema_version": 1, "skills_root": "/s", "default_agents": ["claud_code"]}"#,
            "did you mean `claude_code`?",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let run = world.csk("install");
        assert_eq!(run.code, Some(2), "{text}");
        assert!(run.stderr.contains(said), "{text}: {}", run.stderr);
        assert!(run.stderr.contains("config.json:1:"), "{text}: {}", run.stderr);
    }
    fs::remove_file(&path).unwrap();
    let run = world.csk("status");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("hint: run `csk bootstrap` to make one"), "{}", run.stderr);
}

#[test]
fn what_is_wrong_with_a_skillfile_is_told_and_exit_2() {
    let world = World::new();
    for (text, expected) in [
        (r#"{"schema_version": 2, "skills": []}"#, "`schema_version` is 2"),
        (
            r#"{"schema_version": 1, "skills": [{"name": "a", "tag": "1"}, {"name": "a", "tag": "2"}]}"#,
            "the skill `a` is declared twice",
        ),
        ("{\"schema_version\": 1,", "this is not valid JSON"),
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
    assert!(run.stderr.contains("`lcale` is not a key that is known"), "{}", run.stderr);
    assert!(run.stderr.contains("did you mean `branch`?"), "{}", run.stderr);
}

#[test]
fn a_missing_skills_root_is_exit_2() {
    let world = World::new();
    fs::remove_dir_all(world.env.path("skills")).unwrap();
    for command in ["install app", "update", "upgrade app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(2), "{command}");
        assert!(run.stderr.contains("skills_root"), "{}", run.stderr);
    }
}

/// Rules that ignore a folder and not what is in it, or only names that begin with a dot.
#[test]
fn rules_that_let_a_skill_through_are_not_enough() {
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
        run.stdout.contains("app: .gitignore tools/skills/ would be added (dry-run)"),
        "{}",
        run.stdout
    );
    assert_eq!(world.read(world.app(".gitignore")), ".*\n");
    assert_eq!(world.csk("install app --fix-gitignore").code, Some(0));
    assert_eq!(world.read(world.app(".gitignore")), ".*\n# CocoaSkill\ntools/skills/\n");
}

#[test]
fn an_unknown_key_is_told_and_ignored() {
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
fn a_skills_root_without_repositories_is_exit_2() {
    let world = World::bare();
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    for command in ["install app", "update", "upgrade app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(2), "{command}");
        assert!(run.stderr.contains("holds no git repository"), "{command}: {}", run.stderr);
    }
    assert_eq!(world.csk("list").code, Some(0));
    assert_eq!(world.csk("config show").code, Some(0));
}

#[test]
fn what_git_does_not_ignore_is_refused_and_can_be_fixed() {
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
fn rules_outside_the_project_count_as_well() {
    let world = World::new();
    fs::remove_file(world.app(".gitignore")).unwrap();
    world.env.write("app/.git/info/exclude", b".agents/\n.claude/\n.codex/\n");
    world.install();
}

#[test]
fn a_marker_of_a_newer_csk_is_left_alone() {
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
    // Nor is it removed: only the csk that made it knows what belongs to it.
    world.skillfile("");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Unsupported installed marker schema"), "{}", run.stderr);
    assert_eq!(world.read(&path), newer);
    assert!(world.app(".claude/skills/pdf/SKILL.md").exists());
}

#[test]
fn a_broken_ledger_stops_the_project_before_anything_is_touched() {
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
fn two_csk_at_once_take_turns_or_say_so() {
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
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("another csk process holds lock at ") && said.contains("created_at=1;"),
        "{said}"
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
fn a_project_that_cannot_be_written_fails_alone() {
    let world = World::new();
    // Root may write anywhere, so a file stands where the folder should be.
    world.env.write("app/.agents", b"a file");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.starts_with("app: "), "{}", run.stderr);
    assert_eq!(world.read(world.app(".agents")), "a file");
}

/// As a user who may read the project and not write it.
#[test]
fn a_read_only_project_fails_and_stays_as_it_is() {
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
        testkit::skip("a read-only project", "only root can become another user, with setpriv");
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
fn a_large_file_is_installed_without_holding_it() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    let file =
        fs::File::create(repo.path().join("references/large.bin")).unwrap_or_else(|_| panic!());
    file.set_len(40 << 20).unwrap();
    repo.commit("");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    // Address space counts mappings of the program and its libraries too, so the bound is above 96 MB.
    let program = env!("CARGO_BIN_EXE_csk");
    let run = world.env.run_args("sh", &["-c", &format!("ulimit -d 60000; {program} install app")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(fs::metadata(world.installed("pdf/references/large.bin")).unwrap().len(), 40 << 20);
    assert!(world.install().stdout.contains("up-to-date"));
}

#[test]
fn an_unreadable_file_is_named() {
    let world = World::new();
    world.install();
    fs::remove_file(world.installed("pdf/SKILL.md")).unwrap();
    fs::create_dir(world.installed("pdf/SKILL.md")).unwrap();
    fs::set_permissions(world.installed("pdf/SKILL.md"), PermissionsExt::from_mode(0o755)).unwrap();
    let run = world.install();
    assert!(
        run.stdout.contains("installed"),
        "what is there is not what was installed: {}",
        run.stdout
    );
    assert!(world.installed("pdf/SKILL.md").is_file());
}

#[test]
fn first_mistakes_are_told_as_what_they_are() {
    let world = World::new();
    let told = |skillfile: &[u8]| {
        world.env.write("app/Skillfile.json", skillfile);
        let run = world.csk("install app");
        assert_eq!(run.code, Some(2), "{}{}", run.stdout, run.stderr);
        run.stderr
    };
    let missing = told(br#"{"skills": [{"name": "pdf", "tag": "v1"}], "agents": []}"#);
    assert!(missing.contains("schema_version") && !missing.contains("`agents`"), "{missing}");
    let mark = told(b"\xef\xbb\xbf{\"schema_version\": 1, \"skills\": []}");
    assert!(mark.contains("byte-order mark"), "{mark}");
    let twice = told(
        br#"{"schema_version": 1, "skills": [{"name": "pdf", "tag": "v1"}, {"name": "PDF", "source": "pdf", "tag": "v1"}]}"#,
    );
    assert!(twice.contains("`pdf` and `PDF` differ only in case"), "{twice}");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.env.write("app/.agents/.csk-journal.json", b"half");
    let run = world.csk("install app");
    assert!(run.stderr.contains("delete it if no csk is running"), "{}", run.stderr);
}

/// Without a shell the hook is that of the user's, or of bash.
#[test]
fn shell_init_knows_the_users_shell() {
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
