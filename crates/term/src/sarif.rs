//! Diagnostics as SARIF 2.1.0, the format of code-scanning services.

use schemars::JsonSchema;
use serde::Serialize;
use skill::{Code, Diagnostic};

/// The schema that every log names.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

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
    /// The rules that the results name.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Its code.
    pub id: String,
    /// What it is about.
    pub short_description: Message,
}

/// One problem.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// The code of its rule.
    pub rule_id: String,
    /// The place of its rule in the list.
    pub rule_index: usize,
    /// How bad it is.
    #[schemars(extend("enum" = ["error", "warning", "note"]))]
    pub level: String,
    /// What it says.
    pub message: Message,
    /// Where.
    pub locations: Vec<Location>,
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
    pub end_column: usize,
}

/// Returns the log of one run of `tool`.
pub fn log<'a>(
    tool: &str,
    version: &str,
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
) -> Log {
    let mut codes: Vec<Code> = Vec::new();
    let mut results = Vec::new();
    for diagnostic in diagnostics {
        let index = codes.iter().position(|code| *code == diagnostic.code).unwrap_or_else(|| {
            codes.push(diagnostic.code);
            codes.len() - 1
        });
        results.push(finding(diagnostic, index));
    }
    let rule = |code: &Code| Rule {
        id: code.to_string(),
        short_description: Message { text: code.about().to_owned() },
    };
    let rules = codes.iter().map(rule).collect();
    let driver = Driver { name: tool.to_owned(), version: version.to_owned(), rules };
    let run = Run { tool: Tool { driver }, column_kind: "unicodeCodePoints".to_owned(), results };
    Log { schema: SCHEMA.to_owned(), version: "2.1.0".to_owned(), runs: vec![run] }
}

fn finding(diagnostic: &Diagnostic, rule_index: usize) -> Finding {
    let text = match &diagnostic.hint {
        Some(hint) => format!("{} (hint: {hint})", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let region = diagnostic.span.map(|span| Region {
        start_line: span.start.line,
        start_column: span.start.column,
        end_line: span.end.line,
        end_column: span.end.column,
    });
    let artifact_location = Artifact { uri: uri(&diagnostic.file) };
    Finding {
        rule_id: diagnostic.code.to_string(),
        rule_index,
        level: diagnostic.severity.as_str().to_owned(),
        message: Message { text },
        locations: vec![Location {
            physical_location: PhysicalLocation { artifact_location, region },
        }],
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
