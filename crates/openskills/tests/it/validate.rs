use std::os::unix::fs::symlink;

use expect_test::expect;
use serde_json::Value;
use testkit::TestEnv;

use crate::{SKILLS, openskills};

#[test]
fn a_valid_skill_is_reported_on_one_line() {
    let env = TestEnv::with(SKILLS);
    for path in
        ["skills/pdf", "skills/pdf/", "./skills/pdf", "skills/pdf/SKILL.md", "skills/csv/../pdf"]
    {
        let run = openskills(&env, &format!("validate {path}"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{path}");
        assert!(run.stdout.starts_with("Valid skill: "), "{path}: {}", run.stdout);
    }
}

#[test]
fn validate_accepts_the_working_folder() {
    let env = TestEnv::with(SKILLS);
    let program = env!("CARGO_BIN_EXE_openskills");
    for arguments in ["validate .", "validate", "validate SKILL.md", "validate ../pdf"] {
        let run = env.run_args("sh", &["-c", &format!("cd skills/pdf && {program} {arguments}")]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{arguments}");
    }
}

#[test]
fn every_error_of_an_invalid_skill_is_explained() {
    expect![[r#"
        exit 1
        stdout: Invalid skill: skills/csv (5 errors)
        stderr: error[name-not-lowercase]: `name` is `CSV Tools`; capital letters are not allowed
        stderr:  --> skills/csv/SKILL.md:2:7
        stderr:   |
        stderr: 2 | name: CSV Tools
        stderr:   |       ^^^^^^^^^
        stderr:   = hint: write `name: csv`
        stderr:
        stderr: error[name-characters]: `name` is `CSV Tools`; ' ' is not allowed; use only letters, digits and hyphens
        stderr:  --> skills/csv/SKILL.md:2:7
        stderr:   |
        stderr: 2 | name: CSV Tools
        stderr:   |       ^^^^^^^^^
        stderr:   = hint: write `name: csv`
        stderr:
        stderr: error[name-directory]: `name` is `CSV Tools`, but the folder is `csv`; they must match
        stderr:  --> skills/csv/SKILL.md:2:7
        stderr:   |
        stderr: 2 | name: CSV Tools
        stderr:   |       ^^^^^^^^^
        stderr:   = hint: write `name: csv`
        stderr:
        stderr: error[unquoted-value]: the value of `description` must be quoted: it contains a colon, which starts a new value in YAML
        stderr:  --> skills/csv/SKILL.md:3:14
        stderr:   |
        stderr: 3 | description: Use when: asked
        stderr:   |              ^^^^^^^^^^^^^^^
        stderr:   = hint: write `description: 'Use when: asked'`
        stderr:
        stderr: error[unknown-field]: unknown field `version`
        stderr:  --> skills/csv/SKILL.md:4:1
        stderr:   |
        stderr: 4 | version: 1.0
        stderr:   | ^^^^^^^
        stderr:   = hint: move it under `metadata`, which accepts any key
        stderr:
    "#]]
        .assert_eq(&openskills(&TestEnv::with(SKILLS), "validate skills/csv").transcript());
}

#[test]
fn validate_recursive_checks_every_skill_and_prints_a_summary() {
    let run = openskills(&TestEnv::with(SKILLS), "validate --recursive skills");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stdout, "Invalid skill: skills/csv (5 errors)\nValid skill: skills/pdf\n");
    assert!(run.stderr.ends_with("2 skills: 1 valid, 1 invalid\n"), "{}", run.stderr);
}

#[test]
fn lenient_mode_reports_recoverable_errors_as_warnings() {
    let run = openskills(&TestEnv::with(SKILLS), "validate --lenient skills/csv");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Valid skill: skills/csv (4 warnings)\n")
    );
}

#[test]
fn warnings_fail_only_with_strict_warnings() {
    let env =
        TestEnv::with("//- /s/SKILL.md\n---\nname: s\ndescription: d\n---\nSee [x](no.md).\n");
    let run = openskills(&env, "validate s");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Valid skill: s (1 warning)\n"));
    assert!(
        run.stderr.contains("warning[reference-missing]: `no.md` does not exist in the skill"),
        "{}",
        run.stderr
    );
    let run = openskills(&env, "validate s --strict-warnings");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.ends_with("error: there are warnings, and --strict-warnings is set\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn links_are_checked_even_if_there_are_other_errors() {
    let env =
        TestEnv::with("//- /s/SKILL.md\n---\nname: S\ndescription: d\n---\nSee [x](no.md).\n");
    let run = openskills(&env, "validate s");
    assert!(
        run.stderr.contains("error[name-not-lowercase]")
            && run.stderr.contains("warning[reference-missing]")
    );
}

#[test]
fn a_dangling_symlink_is_not_suggested_as_a_correction_of_itself() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("s")).unwrap();
    symlink("nowhere", env.path("s/SKILL.md")).unwrap();
    assert!(!openskills(&env, "validate s/SKILL.md").stderr.contains("did you mean"));
}

#[test]
fn json_has_every_problem_with_its_position() {
    let run = openskills(&TestEnv::with(SKILLS), "validate --json skills/csv skills/pdf");
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["version"], &report["valid"]), (&1.into(), &false.into()));
    assert_eq!(report["skills"][1]["name"], "pdf");
    let problem = &report["skills"][0]["diagnostics"][3];
    assert_eq!(problem["code"], "unquoted-value");
    assert_eq!(
        (&problem["line"], &problem["column"], &problem["endColumn"]),
        (&3.into(), &14.into(), &29.into())
    );
    assert_eq!(problem["hint"], "write `description: 'Use when: asked'`");
    assert_eq!(problem["file"], "skills/csv/SKILL.md");
}

