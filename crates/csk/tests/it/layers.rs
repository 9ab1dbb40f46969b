//! Settings in layers: command line, environment, project, user, system; and settings enforced by the system.

use serde_json::Value;

use crate::World;

/// A world with a system config.
fn world(system: &str) -> World {
    let mut world = World::new();
    world.env.write("system.json", system.as_bytes());
    let path = world.env.path("system.json").display().to_string();
    world.env = std::mem::take(&mut world.env).var("CSK_SYSTEM_CONFIG", &path);
    world
}

fn shown(world: &World) -> Value {
    let run = world.csk("config show");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn with(world: World, name: &str, value: &str) -> World {
    World { env: world.env.var(name, value) }
}

#[test]
fn the_most_specific_layer_wins() {
    let world = world(r#"{"schema_version": 1, "preferred_locale": "de", "adapter_mode": "copy"}"#);
    let config = shown(&world);
    assert_eq!(
        (&config["preferred_locale"], &config["adapter_mode"]),
        (&"de".into(), &"copy".into())
    );
    assert_eq!(config["default_agents"][0], "claude_code", "the user's own");
    world.config(r#", "preferred_locale": "fr""#);
    assert_eq!(shown(&world)["preferred_locale"], "fr");
    let world = with(world, "CSK_LOCALE", "ru");
    assert_eq!(shown(&world)["preferred_locale"], "ru");
    let world = with(world, "CSK_AGENTS", "zed, claude_code");
    assert_eq!(shown(&world)["default_agents"][0], "zed");
    let world = with(world, "CSK_ADAPTER_MODE", "symlink");
    assert_eq!(shown(&world)["adapter_mode"], "symlink");
    // The project takes precedence over the user's config, but not over the environment.
    let world = with(world, "CSK_AGENTS", "");
    world.env.write("app/Skillfile.json", br#"{"schema_version": 1, "agents": ["qwen-code"], "skills": [{"name": "pdf", "tag": "v1"}]}"#);
    assert_eq!(world.csk("install app --fix-gitignore").code, Some(0));
    assert!(world.app(".qwen/skills/pdf").exists() && !world.app(".claude/skills/pdf").exists());
    let world = with(world, "CSK_AGENTS", "claud");
    let run = world.csk("config show");
    assert!(run.code == Some(2) && run.stderr.contains("did you mean"), "{}", run.stderr);
}

#[test]
fn settings_enforced_by_the_system_apply_to_everyone() {
    let world = world(
        r#"{"schema_version": 1, "adapter_mode": "copy", "default_agents": ["zed"], "preferred_locale": "de", "allow_local_sources": false, "audit": "advisory", "locked": ["adapter_mode", "default_agents", "preferred_locale"]}"#,
    );
    world.config(r#", "adapter_mode": "symlink", "allow_local_sources": true, "audit": "off""#);
    let run = world.csk("config show");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains("`adapter_mode` is enforced by") && run.stderr.contains("system.json"),
        "{}",
        run.stderr
    );
    let config: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&config["adapter_mode"], &config["default_agents"][0]),
        (&"copy".into(), &"zed".into())
    );
    assert_eq!(config["audit"], "advisory", "the mode can only be made stricter");
    assert_eq!(config["allow_local_sources"], false, "the system config disables it");
    // Neither the environment nor a project can loosen it.
    let world = with(world, "CSK_ADAPTER_MODE", "symlink");
    let run = world.csk("config show");
    assert!(run.stderr.contains("CSK_ADAPTER_MODE is ignored"), "{}", run.stderr);
    assert!(run.stdout.contains("\"adapter_mode\": \"copy\""), "{}", run.stdout);
    let world = with(world, "CSK_ADAPTER_MODE", "");
    let world = with(world, "CSK_ALLOW_FILE", "1");
    let url = world.env.path("skills/pdf").display().to_string();
    let run = world.csk(&format!("add other --git {url} --tag v1 --project app"));
    assert!(run.code == Some(2) && run.stderr.contains("is not allowed"), "{}", run.stderr);
    let world = with(world, "CSK_ALLOW_FILE", "");
    world.env.write("app/Skillfile.json", br#"{"schema_version": 1, "agents": ["claude_code"], "skills": [{"name": "pdf", "tag": "v1"}]}"#);
    assert_eq!(world.csk("install app").code, Some(0));
    assert!(!world.app(".claude/skills/pdf").exists(), "the system config enforces zed");
    let world = with(world, "CSK_AUDIT", "off");
    assert!(shown(&world)["audit"] == "advisory");
    let world = with(world, "CSK_AUDIT", "strict");
    assert!(shown(&world)["audit"] == "strict");
}

#[test]
fn an_unusable_system_config_stops_every_command() {
    for (text, expected) in [
        ("{", "system.json"),
        (
            r#"{"schema_version": 1, "locked": ["everything"]}"#,
            "`everything`, which cannot be locked",
        ),
        (r#"{"schema_version": 1, "adapter_mode": "hardlink"}"#, "hardlink"),
    ] {
        let world = world(text);
        let run = world.csk("status app");
        assert_eq!(run.code, Some(2), "{text}: {}", run.stdout);
        assert!(run.stderr.contains(expected), "{text}: {}", run.stderr);
    }
    // The system config may set skills_root.
    let root = World::new();
    let world = world(&format!(
        r#"{{"schema_version": 1, "skills_root": "{}"}}"#,
        root.env.path("skills").display()
    ));
    std::fs::write(world.home().join(".cocoaskills/config.json"), r#"{"schema_version": 1}"#)
        .unwrap();
    assert_eq!(shown(&world)["skills_root"], root.env.path("skills").display().to_string());
}

/// The precedence is: command line, environment, project, user, system.
#[test]
fn the_environment_takes_precedence_over_the_project() {
    let world = World::new();
    world.env.write("app/Skillfile.json", br#"{"schema_version": 1, "agents": ["qwen-code"], "locale": "fr", "skills": [{"name": "pdf", "tag": "v1"}]}"#);
    let world = with(world, "CSK_AGENTS", "kiro-cli");
    let world = with(world, "CSK_LOCALE", "ru");
    assert_eq!(world.csk("install app --fix-gitignore").code, Some(0));
    assert!(world.app(".kiro/skills/pdf").exists() && !world.app(".qwen/skills/pdf").exists());
    let marker = world.read(world.installed("pdf/.csk-install.json"));
    assert!(marker.contains("\"locale\": \"ru\""), "{marker}");
}

#[test]
fn project_settings_overridden_by_the_system_are_reported() {
    let world = world(
        r#"{"schema_version": 1, "default_agents": ["zed"], "preferred_locale": "de", "locked": ["default_agents", "preferred_locale"]}"#,
    );
    world.env.write("app/Skillfile.json", br#"{"schema_version": 1, "agents": ["gemini"], "locale": "fr", "skills": [{"name": "pdf", "tag": "v1"}]}"#);
    let run = world.csk("status app");
    for expected in ["`agents` is ignored", "`locale` is ignored", "enforces `default_agents`"] {
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    // A setting equal to the enforced one is not reported.
    world.config(r#", "preferred_locale": "de""#);
    let run = world.csk("config show");
    assert!(!run.stderr.contains("preferred_locale"), "{}", run.stderr);
}

#[test]
fn enforced_settings_never_loosen_security() {
    for system in [
        r#"{"schema_version": 1, "locked": ["audit"]}"#,
        r#"{"schema_version": 1, "audit": "advisory", "locked": ["audit"]}"#,
    ] {
        let world = world(system);
        world.config(r#", "audit": "strict""#);
        assert_eq!(shown(&world)["audit"], "strict", "{system}");
        world.config("");
        let world = with(world, "CSK_AUDIT", "strict");
        assert_eq!(shown(&world)["audit"], "strict", "{system}");
    }
    let world = world(r#"{"schema_version": 1, "allow_local_sources": false}"#);
    world.config(r#", "allow_local_sources": true"#);
    assert_eq!(shown(&world)["allow_local_sources"], false);
    let world = with(world, "CSK_ALLOW_FILE", "1");
    let url = world.env.path("skills/pdf").display().to_string();
    let run = world.csk(&format!("add other --git {url} --tag v1 --project app"));
    assert!(
        run.stderr.contains("the system config disables `allow_local_sources`"),
        "{}",
        run.stderr
    );
    // An unreadable system config is not treated as a missing one.
    let path = world.env.path("nowhere.json").display().to_string();
    let world = with(world, "CSK_SYSTEM_CONFIG", &path);
    assert_eq!(world.csk("config show").code, Some(2));
}

#[test]
fn a_system_config_with_skills_root_is_enough() {
    let other = World::new();
    let world = world(&format!(
        r#"{{"schema_version": 1, "skills_root": "{}"}}"#,
        other.env.path("skills").display()
    ));
    std::fs::remove_file(world.home().join(".cocoaskills/config.json")).unwrap();
    let run = world.csk("project add app app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.csk("install app").code, Some(0));
}
