use std::fs;

use crate::World;

#[test]
fn every_command_documents_itself() {
    let world = World::bare();
    let top = world.csk("--help").stdout;
    for command in [
        "bootstrap",
        "install",
        "update",
        "upgrade",
        "status",
        "list",
        "project",
        "config",
        "skill",
        "init",
        "add",
        "remove",
        "lock",
        "verify",
        "gc",
        "cache",
        "global",
        "exec",
        "shell-init",
    ] {
        assert!(top.contains(&format!("\n  {command} ")), "{command}");
    }
    for command in [
        "bootstrap",
        "install",
        "update",
        "upgrade",
        "status",
        "list",
        "project add",
        "project remove",
        "project resolve",
        "config show",
        "skill check",
        "init",
        "add",
        "remove",
        "lock",
        "verify",
        "gc",
        "cache dir",
        "cache size",
        "cache clean",
        "exec",
        "shell-init",
        "completions",
        "outdated",
        "diff",
        "why",
        "doctor",
        "import",
        "man",
    ] {
        let run = world.csk(&format!("{command} --help"));
        assert_eq!(run.code, Some(0));
        let parts = ["Usage:", "Reads", "rites", "Exit codes:", "Examples:"];
        let example = format!("csk {command}");
        for part in parts.into_iter().chain([example.as_str()]) {
            assert!(run.stdout.contains(part), "{command}: {part}\n{}", run.stdout);
        }
    }
    // Every flag is explained, and every key of our files is documented somewhere.
    for (command, flags) in [
        ("install", &["--all", "--dry-run", "--strict-tags", "--fix-gitignore", "--verbose"][..]),
        (
            "install",
            &["--locked", "--offline", "--frozen", "CSK_LOCKED", "CSK_OFFLINE", "CSK_FROZEN"],
        ),
        ("lock", &["--upgrade", "--dry-run", "--project", "bundle_sha256"]),
        ("global", &["init", "add", "remove", "list", "status", "install", "update", "upgrade"]),
        ("upgrade", &["--all", "--dry-run", "--strict-tags", "--fix-gitignore", "--verbose"]),
        ("status", &["--all", "--check", "--json"]),
        ("list", &["--paths", "--json"]),
        ("bootstrap", &["--skills-root", "--locale", "--agents", "--project", "--force"]),
        ("config", &["skills_root", "preferred_locale", "worktree_alias_pattern", "adapter_mode"]),
        ("project", &["schema_version", "revision", "locale", ".csk-install.json", "ref_kind"]),
        ("skill", &["runtime_roots", "unix_path", "win_path", "capabilities"]),
    ] {
        let help = world.csk(&format!("{command} --help")).stdout;
        for flag in flags {
            assert!(help.contains(flag), "{command}: {flag}\n{help}");
        }
    }
    for variable in ["CSK_CONFIG", "CSK_HOME", "CSK_ALLOW_FILE", "CSK_LOCK_TIMEOUT", "NO_COLOR"] {
        assert!(top.contains(variable), "{variable}");
    }
    assert_eq!(world.csk("--version").stdout, format!("csk {}\n", env!("CARGO_PKG_VERSION")));
    let run = world.csk("instal");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("'install'"), "{}", run.stderr);
}

