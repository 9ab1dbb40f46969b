//! The JSON Schemas of csk's files. The parsers are stricter where a schema cannot be: paths must exist,
//! names must be unique, agents must be known.

use serde_json::{Value, json};

/// What an identifier looks like; names of Windows devices are left to the parser.
const IDENTIFIER: &str = r"^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$";

/// Returns every schema, by the name of its file under `schemas/`.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("config", config()),
        ("skillfile", skillfile()),
        ("install-marker", marker()),
        ("managed", ledger()),
        ("csk-status", status()),
        ("csk-list", list()),
    ]
}

#[expect(clippy::needless_pass_by_value, reason = "it is made for this call")]
fn file(title: &str, required: &[&str], properties: Value) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "required": required,
        "properties": properties,
    })
}

fn text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn texts() -> Value {
    json!({ "type": ["array", "null"], "items": { "type": "string" } })
}

fn identifier() -> Value {
    json!({ "type": "string", "pattern": IDENTIFIER })
}

fn optional_identifier() -> Value {
    json!({ "anyOf": [identifier(), { "type": "null" }] })
}

fn config() -> Value {
    let project = json!({
        "type": "object",
        "required": ["path"],
        "properties": {
            "path": { "type": "string", "pattern": "^(?:/|~$|~/)" },
            "agents": texts(),
            "project_alias": optional_identifier(),
            "checkout_alias": optional_identifier(),
        },
    });
    file(
        "config.json of csk",
        &["schema_version", "skills_root"],
        json!({
            "schema_version": { "const": 1 },
            "skills_root": { "description": "The folder of the skills' repositories.", "type": "string", "pattern": "^(?:/|~$|~/)" },
            "preferred_locale": text(),
            "default_agents": texts(),
            "adapter_mode": { "enum": ["auto", "symlink", "copy", null] },
            "worktree_alias_pattern": { "description": "A regular expression for task ids in branch names.", "type": ["string", "null"] },
            "allow_local_sources": { "description": "Whether file:// and path URLs may be cloned.", "type": ["boolean", "null"] },
            "agents": {
                "description": "Agents of your own, or other folders for known ones.",
                "type": ["object", "null"],
                "additionalProperties": { "type": "object", "properties": { "project_path": text(), "user_path": text() } },
            },
            "projects": { "type": ["object", "null"], "propertyNames": identifier(), "additionalProperties": project },
        }),
    )
}

fn skillfile() -> Value {
    let reference =
        |key: &str| json!({ "required": [key], "properties": { key: { "type": "string" } } });
    let skill = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": identifier(),
            "source": { "description": "The repository, where its name differs from the skill's.", "anyOf": [identifier(), { "type": "null" }] },
            "git": { "description": "Where to clone the repository from when it is missing.", "type": ["string", "null"] },
            "tag": text(),
            "branch": text(),
            "revision": text(),
        },
        "oneOf": [reference("tag"), reference("branch"), reference("revision")],
    });
    file(
        "Skillfile.json",
        &["schema_version", "skills"],
        json!({
            "schema_version": { "const": 1 },
            "project": { "type": ["object", "null"], "properties": { "alias": optional_identifier() } },
            "agents": texts(),
            "locale": text(),
            "skills": { "type": "array", "items": skill },
        }),
    )
}

fn marker() -> Value {
    let digest = json!({ "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" });
    let required =
        ["schema_version", "name", "source", "ref_kind", "ref", "commit", "content_sha256"];
    file(
        ".csk-install.json",
        &required,
        json!({
            "schema_version": { "const": 1 },
            "name": identifier(),
            "source": identifier(),
            "git": text(),
            "ref_kind": { "enum": ["tag", "branch", "revision"] },
            "ref": { "type": "string" },
            "commit": { "type": "string" },
            "content_sha256": digest,
            "context_sha256": { "anyOf": [digest, { "type": "null" }] },
            "bundle_sha256": { "anyOf": [digest, { "type": "null" }] },
            "locale": text(),
            "agents": texts(),
            "commands": texts(),
            "command_paths": { "description": "The commands that the skill brings, each with its file in the runtime store.", "type": ["object", "null"], "additionalProperties": { "type": "string" } },
            "runtime_roots": texts(),
            "skill_schema_version": { "type": ["integer", "null"] },
            "capabilities": { "type": ["object", "null"] },
            "installed_at": text(),
            "files": texts(),
        }),
    )
}

fn ledger() -> Value {
    file(
        ".csk-managed.json",
        &["schema_version"],
        json!({ "schema_version": { "const": 1 }, "entries": texts() }),
    )
}

fn status() -> Value {
    let skill = json!({
        "type": "object",
        "required": ["name", "status"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string" },
            "reference": { "type": "string" },
            "installed": text(),
            "wanted": text(),
            "status": { "enum": ["up-to-date", "missing", "update-available", "content-drift", "error", "removed"] },
            "warnings": { "type": "array", "items": { "type": "string" } },
            "error": text(),
            "hint": text(),
        },
    });
    let project = json!({
        "type": "object",
        "required": ["alias", "path", "skills"],
        "additionalProperties": false,
        "properties": { "alias": { "type": "string" }, "path": { "type": "string" }, "skills": { "type": "array", "items": skill }, "error": text() },
    });
    file(
        "csk status --json",
        &["version", "current", "projects"],
        json!({
            "version": { "const": 1 },
            "current": { "type": "boolean" },
            "projects": { "type": "array", "items": project },
        }),
    )
}

fn list() -> Value {
    let project = json!({
        "type": "object",
        "required": ["alias", "projectAlias", "checkoutAlias", "path", "state", "skills"],
        "additionalProperties": false,
        "properties": {
            "alias": { "type": "string" },
            "projectAlias": { "type": "string" },
            "checkoutAlias": { "type": "string" },
            "path": { "type": "string" },
            "state": { "enum": ["ok", "no Skillfile.json", "malformed Skillfile.json"] },
            "skills": { "type": "array", "items": { "type": "string" } },
        },
    });
    file(
        "csk list --json",
        &["version", "projects"],
        json!({
            "version": { "const": 1 },
            "projects": { "type": "array", "items": project },
        }),
    )
}
