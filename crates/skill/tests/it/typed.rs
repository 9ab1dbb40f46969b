//! The values that the parser returns, not only its verdicts.

use skill::{
    Arguments, Body, Context, CortezaTrust, Document, Frontmatter, Input, Interaction,
    MAX_SKILL_FILE_BYTES, ModelInvocation, Shell, SideEffect, Strictness, ToolRule, Value, parse,
};

use crate::corpus::{content_cases, parse_case};

fn load(case: &str) -> Document {
    let case = content_cases().into_iter().find(|found| found.name == case).unwrap();
    parse_case(&case, Strictness::Lenient).document.unwrap()
}

fn read(fields: &str) -> Frontmatter {
    let text = format!("---\nname: pdf\ndescription: d\n{fields}---\nBody.\n");
    let input = Input { file: "SKILL.md", directory: Some("pdf"), bytes: text.as_bytes() };
    parse(&input, Strictness::Lenient).document.unwrap().frontmatter
}

#[test]
fn dashes_inside_a_value_do_not_end_the_frontmatter() {
    let document = load("dashes-in-value");
    assert_eq!(document.frontmatter.description, "Extracts --- and converts --- text.");
    assert_eq!(document.frontmatter.license.as_deref(), Some("MIT"));
    assert_eq!(document.body.text, "Body.");
    assert_eq!(load("dashes-in-block").frontmatter.description, "Extracts\n---\ntext.");
}

#[test]
fn the_body_is_everything_after_the_fence_trimmed() {
    let Body { text, start } = load("rule-in-body").body;
    assert_eq!((text.as_str(), start), ("One.\n\n---\n\nTwo.", 33));
    assert_eq!(load("crlf").body.text, "Body.");
}

#[test]
fn an_unquoted_value_is_repaired() {
    for (case, description) in [
        ("unquoted-colon", "Extracts text. Triggers: pdf, scan"),
        ("unquoted-colon-folded", "Extracts text when the user says: do it"),
        ("starts-with-backtick", "`pdf` extraction"),
        ("starts-with-star", "*Important* extraction"),
        ("starts-with-bracket", "[BETA] Extracts text"),
    ] {
        assert_eq!(load(case).frontmatter.description, description, "{case}");
    }
    let metadata = load("unquoted-colon-in-metadata").frontmatter.metadata;
    assert_eq!(
        metadata,
        [("note".to_owned(), Value::Text { text: "see: this".into(), plain: false })]
    );
}

#[test]
fn scalars_keep_their_text() {
    let metadata = load("metadata-numbers").frontmatter.metadata;
    let texts: Vec<String> =
        metadata.iter().map(|(key, value)| format!("{key}={}", value.to_text())).collect();
    assert_eq!(texts, ["version=1.10", "year=2026", "stable=yes"]);
}

