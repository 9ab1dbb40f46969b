//! `csk audit --sarif`: reports for tools that show findings beside the code.

use csk_core::audit::rules::show::{AuditedJson, FindingJson};
use csk_core::audit::rules::{RULES, Rule, Severity};
use serde_json::{Value, json};
use term::sarif::{
    self, CodeFlow, Configuration, Driver, Finding, Level, Location, Log, Properties, Region,
    Suppression,
};

use super::look::Looked;

/// Returns reports as one SARIF log.
///
/// What is known of a skill as a whole stands in `properties` of the run; that it is revoked is a result as well.
pub(super) fn log(looked: &[Looked]) -> Log {
    let driver = Driver {
        name: "csk audit".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        information_uri: Some("https://agentskills.io".to_owned()),
        rules: RULES.iter().map(rule).collect(),
    };
    let skills: Vec<Value> = looked.iter().map(|looked| whole(&looked.audited)).collect();
    let properties = Properties::from_iter([("skills".to_owned(), json!(skills))]);
    Log::new(driver, looked.iter().flat_map(findings).collect(), Some(properties))
}

fn findings(looked: &Looked) -> Vec<Finding> {
    let Looked { base, audited, .. } = looked;
    let AuditedJson { report, revoked: why, .. } = audited;
    let revoked = why.iter().map(|why| revoked(base, &report.bundle_sha256, why));
    let found = report.findings.iter().map(|found| finding(base, found));
    let suppressed = report.suppressed.iter().map(|found| {
        let why = found.because.clone().unwrap_or_default();
        Finding { suppressions: vec![Suppression::external(why)], ..finding(base, found) }
    });
    revoked.chain(found).chain(suppressed).collect()
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

fn revoked(base: &str, bundle: &str, reason: &str) -> Finding {
    let location = Location::new(&below(base, "SKILL.md"), None);
    let mut finding =
        Finding::new("REVOKED", Level::Error, format!("it is revoked: {reason}"), location);
    finding.partial_fingerprints.insert("bundle/v1".to_owned(), bundle.to_owned());
    finding
}

fn rule(rule: &Rule) -> sarif::Rule {
    sarif::Rule {
        id: rule.id.to_owned(),
        name: Some(rule.name.to_owned()),
        short_description: rule.what.into(),
        full_description: Some(rule.why.into()),
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

fn finding(base: &str, found: &FindingJson) -> Finding {
    let word = found.severity.as_str();
    let severity =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info]
            .into_iter()
            .find(|known| known.as_str() == word)
            .unwrap_or(Severity::Critical);
    let region = Region {
        start_line: found.line,
        start_column: found.column,
        end_line: found.end_line,
        end_column: None,
    };
    let location = Location::new(&below(base, &found.file), Some(region));
    let mut finding = Finding::new(&found.rule, level(severity), found.message.clone(), location);
    finding.rule_index = RULES.iter().position(|rule| rule.id == found.rule);
    finding.partial_fingerprints.insert("evidence/v1".to_owned(), found.fingerprint.clone());
    finding.properties = Some(Properties::from_iter([
        ("severity".to_owned(), json!(word)),
        ("blocks".to_owned(), json!(found.blocks)),
        ("role".to_owned(), json!(found.role)),
        ("chain".to_owned(), json!(found.chain)),
    ]));
    if !found.flow.is_empty() {
        let steps = found.flow.iter().map(|(file, line, what)| {
            let region =
                Region { start_line: *line, start_column: 1, end_line: *line, end_column: None };
            let message = Some(what.as_str().into());
            Location { message, ..Location::new(&below(base, file), Some(region)) }
        });
        finding.code_flows = vec![CodeFlow::new(steps)];
    }
    finding
}

/// Returns the path of a file of a skill, where that is not in the working folder.
fn below(base: &str, file: &str) -> String {
    if base.is_empty() { file.to_owned() } else { format!("{base}/{file}") }
}
