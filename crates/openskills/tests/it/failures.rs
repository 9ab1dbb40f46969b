//! Failures as data and as words: each has a code, says what is wrong, and says what to do.

use serde_json::Value;
use testkit::TestEnv;

use crate::{SKILLS, openskills};

fn failure(env: &TestEnv, arguments: &str) -> (Option<i32>, Value) {
    let run = openskills(env, arguments);
    let told: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{arguments}: {error}: {}{}", run.stdout, run.stderr));
    assert_eq!(told["version"], 1, "{arguments}");
    (run.code, told["error"].clone())
}

#[test]
fn every_failure_with_json_output_has_a_code_and_a_hint() {
    let env = TestEnv::with(SKILLS);
    env.write("broken/SKILL.md", b"no frontmatter\n");
    env.write("file", b"x");
    assert_eq!(openskills(&env, "new foo").code, Some(0));
    for (arguments, code, kind) in [
        ("show nosuch --json", 2, "setup"),
        ("show . --json", 1, "invalid-manifest"),
        ("show broken --json", 1, "invalid-manifest"),
        ("prompt nosuch --json", 2, "setup"),
        ("prompt broken --json", 1, "invalid-manifest"),
        ("log show nosuch --json", 6, "log"),
        ("log tail nosuch --json", 6, "log"),
        ("log verify nosuch --json", 6, "log"),
        ("log stats nosuch --json", 6, "log"),
        ("replay nosuch --json", 6, "log"),
        ("trust nosuch --json", 2, "setup"),
        ("trust file --json", 2, "setup"),
        ("migrate nosuch --json", 2, "setup"),
        ("pack nosuch --json", 2, "setup"),
        ("list --project nosuch --json", 2, "setup"),
        ("list --project file --json", 2, "setup"),
        ("list --dir nosuch --json", 2, "setup"),
        ("install file --json", 1, "package"),
        ("new foo --json", 2, "setup"),
        ("activate --json", 2, "usage"),
        ("show --jsno --json", 2, "usage"),
    ] {
        let (exit, error) = failure(&env, arguments);
        assert_eq!(
            (exit, error["code"].as_str()),
            (Some(code), Some(kind)),
            "{arguments}: {error}"
        );
        for field in ["message", "hint"] {
            let text = error[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{arguments}: no {field}: {error}");
        }
    }
    let (_, error) = failure(&env, "activate --json");
    let told = "the following required arguments were not provided: <NAME>";
    assert_eq!(error["message"], told);
    assert_eq!(failure(&env, "show --jsno --json").1["hint"], "did you mean `--json`?");
    assert_eq!(failure(&env, "pack skils --json").1["hint"], "did you mean `skills`?");
}

#[test]
#[cfg(target_os = "linux")]
fn an_unwritable_folder_is_reported_once_as_a_file_error() {
    // Not even root makes a folder there.
    let (code, error) = failure(&TestEnv::new(), "new foo --dir /sys --json");
    assert_eq!((code, error["code"].as_str()), (Some(2), Some("files")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert_eq!(message.to_lowercase().matches("permission denied").count(), 1, "{message}");
    assert!(error["hint"].as_str().unwrap().contains("ls -ld"), "{error}");
}

#[test]
fn a_missing_path_is_a_usage_error() {
    let env = TestEnv::with(SKILLS);
    for arguments in ["validate nosuch", "show nosuch", "prompt nosuch", "trust nosuch"] {
        assert_eq!(openskills(&env, arguments).code, Some(2), "{arguments}");
    }
    // One that is gone can still be trusted no longer.
    assert_eq!(openskills(&env, "trust --remove nosuch").code, Some(0));
}
