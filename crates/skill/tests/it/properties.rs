//! Properties that hold for every input.

use proptest::prelude::*;
use skill::{AllowedTools, Input, RelPath, Severity, SkillName, Strictness, parse};

/// Generates text that is likely to reach edge cases of the parser.
fn skill_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("---\n".to_owned()),
        Just("---".to_owned()),
        Just("name: pdf\n".to_owned()),
        Just("description: ".to_owned()),
        Just("metadata:\n  ".to_owned()),
        Just("allowed-tools: [Read, 'Bash(a b)']\n".to_owned()),
        Just("tools: {deny: [x]}\n".to_owned()),
        Just("a: &a [*a, ? b : c]\n".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\r\n".to_owned()),
        Just("\t".to_owned()),
        Just("'\"|>`@%*&!#{}[],: -\n".to_owned()),
        "[ -~]{0,20}\n",
        "\\PC{0,10}",
    ];
    let text =
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![4 => text, 1 => proptest::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #[test]
    fn any_bytes_give_a_document_or_an_error_with_valid_positions(bytes in skill_text()) {
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let parsed = parse(&Input { file: "f", directory: Some("pdf"), bytes: &bytes }, strictness);
            let refused = parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
            prop_assert_eq!(parsed.document.is_none(), refused);
            for diagnostic in &parsed.diagnostics {
                let span = diagnostic.span.unwrap();
                prop_assert!(span.start.line >= 1 && span.start.line <= lines && span.start.column >= 1);
                prop_assert!(span.start.offset <= bytes.len() && span.start.offset <= span.end.offset);
                prop_assert!(!diagnostic.message.is_empty() && !diagnostic.message.ends_with('.'));
            }
        }
    }

    #[test]
    fn lenient_mode_reads_valid_files_like_strict_mode(bytes in skill_text()) {
        let read = |strictness| parse(&Input { file: "f", directory: Some("pdf"), bytes: &bytes }, strictness);
        if let Some(document) = read(Strictness::Strict).document {
            prop_assert_eq!(Some(document), read(Strictness::Lenient).document);
        }
    }

    #[test]
    fn a_quoted_description_survives(text in "[^\\p{C}\\p{Zl}\\p{Zp}<>]{1,80}") {
        prop_assume!(!text.trim().is_empty());
        let quoted = serde_json::to_string(&text).unwrap();
        let file = format!("---\nname: pdf\ndescription: {quoted}\n---\nBody.\n");
        let parsed = parse(&Input { file: "f", directory: Some("pdf"), bytes: file.as_bytes() }, Strictness::Lenient);
        prop_assert_eq!(parsed.document.unwrap().frontmatter.description, text.trim());
    }

    #[test]
    fn parsing_a_name_twice_changes_nothing(text in "\\PC{0,12}") {
        if let Ok(name) = SkillName::parse(&text) {
            prop_assert_eq!(SkillName::parse(name.as_str()).unwrap(), name);
        }
    }

    #[test]
    fn a_relative_path_never_leaves_its_root(text in "[a./\\\\: ]{0,12}") {
        if let Ok(path) = RelPath::new(text) {
            prop_assert!(path.parts().all(|part| !part.is_empty() && part != "." && part != ".."));
        }
    }

    #[test]
    fn an_unclosed_parenthesis_allows_nothing(tool in "[A-Za-z]{1,8}", inside in "[a-z:* ]{0,12}") {
        let tools = AllowedTools::from_text(&format!("{tool}({inside}"));
        prop_assert_eq!(tools.malformed().count(), tools.rules.len());
    }
}
