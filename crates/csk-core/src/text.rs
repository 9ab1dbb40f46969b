//! Texts of the user's: lines of csk's own in them, and JSON that may be anything.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Why a text is not the JSON that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub(crate) struct JsonError {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) what: String,
}

/// Reads JSON, with or without a byte-order mark. The error does without the names of types.
pub(crate) fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).map_err(|error| {
        let what = match error.classify() {
            Category::Eof if text.trim().is_empty() => "the file is empty".to_owned(),
            Category::Eof => "the file ends too early".to_owned(),
            Category::Syntax | Category::Io => "this is not valid JSON".to_owned(),
            Category::Data => {
                let told = error.to_string();
                let told = told.split(" at line ").next().unwrap_or_default();
                told.replace("missing field", "missing key")
                    .replace("invalid type: sequence", "found a list")
                    .replace("invalid type: map", "found an object")
                    .replace("invalid type: ", "found ")
            }
        };
        JsonError { line: error.line(), column: error.column(), what }
    })
}

/// Returns a text of the user's with csk's own lines after it, under a line that says whose they are.
pub fn with_block(old: &str, lines: &str) -> String {
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    format!("{old}{gap}# CocoaSkill\n{lines}\n")
}
