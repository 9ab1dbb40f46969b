//! What a script is given as JSON: checked, and handed on as it was written.

use serde_json::Value;

use crate::schema_arguments::{defaults, holds};

/// JSON with the text it was read from: a number keeps all of its digits on the way to the script.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    text: String,
    value: Value,
}

impl Input {
    /// Reads JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let text = text.trim().to_owned();
        Ok(Self { value: serde_json::from_str(&text)?, text })
    }

    /// Returns the JSON as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the JSON as data.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns what a script of a skill with this `arguments.schema` is given: the input with the schema's defaults, held to the schema.
    /// Without an input that is the defaults alone, where they are enough.
    pub(crate) fn fitting(given: Option<&Self>, schema: &Value) -> Result<Option<Self>, String> {
        let empty = || Self { text: "{}".to_owned(), value: Value::Object(serde_json::Map::new()) };
        let whole = given.cloned().unwrap_or_else(empty).with_defaults(schema);
        match holds(schema, &whole.value) {
            Ok(()) if given.is_none() && whole.text == "{}" => Ok(None),
            Ok(()) => Ok(Some(whole)),
            Err(_) if given.is_none() => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn with_defaults(mut self, schema: &Value) -> Self {
        let Value::Object(fields) = &mut self.value else { return self };
        for (name, default) in defaults(schema) {
            if fields.contains_key(name) {
                continue;
            }
            let comma = if fields.is_empty() { "" } else { ", " };
            let member = format!("{comma}{}: {default}}}", Value::from(name.as_str()));
            // The text of an object ends with its brace.
            self.text.pop();
            self.text.push_str(&member);
            fields.insert(name.clone(), default.clone());
        }
        self
    }
}

impl From<Value> for Input {
    fn from(value: Value) -> Self {
        Self { text: value.to_string(), value }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn input_arrives_as_it_was_written() {
        let text = r#"{"id": 12345678901234567890123, "x": 1.50, "y": 1e2}"#;
        assert_eq!(Input::parse(text).unwrap().as_str(), text);
        assert!(Input::parse("{'a': 1}").is_err());
    }

    #[test]
    fn input_is_held_to_the_schema_and_has_its_defaults() {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "cm"}},
            "required": ["n"],
        });
        let fitting = |text: &str| {
            let input = Input::parse(text).unwrap();
            Input::fitting(Some(&input), &schema).map(|found| found.map(|found| found.text))
        };
        assert_eq!(fitting(r#"{"n": 1.0}"#).unwrap().unwrap(), r#"{"n": 1.0, "unit": "cm"}"#);
        let given = r#"{"unit": "m", "n": 2}"#;
        assert_eq!(fitting(given).unwrap().unwrap(), given);
        assert!(fitting(r#"{"n": "two"}"#).unwrap_err().contains('n'));
        assert!(fitting("{ }").unwrap_err().contains('n'));
        assert!(fitting("[1]").is_err());
        // Nothing is given, and the defaults are not enough.
        assert_eq!(Input::fitting(None, &schema), Ok(None));
        let optional = json!({"type": "object", "properties": {"unit": {"default": "cm"}}});
        let input = Input::fitting(None, &optional).unwrap().unwrap();
        assert_eq!(input.as_str(), r#"{"unit": "cm"}"#);
    }
}
