//! Takes fields out of the frontmatter one by one, each read as its expected type.

use std::ops::Range;

use crate::nearest::nearest;
use crate::programs::launcher_rules;
use crate::value::{boolean, other_reading};
use crate::yaml::{Data, Entry, Node, single_quoted};
use crate::{AllowedTools, Code, Report, ToolRule, Value};

/// The field is present but has the wrong type; the problem has been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

/// The value of a field, or `None` if it is absent.
pub(super) type Read<T> = Option<Result<T, Unreadable>>;

/// Maximum number of notes about rules that permit arbitrary code; even one would be enough.
const MAX_ANY_CODE: usize = 16;

pub(super) struct Fields<'r, 'a> {
    pub(super) entries: Vec<Entry>,
    pub(super) report: &'r mut Report<'a>,
}

impl Fields<'_, '_> {
    /// Removes the field `key` and returns it.
    pub(super) fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// Reads text; an empty value counts as absent.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let entry = self.take(key)?;
        self.text_of(&entry).map(|(text, _)| text)
    }

    /// Returns the text of `entry` and its range.
    pub(super) fn text_of(&mut self, entry: &Entry) -> Option<(String, Range<usize>)> {
        match &entry.value.data {
            Data::Null => None,
            Data::Text { text, .. } => {
                self.note_other_reading(&entry.key, &entry.value);
                Some((text.trim().to_owned(), entry.value.range.clone()))
            }
            Data::List(_) | Data::Map(_) => {
                self.wrong_type(&entry.key, &entry.value, "text");
                None
            }
        }
    }

    /// Reports an unquoted scalar that other parsers read as a number, a date or a boolean.
    pub(super) fn note_other_reading(&mut self, key: &str, node: &Node) {
        let Data::Text { text, plain: true } = &node.data else { return };
        if let Some(seen) = other_reading(text) {
            let message =
                format!("`{key}` is read as a string, but other YAML parsers read it as {seen}");
            let hint = format!("write `{key}: {}`", single_quoted(text));
            self.report.add_with_hint(Code::NotAString, node.range.clone(), message, hint);
        }
    }

    /// Reads a boolean.
    pub(super) fn boolean(&mut self, key: &str) -> Read<bool> {
        let entry = self.take(key)?;
        let value = match &entry.value.data {
            Data::Null => return None,
            Data::Text { text, .. } => boolean(text),
            Data::List(_) | Data::Map(_) => None,
        };
        Some(value.ok_or_else(|| {
            let message = format!("`{key}` is {}; expected true or false", shown(&entry.value));
            self.report.add(Code::BadBoolean, entry.value.range, message);
            Unreadable
        }))
    }

    /// Reads one of several allowed values.
    pub(super) fn choice<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Read<T> {
        let entry = self.take(key)?;
        match entry.value.data {
            Data::Null => None,
            _ => Some(self.one_of(key, &entry.value, words)),
        }
    }

    /// Reads a list of allowed values; a single value counts as a list of one.
    pub(super) fn choices<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Read<Vec<T>> {
        let entry = self.take(key)?;
        let items = match &entry.value.data {
            Data::Null => return None,
            Data::List(items) => items.as_slice(),
            Data::Text { .. } | Data::Map(_) => std::slice::from_ref(&entry.value),
        };
        // Check every item, so that every invalid one is reported.
        let read: Vec<Result<T, Unreadable>> =
            items.iter().map(|item| self.one_of(key, item, words)).collect();
        Some(read.into_iter().collect())
    }

    /// Reads a list of strings; a single string is split at commas.
    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        match &entry.value.data {
            Data::Null => Vec::new(),
            Data::Text { text, .. } => text
                .split(',')
                .map(|part| part.trim().to_owned())
                .filter(|part| !part.is_empty())
                .collect(),
            Data::List(items) => {
                items.iter().filter_map(|item| self.item_text(key, item)).collect()
            }
            Data::Map(_) => {
                self.wrong_type(key, &entry.value, "a list of strings");
                Vec::new()
            }
        }
    }

    /// Reads a list of tool rules. A malformed rule is kept as one that matches nothing.
    pub(super) fn tool_rules(&mut self, key: &str, node: &Node) -> AllowedTools {
        match &node.data {
            Data::Null => AllowedTools::default(),
            Data::Text { text, .. } => {
                let tools = AllowedTools::from_text(text);
                self.report_malformed(key, &tools, node);
                tools
            }
            Data::List(items) => {
                AllowedTools { rules: items.iter().map(|item| self.tool_rule(key, item)).collect() }
            }
            Data::Map(_) => {
                self.wrong_type(key, node, "a list of tools");
                AllowedTools { rules: vec![ToolRule::Malformed(String::new())] }
            }
        }
    }

    /// Reads one item of a tool list.
    fn tool_rule(&mut self, key: &str, item: &Node) -> ToolRule {
        let malformed = || ToolRule::Malformed(String::new());
        let Some(text) = self.item_text(key, item) else { return malformed() };
        let tools = AllowedTools::from_items([text.as_str()]);
        self.report_malformed(key, &tools, item);
        tools.rules.into_iter().next().unwrap_or_else(malformed)
    }

    fn report_malformed(&mut self, key: &str, tools: &AllowedTools, node: &Node) {
        for text in tools.malformed() {
            let words = || {
                let message = format!(
                    "`{text}` in `{key}` is not a tool rule; expected `Tool` or `Tool(specifier)`"
                );
                (message, Some(malformed_hint(text).to_owned()))
            };
            self.report.add_lazily(Code::ToolRuleMalformed, node.range.clone(), words);
        }
    }

    /// Reports the rules in a list that permit arbitrary code.
    pub(super) fn report_any_code(&mut self, key: &str, tools: &AllowedTools, node: &Node) {
        if !self.report.is_reported(Code::ToolRuleAnyCode) {
            return;
        }
        for (rule, why) in launcher_rules(tools).take(MAX_ANY_CODE) {
            let words = || {
                let message =
                    format!("`{rule}` in `{key}` lets the agent run arbitrary code: {why}");
                let hint = "list only the commands that the skill needs; until the skill is approved, such calls need confirmation";
                (message, Some(hint.to_owned()))
            };
            self.report.add_lazily(Code::ToolRuleAnyCode, node.range.clone(), words);
        }
    }

    pub(super) fn wrong_type(&mut self, key: &str, node: &Node, expected: &str) {
        let message = format!("`{key}` is {}; expected {expected}", node.kind());
        self.report.add(Code::WrongType, node.range.clone(), message);
    }

    /// Takes all remaining fields.
    pub(super) fn rest(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    fn item_text(&mut self, key: &str, item: &Node) -> Option<String> {
        if let Data::Text { text, .. } = &item.data {
            return Some(text.trim().to_owned());
        }
        let message = format!("an item of `{key}` is {}; expected a string", item.kind());
        self.report.add(Code::WrongType, item.range.clone(), message);
        None
    }

    fn one_of<T: Copy>(
        &mut self,
        key: &str,
        node: &Node,
        words: &[(&str, T)],
    ) -> Result<T, Unreadable> {
        let text = match &node.data {
            Data::Text { text, .. } => text.as_str(),
            Data::Null | Data::List(_) | Data::Map(_) => "",
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let message = format!("`{key}` is {}; expected {}", shown(node), known.join(", "));
        match nearest(text, words.iter().map(|(word, _)| *word)) {
            Some(word) => {
                self.report.add_with_hint(
                    Code::BadValue,
                    node.range.clone(),
                    message,
                    format!("did you mean `{word}`?"),
                );
            }
            None => self.report.add(Code::BadValue, node.range.clone(), message),
        }
        Err(Unreadable)
    }
}

fn malformed_hint(text: &str) -> &'static str {
    let (open, close) = (text.matches('(').count(), text.matches(')').count());
    match text {
        "" => "write a tool name, or remove the item",
        _ if open != close => "balance the parentheses; until then the rule matches nothing",
        _ if text.contains(" (") => {
            "remove the space before the parenthesis; until then the rule matches nothing"
        }
        _ if open == 0 => "write one rule per list item; until then it matches nothing",
        _ => {
            "write a specifier between the parentheses and nothing after them; until then the rule matches nothing"
        }
    }
}

/// Returns a short form of `node` for messages.
fn shown(node: &Node) -> String {
    match node.to_value() {
        Value::Text { text, .. } => format!("`{}`", text.chars().take(40).collect::<String>()),
        Value::Null | Value::List(_) | Value::Map(_) => node.kind().to_owned(),
    }
}
