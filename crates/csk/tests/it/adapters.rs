use std::fs;
use std::os::unix::fs::symlink;

use crate::World;

#[test]
fn agents_get_links_and_lose_them_when_they_go() {
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
fn copies_follow_the_skill_and_the_canonical_marker_is_read() {
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
    // Back to links: the copy goes.
    world.config("");
    world.install();
    assert!(fs::symlink_metadata(&copy).unwrap().is_symlink());
}

#[test]
fn agents_that_read_the_skills_folder_need_nothing() {
    let world = World::new();
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "agents": ["zed"], "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    world.install();
    assert_eq!(
        world.listing("."),
        world
            .listing(".")
            .lines()
            .filter(|line| !line.contains("/.claude/"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    );
}

#[test]
fn an_agent_of_the_users_own_is_served() {
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
fn what_the_user_put_there_is_never_replaced() {
    let world = World::new();
    world.env.write("app/.claude/skills/pdf/SKILL.md", b"mine");
    symlink("/etc", world.app(".claude/skills/other")).unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("/.claude/skills/pdf exists and was not made by csk"),
        "{}",
        run.stderr
    );
    assert_eq!(world.read(world.app(".claude/skills/pdf/SKILL.md")), "mine");
    assert!(
        !world.installed("pdf").exists(),
        "nothing of a skill is written when an agent cannot have it"
    );
}