#[test]
fn nested_and_inline_json_metadata_keep_their_structure() {
    let nested = load("metadata-nested").frontmatter.metadata;
    assert_eq!(nested[0].1.get("emoji").map(Value::to_text).as_deref(), Some("📄"));
    let inline = load("metadata-json").frontmatter.metadata;
    assert_eq!(inline[0].1.to_text(), r#"{"requires":{"bins":["jq"]}}"#);
}

#[test]
fn unknown_fields_are_kept_verbatim() {
    let unknown = read("version: 1.10 \ntags:\n  - a\n  - b: 007\n").unknown;
    let kept: Vec<(&str, &str)> =
        unknown.iter().map(|field| (field.key.as_str(), field.yaml.as_str())).collect();
    assert_eq!(kept, [("version", "version: 1.10"), ("tags", "tags:\n  - a\n  - b: 007")]);
    assert_eq!(unknown[1].value.to_json().to_string(), r#"["a",{"b":"007"}]"#);
}

#[test]
fn the_fields_of_claude_code_are_typed() {
    let claude = load("claude-fields").frontmatter.claude;
    assert_eq!(claude.when_to_use.as_deref(), Some("When a PDF is given."));
    assert_eq!(claude.argument_hint.as_deref(), Some("[file]"));
    assert_eq!(
        (claude.disable_model_invocation, claude.user_invocable, claude.background),
        (Some(true), Some(false), Some(false))
    );
    assert_eq!(
        (claude.model.as_deref(), claude.effort.as_deref(), claude.agent.as_deref()),
        (Some("sonnet"), Some("high"), Some("Explore"))
    );
    assert_eq!((claude.context, claude.shell), (Some(Context::Fork), Some(Shell::Bash)));
    assert_eq!(claude.paths, ["src/**", "docs/*.md"]);
    let hooks = claude.hooks.unwrap().to_json();
    assert_eq!(hooks["PreToolUse"][0]["hooks"][0]["timeout"], 10);
    assert_eq!(
        load("argument-hint-brackets").frontmatter.claude.argument_hint.as_deref(),
        Some("[file] [mode]")
    );
    assert_eq!(read("argument-hint: [file]\n").claude.argument_hint.as_deref(), Some("[file]"));
}

#[test]
fn the_fields_of_corteza_are_typed() {
    let frontmatter = load("corteza-fields").frontmatter;
    let corteza = frontmatter.corteza;
    assert_eq!(corteza.skill_format.as_deref(), Some("corteza.skill/v1"));
    assert_eq!(corteza.model_invocation, Some(ModelInvocation::UserOnly));
    assert_eq!(corteza.side_effects, Some(vec![SideEffect::Filesystem, SideEffect::Network]));
    assert_eq!(
        (corteza.trust, corteza.interaction, corteza.attach),
        (Some(CortezaTrust::Package), Some(Interaction::Returning), Some(false))
    );
    assert_eq!(corteza.library_depends, ["pensar", "llm.api"]);
    let tools = corteza.tools.unwrap();
    assert_eq!(tools.allow.unwrap().rules[1].to_string(), "pensar::write_page");
    assert_eq!(tools.deny.rules[0].to_string(), "bash");
    assert_eq!(corteza.generated_from.unwrap().version.as_deref(), Some("1.10"));
    assert!(matches!(frontmatter.arguments, Some(Arguments::Schema(_))));
    assert_eq!(read("interaction: oneshot\n").corteza.interaction, Some(Interaction::Returning));
    assert_eq!(
        read("arguments: a b\n").arguments,
        Some(Arguments::Names(vec!["a".into(), "b".into()]))
    );
}

#[test]
fn unreadable_values_narrow_and_never_widen() {
    assert_eq!(
        read("disable-model-invocation: perhaps\n").claude.disable_model_invocation,
        Some(true)
    );
    assert_eq!(
        read("model_invocation: [x]\n").corteza.model_invocation,
        Some(ModelInvocation::Disabled)
    );
    assert_eq!(read("trust: manged\n").corteza.trust, Some(CortezaTrust::Local));
    assert_eq!(read("side_effects: [none, nework]\n").corteza.side_effects, None);
    assert_eq!(read("user-invocable: perhaps\n").claude.user_invocable, Some(false));
    assert_eq!(
        read("tools: {allow: [bash], dney: [bash]}\n").corteza.tools.unwrap().allow.unwrap().rules,
        []
    );
    let mistyped = read("skill_format: corteza.skill/v1\ntools: [bash]\n");
    assert_eq!(mistyped.corteza.tools.unwrap().allow.unwrap().rules, []);
    assert_eq!(read("tools:\n  dney: [bash]\n").corteza.tools.unwrap().allow.unwrap().rules, []);
    let malformed = ToolRule::Malformed(String::new());
    assert_eq!(
        read("allowed-tools: {a: b}\n").allowed_tools.unwrap().rules,
        std::slice::from_ref(&malformed)
    );
    assert_eq!(read("tools: {deny: {a: b}}\n").corteza.tools.unwrap().deny.rules, [malformed]);
    assert_eq!(read("allowed-tools:\n").allowed_tools.unwrap().rules, []);
    assert_eq!(read("").allowed_tools, None);
}

#[test]
fn the_strictest_field_decides_who_may_invoke() {
    for (fields, model, user) in [
        ("", true, true),
        ("disable-model-invocation: true\n", false, true),
        ("user-invocable: false\n", true, false),
        ("model_invocation: user-only\n", false, true),
        ("model_invocation: disabled\n", false, false),
        ("model_invocation: auto\ndisable-model-invocation: yes\n", false, true),
        ("model_invocation: disabled\nuser-invocable: true\n", false, false),
    ] {
        let frontmatter = read(fields);
        assert_eq!(
            (frontmatter.model_may_invoke(), frontmatter.user_may_invoke()),
            (model, user),
            "{fields}"
        );
    }
}

#[test]
fn a_listing_is_one_line_with_when_to_use() {
    assert_eq!(load("claude-fields").frontmatter.listing(), "d When a PDF is given.");
    assert_eq!(load("description-block").frontmatter.listing(), "Extracts text. And tables.");
}

#[test]
fn a_missing_name_defaults_to_the_folder_name() {
    assert_eq!(load("name-missing").frontmatter.name, "pdf");
}

#[test]
fn yaml_bombs_are_rejected_quickly() {
    let deep = format!("a: {}{}", "[".repeat(50_000), "]".repeat(50_000));
    let deep_block: String = (0..150).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let last = format!("*a{}", level - 1);
        aliases.push_str(&format!("a{level}: &a{level} [{}]\n", vec![last; 10].join(", ")));
    }
    let long = "x".repeat(30_000);
    let long_alias = format!("a: &a {long}\nb: [{}]\n", vec!["*a"; 2_000].join(", "));
    let many: String = (0..12_000).map(|key| format!("k{key}:\n")).collect();
    for (label, yaml, code) in [
        ("flow nesting", deep.as_str(), "yaml-too-big"),
        ("flow nesting that fits", &deep[..3_000], "yaml-too-deep"),
        ("block nesting", &deep_block, "yaml-too-deep"),
        ("alias bomb", &aliases, "yaml-too-big"),
        ("long alias", &long_alias, "yaml-too-big"),
        ("many keys", &many, "yaml-too-big"),
        ("self reference", "a: &a [*a]\n", "yaml-syntax"),
    ] {
        let text = format!("---\nname: pdf\ndescription: d\n{yaml}\n---\n");
        let parsed = parse(
            &Input { file: "SKILL.md", directory: None, bytes: text.as_bytes() },
            Strictness::Lenient,
        );
        let codes: Vec<&str> =
            parsed.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
        assert_eq!(codes, [code], "{label}");
    }
    let big = vec![b'x'; usize::try_from(MAX_SKILL_FILE_BYTES).unwrap() + 1];
    let parsed =
        parse(&Input { file: "SKILL.md", directory: None, bytes: &big }, Strictness::Lenient);
    assert_eq!(parsed.diagnostics[0].code.as_str(), "file-too-large");
}

fn error_codes(text: &str) -> Vec<String> {
    let input = Input { file: "SKILL.md", directory: Some("pdf"), bytes: text.as_bytes() };
    let parsed = parse(&input, Strictness::Lenient);
    let errors = parsed
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == skill::Severity::Error);
    errors.map(|diagnostic| diagnostic.code.as_str().to_owned()).collect()
}

