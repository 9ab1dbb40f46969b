//! corteza.skill/v1 at work: arguments, libraries, effects and interaction.

use serde_json::{Value, json};
use testkit::TestEnv;

use crate::openskills;

const SKILLS: &str = "\
//- /s/autoresearch/SKILL.md
---
skill_format: corteza.skill/v1
name: autoresearch
description: Bounded autonomous research loop into a vault.
side_effects: [filesystem, network]
library_depends: [pensar, 'python:requests']
attach: true
interaction: returning
arguments:
  schema:
    type: object
    properties:
      topic: { type: string, minLength: 2 }
      rounds: { type: integer, minimum: 1, maximum: 9 }
    required: [topic]
    additionalProperties: false
tools:
  allow: [web_search, 'pensar::ingest_url']
---
Research $topic in $rounds rounds ($1).
//- /lib/pensar/DESCRIPTION
Package: pensar
Version: 0.3.1
//- /py/requests-2.31.0.dist-info/METADATA
Name: requests
";

fn env() -> TestEnv {
    let env = TestEnv::with(SKILLS);
    let (r, python) = (env.path("lib"), env.path("py"));
    env.var("R_LIBS", &r.to_string_lossy()).var("PYTHONPATH", &python.to_string_lossy())
}

#[test]
fn arguments_are_checked_before_instructions_are_shown() {
    let env = env();
    let run = openskills(&env, "activate autoresearch --dir s --json -- bees 3");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let loaded: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(loaded["instructions"], "Research bees in 3 rounds (bees).");
    assert_eq!(loaded["arguments"], json!({"topic": "bees", "rounds": 3}));
    assert_eq!(loaded["interaction"], "returning");
    assert_eq!(loaded["sideEffects"], json!(["filesystem", "network"]), "{loaded}");
    // Attaching needs a flag, and is logged.
    assert_eq!(loaded["attach"], json!(false));
    let run = openskills(&env, "activate autoresearch --dir s --json --attach -- bees");
    let loaded: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&loaded["attach"], &loaded["activation"]["attached"]),
        (&json!(true), &json!(true))
    );
    let object = env.run_args(
        env!("CARGO_BIN_EXE_openskills"),
        &["activate", "autoresearch", "--dir", "s", "{\"topic\": \"wasps\"}"],
    );
    assert!(object.stdout.contains("Research wasps"), "{}{}", object.stdout, object.stderr);
    for (given, expected) in [
        ("", "topic"),
        ("-- x", "topic"),
        ("-- bees many", "rounds"),
        ("-- bees 1 2", "unexpected argument"),
        ("-- bees 10", "rounds"),
    ] {
        let run = openskills(&env, &format!("activate autoresearch --dir s {given}"));
        assert_eq!(run.code, Some(1), "{given}: {}", run.stdout);
        assert!(
            run.stderr.contains(expected) && run.stderr.contains("JSON object: topic, rounds"),
            "{given}: {}",
            run.stderr
        );
        assert!(!run.stdout.contains("Research"), "{}", run.stdout);
    }
}

#[test]
fn activation_fails_if_libraries_are_missing() {
    let env = env();
    std::fs::remove_dir_all(env.path("lib/pensar")).unwrap();
    let run = openskills(&env, "activate autoresearch --dir s -- bees");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("needs libraries that are not installed: pensar")
            && run.stderr.contains("install.packages(\"pensar\")"),
        "{}",
        run.stderr
    );
    let log = openskills(&env, "log show --json").stdout;
    assert!(log.contains("missing-libraries"), "{log}");
}

