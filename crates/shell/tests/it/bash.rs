//! Checks that a real bash starts no program other than those in the parsed line.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Programs that only record their name.
const PROGRAMS: [&str; 6] = ["git", "rm", "sh", "curl", "evil", "a"];

#[test]
fn bash_starts_only_the_parsed_programs() {
    let Ok(bash) = which("bash") else {
        testkit::skip("programs that bash starts", "`bash` is not installed");
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let (bin, log, work) =
        (scratch.path().join("bin"), scratch.path().join("log"), scratch.path().join("work"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&log).unwrap();
    for name in PROGRAMS {
        // A background program may still write while the next line is tested.
        let script = format!("#!{bash}\nprintf '%s\\n' {name} >> \"$LOG\"\n");
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut runner =
        TestRunner::new(Config { cases: 3_000, failure_persistence: None, ..Config::default() });
    let pieces = proptest::sample::select(vec![
        "git",
        "rm",
        "sh",
        "curl",
        "evil",
        "a",
        " ",
        " ",
        " ",
        "\n",
        "\t",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "|&",
        "$(",
        ")",
        "`",
        "'",
        "\"",
        "\\",
        "$X",
        "${X}",
        "${X:-evil}",
        "{",
        "}",
        ",",
        "<",
        ">",
        "<(",
        "2>&1",
        "out",
        "=",
        "X=",
        "#",
        "!",
        "*",
        "?",
        "[",
        "]",
        "(",
        "~",
        "-",
        "--",
        "-c",
        "$",
        "é",
        "\u{a0}",
        "\r",
    ]);
    let lines = proptest::collection::vec(pieces, 1..9).prop_map(|pieces| pieces.concat());
    let accepted = std::cell::Cell::new(0);
    runner
        .run(&lines, |line| {
            let Ok(read) = shell::read(&line) else { return Ok(()) };
            accepted.set(accepted.get() + 1);
            let named: BTreeSet<&str> = read
                .commands
                .iter()
                .filter_map(|command| command.words.first())
                .map(|word| word.text.as_str())
                .collect();
            let log = log.join(accepted.get().to_string());
            let mut bash = Command::new(&bash);
            bash.args(["--norc", "--noprofile", "-c", &line]).current_dir(&work).env_clear();
            bash.env("PATH", &bin).env("X", "evil; evil $(evil)").env("LOG", &log);
            bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            bash.status().unwrap();
            let started = fs::read_to_string(&log).unwrap_or_default();
            for program in started.lines() {
                prop_assert!(
                    named.contains(program),
                    "{line:?} started {program}, parsed {named:?}"
                );
            }
            Ok(())
        })
        .unwrap();
    assert!(accepted.get() > 200, "only {} lines were accepted", accepted.get());
}

#[test]
fn words_match_what_bash_passes() {
    let Ok(bash) = which("bash") else {
        testkit::skip("words that bash passes", "`bash` is not installed");
        return;
    };
    for line in [
        "open''skills approve",
        "g\"i\"t 'a b' c\\ d",
        "x {a,b} pre{c,d}post {1..4} {3..1} {a,b}{c,d}",
        "x .{env,x} stash@{0} HEAD^{commit} {} {a} HEAD@{1}..HEAD@{2}",
        "x {a,} {,b} '{a,b}' \"{a,b}\" \\{a,b\\}",
        "x $'a\\nb' $'tab\\there' $'back\\\\slash' $'plain'",
        "x --format='{{.Names}},{{.Image}}' -d '{\"a\": [1, 2]}'",
        "[ -d node_modules ]",
        "[ ! -e 'a b' ]",
        "[ a = b ]",
        "[ -f x -a a != \"b c\" ]",
        "x a#b \"it's\" 'say \"hi\"' \"\\$HOME\" \"a\\b\"",
    ] {
        let read = shell::read(line).unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
        let words = &read.commands[0].words;
        assert!(words.iter().all(|word| word.certainty == shell::Certainty::Exact), "{line}");
        let script = format!("printf '%s\\0' {line}");
        let output = Command::new(&bash)
            .args(["--norc", "--noprofile", "-c", &script])
            .env_clear()
            .output()
            .unwrap();
        let passed = String::from_utf8(output.stdout).unwrap();
        let passed: Vec<&str> = passed.trim_end_matches('\0').split('\0').collect();
        let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(words, passed, "{line}");
    }
}

fn which(name: &str) -> Result<String, ()> {
    let path = std::env::var("PATH").map_err(|_| ())?;
    path.split(':')
        .map(|folder| format!("{folder}/{name}"))
        .find(|file| fs::metadata(file).is_ok())
        .ok_or(())
}
