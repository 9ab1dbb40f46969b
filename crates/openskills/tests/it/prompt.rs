use expect_test::expect;
use testkit::TestEnv;

use crate::{SKILLS, openskills};

#[test]
fn the_default_block_has_the_format_that_claude_reads() {
    expect![[r#"
        exit 0
        stdout: <available_skills>
        stdout:   <skill>
        stdout:     <name>CSV Tools</name>
        stdout:     <description>Use when: asked</description>
        stdout:     <location>[ROOT]/work/skills/csv/SKILL.md</location>
        stdout:   </skill>
        stdout:   <skill>
        stdout:     <name>pdf</name>
        stdout:     <description>Extracts text from PDFs. Use when a PDF is given.</description>
        stdout:     <location>[ROOT]/work/skills/pdf/SKILL.md</location>
        stdout:   </skill>
        stdout: </available_skills>
    "#]]
    .assert_eq(&openskills(&TestEnv::with(SKILLS), "prompt --recursive ./skills").transcript());
}

#[test]
fn prompt_supports_markdown_json_and_no_location() {
    let env = TestEnv::with(SKILLS);
    expect![[r#"
        exit 0
        stdout: ## Available skills
        stdout:
        stdout: - **pdf**: Extracts text from PDFs. Use when a PDF is given. ([ROOT]/work/skills/pdf/SKILL.md)
    "#]].assert_eq(&openskills(&env, "prompt skills/pdf --format markdown").transcript());
    expect![[r#"
        exit 0
        stdout: {
        stdout:   "version": 1,
        stdout:   "skills": [
        stdout:     {
        stdout:       "name": "pdf",
        stdout:       "description": "Extracts text from PDFs. Use when a PDF is given."
        stdout:     }
        stdout:   ]
        stdout: }
    "#]]
    .assert_eq(&openskills(&env, "prompt skills/pdf --format json --no-location").transcript());
    expect![[r#"
        exit 0
        stdout: <available_skills>
        stdout:   <skill>
        stdout:     <name>pdf</name>
        stdout:     <description>Extracts text from PDFs. Use when a PDF is given.</description>
        stdout:   </skill>
        stdout: </available_skills>
    "#]]
    .assert_eq(&openskills(&env, "prompt skills/pdf --no-location").transcript());
}

#[test]
fn hidden_skills_are_not_in_the_prompt() {
    let skill = |name: &str, field: &str| {
        format!("//- /{name}/SKILL.md\n---\nname: {name}\ndescription: d\n{field}\n---\nB.\n")
    };
    let env = TestEnv::with(
        &[
            skill("a", "disable-model-invocation: true"),
            skill("b", "model_invocation: user-only"),
            skill("c", "model_invocation: disabled"),
            skill("d", "disable-model-invocation: perhaps"),
            skill("e", "license: MIT"),
        ]
        .concat(),
    );
    env.write("e/agents/openai.yaml", b"policy:\n  allow_implicit_invocation: false\n");
    let run = openskills(&env, "prompt -r .");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "no skill, no block");
    assert_eq!(run.stderr.matches(": the model cannot invoke it").count(), 5, "{}", run.stderr);
}

#[test]
fn one_skill_that_cannot_be_loaded_makes_the_command_fail() {
    let env = TestEnv::with(SKILLS);
    env.write("skills/bad/SKILL.md", b"---\nname: bad\n---\n");
    let run = openskills(&env, "prompt -r skills");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("error[description-missing]"), "{}", run.stderr);
    assert_eq!(openskills(&env, "prompt skills/none").code, Some(2));
}

#[test]
fn when_to_use_is_part_of_the_description() {
    let env = TestEnv::with(
        "//- /s/SKILL.md\n---\nname: s\ndescription: |\n  One.\n  Two.\nwhen_to_use: Three.\n---\nB.\n",
    );
    assert!(
        openskills(&env, "prompt s").stdout.contains("<description>One. Two. Three.</description>")
    );
}

#[test]
fn a_description_that_is_too_long_is_truncated() {
    let env = TestEnv::with(&format!(
        "//- /s/SKILL.md\n---\nname: s\ndescription: {}\n---\nB.\n",
        "x".repeat(2000)
    ));
    let run = openskills(&env, "prompt s");
    assert!(run.stdout.contains(&format!("<description>{}…</description>", "x".repeat(1023))));
}

#[test]
fn symlinked_skills_are_found() {
    let env = TestEnv::with(SKILLS);
    std::fs::create_dir_all(env.path(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../skills/pdf", env.path(".claude/skills/pdf")).unwrap();
    let run = openskills(&env, "prompt -r .claude/skills");
    assert!(
        run.stdout.contains("<location>[ROOT]/work/.claude/skills/pdf/SKILL.md</location>"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_folder_without_skills_is_not_an_error() {
    let env = TestEnv::with("//- /empty/readme.md\n");
    let run = openskills(&env, "prompt -r empty");
    assert_eq!(run.transcript(), "exit 0\nstderr: note: no skills in or below empty\n");
}
