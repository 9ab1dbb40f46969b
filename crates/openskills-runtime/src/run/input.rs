//! JSON input of a script: validated, but passed on exactly as written.

use serde_json::Value;

use crate::disclose::schema_arguments::{ArgumentSchema, validate};

/// The largest and smallest finite `f64`.
const LARGEST: &str = "1.7976931348623157e308";
const SMALLEST: &str = "-1.7976931348623157e308";

/// JSON together with its source text, so that numbers reach the script with all their digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    text: String,
    value: Value,
    /// Whether the caller gave no input and it consists only of schema defaults.
    is_default: bool,
}

/// Whether a script gets input other than JSON: arguments, or piped standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherInput {
    /// The script has other input.
    Present,
    /// The script has no other input.
    Absent,
}

impl Input {
    /// Parses JSON. A number that overflows `f64` is clamped in the data, but not in the text.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let text = text.trim().to_owned();
        let value = serde_json::from_str(&text).or_else(|error| {
            serde_json::from_str::<serde::de::IgnoredAny>(&text)?;
            serde_json::from_str(&in_range(&text)).map_err(|_| error)
        })?;
        Ok(Self { value, text, is_default: false })
    }

    /// Returns true if it consists only of schema defaults.
    pub(crate) fn is_default(&self) -> bool {
        self.is_default
    }

    /// Returns the JSON as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the JSON as data.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the input with the defaults of the skill's `arguments.schema`, checked against the schema. Without an
    /// input, the defaults alone must satisfy the schema, unless the script gets other input.
    pub(crate) fn fitting(
        given: Option<&Self>,
        schema: &ArgumentSchema,
        other: OtherInput,
    ) -> Result<Option<Self>, String> {
        let empty = || Self {
            text: "{}".to_owned(),
            value: Value::Object(serde_json::Map::new()),
            is_default: true,
        };
        let whole = given.cloned().unwrap_or_else(empty).with_defaults(schema);
        match validate(&schema.json, &whole.value) {
            Ok(()) if given.is_none() && whole.text == "{}" => Ok(None),
            Ok(()) => Ok(Some(whole)),
            Err(_) if given.is_none() && other == OtherInput::Present => Ok(None),
            Err(problem) if given.is_none() => Err(format!(
                "{problem}; pass it with --input (JSON, @FILE, or - for standard input)"
            )),
            Err(problem) => Err(problem),
        }
    }

    fn with_defaults(mut self, schema: &ArgumentSchema) -> Self {
        let Value::Object(fields) = &mut self.value else { return self };
        for (name, default) in &schema.defaults {
            let Ok(parsed) = Self::parse(default) else { continue };
            if fields.contains_key(name) {
                continue;
            }
            let comma = if fields.is_empty() { "" } else { ", " };
            let member = format!("{comma}{}: {default}}}", Value::from(name.as_str()));
            // The text of an object ends with its closing brace.
            self.text.pop();
            self.text.push_str(&member);
            fields.insert(name.clone(), parsed.value);
        }
        self
    }
}

impl From<Value> for Input {
    fn from(value: Value) -> Self {
        Self { text: value.to_string(), value, is_default: false }
    }
}

/// Replaces every number in JSON that overflows `f64` with the largest finite one.
fn in_range(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_string = false;
    while let Some(first) = rest.chars().next() {
        let is_number = !is_string && (first == '-' || first.is_ascii_digit());
        let length = match first {
            '\\' if is_string => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ if is_number => {
                let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        is_string ^= first == '"';
        let (token, after) = rest.split_at(length);
        match token.parse::<f64>() {
            Ok(number) if is_number && number.is_infinite() => {
                all.push_str(if number > 0.0 { LARGEST } else { SMALLEST });
            }
            _ => all.push_str(token),
        }
        rest = after;
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn input_is_passed_on_unchanged() {
        let text = r#"{"id": 12345678901234567890123, "x": 1.50, "y": 1e2}"#;
        assert_eq!(Input::parse(text).unwrap().as_str(), text);
        for text in ["1e400", r#"{"a": [-1e999, "1e400 \" 1e400"], "b": 2}"#] {
            assert_eq!(Input::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Input::parse("[1e400]").unwrap().value()[0], f64::MAX);
        for text in ["{'a': 1}", "1e", "01", "1e400x", "[1e400", ""] {
            assert!(Input::parse(text).is_err(), "{text}");
        }
    }

    fn of(schema: &Value) -> ArgumentSchema {
        let defaults = crate::disclose::schema_arguments::defaults(schema);
        let defaults = defaults.map(|(name, value)| (name.clone(), value.to_string())).collect();
        ArgumentSchema { json: schema.clone(), defaults }
    }

    #[test]
    fn input_is_checked_against_the_schema_and_gets_its_defaults() {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "cm"}},
            "required": ["n"],
        });
        let fitting = |text: &str| {
            let input = Input::parse(text).unwrap();
            Input::fitting(Some(&input), &of(&schema), OtherInput::Absent)
                .map(|found| found.map(|found| found.text))
        };
        assert_eq!(fitting(r#"{"n": 1.0}"#).unwrap().unwrap(), r#"{"n": 1.0, "unit": "cm"}"#);
        let given = r#"{"unit": "m", "n": 2}"#;
        assert_eq!(fitting(given).unwrap().unwrap(), given);
        assert!(fitting(r#"{"n": "two"}"#).unwrap_err().contains('n'));
        assert!(fitting("{ }").unwrap_err().contains('n'));
        assert!(fitting("[1]").is_err());
        // No input is given, and the defaults do not satisfy the schema.
        let none = |other| Input::fitting(None, &of(&schema), other);
        assert!(none(OtherInput::Absent).unwrap_err().contains("--input"));
        assert_eq!(none(OtherInput::Present), Ok(None));
        let optional = json!({"type": "object", "properties": {"unit": {"default": "cm"}}});
        let input = Input::fitting(None, &of(&optional), OtherInput::Absent).unwrap().unwrap();
        assert_eq!((input.as_str(), input.is_default()), (r#"{"unit": "cm"}"#, true));
    }
}
