//! The everyday verbs: outdated, diff, why.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::{SKILL, World};

/// A world whose skill has an origin that gets new commits.
fn world() -> World {
    let world = World::bare();
    world.config(r#", "allow_local_sources": true"#);
    let origin = testkit::GitRepo::new(&world.env, "origin", SKILL);
    origin.git("tag v1");
    let url = world.env.path("origin").display().to_string();
    world.git(".", &format!("clone --quiet {url} skills/pdf"));
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.install();
    world
}

fn upstream(world: &World, literal: &str) {
    testkit::write_tree(&world.env.path("origin"), literal);
    world.git("origin", "add --all");
    world.git("origin", "commit --quiet --allow-empty -m change");
}

/// Returns everything below the working folder and the home, with sizes and times.
fn everything(world: &World) -> String {
    let call = "find . ../home -path '*/.git/index' -prune -o -printf '%p %s %T@ %y\\n' | sort";
    world.env.run_args("sh", &["-c", call]).stdout
}

#[test]
fn outdated_queries_the_remote_and_writes_nothing() {
    let world = world();
    let run = world.csk("outdated app --check");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("everything is up to date"), "{}", run.stderr);
    upstream(&world, "//- /references/new.md\nnew\n");
    world.git("origin", "tag v1.1.0");
    world.git("origin", "tag v2.0.0-rc1");
    let before = everything(&world);
    let run = world.csk("outdated app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("pdf") && run.stdout.contains("v1.1.0"), "{}", run.stdout);
    assert!(!run.stdout.contains("rc1"), "{}", run.stdout);
    assert_eq!(world.csk("outdated app --check").code, Some(1));
    assert_eq!(everything(&world), before, "the command writes nothing");
    // Offline, csk cannot know.
    let run = world.csk("outdated app --offline --check");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    // A moved tag.
    world.git("origin", "tag -f v1");
    let json: Value = serde_json::from_str(&world.csk("outdated app --json").stdout).unwrap();
    let skill = &json["projects"][0]["skills"][0];
    assert_eq!(skill["wanted"], world.git("origin", "rev-parse v1").trim());
    assert_ne!(skill["installed"], skill["wanted"]);
    assert_eq!((&json["outdated"], &skill["newest"]), (&true.into(), &"v1.1.0".into()));
    // A missing origin is reported, and the rest is shown.
    fs::rename(world.env.path("origin"), world.env.path("away")).unwrap();
    let run = world.csk("outdated app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("cannot query the remote of `pdf`"), "{}", run.stderr);
}

const NEWER: &str = "\
//- /SKILL.md
---
name: pdf
description: Extracts text and tables.
license: MIT
allowed-tools: Bash(curl:*)
---
Body.
//- /references/guide.md
Guide.
//- /references/tables.md
Tables.
//- /scripts/tables
#!/bin/sh
echo tables
//- /csk-skill.json
{\"schema_version\": 3, \"runtime_roots\": [\"scripts\"], \"commands\": {\"tables\": {\"type\": \"script\", \"unix_path\": \"scripts/tables\"}}, \"capabilities\": {\"network\": [\"api.example.com\"], \"filesystem\": \"repo\", \"exec\": \"none\"}}
";

#[test]
fn diff_shows_what_an_upgrade_would_change() {
    let world = World::new();
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    let run = world.csk("diff --project app --check");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("nothing newer in the local clones"), "{}", run.stderr);
    world.commit("pdf", NEWER);
    let before = everything(&world);
    let run = world.csk("diff pdf --project app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for part in [
        "+ command tables",
        "+ network: api.example.com",
        "+ tools: Bash(curl:*)",
        "added references/tables.md",
        "changed SKILL.md",
        "-description: Extracts text.",
        "+description: Extracts text and tables.",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    assert!(!run.stdout.contains("+Tables."), "{}", run.stdout);
    assert!(world.csk("diff pdf --project app --all-files").stdout.contains("+Tables."));
    assert_eq!(everything(&world), before, "the command writes nothing");
    assert_eq!(world.csk("diff --project app --check").code, Some(1));
    let json: Value = serde_json::from_str(&world.csk("diff --project app --json").stdout).unwrap();
    assert_eq!(json["skills"][0]["commandsGained"][0], "tables");
    // Another reference, and one that does not exist.
    assert!(world.csk("diff pdf --project app --to v1").stderr.contains("no differences"));
    let run = world.csk("diff pdf --project app --to v9");
    assert!(run.code == Some(1) && run.stderr.contains("`v9` not found"), "{}", run.stderr);
    let run = world.csk("diff pfd --project app");
    assert!(run.code == Some(2) && run.stderr.contains("did you mean `pdf`?"), "{}", run.stderr);
    // After the upgrade, the diff is reversed.
    assert_eq!(world.csk("upgrade app").code, Some(0));
    let run = world.csk("diff pdf --project app --to v1");
    assert!(
        run.stdout.contains("- command tables")
            && run.stdout.contains("removed references/tables.md"),
        "{}",
        run.stdout
    );
}

#[test]
fn edits_are_shown_backed_up_and_reported() {
    let world = World::new();
    world.install();
    let run = world.csk("diff --local --project app --check");
    assert!(run.code == Some(0) && run.stderr.contains("no local edits"), "{}", run.stderr);
    fs::write(world.installed("pdf/SKILL.md"), "mine\n").unwrap();
    fs::write(world.installed("pdf/notes.md"), "my note\n").unwrap();
    fs::remove_file(world.installed("pdf/references/guide.md")).unwrap();
    let run = world.csk("diff --local --project app --check");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    for part in [
        "local edits",
        "changed SKILL.md",
        "added notes.md",
        "removed references/guide.md",
        "+mine",
        "-Body.",
        "+my note",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    // An update backs them up and reports where.
    let run = world.csk("install app --verbose");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let kept = fs::read_dir(world.app(".agents/backups")).unwrap().next().unwrap().unwrap();
    let found = world.env.run_args("grep", &["-rl", "my note", &kept.path().to_string_lossy()]);
    assert!(found.stdout.contains("notes.md"), "{}", found.stdout);
    assert!(
        format!("{}{}", run.stdout, run.stderr).contains("backups"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    assert_eq!(world.csk("diff --local --project app --check").code, Some(0));
}

#[test]
fn why_says_who_declares_brings_and_needs() {
    let world = World::bare();
    let manifest = "//- /csk-skill.json\n{\"schema_version\": 1, \"commands\": {\"reviews\": {\"type\": \"script\", \"unix_path\": \"scripts/reviews\"}, \"sh\": {\"type\": \"system\", \"command\": \"sh\"}}}\n//- /scripts/reviews\n#!/bin/sh\n";
    world
        .repo("review", &format!("{}{manifest}", SKILL.replace("name: pdf", "name: review")))
        .git("tag v1");
    world.skillfile(r#"{"name": "review", "tag": "v1"}"#);
    world.install();
    for (name, parts) in [
        ("review", &["app: skill", "tag v1", "Skillfile.json", "claude_code, codex_cli"][..]),
        ("reviews", &["command provided by skill review", ".agents/bin/reviews"]),
        ("sh", &["program required by skill review"]),
    ] {
        let run = world.csk(&format!("why {name}"));
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        for part in parts {
            assert!(run.stdout.contains(part), "{name}: {part}\n{}", run.stdout);
        }
    }
    let run = world.csk("why reviwes");
    assert!(
        run.code == Some(1) && run.stderr.contains("did you mean `reviews`?"),
        "{}",
        run.stderr
    );
    let json: Value = serde_json::from_str(&world.csk("why review --json").stdout).unwrap();
    assert_eq!(json["reasons"][0]["installed"], world.git("skills/review", "rev-parse v1").trim());
}

#[test]
fn json_output_matches_its_schema() {
    let world = World::new();
    world.install();
    world.commit("pdf", NEWER);
    assert_eq!(world.csk("global add pdf --tag v1").code, Some(0));
    for (name, command) in [
        ("csk-add", "show pdf --json"),
        ("csk-add", "add pdf --project app --dry-run --json"),
        ("csk-find", "find pdf --json"),
        ("csk-outdated", "outdated app --json"),
        ("csk-diff", "diff pdf --project app --to main --json"),
        ("csk-why", "why pdf --json"),
        ("csk-doctor", "doctor app --json"),
        ("csk-import", "import --project app --dry-run --json"),
        ("csk-cache-size", "cache size --json"),
        ("csk-cache-dir", "cache dir --json"),
        ("csk-install", "install app --dry-run --json"),
        ("csk-config-show", "config show --json"),
        ("csk-project-resolve", "project resolve app --json"),
        ("csk-global-list", "global list --json"),
        ("csk-skill-check", "skill check skills/pdf --json"),
    ] {
        let schemas = csk_core::schemas();
        let schema = &schemas.iter().find(|(found, _)| *found == name).unwrap().1;
        let validator = jsonschema::validator_for(schema).unwrap();
        let run = world.csk(command);
        let mut output: Value = serde_json::from_str(&run.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {}{}", run.stdout, run.stderr));
        let errors: Vec<String> =
            validator.iter_errors(&output).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{command}: {errors:?}");
        assert_eq!(output["version"], 1);
        output["surprise"] = true.into();
        assert!(!validator.is_valid(&output), "{name} takes anything");
    }
}

const COMMAND: &str = "\
//- /csk-skill.json
{\"schema_version\": 3, \"commands\": {\"tool\": {\"type\": \"script\", \"unix_path\": \"scripts/tool\"}, \"vcs\": {\"type\": \"system\", \"command\": \"git\"}}, \"capabilities\": {\"network\": [\"a.test\"]}}
//- /scripts/tool
#!/bin/sh
echo one
";

/// Command files are compared as well as text.
#[test]
fn diff_shows_changes_of_commands_and_required_programs() {
    let world = World::bare();
    world.repo("rev", &format!("{}{COMMAND}", SKILL.replace("name: pdf", "name: rev")));
    world.skillfile(r#"{"name": "rev", "branch": "main"}"#);
    // Nothing is installed yet: everything is new.
    let run = world.csk("diff --project app");
    for expected in
        ["+ command tool", "+ requires program git", "+ network: a.test", "added runtime/bin/tool"]
    {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
    world.install();
    world.commit("rev", "//- /scripts/tool\n#!/bin/sh\necho other\n");
    let run = world.csk("diff rev --project app --all-files --check");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("changed runtime/bin/tool"), "{}", run.stdout);
    assert!(
        run.stdout.contains("-echo one") && run.stdout.contains("+echo other"),
        "{}",
        run.stdout
    );
    let manifest = COMMAND.replace("\"command\": \"git\"", "\"command\": \"sh\"");
    world.commit("rev", &manifest);
    let run = world.csk("diff rev --project app");
    assert!(
        run.stdout.contains("+ requires program sh")
            && run.stdout.contains("- requires program git"),
        "{}",
        run.stdout
    );
}

#[test]
fn edits_of_command_files_copies_and_removed_skills_are_detected() {
    let world = World::bare();
    world.repo("rev", &format!("{}{COMMAND}", SKILL.replace("name: pdf", "name: rev")));
    world.skillfile(r#"{"name": "rev", "branch": "main"}"#);
    world.install();
    let tool = fs::canonicalize(world.app(".agents/bin/tool")).unwrap();
    fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(&tool, "#!/bin/sh\necho mine\n").unwrap();
    let run = world.csk("diff --local --project app --check");
    assert!(run.code == Some(1) && run.stdout.contains("runtime/bin/tool"), "{}", run.stdout);
    let run = world.csk("install app");
    let kept = world.home().join(".cocoaskills/backups/rev@runtime-0/bin/tool");
    assert!(
        run.stderr.contains("its command files were edited; a backup is in"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    assert!(world.read(&kept).contains("echo mine"));
    assert!(world.read(&tool).contains("echo one"));
    // A copy in an agent's folder.
    let world = World { env: world.env.var("CSK_ADAPTER_MODE", "copy") };
    world.install();
    fs::write(world.app(".claude/skills/rev/SKILL.md"), "mine\n").unwrap();
    let run = world.csk("diff --local --project app --check");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stdout.contains("changed .claude/skills/rev/SKILL.md"), "{}", run.stdout);
    // A skill that is no longer declared, before the next install removes it.
    fs::write(world.installed("rev/SKILL.md"), "mine\n").unwrap();
    assert_eq!(world.csk("remove rev --project app --no-install").code, Some(0));
    let run = world.csk("diff --local --project app --check");
    assert!(run.code == Some(1) && run.stdout.contains("changed SKILL.md"), "{}", run.stdout);
}

#[test]
fn files_that_cannot_be_backed_up_are_not_removed() {
    let world = World::new();
    world.install();
    let pipe = world.installed("pdf/pipe");
    assert_eq!(world.env.run_args("mkfifo", &[pipe.to_str().unwrap()]).code, Some(0));
    world.install();
    let kept = fs::read_dir(world.app(".agents/backups")).unwrap().next().unwrap().unwrap();
    assert!(fs::symlink_metadata(kept.path().join("pipe")).is_ok());
    assert!(fs::symlink_metadata(&pipe).is_err() && world.installed("pdf/SKILL.md").is_file());
}

/// An attacker can write versions that share no line.
#[test]
fn unrelated_texts_are_compared_in_bounded_time() {
    let world = World::bare();
    let text = |salt: u64| {
        let mut state = salt;
        let mut text = "---\nname: odd\ndescription: d\n---\n".to_owned();
        for _ in 0..120_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(salt);
            text.push(char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap()));
            text.push('\n');
        }
        text
    };
    world.repo("odd", "//- /SKILL.md\n---\nname: odd\ndescription: d\n---\n");
    world.env.write("skills/odd/SKILL.md", text(1).as_bytes());
    world.commit("odd", "");
    world.skillfile(r#"{"name": "odd", "branch": "main"}"#);
    world.install();
    world.env.write("skills/odd/SKILL.md", text(3).as_bytes());
    world.commit("odd", "");
    let start = std::time::Instant::now();
    assert!(world.csk("diff --project app").stdout.contains("changed SKILL.md"));
    assert!(start.elapsed() < std::time::Duration::from_secs(30), "it ends");
    // Binary files are not shown line by line.
    fs::write(world.installed("odd/SKILL.md"), vec![0; 10_000]).unwrap();
    let run = world.csk("diff --local --project app");
    assert!(
        run.stdout.len() < 1000 && run.stdout.contains("changed SKILL.md"),
        "{}",
        run.stdout.len()
    );
}

/// The same commands show, lock and verify the global scope.
#[test]
fn the_global_scope_supports_the_same_commands() {
    let world = World::new();
    assert_eq!(world.csk("global add pdf --tag v1").code, Some(0));
    assert_eq!(world.csk("global install").code, Some(0));
    for arguments in [
        "outdated --global",
        "diff --global",
        "lock --global",
        "verify --global",
        "status --global",
    ] {
        let run = world.csk(arguments);
        assert_eq!(run.code, Some(0), "{arguments}: {}{}", run.stdout, run.stderr);
    }
    assert!(world.home().join(".cocoaskills/global/Skillfile.lock").is_file());
    let skill = world.home().join(".cocoaskills/global/.agents/skills/pdf/SKILL.md");
    fs::write(skill, "mine\n").unwrap();
    let run = world.csk("diff --local --global --check");
    assert!(run.code == Some(1) && run.stdout.contains("changed SKILL.md"), "{}", run.stdout);
    let run = world.csk("doctor app");
    assert!(run.stdout.contains("csk diff --local pdf --global"), "{}", run.stdout);
}

#[test]
fn a_reference_deleted_on_the_remote_is_reported() {
    let world = world();
    world.git("origin", "tag -d v1");
    let run = world.csk("outdated app");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("the remote has no tag `v1`"), "{}", run.stderr);
}

/// An unreadable project is reported, also as JSON, and does not stop the others.
#[test]
fn unreadable_projects_are_always_reported() {
    let world = World::new();
    world.install();
    fs::create_dir_all(world.home().join(".cocoaskills/global")).unwrap();
    fs::write(world.home().join(".cocoaskills/global/Skillfile.json"), "{").unwrap();
    let run = world.csk("doctor app");
    assert!(
        run.code == Some(1) && run.stdout.contains("global/Skillfile.json:1:"),
        "{}",
        run.stdout
    );
    let run = world.csk("why pdf");
    assert!(run.code == Some(1) && run.stdout.contains("app: skill"), "{}", run.stdout);
    assert!(run.stderr.contains("global/Skillfile.json"), "{}", run.stderr);
    fs::remove_file(world.home().join(".cocoaskills/global/Skillfile.json")).unwrap();
    let other = world.env.path("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("Skillfile.json"), "{").unwrap();

    let config = world.read(world.home().join(".cocoaskills/config.json")).replace(
        "\"projects\": {",
        &format!("\"projects\": {{\"other\": {{\"path\": \"{}\"}}, ", other.display()),
    );
    fs::write(world.home().join(".cocoaskills/config.json"), config).unwrap();
    for (arguments, code) in [
        ("outdated --all --json", Some(1)),
        ("doctor --all --json", Some(1)),
        ("diff --json", Some(1)),
    ] {
        let run = world.csk(arguments);
        assert_eq!(run.code, code, "{arguments}: {}", run.stderr);
        assert!(run.stdout.contains("Skillfile.json:1:"), "{arguments}: {}", run.stdout);
    }
}
