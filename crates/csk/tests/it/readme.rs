//! Runs the first steps of the README exactly as written.

use std::fs;

use testkit::TestEnv;

/// Returns the first code block in a language after a heading.
fn block<'a>(text: &'a str, heading: &str, language: &str) -> &'a str {
    let rest = text.split_once(heading).unwrap().1;
    let rest = rest.split_once(&format!("```{language}\n")).unwrap().1;
    rest.split_once("```").unwrap().0
}

#[test]
fn the_first_steps_work_with_an_empty_home() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let heading = "## Your first skill in one minute";
    // The first block needs a network.
    let heading_of_steps = "these commands create a small skill";
    let steps = block(&readme, heading, "console");
    let typed: Vec<&str> = steps.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(typed.len() > 5, "{typed:?}");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_csk")).parent().unwrap();
    let script =
        format!("set -e\n{}\n{}\n", block(&readme, heading_of_steps, "sh"), typed.join("\n"));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let env = TestEnv::new().var("PATH", &path);
    let run = env.run_args("sh", &["-c", &script]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    for expected in ["review tag v1", "installed", "up-to-date", "nothing to review, friend"] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
}
