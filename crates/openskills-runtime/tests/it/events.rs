//! Events are read as they are written. `fixtures/every-event.jsonl` holds each of them in every form, as logs have them on disk.

use std::collections::BTreeSet;

use openskills_runtime::log::Entry;
use openskills_runtime::{Event, EventSeverity};
use serde_json::Value;

const EVERY: &str = include_str!("../fixtures/every-event.jsonl");

fn entries() -> impl Iterator<Item = Entry> {
    EVERY.lines().map(|line| Entry::parse(line.as_bytes()).unwrap())
}

#[test]
fn the_fixture_has_a_line_for_every_event() {
    let schema = schemars::schema_for!(Event).to_value();
    let variants = schema["oneOf"].as_array().unwrap().iter();
    let names: BTreeSet<&str> =
        variants.map(|one| one["properties"]["event"]["const"].as_str().unwrap()).collect();
    let all: Vec<Entry> = entries().collect();
    let found: BTreeSet<&str> = all.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(found, names, "tests/fixtures/every-event.jsonl has a line for each event");
}

#[test]
fn events_round_trip() {
    for (entry, line) in entries().zip(EVERY.lines()) {
        assert_eq!(entry.unreadable, None, "{line}");
        let mut written = serde_json::to_value(&entry.event).unwrap();
        assert_eq!(written["event"], entry.name.as_str());
        written.as_object_mut().unwrap().shift_remove("event");
        assert_eq!(written, Value::Object(entry.fields.clone()), "{line}");
        assert_eq!(serde_json::to_string(&entry).unwrap(), line, "it is shown as it is stored");
    }
}

#[test]
fn events_contain_their_skill_and_session() {
    for entry in entries() {
        let stored = |key: &str| entry.fields.get(key).and_then(Value::as_str);
        assert_eq!(entry.event.skill_id(), stored("skillId"), "{}", entry.name);
        assert_eq!(entry.skill(), stored("skillId").or_else(|| stored("name")), "{}", entry.name);
        assert_eq!(entry.session_id(), stored("sessionId"), "{}", entry.name);
    }
}

#[test]
fn events_of_other_versions_are_kept_as_unknown() {
    let read = |fields: &str| {
        let line = format!(r#"{{"seq":1,"prev":"p","time":"t",{fields}}}"#);
        let entry = Entry::parse(line.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&entry).unwrap(), line);
        entry
    };
    let newer = read(r#""event":"skill.rated","skillId":"s/pdf","sessionId":"one","stars":5"#);
    assert_eq!((&newer.event, &newer.unreadable), (&Event::Unknown, &None));
    assert_eq!(newer.event.severity(), EventSeverity::Warning);
    assert_eq!((newer.skill(), newer.session_id()), (Some("s/pdf"), Some("one")));
    assert!(serde_json::to_value(&newer.event).is_err(), "an unknown event cannot be written");
    // A field that a later version adds takes nothing away.
    let more = read(
        r#""event":"skill.undone","skillId":"s/pdf","executionId":"x","sessionId":"one","paths":2,"new":1"#,
    );
    assert!(matches!(more.event, Event::Undone { paths: 2, .. }), "{more:?}");
    let fewer = read(r#""event":"skill.undone","skillId":"s/pdf""#);
    assert_eq!(fewer.event, Event::Unknown);
    assert_eq!(fewer.unreadable.as_deref(), Some("missing field `executionId`"));
    assert_eq!(fewer.skill(), Some("s/pdf"));
}
