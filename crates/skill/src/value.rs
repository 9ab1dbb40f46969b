//! A YAML value without its position in the file; scalars keep their spelling.

use serde_json::{Map, Number, Value as Json};

/// A value whose scalars keep their text: `1.10` stays `1.10`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Empty, `~` or `null`.
    Null,
    /// Any scalar.
    Text {
        /// The text, with quotes and escapes resolved.
        text: String,
        /// Written without quotes, so other parsers may read a number or a boolean.
        plain: bool,
    },
    /// A sequence.
    List(Vec<Self>),
    /// A mapping, in file order.
    Map(Vec<(String, Self)>),
}

impl Value {
    /// Converts to JSON. An unquoted scalar becomes a number or a boolean only if JSON spells it exactly the same way,
    /// so that nothing is lost: `3` and `true` do, `1.10` and `007` do not.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Text { text, plain } => {
                plain.then(|| same_in_json(text)).flatten().unwrap_or_else(|| text.as_str().into())
            }
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.clone(), value.to_json()));
                Json::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// Converts a JSON Schema to JSON. Unquoted numbers become numbers however they are spelled, and values next to
    /// `type: string` become strings.
    pub fn to_schema_json(&self) -> Json {
        self.schema_json(Scalars::Typed)
    }

    fn schema_json(&self, scalars: Scalars) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Text { text, plain } if *plain && scalars == Scalars::Typed => {
                let number = || Some(Json::Number(text.parse().ok()?));
                let typed = same_in_json(text).or_else(|| number().filter(|_| is_number(text)));
                typed.unwrap_or_else(|| text.as_str().into())
            }
            Self::Text { text, .. } => text.as_str().into(),
            Self::List(items) => items.iter().map(|item| item.schema_json(scalars)).collect(),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    let is_value =
                        matches!(key.as_str(), "default" | "const" | "enum" | "examples");
                    let is_text = self.is_of_strings() && is_value;
                    let scalars = if is_text { Scalars::Text } else { Scalars::Typed };
                    (key.clone(), value.schema_json(scalars))
                });
                Json::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the defaults of a schema's properties as JSON text, in which numbers keep their spelling.
    pub fn schema_defaults(&self) -> Vec<(String, String)> {
        let Some(Self::Map(properties)) = self.get("properties") else { return Vec::new() };
        let default = |(name, property): &(String, Self)| {
            let default = property.get("default")?;
            let text = match default {
                Self::Text { text, plain: true }
                    if is_number(text) && !property.is_of_strings() =>
                {
                    text.clone()
                }
                _ if property.is_of_strings() => default.schema_json(Scalars::Text).to_string(),
                _ => default.to_schema_json().to_string(),
            };
            Some((name.clone(), text))
        };
        properties.iter().filter_map(default).collect()
    }

    /// Returns true for a schema of strings.
    fn is_of_strings(&self) -> bool {
        matches!(self.get("type"), Some(Self::Text { text, .. }) if text == "string")
    }

    /// Returns the text of a scalar, or the JSON of anything else.
    pub fn to_text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text { text, .. } => text.clone(),
            Self::List(_) | Self::Map(_) => self.to_json().to_string(),
        }
    }

    /// Returns the value of `key`, if this is a mapping that contains it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            Self::Null | Self::Text { .. } | Self::List(_) => None,
        }
    }
}

/// How unquoted scalars in a schema are interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalars {
    /// By their spelling.
    Typed,
    /// As strings.
    Text,
}

/// Returns true for a JSON number.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let (whole, part) = match number.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (number, None),
    };
    let is_whole = digits(whole) && (whole.len() == 1 || !whole.starts_with('0'));
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    is_whole && part.is_none_or(digits) && exponent.is_none_or(digits)
}

fn same_in_json(text: &str) -> Option<Json> {
    match text {
        "true" => Some(Json::Bool(true)),
        "false" => Some(Json::Bool(false)),
        _ => {
            let number: Number = text.parse().ok()?;
            (number.to_string() == text).then_some(Json::Number(number))
        }
    }
}

