//! How csk behaves: quiet mode, failures as JSON, shell completion, manual pages.

use std::fs;

use serde_json::Value;

use crate::World;

#[test]
fn quiet_mode_prints_only_data_warnings_and_errors() {
    let world = World::new();
    let run = world.csk("--quiet install app");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    assert!(world.installed("pdf/SKILL.md").is_file());
    assert!(world.csk("status app -q").stdout.contains("up-to-date"), "data stays");
    world.skillfile(r#"{"name": "none", "tag": "v1"}"#);
    let run = world.csk("install app -q");
    assert!(run.code == Some(1) && run.stderr.contains("none"), "errors stay: {}", run.stderr);
    let world = World { env: world.env.var("CSK_QUIET", "1") };
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    assert_eq!(world.csk("outdated app --offline").stderr, "");
}

#[test]
fn failures_are_json_if_json_is_requested() {
    let world = World::new();
    // Both programs share one schema.
    let schema = include_str!("../../../../schemas/openskills-error.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let check = |words: &str, code: i32, kind: &str| {
        let run = world.csk(words);
        assert_eq!(run.code, Some(code), "{words}: {}", run.stderr);
        let json: Value = serde_json::from_str(&run.stdout)
            .unwrap_or_else(|error| panic!("{words}: {error}: {}", run.stdout));
        assert!(validator.is_valid(&json), "{words}: {json}");
        assert_eq!(json["error"]["code"], kind, "{words}: {json}");
        json
    };
    check("status nowhere --json", 2, "usage");
    check("status --json --nonsense", 2, "usage");
    check("diff pfd --project app --json", 2, "usage");
    world.env.write("app/Skillfile.json", b"{\"schema_version\": 1, \"skills\": [{}]}");
    let json = check("status app --json", 2, "malformed");
    assert_eq!(json["error"]["diagnostics"][0]["line"], 1, "{json}");
    fs::write(world.home().join(".cocoaskills/config.json"), "{").unwrap();
    check("list --json", 2, "malformed");
}

/// Requests completions from csk like a shell does.
fn completed(world: &World, words: &[&str]) -> String {
    let index = (words.len() - 1).to_string();
    let mut all = vec!["--"];
    all.extend(words);
    let mut command = world.env.command(env!("CARGO_BIN_EXE_csk"), &all);
    command.env("CSK_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
    command.current_dir(world.env.path("app"));
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[test]
fn completions_include_project_and_skill_names() {
    let world = World::new();
    let has = |words: &[&str], name: &str| {
        let found = completed(&world, words);
        assert!(found.lines().any(|line| line.trim() == name), "{words:?}: {found}");
    };
    has(&["csk", "outd"], "outdated");
    has(&["csk", "install", "a"], "app");
    has(&["csk", "diff", "p"], "pdf");
    has(&["csk", "remove", ""], "pdf");
    has(&["csk", "add", "x", "--source", "p"], "pdf");
    has(&["csk", "diff", "--lo"], "--local");
    // With a malformed config there are no completions and no errors.
    fs::write(world.home().join(".cocoaskills/config.json"), "{").unwrap();
    assert!(!completed(&world, &["csk", "install", "a"]).contains("error"));
}

#[test]
fn the_manual_pages_are_current() {
    let world = World::bare();
    let run = world.csk("man pages");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let page = world.read(world.env.path("pages/csk-diff.1"));
    assert!(page.contains(".TH csk-diff 1") && page.contains("upgrade"), "{page}");
    assert_eq!(world.csk("man more --format markdown").code, Some(0));
    testkit::same_pages(&world.env.path("more"), "docs/commands", "csk");
}

/// The result is available as JSON, also for failures.
#[test]
fn install_results_are_available_as_json() {
    let world = World::new();
    let read = |arguments: &str| -> Value {
        let run = world.csk(arguments);
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr))
    };
    let json = read("install app --dry-run --json");
    let skill = &json["projects"][0]["skills"][0];
    assert!(json["version"] == 1 && json["dryRun"] == true, "{json}");
    assert!(skill["name"] == "pdf" && skill["outcome"] == "installed", "{json}");
    assert!(!world.installed("pdf").exists());
    assert_eq!(read("install app --json")["projects"][0]["skills"][0]["reference"], "tag v1");
    assert_eq!(read("upgrade app --json")["projects"][0]["skills"][0]["outcome"], "up-to-date");
    world.skillfile(r#"{"name": "pdf", "tag": "v9"}"#);
    let json = read("install app --json");
    let error = &json["projects"][0]["skills"][0]["error"];
    assert!(
        error["message"].as_str().unwrap().contains("v9") && error["hint"].is_string(),
        "{json}"
    );
    assert_eq!(read("cache dir --json")["version"], 1);
}

#[test]
fn common_mistakes_have_hints() {
    let world = World::new();
    for (arguments, expected) in [
        ("add pfd --tag v1 --project app", "did you mean `pdf`?"),
        ("project remove appp", "did you mean `app`?"),
        ("init /etc/passwd", "is not a folder"),
        ("init /", "git init"),
        ("bootstrap --force", "csk bootstrap --skills-root"),
        ("bootstrap --force --skills-root app/Skillfile.json", "is not a folder"),
        (
            "add x --git https://a.invalid/x --tag v1 --offline --project app",
            "repository not cloned yet",
        ),
    ] {
        let run = world.csk(arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(expected), "{arguments}: {}", run.stderr);
    }
}
