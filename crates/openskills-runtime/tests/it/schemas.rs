//! Every file of the runtime has a published schema and matches it.

use std::fs;
use std::path::Path;

use expect_test::expect_file;
use openskills_runtime::schemas;
use serde_json::Value;
use skill_fs::AbsPath;

use crate::{World, skill};

#[test]
fn the_published_schemas_are_current() {
    for (name, schema) in schemas() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.schema.json"));
        expect_file![path].assert_eq(&(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
    }
}

#[test]
fn files_match_their_schema_and_invalid_ones_are_rejected() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    let mut runtime = world.discover();
    runtime.trust_folder(&AbsPath::new(world.path("work")).unwrap()).unwrap();
    runtime.disable_skill("x").unwrap();
    let valid = |name: &str, value: &Value| {
        let all = schemas();
        let (_, schema) = all.iter().find(|(found, _)| *found == name).unwrap();
        jsonschema::validator_for(schema).unwrap().is_valid(value)
    };
    for (name, file) in [
        ("openskills-trusted-folders", "trusted-folders.json"),
        ("openskills-disabled-skills", "disabled-skills.json"),
    ] {
        let text =
            fs::read_to_string(world.path("home/.local/state/openskills").join(file)).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        assert!(valid(name, &value), "{text}");
        value["folders"] = Value::from("x");
        assert!(!valid(name, &value));
    }
    let plan = world.discover().plan_run(
        "personal/x",
        None,
        openskills_runtime::permit::RequestedAccess::default(),
    );
    assert!(plan.is_err(), "it is disabled");
    runtime.enable_skill("x").unwrap();
    let plan = runtime
        .plan_run("x", None, openskills_runtime::permit::RequestedAccess::default())
        .unwrap();
    let request = runtime.request(&plan).unwrap().unwrap();
    runtime.approve(&request, Some("2100-01-01T00:00:00Z".parse().unwrap())).unwrap();
    for (name, file, key) in [
        ("openskills-approvals-file", "approvals.json", "approvals"),
        ("openskills-log-head", "log/head.json", "events"),
    ] {
        let text =
            fs::read_to_string(world.path("home/.local/state/openskills").join(file)).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        assert!(valid(name, &value), "{text}");
        value[key] = Value::from("x");
        assert!(!valid(name, &value));
    }
    let policy = r#"{"schema_version": 1, "deny": {"skills": ["a*"], "origins": ["https://evil.test/*"], "digests": [],
        "hosts": ["*.evil.test"], "tools": ["Bash(rm:*)"]}, "allowed_origins": ["https://git.test/*"],
        "allowed_hosts": ["a.test"], "required_trust": {"activate": "third_party", "run": "org"},
        "allow_approve_once": false, "max_approval_days": 30, "allowed_tools": "allowlist"}"#;
    let policy: Value = serde_json::from_str(policy).unwrap();
    assert!(valid("openskills-policy", &policy));
    fs::write(world.path("org-policy.json"), policy.to_string()).unwrap();
    world.discover();
    for key in policy.as_object().unwrap().keys().filter(|key| *key != "schema_version") {
        let mut wrong = policy.clone();
        wrong[key] = Value::from(7.5);
        assert!(!valid("openskills-policy", &wrong), "{key}");
        fs::write(world.path("org-policy.json"), wrong.to_string()).unwrap();
        let mut runtime = openskills_runtime::OpenSkillRuntime::with_config(world.config());
        assert!(runtime.discover_skills().is_err(), "{key}");
    }
    let config: Value = serde_json::from_str(
        r#"{"schema_version": 1, "directories": {"a": {"path": "~/a", "source": "org"}}, "packages": ["/b"]}"#,
    )
    .unwrap();
    assert!(valid("openskills-config", &config));
    for (at, bad) in
        [("/directories/a/path", "a"), ("/directories/a/source", "builtin"), ("/packages/0", "b")]
    {
        let mut config = config.clone();
        *config.pointer_mut(at).unwrap() = Value::from(bad);
        assert!(!valid("openskills-config", &config), "{at}");
    }
}
