//! Reports as SARIF 2.1.0, for tools that show findings beside the code.

use serde_json::{Value, json};

use super::json::{AuditedJson, FindingJson};
use crate::{RULES, Rule, Severity};

/// Returns reports as one SARIF log. `base` is what paths are relative to, for each skill.
///
/// What is known of a skill as a whole stands in `properties` of the run; that it is revoked is a result as well.
pub fn sarif(reports: &[(String, AuditedJson)], version: &str) -> Value {
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|(base, AuditedJson { report, revoked: why, .. })| {
            let found = report.findings.iter().map(|finding| result(base, finding));
            let why = why.iter().map(|reason| revoked(base, &report.bundle_sha256, reason));
            why.chain(found).chain(
                report.suppressed.iter().map(|finding| suppressed(result(base, finding), finding)),
            )
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "csk audit",
                "version": version,
                "informationUri": "https://agentskills.io",
                "rules": RULES.iter().map(descriptor).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": { "skills": reports.iter().map(|(_, audited)| whole(audited)).collect::<Vec<_>>() },
        }],
    })
}

/// What is known of a skill as a whole.
fn whole(audited: &AuditedJson) -> Value {
    let report = &audited.report;
    let mut value = json!({
        "name": report.name,
        "bundleSha256": report.bundle_sha256,
        "verdict": report.verdict,
    });
    let more = [
        ("revoked", json!(audited.revoked)),
        ("before", json!(audited.before)),
        ("gained", json!(audited.gained)),
        ("lost", json!(audited.lost)),
        ("differs", json!(audited.differs)),
    ];
    for (key, known) in more.into_iter().filter(|(_, known)| !known.is_null()) {
        value[key] = known;
    }
    value
}

fn revoked(base: &str, bundle: &str, reason: &str) -> Value {
    let path = if base.is_empty() { "SKILL.md".to_owned() } else { format!("{base}/SKILL.md") };
    json!({
        "ruleId": "REVOKED",
        "level": "error",
        "message": { "text": format!("it is revoked: {reason}") },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&path) } } }],
        "partialFingerprints": { "bundle/v1": bundle },
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.what },
        "fullDescription": { "text": rule.why },
        "help": { "text": rule.fix },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn result(base: &str, finding: &FindingJson) -> Value {
    let word = finding.severity.as_str();
    let severity =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info]
            .into_iter()
            .find(|known| known.as_str() == word)
            .unwrap_or(Severity::Critical);
    let place = |file: &str, line: usize, column: usize, end: usize| {
        let path = if base.is_empty() { file.to_owned() } else { format!("{base}/{file}") };
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(&path) },
            "region": { "startLine": line, "startColumn": column, "endLine": end },
        } })
    };
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": RULES.iter().position(|rule| rule.id == finding.rule),
        "level": level(severity),
        "message": { "text": finding.message },
        "locations": [place(&finding.file, finding.line, finding.column, finding.end_line)],
        "partialFingerprints": { "evidence/v1": finding.fingerprint },
        "properties": { "severity": word, "blocks": finding.blocks, "role": finding.role, "chain": finding.chain },
    });
    if !finding.flow.is_empty() {
        let steps: Vec<Value> = finding
            .flow
            .iter()
            .map(|(file, line, what)| {
                let mut location = place(file, *line, 1, *line);
                location["message"] = json!({ "text": what });
                json!({ "location": location })
            })
            .collect();
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    result
}

fn suppressed(mut result: Value, finding: &FindingJson) -> Value {
    let why = finding.because.clone().unwrap_or_default();
    result["suppressions"] = json!([{ "kind": "external", "justification": why }]);
    result
}

/// Returns a path as part of an address.
fn uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let part = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    path.bytes().map(part).collect()
}
