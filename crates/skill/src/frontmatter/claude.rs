//! Reads the Claude Code fields.

use super::fields::Fields;
use super::{ClaudeFields, choices};
use crate::Value;
use crate::yaml::Data;

pub(super) fn read(fields: &mut Fields<'_, '_>) -> ClaudeFields {
    ClaudeFields {
        when_to_use: fields.text("when_to_use").filter(|text| !text.is_empty()),
        argument_hint: argument_hint(fields),
        // Both fail closed: an author who tried to hide the skill but misspelled the value gets it hidden.
        disable_model_invocation: fields
            .boolean("disable-model-invocation")
            .map(|read| read.unwrap_or(true)),
        user_invocable: fields.boolean("user-invocable").map(|read| read.unwrap_or(false)),
        disallowed_tools: fields
            .take("disallowed-tools")
            .map(|entry| fields.tool_rules("disallowed-tools", &entry.value)),
        model: fields.text("model"),
        effort: fields.text("effort"),
        context: fields.choice("context", choices::CONTEXT).and_then(Result::ok),
        agent: fields.text("agent"),
        background: fields.boolean("background").and_then(Result::ok),
        hooks: mapping(fields, "hooks"),
        paths: fields.texts("paths"),
        shell: fields.choice("shell", choices::SHELL).and_then(Result::ok),
    }
}

/// Reads `argument-hint`, in which `[file]` is text and not a list.
fn argument_hint(fields: &mut Fields<'_, '_>) -> Option<String> {
    let entry = fields.take("argument-hint")?;
    match entry.value.to_value() {
        Value::Null => None,
        Value::Text { text, .. } => Some(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(Value::to_text).collect();
            Some(format!("[{}]", items.join(", ")))
        }
        Value::Map(_) => {
            fields.wrong_type("argument-hint", &entry.value, "text");
            None
        }
    }
}

fn mapping(fields: &mut Fields<'_, '_>, key: &str) -> Option<Value> {
    let entry = fields.take(key)?;
    match entry.value.data {
        Data::Null => None,
        Data::Map(_) => Some(entry.value.to_value()),
        Data::Text { .. } | Data::List(_) => {
            fields.wrong_type(key, &entry.value, "a mapping");
            None
        }
    }
}
