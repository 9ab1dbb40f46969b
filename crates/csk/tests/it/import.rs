//! `csk import`: from the lockfiles of another manager, and from folders of agents.

use std::fs;

use serde_json::Value;

use crate::{SKILL, World};

const MANY: &str = "\
//- /skills/pdf/SKILL.md
---
name: pdf
description: Extracts text.
---
//- /skills/notes/SKILL.md
---
name: notes
description: Writes notes.
---
";

fn world() -> World {
    let world = World::bare();
    world.config(r#", "allow_local_sources": true"#);
    let many = testkit::GitRepo::new(&world.env, "upstream/many", MANY);
    many.git("tag v1");
    world
}

fn lock(world: &World, version: u32) -> String {
    let url = format!("file://{}", world.env.path("upstream/many").display());
    format!(
        r#"{{"version": {version}, "skills": {{
            "pdf": {{"source": "acme/many", "sourceUrl": "{url}", "sourceType": "git", "ref": "v1", "skillPath": "skills/pdf/SKILL.md", "computedHash": "x"}},
            "notes": {{"source": "acme/many", "sourceUrl": "{url}", "sourceType": "git", "skillPath": "skills/notes/SKILL.md"}},
            "near": {{"source": "./near", "sourceType": "local"}}}}}}"#
    )
}

#[test]
fn the_lockfile_of_another_manager_is_imported() {
    let world = world();
    let text = lock(&world, 1);
    fs::write(world.app("skills-lock.json"), &text).unwrap();
    fs::remove_file(world.app("Skillfile.json")).ok();
    let run = world.csk("import app/skills-lock.json --dry-run");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(
        !world.env.path("Skillfile.json").exists()
            && !world.env.path("skills/upstream-many").exists()
    );
    world.skillfile("");
    let run = world.csk("import --project app");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("near: skipped: "), "{}", run.stderr);
    let file: Value = serde_json::from_str(&world.read(world.app("Skillfile.json"))).unwrap();
    let skills = file["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 2, "{file}");
    let of = |name: &str| skills.iter().find(|skill| skill["name"] == name).unwrap();
    assert_eq!((&of("pdf")["tag"], &of("pdf")["path"]), (&"v1".into(), &"skills/pdf".into()));
    assert_eq!(of("notes")["branch"], "main", "{file}");
    assert_eq!(
        world.read(world.app("skills-lock.json")),
        text,
        "csk does not change the file of another program"
    );
    for command in ["install app", "lock --project app", "verify app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
    }
    assert!(world.installed("notes/SKILL.md").is_file());
    // A second import finds nothing new.
    let run = world.csk("import --project app");
    assert!(run.stderr.contains("pdf: skipped: already declared"), "{}", run.stderr);
}

#[test]
fn the_users_lockfile_is_imported_to_the_global_scope() {
    let world = world();
    let home = world.home();
    fs::create_dir_all(home.join(".agents")).unwrap();
    fs::write(home.join(".agents/.skill-lock.json"), lock(&world, 3)).unwrap();
    let run = world.csk("import --global");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let text = world.read(home.join(".cocoaskills/global/Skillfile.json"));
    assert!(text.contains("\"pdf\"") && text.contains("\"notes\""), "{text}");
    assert_eq!(world.csk("global install").code, Some(0));
}

#[test]
fn a_plain_folder_is_adopted_on_request_and_backed_up() {
    let world = world();
    world.skillfile("");
    testkit::write_tree(
        &world.app(".claude/skills/mine"),
        &SKILL.replace("name: pdf", "name: mine"),
    );
    let run = world.csk("import --project app");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("use --adopt to turn it into a repository"), "{}", run.stderr);
    assert!(world.app(".claude/skills/mine/SKILL.md").is_file());
    let run = world.csk("import --project app --adopt");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let kept = world.app(".agents/backups/mine-imported-0/references/guide.md");
    assert_eq!(world.read(kept), "Guide.\n");
    world.install();
    let link = fs::read_link(world.app(".claude/skills/mine")).unwrap();
    assert_eq!(link.to_string_lossy(), "../../.agents/skills/mine");
    assert_eq!(world.csk("verify app").code, Some(0));
    // csk's own entries are not imported.
    let run = world.csk("import --project app --adopt");
    assert!(run.code == Some(0) && run.stderr.contains("nothing to import"), "{}", run.stderr);
}

