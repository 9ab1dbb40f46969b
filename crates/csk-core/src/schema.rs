//! The JSON Schemas of csk's files. The parsers are stricter where a schema cannot be: paths must exist, names must be
//! unique, agents must be known.

use crate::output::{
    CacheDirJson, CacheSizeJson, ConfigJson, DiffJson, DoctorJson, FindJson, GlobalListJson,
    ImportJson, InstallJson, OutdatedJson, ResolveJson, SkillCheckJson, SourceSkillsJson, WhyJson,
};
use serde_json::{Value, json};
use skill::Identifier;

/// Returns every schema, by the name of its file under `schemas/`.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("config", config()),
        ("skillfile", skillfile()),
        ("install-marker", marker()),
        ("managed", ledger()),
        ("csk-skill", skill::manifest_schema()),
        ("skillfile-lock", lock()),
        ("skill-index", skill_index()),
        ("consumers", consumers()),
        ("csk-verify", verify()),
        ("csk-status", status()),
        ("csk-list", list()),
        ("csk-system-config", system_config()),
        ("csk-outdated", schemars::schema_for!(OutdatedJson).to_value()),
        ("csk-diff", schemars::schema_for!(DiffJson).to_value()),
        ("csk-why", schemars::schema_for!(WhyJson).to_value()),
        ("csk-doctor", schemars::schema_for!(DoctorJson).to_value()),
        ("csk-import", schemars::schema_for!(ImportJson).to_value()),
        ("csk-add", schemars::schema_for!(SourceSkillsJson).to_value()),
        ("csk-find", schemars::schema_for!(FindJson).to_value()),
        ("csk-install", schemars::schema_for!(InstallJson).to_value()),
        ("csk-cache-dir", schemars::schema_for!(CacheDirJson).to_value()),
        ("csk-cache-size", schemars::schema_for!(CacheSizeJson).to_value()),
        ("csk-config-show", schemars::schema_for!(ConfigJson).to_value()),
        ("csk-project-resolve", schemars::schema_for!(ResolveJson).to_value()),
        ("csk-global-list", schemars::schema_for!(GlobalListJson).to_value()),
        ("csk-skill-check", schemars::schema_for!(SkillCheckJson).to_value()),
        ("csk-audit", audit()),
        ("csk-audit-list", audit_list()),
        ("csk-audit-explain", schemars::schema_for!(skill_audit::show::RuleJson).to_value()),
        ("audit-policy", audit_policy()),
    ]
}

fn audit() -> Value {
    schemars::schema_for!(skill_audit::show::ReportsJson).to_value()
}

fn audit_list() -> Value {
    let skill =
        json!({ "type": "object", "required": ["name", "bundleSha256", "verdict", "pinned"] });
    let decision = json!({ "type": "object", "required": ["reason"] });
    file(
        "csk audit list --json",
        &["version", "skills", "pins", "revoked", "suppressions"],
        json!({
            "version": { "const": 1 },
            "skills": { "type": "array", "items": skill },
            "pins": { "type": "array", "items": decision },
            "revoked": { "type": "array", "items": decision },
            "suppressions": { "type": "array", "items": decision },
        }),
    )
}

/// `audit/policy.json`: the user's decisions about audits.
fn audit_policy() -> Value {
    let one = |required: &[&str], properties: Value| json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false });
    let plain = || json!({ "type": "string" });
    let pin = one(
        &["bundle_sha256", "reason", "created_at"],
        json!({ "bundle_sha256": plain(), "reason": plain(), "created_at": plain() }),
    );
    let revoked = one(
        &["reason", "created_at"],
        json!({ "bundle_sha256": plain(), "source": plain(), "reason": plain(), "created_at": plain() }),
    );
    let suppression = one(
        &["rule", "path", "evidence", "reason", "author"],
        json!({ "rule": plain(), "path": plain(), "evidence": plain(), "reason": plain(), "author": plain(), "expires_at": plain() }),
    );
    let list = |items: Value| json!({ "type": "array", "items": items });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "csk audit/policy.json",
        "type": "object",
        "required": ["schema_version", "pins", "revoked", "suppressions"],
        "properties": { "schema_version": { "const": 1 }, "pins": list(pin), "revoked": list(revoked), "suppressions": list(suppression) },
        "additionalProperties": false,
    })
}

#[expect(clippy::needless_pass_by_value, reason = "callers build it for this call")]
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
    json!({ "type": "string", "pattern": Identifier::PATTERN })
}

fn optional_identifier() -> Value {
    json!({ "anyOf": [identifier(), { "type": "null" }] })
}

