//! Every JSON output has a published schema, and fits it.

use std::path::Path;

use expect_test::expect_file;
use serde_json::Value;
use testkit::TestEnv;

use crate::{SKILLS, openskills};

#[test]
fn the_published_schemas_are_current() {
    for (name, schema) in openskills::output::schemas() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        expect_file![path].assert_eq(&text);
    }
}

#[test]
fn every_output_matches_its_schema() {
    let env = TestEnv::with(SKILLS);
    env.write("skills/bad/SKILL.md", b"\xff");
    env.write(
        "skills/limits/SKILL.md",
        b"---\nname: limits\ndescription: d\nallowed-tools:\nmetadata: {a: [1]}\n---\n",
    );
    env.write(
        "skills/asks/SKILL.md",
        b"---\nname: asks\ndescription: d\nmodel: m\ncontext: fork\nagent: a\nhooks: {Stop: []}\npaths: [x]\n---\n",
    );
    let program = env!("CARGO_BIN_EXE_openskills");
    openskills(&env, &format!("mcp add docs -- {program} mcp --dir skills"));
    openskills(&env, "mcp add gone --no-sync -- none");
    for (name, arguments) in [
        ("openskills-validate", "validate --json -r skills none"),
        ("openskills-validate", "validate --json --lenient skills/pdf"),
        ("openskills-validate-sarif", "validate --sarif -r skills none"),
        ("openskills-show", "show --json skills/pdf"),
        ("openskills-show", "show --json skills/limits"),
        ("openskills-prompt", "prompt --format json skills/pdf skills/csv"),
        ("openskills-prompt", "prompt --format json --no-location skills/pdf"),
        ("openskills-prompt", "prompt --format json --instructions"),
        ("openskills-discover", "discover --json --dir skills"),
        ("openskills-discover", "discover --json"),
        ("openskills-list", "list --json --all --dir skills"),
        ("openskills-list", "list --json"),
        ("openskills-activate", "activate pdf --json --dir skills"),
        ("openskills-activate", "activate asks --json --dir skills"),
        ("openskills-activate", "activate cocoaskills --json"),
        ("openskills-read", "read pdf references/guide.md --json --dir skills"),
        ("openskills-files", "files pdf --json --dir skills"),
        ("openskills-search", "search pdf --json --dir skills"),
        ("openskills-where", "where pdf --json --dir skills"),
        ("openskills-trust", "trust --json"),
        ("openskills-trust-list", "trust --list --json"),
        ("openskills-switch", "disable pdf --json --dir skills"),
        ("openskills-switch", "enable pdf --json --dir skills"),
        ("openskills-prompt", "prompt --json"),
        ("openskills-error", "disable none --json --dir skills"),
        ("openskills-error", "list --json --dir none"),
        ("openskills-check-tool", "check-tool --skill pdf --tool Read --json --dir skills"),
        ("openskills-cache", "cache --json"),
        ("openskills-cache", "cache clear wasm --json"),
        ("openskills-new", "new fresh --json"),
        ("openskills-error", "new fresh --json"),
        ("openskills-mcp-install", "mcp install cursor --dry-run --json"),
        ("openskills-mcp-list", "mcp list --json"),
        ("openskills-mcp-sync", "mcp sync --json"),
        ("openskills-list", "list --json"),
        ("openskills-error", "mcp sync none --json"),
        ("openskills-error", "activate none --json --dir skills"),
        ("openskills-error", "activate bad --json --dir skills"),
        ("openskills-error", "read pdf ../x --json --dir skills"),
    ] {
        let schemas = openskills::output::schemas();
        let (_, schema) = schemas.iter().find(|(found, _)| *found == name).unwrap();
        let validator = jsonschema::validator_for(schema.as_value()).unwrap();
        let output: Value = serde_json::from_str(&openskills(&env, arguments).stdout).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&output).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{arguments}: {errors:?}");
        let mut surprised = output.clone();
        surprised["surprise"] = true.into();
        assert!(!validator.is_valid(&surprised), "{name} takes unknown keys");
        let mut lacking = output.clone();
        lacking.as_object_mut().unwrap().remove("version");
        assert!(!validator.is_valid(&lacking), "{name} takes a lack of keys");
    }
}

/// Holds a file of the user's to its published schema.
pub(crate) fn fits(env: &TestEnv, name: &str, file: &str) {
    let schemas = openskills_runtime::schemas();
    let (_, schema) = schemas.iter().find(|(found, _)| *found == name).unwrap();
    let validator = jsonschema::validator_for(schema).unwrap();
    let text = std::fs::read_to_string(env.path("../home").join(file)).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{file}: {errors:?}");
    value["surprise"] = true.into();
    assert!(!validator.is_valid(&value), "{name} takes unknown keys");
}