#[test]
fn completions_cover_every_command() {
    let world = World::bare();
    for (shell, check) in [("bash", "bash -n"), ("zsh", "zsh -n"), ("fish", "fish --no-execute")] {
        let run = world.csk(&format!("completions {shell}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.contains("CSK_COMPLETE"), "{shell}: {}", run.stdout);
        world.env.write("script", run.stdout.as_bytes());
        if world.env.run_args("sh", &["-c", &format!("command -v {shell}")]).code == Some(0) {
            assert_eq!(world.env.run_args("sh", &["-c", &format!("{check} script")]).stderr, "");
            let ask = match shell {
                "bash" => {
                    ". ./script; COMP_WORDS=(csk install --fix); COMP_CWORD=2; COMP_TYPE=9; _clap_complete_csk csk --fix install; echo \"${COMPREPLY[@]}\""
                }
                "fish" => "source script; complete -C 'csk install --fix'",
                _ => continue,
            };
            let folder = std::path::Path::new(env!("CARGO_BIN_EXE_csk")).parent().unwrap();
            let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
            let mut command = world.env.command(shell, &["-c", ask]);
            let output = command.env("PATH", path).output().unwrap();
            let output = String::from_utf8_lossy(&output.stdout);
            assert!(output.contains("--fix-gitignore"), "{shell}: {output}");
        } else {
            testkit::skip("completions", &format!("{shell} is not installed"));
        }
    }
}

#[test]
fn the_current_project_is_the_default() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_csk");
    let here = |folder: &str, arguments: &str| {
        world.env.run_args("sh", &["-c", &format!("cd {folder} && {program} {arguments}")])
    };
    fs::create_dir_all(world.app("src/deep")).unwrap();
    assert!(here("app/src/deep", "install").stdout.contains("app: pdf "));
    assert!(here(".", "install").stdout.contains("app: pdf "), "all configured projects");
    assert!(here("app", "status .").stdout.starts_with("Project app ("));
    assert_eq!(here(".", "install ./skills").code, Some(2), "no Skillfile.json there");
    let run = here(".", "install apq");
    assert_eq!(run.code, Some(2));
    let run2 = here(".", "install appp");
    assert!(run2.stderr.contains("did you mean `app`?"), "{}", run2.stderr);
}

#[test]
fn installing_by_path_does_not_register_the_project() {
    let world = World::new();
    testkit::GitRepo::new(
        &world.env,
        "other",
        "//- /.gitignore\n.agents/\n.claude/skills/\n.codex/skills/\n//- /Skillfile.json\n{\"schema_version\": 1, \"project\": {\"alias\": \"demo\"}, \"skills\": [{\"name\": \"pdf\", \"tag\": \"v1\"}]}\n",
    );
    let before = world.read(world.home().join(".cocoaskills/config.json"));
    let run = world.csk("install other");
    assert!(run.stdout.starts_with("demo: pdf tag v1 "), "{}{}", run.stdout, run.stderr);
    assert_eq!(world.read(world.home().join(".cocoaskills/config.json")), before);
}

#[test]
fn a_project_without_a_skillfile_is_skipped() {
    let world = World::new();
    fs::remove_file(world.app("Skillfile.json")).unwrap();
    let run = world.csk("install --all");
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("app: Skillfile.json not found, skipped"), "{}", run.stderr);
}

#[test]
fn projects_are_added_removed_and_resolved() {
    let world = World::new();
    assert_eq!(world.csk("project add x none").code, Some(2), "the folder must exist");
    fs::create_dir(world.env.path("x")).unwrap();
    assert_eq!(world.csk("project add x x").code, Some(0));
    assert_eq!(
        world.read(world.env.path("x/Skillfile.json")),
        "{\n  \"schema_version\": 1,\n  \"agents\": [],\n  \"skills\": []\n}\n"
    );
    assert_eq!(world.csk("project add x app").code, Some(2), "the alias is taken");
    assert!(
        world
            .csk("list --paths")
            .stdout
            .contains("project_alias=x checkout_alias=x path=[ROOT]/work/x\n")
    );
    fs::remove_dir_all(world.env.path("x")).unwrap();
    assert!(world.csk("list --paths").stdout.contains("path=[ROOT]/work/x (missing)\n"));
    assert_eq!(world.csk("project remove x").code, Some(0));
    assert_eq!(world.csk("project remove x").code, Some(2));
}

