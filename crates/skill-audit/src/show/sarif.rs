//! Reports as SARIF 2.1.0, for tools that show findings beside the code.

use serde_json::{Value, json};

use super::json::AuditedJson;
use super::{AuditedSkill, REVOKED};
use crate::{Finding, FlowStep, Location, RULES, Rule, Severity, Suppressed};

/// Returns reports as one SARIF log. `base` is what paths are relative to, for each skill.
///
/// What is known of a skill as a whole stands in `properties` of the run; that it is revoked is a result as well.
pub fn sarif(reports: &[(String, AuditedSkill)], version: &str) -> Value {
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|(base, AuditedSkill { found, revoked: why, .. })| {
            let all = found.report.findings.iter().map(|finding| result(base, finding));
            let why = why.iter().map(|reason| revoked(base, &found.bundle.to_string(), reason));
            why.chain(all)
                .chain(found.report.suppressed.iter().map(|finding| suppressed(base, finding)))
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
fn whole(audited: &AuditedSkill) -> Value {
    let audited = AuditedJson::new(audited);
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
        "ruleId": REVOKED,
        "level": "error",
        "message": { "text": format!("it is revoked: {reason}") },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&path) } } }],
        "partialFingerprints": { "bundle/v1": bundle },
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id.as_str(),
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

fn result(base: &str, finding: &Finding) -> Value {
    let place = |file: &str, line: usize, column: usize, end: usize| {
        let path = if base.is_empty() { file.to_owned() } else { format!("{base}/{file}") };
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(&path) },
            "region": { "startLine": line, "startColumn": column, "endLine": end },
        } })
    };
    let Location { line, column, end_line } = finding.location;
    let chain: Vec<&str> = finding.chain.iter().map(|step| step.as_str()).collect();
    let mut result = json!({
        "ruleId": finding.rule.id.as_str(),
        "ruleIndex": RULES.iter().position(|rule| rule == finding.rule),
        "level": level(finding.severity),
        "message": { "text": finding.message },
        "locations": [place(&finding.file, line, column, end_line)],
        "partialFingerprints": { "evidence/v1": finding.fingerprint() },
        "properties": { "severity": finding.severity.as_str(), "blocks": finding.blocks, "role": finding.role.as_str(), "chain": chain },
    });
    if !finding.flow.is_empty() {
        let steps: Vec<Value> = finding
            .flow
            .iter()
            .map(|FlowStep { file, line, what }| {
                let mut location = place(file, *line, 1, *line);
                location["message"] = json!({ "text": what });
                json!({ "location": location })
            })
            .collect();
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    result
}

fn suppressed(base: &str, one: &Suppressed) -> Value {
    let mut result = result(base, &one.finding);
    result["suppressions"] = json!([{ "kind": "external", "justification": one.reason }]);
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
