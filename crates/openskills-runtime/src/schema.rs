//! JSON Schemas of the runtime's own files. The parsers also enforce rules that a schema cannot express.

use serde_json::{Map, Value, json};
use skill::capabilities::CapabilityKind;
use skill_state::{PackageSource, SkillSource};

/// Returns every schema with the name of its file under `schemas/`.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("openskills-config", config()),
        ("openskills-trusted-folders", lists("Trusted folders", &["folders"])),
        ("openskills-disabled-skills", lists("Disabled skills", &["names", "folders"])),
        ("openskills-approvals-file", approvals()),
        ("openskills-policy", policy()),
        ("openskills-log-head", head()),
        ("openskills-log-checkpoint", checkpoint()),
        ("openskills-mcp-servers", mcp_servers()),
        (
            "openskills-mcp-changed",
            lists("Skills that MCP servers changed after approval", &["unsynced", "unapproved"]),
        ),
        ("openskills-installed-file", installed()),
    ]
}

fn config() -> Value {
    let path = json!({ "type": "string", "pattern": "^(/|~/|[A-Za-z]:)" });
    let directory = json!({
        "type": "object",
        "required": ["path"],
        "properties": {
            "path": path,
            "source": { "enum": SkillSource::CONFIGURABLE },
        },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "openskills user configuration",
        "type": "object",
        "required": ["schema_version"],
        "properties": {
            "schema_version": { "const": 1 },
            "directories": { "type": "object", "additionalProperties": directory },
            "packages": { "type": "array", "items": path },
            "allowed_tools": { "enum": ["allowlist", "preapprove"] },
            "audit": { "enum": ["off", "advisory", "strict"] },
            "log": {
                "type": "object",
                "properties": {
                    "key_file": path,
                    "sync": { "type": "boolean" },
                    "max_bytes": { "type": "integer", "minimum": 65536 },
                    "checkpoints": checkpoints(&path),
                },
                "additionalProperties": false,
            },
        },
    })
}

/// Returns the schema of the checkpoint destinations: at least one of them is required.
fn checkpoints(path: &Value) -> Value {
    let facilities: Vec<String> = (0..8).map(|number| format!("local{number}")).collect();
    let facilities: Vec<&str> = ["user", "daemon", "auth", "authpriv"]
        .into_iter()
        .chain(facilities.iter().map(String::as_str))
        .collect();
    json!({
        "type": "object",
        "properties": {
            "file": path,
            "syslog": {
                "type": "object",
                "properties": { "socket": path, "facility": { "enum": facilities } },
                "additionalProperties": false,
            },
            "otlp": {
                "type": "object",
                "required": ["endpoint"],
                "properties": {
                    "endpoint": { "type": "string", "pattern": "^https?://" },
                    "token_env": { "type": "string" },
                },
                "additionalProperties": false,
            },
            "required": { "type": "boolean" },
        },
        "anyOf": [{ "required": ["file"] }, { "required": ["syslog"] }, { "required": ["otlp"] }],
        "additionalProperties": false,
    })
}

fn checkpoint() -> Value {
    let id = json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Audit log checkpoint: the length of the log at one point in time, stored outside the log",
        "type": "object",
        "required": ["openskills_checkpoint", "log", "events", "head", "time"],
        "properties": {
            "openskills_checkpoint": { "const": 1 },
            "log": id,
            "previous": id,
            "events": { "type": "integer", "minimum": 0 },
            "head": { "type": "string", "pattern": "^(hmac-)?sha256:[0-9a-f]{64}$" },
            "time": { "type": "string", "format": "date-time" },
            "key_id": { "type": "string", "pattern": "^[0-9a-f]{16}$" },
            "mac": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
        },
        "additionalProperties": false,
    })
}

fn mcp_servers() -> Value {
    let name = json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" });
    let skills = json!({
        "type": "array",
        "items": { "type": "string", "pattern": "^skill://.+/SKILL\\.md$" },
        "description": "URIs of skills to request individually, whether or not the server lists them",
    });
    let program = json!({
        "type": "object",
        "required": ["command"],
        "properties": {
            "command": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            "env": { "type": "array", "items": name },
            "skills": skills,
        },
        "additionalProperties": false,
    });
    let remote = json!({
        "type": "object",
        "required": ["url"],
        "properties": {
            "url": { "type": "string", "pattern": "^https?://" },
            "token_env": name,
            "skills": skills,
        },
        "additionalProperties": false,
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "MCP servers whose skills are listed",
        "type": "object",
        "required": ["schema_version"],
        "properties": {
            "schema_version": { "const": 1 },
            "servers": {
                "type": "object",
                "propertyNames": { "pattern": "^[a-z0-9-]{1,32}$" },
                "additionalProperties": { "oneOf": [program, remote] },
            },
        },
        "additionalProperties": false,
    })
}