/// A second working copy of a project, in a folder with a space and non-ASCII letters.
#[test]
fn a_worktree_is_a_separate_project() {
    let world = World::new();
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.git("app", "add --force Skillfile.json");
    world.git("app", "commit --quiet -m skills");
    let folder = world.env.path("мой app 2");
    let path = folder.to_string_lossy().into_owned();
    let run = world.env.run_args(
        "git",
        &["-C", "app", "worktree", "add", "--quiet", "-b", "feature/TASK-7-thing", &path],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let csk = |arguments: &[&str]| world.env.run_args(env!("CARGO_BIN_EXE_csk"), arguments);
    let run = csk(&["project", "resolve", &path]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "project_alias: app-2");
    assert!(lines[1].starts_with("checkout_alias: app-2-task-7-"), "{}", lines[1]);
    assert_eq!(lines[2], "path: [ROOT]/work/мой app 2");
    assert_eq!(lines[4], "branch: feature/TASK-7-thing");
    assert_eq!(lines[5], "task_id: task-7");
    assert_eq!(lines[6].len(), "path_hash: a3f1".len());
    assert_eq!(lines[7], "skills: [ROOT]/work/мой app 2/.agents/skills");
    let run = csk(&["install", &path]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with("app-2-task-7-"), "{}", run.stdout);
    assert!(folder.join(".claude/skills/pdf/SKILL.md").exists());
    // With a detached HEAD, there is no branch name to use.
    assert_eq!(
        world.env.run_args("git", &["-C", &path, "checkout", "--quiet", "--detach"]).code,
        Some(0)
    );
    assert_eq!(
        csk(&["project", "resolve", &path]).stdout.lines().nth(1),
        Some("checkout_alias: app-2")
    );
    // A configured project is known by its alias, from any folder.
    assert_eq!(world.csk("project resolve app").stdout.lines().nth(1), Some("checkout_alias: app"));
    assert_eq!(world.csk("project resolve app/none").code, Some(2));
}

#[test]
fn adding_a_project_again_keeps_its_settings() {
    let world = World::new();
    let path = world.home().join(".cocoaskills/config.json");
    let text = world
        .read(&path)
        .replace(r#""app": {"#, r#""app": {"agents": ["cursor"], "project_alias": "logical", "#);
    fs::write(&path, text).unwrap();
    assert_eq!(world.csk("project add app app").code, Some(0));
    let config = world.csk("config show").stdout;
    assert!(config.contains("cursor") && config.contains("logical"), "{config}");
}

#[test]
fn environment_variables_set_the_home_and_allow_local_sources() {
    let mut world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", crate::SKILL);
    upstream.git("tag v1");
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    let home = world.env.path("state").display().to_string();
    world.env = world.env.var("CSK_HOME", &home).var("CSK_ALLOW_FILE", "1");
    world.install();
    assert!(world.env.path("state/consumers.json").exists());
    assert!(!world.home().join(".cocoaskills/cache").exists());
    world.env = world.env.var("CSK_LOCK_TIMEOUT", "soon");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("invalid CSK_LOCK_TIMEOUT: expected a number"), "{}", run.stderr);
}

#[test]
fn an_upgrade_clones_missing_repositories() {
    let world = World::bare();
    world.config(r#", "allow_local_sources": true"#);
    fs::remove_dir(world.env.path("skills")).unwrap();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", crate::SKILL);
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "branch": "main"}}"#));
    let run = world.csk("upgrade app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.installed("pdf/SKILL.md").exists());
    // A dry run does not fetch.
    let before = world.git("skills/pdf", "rev-parse origin/main");
    testkit::write_tree(upstream.path(), "//- /references/new.md\n");
    upstream.git("add --all");
    upstream.git("commit --quiet -m new");
    let run = world.csk("upgrade app --dry-run");
    assert!(run.stdout.starts_with("pdf: would be fetched (dry-run)\n"), "{}", run.stdout);
    assert_eq!(world.git("skills/pdf", "rev-parse origin/main"), before);
    assert_eq!(world.csk("upgrade app").code, Some(0));
    assert!(world.installed("pdf/references/new.md").exists());
}

#[test]
fn bootstrap_creates_a_config_and_overwrites_none() {
    let world = World::bare();
    let path = world.home().join(".cocoaskills/config.json");
    let before = world.read(&path);
    let refused = world.csk("bootstrap --skills-root skills");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("it was not changed"), "{}", refused.stderr);
    assert_eq!(world.read(&path), before);
    fs::remove_file(&path).unwrap();
    assert_eq!(world.csk("bootstrap").code, Some(2), "csk does not prompt without a terminal");
    // Preferences alone are a config, too.
    assert_eq!(world.csk("bootstrap --agents claude_code").code, Some(0));
    assert!(!world.read(&path).contains("skills_root"), "{}", world.read(&path));
    let config = world.csk("config show").stdout;
    assert!(config.contains("[ROOT]/home/.cocoaskills/repositories"), "{config}");
    fs::remove_file(&path).unwrap();
    let run = world.csk("bootstrap --skills-root skills --locale ru --agents claude_code,codex_cli --project app=app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let config = world.csk("config show").stdout;
    assert!(
        config.contains("\"skills_root\": \"[ROOT]/work/skills\"")
            && config.contains("\"preferred_locale\": \"ru\""),
        "{config}"
    );
    assert_eq!(world.csk("bootstrap --force --skills-root s --agents claud_code").code, Some(2));
}

#[test]
fn a_config_elsewhere_moves_the_state_as_well() {
    let world = World::new();
    let config = world.read(world.home().join(".cocoaskills/config.json"));
    world.env.write("elsewhere/my.json", config.as_bytes());
    fs::remove_dir_all(world.home().join(".cocoaskills")).unwrap();
    let mut command = world.env.command(env!("CARGO_BIN_EXE_csk"), &["install", "app"]);
    assert!(command.env("CSK_CONFIG", "elsewhere/my.json").output().unwrap().status.success());
    assert!(!world.home().join(".cocoaskills").exists());
    assert!(world.installed("pdf/SKILL.md").exists());
}

#[test]
fn skill_check_reports_errors() {
    let world = World::new();
    assert_eq!(world.csk("skill check skills/pdf").code, Some(0));
    world.env.write("skills/pdf/SKILL.md", b"---\nname: other\ndescription: d\n---\nB.\n");
    let run = world.csk("skill check skills/pdf");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("error[name-directory]"), "{}", run.stderr);
    assert_eq!(world.csk("skill check none").code, Some(2));
}

