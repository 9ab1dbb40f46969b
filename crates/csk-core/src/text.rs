//! Reads JSON from arbitrary files, and adds csk's lines to the user's text files.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Why a text is not the expected JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub(crate) struct JsonError {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) what: String,
}

/// Parses JSON, with or without a byte-order mark. Errors do not mention Rust type names.
pub(crate) fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).map_err(|error| {
        let what = match error.classify() {
            Category::Eof if text.trim().is_empty() => "the file is empty".to_owned(),
            Category::Eof => "unexpected end of file".to_owned(),
            Category::Syntax | Category::Io => "invalid JSON".to_owned(),
            Category::Data => {
                let message = error.to_string();
                let message = message.split(" at line ").next().unwrap_or_default();
                message
                    .replace("missing field", "missing key")
                    .replace("invalid type: sequence", "found a list")
                    .replace("invalid type: map", "found an object")
                    .replace("invalid type: ", "found ")
            }
        };
        JsonError { line: error.line(), column: error.column(), what }
    })
}

/// Appends csk's lines to a text file of the user's, under a line that marks them as csk's.
pub fn with_block(old: &str, lines: &str) -> String {
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    format!("{old}{gap}# CocoaSkill\n{lines}\n")
}
