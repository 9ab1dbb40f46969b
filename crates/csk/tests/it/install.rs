use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::write_tree;

use crate::{SKILL, World};

#[test]
fn declared_skills_are_installed_without_development_files() {
    let world = World::new();
    let run = world.install();
    let commit = world.git("skills/pdf", "rev-parse --short=7 HEAD");
    assert_eq!(run.stdout, format!("app: pdf tag v1 {} installed\n", commit.trim()));
    assert_eq!(
        world.listing(".agents/skills"),
        "./.csk-managed.json\n./pdf/.csk-install.json\n./pdf/SKILL.md\n./pdf/references/guide.md\n"
    );
    assert_eq!(
        world.read(world.app(".agents/skills/.csk-managed.json")),
        "{\n  \"entries\": [\n    \"pdf\"\n  ],\n  \"schema_version\": 1\n}\n"
    );
    let marker = world.read(world.installed("pdf/.csk-install.json"));
    for part in [
        "\"ref_kind\": \"tag\"",
        "\"ref\": \"v1\"",
        "\"content_sha256\": \"sha256:",
        "\"bundle_sha256\": \"sha256:",
        "\"SKILL.md\"",
    ] {
        assert!(marker.contains(part), "{part}: {marker}");
    }
    assert!(
        !world.app(".agents/.csk-stage").exists()
            && !world.app(".agents/.csk-journal.json").exists()
    );
}

