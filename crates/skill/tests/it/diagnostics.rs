//! How problems are reported: position, message and hint.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use skill::{Input, Strictness, parse};

fn check_in(directory: Option<&str>, text: &str, strictness: Strictness, expected: &Expect) {
    let parsed = parse(&Input { file: "SKILL.md", directory, bytes: text.as_bytes() }, strictness);
    let mut shown = String::new();
    for diagnostic in parsed.diagnostics {
        let place = diagnostic.span.map(|span| {
            let end = if span.end.line == span.start.line {
                format!("{}", span.end.column)
            } else {
                "…".into()
            };
            format!("{}:{}-{end}", span.start.line, span.start.column)
        });
        writeln!(
            shown,
            "{} {} {}",
            place.unwrap_or_default(),
            diagnostic.severity.as_str(),
            diagnostic.code
        )
        .unwrap();
        writeln!(shown, "  {}", diagnostic.message).unwrap();
        if let Some(hint) = diagnostic.hint {
            writeln!(shown, "  hint: {hint}").unwrap();
        }
    }
    expected.assert_eq(&shown);
}

#[expect(clippy::needless_pass_by_value, reason = "reads better at the call")]
fn check(text: &str, expected: Expect) {
    check_in(Some("pdf"), text, Strictness::Strict, &expected);
}

