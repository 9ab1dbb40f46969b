//! Input that means harm: a clear answer, soon, and nothing of it reaches the terminal or leaks.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use testkit::TestEnv;

use crate::openskills;

const CANARY: &str = "canary-of-another-folder";

#[test]
fn a_skill_file_that_is_no_file_is_refused_by_name() {
    let env = TestEnv::new();
    env.write(
        "secret.txt",
        format!("---\nname: link\ndescription: {CANARY}\n---\n{CANARY}\n").as_bytes(),
    );
    fs::create_dir_all(env.path("folder/SKILL.md")).unwrap();
    for name in ["fifo", "link", "absolute", "circle", "socket", "big", "device"] {
        fs::create_dir(env.path(name)).unwrap();
    }
    assert_eq!(env.run("mkfifo", "fifo/SKILL.md").code, Some(0));
    symlink("../secret.txt", env.path("link/SKILL.md")).unwrap();
    symlink("/etc/passwd", env.path("absolute/SKILL.md")).unwrap();
    symlink("SKILL.md", env.path("circle/SKILL.md")).unwrap();
    symlink("/dev/zero", env.path("device/SKILL.md")).unwrap();
    let _socket = UnixListener::bind(env.path("socket/SKILL.md")).unwrap();
    fs::File::create(env.path("big/SKILL.md")).unwrap().set_len(100 << 20).unwrap();
    for (name, said) in [
        ("folder", "error[not-a-file]: it is a folder, not a regular file"),
        ("fifo", "error[not-a-file]"),
        ("socket", "error[not-a-file]"),
        ("link", "error[link-escapes]"),
        ("absolute", "error[link-escapes]"),
        ("device", "error[link-escapes]"),
        ("circle", "error[link-escapes]"),
        ("big", "error[file-too-large]: it has 104857600 bytes; at most 1048576 are read"),
    ] {
        for command in
            ["validate", "validate --lenient", "validate -r", "show", "prompt", "validate --json"]
        {
            let run = openskills(&env, &format!("{command} {name}"));
            assert_eq!(run.code, Some(1), "{command} {name}: {}", run.stderr);
            let all = run.stdout + &run.stderr;
            assert!(!all.contains(CANARY) && !all.contains("root:"), "{command} {name}: {all}");
            if command == "validate" {
                assert!(all.contains(said), "{name}: {all}");
                assert!(all.contains(&format!("--> {name}")), "{name}: {all}");
            }
        }
    }
}

#[test]
fn text_of_a_skill_cannot_steer_the_terminal() {
    let env = TestEnv::new();
    let nasty = "\u{1b}]0;owned\u{7}\u{202e}\u{9b}2J";
    let file = format!(
        "---\nname: n{nasty}\ndescription: \"d \\e[31m \\u202E {CANARY}\"\nk{nasty}: v\n---\nB {nasty}\n"
    );
    env.write("a/SKILL.md", file.as_bytes());
    let file = "---\nname: \"b\\e[2J\"\ndescription: \"d \\e[31m \\u202E\"\n\"k\\e[1m\": \"\\e[7m\"\nmetadata:\n  m: \"\\e[3m\"\n---\nB\n";
    env.write("b/SKILL.md", file.as_bytes());
    env.write("b/x\u{202e}.md", b"");
    for arguments in [
        "validate a",
        "validate b",
        "validate --lenient b",
        "show b",
        "prompt b",
        "prompt b --format markdown",
        "validate -r .",
    ] {
        let run = openskills(&env, arguments);
        let all = run.stdout + &run.stderr;
        let bad = all.chars().find(|&c| c != '\n' && skill_is_unsafe(c));
        assert_eq!(bad, None, "{arguments}: {all:?}");
    }
}

fn skill_is_unsafe(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn a_path_that_is_not_text_is_an_error_and_not_a_crash() {
    let env = TestEnv::new();
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"bad\xff");
    fs::create_dir(env.work().join(name)).unwrap();
    let output =
        env.command(env!("CARGO_BIN_EXE_openskills"), &["validate"]).arg(name).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("error[path-not-text]: the path is not valid UTF-8")
    );
}

#[test]
fn a_link_to_a_folder_outside_is_not_walked() {
    let env = TestEnv::with("//- /s/SKILL.md\n---\nname: s\ndescription: d\n---\nB.\n");
    env.write("outside/secret.txt", CANARY.as_bytes());
    symlink("../outside", env.path("s/references")).unwrap();
    let run = openskills(&env, "show s --json");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("error[link-escapes]") && run.stderr.contains("--> s/references\n"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("\"target\": \"../outside\""), "{}", run.stdout);
    assert!(!run.stdout.contains("secret.txt") && !run.stdout.contains("digests"));
}
