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
    ] {
        let run = world.csk(&format!("{command} --help"));
        assert_eq!(run.code, Some(0));
        for part in ["Usage:", "Purpose: ", "Exit codes:", "Examples:", &format!("  csk {command}")]
        {
            assert!(run.stdout.contains(part), "{command}: {part}\n{}", run.stdout);
        }
    }
    assert_eq!(world.csk("--version").stdout, format!("csk {}\n", env!("CARGO_PKG_VERSION")));
    let run = world.csk("instal");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("'install'"), "{}", run.stderr);
}

#[test]
fn the_project_here_is_meant_unless_another_is_named() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_csk");
    let here = |folder: &str, arguments: &str| {
        world.env.run_args("sh", &["-c", &format!("cd {folder} && {program} {arguments}")])
    };
    fs::create_dir_all(world.app("src/deep")).unwrap();
    assert!(here("app/src/deep", "install").stdout.contains("app: pdf "));
    assert!(here(".", "install").stdout.contains("app: pdf "), "all configured ones");
    assert!(here("app", "status .").stdout.starts_with("Project app ("));
    assert_eq!(here(".", "install ./skills").code, Some(2), "no Skillfile.json there");
    let run = here(".", "install apq");
    assert_eq!(run.code, Some(2));
    let run2 = here(".", "install appp");
    assert!(run2.stderr.contains("did you mean `app`?"), "{}", run2.stderr);
}

#[test]
fn a_path_is_installed_into_and_not_registered() {
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
    world.git("app", "checkout --quiet -b feature/TASK-7-thing");
    let run = world.csk("project resolve app");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "project_alias: app");
    assert!(lines[1].starts_with("checkout_alias: app-task-7-"), "{}", lines[1]);
    assert_eq!(lines[4], "branch: feature/TASK-7-thing");
    assert_eq!(lines[5], "task_id: task-7");
    assert_eq!(lines[6].len(), "path_hash: a3f1".len());
}

#[test]
fn bootstrap_makes_a_config_and_overwrites_none() {
    let world = World::bare();
    let path = world.home().join(".cocoaskills/config.json");
    let before = world.read(&path);
    let refused = world.csk("bootstrap --skills-root skills");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("was left as it is"), "{}", refused.stderr);
    assert_eq!(world.read(&path), before);
    fs::remove_file(&path).unwrap();
    assert_eq!(world.csk("bootstrap").code, Some(2), "nothing is asked without a terminal");
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
fn another_config_moves_everything() {
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
fn a_skill_is_checked_before_it_is_published() {
    let world = World::new();
    assert_eq!(world.csk("skill check skills/pdf").code, Some(0));
    world.env.write("skills/pdf/SKILL.md", b"---\nname: other\ndescription: d\n---\nB.\n");
    let run = world.csk("skill check skills/pdf");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("error[name-directory]"), "{}", run.stderr);
    assert_eq!(world.csk("skill check none").code, Some(2));
}
