//! Input that means harm: a clear answer, soon, and nothing of it reaches the terminal or leaks.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use testkit::TestEnv;

use crate::openskills;

const CANARY: &str = "canary-of-another-folder";

#[test]
fn a_skill_file_that_is_not_a_regular_file_is_refused() {
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
        ("folder", "error[not-a-file]: expected a regular file, found a folder"),
        ("fifo", "error[not-a-file]"),
        ("socket", "error[not-a-file]"),
        ("link", "error[link-escapes]"),
        ("absolute", "error[link-escapes]"),
        ("device", "error[link-escapes]"),
        ("circle", "error[link-escapes]"),
        ("big", "error[file-too-large]: too large: 100 MiB (limit: 1 MiB)"),
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
fn text_of_a_skill_cannot_control_the_terminal() {
    let env = TestEnv::new();
    let nasty = "\u{1b}]0;owned\u{7}\u{202e}\u{9b}2J";
    let file = format!(
        "---\nname: n{nasty}\ndescription: \"d \\e[31m \\u202E\"\nk{nasty}: v\n---\nB {nasty}\n"
    );
    env.write("a/SKILL.md", file.as_bytes());
    // What lenient reading still takes: direction marks everywhere, control characters in the body.
    let file = format!(
        "---\nname: \"b\\u202E\"\ndescription: \"d \u{200f} \\u2066\"\n\"k\\u202E\": \"\\u202A\"\nmetadata:\n  m\u{202e}: \"\\u202E\"\n---\nB {nasty}\n"
    );
    env.write("b/SKILL.md", file.as_bytes());
    env.write("b/x\u{202e}.md", b"");
    env.write("b/agents/openai.yaml", format!("policy: [\"{nasty}\n").as_bytes());
    for command in ["validate", "validate --lenient", "show", "prompt", "prompt --format markdown"]
    {
        for arguments in [
            command.to_owned(),
            format!("{command} --json"),
            format!("{command} --sarif"),
            format!("{command} --format json"),
            format!("{command} -r"),
        ] {
            for skill in ["a", "b", "."] {
                let run = openskills(&env, &format!("{arguments} {skill}"));
                let all = run.stdout + &run.stderr;
                assert!(!all.contains(skill::is_unsafe_to_show), "{arguments} {skill}: {all:?}");
            }
        }
    }
    assert!(openskills(&env, "show b").stdout.contains("k\u{fffd}"), "the skill is shown");
}

#[test]
fn paths_with_direction_characters_are_not_put_in_prompts() {
    let env = TestEnv::new();
    env.write("a\u{202e}b/c/SKILL.md", b"---\nname: c\ndescription: d\n---\nB.\n");
    env.write("two  blanks/c/SKILL.md", b"---\nname: c\ndescription: d\n---\nB.\n");
    let prompt = |path: &str, more: &[&str]| {
        let arguments = [&["prompt", path], more].concat();
        env.run_args(env!("CARGO_BIN_EXE_openskills"), &arguments)
    };
    let run = prompt("a\u{202e}b/c", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("error[path-not-text]"), "{}", run.stderr);
    assert_eq!(prompt("a\u{202e}b/c", &["--no-location"]).code, Some(0));
    assert!(
        prompt("two  blanks/c", &[]).stdout.contains("/two  blanks/c/SKILL.md<"),
        "a location is exact"
    );
}

#[test]
fn hostile_files_are_validated_in_bounded_time_and_memory() {
    let head = "---\nname: x\ndescription: d\n";
    let files = [
        format!("{head}---\n{}", "[a](b) ".repeat(149_000)),
        format!("{head}---\n{}", (0..90_000).map(|n| format!("[a](b{n}) ")).collect::<String>()),
        format!("{head}---\n](){}", "*a_ ".repeat(249_000)),
        format!("{head}---\n{}", "\u{1b}".repeat(1_000_000)),
        format!("{head}allowed-tools: \"{}\"\n---\n", "a) ".repeat(20_000)),
        format!("{head}paths: [{}]\n---\n", "[],".repeat(9_000)),
        format!("{head}{}---\n", "a: b: c\n".repeat(8_000)),
        format!("{head}{}---\n", (0..4_900).map(|n| format!("naem{n}:\n")).collect::<String>()),
        format!("{head}a: {}\n---\n", "[".repeat(50_000)),
    ];
    let env = TestEnv::new();
    let program = env!("CARGO_BIN_EXE_openskills");
    for (number, file) in files.iter().enumerate() {
        env.write(&format!("{number}/x/SKILL.md"), file.as_bytes());
        // Far more than it takes even unoptimised: this catches a hang. `bench/run` measures.
        let call = format!("ulimit -v 600000; timeout 10 {program} validate {number}/x");
        let run = env.run_args("sh", &["-c", &call]);
        assert!(matches!(run.code, Some(0 | 1)), "file {number}: {:?} {}", run.code, run.stderr);
        assert!(
            run.stderr.len() < 100_000,
            "file {number} makes {} bytes of words",
            run.stderr.len()
        );
    }
}

#[test]
fn a_path_that_is_not_utf8_is_an_error() {
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
fn a_symlink_to_an_outside_folder_is_not_followed() {
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

#[test]
fn an_argument_cannot_control_the_terminal() {
    let env = TestEnv::new();
    let run =
        env.run_args(env!("CARGO_BIN_EXE_openskills"), &["validate", "--\u{1b}]0;owned\u{7}"]);
    assert_eq!(run.code, Some(2));
    assert!(!run.stderr.contains(skill::is_unsafe_to_show), "{:?}", run.stderr);
}

#[test]
fn an_unreadable_codex_file_hides_the_skill_with_a_warning() {
    let env = TestEnv::with("//- /s/SKILL.md\n---\nname: s\ndescription: d\n---\nB.\n");
    fs::create_dir_all(env.path("s/agents/openai.yaml")).unwrap();
    let run = openskills(&env, "validate s");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Valid skill: s (1 warning)\n"));
    assert_eq!(openskills(&env, "prompt s").stdout, "");
}
