//! The program's verdict on every case of the corpus, on real folders, beside the reference library's.

use serde_json::Value;
use testkit::TestEnv;
use testkit::corpus::cases;

use crate::openskills;

#[test]
fn results_match_the_reference_except_documented_differences() {
    let mut wrong = Vec::new();
    for case in cases() {
        let env = TestEnv::new();
        case.write(&env.work());
        let run = env.run_args(
            env!("CARGO_BIN_EXE_openskills"),
            &["validate", "--json", "--", &case.directory],
        );
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let valid = report["valid"] == true;
        // A path that is not there is a wrong call.
        let is_slip = !env.path(&case.directory).exists();
        assert_eq!(run.code, Some(i32::from(!valid) + i32::from(is_slip)), "{}", case.name);
        if (valid == (case.reference == "valid")) == case.differs.is_some() {
            wrong.push(format!("{}: we say {valid}, the reference {}", case.name, case.reference));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn lenient_mode_accepts_whatever_strict_mode_accepts() {
    for case in cases() {
        let env = TestEnv::new();
        case.write(&env.work());
        let strict =
            env.run_args(env!("CARGO_BIN_EXE_openskills"), &["validate", "--", &case.directory]);
        let lenient = env.run_args(
            env!("CARGO_BIN_EXE_openskills"),
            &["validate", "--lenient", "--", &case.directory],
        );
        assert!(strict.code != Some(0) || lenient.code == Some(0), "{}", case.name);
    }
}

#[test]
fn lenient_mode_loads_a_titlecase_skill_file() {
    let case = cases().into_iter().find(|case| case.name == "titlecase-file").unwrap();
    let env = TestEnv::new();
    case.write(&env.work());
    assert_eq!(openskills(&env, "validate pdf").code, Some(1));
    assert_eq!(openskills(&env, "validate --lenient pdf").code, Some(0));
}
