//! Checks that the frontmatter schema agrees with the parser, as far as a schema can.

use std::sync::LazyLock;

use expect_test::expect_file;
use jsonschema::Validator;
use proptest::prelude::*;
use skill::{
    Code, Input, Severity, Strictness, corteza_schema, frontmatter_schema, parse, raw_frontmatter,
};

use crate::corpus::content_cases;

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&frontmatter_schema()).unwrap());

/// Returns true for rules about the data itself. A schema cannot see the folder name, the fences, duplicate keys or
/// missing quotes.
fn is_about_data(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownField
            | Code::WrongType
            | Code::BadBoolean
            | Code::BadValue
            | Code::NameMissing
            | Code::NameTooLong
            | Code::NameNotLowercase
            | Code::NameHyphens
            | Code::NameCharacters
            | Code::DescriptionMissing
            | Code::DescriptionTooLong
            | Code::DescriptionXml
            | Code::CompatibilityEmpty
            | Code::CompatibilityTooLong
            | Code::ToolRuleMalformed
            | Code::SkillFormatUnknown
    )
}

/// Returns the verdicts of the parser and the schema on the data in `bytes`, if there is any.
fn verdicts(directory: &str, bytes: &[u8]) -> Option<(bool, bool)> {
    let instance = raw_frontmatter(std::str::from_utf8(bytes).ok()?)?.to_json();
    let parsed = parse(&Input { file: "f", directory: Some(directory), bytes }, Strictness::Strict);
    let errors =
        || parsed.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    // If the YAML is invalid or a key is unreadable, the parser and the schema do not see the same data.
    let yaml = [
        Code::YamlSyntax,
        Code::YamlTab,
        Code::ControlCharacter,
        Code::NulCharacter,
        Code::KeyNotText,
    ];
    if errors().any(|diagnostic| yaml.contains(&diagnostic.code)) {
        return None;
    }
    Some((
        !errors().any(|diagnostic| is_about_data(diagnostic.code)),
        VALIDATOR.is_valid(&instance),
    ))
}

#[test]
fn the_published_schema_is_current() {
    let text = serde_json::to_string_pretty(&frontmatter_schema()).unwrap() + "\n";
    expect_file!["../../../../schemas/frontmatter.schema.json"].assert_eq(&text);
    let text = serde_json::to_string_pretty(&corteza_schema()).unwrap() + "\n";
    expect_file!["../../../../schemas/corteza.skill-v1.schema.json"].assert_eq(&text);
    let validator = jsonschema::validator_for(&corteza_schema()).unwrap();
    let bundle =
        |format: &str| serde_json::json!({"skill_format": format, "name": "a", "description": "d"});
    assert!(validator.is_valid(&bundle("corteza.skill/v1")));
    assert!(!validator.is_valid(&bundle("corteza.skill/v2")));
    assert!(!validator.is_valid(&serde_json::json!({"name": "a", "description": "d"})));
}

#[test]
fn the_schema_agrees_with_the_parser_on_every_case() {
    let mut compared = 0;
    for case in content_cases() {
        if let Some((parser, schema)) = verdicts(&case.directory, &case.bytes) {
            assert_eq!(parser, schema, "{}", case.name);
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} cases were compared");
}

/// Returns the nesting depth of parentheses; the regular expression supports two levels.
fn nesting_depth(text: &str) -> usize {
    let depths = text.chars().scan(0_usize, |depth, character| {
        *depth = if character == '(' {
            *depth + 1
        } else {
            depth.saturating_sub(usize::from(character == ')'))
        };
        Some(*depth)
    });
    depths.max().unwrap_or(0)
}

fn file(name: &str, description: &str, tools: &str) -> String {
    let quote = |text: &str| serde_json::to_string(text).unwrap();
    let (name, description, tools) = (quote(name), quote(description), quote(tools));
    format!("---\nname: {name}\ndescription: {description}\nallowed-tools: {tools}\n---\n")
}

proptest! {
    #[test]
    fn names_get_the_same_verdict(name in "[a-cA-Cжञिé0-9_ .-]{0,6}|[a-z]{60,68}") {
        let text = file(&name, "d", "Read");
        let (parser, schema) = verdicts(&name, text.as_bytes()).unwrap();
        prop_assert_eq!(parser, schema, "{}", name);
    }

    #[test]
    fn descriptions_get_the_same_verdict(text in "[a <>/!\n]{0,12}", length in prop_oneof![Just(0_usize), 1015..1030_usize]) {
        let text = file("pdf", &format!("{text}{}", "x".repeat(length)), "Read");
        let (parser, schema) = verdicts("pdf", text.as_bytes()).unwrap();
        prop_assert_eq!(parser, schema, "{}", text);
    }

    #[test]
    fn tool_rules_get_the_same_verdict(tools in "[AB():* ,]{0,9}") {
        prop_assume!(nesting_depth(&tools) <= 2);
        let text = file("pdf", "d", &tools);
        let (parser, schema) = verdicts("pdf", text.as_bytes()).unwrap();
        prop_assert_eq!(parser, schema, "{}", tools);
    }

    #[test]
    fn items_of_tool_lists_get_the_same_verdict(item in "[AB():* ,]{0,7}") {
        prop_assume!(nesting_depth(&item) <= 2);
        let item = serde_json::to_string(&item).unwrap();
        let text = format!("---\nname: pdf\ndescription: d\nallowed-tools: [{item}]\n---\n");
        let (parser, schema) = verdicts("pdf", text.as_bytes()).unwrap();
        prop_assert_eq!(parser, schema, "{}", item);
    }
}
