//! One line of the log: written, parsed for the chain, and read as an event.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::LogError;
use super::chain::{Chain, Hex, text};
use crate::Event;

/// How every line starts.
const SEQ: &[u8] = b"{\"seq\":";
const PREV: &[u8] = b",\"prev\":\"";
/// Precedes the MAC of the line, at its end.
const MAC: &[u8] = b",\"mac\":\"";

/// The fields that precede the event in its line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineStart<'a> {
    pub(super) seq: u64,
    /// Digest of the previous line.
    pub(super) prev: &'a Hex,
    pub(super) time: &'a str,
}

/// Writes an event as a line, without a line break.
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
    // The event is serialized as an object of its own; drop its opening brace.
    line.remove(at);
    if let Some(mac) = chain.mac(&line[start_of_line..]) {
        line.pop();
        line.extend_from_slice(MAC);
        line.extend_from_slice(&mac);
        line.extend_from_slice(b"\"}");
    }
    Ok(())
}

/// Returns true if a line was written by someone who has the key.
pub(super) fn is_own(line: &[u8], chain: &Chain) -> bool {
    let Some(length) = line.len().checked_sub(MAC.len() + 64 + 2) else {
        return chain.mac(b"").is_none();
    };
    let (start, end) = line.split_at(length);
    // The line as it was before the MAC was added.
    let whole = [start, b"}"].concat();
    chain.mac(&whole).is_none_or(|mac| {
        end.strip_prefix(MAC).and_then(|end| end.strip_suffix(b"\"}")) == Some(mac.as_slice())
    })
}

/// The fields of a line that the chain needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Linked<'a> {
    pub(super) seq: u64,
    /// `sha256:<hex>`.
    pub(super) prev: &'a str,
}

/// Parses the start of a line. Returns `None` if this is not a line of a log.
pub(super) fn linked(line: &[u8]) -> Option<Linked<'_>> {
    let rest = line.strip_prefix(SEQ)?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let seq = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let rest = rest[end..].strip_prefix(PREV)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    Some(Linked { seq, prev: std::str::from_utf8(&rest[..end]).ok()? })
}

/// Returns true if a line contains `link`, the digest of the previous line.
pub(super) fn follows(linked: &Linked<'_>, chain: &Chain, link: &Hex) -> bool {
    linked.prev.split_once(':') == Some((chain.name(), text(link)))
}

/// A line of a log and the event in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Number of the event; the first event of a log is 1.
    pub seq: u64,
    /// Digest of the previous line.
    pub prev: String,
    /// When the event was written.
    pub time: String,
    /// Name of the event, such as `skill.activated`.
    #[serde(rename = "event")]
    pub name: String,
    /// All other fields, exactly as stored. They are shown and exported unchanged, whatever this version understands of
    /// them.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
    /// The parsed event. [`Event::Unknown`] if this version does not know its name or cannot read its fields.
    #[serde(skip)]
    pub event: Event,
    /// Why the fields cannot be read, if the name is known.
    #[serde(skip)]
    pub unreadable: Option<String>,
}

impl Entry {
    /// Parses a line.
    pub fn parse(line: &[u8]) -> Result<Self, LogError> {
        let broken = |what: String| LogError::Broken { what };
        let fields: Map<String, Value> = serde_json::from_slice(line)
            .map_err(|error| broken(format!("a line is not a valid event: {error}")))?;
        let whole = Value::Object(fields);
        let (event, unreadable) = match Event::deserialize(&whole) {
            Ok(event) => (event, None),
            Err(error) => (Event::Unknown, Some(error.to_string())),
        };
        let Value::Object(mut fields) = whole else {
            return Err(broken("a line is not a JSON object".to_owned()));
        };
        let seq = fields.shift_remove("seq").and_then(|seq| seq.as_u64());
        let seq = seq.ok_or_else(|| broken("a line has no `seq`".to_owned()))?;
        let mut text = |key: &str| match fields.shift_remove(key) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(broken(format!("event {seq} has no `{key}`"))),
        };
        let (prev, time, name) = (text("prev")?, text("time")?, text("event")?);
        Ok(Self { seq, prev, time, name, fields, event, unreadable })
    }

    /// Returns the present name of the event, which older versions may have written under another one.
    pub fn current_name(&self) -> &str {
        match self.name.as_str() {
            "skill.committed" => "skill.applied",
            "skill.commit_failed" => "skill.apply_failed",
            "skill.commit_interrupted" => "skill.apply_interrupted",
            name => name,
        }
    }

    /// Returns the ID or name of the skill that the event is about.
    pub fn skill(&self) -> Option<&str> {
        match &self.event {
            Event::Unknown => self.text("skillId").or_else(|| self.text("name")),
            event => event.skill(),
        }
    }

    /// Returns true if the event is about the skill with this name or ID.
    pub fn is_about(&self, skill: &str) -> bool {
        let is_it = |id: &str| id == skill || id.rsplit('/').next() == Some(skill);
        self.skill().is_some_and(is_it) || self.text("name") == Some(skill)
    }

    /// Returns the ID of the session.
    pub fn session_id(&self) -> Option<&str> {
        match &self.event {
            Event::Unknown => self.text("sessionId"),
            event => event.session_id(),
        }
    }

    /// Returns when the event was written.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.time.parse().ok()
    }

    /// Returns a text field as it is stored.
    fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_older_versions_have_their_current_name() {
        for (name, current) in [
            ("skill.committed", "skill.applied"),
            ("skill.commit_failed", "skill.apply_failed"),
            ("skill.commit_interrupted", "skill.apply_interrupted"),
            ("skill.activated", "skill.activated"),
        ] {
            let line = format!(r#"{{"seq": 1, "prev": "", "time": "", "event": "{name}"}}"#);
            assert_eq!(Entry::parse(line.as_bytes()).unwrap().current_name(), current);
        }
    }
}