#[test]
fn sarif_contains_rules_and_locations() {
    let run = openskills(&TestEnv::with(SKILLS), "validate --sarif -r skills");
    assert_eq!(run.code, Some(1));
    let log: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    let rule =
        &log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!(result["ruleId"], rule["id"]);
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "skills/csv/SKILL.md");
    assert_eq!(place["region"]["startLine"], 2);
}

#[test]
fn a_missing_path_gets_a_hint_and_other_paths_are_still_checked() {
    let run = openskills(&TestEnv::with(SKILLS), "validate skills/pfd skills/pdf");
    assert_eq!(
        run.transcript(),
        "\
exit 2
stdout: Valid skill: skills/pdf
stderr: error[path-not-found]: the path does not exist
stderr: --> skills/pfd
stderr:  = hint: did you mean `pdf`?
stderr:
"
    );
}

#[test]
fn paths_without_a_valid_skill_file_are_explained() {
    let env = TestEnv::with(
        "//- /empty/readme.md\n//- /upper/Skill.md\n---\nname: upper\ndescription: d\n---\nB.\n//- /lower/skill.md\n---\nname: lower\ndescription: d\n---\nB.\n",
    );
    for (arguments, code, said) in [
        ("validate empty", 1, "error[no-skill-file]: no SKILL.md in this folder"),
        ("validate empty/readme.md", 1, "error[no-skill-file]: neither a folder nor a SKILL.md"),
        ("validate -r empty", 1, "error[nothing-found]: no SKILL.md in or below this folder"),
        (
            "validate upper",
            1,
            "error[file-name-case]: the file is named `Skill.md`; the standard requires `SKILL.md`",
        ),
        ("validate upper --lenient", 0, "warning[file-name-case]: the file is named `Skill.md`"),
        ("validate lower", 0, "warning[file-name]: the file is named `skill.md`"),
        ("validate -r none", 2, "error[path-not-found]: the path does not exist"),
    ] {
        let run = openskills(&env, arguments);
        assert_eq!(run.code, Some(code), "{arguments}");
        assert!(run.stderr.contains(said), "{arguments}: {}", run.stderr);
    }
}

#[test]
fn a_symlinked_folder_is_checked_under_the_name_of_the_symlink() {
    let env = TestEnv::with(SKILLS);
    symlink("skills/pdf", env.path("pdf")).unwrap();
    assert_eq!(openskills(&env, "validate pdf").code, Some(0));
    symlink("skills/pdf", env.path("other")).unwrap();
    assert!(openskills(&env, "validate other").stderr.contains("but the folder is `other`"));
}

#[test]
fn the_codex_file_is_validated_as_well() {
    let env = TestEnv::with(SKILLS);
    env.write("skills/pdf/agents/openai.yaml", b"policy: [\n");
    let run = openskills(&env, "validate skills/pdf");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Valid skill: skills/pdf (1 warning)\n"));
    assert!(run.stderr.contains("warning[agents-file]"), "{}", run.stderr);
    assert!(run.stderr.contains("--> skills/pdf/agents/openai.yaml:"), "{}", run.stderr);
}

