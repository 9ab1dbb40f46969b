//! The commands that find and use skills: what a user sees and types.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value;
use testkit::{Run, TestEnv};

use crate::{SKILLS, openskills};

/// A project with a nested package, and a personal skill of the same name.
fn project() -> TestEnv {
    let env = TestEnv::with(
        "\
//- /.claude/skills/pdf/SKILL.md
---
name: pdf
description: Reads PDFs of the project.
---
Read $1 with ${SKILL_DIR}/scripts/read.sh.
//- /.claude/skills/pdf/references/forms.md
Forms.
//- /.claude/skills/pdf/scripts/deep/er/x.sh
x
//- /.claude/skills/deploy/SKILL.md
---
name: deploy
description: Ships it.
disable-model-invocation: true
---
Ship $ARGUMENTS.
//- /packages/a/.agents/skills/csv/SKILL.md
---
name: csv
description: Turns tables into CSV files.
---
Body about kubernetes.
//- /../home/.claude/skills/pdf/SKILL.md
---
name: pdf
description: Reads PDFs of mine.
---
Mine.
",
    );
    fs::create_dir(env.path(".git")).unwrap();
    env
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

#[test]
fn discover_shows_locations_and_problems() {
    let env = project();
    env.write(".claude/skills/bad/SKILL.md", b"no frontmatter\n");
    expect![[r#"
        exit 0
        stdout: builtin                   builtin      1 skill   builtin:
        stdout: personal                  user         1 skill   [ROOT]/home/.claude/skills
        stdout: project                   third_party  2 skills  [ROOT]/work/.claude/skills
        stdout: nested-packages/a-agents  third_party  1 skill   [ROOT]/work/packages/a/.agents/skills
        stderr: error[no-frontmatter]: the file starts with `no frontmatter`, not with frontmatter
        stderr: --> [ROOT]/work/.claude/skills/bad/SKILL.md:1:1
        stderr:  = hint: start the file with a `---` line, then `name:` and `description:`, then another `---` line
        stderr:
        stderr: warning[shadowed]: `project/pdf` is shadowed by `personal/pdf`
        stderr: --> [ROOT]/work/.claude/skills/pdf/SKILL.md
        stderr:  = hint: refer to it by ID; `openskills where project/pdf` explains why
        stderr:
        stderr: 4 skills, 1 shadowed or disabled, 1 could not be loaded
        stderr: note: the project [ROOT]/work is not trusted, so its skills are untrusted; to trust it, run `openskills trust`
    "#]].assert_eq(&openskills(&env, "discover").transcript());
    let run = openskills(&env, "discover --strict");
    assert_eq!(run.code, Some(1), "a skill was rejected");
    assert_eq!(openskills(&env, "discover --strict --dir packages/a/.agents/skills").code, Some(0));
    let report = json(&openskills(&env, "discover --json"));
    assert_eq!(report["trusted"], false);
    assert_eq!(report["skills"][0]["skillId"], "builtin/cocoaskills");
    assert_eq!(report["events"], Value::Array(Vec::new()), "nothing is new the second time");
}

#[test]
fn list_prints_a_table_or_json() {
    let env = project();
    expect![[r#"
        exit 0
        stdout: NAME         SOURCE       DESCRIPTION
        stdout: cocoaskills  builtin      Finds, reads, validates and installs Agent Skills with the openskills and csk command-line tools. Use when asked which skills are available, to use or read a skill, to write or validate one, or to add skills to a project.
        stdout: csv          third_party  Turns tables into CSV files.
        stdout: deploy       third_party  Ships it.
        stdout: pdf          user         Reads PDFs of mine.
        stderr: note: 1 warning found; for details, run `openskills discover`
    "#]].assert_eq(&openskills(&env, "list").transcript());
    expect![[r#"
        exit 0
        stdout: ID                            SOURCE       STATE                     DESCRIPTION
        stdout: builtin/cocoaskills           builtin      enabled                   Finds, reads, validates and installs Agent Skills with the openskills and csk command-line tools. Use when asked which skills are available, to use or read a skill, to write or validate one, or to add skills to a project.
        stdout: nested-packages/a-agents/csv  third_party  enabled                   Turns tables into CSV files.
        stdout: project/deploy                third_party  user only                 Ships it.
        stdout: personal/pdf                  user         enabled                   Reads PDFs of mine.
        stdout: project/pdf                   third_party  shadowed by personal/pdf  Reads PDFs of the project.
        stderr: note: 1 warning found; for details, run `openskills discover`
    "#]].assert_eq(&openskills(&env, "list --all").transcript());
    let listed = json(&openskills(&env, "list --dir packages/a/.agents/skills --json"));
    let skill = &listed["skills"][0];
    assert_eq!((&skill["skillId"], &skill["source"]), (&"skills/csv".into(), &"user".into()));
    assert!(skill["hash"].as_str().unwrap().starts_with("sha256:"));
    let nested = openskills(&env, "list --dir packages");
    assert_eq!(nested.stdout.lines().count(), 2, "{}", nested.stdout);
    let empty = openskills(&TestEnv::with("//- /x\n\n"), "list --dir .");
    assert_eq!((empty.code, empty.stderr.as_str()), (Some(0), "no skills\n"));
}

#[test]
fn a_missing_folder_in_dir_is_a_usage_error() {
    let env = project();
    for command in
        ["list --dir none", "prompt --dir none", "discover --dir none", "activate pdf --dir none"]
    {
        let run = openskills(&env, command);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{command}");
        assert!(run.stderr.starts_with("error: cannot open `none`: "), "{command}: {}", run.stderr);
    }
    let run = openskills(&env, "list --dir .claude/skills/pdf/SKILL.md");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("is not a folder"), "{}", run.stderr);
}

#[test]
fn trust_applies_to_the_whole_project_from_any_subfolder() {
    let env = project();
    let mut command = env.command(env!("CARGO_BIN_EXE_openskills"), &["trust"]);
    let output = command.current_dir(env.path("packages/a")).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.starts_with("trusted /") && shown.ends_with("/work\n"), "{shown}");
    assert!(!openskills(&env, "discover").stderr.contains("is not trusted"));
}

#[test]
fn search_omits_skills_that_the_model_may_not_invoke() {
    let env = project();
    let run = openskills(&env, "search ships");
    assert_eq!((run.code, run.stdout.as_str()), (Some(3), ""));
    assert!(
        run.stderr.contains("not shown: 1 skill that only the user can invoke"),
        "{}",
        run.stderr
    );
    assert!(openskills(&env, "search ships --all").stdout.contains("deploy"));
}

#[test]
fn a_table_fits_the_terminal() {
    let env = project();
    let command = format!("stty cols 50 rows 20; {} list", env!("CARGO_BIN_EXE_openskills"));
    let output = env.command("script", &["-qec", &command, "/dev/null"]).output();
    let Ok(output) = output else {
        testkit::skip("a table on a terminal", "`script` (bsdutils) is not there");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let long = shown.lines().find(|line| line.starts_with("cocoaskills")).unwrap();
    assert!(long.chars().count() <= 50 && long.ends_with('…'), "{shown}");
}

#[test]
fn where_shows_the_selected_skill_and_why() {
    let env = project();
    expect![[r#"
        exit 0
        stdout: pdf refers to personal/pdf: user takes precedence over third_party
        stdout:   personal/pdf  user         personal  selected                  [ROOT]/home/.claude/skills/pdf
        stdout:   project/pdf   third_party  project   shadowed by personal/pdf  [ROOT]/work/.claude/skills/pdf
    "#]].assert_eq(&openskills(&env, "where pdf").transcript());
    assert_eq!(openskills(&env, "trust").code, Some(0));
    expect![[r#"
        exit 0
        stdout: pdf refers to project/pdf: project overrides personal
        stdout:   project/pdf   user  project   selected                 [ROOT]/work/.claude/skills/pdf
        stdout:   personal/pdf  user  personal  shadowed by project/pdf  [ROOT]/home/.claude/skills/pdf
    "#]].assert_eq(&openskills(&env, "where pdf").transcript());
    assert_eq!(openskills(&env, "where project/pdf").stdout, openskills(&env, "where pdf").stdout);
    let run = openskills(&env, "where pfd");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(3), "error: no skill named `pfd`\nhint: did you mean `pdf`?\n")
    );
}

#[test]
fn activate_prints_what_the_model_reads() {
    let env = project();
    let run = openskills(&env, "activate project/pdf report.pdf");
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout.contains("Read report.pdf with [ROOT]/work/.claude/skills/pdf/scripts/read.sh."),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("<file>references/forms.md</file>"));
    // A word with a blank stays one word, and what looks like an option can be said.
    let run =
        env.run_args(env!("CARGO_BIN_EXE_openskills"), &["activate", "project/pdf", "a b.pdf"]);
    assert!(run.stdout.contains("Read a b.pdf with"), "{}", run.stdout);
    let run = openskills(&env, "activate project/pdf -- --all");
    assert!(run.stdout.contains("Read --all with"), "{}", run.stdout);
    let run = openskills(&env, "activate deploy");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(4),
            "error: the model is not allowed to invoke `project/deploy`\nhint: the user can run `openskills activate /project/deploy`\n"
        )
    );
    for arguments in [&["activate", "/deploy", "now"][..], &["activate", "/deploy now"]] {
        let run = env.run_args(env!("CARGO_BIN_EXE_openskills"), arguments);
        assert!(run.stdout.contains("Ship now."), "{}", run.stdout);
    }
    assert_eq!(openskills(&env, "activate /").code, Some(2));
}

#[test]
fn a_session_is_remembered_between_calls() {
    let env = project();
    assert!(openskills(&env, "activate csv --session s1").stdout.contains("Body about"));
    let again = openskills(&env, "activate csv --session s1");
    assert!(
        again.stdout.contains("is already active in this session")
            && !again.stdout.contains("Body about")
    );
    let data = json(&openskills(&env, "activate csv --session s1 --json"));
    assert_eq!((&data["activation"]["repeated"], data.get("instructions")), (&true.into(), None));
    assert!(openskills(&env, "activate csv --session s1 --again").stdout.contains("Body about"));
    assert!(openskills(&env, "activate csv --session s2").stdout.contains("Body about"));
    // What could not be written is not active.
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command =
        env.command(env!("CARGO_BIN_EXE_openskills"), &["activate", "csv", "--session", "s3"]);
    assert!(!command.stdout(full).status().unwrap().success());
    assert!(openskills(&env, "activate csv --session s3").stdout.contains("Body about"));
    env.write(
        "packages/a/.agents/skills/odd/SKILL.md",
        b"---\nname: Odd\ndescription: d\n---\nOdd body.\n",
    );
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command =
        env.command(env!("CARGO_BIN_EXE_openskills"), &["activate", "odd", "--session", "s4"]);
    assert!(
        !command.stderr(full).stdout(Stdio::null()).status().unwrap().success(),
        "its warning cannot be printed"
    );
    assert!(openskills(&env, "activate odd --session s4").stdout.contains("Odd body"));
    let env = env.var("OPENSKILLS_SESSION", "s1");
    assert!(openskills(&env, "activate csv").stdout.contains("already"));
}

#[test]
fn read_prints_files_and_nothing_else() {
    let env = project();
    env.write(".claude/skills/pdf/logo.png", b"\x89PNG\0\xff");
    assert_eq!(
        openskills(&env, "read project/pdf references/forms.md").transcript(),
        "exit 0\nstdout: Forms.\n"
    );
    let run = openskills(&env, "read project/pdf logo.png");
    assert_eq!(
        run.transcript(),
        "exit 0\nstdout: iVBORwD/\nstderr: note: the file is not text; printing it as base64\n"
    );
    let data = json(&openskills(&env, "read project/pdf logo.png --json"));
    assert_eq!(
        (&data["encoding"], &data["content"], &data["event"]["size"]),
        (&"base64".into(), &"iVBORwD/".into(), &6.into())
    );
    let raw = env
        .command(env!("CARGO_BIN_EXE_openskills"), &["read", "project/pdf", "logo.png", "--raw"])
        .output()
        .unwrap();
    assert_eq!(raw.stdout, b"\x89PNG\0\xff");
    for (arguments, code) in [
        ("read project/pdf ../../../home/x", 4),
        ("read project/pdf /etc/passwd", 4),
        ("read project/pdf scripts/deep/er/x.sh", 4),
        ("read project/pdf forms.md", 3),
        ("read none forms.md", 3),
        ("read project/pdf references/forms.md --max-bytes 3", 4),
    ] {
        let run = openskills(&env, arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{arguments}");
        assert!(
            run.stderr.starts_with("error: ") && run.stderr.contains("\nhint: "),
            "{arguments}: {}",
            run.stderr
        );
    }
    assert_eq!(openskills(&env, "read project/pdf scripts/deep/er/x.sh --nested").stdout, "x\n");
}

#[test]
fn files_are_listed_without_being_read() {
    let env = project();
    std::os::unix::fs::symlink("/etc/passwd", env.path(".claude/skills/pdf/leak")).unwrap();
    expect![[r#"
        exit 0
        stdout: SKILL.md                    101
        stdout: leak                  -> /etc/passwd
        stdout: references/forms.md           7
        stdout: scripts/deep/er/x.sh          2
    "#]]
    .assert_eq(&openskills(&env, "files project/pdf").transcript());
}

#[test]
fn search_ranks_names_before_descriptions_before_bodies() {
    let env = project();
    expect![[r#"
        exit 0
        stdout: NAME  SOURCE  DESCRIPTION
        stdout: pdf   user    Reads PDFs of mine.
    "#]]
    .assert_eq(&openskills(&env, "search pdf").transcript());
    assert!(openskills(&env, "search KUBERNETES").stdout.contains("\ncsv "));
    assert_eq!(
        openskills(&env, "search tables csv")
            .stdout
            .lines()
            .nth(1)
            .unwrap()
            .split_whitespace()
            .next(),
        Some("csv")
    );
    let none = openskills(&env, "search xyzzy");
    assert_eq!((none.code, none.stderr.as_str()), (Some(3), "no matching skills\n"));
    let few = openskills(&env, "search skill pdf csv --limit 1");
    assert_eq!(few.stdout.lines().count(), 2, "{}", few.stdout);
    assert!(few.stderr.contains("more; use `--limit"), "{}", few.stderr);
}

#[test]
fn prompt_lists_discovered_skills_within_the_budget() {
    let env = project();
    expect![[r#"
        exit 0
        stdout: <available_skills>
        stdout:   <skill>
        stdout:     <name>csv</name>
        stdout:     <description>Turns tables into CSV files.</description>
        stdout:     <location>[ROOT]/work/packages/a/.agents/skills/csv/SKILL.md</location>
        stdout:   </skill>
        stdout:   <skill>
        stdout:     <name>pdf</name>
        stdout:     <description>Reads PDFs of the project.</description>
        stdout:     <location>[ROOT]/work/.claude/skills/pdf/SKILL.md</location>
        stdout:   </skill>
        stdout: </available_skills>
        stderr: note: omitted skills/deploy: the model cannot invoke it
    "#]]
    .assert_eq(
        &openskills(&env, "prompt --dir .claude/skills --dir packages/a/.agents/skills")
            .transcript(),
    );
    let run =
        openskills(&env, "prompt --dir .claude/skills --no-location --format json --instructions");
    let data = json(&run);
    assert_eq!(
        (&data["skills"][0]["skillId"], data["skills"][0].get("location")),
        (&"skills/pdf".into(), None)
    );
    assert!(data["instructions"].as_str().unwrap().contains("by its ID"));
    // No skill, no block (C5).
    let none = openskills(&TestEnv::with("//- /x\n\n"), "prompt --dir .");
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    let short = openskills(&env, "prompt --budget 180");
    assert!(short.stderr.contains("note: truncated 1 description to "), "{}", short.stderr);
    assert!(
        short.stdout.len().div_ceil(4) <= 180 && short.stdout.matches("<skill>").count() == 3,
        "{}",
        short.stdout
    );
    let tiny = openskills(&env, "prompt --budget 10");
    assert_eq!((tiny.code, tiny.stdout.as_str()), (Some(2), ""));
    assert!(
        tiny.stderr.contains("needs at least") && tiny.stderr.contains("hint:"),
        "{}",
        tiny.stderr
    );
}

#[test]
fn trust_and_disabled_skills_are_remembered() {
    let env = project();
    assert_eq!(openskills(&env, "trust --list").transcript(), "exit 0\n");
    assert_eq!(openskills(&env, "trust").transcript(), "exit 0\nstdout: trusted [ROOT]/work\n");
    assert_eq!(
        openskills(&env, "trust .").transcript(),
        "exit 0\nstdout: [ROOT]/work is already trusted\n"
    );
    assert_eq!(openskills(&env, "trust --list").transcript(), "exit 0\nstdout: [ROOT]/work\n");
    assert_eq!(openskills(&env, "trust --remove").stdout, "[ROOT]/work is no longer trusted\n");
    let run = openskills(&env, "trust ../home");
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert_eq!(openskills(&env, "disable pdf nosuch").code, Some(3));
    assert!(openskills(&env, "list").stdout.contains("pdf "), "a typo disables nothing");
    assert_eq!(openskills(&env, "disable pdf csv").stdout, "disabled pdf\ndisabled csv\n");
    assert!(!openskills(&env, "prompt").stdout.contains("<name>pdf</name>"));
    assert_eq!(openskills(&env, "enable pdf csv").code, Some(0));
    assert!(openskills(&env, "prompt").stdout.contains("<name>pdf</name>"));
}

#[test]
fn failures_are_json_if_json_is_requested() {
    let env = project();
    let run = openskills(&env, "activate pfd --json");
    assert_eq!((run.code, run.stderr.as_str()), (Some(3), ""));
    assert_eq!(json(&run)["error"]["code"], "skill-not-found");
    assert_eq!(json(&run)["error"]["hint"], "did you mean `pdf`?");
    env.write(
        "../home/.config/openskills/config.json",
        b"{\"schema_version\": 1, \"directories\": []}",
    );
    let run = openskills(&env, "list --json");
    assert_eq!((run.code, json(&run)["error"]["code"].as_str()), (Some(2), Some("invalid-config")));
    assert!(json(&run)["error"]["diagnostics"][0]["line"].is_number());
    let run = openskills(&env, "list");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("config.json:1:"), "{}", run.stderr);
}

#[test]
fn skill_text_is_escaped_on_a_terminal_and_unchanged_in_a_pipe() {
    let env = TestEnv::with(
        "//- /s/x/SKILL.md\n---\nname: x\ndescription: d\n---\nA \u{1b}[2J \u{202e}B.\n",
    );
    assert!(
        openskills(&env, "activate x --dir s").stdout.contains("\u{1b}[2J"),
        "data is as it is"
    );
    let command = format!("{} activate x --dir s", env!("CARGO_BIN_EXE_openskills"));
    let Ok(output) = env.command("script", &["-qec", &command, "/dev/null"]).output() else {
        testkit::skip("untrusted text on a terminal", "`script` (bsdutils) is not there");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.contains("␛[2J") && !shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}'),
        "{shown}"
    );
}

#[test]
fn watch_prints_one_line_per_change() {
    let env = TestEnv::with(SKILLS);
    let mut command = env.command(
        env!("CARGO_BIN_EXE_openskills"),
        &["discover", "--dir", "skills", "--watch", "--json"],
    );
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let first: Vec<Value> = (0..2).map(|_| next()).collect();
    assert!(first.iter().all(|event| event["change"] == "new"), "{first:?}");
    env.write("skills/new/SKILL.md", b"---\nname: new\ndescription: d\n---\nB.\n");
    assert_eq!(next()["skillId"], "skills/new");
    fs::remove_dir_all(env.path("skills/new")).unwrap();
    assert_eq!(next()["event"], "skill.removed");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn watch_ends_when_its_reader_closes_the_pipe() {
    let env = TestEnv::with(SKILLS);
    let mut command = env.command(
        env!("CARGO_BIN_EXE_openskills"),
        &["discover", "--dir", "skills", "--watch", "--json"],
    );
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    drop(lines);
    for round in 0.. {
        env.write(
            "skills/new/SKILL.md",
            format!("---\nname: new\ndescription: d{round}\n---\n").as_bytes(),
        );
        if child.try_wait().unwrap().is_some() {
            break;
        }
        assert!(round < 100, "it goes on without a reader");
        // Long enough that a busy machine sees a pause between two changes.
        std::thread::sleep(std::time::Duration::from_millis(400));
    }
}

#[test]
fn completions_offer_commands_flags_and_skill_names() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let run = openskills(&TestEnv::new(), &format!("completions {shell}"));
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains("OPENSKILLS_COMPLETE"), "{shell}: {}", run.stdout);
    }
    // As a shell asks: commands, flags, and the names of skills.
    let env = TestEnv::with(
        "//- /.agents/skills/pdf/SKILL.md\n---\nname: pdf\ndescription: d\n---\n//- /csv/SKILL.md\n---\nname: csv\ndescription: d\n---\n",
    );
    for call in
        ["install csv --yes", "disable csv", "approve pdf --yes", "mcp add docs --no-sync -- none"]
    {
        assert_eq!(openskills(&env, call).code, Some(0), "{call}");
    }
    for (words, name) in [
        (&["openskills", "activ"][..], "activate"),
        (&["openskills", "read", "p"], "pdf"),
        (&["openskills", "run", "--work"], "--workspace"),
        (&["openskills", ""], "run"),
        (&["openskills", "disable", ""], "pdf"),
        (&["openskills", "enable", ""], "csv"),
        (&["openskills", "approvals", "revoke", ""], "pdf"),
        (&["openskills", "check-tool", "--skill", ""], "pdf"),
        (&["openskills", "log", "show", "--skill", ""], "pdf"),
        (&["openskills", "remove", ""], "csv"),
        (&["openskills", "mcp", "remove", ""], "docs"),
    ] {
        let index = (words.len() - 1).to_string();
        let all: Vec<&str> = ["--"].iter().chain(words).copied().collect();
        let mut command = env.command(env!("CARGO_BIN_EXE_openskills"), &all);
        command.env("OPENSKILLS_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index);
        command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
        let told = command.env("_CLAP_COMPLETE_SPACE", "true").output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout);
        assert!(told.lines().any(|line| line.trim() == name), "{words:?}: {told}");
        assert!(!told.lines().any(|line| line.trim() == "execute"), "an alias: {told}");
    }
}

#[test]
fn the_manual_pages_are_generated_and_current() {
    let env = TestEnv::new();
    let run = openskills(&env, "man pages");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let page = fs::read_to_string(env.path("pages/openskills-run.1")).unwrap();
    assert!(page.contains(".TH openskills-run 1") && page.contains("workspace"), "{page}");
    assert_eq!(openskills(&env, "man more --format markdown").code, Some(0));
    testkit::same_pages(&env.path("more"), "docs/commands", "openskills");
    // A longer line would be broken again by whoever shows it.
    for page in fs::read_dir(env.path("more")).unwrap() {
        let text = fs::read_to_string(page.unwrap().path()).unwrap();
        let after = text.rsplit("```\n").nth(1).unwrap_or_default();
        for line in after.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn quiet_prints_nothing_and_usage_errors_can_be_json() {
    let env = TestEnv::new();
    let run = openskills(&env, "man pages --quiet");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    let run = openskills(&env, "list --json --nonsense");
    assert_eq!(run.code, Some(2));
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(told["error"]["message"].as_str().unwrap().contains("--nonsense"), "{told}");
}