#[test]
fn suspicious_characters_are_found_after_many_others() {
    let many = "\u{200e}".repeat(50);
    for (text, code) in [
        (format!("---\nname: pdf\ndescription: d\n---\n{many} \0\n"), "nul-character"),
        (format!("---\nname: pdf\ndescription: {many} \0\n---\nB.\n"), "nul-character"),
        (format!("---\nname: pdf\ndescription: {many} \u{1b}[2J\n---\nB.\n"), "control-character"),
        ("---\nname: pdf\ndescription: \"d \\0\"\n---\nB.\n".to_owned(), "nul-character"),
        ("---\nname: pdf\ndescription: \"d \\e[2J\"\n---\nB.\n".to_owned(), "control-character"),
        (
            "---\nname: pdf\ndescription: d\n\"k\\x1b\": v\n---\nB.\n".to_owned(),
            "control-character",
        ),
        (
            "---\nname: pdf\ndescription: d\nskill_format: [corteza.skill/v2]\n---\nB.\n"
                .to_owned(),
            "skill-format-unknown",
        ),
    ] {
        assert_eq!(error_codes(&text), [code], "{text:?}");
    }
}

#[test]
fn a_broken_line_never_hides_another() {
    // Each of these would load without its restriction if the broken line were skipped.
    for text in [
        "---\n\tallowed-tools: Read\nname: pdf\ndescription: Use: it\n---\nB.\n",
        "---\n- junk\nname: pdf\ndescription: Use: it\n---\nB.\n",
        "---\nname: pdf\ndescription: foo\n\tallowed-tools: Read\n---\nB.\n",
        "---\nname: pdf\ndescription: Use: it\nmetadata:\n  - a: b: c\n---\nB.\n",
        "---\nname: pdf\ndescription: Use: it\na: &t Bash\ndisallowed-tools: *t\n---\nB.\n",
    ] {
        assert_ne!(error_codes(text), Vec::<String>::new(), "{text:?}");
    }
    for text in [
        "---\nname: pdf\rdisable-model-invocation: true\ndescription: use: it\n---\nB.\n",
        "---\nname: pdf\u{2028}disable-model-invocation: true\ndescription: use it\n---\nB.\n",
        "---\nname: pdf\ndescription: use: it\n license: MIT\n---\nB.\n",
    ] {
        assert_ne!(error_codes(text), Vec::<String>::new(), "{text:?}");
    }
    let flow = "---\n{name: pdf, allowed-tools: Read}\ndescription: Use: it\n---\nB.\n";
    let input = Input { file: "SKILL.md", directory: Some("pdf"), bytes: flow.as_bytes() };
    let document = parse(&input, Strictness::Lenient).document.unwrap();
    assert_eq!(document.frontmatter.allowed_tools.unwrap().rules[0].to_string(), "Read");
}

#[test]
fn a_repair_leaves_valid_entries_unchanged() {
    let text = "---\nname: pdf\ndescription: Use: it\n# a comment\nmetadata: {\n  a: 1\n}\ncompatibility: \"one\n  two\"\n---\nB.\n";
    let input = Input { file: "SKILL.md", directory: Some("pdf"), bytes: text.as_bytes() };
    let frontmatter = parse(&input, Strictness::Lenient).document.unwrap().frontmatter;
    assert_eq!(frontmatter.description, "Use: it");
    assert_eq!(frontmatter.metadata.len(), 1);
    assert_eq!(frontmatter.compatibility.as_deref(), Some("one two"));
}