#[test]
fn activation_warns_about_missing_metadata_dependencies() {
    let env = env();
    env.write("s/data/SKILL.md", b"---\nname: data\ndescription: d\nmetadata:\n  dependencies: python>=3.8, requests>=2.0, nosuchlib>=1.5\n---\nBody.\n");
    let run = openskills(&env, "activate data --dir s --json");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let loaded: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(loaded["diagnostics"].as_array().unwrap().len(), 1, "{loaded}");
    assert_eq!(loaded["diagnostics"][0]["code"], "missing-dependency");
    assert!(
        run.stdout.contains("python:nosuchlib") && run.stdout.contains("pip install nosuchlib"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_dry_run_has_no_network_access() {
    let env = TestEnv::with(
        "//- /s/net/SKILL.md\n---\nname: net\ndescription: d\nside_effects: [network, external]\n---\nBody.\n//- /s/net/scripts/a.sh\necho \"proxy=${HTTPS_PROXY:-none}\"\n",
    );
    std::fs::create_dir(env.path("w")).unwrap();
    let approved = openskills(&env, "approve net --dir s --net api.example.com --yes");
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert!(
        approved.stderr.contains("It declares side effects: network, external."),
        "{}",
        approved.stderr
    );
    let run = openskills(&env, "run net --dir s --workspace w");
    assert!(run.stdout.contains("proxy=http"), "{}{}", run.stdout, run.stderr);
    let dry = openskills(&env, "run net --dir s --workspace w --dry-run");
    assert!(dry.stdout.contains("proxy=none"), "{}{}", dry.stdout, dry.stderr);
}

#[test]
fn a_dry_run_reports_declared_side_effects_that_it_withheld() {
    for (declared, withheld, expected) in [
        (
            "side_effects: [network, external]\n",
            json!(["external", "network"]),
            "declares side effects: network, external",
        ),
        ("side_effects: [filesystem]\n", json!([]), ""),
        ("side_effects: [none]\n", json!([]), ""),
        ("", json!(["unknown"]), "does not declare its `side_effects`"),
    ] {
        let env = TestEnv::with(&format!(
            "//- /s/net/SKILL.md\n---\nname: net\ndescription: d\n{declared}---\nBody.\n//- /s/net/scripts/a.sh\necho hello\n"
        ));
        std::fs::create_dir(env.path("w")).unwrap();
        assert_eq!(openskills(&env, "approve net --dir s --yes").code, Some(0));
        let dry = openskills(&env, "run net --dir s --workspace w --dry-run");
        assert_eq!(dry.code, Some(0), "{}", dry.stderr);
        let is_noted = dry.stderr.contains("a dry run has no network access");
        assert_eq!(is_noted, !expected.is_empty(), "{declared}: {}", dry.stderr);
        assert!(dry.stderr.contains(expected), "{declared}: {}", dry.stderr);
        let dry = openskills(&env, "run net --dir s --workspace w --dry-run --json").stdout;
        let mut listed = serde_json::from_str::<Value>(&dry).unwrap()["withheld"].clone();
        if let Some(all) = listed.as_array_mut() {
            all.sort_by_key(ToString::to_string);
        }
        assert_eq!(listed, withheld, "{declared}");
        let run = openskills(&env, "run net --dir s --workspace w");
        assert!(!run.stderr.contains("dry run"), "{}", run.stderr);
    }
}

#[test]
fn invalid_schemas_and_library_names_prevent_activation() {
    for (field, expected) in [
        ("library_depends: [../etc]", "is not a library name"),
        ("library_depends: {pensar: 1}", "library_depends"),
        ("library_depends: [[pensar]]", "library_depends"),
        ("library_depends: [pensar>=new]", "is not a library name"),
        ("arguments: {scheme: {}}", "a mapping with `schema`"),
        ("arguments: {schema: [1]}", "expected a mapping"),
        ("arguments: {schema: {type: objekt}}", "objekt"),
        (
            "arguments: {schema: {type: object, properties: {a: {$ref: 'file:///etc/passwd'}}}}",
            "are not supported",
        ),
    ] {
        let env = TestEnv::with(&format!(
            "//- /s/odd/SKILL.md\n---\nname: odd\ndescription: d\n{field}\n---\nBody.\n"
        ));
        let run = openskills(&env, "validate s/odd");
        assert_eq!(run.code, Some(1), "{field}: {}{}", run.stdout, run.stderr);
        assert!(
            run.stderr.contains(expected) && run.stderr.contains("SKILL.md:4:"),
            "{}",
            run.stderr
        );
        let run = openskills(&env, "activate odd --dir s");
        assert_eq!(run.code, Some(1), "{field}: {}{}", run.stdout, run.stderr);
        assert!(!run.stdout.contains("Body."), "{field}: {}", run.stdout);
        let run = openskills(&env, "install s/odd --yes");
        assert_eq!(run.code, Some(1), "{field}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn package_tools_match_under_both_names() {
    let env = env();
    for (tool, code) in [
        ("web_search", 0),
        ("pensar::ingest_url", 0),
        ("pensar_ingest_url", 0),
        ("ingest_url", 4),
        ("other::ingest_url", 4),
        ("other_ingest_url", 4),
        ("Bash", 4),
    ] {
        let run =
            openskills(&env, &format!("check-tool --skill autoresearch --tool {tool} --dir s"));
        assert_eq!(run.code, Some(code), "{tool}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn migrating_a_skill_there_and_back_restores_it() {
    let env = TestEnv::with(
        "//- /auto/SKILL.md\n---\nname: auto\ndescription: Does it. # mine\ndisable-model-invocation: true\n---\nBody.\n",
    );
    let before = std::fs::read_to_string(env.path("auto/SKILL.md")).unwrap();
    let shown = openskills(&env, "migrate auto");
    assert_eq!(shown.code, Some(5), "{}", shown.stderr);
    assert!(
        shown.stdout.contains("+skill_format: corteza.skill/v1")
            && shown.stdout.contains("-disable-model-invocation: true"),
        "{}",
        shown.stdout
    );
    assert_eq!(std::fs::read_to_string(env.path("auto/SKILL.md")).unwrap(), before);
    assert_eq!(openskills(&env, "migrate auto --yes").code, Some(0));
    let text = std::fs::read_to_string(env.path("auto/SKILL.md")).unwrap();
    assert!(text.contains("model_invocation: user-only") && text.contains("# mine"), "{text}");
    assert_eq!(openskills(&env, "validate auto").code, Some(0));
    let again: Value =
        serde_json::from_str(&openskills(&env, "migrate auto --json").stdout).unwrap();
    assert_eq!((&again["diff"], &again["written"]), (&json!(""), &json!(false)));
    assert_eq!(openskills(&env, "migrate auto --to claude --yes").code, Some(0));
    assert_eq!(openskills(&env, "validate auto").code, Some(0));
    let claude = std::fs::read_to_string(env.path("auto/SKILL.md")).unwrap();
    assert!(
        claude.contains("disable-model-invocation: true") && !claude.contains("\nskill_format"),
        "{claude}"
    );
    assert_eq!(openskills(&env, "migrate auto --yes").code, Some(0));
    let back = std::fs::read_to_string(env.path("auto/SKILL.md")).unwrap();
    assert_eq!(skill::raw_frontmatter(&back), skill::raw_frontmatter(&text));
    // A SKILL.json alone, and what cannot be understood.
    env.write("old/SKILL.json", b"{\"name\": \"old\", \"description\": \"Old.\", \"side_effects\": [\"none\"], \"instructions\": \"Do.\"}");
    assert_eq!(openskills(&env, "migrate old --yes").code, Some(0));
    assert_eq!(openskills(&env, "validate old").code, Some(0));
    assert!(std::fs::read_to_string(env.path("old/SKILL.md")).unwrap().ends_with("Do.\n"));
    env.write("bad/SKILL.md", b"nothing\n");
    let run = openskills(&env, "migrate bad --yes");
    assert!(run.code == Some(1) && run.stderr.contains("frontmatter"), "{}", run.stderr);
    assert_eq!(openskills(&env, "migrate none").code, Some(2));
}

#[test]
fn unknown_tools_do_not_restrict_local_access() {
    let env = env();
    env.write(
        "s/autoresearch/scripts/a.sh",
        b"echo found > out.txt; echo \"proxy=${HTTPS_PROXY:-none}\"\n",
    );
    std::fs::create_dir(env.path("w")).unwrap();
    let approved = openskills(&env, "approve autoresearch --dir s --net api.example.com --yes");
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let run =
        openskills(&env, "run autoresearch --dir s --workspace w --input {\"topic\":\"bees\"}");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("proxy=http"), "{}", run.stdout);
    assert!(env.path("w/out.txt").is_file());
    // A list of tools that are known says what they may do, and no more.
    let text = std::fs::read_to_string(env.path("s/autoresearch/SKILL.md")).unwrap();
    let text = text.replace("[web_search, 'pensar::ingest_url']", "[Read]");
    env.write("s/autoresearch/SKILL.md", text.as_bytes());
    let refused = openskills(&env, "approve autoresearch --dir s --net api.example.com --yes");
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
}

#[test]
fn a_declared_trust_only_lowers_the_computed_trust() {
    let env = TestEnv::with("//- /x\nx\n");
    for (declared, computed) in [
        ("", "user"),
        ("trust: managed\n", "user"),
        ("trust: local\n", "local"),
        ("trust: nonsense\n", "local"),
    ] {
        let text = format!("---\nname: one\ndescription: d\n{declared}---\nBody.\n");
        env.write("s/one/SKILL.md", text.as_bytes());
        let run = openskills(&env, "activate one --dir s --json");
        let loaded: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(loaded["trust"], computed, "{declared}: {loaded}");
    }
}

#[test]
fn migrate_reads_a_sidecar_file_once() {
    let env = TestEnv::with(
        "//- /one/SKILL.md\n---\nname: one\ndescription: d\n---\nBody.\n//- /one/SKILL.json\n{\"model_invocation\": \"user-only\", \"tools\": {\"allow\": [\"Read\"]}, \"instructions\": \"Other words.\"}\n",
    );
    let run = openskills(&env, "migrate one --yes");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("ignored `instructions` in SKILL.json"), "{}", run.stderr);
    let text = std::fs::read_to_string(env.path("one/SKILL.md")).unwrap();
    assert!(text.contains("user-only"), "{text}");
    let edited = text.replace("model_invocation: user-only\n", "").replace("Read", "Grep");
    assert_ne!(edited, text);
    env.write("one/SKILL.md", edited.as_bytes());
    assert_eq!(openskills(&env, "migrate one --to claude --yes").code, Some(0));
    let run = openskills(&env, "migrate one --yes");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let back = std::fs::read_to_string(env.path("one/SKILL.md")).unwrap();
    assert!(!back.contains("user-only") && back.contains("Grep"), "{back}");
}

#[test]
fn the_example_in_the_specification_is_a_valid_bundle() {
    let spec = include_str!("../../../../docs/spec/corteza.skill-v1.md");
    let example = spec.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let env = TestEnv::with("//- /x\nx\n");
    env.write("autoresearch/SKILL.md", format!("{example}Research $topic.\n").as_bytes());
    let run = openskills(&env, "validate autoresearch");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
}

#[test]
fn every_output_shows_the_same_tool_list() {
    for (fields, allowed, denied) in [
        ("allowed-tools: Read Grep\n", json!(["Read", "Grep"]), Value::Null),
        ("tools: {allow: [Read, Grep]}\n", json!(["Read", "Grep"]), Value::Null),
        // Two lists narrow each other.
        (
            "allowed-tools: Read, Bash(git log:*), Write\ntools: {allow: [Bash, Read]}\n",
            json!(["Read", "Bash(git log:*)"]),
            Value::Null,
        ),
        ("allowed-tools: Read\ntools: {allow: [Write]}\n", json!([]), Value::Null),
        ("allowed-tools: Read\ntools: {allow: []}\n", json!([]), Value::Null),
        ("tools: {allow: []}\n", json!([]), Value::Null),
        // What is denied adds up.
        (
            "disallowed-tools: Bash\ntools: {deny: [Write, Bash]}\n",
            Value::Null,
            json!(["Bash", "Write"]),
        ),
        ("tools: {deny: [Write]}\n", Value::Null, json!(["Write"])),
    ] {
        let env = TestEnv::with(&format!(
            "//- /s/one/SKILL.md\n---\nname: one\ndescription: d\n{fields}---\nBody.\n"
        ));
        let data = |arguments: &str| -> Value {
            let run = openskills(&env, arguments);
            assert_eq!(run.code, Some(0), "{fields}: {}", run.stderr);
            serde_json::from_str(&run.stdout).unwrap()
        };
        let active = data("activate one --dir s --json");
        assert_eq!(active["allowedTools"], allowed, "{fields}");
        assert_eq!(active["disallowedTools"], denied, "{fields}");
        let words = |list: &Value| {
            let words = list.as_array()?.iter().map(|word| word.as_str().unwrap());
            Some(words.collect::<Vec<_>>().join(", "))
        };
        let listed = &data("list --dir s --json")["skills"];
        let listed = listed.as_array().unwrap().iter().find(|one| one["name"] == "one").unwrap();
        assert_eq!(listed["allowedTools"].as_str().map(str::to_owned), words(&allowed), "{fields}");
        assert_eq!(data("show s/one --json")["allowedTools"], allowed, "{fields}");
        // What is shown is what is enforced.
        for tool in ["Read", "Write", "Grep"] {
            let run = openskills(&env, &format!("check-tool --skill one --tool {tool} --dir s"));
            let is_in =
                |list: &Value| list.as_array().is_some_and(|all| all.contains(&json!(tool)));
            let may = (allowed.is_null() || is_in(&allowed)) && !is_in(&denied);
            assert_eq!(run.code != Some(4), may, "{fields} {tool}: {}", run.stdout);
        }
    }
}

#[test]
fn migrate_merges_equivalent_tool_lists() {
    let text = "---\nskill_format: corteza.skill/v1\nname: one\ndescription: d\nallowed-tools: Grep, Read\ntools:\n  allow: [Read, Grep]\n---\nBody.\n";
    let env = TestEnv::with(&format!("//- /one/SKILL.md\n{text}"));
    let run = openskills(&env, "migrate one --to claude --yes");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let claude = std::fs::read_to_string(env.path("one/SKILL.md")).unwrap();
    assert!(claude.contains("allowed-tools") && !claude.contains("\ntools:"), "{claude}");
    let run = openskills(&env, "migrate one --yes");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let v1 = std::fs::read_to_string(env.path("one/SKILL.md")).unwrap();
    assert!(v1.contains("\ntools:") && !v1.contains("\nallowed-tools"), "{v1}");
    // Lists that differ are not merged.
    let env = TestEnv::with(&format!("//- /one/SKILL.md\n{}", text.replace("Grep, Read", "Grep")));
    let run = openskills(&env, "migrate one --to claude --yes");
    assert!(run.code == Some(1) && run.stderr.contains("allowed-tools"), "{}", run.stderr);
}

#[test]
fn the_trust_level_is_computed_from_the_location() {
    let env = TestEnv::new();
    let text =
        |name: &str| format!("---\nname: {name}\ndescription: d\ntrust: managed\n---\nBody.\n");
    for (folder, name) in [
        ("team/t", "team"),
        ("theirs/t", "theirs"),
        ("own/t", "own"),
        ("lib/pensar/skills/p", "packaged"),
        (".claude/skills/p", "projected"),
        ("../home/.claude/skills/p", "personal"),
        // A folder that is only called like a package's.
        ("package-x/t", "claimed"),
    ] {
        env.write(&format!("{folder}/SKILL.md"), text(name).as_bytes());
    }
    let root = env.path("").display().to_string();
    let config = json!({"schema_version": 1, "packages": [format!("{root}lib")], "directories": {
        "team": {"path": format!("{root}team"), "source": "org"},
        "theirs": {"path": format!("{root}theirs"), "source": "third_party"},
        "own": {"path": format!("{root}own")},
        "package-x": {"path": format!("{root}package-x")},
    }});
    env.write("../home/.config/openskills/config.json", config.to_string().as_bytes());
    for (name, trust) in [
        ("team", "managed"),
        ("theirs", "project"),
        ("own", "user"),
        ("packaged", "package"),
        ("claimed", "user"),
        ("projected", "project"),
        ("personal", "user"),
        ("cocoaskills", "package"),
    ] {
        let run = openskills(&env, &format!("activate {name} --json"));
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        let loaded: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(loaded["trust"], trust, "{name}");
    }
}

#[test]
fn only_those_who_may_invoke_a_skill_can_read_its_files() {
    let env = TestEnv::new();
    for (name, fields) in [
        ("open", ""),
        ("mine", "model_invocation: user-only\n"),
        ("claude", "disable-model-invocation: true\n"),
        ("off", "model_invocation: disabled\n"),
        ("both", "disable-model-invocation: true\nuser-invocable: false\n"),
        ("models", "user-invocable: false\n"),
    ] {
        let text = format!("---\nname: {name}\ndescription: d\n{fields}---\nHidden words.\n");
        env.write(&format!("s/{name}/SKILL.md"), text.as_bytes());
        env.write(&format!("s/{name}/references/a.md"), b"Hidden file.\n");
    }
    for (name, by_model, by_user) in [
        ("open", true, true),
        ("mine", false, true),
        ("claude", false, true),
        ("off", false, false),
        ("both", false, false),
        ("models", true, true),
    ] {
        for path in ["SKILL.md", "references/a.md"] {
            for (called, may) in [(name.to_owned(), by_model), (format!("/{name}"), by_user)] {
                for more in ["", " --raw", " --json"] {
                    let run = openskills(&env, &format!("read {called} {path} --dir s{more}"));
                    assert_eq!(run.code == Some(0), may, "{called} {path}: {}", run.stderr);
                    assert_eq!(run.stdout.contains("Hidden"), may, "{called}: {}", run.stdout);
                }
            }
        }
    }
    let run = openskills(&env, "read mine references/a.md --dir s");
    assert!(
        run.code == Some(4) && run.stderr.contains("openskills activate /s/mine"),
        "{}",
        run.stderr
    );
    // What the user started in the session is started, there and nowhere else.
    assert_eq!(openskills(&env, "activate /mine --dir s --session one").code, Some(0));
    let run = openskills(&env, "read mine references/a.md --dir s --session one");
    assert!(run.code == Some(0) && run.stdout.contains("Hidden file"), "{}", run.stderr);
    assert_eq!(openskills(&env, "read mine references/a.md --dir s --session two").code, Some(4));
}
