//! The published schemas are current and agree with the parsers about every file.

use std::path::Path;

use csk_core::{Agents, Config, ConfigBase, Ledger, Lockfile, Skillfile, schemas};
use expect_test::expect_file;
use serde_json::Value;
use skill::{Diagnostic, Manifest, Marker, Severity, TreeEntry};
use skill_fs::AbsPath;

#[test]
fn the_published_schemas_are_current() {
    for (name, schema) in schemas() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.schema.json"));
        expect_file![path].assert_eq(&format!("{schema:#}\n"));
    }
}

fn is_valid(problems: &[Diagnostic]) -> bool {
    problems.iter().all(|problem| problem.severity != Severity::Error)
}

/// Checks that the parser and the schema both give the expected verdict on every text.
fn check(name: &str, parse: impl Fn(&str) -> Vec<Diagnostic>, cases: &[(bool, &str)]) {
    let all = schemas();
    let schema = &all.iter().find(|(found, _)| *found == name).unwrap().1;
    let validator = jsonschema::validator_for(schema).unwrap();
    for (expected, text) in cases {
        let instance: Value = serde_json::from_str(text).unwrap();
        assert_eq!(is_valid(&parse(text)), *expected, "parser: {text}");
        assert_eq!(validator.is_valid(&instance), *expected, "schema: {text}");
    }
}

