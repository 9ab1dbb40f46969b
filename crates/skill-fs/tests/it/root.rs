use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use skill_fs::{FsError, Root, SkillFile};
use testkit::TestEnv;

use crate::{abs, open, rel};

const CANARY: &str = "canary-of-another-folder";

fn hostile() -> TestEnv {
    let env = TestEnv::with("//- /skill/SKILL.md\nhello\n//- /skill/references/a.md\nA\n");
    env.write("secret.txt", CANARY.as_bytes());
    let link = |target: &str, name: &str| symlink(target, env.path("skill").join(name)).unwrap();
    link("references/a.md", "inside");
    link("references", "folder");
    link("../secret.txt", "out");
    link("/etc/passwd", "absolute");
    link("/proc/self/environ", "magic");
    link("..", "up");
    link("circle", "circle");
    link("nothing", "dangling");
    assert_eq!(env.run("mkfifo", "skill/fifo").code, Some(0));
    env
}

#[test]
fn files_below_the_folder_are_read() {
    let env = hostile();
    let root = open(&env, "skill");
    for (path, text) in [
        ("SKILL.md", "hello\n"),
        ("references/a.md", "A\n"),
        ("inside", "A\n"),
        ("folder/a.md", "A\n"),
    ] {
        assert_eq!(root.read(&rel(path), 100).unwrap(), text.as_bytes(), "{path}");
    }
}

#[test]
fn nothing_outside_is_read_or_shown_in_errors() {
    let env = hostile();
    let _socket = UnixListener::bind(env.path("skill/socket")).unwrap();
    let root = open(&env, "skill");
    for (path, message) in [
        ("out", "points outside the folder"),
        ("absolute", "points outside the folder"),
        ("magic", "points outside the folder"),
        ("up/secret.txt", "points outside the folder"),
        ("circle", "forms a loop"),
        ("dangling", "does not exist"),
        ("missing", "does not exist"),
        ("SKILL.md/x", "is not a folder"),
        ("references", "is a folder, not a regular file"),
        ("fifo", "not a regular file"),
        ("socket", "not a regular file"),
    ] {
        let error = root.read(&rel(path), 100).unwrap_err().to_string();
        assert!(error.contains(message), "{path}: {error}");
        assert!(!error.contains(CANARY), "{path}: {error}");
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let env = TestEnv::new();
    let file = fs::File::create(env.path("big")).unwrap();
    file.set_len(100 << 20).unwrap();
    let error = open(&env, "").read(&rel("big"), 1 << 20).unwrap_err();
    assert!(
        matches!(error, FsError::TooLarge { size: 104_857_600, limit: 1_048_576, .. }),
        "{error}"
    );
    assert_eq!(open(&env, "").read(&rel("big"), 100 << 20).unwrap().len(), 100 << 20);
}

#[test]
fn an_open_root_stays_the_same_folder_when_its_path_is_replaced() {
    let env = hostile();
    let root = open(&env, "skill");
    fs::rename(env.path("skill"), env.path("moved")).unwrap();
    symlink("/etc", env.path("skill")).unwrap();
    assert_eq!(root.read(&rel("SKILL.md"), 100).unwrap(), b"hello\n");
    assert!(root.read(&rel("passwd"), 100_000).is_err());
}

#[test]
fn a_root_must_be_a_folder() {
    let env = hostile();
    assert!(matches!(
        Root::open(&abs(env.path("skill/SKILL.md"))),
        Err(FsError::NotAFolder { .. })
    ));
    assert!(matches!(Root::open(&abs(env.path("none"))), Err(FsError::NotFound { .. })));
}

#[test]
fn the_skill_file_is_picked_by_its_name() {
    for (names, picked) in [
        (vec!["SKILL.md", "skill.md"], SkillFile::Standard),
        (vec!["skill.md", "Skill.md"], SkillFile::Fallback),
        (vec!["Skill.MD", "README.md"], SkillFile::WrongCase(rel("Skill.MD"))),
        (vec!["README.md"], SkillFile::Missing),
    ] {
        let env = TestEnv::new();
        names.iter().for_each(|name| env.write(name, b"x"));
        assert_eq!(open(&env, "").skill_file().unwrap(), picked, "{names:?}");
    }
}

#[test]
fn existence_is_checked_without_leaving_the_folder() {
    let env = hostile();
    let root = open(&env, "skill");
    for (path, exists) in [
        ("references", true),
        ("references/a.md", true),
        ("references/b.md", false),
        ("dangling", false),
    ] {
        assert_eq!(root.has(&rel(path)).unwrap(), exists, "{path}");
    }
    assert!(matches!(root.has(&rel("out")), Err(FsError::Escapes { .. })));
}
