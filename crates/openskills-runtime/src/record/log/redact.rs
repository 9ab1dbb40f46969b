//! Redacts secrets in text before it is written.
//!
//! First by value: the variables and secrets that a run was given are known exactly, and are found in the usual
//! encodings too. Then by appearance: tokens of well-known services, private keys, credentials in URLs, and what
//! follows a name such as `PASSWORD=`, `--token` or `mysql -p`. Anything else cannot be recognized, which is why only
//! the user can read the log. When in doubt, text is redacted. Text is truncated after this, never before.

mod forms;
mod names;
mod options;
mod packed;
mod stream;
mod values;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(crate) use names::is_secret_name;
use values::Values;

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// How many passes to make: removing something may bring a name and a value together.
const MAX_PASSES: usize = 4;

/// Byte ranges of secrets in a text.
type Ranges = Vec<(usize, usize)>;

/// Redacts secrets in text: given values, and secrets that are recognizable as such.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    values: Values,
}

impl Redactor {
    /// Creates a redactor for these values. Short values are only redacted as whole words, and very short ones not at
    /// all.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self { values: Values::new(values) }
    }

    /// Returns `text` with secrets redacted.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.until_clean(text, |text, ranges| {
            self.values.find(text, ranges);
            by_appearance(text, ranges);
        })
    }

    /// Redacts a name that someone else has truncated: the start of a value at its end counts as a secret.
    pub(crate) fn redact_truncated(&self, name: &str) -> String {
        let mut ranges = Vec::new();
        self.values.find_truncated(name, &mut ranges);
        self.redact(&without(name, ranges)).into_owned()
    }

    /// Returns what was kept of `total` bytes, without what may be part of a secret at the point of truncation.
    pub(crate) fn whole<'b>(&self, kept: &'b [u8], total: u64) -> &'b [u8] {
        let dropped = if total > kept.len() as u64 { self.values.reach() } else { 0 };
        &kept[..kept.len().saturating_sub(dropped)]
    }

    /// Returns `text` with only the given values redacted.
    pub fn redact_values<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.until_clean(text, |text, ranges| self.values.find(text, ranges))
    }

    fn until_clean<'t>(&self, text: &'t str, find: impl Fn(&str, &mut Ranges)) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for _ in 0..MAX_PASSES {
            let mut ranges = Vec::new();
            find(&clean, &mut ranges);
            if ranges.is_empty() {
                return clean;
            }
            let next = without(&clean, ranges);
            if next == *clean {
                return clean;
            }
            clean = Cow::Owned(next);
        }
        // Text that keeps changing was crafted to do so.
        Cow::Borrowed(REDACTED)
    }

    /// Redacts secrets in every string of a value, and in its keys.
    pub fn redact_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redact(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_all(item)),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(_, value)| self.redact_all(value));
                if fields.keys().any(|key| self.redact(key) != key.as_str()) {
                    let fresh = std::mem::take(fields).into_iter();
                    let fresh = fresh.map(|(key, value)| (self.redact(&key).into_owned(), value));
                    *fields = fresh.collect::<Map<String, Value>>();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the arguments of a program with secrets redacted. An option may mark the next argument as a secret.
    pub fn redact_arguments(&self, arguments: &[String]) -> Vec<String> {
        let mut clean: Vec<String> = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            let alone = self.redact(argument).into_owned();
            let before = at.checked_sub(1).map(|before| &arguments[before]);
            let is_named = before.filter(|before| before.starts_with('-')).is_some_and(|before| {
                !self.redact(&format!("{before} {argument}")).ends_with(alone.as_str())
            });
            clean.push(if is_named { REDACTED.to_owned() } else { alone });
        }
        clean
    }
}

/// Finds secrets by their appearance, even with color codes and zero-width characters in between.
fn by_appearance(text: &str, ranges: &mut Ranges) {
    let find = |text: &str, ranges: &mut Ranges| {
        forms::private_keys(text, ranges);
        forms::addresses(text, ranges);
        forms::logins(text, ranges);
        forms::bots(text, ranges);
        forms::tokens(text, ranges);
        names::named(text, ranges);
        options::options(text, ranges);
    };
    find(text, ranges);
    if let Some(visible) = stream::visible(text) {
        let mut found = Vec::new();
        find(visible.text().expect("only whole characters were removed"), &mut found);
        found.retain(|(start, end)| start < end);
        ranges.extend(found.into_iter().map(|(start, end)| visible.source_range(start, end)));
    }
}

/// Redacts secrets in every string of a value, by their appearance alone.
pub(crate) fn redact_all(value: &mut Value) {
    Redactor::default().redact_all(value);
}

/// Returns `text` with secrets redacted that are recognizable by their appearance.
pub fn redact(text: &str) -> Cow<'_, str> {
    Redactor::default().redact(text)
}

/// Returns a text with `ranges` redacted. Adjacent and overlapping ranges are merged.
fn without(text: &str, mut ranges: Ranges) -> String {
    ranges.retain(|(start, end)| start < end);
    ranges.sort_unstable();
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    let mut is_in = false;
    for (start, end) in ranges {
        if start > at || !is_in {
            clean.push_str(&text[at..start]);
            clean.push_str(REDACTED);
            is_in = true;
        }
        at = at.max(end);
    }
    clean.push_str(&text[at..]);
    clean
}

#[cfg(test)]
mod tests;