#[test]
fn parser_and_schema_agree_on_skillfiles() {
    let parse = |text: &str| Skillfile::parse("f", text, &Agents::default()).1;
    check(
        "skillfile",
        parse,
        &[
            (true, r#"{"schema_version": 1, "skills": []}"#),
            (
                true,
                r#"{"schema_version": 1, "agents": [], "locale": "ru", "project": {"alias": "a"}, "skills": [{"name": "a", "tag": "v1"}]}"#,
            ),
            (
                true,
                r#"{"schema_version": 1, "skills": [{"name": "a", "source": "b", "git": "https://x.test", "branch": "main"}]}"#,
            ),
            (true, r#"{"schema_version": 1, "skills": [], "unknown": 1}"#),
            (false, r#"{"schema_version": 2, "skills": []}"#),
            (false, r#"{"skills": []}"#),
            (false, r#"{"schema_version": 1}"#),
            (false, r#"{"schema_version": 1, "skills": {}}"#),
            (false, r#"{"schema_version": 1, "skills": [{"name": "a"}]}"#),
            (false, r#"{"schema_version": 1, "skills": [{"tag": "v1"}]}"#),
            (
                false,
                r#"{"schema_version": 1, "skills": [{"name": "a", "tag": "v1", "branch": "m"}]}"#,
            ),
            (false, r#"{"schema_version": 1, "skills": [{"name": "../a", "tag": "v1"}]}"#),
            (false, r#"{"schema_version": 1, "skills": [{"name": "a.", "tag": "v1"}]}"#),
            (false, r#"{"schema_version": 1, "skills": [{"name": "a", "tag": 1}]}"#),
            (false, r#"{"schema_version": 1, "skills": [5]}"#),
            (false, r#"{"schema_version": 1, "skills": [], "agents": "codex_cli"}"#),
            (false, r#"{"schema_version": 1, "skills": [], "project": {"alias": "a b"}}"#),
            (false, "[]"),
        ],
    );
}

#[test]
fn parser_and_schema_agree_on_configs() {
    let home = AbsPath::new("/home/me").unwrap();
    let repositories = &AbsPath::new("/home/me/own").unwrap();
    let base = ConfigBase { home: Some(&home), system: None, repositories };
    let parse = |text: &str| Config::parse("f", text, base).1;
    check(
        "config",
        parse,
        &[
            (true, r#"{"schema_version": 1, "skills_root": "/s"}"#),
            (
                true,
                r#"{"schema_version": 1, "skills_root": "~/s", "projects": {"a": {"path": "/p", "agents": ["cursor"]}}}"#,
            ),
            (
                true,
                r#"{"schema_version": 1, "skills_root": "/s", "adapter_mode": "copy", "allow_local_sources": true}"#,
            ),
            (
                true,
                r#"{"schema_version": 1, "skills_root": "/s", "agents": {"mine": {"project_path": ".mine"}}}"#,
            ),
            (true, r#"{"schema_version": 1}"#),
            (true, r#"{"schema_version": 1, "skill_indexes": ["/i.json"]}"#),
            (false, r#"{"schema_version": 1, "skill_indexes": "/i.json"}"#),
            (false, r#"{"schema_version": 1, "skill_indexes": ["i.json"]}"#),
            (false, r#"{"schema_version": "1", "skills_root": "/s"}"#),
            (false, r#"{"schema_version": 1, "skills_root": "s"}"#),
            (false, r#"{"schema_version": 1, "skills_root": "/s", "adapter_mode": "hardlink"}"#),
            (false, r#"{"schema_version": 1, "skills_root": "/s", "allow_local_sources": "yes"}"#),
            (false, r#"{"schema_version": 1, "skills_root": "/s", "projects": {"a": {}}}"#),
            (
                false,
                r#"{"schema_version": 1, "skills_root": "/s", "projects": {"a b": {"path": "/p"}}}"#,
            ),
            (false, r#"{"schema_version": 1, "skills_root": "/s", "projects": []}"#),
        ],
    );
}

#[test]
fn parser_and_schema_agree_on_markers_and_ledgers() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let marker = |more: &str| {
        format!(
            r#"{{"schema_version": 1, "name": "a", "source": "a", "ref_kind": "tag", "ref": "v1", "commit": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "content_sha256": "{digest}"{more}}}"#
        )
    };
    let (good, richer) =
        (marker(""), marker(r#", "agents": ["x"], "files": ["SKILL.md"], "runtime_roots": []"#));
    let (kind, hash) = (good.replace("\"tag\"", "\"head\""), good.replace("sha256:", "md5:"));
    let lacking = good.replace("\"commit\"", "\"comit\"");
    let short = good.replace("\"aaaa", "\"");
    check(
        "install-marker",
        |text| Marker::parse("f", text).1,
        &[
            (true, &good),
            (true, &richer),
            (false, &kind),
            (false, &hash),
            (false, &lacking),
            (false, &short),
        ],
    );
    check(
        "managed",
        |text| Ledger::parse("f", text).1,
        &[
            (true, r#"{"schema_version": 1, "entries": ["a"]}"#),
            (false, r#"{"schema_version": 2, "entries": []}"#),
            (false, r#"{"schema_version": 1, "entries": "a"}"#),
        ],
    );
}

#[test]
fn parser_and_schema_agree_on_manifests() {
    // Every path exists, so that only the format counts.
    let tree =
        |path: &str| Some(if path.contains('/') { TreeEntry::File } else { TreeEntry::Folder });
    let parse = |text: &str| Manifest::parse("f", text, &tree).1;
    let script = |path: &str| {
        format!(
            r#"{{"schema_version": 2, "commands": {{"x": {{"type": "script", "unix_path": "{path}"}}}}}}"#
        )
    };
    let capability =
        |inner: &str| format!(r#"{{"schema_version": 3, "capabilities": {{{inner}}}}}"#);
    let texts: Vec<(bool, String)> = [
        (true, r#"{"schema_version": 1}"#),
        (true, r#"{"schema_version": 1, "unknown": 1, "commands": {"x": {"type": "system", "command": "x", "check": 1}}}"#),
        (true, r#"{"schema_version": 2, "runtime_roots": ["scripts/", "tools"]}"#),
        (true, r#"{"schema_version": 2, "commands": {"git": {"type": "system", "command": "git", "hint": "h"}}}"#),
        (false, r#"{"schema_version": 4}"#),
        (false, r#"{"commands": {}}"#),
        (false, r#"{"schema_version": 2, "unknown": 1}"#),
        (false, r#"{"schema_version": 2, "capabilities": {}}"#),
        (false, r#"{"schema_version": 2, "commands": null}"#),
        (false, r#"{"schema_version": 2, "runtime_roots": ["/a"]}"#),
        (false, r#"{"schema_version": 2, "runtime_roots": ["../a"]}"#),
        (false, r#"{"schema_version": 2, "runtime_roots": ["."]}"#),
        (false, r#"{"schema_version": 2, "commands": {"git": {"type": "script", "unix_path": "a/b"}}}"#),
        (false, r#"{"schema_version": 1, "commands": {"bash": {"type": "script", "unix_path": "a/b"}}}"#),
        (false, r#"{"schema_version": 2, "commands": {"../x": {"type": "system", "command": "x"}}}"#),
        (false, r#"{"schema_version": 2, "commands": {"x": {"type": "script"}}}"#),
        (false, r#"{"schema_version": 2, "commands": {"x": {"type": "other"}}}"#),
        (false, r#"{"schema_version": 2, "commands": {"x": {"type": "system", "command": "/bin/x"}}}"#),
        (false, r#"{"schema_version": 2, "commands": {"x": {"type": "system", "command": "x", "install": "x"}}}"#),
    ]
    .into_iter()
    .map(|(good, text)| (good, text.to_owned()))
    .chain([(true, script("a/b")), (false, script("/a/b")), (false, script("a/../b")), (false, script("")), (false, script("a//b"))])
    .chain([
        (true, capability(r#""network": "none", "filesystem": "repo", "exec": ["git"], "secrets": ["x"], "env_read": ["A_1"], "prompt_scope": "a b""#)),
        (true, capability(r#""network": ["a.b.test", "*.x.test", "localhost"], "filesystem": ["/tmp", "~/x", "src"]"#)),
        (false, capability(r#""network": "all""#)),
        (false, capability(r#""network": ["*"]"#)),
        (false, capability(r#""network": ["*.com"]"#)),
        (false, capability(r#""filesystem": ["../x"]"#)),
        (false, capability(r#""exec": ["/bin/sh"]"#)),
        (false, capability(r#""env_read": ["A-B"]"#)),
        (false, capability(r#""prompt_scope": "a\nb""#)),
        (false, capability(r#""other": 1"#)),
    ])
    .collect();
    let cases: Vec<(bool, &str)> =
        texts.iter().map(|(good, text)| (*good, text.as_str())).collect();
    check("csk-skill", parse, &cases);
}

#[test]
fn parser_and_schema_agree_on_lockfiles() {
    let entry = |more: &str| {
        let id = "a".repeat(40);
        let digest = format!("sha256:{}", "b".repeat(64));
        format!(
            r#"{{"schema_version": 1, "skills": {{"a": {{"source": "a", "ref_kind": "tag", "ref": "v1", "commit": "{id}", "tree": "{id}", "bundle_sha256": "{digest}"{more}}}}}}}"#
        )
    };
    let texts = [
        (true, entry("")),
        (true, entry(r#", "git": "https://x.test""#)),
        (true, r#"{"schema_version": 1}"#.to_owned()),
        (false, entry("").replace("\"tag\"", "\"tags\"")),
        (false, entry("").replace("sha256:b", "sha256:g")),
        (false, entry("").replace("\"commit\": \"a", "\"commit\": \"")),
        (false, entry("").replace("\"a\": {", "\"../a\": {")),
        (false, entry("").replace("\"tree\"", "\"trees\"")),
        (false, r#"{"skills": {}}"#.to_owned()),
    ];
    let cases: Vec<(bool, &str)> =
        texts.iter().map(|(good, text)| (*good, text.as_str())).collect();
    check("skillfile-lock", |text| Lockfile::parse("f", text).1, &cases);
}
