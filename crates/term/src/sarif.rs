//! SARIF 2.1.0, the format of code-scanning services: the one place that knows how it is built.

mod diagnostics;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

pub use diagnostics::diagnostics;

/// The schema that every log names.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// What SARIF has no place for: each tool's own keys.
pub type Properties = Map<String, Value>;

/// A SARIF log: the part of the format that we write.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Where the format is defined.
    #[serde(rename = "$schema")]
    pub schema: String,
    /// The version of the format.
    pub version: String,
    /// One run of one tool.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Run {
    /// Which tool.
    pub tool: Tool,
    /// How columns are counted.
    pub column_kind: String,
    /// What it found.
    pub results: Vec<Finding>,
    /// What else the tool says about the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
}

/// The tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its main part.
    pub driver: Driver,
}

/// The program that found something.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where to read more about it.
    #[serde(rename = "informationUri", skip_serializing_if = "Option::is_none")]
    pub information_uri: Option<String>,
    /// The rules that the results name.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Its code.
    pub id: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is about.
    pub short_description: Message,
    /// Why that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_description: Option<Message>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Message>,
    /// How bad it usually is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_configuration: Option<Configuration>,
}

/// How a rule is set up.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// How bad what it finds is.
    #[schemars(with = "String", extend("enum" = ["error", "warning", "note"]))]
    pub level: Level,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It must be fixed.
    Error,
    /// It should be looked at.
    Warning,
    /// It is worth knowing.
    Note,
}

/// One problem.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// The code of its rule.
    pub rule_id: String,
    /// The place of its rule in the list; absent if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_index: Option<usize>,
    /// How bad it is.
    #[schemars(with = "String", extend("enum" = ["error", "warning", "note"]))]
    pub level: Level,
    /// What it says.
    pub message: Message,
    /// Where.
    pub locations: Vec<Location>,
    /// What it is known by in the next run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partial_fingerprints: BTreeMap<String, String>,
    /// What else the tool says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// How something gets from one place to another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_flows: Vec<CodeFlow>,
    /// Who said that it is fine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressions: Vec<Suppression>,
}

/// A way through the code.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CodeFlow {
    /// One for each thread; ours have one.
    pub thread_flows: Vec<ThreadFlow>,
}

/// A way through the code, in one thread.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadFlow {
    /// The steps, in order.
    pub locations: Vec<FlowStep>,
}

/// One step of a flow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowStep {
    /// Where it is.
    pub location: Location,
}

/// A finding that somebody said is fine.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suppression {
    /// Where that is said: `external`, outside of the code.
    pub kind: String,
    /// Why.
    pub justification: String,
}

/// Text.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The text.
    pub text: String,
}

/// A place.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Location {
    /// The place in a file.
    pub physical_location: PhysicalLocation,
    /// What happens there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
}

/// A place in a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhysicalLocation {
    /// The file.
    pub artifact_location: Artifact,
    /// The part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
}

/// A file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Its path, as a URI.
    pub uri: String,
}

/// A part of a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Region {
    /// Line, from 1.
    pub start_line: usize,
    /// Column, from 1.
    pub start_column: usize,
    /// Line of the end.
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
    /// Returns a finding with nothing but what every one has.
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
    /// Returns a place in the file at a path.
    pub fn new(path: &str, region: Option<Region>) -> Self {
        let artifact_location = Artifact { uri: uri(path) };
        Self { physical_location: PhysicalLocation { artifact_location, region }, message: None }
    }
}

impl CodeFlow {
    /// Returns the flow through these places.
    pub fn new(places: impl IntoIterator<Item = Location>) -> Self {
        let locations = places.into_iter().map(|location| FlowStep { location }).collect();
        Self { thread_flows: vec![ThreadFlow { locations }] }
    }
}

impl Suppression {
    /// Returns what somebody said outside of the code.
    pub fn external(justification: String) -> Self {
        Self { kind: "external".to_owned(), justification }
    }
}

impl<T: Into<String>> From<T> for Message {
    fn from(text: T) -> Self {
        Self { text: text.into() }
    }
}

/// Returns a path as a URI: relative ones stay relative, so that a service finds them in its checkout.
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