#[test]
fn installing_twice_changes_nothing() {
    let world = World::new();
    world.install();
    let times = || {
        let run = world.env.run_args("sh", &["-c", "find app ../home -not -name .lock -not -path '*/.git/*' -printf '%p %i %T@ %C@\\n' | sort"]);
        run.stdout
            .lines()
            .filter(|line| !line.starts_with("../home/.cocoaskills "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let before = times();
    let run = world.install();
    assert!(run.stdout.contains("up-to-date"), "{}", run.stdout);
    assert_eq!(times(), before);
}

/// Counts every call that could change something, except for csk's own lock.
#[test]
fn a_no_op_install_makes_no_writing_call() {
    let world = World::new();
    if world.env.run("strace", "--version").code != Some(0) {
        return testkit::skip("the calls of a no-op", "`strace` is not installed");
    }
    world.install();
    let calls = "trace=open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,\
                 symlink,symlinkat,link,linkat,truncate,ftruncate,chmod,fchmod,fchmodat,utimensat";
    let arguments =
        ["-f", "-qq", "-o", "calls", "-e", calls, env!("CARGO_BIN_EXE_csk"), "install", "app"];
    let run = world.env.run_args("strace", &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let log = world.read(world.env.path("calls"));
    let writes = |line: &&str| {
        let is_open = line.contains(" open");
        let is_writing =
            ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| line.contains(flag));
        // A thread from which strace detached made no call.
        let is_none = line.contains("<detached ...>");
        (!is_open || is_writing)
            && !is_none
            && !line.contains("resumed>")
            && !line.contains(" = -1 ")
    };
    let (own, others): (Vec<&str>, Vec<&str>) =
        log.lines().filter(writes).partition(|line| line.contains("/.cocoaskills/.lock"));
    // The lock file is created, truncated, written and removed; the truncation has no path in the log.
    let others: Vec<&str> =
        others.into_iter().filter(|line| !line.contains(" ftruncate(")).collect();
    assert_eq!(others, Vec::<&str>::new());
    assert!(own.len() <= 3, "{own:?}");
}

#[test]
fn a_skill_that_is_no_longer_declared_is_removed() {
    let world = World::new();
    world.install();
    world.skillfile("");
    let run = world.install();
    assert_eq!(run.stdout, "app: pdf removed\n");
    assert_eq!(world.listing(".agents/skills") + &world.listing(".claude"), "");
}

#[test]
fn one_failing_skill_does_not_stop_the_others() {
    let world = World::new();
    world.skillfile(r#"{"name": "none", "tag": "v1"}, {"name": "pdf", "tag": "v1"}, {"name": "pdf2", "source": "pdf", "tag": "v9"}"#);
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stdout.contains("app: pdf tag v1 ") && run.stdout.contains("installed"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("app: none: Skill repository not found: "), "{}", run.stderr);
    assert!(run.stderr.contains("app: pdf2: tag `v9` not found in "), "{}", run.stderr);
    assert!(run.stderr.contains("if it is new, run `csk update` to fetch it"), "{}", run.stderr);
}

#[test]
fn a_version_that_cannot_be_installed_keeps_the_old_one() {
    let world = World::new();
    world.install();
    world.git("skills/pdf", "rm --quiet SKILL.md");
    world.commit("pdf", "");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("app: pdf: no SKILL.md found"), "{}", run.stderr);
    assert!(world.read(world.installed("pdf/.csk-install.json")).contains("\"ref\": \"v1\""));
    assert!(world.installed("pdf/SKILL.md").exists());
}

#[test]
fn a_moved_tag_is_reported_and_followed_unless_tags_are_strict() {
    let world = World::new();
    world.install();
    let old = world.git("skills/pdf", "rev-parse --short=7 HEAD");
    world.commit("pdf", "//- /references/new.md\nnew\n");
    world.git("skills/pdf", "tag --force v1");
    let new = world.git("skills/pdf", "rev-parse --short=7 HEAD");
    let moved = format!("Moved tag for pdf: v1 {} -> {}", old.trim(), new.trim());
    let strict = world.csk("install app --strict-tags");
    assert_eq!(strict.code, Some(1));
    assert!(strict.stderr.contains(&moved), "{}", strict.stderr);
    assert!(!world.installed("pdf/references/new.md").exists());
    let run = world.install();
    assert!(run.stderr.contains(&format!("warning: pdf: {moved}")), "{}", run.stderr);
    assert!(world.installed("pdf/references/new.md").exists());
}

#[test]
fn edits_of_the_user_are_backed_up() {
    let world = World::new();
    world.install();
    fs::write(world.installed("pdf/SKILL.md"), "my own words").unwrap();
    let run = world.install();
    let line = run
        .stderr
        .lines()
        .find(|line| line.contains("your edits to pdf were backed up to "))
        .unwrap();
    let path = line
        .split("backed up to ")
        .nth(1)
        .unwrap()
        .replace("[ROOT]", &world.env.work().parent().unwrap().to_string_lossy());
    assert_eq!(world.read(format!("{path}/SKILL.md")), "my own words");
    assert!(world.read(world.installed("pdf/SKILL.md")).contains("Extracts text"));
}

#[test]
fn a_dry_run_shows_every_file_and_writes_nothing() {
    let world = World::new();
    let run = world.csk("install app --dry-run");
    assert_eq!(run.code, Some(0));
    for line in [
        "would be installed (dry-run)",
        "  write .agents/skills/pdf/SKILL.md",
        "  write .agents/skills/pdf/.csk-install.json",
        "  create .claude/skills/pdf",
    ] {
        assert!(run.stdout.contains(line), "{line}: {}", run.stdout);
    }
    assert!(!world.app(".agents").exists() && !world.app(".claude").exists());
    let run = world.csk("install app --verbose");
    assert!(run.stdout.contains("  write .agents/skills/pdf/SKILL.md\n"), "{}", run.stdout);
    // Deletions are shown as well: files removed by an update, and those of a skill that is no longer declared.
    world.git("skills/pdf", "rm --quiet references/guide.md");
    world.commit("pdf", "//- /references/new.md\n");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
    let run = world.csk("install app --dry-run");
    assert!(
        run.stdout.contains("  delete .agents/skills/pdf/references/guide.md\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("  write .agents/skills/pdf/references/new.md\n"),
        "{}",
        run.stdout
    );
    world.skillfile("");
    let run = world.csk("install app --dry-run");
    for path in ["SKILL.md", "references/guide.md", ""] {
        let line = format!("  delete .agents/skills/pdf/{path}\n");
        assert!(run.stdout.contains(&line), "{line}: {}", run.stdout);
    }
    assert!(world.installed("pdf/references/guide.md").exists());
}

#[test]
fn executable_bits_and_internal_symlinks_are_kept() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    write_tree(repo.path(), "//- /assets/run.sh\n#!/bin/sh\n");
    fs::set_permissions(repo.path().join("assets/run.sh"), PermissionsExt::from_mode(0o755))
        .unwrap();
    std::os::unix::fs::symlink("guide.md", repo.path().join("references/also.md")).unwrap();
    repo.commit("");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    assert_eq!(fs::metadata(world.installed("pdf/assets/run.sh")).unwrap().mode() & 0o111, 0o111);
    assert_eq!(fs::metadata(world.installed("pdf/SKILL.md")).unwrap().mode() & 0o111, 0);
    assert_eq!(
        fs::read_link(world.installed("pdf/references/also.md")).unwrap().to_str(),
        Some("guide.md")
    );
    assert!(
        world.install().stdout.contains("up-to-date"),
        "the digest counts a link as its file, installed or not"
    );
}

#[test]
fn a_reader_never_finds_the_skill_missing() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    for number in 1..=12 {
        repo.commit(&format!("//- /references/{number}.md\n{number}\n"));
        repo.git(&format!("tag n{number}"));
    }
    world.skillfile(r#"{"name": "pdf", "tag": "n1"}"#);
    world.install();
    let file = world.installed("pdf/SKILL.md");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(
                    fs::read_to_string(&file)
                        .expect("the skill always exists")
                        .ends_with("Body.\n")
                );
            }
        });
        for number in 2..=12 {
            world.skillfile(&format!(r#"{{"name": "pdf", "tag": "n{number}"}}"#));
            world.install();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(world.installed("pdf/references/12.md").exists());
}

#[test]
fn a_killed_install_is_completed_by_the_next() {
    let world = World::new();
    world.install();
    // The state after a kill between moving files into place and writing the ledgers.
    for ledger in [
        ".agents/skills/.csk-managed.json",
        ".claude/skills/.csk-managed.json",
        ".codex/skills/.csk-managed.json",
    ] {
        fs::remove_file(world.app(ledger)).unwrap();
    }
    let journal = r#"{"schema_version": 1, "adds": {".agents/skills": ["pdf", "mine"], ".claude/skills": ["pdf"], ".codex/skills": ["pdf"]}}"#;
    world.env.write("app/.agents/.csk-journal.json", journal.as_bytes());
    world.env.write("app/.agents/.csk-stage/half/SKILL.md", b"half");
    world.env.write("app/.agents/skills/mine/SKILL.md", b"the user's");
    // In this state, `status` knows which entries are csk's.
    let run = world.csk("status app --check");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    let run = world.install();
    assert!(run.stdout.contains("up-to-date"), "{}{}", run.stdout, run.stderr);
    assert!(
        !world.app(".agents/.csk-stage").exists()
            && !world.app(".agents/.csk-journal.json").exists()
    );
    assert_eq!(world.read(world.installed("mine/SKILL.md")), "the user's");
    assert!(!world.read(world.installed(".csk-managed.json")).contains("mine"));
}

#[test]
fn locales_are_applied_and_a_missing_one_is_reported() {
    let world = World::bare();
    let literal = format!(
        "{SKILL}//- /locales/metadata.json\n{{\"locales\": {{\"ru\": {{\"description\": \"Извлекает текст\"}}}}}}\n//- /.skill_triggers/ru.md\n- текст\n"
    );
    world.repo("pdf", &literal);
    world.config(r#", "preferred_locale": "ru""#);
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    let text = world.read(world.installed("pdf/SKILL.md"));
    assert_eq!(
        text,
        "---\nname: pdf\ndescription: \"Извлекает текст\"\nlicense: MIT\ntriggers: [\"текст\"]\n---\nBody.\n"
    );
    assert!(!world.installed("pdf/locales").exists());
    // The project's locale takes precedence over the preferred one.
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "locale": "de", "skills": [{"name": "pdf", "branch": "main"}]}"#,
    );
    let run = world.install();
    assert!(
        run.stderr.contains("locale `de` is not available; using the source text (available: ru)"),
        "{}",
        run.stderr
    );
    assert!(world.read(world.installed("pdf/SKILL.md")).contains("Extracts text"));
}

/// A symlink in place of one skill does not stop the others.
#[test]
fn a_symlink_in_place_of_a_skill_does_not_stop_the_others() {
    let world = World::new();
    world.repo("notes", &SKILL.replace("name: pdf", "name: notes")).git("tag v1");
    world.install();
    fs::rename(world.installed("pdf"), world.env.path("moved")).unwrap();
    std::os::unix::fs::symlink(world.env.path("moved"), world.installed("pdf")).unwrap();
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}, {"name": "notes", "tag": "v1"}"#);
    let run = world.csk("install app");
    assert!(!run.stderr.contains("beyond a symbolic link"), "{}", run.stderr);
    assert!(world.installed("notes/SKILL.md").is_file(), "{}{}", run.stdout, run.stderr);
}
