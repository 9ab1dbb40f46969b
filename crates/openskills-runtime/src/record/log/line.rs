//! One line of the log: written, taken apart for the chain, and read as an event.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::LogError;
use super::chain::{Chain, Hex, text};
use crate::Event;

/// What every line starts with.
const SEQ: &[u8] = b"{\"seq\":";
const PREV: &[u8] = b",\"prev\":\"";
/// What the digest of a line itself stands behind, at its end.
const MAC: &[u8] = b",\"mac\":\"";

/// What stands before the event in its line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineStart<'a> {
    pub(super) seq: u64,
    /// The digest of the line before.
    pub(super) prev: &'a Hex,
    pub(super) time: &'a str,
}

/// Writes one event as a line, without a line break.
pub(super) fn write(
    line: &mut Vec<u8>,
    chain: &Chain,
    start: LineStart<'_>,
    event: &impl Serialize,
) -> Result<(), serde_json::Error> {
    let LineStart { seq, prev, time } = start;
    let start = format!(
        "{{\"seq\":{seq},\"prev\":\"{}:{}\",\"time\":\"{time}\",",
        chain.name(),
        text(prev)
    );
    let start_of_line = line.len();
    line.extend_from_slice(start.as_bytes());
    let at = line.len();
    serde_json::to_writer(&mut *line, event)?;
    // The event is an object of its own; its opening brace goes.
    line.remove(at);
    if let Some(mac) = chain.mac(&line[start_of_line..]) {
        line.pop();
        line.extend_from_slice(MAC);
        line.extend_from_slice(&mac);
        line.extend_from_slice(b"\"}");
    }
    Ok(())
}

/// Returns true if a line is what one who has the key wrote.
pub(super) fn is_own(line: &[u8], chain: &Chain) -> bool {
    let Some(length) = line.len().checked_sub(MAC.len() + 64 + 2) else {
        return chain.mac(b"").is_none();
    };
    let (start, end) = line.split_at(length);
    // As it was before the digest was put into it.
    let whole = [start, b"}"].concat();
    chain.mac(&whole).is_none_or(|mac| {
        end.strip_prefix(MAC).and_then(|end| end.strip_suffix(b"\"}")) == Some(mac.as_slice())
    })
}

/// What the chain needs of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Linked<'a> {
    pub(super) seq: u64,
    /// `sha256:<hex>`.
    pub(super) prev: &'a str,
}

/// Takes a line apart; `None` if it is none of ours.
pub(super) fn linked(line: &[u8]) -> Option<Linked<'_>> {
    let rest = line.strip_prefix(SEQ)?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let seq = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let rest = rest[end..].strip_prefix(PREV)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    Some(Linked { seq, prev: std::str::from_utf8(&rest[..end]).ok()? })
}

/// Returns true if a line holds `link` of the one before.
pub(super) fn follows(linked: &Linked<'_>, chain: &Chain, link: &Hex) -> bool {
    linked.prev.split_once(':') == Some((chain.name(), text(link)))
}

/// A line of a log: what stands in it, and the event that it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its number; the first event of a log is 1.
    pub seq: u64,
    /// The digest of the line before.
    pub prev: String,
    /// When it was written.
    pub time: String,
    /// The event's name, such as `skill.activated`.
    #[serde(rename = "event")]
    pub name: String,
    /// Everything else of it, as it was stored: it is shown and exported so, whatever this version understands of it.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
    /// What happened. [`Event::Unknown`] where this version does not know the name, or cannot read the fields.
    #[serde(skip)]
    pub event: Event,
    /// Why the fields cannot be read, where the name is known.
    #[serde(skip)]
    pub unreadable: Option<String>,
}

impl Entry {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Self, LogError> {
        let broken = |what: String| LogError::Broken { what };
        let fields: Map<String, Value> = serde_json::from_slice(line)
            .map_err(|error| broken(format!("a line is no event: {error}")))?;
        let whole = Value::Object(fields);
        let (event, unreadable) = match Event::deserialize(&whole) {
            Ok(event) => (event, None),
            Err(error) => (Event::Unknown, Some(error.to_string())),
        };
        let Value::Object(mut fields) = whole else { return Err(broken("no object".to_owned())) };
        let seq = fields.shift_remove("seq").and_then(|seq| seq.as_u64());
        let seq = seq.ok_or_else(|| broken("a line has no `seq`".to_owned()))?;
        let mut text = |key: &str| match fields.shift_remove(key) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(broken(format!("event {seq} has no `{key}`"))),
        };
        let (prev, time, name) = (text("prev")?, text("time")?, text("event")?);
        Ok(Self { seq, prev, time, name, fields, event, unreadable })
    }

    /// Returns what to call the skill that it is about.
    pub fn skill(&self) -> Option<&str> {
        match &self.event {
            Event::Unknown => self.text("skillId").or_else(|| self.text("name")),
            event => event.skill(),
        }
    }

    /// Returns true if it is about the skill with this name or id.
    pub fn is_about(&self, skill: &str) -> bool {
        let is_it = |id: &str| id == skill || id.rsplit('/').next() == Some(skill);
        self.skill().is_some_and(is_it) || self.text("name") == Some(skill)
    }

    /// Returns the session that it happened in.
    pub fn session_id(&self) -> Option<&str> {
        match &self.event {
            Event::Unknown => self.text("sessionId"),
            event => event.session_id(),
        }
    }

    /// Returns when it was written.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.time.parse().ok()
    }

    /// Returns a field as it was stored.
    fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }
}