/// Parses a boolean, in any spelling found in real files.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Returns true if every YAML parser reads an unquoted `text` as a string.
pub(crate) fn reads_as_text(text: &str) -> bool {
    let is_null = matches!(text.to_ascii_lowercase().as_str(), "" | "~" | "null");
    !is_null && other_reading(text).is_none()
}

/// Returns the type that other YAML parsers give an unquoted `text`; `None` if it is a string.
pub(crate) fn other_reading(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let digits = text.trim_start_matches(['+', '-']);
    match lower.as_str() {
        "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" => return Some("a boolean"),
        ".inf" | "-.inf" | "+.inf" | ".nan" => return Some("a number"),
        _ => {}
    }
    let starts_as_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts_as_number || !digits.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if is_date(text) {
        return Some("a date");
    }
    let radix = lower.starts_with("0x") || lower.starts_with("0o");
    let plain_number = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
    (plain_number && digits.matches('.').count() <= 1 || radix || text.parse::<f64>().is_ok())
        .then_some("a number")
}

fn is_date(text: &str) -> bool {
    let day = text.get(..10).unwrap_or("");
    let shape: String = day.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00" && text[10..].chars().next().is_none_or(|c| matches!(c, 'T' | 't' | ' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_turns_into_json_only_when_nothing_is_lost() {
        for (text, json) in [
            ("3", "3"),
            ("true", "true"),
            ("1.5", "1.5"),
            ("1.10", "\"1.10\""),
            ("007", "\"007\""),
            ("yes", "\"yes\""),
            ("1e3", "\"1e3\""),
            ("99999999999999999999999", "\"99999999999999999999999\""),
        ] {
            assert_eq!(Value::Text { text: text.into(), plain: true }.to_json().to_string(), json);
        }
        assert_eq!(Value::Text { text: "3".into(), plain: false }.to_json().to_string(), "\"3\"");
    }

    #[test]
    fn numeric_defaults_in_a_schema_are_numbers() {
        let plain = |text: &str| Value::Text { text: text.into(), plain: true };
        for (text, json, default) in [
            ("0.10", "0.1", "0.10"),
            ("1e-3", "0.001", "1e-3"),
            ("1e5", "100000.0", "1e5"),
            ("12345678901234567890123", "1.2345678901234568e+22", "12345678901234567890123"),
            ("007", "\"007\"", "\"007\""),
            ("cm", "\"cm\"", "\"cm\""),
            ("true", "true", "true"),
        ] {
            let property = Value::Map(vec![("default".into(), plain(text))]);
            let properties = Value::Map(vec![("n".into(), property)]);
            let schema = Value::Map(vec![("properties".into(), properties)]);
            let found = schema.to_schema_json()["properties"]["n"]["default"].to_string();
            assert_eq!(found.replace("e22", "e+22"), json);
            assert_eq!(schema.schema_defaults(), [("n".to_owned(), default.to_owned())]);
        }
        // A version is a string if the schema says so.
        let of_text = vec![("type".into(), plain("string")), ("default".into(), plain("1.10"))];
        let properties = Value::Map(vec![("v".into(), Value::Map(of_text))]);
        let schema = Value::Map(vec![("properties".into(), properties)]);
        assert_eq!(schema.to_schema_json()["properties"]["v"]["default"], "1.10");
        assert_eq!(schema.schema_defaults()[0].1, "\"1.10\"");
    }

    #[test]
    fn types_in_other_parsers_are_predicted() {
        for (text, seen) in [
            ("1.0", Some("a number")),
            ("-12", Some("a number")),
            ("1_000", Some("a number")),
            ("0x1f", Some("a number")),
            ("1e5", Some("a number")),
            ("2026-01-15", Some("a date")),
            ("Yes", Some("a boolean")),
            ("1.0.0", None),
            ("3d-print", None),
            ("v1", None),
            (".", None),
            ("MIT", None),
        ] {
            assert_eq!(other_reading(text), seen, "{text}");
        }
    }
}
