//! Mistakes of the original csk, one test for each lesson. Lessons with a test elsewhere:
//!
//! * 2 locales drop keys: `install::locales_are_applied_and_a_missing_one_is_reported`
//! * 4 tampering goes unnoticed: `sources::a_tampered_cache_is_rebuilt`
//! * 5 deleted entries go unnoticed: `status::missing_agent_entries_are_detected`
//! * 6 a removed agent leaves links: `adapters::symlinks_for_agents_are_created_and_removed`
//! * 9 one skill blocks all: `install::one_failing_skill_does_not_stop_the_others`
//! * 11 replacement has a gap: `install::a_reader_never_finds_the_skill_missing`
//! * 12 a no-op rewrites: `install::installing_twice_changes_nothing`
//! * 13 a kill in the middle: `kill::an_install_killed_at_any_change_leaves_every_skill_old_or_new`
//! * 14 run time that grows faster than linearly: `bench/run`, from 10 to 200 skills
//! * 15 "tag not found" without a hint: `install::one_failing_skill_does_not_stop_the_others`

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::{SKILL, World};

#[test]
fn lesson_1_files_of_the_user_are_never_deleted() {
    let world = World::new();
    world.env.write("app/.agents/skills/mine/SKILL.md", b"mine");
    world.env.write("app/.agents/bin/tool", b"mine");
    world.install();
    world.skillfile("");
    world.install();
    assert_eq!(world.read(world.installed("mine/SKILL.md")), "mine");
    assert_eq!(world.read(world.app(".agents/bin/tool")), "mine");
}

#[test]
fn lesson_3_local_git_settings_change_no_byte() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    repo.commit("//- /.gitattributes\n* text=auto eol=crlf\nreferences export-ignore\n");
    repo.git("config core.autocrlf true");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    assert_eq!(world.read(world.installed("pdf/references/guide.md")), "Guide.\n");
}

#[test]
fn lesson_7_a_relative_path_is_stored_as_an_absolute_one() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_csk");
    let run = world.env.run_args(
        "sh",
        &["-c", &format!("mkdir other && cd other && {program} project add rel .")],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let config = world.read(world.home().join(".cocoaskills/config.json"));
    assert!(
        config.contains(&format!("\"path\": \"{}\"", world.env.path("other").display())),
        "{config}"
    );
    assert!(world.env.path("other/Skillfile.json").exists());
}

#[test]
fn lesson_8_one_malformed_skillfile_hides_no_other() {
    let world = World::new();
    world.env.write("bad/Skillfile.json", b"{");
    assert_eq!(world.csk("project add bad bad").code, Some(0));
    for (command, code) in [("list", 1), ("status --all", 1), ("install --all", 1)] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(code), "{command}: {}", run.stderr);
        assert!(run.stdout.contains("pdf"), "{command}: {}", run.stdout);
        assert!(run.stderr.contains("error[json-syntax]"), "{command}: {}", run.stderr);
    }
    assert_eq!(world.csk("install bad").code, Some(2), "the one target is malformed");
}

#[test]
fn lesson_10_a_closed_pipe_causes_no_error_output() {
    let world = World::new();
    let skills: Vec<String> = (0..1000)
        .map(|number| format!(r#"{{"name": "s{number:04}", "source": "pdf", "tag": "v1"}}"#))
        .collect();
    world.skillfile(&skills.join(","));
    for command in ["status", "install"] {
        let mut command = world.env.command(env!("CARGO_BIN_EXE_csk"), &[command, "app"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 4];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let noise: Vec<&str> = words.lines().filter(|line| !line.contains("warning: ")).collect();
        assert_eq!((noise, output.status.code()), (vec![], Some(141)));
    }
}

#[test]
fn lesson_16_names_never_become_paths() {
    let world = World::new();
    for skill in [
        r#"{"name": "../x", "tag": "v1"}"#,
        r#"{"name": "x", "source": "../../etc", "tag": "v1"}"#,
        r#"{"name": "a/b", "tag": "v1"}"#,
    ] {
        world.skillfile(skill);
        let run = world.csk("install app");
        assert_eq!(run.code, Some(2), "{skill}");
        assert!(run.stderr.contains("error[bad-identifier]"), "{skill}: {}", run.stderr);
    }
    assert!(!world.app(".agents").exists());
    assert!(fs::read_dir(world.env.work()).unwrap().count() <= 2);
}
