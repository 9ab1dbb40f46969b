//! SARIF 2.1.0, the report format of code-scanning services.

mod diagnostics;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

pub use diagnostics::diagnostics;

/// The `$schema` of every log.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Tool-specific properties that SARIF does not define.
pub type Properties = Map<String, Value>;

/// A SARIF log, limited to the parts that csk and openskills write.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// URL of the JSON schema of SARIF.
    #[serde(rename = "$schema")]
    pub schema: String,
    /// Version of the format.
    pub version: String,
    /// Runs of the tool; always one.
    pub runs: Vec<Run>,
}

/// A run of the tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Run {
    /// The tool.
    pub tool: Tool,
    /// Unit in which columns are counted.
    pub column_kind: String,
    /// Findings of the run.
    pub results: Vec<Finding>,
    /// Additional information about the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
}

/// A tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Main component of the tool.
    pub driver: Driver,
}

/// The main component of a tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Name of the tool.
    pub name: String,
    /// Version of the tool.
    pub version: String,
    /// URL with more information about the tool.
    #[serde(rename = "informationUri", skip_serializing_if = "Option::is_none")]
    pub information_uri: Option<String>,
    /// Rules that the results refer to.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// ID of the rule.
    pub id: String,
    /// Human-readable name of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the rule detects.
    pub short_description: Message,
    /// Why it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_description: Option<Message>,
    /// How to fix a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Message>,
    /// Default configuration of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_configuration: Option<Configuration>,
}

/// The configuration of a rule.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Level of the findings of the rule.
    #[schemars(with = "String", extend("enum" = ["error", "warning", "note"]))]
    pub level: Level,
}

/// The level of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Must be fixed.
    Error,
    /// Should be reviewed.
    Warning,
    /// For information.
    Note,
}

/// A result of the run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// ID of the rule.
    pub rule_id: String,
    /// Index of the rule in the list of rules; absent if the rule is not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_index: Option<usize>,
    /// Level of the finding.
    #[schemars(with = "String", extend("enum" = ["error", "warning", "note"]))]
    pub level: Level,
    /// Description of the finding.
    pub message: Message,
    /// Locations of the finding.
    pub locations: Vec<Location>,
    /// Fingerprints that identify the finding across runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partial_fingerprints: BTreeMap<String, String>,
    /// Additional information about the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// Data flows that lead to the finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_flows: Vec<CodeFlow>,
    /// Suppressions of the finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressions: Vec<Suppression>,
}

/// A data flow through the code.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CodeFlow {
    /// Flows by thread; always one.
    pub thread_flows: Vec<ThreadFlow>,
}

/// A data flow in one thread.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadFlow {
    /// Steps of the flow, in order.
    pub locations: Vec<FlowStep>,
}

/// A step of a data flow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowStep {
    /// Location of the step.
    pub location: Location,
}

/// The suppression of a finding.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suppression {
    /// `external`: the suppression is not part of the code.
    pub kind: String,
    /// Reason for the suppression.
    pub justification: String,
}

/// A text message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Text of the message.
    pub text: String,
}

/// A location.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Location {
    /// Position in a file.
    pub physical_location: PhysicalLocation,
    /// What happens at this location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
}

/// A position in a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhysicalLocation {
    /// File of the position.
    pub artifact_location: Artifact,
    /// Region of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
}

/// A file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Path of the file as a URI.
    pub uri: String,
}

/// A region of a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Region {
    /// First line, starting at 1.
    pub start_line: usize,
    /// First column, starting at 1.
    pub start_column: usize,
    /// Last line.
    pub end_line: usize,
    /// Column just after the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
}

impl Log {
    /// Returns the log of one run.
    pub fn new(driver: Driver, results: Vec<Finding>, properties: Option<Properties>) -> Self {
        let column_kind = "unicodeCodePoints".to_owned();
        let run = Run { tool: Tool { driver }, column_kind, results, properties };
        Self { schema: SCHEMA.to_owned(), version: "2.1.0".to_owned(), runs: vec![run] }
    }
}

impl Finding {
    /// Returns a finding with only the required fields set.
    pub fn new(rule: &str, level: Level, message: String, location: Location) -> Self {
        Self {
            rule_id: rule.to_owned(),
            rule_index: None,
            level,
            message: message.into(),
            locations: vec![location],
            partial_fingerprints: BTreeMap::new(),
            properties: None,
            code_flows: Vec::new(),
            suppressions: Vec::new(),
        }
    }
}

impl Location {
    /// Returns a location in the file at `path`.
    pub fn new(path: &str, region: Option<Region>) -> Self {
        let artifact_location = Artifact { uri: uri(path) };
        Self { physical_location: PhysicalLocation { artifact_location, region }, message: None }
    }
}

impl CodeFlow {
    /// Returns the flow through `steps`.
    pub fn new(steps: impl IntoIterator<Item = Location>) -> Self {
        let locations = steps.into_iter().map(|location| FlowStep { location }).collect();
        Self { thread_flows: vec![ThreadFlow { locations }] }
    }
}

impl Suppression {
    /// Returns a suppression that is not part of the code.
    pub fn external(justification: String) -> Self {
        Self { kind: "external".to_owned(), justification }
    }
}

impl<T: Into<String>> From<T> for Message {
    fn from(text: T) -> Self {
        Self { text: text.into() }
    }
}

/// Returns a path as a URI. Relative paths stay relative, so that a service can resolve them in its checkout.
fn uri(path: &str) -> String {
    let prefix = if path.starts_with('/') { "file://" } else { "" };
    let mut uri = prefix.to_owned();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("a b/ж.md"), "a%20b/%D0%B6.md");
        assert_eq!(uri("/a/b"), "file:///a/b");
    }
}