#[test]
fn rules_that_permit_arbitrary_code_are_noted() {
    check(
        "---\nname: pdf\ndescription: d\nallowed-tools: Read Bash(git:*) Bash(python3:*) Bash(convert:*)\n---\nBody.\n",
        expect![[r#"
            4:16-64 note tool-rule-any-code
              `Bash(python3:*)` in `allowed-tools` lets the agent run arbitrary code: `python3` runs the code passed to it
              hint: list only the commands that the skill needs; until the skill is approved, such calls need confirmation
            4:16-64 note tool-rule-any-code
              `Bash(convert:*)` in `allowed-tools` lets the agent run arbitrary code: `convert` is not a program that openskills knows
              hint: list only the commands that the skill needs; until the skill is approved, such calls need confirmation
        "#]],
    );
    check_in(
        Some("pdf"),
        "---\nname: pdf\ndescription: d\nallowed-tools: Bash\n---\nBody.\n",
        Strictness::Lenient,
        &expect![""],
    );
}

#[test]
fn all_problems_are_found_at_once() {
    check(
        "---\nname: My Skill\nversion: 1\nlicense: [MIT]\n---\n",
        expect![[r#"
            1:1-4 error description-missing
              `description` is missing
              hint: describe what the skill does and when to use it
            2:7-15 error name-not-lowercase
              `name` is `My Skill`; capital letters are not allowed
              hint: write `name: pdf`
            2:7-15 error name-characters
              `name` is `My Skill`; ' ' is not allowed; use only letters, digits and hyphens
              hint: write `name: pdf`
            2:7-15 error name-directory
              `name` is `My Skill`, but the folder is `pdf`; they must match
              hint: write `name: pdf`
            3:1-8 error unknown-field
              unknown field `version`
              hint: move it under `metadata`, which accepts any key
            4:10-15 error wrong-type
              `license` is a list; expected text
            6:1-1 warning body-empty
              there are no instructions after the frontmatter
        "#]],
    );
}

#[test]
fn every_broken_line_is_reported() {
    check(
        "---\nname: pdf\ndescription: Use when: asked\nlicense: 'MIT\nfoo bar\ncompatibility: [a\n---\nBody.\n",
        expect![[r#"
            3:14-29 error unquoted-value
              the value of `description` must be quoted: it contains a colon, which starts a new value in YAML
              hint: write `description: 'Use when: asked'`
            4:10-11 error yaml-syntax
              the opening quote in the value of `license` is never closed
              hint: add the closing quote, or remove the opening one
            5:1-8 error yaml-syntax
              this line is not `key: value`
            6:16-18 error unquoted-value
              the value of `compatibility` must be quoted: it starts with `[`, which has a special meaning in YAML
              hint: write `compatibility: '[a'`
        "#]],
    );
}

#[test]
fn a_long_unquoted_value_gets_a_short_hint() {
    let value = format!("Extracts it's text: {} end of it", "very ".repeat(30));
    check(
        &format!("---\nname: pdf\ndescription: {value}\n---\nBody.\n"),
        expect![[r#"
            3:14-194 error unquoted-value
              the value of `description` must be quoted: it contains a colon, which starts a new value in YAML
              hint: quote it: `description: 'Extracts it's text: very very …y  end of it'` (double any quote inside)
        "#]],
    );
}

#[test]
fn an_almost_correct_fence_is_pointed_out() {
    check(
        "---\nname: pdf\ndescription: d\n----\nBody.\n",
        expect![[r#"
            1:1-4 error frontmatter-unclosed
              the frontmatter starts here but is never closed
              hint: line 4 is `----`; it must be exactly `---`, at the start of the line
        "#]],
    );
}

#[test]
fn columns_are_right_after_wide_text_and_crlf() {
    check(
        "---\r\nname: pdf\r\ndescription: жук <b> x\r\n---\r\nBody.\r\n",
        expect![[r#"
            3:18-21 error description-xml
              `description` contains `<b>`, which looks like an XML tag
              hint: rewrite it without angle brackets; agents place descriptions inside an XML block of the prompt
        "#]],
    );
}

#[test]
fn tabs_are_reported() {
    check(
        "---\nname: pdf\ndescription: d\nmetadata:\n\tauthor: acme\n---\nBody.\n",
        expect![[r#"
            5:1-2 error yaml-tab
              this line is indented with a tab
              hint: indent with spaces; YAML does not allow tabs here
        "#]],
    );
}

#[test]
fn fields_of_other_formats_are_recognized() {
    check(
        "---\nname: pdf\ndescription: d\ntools: Read\nhomepage: x\nalowed-tools: Read\ntags: a\nmodel: m\n---\nBody.\n",
        expect![[r#"
            4:1-6 error unknown-field
              unknown field `tools`
              hint: to restrict the tools, use `allowed-tools`
            5:1-9 error unknown-field
              unknown field `homepage`
              hint: this field belongs to OpenClaw; move it under `metadata`
            6:1-13 error unknown-field
              unknown field `alowed-tools`
              hint: did you mean `allowed-tools`?
            7:1-5 error unknown-field
              unknown field `tags`
              hint: move it under `metadata`, which accepts any key
            8:1-6 note extension-field
              `model` is an extension of Claude Code that other validators may reject
        "#]],
    );
}

#[test]
fn close_matches_are_suggested() {
    check(
        "---\nname: pdf\ndescription: d\nmodel_invocation: useronly\ntools:\n  alow: [read]\nattach: maybe\n---\nBody.\n",
        expect![[r#"
            4:1-17 note extension-field
              `model_invocation`, `tools`, `attach` are extensions of corteza.skill/v1 that other validators may reject
            4:19-27 error bad-value
              `model_invocation` is `useronly`; expected `auto`, `user-only`, `disabled`
              hint: did you mean `user-only`?
            6:3-7 error bad-value
              unknown key `alow` in `tools`; expected `allow` or `deny`
            7:9-14 error bad-boolean
              `attach` is `maybe`; expected true or false
        "#]],
    );
}

#[test]
fn a_missing_folder_name_is_fine_if_there_is_a_name() {
    check_in(
        None,
        "---\nname: pdf\ndescription: d\n---\nBody.\n",
        Strictness::Strict,
        &expect![[""]],
    );
    check_in(
        None,
        "---\ndescription: d\n---\nBody.\n",
        Strictness::Lenient,
        &expect![[r#"
            1:1-4 warning name-missing
              `name` is missing
              hint: write `name: my-skill`, where `my-skill` is the folder name
            1:1-4 error name-unknown
              there is no `name`, and no folder name to use instead
        "#]],
    );
}

#[test]
fn many_suspicious_characters_do_not_flood_the_report() {
    let text = format!("---\nname: pdf\ndescription: d\n---\nBody {}\n", "\u{1b}".repeat(100_000));
    let parsed = parse(
        &Input { file: "SKILL.md", directory: Some("pdf"), bytes: text.as_bytes() },
        Strictness::Strict,
    );
    assert_eq!(
        parsed.diagnostics.iter().filter(|d| d.code == skill::Code::BodyControlCharacter).count(),
        11
    );
}

#[test]
fn invalid_utf8_is_reported_with_the_byte() {
    let bytes = b"---\nname: pdf\ndescription: \xd0\xb6\xff\n---\n";
    let parsed = parse(&Input { file: "SKILL.md", directory: None, bytes }, Strictness::Lenient);
    let diagnostic = &parsed.diagnostics[0];
    assert_eq!(diagnostic.message, "byte 0xff at offset 29 is not valid UTF-8");
    let span = diagnostic.span.unwrap();
    assert_eq!((span.start.line, span.start.column), (3, 15));
}
