use std::fs;
use std::os::unix::fs::symlink;

use crate::World;

#[test]
fn symlinks_for_agents_are_created_and_removed() {
    let world = World::new();
    world.install();
    for agent in [".claude/skills", ".codex/skills"] {
        let link = fs::read_link(world.app(agent).join("pdf")).unwrap();
        assert_eq!(link.to_str(), Some("../../.agents/skills/pdf"));
        assert!(world.app(agent).join("pdf/SKILL.md").exists());
    }
    world.env.write("app/Skillfile.json", br#"{"schema_version": 1, "agents": ["codex_cli"], "skills": [{"name": "pdf", "tag": "v1"}]}"#);
    world.install();
    assert_eq!(world.listing(".claude"), "", "a removed agent leaves nothing behind");
    assert!(world.app(".codex/skills/pdf/SKILL.md").exists());
}

#[test]
fn copies_are_updated_and_only_the_canonical_marker_is_read() {
    let world = World::new();
    world.config(r#", "adapter_mode": "copy""#);
    world.install();
    let copy = world.app(".claude/skills/pdf");
    assert!(fs::symlink_metadata(&copy).unwrap().is_dir());
    assert!(world.install().stdout.contains("up-to-date"));
    fs::write(copy.join(".csk-install.json"), "nonsense").unwrap();
    assert!(
        world.install().stdout.contains("up-to-date"),
        "only the marker in .agents/skills counts"
    );
    world.commit("pdf", "//- /references/new.md\nnew\n");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
    world.install();
    assert!(copy.join("references/new.md").exists());
    // In auto mode a copy is as good as a symlink; in symlink mode it is replaced.
    world.config("");
    assert!(world.install().stdout.contains("up-to-date"));
    world.config(r#", "adapter_mode": "symlink""#);
    world.install();
    assert!(fs::symlink_metadata(&copy).unwrap().is_symlink());
}

/// Simulates a file system without symlinks by injecting errors.
#[test]
fn auto_mode_falls_back_to_copies_and_symlink_mode_does_not() {
    let world = World::new();
    if world.env.run("strace", "--version").code != Some(0) {
        testkit::skip("copies instead of symlinks", "`strace` is not installed");
        return;
    }
    let install = || {
        let arguments = [
            "-qf",
            "-o",
            "/dev/null",
            "-e",
            "trace=symlink,symlinkat",
            "-e",
            "inject=symlink,symlinkat:error=EPERM",
            env!("CARGO_BIN_EXE_csk"),
            "install",
            "app",
        ];
        world.env.run_args("strace", &arguments)
    };
    world.config(r#", "adapter_mode": "symlink""#);
    let run = install();
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Operation not permitted"), "{}", run.stderr);
    world.config("");
    let run = install();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(fs::symlink_metadata(world.app(".claude/skills/pdf")).unwrap().is_dir());
    assert!(world.app(".claude/skills/pdf/SKILL.md").exists());
    assert!(world.install().stdout.contains("up-to-date"));
    assert_eq!(world.csk("status app --check").code, Some(0));
}

#[test]
fn symlinks_created_by_the_user_are_kept() {
    let world = World::new();
    fs::create_dir_all(world.app(".claude/skills")).unwrap();
    let link = world.app(".claude/skills/pdf");
    symlink("../../.agents/skills/pdf", &link).unwrap();
    world.install();
    assert_eq!(world.csk("status app --check").code, Some(0));
    world.skillfile("");
    world.install();
    assert!(fs::symlink_metadata(&link).is_ok(), "csk did not create it");
    assert!(fs::symlink_metadata(world.app(".codex/skills/pdf")).is_err());
}

/// csk ignores symlinks in the folders of agents that are not selected.
#[test]
fn symlinks_of_other_agents_do_not_matter() {
    let world = World::new();
    fs::create_dir_all(world.env.path("elsewhere")).unwrap();
    symlink("../elsewhere", world.app("skills")).unwrap();
    symlink("../elsewhere", world.app(".gemini")).unwrap();
    world.install();
    assert_eq!(world.csk("status app --check").code, Some(0));
}

#[test]
fn entries_that_are_no_longer_needed_show_as_drift() {
    let world = World::new();
    world.install();
    world.config(r#", "agents": {"claude_code": {"project_path": ".agents/skills"}}"#);
    let run = world.csk("status app --check");
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains(".claude/skills/pdf is no longer needed"), "{}", run.stdout);
    world.install();
    assert!(fs::symlink_metadata(world.app(".claude/skills/pdf")).is_err());
    assert_eq!(world.csk("status app --check").code, Some(0));
}

#[test]
fn agents_that_read_the_skills_folder_get_no_entries() {
    let world = World::new();
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "agents": ["zed"], "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    world.install();
    let listing = world.listing(".");
    let strange: Vec<&str> = listing
        .lines()
        .filter(|line| !line.starts_with("./.git/") && !line.starts_with("./.agents/"))
        .collect();
    assert_eq!(strange, ["./.gitignore", "./Skillfile.json"]);
}

#[test]
fn custom_agents_get_entries() {
    let world = World::new();
    world.config(r#", "agents": {"mine": {"project_path": ".mine/deep/skills"}}"#);
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "agents": ["mine"], "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1), "it is not ignored by git yet");
    assert!(run.stderr.contains("not ignored by git: .mine/deep/skills/"), "{}", run.stderr);
    assert_eq!(world.csk("install app --fix-gitignore").code, Some(0));
    assert!(world.app(".mine/deep/skills/pdf/SKILL.md").exists());
}

#[test]
fn files_of_the_user_are_never_replaced() {
    let world = World::new();
    world.env.write("app/.claude/skills/pdf/SKILL.md", b"mine");
    symlink("/etc", world.app(".claude/skills/other")).unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("/.claude/skills/pdf` exists and was not created by csk"),
        "{}",
        run.stderr
    );
    assert_eq!(world.read(world.app(".claude/skills/pdf/SKILL.md")), "mine");
    assert!(
        !world.installed("pdf").exists(),
        "nothing is written if the entry of an agent cannot be created"
    );
}