/// A CI job that runs in the wrong folder must not pass.
#[test]
fn running_without_any_project_is_an_error() {
    let world = World::bare();
    fs::write(
        world.home().join(".cocoaskills/config.json"),
        format!(
            r#"{{"schema_version": 1, "skills_root": "{}"}}"#,
            world.env.path("skills").display()
        ),
    )
    .unwrap();
    for arguments in [
        "install",
        "install --frozen",
        "lock",
        "verify",
        "status --check",
        "upgrade",
        "outdated",
        "diff",
        "verify --all",
    ] {
        let run = world.csk(arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("no project is configured"), "{arguments}: {}", run.stderr);
        assert!(run.stderr.contains("run `csk init` here"), "{arguments}: {}", run.stderr);
    }
    // Checks that need no project still run.
    assert_eq!(world.csk("doctor").code, Some(0));
}

#[test]
fn offline_mode_refuses_to_fetch() {
    let world = World::new();
    let world = World { env: world.env.var("CSK_OFFLINE", "1") };
    for arguments in ["update", "global update"] {
        let run = world.csk(arguments);
        assert!(
            run.code == Some(2) && run.stderr.contains("the network is disabled"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(world.csk("upgrade app").code, Some(0));
    // Frozen mode is offline as well, and an upgrade fetches.
    let world = World { env: world.env.var("CSK_OFFLINE", "").var("CSK_FROZEN", "1") };
    for arguments in ["update", "upgrade app"] {
        let run = world.csk(arguments);
        assert!(
            run.code == Some(2) && run.stderr.contains("unset CSK_OFFLINE and CSK_FROZEN"),
            "{arguments}: {}",
            run.stderr
        );
    }
}
