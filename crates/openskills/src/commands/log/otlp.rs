//! Converts events to OpenTelemetry logs in OTLP/HTTP JSON.

use jiff::Timestamp;
use openskills_runtime::EventSeverity;
use openskills_runtime::log::{Checkpoint, Entry};
use serde_json::{Map, Value, json};

use super::detail::detail;

/// A severity in OTLP.
struct OtlpSeverity {
    number: u32,
    text: &'static str,
}

impl From<EventSeverity> for OtlpSeverity {
    fn from(severity: EventSeverity) -> Self {
        match severity {
            EventSeverity::Info => Self { number: 9, text: "INFO" },
            EventSeverity::Warning => Self { number: 13, text: "WARN" },
        }
    }
}

/// Returns the URL at which a collector accepts logs.
pub(crate) fn logs_url(endpoint: &str) -> String {
    let base = endpoint.trim_end_matches('/');
    format!("{}/v1/logs", base.trim_end_matches("/v1/logs"))
}

/// Returns a request body with a checkpoint as its log line, the same line that is written to a checkpoint file.
pub(crate) fn checkpoint_request(checkpoint: &Checkpoint) -> Value {
    let time: Option<Timestamp> = checkpoint.time.parse().ok();
    let nanoseconds = time.map_or(0, Timestamp::as_nanosecond).to_string();
    let severity = OtlpSeverity::from(EventSeverity::Info);
    let named = [
        ("openskills.log".to_owned(), json!(checkpoint.log)),
        ("openskills.events".to_owned(), json!(checkpoint.events)),
    ];
    body(&[json!({
        "timeUnixNano": nanoseconds,
        "observedTimeUnixNano": nanoseconds,
        "severityNumber": severity.number,
        "severityText": severity.text,
        "eventName": "log.checkpoint",
        "body": { "stringValue": checkpoint.line() },
        "attributes": attributes(named.into_iter()),
    })])
}

/// Returns a request body with these events.
pub(super) fn request(entries: &[Entry]) -> Value {
    body(&entries.iter().map(record).collect::<Vec<_>>())
}

fn body(records: &[Value]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", json!("openskills")), ("service.version", json!(version))];
    json!({
        "resourceLogs": [{
            "resource": { "attributes": attributes(resource.into_iter().map(|(key, value)| (key.to_owned(), value))) },
            "scopeLogs": [{
                "scope": { "name": "openskills.audit", "version": version },
                "logRecords": records,
            }],
        }],
    })
}

fn record(entry: &Entry) -> Value {
    let nanoseconds = entry.timestamp().map_or(0, Timestamp::as_nanosecond).to_string();
    let severity = OtlpSeverity::from(entry.event.severity());
    let own = [("seq".to_owned(), json!(entry.seq)), ("prev".to_owned(), json!(entry.prev))];
    let fields = entry.fields.iter().map(|(key, value)| (key.clone(), value.clone()));
    let named =
        own.into_iter().chain(fields).map(|(key, value)| (format!("openskills.{key}"), value));
    json!({
        "timeUnixNano": nanoseconds,
        "observedTimeUnixNano": nanoseconds,
        "severityNumber": severity.number,
        "severityText": severity.text,
        "eventName": entry.name,
        "body": { "stringValue": format!("{} {}", entry.name, detail(entry)).trim_end() },
        "attributes": attributes(named),
    })
}

fn attributes(all: impl Iterator<Item = (String, Value)>) -> Vec<Value> {
    all.map(|(key, value)| json!({ "key": key, "value": any(value) })).collect()
}

/// Returns a value as an OTLP `AnyValue`, in which integers are strings.
fn any(value: Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(value) => json!({ "boolValue": value }),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => json!({ "intValue": whole.to_string() }),
            None => json!({ "doubleValue": number }),
        },
        Value::String(text) => json!({ "stringValue": text }),
        Value::Array(items) => {
            json!({ "arrayValue": { "values": items.into_iter().map(any).collect::<Vec<_>>() } })
        }
        Value::Object(fields) => list(fields),
    }
}

fn list(fields: Map<String, Value>) -> Value {
    json!({ "kvlistValue": { "values": attributes(fields.into_iter()) } })
}