fn installed() -> Value {
    let mut record = schemars::schema_for!(crate::Installed).to_value();
    let mut take = |key: &str| record.as_object_mut().and_then(|record| record.remove(key));
    take("$schema");
    let mut defs = take("$defs").unwrap_or_default();
    defs["Installed"] = record;
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Skills installed by `openskills install`, by folder",
        "type": "object",
        "required": ["schema_version", "skills"],
        "properties": {
            "schema_version": { "const": 1 },
            "skills": { "type": "object", "additionalProperties": { "$ref": "#/$defs/Installed" } },
            "unfinished": {
                "description": "Installs in progress. After a crash, the folder digest shows whether the install completed.",
                "type": "object",
                "additionalProperties": { "$ref": "#/$defs/Installed" },
            },
        },
        "additionalProperties": false,
        "$defs": defs,
    })
}

fn approvals() -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let any_or = json!({ "oneOf": [{ "const": "any" }, texts] });
    let capabilities: Map<String, Value> =
        CapabilityKind::ALL.iter().map(|kind| (kind.as_str().to_owned(), any_or.clone())).collect();
    let digest = json!({ "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" });
    let time = json!({ "type": "string", "format": "date-time" });
    let approval = json!({
        "type": "object",
        "required": ["origin", "skill", "skill_id", "bundle_sha256", "network", "approved_at"],
        "properties": {
            "id": { "type": "string" },
            "origin": { "type": "string" },
            "skill": { "type": "string" },
            "skill_id": { "type": "string" },
            "bundle_sha256": digest,
            "read": texts,
            "network": any_or,
            "env": texts,
            "read_named": { "type": "array", "items": { "type": "string" }, "description": "Paths in `read` that the user typed; all others were confirmed at a prompt" },
            "direct_writes": { "type": "boolean" },
            "deletions": { "type": "boolean" },
            "packages": { "type": "array", "items": package_set(), "description": "Prepared packages that scripts may use" },
            "capabilities": { "type": "object", "properties": capabilities, "additionalProperties": false },
            "approved_at": time,
            "expires_at": time,
            "session": { "type": "string" },
        },
        "additionalProperties": false,
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Approvals granted by the user",
        "type": "object",
        "required": ["schema_version", "approvals"],
        "properties": {
            "schema_version": { "const": 1 },
            "approvals": { "type": "array", "items": approval },
        },
        "additionalProperties": false,
    })
}

fn package_set() -> Value {
    let package = json!({
        "type": "object",
        "required": ["name", "hash"],
        "properties": { "name": { "type": "string" }, "hash": { "type": "string" } },
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "required": ["source", "requests", "index", "packages", "files_sha256"],
        "properties": {
            "source": { "enum": PackageSource::ALL.map(PackageSource::as_str) },
            "requests": { "type": "array", "items": { "type": "string" }, "description": "What was requested with --with" },
            "index": { "type": "string", "description": "The host of the index, or the URL of a folder" },
            "packages": { "type": "array", "items": package, "description": "Every package with its hash" },
            "files_sha256": { "type": "string", "pattern": "^sha256:[0-9a-f]{64}$", "description": "Digest of all unpacked files" },
        },
        "additionalProperties": false,
    })
}

fn policy() -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let hosts = json!({ "type": "array", "items": { "type": "string", "pattern": "^[^\\s/:]+$" } });
    let trust = json!({ "enum": SkillSource::CONFIGURABLE });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Organization policy for this machine",
        "type": "object",
        "required": ["schema_version"],
        "properties": {
            "schema_version": { "const": 1 },
            "deny": {
                "type": "object",
                "properties": {
                    "skills": texts,
                    "origins": texts,
                    "digests": { "type": "array", "items": { "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" } },
                    "hosts": hosts,
                    "tools": texts,
                },
                "additionalProperties": false,
            },
            "allowed_origins": texts,
            "allowed_hosts": hosts,
            "required_trust": {
                "type": "object",
                "properties": { "activate": trust, "run": trust },
                "additionalProperties": false,
            },
            "allow_approve_once": { "type": "boolean" },
            "max_approval_days": { "type": "integer", "minimum": 0 },
            "allowed_tools": { "const": "allowlist" },
        },
        "additionalProperties": false,
    })
}

fn head() -> Value {
    let number = json!({ "type": "integer", "minimum": 0 });
    let id = json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Audit log head: position and state of the last event",
        "type": "object",
        "required": ["schema_version", "chain", "id", "events", "first", "size", "last", "seal"],
        "properties": {
            "schema_version": { "const": 2 },
            "chain": { "enum": ["sha256", "hmac-sha256"] },
            "id": id,
            "previous": id,
            "events": number,
            "first": number,
            "size": number,
            "last": number,
            "seal": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
        },
        "additionalProperties": false,
    })
}

fn lists(title: &str, keys: &[&str]) -> Value {
    let mut properties = json!({ "schema_version": { "const": 1 } });
    for key in keys {
        properties[key] = json!({ "type": "array", "items": { "type": "string" } });
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "required": ["schema_version"],
        "properties": properties,
        "additionalProperties": false,
    })
}
