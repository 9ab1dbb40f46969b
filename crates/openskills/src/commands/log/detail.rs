//! One event in a line.

use openskills_runtime::log::Entry;
use serde_json::Value;

/// Returns the cells of an event: number, time, kind, skill, and what else matters.
pub(super) fn cells(entry: &Entry) -> Vec<String> {
    let skill = entry.text("skillId").or_else(|| entry.text("name")).unwrap_or("-");
    vec![
        entry.seq.to_string(),
        entry.time.clone(),
        entry.event.clone(),
        skill.to_owned(),
        detail(entry),
    ]
}

/// Returns what matters about an event beside its skill.
pub(super) fn detail(entry: &Entry) -> String {
    let field = |key: &str| entry.text(key).unwrap_or_default();
    let list = |key: &str| match entry.fields.get(key) {
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    };
    match entry.event.as_str() {
        "skill.discovered" => format!("{} {}", field("change"), field("path")),
        "skill.removed" | "skill.resource_read" => field("path").to_owned(),
        "skill.activated" => {
            let again = if entry.fields.get("repeated") == Some(&Value::Bool(true)) {
                " again"
            } else {
                ""
            };
            format!("{}{again} in {}", short(field("hash")), field("sessionId"))
        }
        "skill.activation_failed" => field("reason").to_owned(),
        "skill.script_executed" => {
            let record = entry.fields.get("record").cloned().unwrap_or_default();
            let status = record["exit_status"].as_str().unwrap_or_default();
            format!("{} {status} in {} ms", field("script"), record["duration_ms"])
        }
        "policy.decided" => {
            let input = entry.text("input").map(|input| format!(" {input}")).unwrap_or_default();
            format!("{} {}{input}: {}", field("decision"), field("action"), field("because"))
        }
        "approval.granted" | "approval.revoked" => {
            format!("{} {}", short(field("bundleSha256")), list("granted"))
        }
        "log.recovered" => {
            let bytes = entry.fields.get("bytes").and_then(Value::as_u64).unwrap_or_default();
            format!("{bytes} bytes of a torn line are left out")
        }
        "log.started" => entry.fields.get("before").map_or_else(String::new, |before| {
            format!("after {}", before["folder"].as_str().unwrap_or_default())
        }),
        _ => String::new(),
    }
}

/// Returns the beginning of a digest.
fn short(digest: &str) -> &str {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.get(..12).unwrap_or(hex)
}