fn skill_index() -> Value {
    let skill = json!({
        "type": "object",
        "required": ["name", "source"],
        "properties": {
            "name": identifier(),
            "description": text(),
            "source": { "description": "What `csk add` accepts.", "type": "string" },
        },
    });
    file(
        "Index of skills for `csk find`",
        &["schema_version", "skills"],
        json!({ "schema_version": { "const": 1 }, "skills": { "type": "array", "items": skill } }),
    )
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
        "csk config.json",
        &["schema_version"],
        json!({
            "schema_version": { "const": 1 },
            "skills_root": { "description": "The folder that contains the skill repositories; by default a folder of csk's own.", "type": "string", "pattern": "^(?:/|~$|~/)" },
            "preferred_locale": text(),
            "default_agents": texts(),
            "adapter_mode": { "enum": ["auto", "symlink", "copy", null] },
            "audit": { "enum": ["off", "advisory", "strict", null] },
            "worktree_alias_pattern": { "description": "A regular expression for task IDs in branch names.", "type": ["string", "null"] },
            "allow_local_sources": { "description": "Whether cloning from file:// and path URLs is allowed.", "type": ["boolean", "null"] },
            "commands_first": { "description": "Whether skill commands come before your own programs on PATH.", "type": ["boolean", "null"] },
            "agents": {
                "description": "Custom agents, or different folders for built-in agents.",
                "type": ["object", "null"],
                "additionalProperties": { "type": "object", "properties": { "project_path": text(), "user_path": text() } },
            },
            "skill_indexes": { "description": "Index files that `csk find` searches.", "type": ["array", "null"], "items": { "type": "string", "pattern": "^(?:/|~$|~/)" } },
            "projects": { "type": ["object", "null"], "propertyNames": identifier(), "additionalProperties": project },
        }),
    )
}

/// The system config: the same keys, none of them required, and which of them are locked.
fn system_config() -> Value {
    let mut schema = config();
    let keys = crate::LOCKABLE;
    schema["title"] = "/etc/cocoaskills/config.json".into();
    schema["required"] = json!(["schema_version"]);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove("projects");
        properties.remove("skill_indexes");
        let items = json!({ "enum": keys });
        properties.insert("locked".to_owned(), json!({ "description": "Keys that users cannot override.", "type": "array", "items": items }));
    }
    schema
}

fn skillfile() -> Value {
    let reference =
        |key: &str| json!({ "required": [key], "properties": { key: { "type": "string" } } });
    let skill = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": identifier(),
            "source": { "description": "The repository name, if it differs from the skill name.", "anyOf": [identifier(), { "type": "null" }] },
            "git": { "description": "The URL to clone the repository from if it is missing.", "type": ["string", "null"] },
            "path": { "description": "The repository folder that contains the skill; the whole repository by default.", "type": ["string", "null"] },
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
            "path": { "description": "The repository folder that contains the skill, if it is not the whole repository.", "type": ["string", "null"] },
            "tree": { "description": "That folder's tree ID.", "type": ["string", "null"], "pattern": "^[0-9a-f]{40}$" },
            "ref_kind": { "enum": ["tag", "branch", "revision"] },
            "ref": { "type": "string" },
            "commit": { "type": "string", "pattern": "^[0-9a-f]{40}$" },
            "content_sha256": digest,
            "context_sha256": { "anyOf": [digest, { "type": "null" }] },
            "context_rules": { "type": "integer", "minimum": 1, "description": "The version of the rules that selected the installed files." },
            "bundle_sha256": { "anyOf": [digest, { "type": "null" }] },
            "locale": text(),
            "agents": texts(),
            "commands": texts(),
            "command_paths": { "description": "The commands the skill provides, each with its file in the command store.", "type": ["object", "null"], "additionalProperties": { "type": "string" } },
            "runtime_sha256": { "anyOf": [digest, { "type": "null" }] },
            "runtime_roots": texts(),
            "skill_schema_version": { "type": ["integer", "null"] },
            "capabilities": { "type": ["object", "null"] },
            "installed_at": text(),
            "files": texts(),
        }),
    )
}

fn lock() -> Value {
    let id = json!({ "type": "string", "pattern": "^[0-9a-f]{40}$" });
    let skill = json!({
        "type": "object",
        "required": ["source", "ref_kind", "ref", "commit", "tree", "bundle_sha256"],
        "properties": {
            "source": identifier(),
            "git": text(),
            "path": { "description": "The repository folder that contains the skill, if it is not the whole repository.", "type": ["string", "null"] },
            "ref_kind": { "enum": ["tag", "branch", "revision"] },
            "ref": { "type": "string" },
            "commit": id,
            "tree": id,
            "bundle_sha256": { "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" },
        },
    });
    file(
        "Skillfile.lock",
        &["schema_version"],
        json!({
            "schema_version": { "const": 1 },
            "skills": { "type": ["object", "null"], "propertyNames": identifier(), "additionalProperties": skill },
        }),
    )
}

fn consumers() -> Value {
    file(
        "consumers.json",
        &["schema_version"],
        json!({ "schema_version": { "const": 1 }, "consumers": texts() }),
    )
}

fn verify() -> Value {
    let problems = json!({ "type": "array", "items": { "type": "string" } });
    let skill = json!({
        "type": "object",
        "required": ["name", "problems"],
        "additionalProperties": false,
        "properties": { "name": { "type": "string" }, "problems": problems },
    });
    let project = json!({
        "type": "object",
        "required": ["alias", "path", "skills", "problems"],
        "additionalProperties": false,
        "properties": { "alias": { "type": "string" }, "path": { "type": "string" }, "skills": { "type": "array", "items": skill }, "problems": problems },
    });
    file(
        "csk verify --json",
        &["version", "ok", "projects"],
        json!({
            "version": { "const": 1 },
            "ok": { "type": "boolean" },
            "projects": { "type": "array", "items": project },
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
