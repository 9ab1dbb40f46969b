//! What every command shares: its help, and how failures are printed. Whole outputs, in files beside this one.

use expect_test::expect_file;
use testkit::{TestEnv, whole_help};

use crate::{SKILLS, openskills};

#[test]
fn the_help_of_every_command_is_unchanged() {
    let env = TestEnv::new();
    expect_file!["./help.txt"].assert_eq(&whole_help(&|arguments| openskills(&env, arguments)));
}

#[test]
fn common_failures_are_unchanged_as_text_and_json() {
    let env = TestEnv::with(SKILLS);
    env.write("broken/SKILL.md", b"no frontmatter\n");
    env.write("file", b"x");
    let mut all = String::new();
    for call in [
        "valdate",
        "list --jsno",
        "list --dir nosuch",
        "activate",
        "activate pfd --dir skills",
        "read pdf nosuch.md --dir skills",
        "show nosuch",
        "show broken",
        "prompt skills/pdf --no-location --budget 1",
        "check-tool --tool Bash --input nonsense",
        "run pdf --dir skills",
        "run pdf --pages 3 --dir skills",
        "approvals revoke nosuch",
        "log show nosuch",
        "install file",
        "new pdf --dir file",
    ] {
        for call in [call.to_owned(), format!("{call} --json")] {
            all += &format!("=== {call}\n{}\n", openskills(&env, &call).transcript());
        }
    }
    expect_file!["./failures.txt"].assert_eq(&all);
}

/// Pages that name an exit code name one that there is.
#[test]
fn the_docs_mention_only_existing_exit_codes() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let reference = std::fs::read_to_string(root.join("docs/reference.md")).unwrap();
    let known: Vec<u32> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .flat_map(|label| label.split(", ").filter_map(|number| number.parse().ok()))
        .collect();
    assert!(known.contains(&78) && known.contains(&134), "{known:?}");
    let pages = ["docs", "docs/guide"].map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    for page in pages.into_iter().flatten().map(|page| page.unwrap().path()) {
        let text = std::fs::read_to_string(&page).unwrap_or_default().to_lowercase();
        for rest in text.split("exit code ").skip(1) {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(number) = number.parse() {
                assert!(known.contains(&number), "{}: {number}", page.display());
            }
        }
    }
}
