//! `csk audit --sarif`: reports for code-scanning tools.

use serde_json::{Value, json};
use skill_audit::show::{AuditedJson, AuditedSkill, REVOKED};
use skill_audit::{FlowStep, LineRange, RULES, Rule, Severity};
use term::sarif::{
    self, CodeFlow, Configuration, Driver, Finding, Level, Location, Log, Properties, Region,
    Suppression,
};

use super::inspect::InspectedSkill;

/// Returns reports as one SARIF log.
///
/// Information about a whole skill is in `properties` of the run. A revocation is also reported as a result.
pub(super) fn log(inspected: &[InspectedSkill]) -> Log {
    let driver = Driver {
        name: "csk audit".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        information_uri: Some("https://agentskills.io".to_owned()),
        rules: RULES.iter().map(rule).collect(),
    };
    let skills: Vec<Value> = inspected.iter().map(|one| skill_properties(&one.audited)).collect();
    let properties = Properties::from_iter([("skills".to_owned(), json!(skills))]);
    Log::new(driver, inspected.iter().flat_map(findings).collect(), Some(properties))
}

fn findings(inspected: &InspectedSkill) -> Vec<Finding> {
    let InspectedSkill { base, audited: AuditedSkill { found, revoked: reason, .. }, .. } =
        inspected;
    let revoked = reason.iter().map(|reason| revoked(base, &found.bundle.to_string(), reason));
    let all = found.report.findings.iter().map(|found| finding(base, found));
    let suppressed = found.report.suppressed.iter().map(|one| Finding {
        suppressions: vec![Suppression::external(one.reason.clone())],
        ..finding(base, &one.finding)
    });
    revoked.chain(all).chain(suppressed).collect()
}

/// Returns the properties of a whole skill.
fn skill_properties(audited: &AuditedSkill) -> Value {
    let audited = AuditedJson::new(audited);
    let report = &audited.report;
    let mut value = json!({
        "name": report.name,
        "bundleSha256": report.bundle_sha256,
        "verdict": report.verdict,
    });
    let optional = [
        ("revoked", json!(audited.revoked)),
        ("previous", json!(audited.previous)),
        ("gained", json!(audited.gained)),
        ("lost", json!(audited.lost)),
        ("differences", json!(audited.differences)),
    ];
    for (key, present) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
        value[key] = present;
    }
    value
}

fn revoked(base: &str, bundle: &str, reason: &str) -> Finding {
    let location = Location::new(&report_path(base, "SKILL.md"), None);
    let mut finding = Finding::new(REVOKED, Level::Error, format!("revoked: {reason}"), location);
    finding.partial_fingerprints.insert("bundle/v1".to_owned(), bundle.to_owned());
    finding
}

fn rule(rule: &Rule) -> sarif::Rule {
    sarif::Rule {
        id: rule.id.to_string(),
        name: Some(rule.name.to_owned()),
        short_description: rule.description.into(),
        full_description: Some(rule.rationale.into()),
        help: Some(rule.fix.into()),
        default_configuration: Some(Configuration { level: level(rule.severity) }),
    }
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Critical | Severity::High => Level::Error,
        Severity::Medium => Level::Warning,
        Severity::Low | Severity::Info => Level::Note,
    }
}

fn finding(base: &str, found: &skill_audit::Finding) -> Finding {
    let LineRange { line, column, end_line } = found.location;
    let region = Region { start_line: line, start_column: column, end_line, end_column: None };
    let location = Location::new(&report_path(base, &found.file), Some(region));
    let rule = found.rule.id.as_str();
    let mut finding = Finding::new(rule, level(found.severity), found.message.clone(), location);
    finding.rule_index = RULES.iter().position(|rule| rule == found.rule);
    finding.partial_fingerprints.insert("evidence/v1".to_owned(), found.fingerprint());
    let chain: Vec<&str> = found.chain.iter().map(|step| step.as_str()).collect();
    finding.properties = Some(Properties::from_iter([
        ("severity".to_owned(), json!(found.severity.as_str())),
        ("blocks".to_owned(), json!(found.blocks)),
        ("role".to_owned(), json!(found.role.as_str())),
        ("chain".to_owned(), json!(chain)),
    ]));
    if !found.flow.is_empty() {
        let steps = found.flow.iter().map(|FlowStep { file, line, description }| {
            let region =
                Region { start_line: *line, start_column: 1, end_line: *line, end_column: None };
            let message = Some(description.as_str().into());
            Location { message, ..Location::new(&report_path(base, file), Some(region)) }
        });
        finding.code_flows = vec![CodeFlow::new(steps)];
    }
    finding
}

/// Returns the path of a skill's file as shown in the report.
fn report_path(base: &str, file: &str) -> String {
    if base.is_empty() { file.to_owned() } else { format!("{base}/{file}") }
}
