use super::*;
use crate::{Input, parse};

fn fields(text: &str) -> Value {
    raw_frontmatter(text).unwrap().to_json()
}

fn is_valid(text: &str) {
    let input = Input { file: "SKILL.md", directory: Some("auto"), bytes: text.as_bytes() };
    let parsed = parse(&input, Strictness::Strict);
    assert!(parsed.document.is_some(), "{text}\n{:?}", parsed.diagnostics);
}

const V1: &str = "---\nskill_format: corteza.skill/v1\nname: auto\ndescription: Bounded research. # mine\nmodel_invocation: user-only\nside_effects: [filesystem, network]\nlibrary_depends: [pensar, llm.api]\nattach: false\ntools:\n  allow: [web_search, 'pensar::ingest_url']\n  deny: [Bash]\ntrust: package\ninteraction: returning\narguments:\n  schema: {type: object, properties: {topic: {type: string}}}\nmetadata:\n  author: me\n---\n\n# Steps\n\nDo it.\n";

#[test]
fn a_round_trip_loses_nothing() {
    let claude = to_claude(V1).unwrap().text;
    is_valid(&claude);
    let data = fields(&claude);
    assert_eq!(data["disable-model-invocation"], true);
    assert_eq!(data["allowed-tools"], json!(["web_search", "pensar::ingest_url"]));
    assert_eq!(data["disallowed-tools"], json!(["Bash"]));
    assert_eq!(data["arguments"], json!(["topic"]));
    assert!(data.get("skill_format").is_none() && claude.contains("# mine"), "{claude}");
    let back = to_v1(&claude, None).unwrap().text;
    is_valid(&back);
    assert_eq!(fields(&back), fields(V1), "{back}");
    assert!(back.ends_with("# Steps\n\nDo it.\n"));
    // Converting again changes nothing.
    assert_eq!(to_v1(&back, None).unwrap().text, back);
    for words in ["auto", "disabled"] {
        let v1 = V1.replace("user-only", words);
        assert_eq!(fields(&to_v1(&to_claude(&v1).unwrap().text, None).unwrap().text), fields(&v1));
    }
}

#[test]
fn edits_after_the_conversion_are_kept() {
    let claude = to_claude(V1).unwrap().text;
    let opened = claude.replace("disable-model-invocation: true\n", "");
    assert!(fields(&to_v1(&opened, None).unwrap().text).get("model_invocation").is_none());
    let narrowed =
        claude.replace("disallowed-tools: [\"Bash\"]", "disallowed-tools: [\"Bash\", \"Read\"]");
    assert_eq!(
        fields(&to_v1(&narrowed, None).unwrap().text)["tools"]["deny"],
        json!(["Bash", "Read"])
    );
}

#[test]
fn edits_of_every_field_survive_converting_back() {
    let claude = to_claude(&V1.replace("user-only", "disabled")).unwrap().text;
    let changed = claude
        .replace("user-invocable: false", "user-invocable: true")
        .replace("disallowed-tools: [\"Bash\"]\n", "")
        .replace("arguments: [\"topic\"]", "arguments: [\"a\", \"b\"]");
    let data = fields(&to_v1(&changed, None).unwrap().text);
    assert_eq!(data["model_invocation"], "user-only");
    assert_eq!(data["tools"], json!({"allow": ["web_search", "pensar::ingest_url"]}));
    assert_eq!(data["arguments"], json!(["a", "b"]));
}

#[test]
fn lossy_conversions_are_refused() {
    let text = |fields: &str| format!("---\nname: auto\ndescription: d\n{fields}---\n\nBody.\n");
    for fields in [
        "metadata: foo\nversion: 1\n",
        "tools: Read Write\nallowed-tools: [Bash]\n",
        "allowed-tools: &t [Read]\nx-mine: *t\n",
        "version: 2.10\nmetadata:\n  version: '1.10'\n",
        "allowed-tools: Read\ntools:\n  allow: [Write]\n",
        "skill_format: corteza.skill/v2\n",
    ] {
        assert!(to_v1(&text(fields), None).is_err(), "{fields}");
    }
    for fields in [
        "metadata: foo\n",
        "metadata:\n  corteza: mine\n",
        "allowed-tools: Grep\ntools:\n  allow: [Read]\n",
    ] {
        let text = text(&format!("skill_format: corteza.skill/v1\n{fields}"));
        assert!(to_claude(&text).is_err(), "{fields}");
    }
    // Comments, blank lines and line endings are preserved.
    let kept = "---\r\nname: auto\r\ndescription: d\r\nallowed-tools: Read\r\n# about the licence\r\nlicense: MIT # mit\r\n# at the end\r\n---\r\n\r\nBody.\r\n";
    let migrated = to_v1(kept, None).unwrap().text;
    for part in [
        "# about the licence\r\nlicense: MIT # mit\r\n",
        "# at the end\r\n---\r\n\r\nBody.\r\n",
        "skill_format: corteza.skill/v1\r\n",
    ] {
        assert!(migrated.contains(part), "{migrated:?}");
    }
    assert!(!migrated.replace("\r\n", "").contains('\n'), "{migrated:?}");
}

