//! Progress output, on a terminal and without one.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::{SKILL, World};

/// A world whose only skill is cloned from a URL, with a slow `git` that logs its calls.
fn slow_world() -> World {
    let mut world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.git("tag v1");
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    world.config(r#", "allow_local_sources": true"#);
    let calls = world.env.path("calls").display().to_string();
    let what = format!(
        "echo \"$*\" >> {calls}; printf 'Receiving objects:  42%% (42/100)\\r' >&2; sleep 0.7"
    );
    world.wrap_git("*clone*|*fetch*", &what);
    world
}

/// Runs csk on a terminal and returns everything that it shows.
fn on_a_terminal(world: &World, arguments: &str, answers: &str) -> Option<String> {
    if world.env.run("script", "--version").code != Some(0) {
        testkit::skip("a terminal", "`script` is not installed");
        return None;
    }
    // If a prompt waits forever, the test ends by its timeout.
    let call = format!("timeout --foreground 60 {} {arguments}", env!("CARGO_BIN_EXE_csk"));
    let mut child = world
        .env
        .command("script", &["--quiet", "--return", "--command", &call, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(answers.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    Some(format!("{}{:?}", String::from_utf8_lossy(&output.stdout), output.status.code()))
}

#[test]
fn clones_and_fetches_show_progress_on_a_terminal() {
    let world = slow_world();
    let Some(shown) = on_a_terminal(&world, "install app", "") else { return };
    assert!(shown.contains("cloning pdf "), "{shown:?}");
    assert!(shown.contains("Receiving objects:  42% (42/100)"), "{shown:?}");
    assert!(shown.contains("app: pdf tag v1") && shown.ends_with("Some(0)"), "{shown:?}");
    // The progress line is erased before the result is written.
    assert!(shown.contains("\u{1b}[2K"), "{shown:?}");
    let Some(shown) = on_a_terminal(&world, "update", "") else { return };
    assert!(shown.contains("fetching pdf") && shown.contains("pdf: fetched"), "{shown:?}");
}

#[test]
fn no_progress_is_shown_without_a_terminal() {
    let world = slow_world();
    let run = world.csk("install app");
    assert!(run.code == Some(0) && run.stderr.is_empty(), "{}", run.stderr);
    let run = world.csk("update");
    assert_eq!(run.stderr, "");
    assert_eq!(run.stdout, "pdf: fetched\n");
    assert_eq!(world.csk("install app").stderr, "", "nothing is printed for up-to-date skills");
}

#[test]
fn concurrent_runs_clone_a_repository_once() {
    let world = slow_world();
    let start = || {
        let mut command = world.env.command(env!("CARGO_BIN_EXE_csk"), &["install", "app"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    for mut child in [start(), start(), start()] {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let calls = world.read(world.env.path("calls"));
    assert_eq!(calls.lines().count(), 1, "{calls}");
    assert!(world.installed("pdf/SKILL.md").exists());
    let left = fs::read_dir(world.home().join(".cocoaskills/locks")).unwrap().count();
    assert_eq!(left, 0, "no lock file is left");
}

#[test]
fn bootstrap_prompts_on_a_terminal_and_repeats_invalid_answers() {
    let world = World::bare();
    let path = world.home().join(".cocoaskills/config.json");
    fs::remove_file(&path).unwrap();
    let answers =
        "skills\nru\nclaud_code\nclaude_code, codex_cli\napp=nowhere\napp=app\n\nwhat\nprint\n";
    let Some(shown) = on_a_terminal(&world, "bootstrap", answers) else { return };
    assert!(shown.contains("did you mean `claude_code`?"), "{shown}");
    assert!(shown.contains("nowhere` does not exist"), "{shown}");
    assert!(shown.contains("expected print, install or skip"), "{shown}");
    assert!(shown.contains("eval \"$(csk shell-init bash)\""), "{shown}");
    assert!(shown.ends_with("Some(0)"), "{shown}");
    let config = world.csk("config show").stdout;
    for expected in [
        "\"skills_root\": \"[ROOT]/work/skills\"",
        "\"ru\"",
        "claude_code",
        "codex_cli",
        "work/app",
    ] {
        assert!(config.contains(expected), "{expected} in {config}");
    }
    let before = world.read(&path);
    // "n" and just Enter change nothing.
    for answer in ["n\n", "\n"] {
        let Some(shown) = on_a_terminal(&world, "bootstrap", answer) else { return };
        assert!(shown.contains("it was not changed") && shown.ends_with("Some(2)"), "{shown}");
        assert_eq!(world.read(&path), before);
    }
}