#[test]
fn failed_imports_are_reported_and_nothing_is_written() {
    let world = world();
    world.skillfile("");
    let before = world.read(world.app("Skillfile.json"));
    for (text, code, expected) in [
        ("{", 2, "skills-lock.json:1:"),
        (r#"{"version": 9, "skills": {}}"#, 2, "`version` is 9"),
        (
            r#"{"version": 1, "skills": {"a": {"source": "x/y", "sourceType": "git", "sourceUrl": "file:///nonexistent", "ref": "v1"}}}"#,
            1,
            "a: skipped:",
        ),
        (
            r#"{"version": 1, "skills": {"a": {"source": "x/y", "sourceUrl": "file:///x", "sourceType": "git", "skillPath": "../../etc/SKILL.md"}}}"#,
            1,
            "`skillPath` is not a valid path",
        ),
        (
            r#"{"version": 1, "skills": {"../a": {"source": "x/y", "sourceType": "github"}}}"#,
            1,
            "skipped:",
        ),
    ] {
        fs::write(world.app("skills-lock.json"), text).unwrap();
        let run = world.csk("import --project app");
        assert_eq!(run.code, Some(code), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{text}: {}", run.stderr);
        assert_eq!(world.read(world.app("Skillfile.json")), before);
    }
    // A malformed ledger is not treated as empty.
    fs::remove_file(world.app("skills-lock.json")).unwrap();
    testkit::write_tree(&world.app(".claude/skills/mine"), SKILL);
    fs::write(world.app(".claude/skills/.csk-managed.json"), "{").unwrap();
    let run = world.csk("import --project app --adopt");
    assert!(run.code == Some(2) && run.stderr.contains(".csk-managed.json"), "{}", run.stderr);
    assert!(world.app(".claude/skills/mine/SKILL.md").is_file());
    let run = world.csk("import nothing.json --project app");
    assert!(
        run.code == Some(2) && run.stderr.contains("cannot read `nothing.json`"),
        "{}",
        run.stderr
    );
}

/// Repositories with the same name on different hosts are different.
#[test]
fn repositories_with_the_same_name_are_distinguished() {
    let world = world();
    for host in ["a", "b"] {
        testkit::GitRepo::new(
            &world.env,
            &format!("{host}/acme/skills"),
            &format!("//- /SKILL.md\n---\nname: {host}\ndescription: d\n---\nfrom {host}\n"),
        );
    }
    let entry = |host: &str| {
        let url = world.env.path(&format!("{host}/acme/skills")).display().to_string();
        format!(r#""{host}": {{"sourceUrl": "file://{url}", "sourceType": "git"}}"#)
    };
    let text = format!(r#"{{"version": 1, "skills": {{{}, {}}}}}"#, entry("a"), entry("b"));
    fs::write(world.app("skills-lock.json"), text).unwrap();
    world.skillfile("");
    let run = world.csk("import --project app");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    world.install();
    for host in ["a", "b"] {
        let skill = world.read(world.installed(&format!("{host}/SKILL.md")));
        assert!(skill.contains(&format!("from {host}")), "{skill}");
    }
}

/// An untrusted checkout may contain symlinks: nothing behind them is moved.
#[test]
fn symlinks_are_not_followed_when_moving_folders() {
    let world = world();
    world.skillfile("");
    testkit::write_tree(&world.env.path("outside/victim"), SKILL);
    fs::create_dir_all(world.app(".claude")).unwrap();
    std::os::unix::fs::symlink(world.env.path("outside"), world.app(".claude/skills")).unwrap();
    let run = world.csk("import --project app --adopt");
    assert!(
        run.code == Some(2) && run.stderr.contains("refusing to follow symlink"),
        "{}",
        run.stderr
    );
    assert!(world.env.path("outside/victim/SKILL.md").is_file());
    fs::remove_file(world.app(".claude/skills")).unwrap();
    testkit::write_tree(
        &world.app(".claude/skills/lone"),
        &SKILL.replace("name: pdf", "name: lone"),
    );
    fs::create_dir_all(world.app(".agents")).unwrap();
    std::os::unix::fs::symlink(world.env.path("outside"), world.app(".agents/backups")).unwrap();
    let run = world.csk("import --project app --adopt");
    assert!(
        run.code == Some(2) && run.stderr.contains("refusing to follow symlink"),
        "{}",
        run.stderr
    );
    assert!(world.app(".claude/skills/lone/SKILL.md").is_file());
    assert_eq!(fs::read_dir(world.env.path("outside")).unwrap().count(), 1);
    // The same with an explicit lockfile, if a symlink is in place of the skills folder.
    fs::remove_file(world.app(".agents/backups")).unwrap();
    std::os::unix::fs::symlink(world.env.path("outside"), world.app(".agents/skills")).unwrap();
    fs::write(world.app("skills-lock.json"), lock(&world, 1).replace("\"pdf\"", "\"victim\""))
        .unwrap();
    let run = world.csk("import app/skills-lock.json --project app --adopt");
    assert!(
        run.code == Some(2) && run.stderr.contains("refusing to follow symlink"),
        "{}",
        run.stderr
    );
    assert!(world.env.path("outside/victim/SKILL.md").is_file());
}

/// Only conflicting folders are moved, also in a second run, and the agent keeps its skills.
#[test]
fn folders_that_conflict_with_nothing_stay() {
    let world = world();
    world.skillfile("");
    testkit::write_tree(&world.env.path("lib/mine"), &SKILL.replace("name: pdf", "name: mine"));
    let run = world.csk("import lib --project app --adopt");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(world.env.path("lib/mine/SKILL.md").is_file());
    // A folder that is itself a skill is imported as one.
    world.skillfile("");
    let run = world.csk("import lib/mine --project app --adopt");
    assert!(run.code == Some(0) && run.stdout.contains("mine added"), "{}", run.stderr);
    fs::create_dir_all(world.env.path("empty")).unwrap();
    let run = world.csk("import empty --project app");
    assert!(run.code == Some(2) && run.stderr.contains("no skills found in"), "{}", run.stderr);
    // Already declared, but still a conflict.
    testkit::write_tree(
        &world.app(".claude/skills/mine"),
        &SKILL.replace("name: pdf", "name: mine"),
    );
    let run = world.csk("import --project app --adopt");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    world.install();
    assert!(world.app(".agents/backups/mine-imported-0/SKILL.md").is_file());
    // If no agent is configured, the owner of the folder is used.
    let text = world.read(world.home().join(".cocoaskills/config.json"));
    let text = text.replace("[\"claude_code\", \"codex_cli\"]", "[]");
    fs::write(world.home().join(".cocoaskills/config.json"), text).unwrap();
    fs::remove_file(world.app("Skillfile.json")).unwrap();
    fs::remove_dir_all(world.app(".claude")).unwrap();
    testkit::write_tree(&world.app(".claude/skills/own"), &SKILL.replace("name: pdf", "name: own"));
    let env = std::mem::take(&mut World { env: world.env }.env);
    let world = World { env };
    let run = world.env.run_args(
        "sh",
        &["-c", &format!("cd app && {} import --adopt", env!("CARGO_BIN_EXE_csk"))],
    );
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(world.csk("install app").code, Some(0));
    assert!(world.app(".claude/skills/own/SKILL.md").is_file());
}

/// The user's own repository is not confused with the imported one, nor a branch with a tag.
#[test]
fn repositories_and_references_are_not_confused() {
    let world = world();
    world.skillfile("");
    world.repo("upstream-many", SKILL).git("tag v1");
    fs::write(world.app("skills-lock.json"), lock(&world, 1)).unwrap();
    world.csk("import --project app");
    let text = world.read(world.app("Skillfile.json"));
    assert!(!text.contains("\"source\": \"upstream-many\""), "{text}");
    // A clone on a branch with the same name as a tag, and with an unpublished commit.
    world.git("upstream/many", "checkout --quiet -b v1");
    fs::create_dir_all(world.app(".claude/skills")).unwrap();
    fs::remove_file(world.app("skills-lock.json")).unwrap();
    let one = testkit::GitRepo::new(&world.env, "upstream/one", SKILL);
    one.git("tag v1");
    one.git("checkout --quiet -b v1");
    let url = world.env.path("upstream/one").display().to_string();
    let path = world.app(".claude/skills/pdf").display().to_string();
    assert_eq!(world.env.run_args("git", &["clone", "--quiet", &url, &path]).code, Some(0));
    fs::write(world.app(".claude/skills/pdf/SKILL.md"), SKILL).unwrap();
    world.git("app/.claude/skills/pdf", "commit --quiet --all -m mine");
    world.skillfile("");
    let run = world.csk("import --project app");
    assert!(run.stdout.contains("branch v1"), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("has unpushed commits"), "{}", run.stderr);
}

/// An adopted folder is checked like a clone, and its bytes do not change.
#[test]
fn a_folder_is_adopted_unchanged_or_not_at_all() {
    let world = world();
    world.skillfile("");
    let own = SKILL.replace("name: pdf", "name: own");
    testkit::write_tree(&world.app(".claude/skills/own"), &own);
    fs::write(world.app(".claude/skills/own/.gitattributes"), "*.md text eol=crlf\n").unwrap();
    fs::write(world.app(".claude/skills/own/references/crlf.md"), "a\r\nb\n").unwrap();
    fs::write(world.app(".claude/skills/own/helper.py"), "x\n").unwrap();
    testkit::write_tree(
        &world.app(".claude/skills/nest"),
        &SKILL.replace("name: pdf", "name: nest"),
    );
    fs::create_dir_all(world.app(".claude/skills/nest/sub/.git")).unwrap();
    let run = world.csk("import --project app --adopt --dry-run");
    assert!(run.stderr.contains("nest: skipped:"), "{}", run.stderr);
    let run = world.csk("import --project app --adopt");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("it contains another git repository"), "{}", run.stderr);
    assert!(
        run.stderr.contains("but are not installed:") && run.stderr.contains("helper.py"),
        "{}",
        run.stderr
    );
    assert!(world.app(".claude/skills/nest/SKILL.md").is_file());
    assert!(!world.env.path("skills/nest").exists());
    world.install();
    assert_eq!(fs::read(world.installed("own/references/crlf.md")).unwrap(), b"a\r\nb\n");
}

/// After a kill or a failure, a second import continues.
#[test]
fn an_interrupted_import_can_be_repeated() {
    let world = world();
    world.skillfile("");
    let mine = world.app(".claude/skills/mine");
    testkit::write_tree(&mine, &SKILL.replace("name: pdf", "name: mine"));
    assert_eq!(world.csk("import --project app --adopt").code, Some(0));
    // Simulates a kill before the Skillfile was written.
    world.skillfile("");
    fs::create_dir_all(world.app(".claude/skills")).unwrap();
    fs::rename(world.app(".agents/backups/mine-imported-0"), &mine).unwrap();
    let run = world.csk("import --project app --adopt");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    // A different existing repository is left alone.
    world.skillfile("");
    fs::rename(world.app(".agents/backups/mine-imported-0"), &mine).unwrap();
    fs::write(mine.join("references/guide.md"), "other\n").unwrap();
    let run = world.csk("import --project app --adopt");
    assert!(
        run.code == Some(1) && run.stderr.contains("already exists with different contents"),
        "{}",
        run.stderr
    );
    assert!(mine.join("SKILL.md").is_file());
}

/// The layout of other managers: the skill in .agents/skills, a symlink in .claude/skills.
#[test]
fn conflicting_folders_are_reported_or_moved() {
    let world = world();
    fs::write(world.app("skills-lock.json"), lock(&world, 1)).unwrap();
    world.skillfile("");
    testkit::write_tree(&world.app(".agents/skills/pdf"), SKILL);
    fs::create_dir_all(world.app(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../.agents/skills/pdf", world.app(".claude/skills/pdf"))
        .unwrap();
    let run = world.csk("import --project app");
    assert!(run.stderr.contains(".agents/skills/pdf` blocks `csk install`"), "{}", run.stderr);
    world.skillfile("");
    let run = world.csk("import --project app --adopt");
    assert!(run.stdout.contains("pdf added"), "{}{}", run.stdout, run.stderr);
    world.install();
    assert!(world.app(".agents/backups/pdf-imported-0/SKILL.md").is_file());
}

#[test]
fn concurrent_changes_are_not_lost() {
    let mut world = world();
    world.repo("other", SKILL).git("tag v1");
    fs::write(world.app("skills-lock.json"), lock(&world, 1)).unwrap();
    world.skillfile("");
    let csk = env!("CARGO_BIN_EXE_csk");
    let work = world.env.work().display().to_string();
    let add = format!(
        "(cd {work}; [ -e added ] || {{ touch added; {csk} add other --tag v1 --project app; }})"
    );
    world.wrap_git("*clone*", &add);
    world.csk("import --project app");
    let text = world.read(world.app("Skillfile.json"));
    assert!(text.contains("\"other\"") && text.contains("\"notes\""), "{text}");
}

#[test]
fn the_checked_out_commit_is_declared_without_passwords() {
    let world = world();
    world.skillfile("");
    let one = testkit::GitRepo::new(&world.env, "upstream/one", SKILL);
    one.git("tag v1");
    let first = world.git("upstream/one", "rev-parse v1").trim().to_owned();
    testkit::write_tree(&world.env.path("upstream/one"), "//- /references/more.md\nx\n");
    world.git("upstream/one", "add --all");
    world.git("upstream/one", "commit --quiet -m more");
    // A clone with a separate git directory, like a submodule, at an older commit.
    let url = format!("file://{}", world.env.path("upstream/one").display());
    fs::create_dir_all(world.app(".claude/skills")).unwrap();
    let path = world.app(".claude/skills/pdf").display().to_string();
    let away = world.env.path("away").display().to_string();
    let words = ["clone", "--quiet", "--separate-git-dir", &away, &url, &path];
    assert_eq!(world.env.run_args("git", &words).code, Some(0));
    world.git("app/.claude/skills/pdf", &format!("checkout --quiet {first}"));
    let secret = world.app(".claude/skills/crd");
    testkit::write_tree(&secret, &SKILL.replace("name: pdf", "name: crd"));
    world.git("app/.claude/skills/crd", "init --quiet");
    world.git("app/.claude/skills/crd", "add --all");
    world.git("app/.claude/skills/crd", "commit --quiet -m one");
    world.git("app/.claude/skills/crd", "remote add origin https://bot:ghp_SECRET@git.invalid/o/n");
    let run = world.csk("import --project app --dry-run --json");
    assert!(
        !run.stdout.contains("SECRET") && run.stdout.contains("git.invalid/o/n"),
        "{}",
        run.stdout
    );
    let run = world.csk("import --project app --offline");
    assert!(!run.stderr.contains("SECRET"), "{}", run.stderr);
    let run = world.csk("import --project app");
    assert!(run.stdout.contains(&format!("revision {first}")), "{}{}", run.stdout, run.stderr);
    assert!(!world.read(world.app("Skillfile.json")).contains("SECRET"));
}

/// Nothing is skipped silently, and nothing hangs.
#[test]
fn unusable_entries_are_reported() {
    let world = world();
    world.skillfile("");
    let lock = world.app("skills-lock.json").display().to_string();
    assert_eq!(world.env.run_args("mkfifo", &[&lock]).code, Some(0));
    let run = world.csk("import --project app");
    assert!(run.code == Some(2) && run.stderr.contains("skills-lock.json"), "{}", run.stderr);
    fs::remove_file(&lock).unwrap();
    let odd = world.app(".claude/skills/odd");
    fs::create_dir_all(odd.join("SKILL.md")).unwrap();
    let hang = world.app(".claude/skills/hang");
    testkit::write_tree(&hang, SKILL);
    fs::create_dir_all(hang.join(".git")).unwrap();
    let head = hang.join(".git/HEAD").display().to_string();
    assert_eq!(world.env.run_args("mkfifo", &[&head]).code, Some(0));
    let run = world.csk("import --project app --dry-run");
    assert!(
        run.stderr.contains("odd: skipped: its SKILL.md is not a regular file"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("hang: skipped: its .git is not a git repository"),
        "{}",
        run.stderr
    );
    for (url, expected) in [("ext::sh -c x@y:z", "is not allowed"), ("file:///x/y", "skills")] {
        let text = format!(
            r#"{{"version": 1, "skills": {{"x": {{"sourceUrl": "{url}", "sourceType": "git", "ref": "-f"}}}}}}"#
        );
        fs::write(&lock, text).unwrap();
        let run = world.csk("import --project app --dry-run");
        assert_eq!(run.code, Some(1), "{url}: {}{}", run.stdout, run.stderr);
        assert!(
            run.stderr.contains(expected) || run.stderr.contains("invalid tag, branch or commit"),
            "{}",
            run.stderr
        );
        assert!(!run.stdout.contains("x would be"), "{}", run.stdout);
    }
    // The error is the actual reason, not the last one.
    let url = world.env.path("upstream/many").display().to_string();
    let text = format!(
        r#"{{"version": 1, "skills": {{"x": {{"sourceUrl": "file://{url}", "sourceType": "git", "skillPath": "nope/SKILL.md"}}}}}}"#
    );
    fs::write(&lock, text).unwrap();
    let run = world.csk("import --project app");
    assert!(run.stderr.contains("no folder `nope`"), "{}", run.stderr);
}
