//! Takes secrets out of text before it is written.
//!
//! First by value: whatever a run was given by name (variables, secrets) is known exactly, also in the encodings that programs
//! print it in. Then by sign: tokens of well-known services, private keys, credentials in an address, and what stands behind a
//! name such as `PASSWORD=`, `--token` or `mysql -p`. What has neither cannot be known; the log is the user's alone for that
//! reason. Rather too much is taken out than too little. Text is cut after this, never before.

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

/// What stands for a secret.
pub const REDACTED: &str = "[redacted]";

/// How often a text is looked at: what is taken out may bring a name and a value together.
const MAX_PASSES: usize = 4;

/// Places of secrets in a text.
type Ranges = Vec<(usize, usize)>;

/// Takes secrets out of text: those that it was told of, and those that show themselves.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    values: Values,
}

impl Redactor {
    /// Returns one that knows these values. Of a short one only whole words are taken out, of a very short one nothing.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self { values: Values::new(values) }
    }

    /// Returns `text` without secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.until_clean(text, |text, ranges| {
            self.values.find(text, ranges);
            by_sign(text, ranges);
        })
    }

    /// Returns a name without secrets that somebody else has cut: the beginning of a value at its end is one.
    pub(crate) fn redact_cut(&self, name: &str) -> String {
        let mut ranges = Vec::new();
        self.values.find_cut(name, &mut ranges);
        self.redact(&without(name, ranges)).into_owned()
    }

    /// Returns what was kept of so many bytes, without what may be half a secret where they were cut.
    pub(crate) fn whole<'b>(&self, kept: &'b [u8], total: u64) -> &'b [u8] {
        let dropped = if total > kept.len() as u64 { self.values.reach() } else { 0 };
        &kept[..kept.len().saturating_sub(dropped)]
    }

    /// Returns `text` without the values that it was told of.
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
        // Text that goes on changing was made for that.
        Cow::Borrowed(REDACTED)
    }

    /// Takes secrets out of every text in a value, and out of its keys.
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

    /// Returns the arguments of a program without secrets. An option may say that what follows it is one.
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

/// Finds secrets that show themselves, also with colors and letters without width in between.
fn by_sign(text: &str, ranges: &mut Ranges) {
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
    if let Some(seen) = stream::seen(text) {
        let mut found = Vec::new();
        find(seen.text().expect("letters alone were left out"), &mut found);
        found.retain(|(start, end)| start < end);
        ranges.extend(found.into_iter().map(|(start, end)| seen.place(start, end)));
    }
}

/// Takes secrets out of every text in a value, by their signs alone.
pub(crate) fn redact_all(value: &mut Value) {
    Redactor::default().redact_all(value);
}

/// Returns `text` without the secrets that show themselves.
pub fn redact(text: &str) -> Cow<'_, str> {
    Redactor::default().redact(text)
}

/// Returns a text without what is in `ranges`. Secrets that touch or overlap are one.
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
