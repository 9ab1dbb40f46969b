//! Every file of the runtime has a published schema, and fits it.

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
fn what_is_written_fits_its_schema_and_what_is_read_must() {
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