/// What `approve` refuses is a problem here, too.
#[test]
fn files_and_manifests_that_cannot_be_approved_are_reported() {
    let env = TestEnv::with("");
    let names = ["link", "fifo", "manifest", "deep"];
    for name in names {
        let text = format!("---\nname: {name}\ndescription: Does it when asked.\n---\nBody.\n");
        env.write(&format!("s/{name}/SKILL.md"), text.as_bytes());
    }
    let deep = format!("s/deep/{}", "d/".repeat(40));
    let make =
        format!("ln -s /etc/passwd s/link/x; mkfifo s/fifo/x; mkdir -p {deep}; touch {deep}/f");
    assert_eq!(env.run_args("sh", &["-c", &make]).code, Some(0));
    env.write("s/manifest/csk-skill.json", b"{\"schema_version\": 9}");
    for (name, told) in [
        ("link", "s/link/x"),
        ("fifo", "found a FIFO"),
        ("manifest", "s/manifest/csk-skill.json:1:20"),
        ("deep", "contains more than 32 nested folder levels"),
    ] {
        let run = openskills(&env, &format!("validate s/{name}"));
        assert_eq!(run.code, Some(1), "{name}: {}", run.stdout);
        assert!(run.stderr.contains(told), "{name}: {}", run.stderr);
        assert_eq!(openskills(&env, &format!("approve {name} --dir s --yes")).code, Some(1));
    }
}

#[test]
fn validate_and_show_accept_the_name_of_a_skill() {
    let env = TestEnv::with(
        "//- /.agents/skills/pdf/SKILL.md\n---\nname: pdf\ndescription: Reads PDFs when asked.\n---\nBody.\n",
    );
    assert_eq!(openskills(&env, "validate pdf").code, Some(0));
    assert!(openskills(&env, "show pdf").stdout.contains("Reads PDFs"));
    let none = openskills(&env, "show pfd");
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("did you mean `pdf`?"), "{}", none.stderr);
    let none = openskills(&env, "show something");
    assert!(none.stderr.contains("run `openskills list` to see all skills"), "{}", none.stderr);
}

/// `skill.md` counts everywhere; what is made of it has the name of the standard.
#[test]
fn a_lowercase_skill_md_is_accepted_by_every_command() {
    let env = TestEnv::with(
        "//- /s/low/skill.md\n---\nname: low\ndescription: Does it when asked.\n---\nBody.\n",
    );
    assert!(openskills(&env, "list --dir s").stdout.contains("low"));
    let checked = openskills(&env, "validate s/low");
    assert!(checked.code == Some(0) && checked.stderr.contains("file-name"), "{}", checked.stderr);
    let packed = openskills(&env, "pack s/low --output low.zip");
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    let installed = openskills(&env, "install low.zip --yes");
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let named = openskills(&env, "validate low");
    assert_eq!((named.code, named.stderr.as_str()), (Some(0), ""), "{}", named.stdout);
}

/// What `approve` refuses is seen, however strictly the rest is read; what it accepts is no error.
#[test]
fn validate_reports_what_approve_refuses() {
    let env = TestEnv::with(
        "//- /s/SKILL.md\n---\nname: s\ndescription: d\ndisable-model-invocation: true\nuser-invocable: false\n---\nB.\n",
    );
    for more in ["", " --lenient"] {
        let off = openskills(&env, &format!("validate s{more}"));
        assert!(
            off.stderr.contains("neither the model nor the user may invoke this skill"),
            "{}",
            off.stderr
        );
    }
    env.write("s/SKILL.md", b"---\nname: s\ndescription: d\n---\nB.\n");
    symlink("gone.md", env.path("s/dangling.md")).unwrap();
    assert_eq!(openskills(&env, "validate s").code, Some(0));
    assert_eq!(openskills(&env, "approve s --dir s --yes").code, Some(0));
    symlink("/etc/passwd", env.path("s/out.md")).unwrap();
    for more in ["", " --lenient"] {
        assert_eq!(openskills(&env, &format!("validate s{more}")).code, Some(1), "{more}");
    }
    std::fs::remove_file(env.path("s/out.md")).unwrap();
    env.write("s/csk-skill.json", b"{");
    assert_eq!(openskills(&env, "validate s --lenient").code, Some(1));
}
