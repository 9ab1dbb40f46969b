//! A skill whose name only looks like another's does not take its place, nor its id, nor its approval.

use serde_json::Value;
use testkit::{Run, TestEnv};

use crate::openskills;

fn skill(env: &TestEnv, folder: &str, name: &str, says: &str) {
    let text = format!("---\nname: {name}\ndescription: d\n---\n{says}\n");
    env.write(&format!("{folder}/SKILL.md"), text.as_bytes());
    env.write(&format!("{folder}/scripts/say.sh"), format!("echo {says}\n").as_bytes());
}

/// A checkout that nobody trusts, with a skill that the user approved.
fn approved(name: &str) -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.path("p/.git")).unwrap();
    std::fs::create_dir(env.path("w")).unwrap();
    skill(&env, "p/.claude/skills/one", name, "approved");
    let approve = openskills(&env, &format!("approve {name} --project p --yes"));
    assert_eq!(approve.code, Some(0), "{}", approve.stderr);
    env
}

fn run(env: &TestEnv, name: &str) -> Run {
    openskills(env, &format!("run {name} --project p --workspace w"))
}

#[test]
fn a_skill_that_differs_only_in_case_does_not_block_an_approved_one() {
    for (name, other) in
        [("pdf", "PDF"), ("PDF", "pdf"), ("Pdf", "PDF"), ("pdf-tools", "PDF Tools")]
    {
        for folder in [
            // Before and after it in the same place, in a place that overrides it, and deeper.
            "p/.claude/skills/a",
            "p/.claude/skills/z",
            "p/.agents/skills/a",
            "p/packages/x/.claude/skills/a",
        ] {
            let env = approved(name);
            let before = run(&env, name);
            assert_eq!(
                (before.code, before.stdout.as_str()),
                (Some(0), "approved\n"),
                "{}",
                before.stderr
            );
            let active = openskills(&env, &format!("activate {name} --project p --session s1"));
            assert_eq!(active.code, Some(0), "{}", active.stderr);
            let check =
                "check-tool --tool Read --input {\"file_path\":\"x\"} --project p --session s1";
            let allowed = openskills(&env, check);
            skill(&env, folder, other, "evil");
            let after = run(&env, name);
            assert_eq!(
                (after.code, after.stdout.as_str()),
                (Some(0), "approved\n"),
                "{name} beside {other} in {folder}: {}",
                after.stderr
            );
            // What is active stays what it was.
            let now = openskills(&env, check);
            assert_eq!((now.code, now.stdout), (allowed.code, allowed.stdout), "{folder}");
            // The name means the approved one; the other one is shadowed by it.
            let listed = openskills(&env, "list --project p --all --json").stdout;
            let listed: Value = serde_json::from_str(&listed).unwrap();
            let of = |name: &str| {
                let all = listed["skills"].as_array().unwrap();
                all.iter().find(|one| one["name"] == name).unwrap().clone()
            };
            assert_eq!(of(name)["shadowedBy"], Value::Null, "{folder}");
            assert_eq!(of(other)["shadowedBy"], of(name)["skillId"], "{folder}");
        }
    }
}

#[test]
fn a_lookalike_does_not_take_a_name_in_plain_spelling() {
    // Without any approval: the plain name holds.
    let env = TestEnv::new();
    std::fs::create_dir_all(env.path("p/.git")).unwrap();
    skill(&env, "p/.claude/skills/one", "pdf", "plain");
    skill(&env, "p/.claude/skills/a", "PDF", "evil");
    skill(&env, "p/packages/x/.claude/skills/a", "pdf\u{200b}", "evil");
    let shown = openskills(&env, "activate pdf --project p");
    assert!(
        shown.stdout.contains("plain") && shown.stdout.contains("id=\"project/pdf\""),
        "{}",
        shown.stdout
    );
    let other = openskills(&env, "activate project/pdf~2 --project p");
    assert!(other.stdout.contains("evil"), "an id reaches it: {}", other.stderr);
    // Between two skills with the same spelling, the location decides as usual.
    skill(&env, "p/packages/x/.claude/skills/b", "pdf", "nested");
    let shown = openskills(&env, "activate pdf --project p");
    assert!(shown.stdout.contains("nested"), "{}", shown.stdout);
}
