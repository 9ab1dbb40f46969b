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
        "skill.deactivated" => format!("in {}", field("sessionId")),
        "skill.undone" => {
            let count = entry.fields.get("paths").and_then(Value::as_u64).unwrap_or_default();
            format!("{count} taken back from the workspace")
        }
        "skill.script_started" => {
            let arguments = list("arguments");
            let given =
                if arguments.is_empty() { String::new() } else { format!(" ({arguments})") };
            let degraded = list("allowDegraded");
            let without =
                if degraded.is_empty() { String::new() } else { format!(", without {degraded}") };
            format!("{}{given}{without}", field("script"))
        }
        "skill.script_executed" => {
            let record = entry.fields.get("record").cloned().unwrap_or_default();
            let status = record["exit_status"].as_str().unwrap_or_default();
            let ended = entry.fields.get("ended").cloned().unwrap_or_default();
            let how = match (ended["how"].as_str(), ended["signal"].as_i64()) {
                (Some("interrupted"), Some(signal)) => {
                    format!(", interrupted by signal {signal}{}", written(entry))
                }
                (Some("cancelled"), _) => format!(", cancelled{}", written(entry)),
                _ => String::new(),
            };
            let denied = record["permissions_denied"].as_array().map_or(0, Vec::len);
            let denied = if denied == 0 { String::new() } else { format!(", {denied} denied") };
            format!("{} {status} in {} ms{how}{denied}", field("script"), record["duration_ms"])
        }
        "skill.script_failed" => {
            format!("{}: {}{}", field("script"), field("reason"), written(entry))
        }
        "skill.script_interrupted" => {
            let pid = entry.fields.get("process").and_then(|process| process["pid"].as_u64());
            let whose = pid.map_or_else(String::new, |pid| format!(" {pid}"));
            format!("{}: process{whose} was killed{}", field("script"), written(entry))
        }
        "skill.committed" => {
            let count = entry.fields.get("changeCount").and_then(Value::as_u64).unwrap_or_default();
            format!("{}: {count} applied to the workspace", field("script"))
        }
        "skill.commit_interrupted" => format!(
            "{}: the process was killed while it applied changes{}",
            field("script"),
            written(entry)
        ),
        "skill.commit_failed" => format!("{}: {}", field("script"), field("reason")),
        "log.checkpoint_failed" => format!("{}: {}", field("place"), field("reason")),
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

/// Says so if files of the workspace may have been changed.
fn written(entry: &Entry) -> &'static str {
    if entry.fields.get("mayHaveWritten") == Some(&Value::Bool(true)) {
        "; files of the workspace may have been written"
    } else {
        ""
    }
}

/// Returns the beginning of a digest.
fn short(digest: &str) -> &str {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.get(..12).unwrap_or(hex)
}
