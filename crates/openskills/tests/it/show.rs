use expect_test::expect;
use serde_json::Value;
use testkit::TestEnv;

use crate::{SKILLS, openskills};

#[test]
fn everything_about_a_skill_is_shown() {
    expect![[r#"
        exit 0
        stdout: name           pdf
        stdout: description    Extracts text from PDFs. Use when a PDF is given.
        stdout: location       [ROOT]/work/skills/pdf/SKILL.md
        stdout: license        MIT
        stdout: allowed-tools  Read, Bash(git:*)
        stdout: invoked by     the model and the user
        stdout: metadata       author: acme
        stdout: body           3 lines, about 12 tokens
        stdout: content        sha256:180eae55de727d10120aad8b2f80fa81fecb66fe5737e180d52de83b1495a957
        stdout: bundle         sha256:bf5cef094820a25dde2933099d12bfc01e786e5ad62f4ae9abe4417274c8798e
        stdout: files          SKILL.md                  199
        stdout:                references/guide.md         7
    "#]].assert_eq(&openskills(&TestEnv::with(SKILLS), "show skills/pdf").transcript());
}

#[test]
fn json_output_has_the_frontmatter_as_written() {
    let env = TestEnv::with(
        "//- /s/SKILL.md\n---\nname: s\ndescription: d\nversion: 1.10\nnested:\n  a: [1, yes]\nuser-invocable: no\n---\nB.\n//- /s/run.sh\n",
    );
    assert_eq!(env.run("chmod", "755 s/run.sh").code, Some(0));
    let run = openskills(&env, "show s --json");
    assert_eq!(run.code, Some(0));
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(shown["frontmatter"]["version"], "1.10");
    assert_eq!(shown["frontmatter"]["nested"]["a"], serde_json::json!([1, "yes"]));
    assert_eq!((&shown["modelMayInvoke"], &shown["userMayInvoke"]), (&true.into(), &false.into()));
    assert_eq!(
        shown["files"][1],
        serde_json::json!({ "path": "run.sh", "kind": "file", "size": 0, "executable": true })
    );
    assert_eq!(shown["location"], "[ROOT]/work/s/SKILL.md");
    assert!(shown.get("allowedTools").is_none(), "absent means no restriction");
}

#[test]
fn show_refuses_a_skill_that_cannot_be_loaded() {
    let env = TestEnv::with("//- /s/SKILL.md\nno frontmatter\n");
    let run = openskills(&env, "show s");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("error[no-frontmatter]"), "{}", run.stderr);
}

#[test]
fn show_fails_on_a_file_without_a_digest_but_prints_the_rest() {
    let env = TestEnv::with(SKILLS);
    assert_eq!(env.run("mkfifo", "skills/pdf/pipe").code, Some(0));
    let run = openskills(&env, "show skills/pdf");
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.starts_with("name           pdf\n"), "{}", run.stdout);
    assert!(
        run.stderr.contains("error[not-a-file]: expected a regular file, found a FIFO"),
        "{}",
        run.stderr
    );
}

#[test]
fn show_and_prompt_agree_on_who_may_invoke() {
    let env = TestEnv::with(SKILLS);
    env.write("skills/pdf/agents/openai.yaml", b"policy:\n  allow_implicit_invocation: no\n");
    assert!(openskills(&env, "show skills/pdf").stdout.contains("invoked by     the user\n"));
    assert_eq!(openskills(&env, "prompt skills/pdf").stdout, "");
    env.write("skills/pdf/agents/openai.yaml", b"policy:\n  allow_implicit_invocation: yes\n");
    assert!(
        openskills(&env, "show skills/pdf")
            .stdout
            .contains("invoked by     the model and the user\n")
    );
    assert_ne!(openskills(&env, "prompt skills/pdf").stdout, "");
}

#[test]
fn show_and_validate_find_a_skill_by_name_in_any_location() {
    let env = TestEnv::with(SKILLS);
    env.write("skills/broken/SKILL.md", b"no frontmatter\n");
    for command in ["show", "validate"] {
        let found = openskills(&env, &format!("{command} pdf --dir skills"));
        assert_eq!(found.code, Some(0), "{}", found.stderr);
        let broken = openskills(&env, &format!("{command} broken --dir skills"));
        assert!(broken.stderr.contains("no-frontmatter"), "{}", broken.stderr);
        let slip = openskills(&env, &format!("{command} pfd --dir skills"));
        assert_eq!(slip.code, Some(2), "{}", slip.stdout);
        assert!(slip.stderr.contains("did you mean `pdf`?"), "{}", slip.stderr);
        let own = openskills(&env, &format!("{command} cocoaskills"));
        assert!(own.stderr.contains("openskills activate"), "{}", own.stderr);
    }
    env.write(
        "../home/.claude/skills/mine/SKILL.md",
        b"---\nname: mine\ndescription: d\n---\nB.\n",
    );
    assert_eq!(openskills(&env, "disable mine").code, Some(0));
    assert_eq!(openskills(&env, "show mine").code, Some(0));
}