#[test]
fn comments_of_changed_fields_are_kept() {
    let v1 = "---\nskill_format: corteza.skill/v1\nname: auto\ndescription: 'd # no comment'\n# why these\ntools: # all of them\n  # the first\n  allow: [Read, 'Bash(echo # neither)']\ntrust: package # ours\nmetadata:\n  author: me # myself\n---\n\nBody.\n";
    let comments = ["# why these\n", "# all of them\n", "# the first\n", "# ours\n", "# myself\n"];
    let claude = to_claude(v1).unwrap().text;
    let back = to_v1(&claude, None).unwrap().text;
    for text in [&claude, &back] {
        is_valid(text);
        for comment in comments {
            assert_eq!(text.matches(comment).count(), 1, "{comment}{text}");
        }
        assert!(!text.contains("\n# no comment") && !text.contains("\n# neither"), "{text}");
    }
    assert_eq!(fields(&back), fields(v1), "{back}");
    assert_eq!(to_v1(&back, None).unwrap().text, back);
    // A field that only gains entries keeps its lines.
    assert!(claude.contains("metadata:\n  author: me # myself\n  corteza: "), "{claude}");
    let quoted = v1.replace("author: me", "author: 'me'");
    assert!(to_claude(&quoted).unwrap().text.contains("  author: 'me' # myself\n"));
    // A mapping on one line stays on one line.
    let inline = v1.replace("metadata:\n  author: me # myself\n", "metadata: {author: me}\n");
    let claude = to_claude(&inline).unwrap().text;
    assert!(claude.contains("\nmetadata: {author: me, corteza: \""), "{claude}");
    let back = to_v1(&claude, None).unwrap().text;
    assert_eq!(fields(&back), fields(&inline), "{claude}");
    assert!(back.contains("\nmetadata: {author: me}\n"), "{back}");
}

#[test]
fn unchanged_lines_are_kept() {
    for (fields, migrated) in [
        (
            "description: d\n\nversion: 1.0\nlicense: MIT\nmetadata: {author: me}\n",
            "description: d\n\nlicense: MIT\nmetadata: {author: me, version: \"1.0\"}\n",
        ),
        // Between two fields there is one gap, not two.
        (
            "description: d\n\nversion: 1.0\n\nlicense: MIT\n\nmetadata: { a: b, }\n\n",
            "description: d\n\nlicense: MIT\n\nmetadata: { a: b, version: \"1.0\" }\n\n",
        ),
        ("description: d\n\nversion: 1.0\n", "description: d\n\nmetadata:\n  version: \"1.0\"\n"),
        (
            "description: d\n\n# which\nversion: 1.0\nlicense: MIT\nmetadata:\n  a: b\n\n  # empty\n  version:\n\n  c: 'd'\n",
            "description: d\n\nlicense: MIT\nmetadata:\n  a: b\n\n  # empty\n  version: \"1.0\"\n\n  c: 'd'\n# which\n",
        ),
        (
            "description: d\nversion: 1.0\nmetadata: {\n  a: 'b, {', # why\n  c: [1, 2],\n}\nlicense: MIT\n",
            "description: d\nmetadata: {\n  a: 'b, {', # why\n  c: [1, 2], version: \"1.0\",\n}\nlicense: MIT\n",
        ),
        (
            "description: d\nmetadata: {}\nversion: 1.0\n",
            "description: d\nmetadata: {version: \"1.0\"}\n",
        ),
        (
            "description: d\n\nallowed-tools: [Read]\n\ntools: {allow: [Read]} # all\nlicense: MIT\n",
            "description: d\n\ntools: {allow: [Read]} # all\nlicense: MIT\n",
        ),
    ] {
        let text = format!("---\nname: auto\n{fields}---\n\nBody.\n");
        let head = format!("---\nskill_format: {SKILL_FORMAT}\nname: auto\n");
        let expected = format!("{head}{migrated}---\n\nBody.\n");
        assert_eq!(to_v1(&text, None).unwrap().text, expected);
        let windows = to_v1(&text.replace('\n', "\r\n"), None).unwrap().text;
        assert_eq!(windows, expected.replace('\n', "\r\n"));
    }
}

#[test]
fn an_ad_hoc_bundle_is_converted() {
    let text = "---\nname: auto\ndescription: d\nversion: 1.0\nallowed-tools: Read, Bash(git log:*) Grep\ndisable-model-invocation: true\n---\nBody.\n";
    let sidecar =
        json!({"name": "auto", "description": "other", "side_effects": ["none"], "body": "x"});
    let migrated = to_v1(text, sidecar.as_object()).unwrap();
    is_valid(&migrated.text);
    let data = fields(&migrated.text);
    assert!(
        migrated.text.starts_with("---\nskill_format: corteza.skill/v1\nname: auto\n"),
        "{}",
        migrated.text
    );
    assert_eq!(data["tools"]["allow"], json!(["Read", "Bash(git log:*)", "Grep"]));
    assert_eq!(
        (&data["model_invocation"], &data["metadata"]["version"]),
        (&json!("user-only"), &json!("1.0"))
    );
    assert_eq!((&data["description"], &data["side_effects"]), (&json!("d"), &json!(["none"])));
    assert!(migrated.notes.iter().any(|note| note.contains("description")), "{:?}", migrated.notes);
}

#[test]
fn unreadable_input_is_refused() {
    assert!(to_v1("no frontmatter", None).is_err());
    assert!(to_claude("---\nname: a\n---\n").is_err());
    let broken = "---\nname: a\ndescription: d\nmetadata:\n  corteza: '{'\n---\n";
    assert!(to_v1(broken, None).is_err());
    let strange =
        "---\nname: a\ndescription: d\nmetadata:\n  corteza: '{\"name\": \"evil\"}'\n---\n";
    assert!(to_v1(strange, None).is_err());
}
