//! What a head says is under its seal, and what a folder alone cannot show is shown by checkpoints elsewhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use jiff::Timestamp;
use openskills_runtime::log::{
    CheckpointDestination, CheckpointOptions, Checkpoints, Key, Log, LogError, LogOptions,
    LogReport, Source, VerifyOptions, archive, verify, verify_against, verify_with,
};
use openskills_runtime::{ActivationFailure, Event};
use serde_json::Value;
use skill_fs::AbsPath;

use crate::World;

fn event(number: usize) -> Event {
    Event::ActivationFailed(ActivationFailure {
        name: format!("skill-{number}"),
        skill_id: None,
        session_id: "session".to_owned(),
        task_id: None,
        code: "skill-not-found".to_owned(),
        reason: String::new(),
    })
}

fn world() -> World {
    let world = World::new("//- /key\n0123456789012345678901234567890123456789\n");
    fs::set_permissions(world.path("key"), fs::Permissions::from_mode(0o600)).unwrap();
    world
}

fn key(world: &World) -> Key {
    Key::load(&AbsPath::new(world.path("key")).unwrap()).unwrap()
}

fn source(world: &World) -> Source {
    Source::Folder(world.root().join("log"))
}

fn file(world: &World) -> AbsPath {
    world.root().join("elsewhere")
}

/// A log with a key, whose checkpoints go to a file.
fn log(world: &World) -> Log {
    let destinations = vec![CheckpointDestination::File(file(world))];
    let checkpoints = CheckpointOptions { destinations, required: false };
    let options =
        LogOptions { key: Some(key(world)), checkpoints, max_bytes: 3000, ..LogOptions::default() };
    Log::new(world.root().join("log"), options)
}

fn append(world: &World, events: std::ops::Range<usize>) {
    for number in events {
        log(world).append(&[event(number)], Timestamp::UNIX_EPOCH).unwrap();
    }
}

/// Returns what is found wrong with the folder alone.
fn problems(world: &World) -> Vec<String> {
    let report = verify(&source(world), Some(&key(world))).unwrap();
    assert_eq!(report.valid, report.problems.is_empty());
    report.problems.into_iter().map(|problem| problem.message).collect()
}

/// The same, compared with the checkpoints.
fn compared(world: &World) -> Vec<String> {
    let checkpoints = Checkpoints::load(&file(world)).unwrap();
    let report = verify_against(&source(world), Some(&key(world)), Some(&checkpoints)).unwrap();
    assert_eq!(report.valid, report.problems.is_empty());
    report.problems.into_iter().map(|problem| problem.message).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn a_change_to_any_field_of_the_head_is_detected() {
    let world = world();
    append(&world, 0..2);
    archive(&log(&world), Timestamp::UNIX_EPOCH).unwrap();
    append(&world, 0..20);
    assert_eq!(problems(&world), [] as [&str; 0]);
    let path = world.path("log/head.json");
    let whole: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(whole["first"].as_u64().unwrap() > 1, "there are several files");
    assert!(whole["previous"].is_string(), "and one was archived");
    let shown = || {
        let entries = source(&world).entries(1);
        entries.map_or(0, |all| all.filter(Result::is_ok).count())
    };
    let mut fields = 0;
    for (field, value) in whole.as_object().unwrap() {
        let changed: Vec<Value> = match value {
            Value::Number(number) => {
                let number = number.as_u64().unwrap();
                vec![0.into(), 1.into(), (number - 1).into(), (number + 1).into()]
            }
            _ => vec!["".into(), "sha256".into(), "0".repeat(32).into(), "0".repeat(64).into()],
        };
        for new in changed.into_iter().filter(|new| new != value) {
            let mut head = whole.clone();
            head[field] = new.clone();
            fs::write(&path, head.to_string()).unwrap();
            let found = verify(&source(&world), Some(&key(&world)));
            assert!(!found.is_ok_and(|report| report.valid), "{field}: {new}");
            let refused = log(&world).append(&[event(1)], Timestamp::UNIX_EPOCH);
            assert!(refused.is_err(), "{field}: {new} is not added to");
            fields += 1;
        }
    }
    assert!(fields > 25);
    // An older head of the same log hides nothing from whoever reads it, either.
    fs::write(&path, whole.to_string()).unwrap();
    append(&world, 20..23);
    let count = shown();
    fs::write(&path, whole.to_string()).unwrap();
    assert_eq!(shown(), count);
}

#[test]
fn only_checkpoints_reveal_a_restored_older_log_folder() {
    let world = world();
    append(&world, 0..5);
    copy(&world.path("log"), &world.path("older"));
    append(&world, 5..9);
    assert_eq!(compared(&world), [] as [&str; 0]);
    fs::rename(world.path("log"), world.path("newer")).unwrap();
    fs::rename(world.path("older"), world.path("log")).unwrap();
    assert_eq!(problems(&world), [] as [&str; 0], "one folder alone cannot show it");
    let told = compared(&world);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("the log ends at event 6, but had 7 events at 1970-"), "{told:?}");
    // Whoever has the key and goes on from there writes other events.
    append(&world, 20..24);
    let told = compared(&world);
    assert!(
        told.iter().any(|told| told.contains("event 7 differs from the checkpoint")),
        "{told:?}"
    );
    // A log that was made anew has another id.
    fs::remove_dir_all(world.path("log")).unwrap();
    let plain = LogOptions { key: Some(key(&world)), ..LogOptions::default() };
    Log::new(world.root().join("log"), plain).append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
    let told = compared(&world);
    assert!(told[0].starts_with("no checkpoint of this log"), "{told:?}");
}

#[test]
fn an_archived_log_put_back_as_the_current_log_is_detected() {
    let world = world();
    append(&world, 0..3);
    let aside = archive(&log(&world), Timestamp::UNIX_EPOCH).unwrap().unwrap();
    append(&world, 3..5);
    assert_eq!(compared(&world), [] as [&str; 0], "the one that followed");
    let checkpoints = Checkpoints::load(&file(&world)).unwrap();
    let archived = Source::at(&aside).unwrap();
    let report = verify_against(&archived, Some(&key(&world)), Some(&checkpoints)).unwrap();
    assert!(report.valid && report.checkpoints == Some(3), "where it was put: {report:?}");
    copy(aside.as_path(), &world.path("copy"));
    fs::remove_dir_all(world.path("log")).unwrap();
    fs::rename(world.path("copy"), world.path("log")).unwrap();
    assert!(verify(&source(&world), Some(&key(&world))).unwrap().valid);
    assert!(compared(&world)[0].starts_with("this log was archived before"));
}

/// What a log is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    Checkpoints,
}

/// Looks at the log with its archives.
fn whole(world: &World, archives: &[AbsPath], with: With) -> LogReport {
    let checkpoints = Checkpoints::load(&file(world)).unwrap();
    let checkpoints = (with == With::Checkpoints).then_some(&checkpoints);
    let keys = [key(world)];
    let options = VerifyOptions { keys: &keys, checkpoints, archives, must_exist: true };
    verify_with(&source(world), &options).unwrap()
}

fn told(report: &LogReport) -> String {
    report.problems.iter().map(|one| format!("{}: {}\n", one.file, one.message)).collect()
}

#[test]
fn checkpoints_reveal_a_removed_log() {
    let world = world();
    append(&world, 0..3);
    let id = |world: &World| -> Value {
        let head = fs::read(world.path("log/head.json")).unwrap();
        serde_json::from_slice::<Value>(&head).unwrap()["id"].clone()
    };
    let first = id(&world).as_str().unwrap().to_owned();
    fs::remove_dir_all(world.path("log")).unwrap();
    for with in [With::Nothing, With::Checkpoints] {
        let report = whole(&world, &[], with);
        assert!(told(&report).contains("no log found"), "{report:?}");
    }
    append(&world, 3..4);
    assert!(whole(&world, &[], With::Nothing).valid, "one folder alone cannot show it");
    let report = whole(&world, &[], With::Checkpoints);
    assert!(
        told(&report).contains(&format!(
            "log {first} is missing: it had 4 events at its last checkpoint (1970-"
        )),
        "{report:?}"
    );
    assert_eq!(report.problems.len(), 1, "once for each log: {report:?}");
    // The same where an archive was made of what was written after it, and where the new one is copied.
    archive(&log(&world), Timestamp::UNIX_EPOCH).unwrap();
    append(&world, 4..5);
    assert!(told(&whole(&world, &[], With::Checkpoints)).contains(&first));
    copy(&world.path("log"), &world.path("copy"));
    let checkpoints = Checkpoints::load(&file(&world)).unwrap();
    let copied = Source::at(&AbsPath::new(world.path("copy")).unwrap()).unwrap();
    let report = verify_against(&copied, Some(&key(&world)), Some(&checkpoints)).unwrap();
    assert!(told(&report).contains(&first) && report.problems.len() == 1, "{report:?}");
    // Checkpoints that this key did not sign may belong to others: a syslog contains those of many logs.
    let text = fs::read_to_string(file(&world).as_path()).unwrap();
    let unsigned: String = text
        .lines()
        .map(|line| line.replace(&format!("\"log\":\"{first}\""), "\"log\":\"1\"") + "\n")
        .collect();
    fs::write(file(&world).as_path(), unsigned).unwrap();
    let report = whole(&world, &[], With::Checkpoints);
    assert!(report.valid && report.notes[0].contains("other logs (1)"), "{report:?}");
}

#[test]
fn archives_are_verified_together_with_the_log_that_follows_them() {
    let world = world();
    append(&world, 0..3);
    let oldest = archive(&log(&world), Timestamp::UNIX_EPOCH).unwrap().unwrap();
    append(&world, 3..6);
    let newer = archive(&log(&world), Timestamp::UNIX_EPOCH).unwrap().unwrap();
    append(&world, 6..8);
    let report = whole(&world, &[], With::Checkpoints);
    assert!(report.valid && report.archives == 2, "{report:?}");
    for (number, folder) in [&oldest, &newer].into_iter().enumerate() {
        let name = folder.file_name().unwrap();
        let lines = folder.join("audit-00000000000000000001.jsonl");
        let (text, head) = (
            fs::read_to_string(lines.as_path()).unwrap(),
            fs::read(folder.join("head.json").as_path()).unwrap(),
        );
        // An event is changed; the end is cut off, with its head; all of it goes.
        fs::write(lines.as_path(), text.replace("skill-not-found", "skill-was-found")).unwrap();
        for with in [With::Nothing, With::Checkpoints] {
            let report = whole(&world, &[], with);
            assert!(!report.valid && told(&report).contains(name), "{report:?}");
        }
        fs::write(lines.as_path(), &text).unwrap();
        fs::write(folder.join("head.json").as_path(), "{}").unwrap();
        assert!(
            told(&whole(&world, &[], With::Nothing))
                .contains("this is not the log that was archived")
        );
        fs::write(folder.join("head.json").as_path(), head).unwrap();
        let away = world.root().join(format!("away-{number}"));
        fs::create_dir(away.as_path()).unwrap();
        fs::rename(folder.as_path(), away.join(name).as_path()).unwrap();
        let report = whole(&world, &[], With::Nothing);
        assert!(report.valid && report.notes[0].contains(name), "{report:?}");
        assert!(told(&whole(&world, &[], With::Checkpoints)).contains("is missing"), "{number}");
        // One that was moved is named, itself or the folder that holds it.
        for place in [away.clone(), away.join(name)] {
            let report = whole(&world, &[place], With::Checkpoints);
            assert!(report.valid && report.archives == 2, "{report:?}");
        }
        fs::rename(away.join(name).as_path(), folder.as_path()).unwrap();
    }
    // Put back under another log it is still found by itself.
    let alone = Source::at(&newer).unwrap();
    let checkpoints = Checkpoints::load(&file(&world)).unwrap();
    let report = verify_against(&alone, Some(&key(&world)), Some(&checkpoints)).unwrap();
    assert!(report.valid && report.archives == 1, "{report:?}");
}

#[test]
fn only_complete_checkpoints_with_a_valid_signature_count() {
    let world = world();
    append(&world, 0..3);
    let whole = fs::read_to_string(file(&world).as_path()).unwrap();
    assert_eq!(whole.lines().count(), 3);
    let check = |text: &str, expected: &str| {
        fs::write(file(&world).as_path(), text).unwrap();
        let told = compared(&world);
        assert!(told.iter().any(|told| told.contains(expected)), "{told:?}");
    };
    let last = whole.lines().last().unwrap();
    check(&last.replace("\"events\":4", "\"events\":3"), "not signed with the key");
    check(&last.replace("\"time\":\"1970", "\"time\":\"1980"), "not signed with the key");
    check(&last[..last.len() - 10], "cannot parse this checkpoint");
    check("", "no checkpoint of this log");
    check("something else\n", "no checkpoint of this log");
    // As a syslog has them, and as a collector writes them.
    let syslog = format!("Nov 16 17:00:00 host openskills[7]: {last}\nother\n");
    let collector =
        format!("{{\"body\":{{\"stringValue\":{}}}}}\n", serde_json::to_string(last).unwrap());
    for text in [syslog, collector] {
        fs::write(file(&world).as_path(), text).unwrap();
        assert_eq!(compared(&world), [] as [&str; 0]);
    }
}

#[test]
fn an_unwritable_checkpoint_file_is_reported_and_no_event_is_lost() {
    let world = world();
    let options = |required| {
        let path = AbsPath::new(world.path("no-such-folder/file")).unwrap();
        let checkpoints =
            CheckpointOptions { destinations: vec![CheckpointDestination::File(path)], required };
        LogOptions { checkpoints, ..LogOptions::default() }
    };
    let lenient = Log::new(world.root().join("log"), options(false));
    lenient.append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
    lenient.append(&[event(2)], Timestamp::UNIX_EPOCH).unwrap();
    let kinds = |source: Source| -> Vec<String> {
        source.entries(1).unwrap().map(|entry| entry.unwrap().name).collect()
    };
    assert_eq!(
        kinds(source(&world)),
        [
            "log.started",
            "skill.activation_failed",
            "log.checkpoint_failed",
            "skill.activation_failed"
        ],
        "it is said once"
    );
    let strict = Log::new(world.root().join("log"), options(true));
    let refused = strict.append(&[event(3)], Timestamp::UNIX_EPOCH).unwrap_err();
    assert!(matches!(refused, LogError::Checkpoint { .. }), "{refused}");
    assert!(verify(&source(&world), None).unwrap().valid);
}

#[test]
fn syslog_checkpoints_have_the_configured_facility() {
    let world = world();
    let socket = world.root().join("syslog");
    let listener = UnixDatagram::bind(socket.as_path()).unwrap();
    let destinations = vec![CheckpointDestination::Syslog { socket, facility: 16 }];
    let checkpoints = CheckpointOptions { destinations, required: true };
    let options = LogOptions { checkpoints, ..LogOptions::default() };
    Log::new(world.root().join("log"), options).append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
    let mut bytes = [0; 4096];
    let read = listener.recv(&mut bytes).unwrap();
    let message = String::from_utf8_lossy(&bytes[..read]).into_owned();
    assert!(message.starts_with("<133>openskills["), "{message}");
    fs::write(file(&world).as_path(), &message).unwrap();
    let checkpoints = Checkpoints::load(&file(&world)).unwrap();
    assert!(verify_against(&source(&world), None, Some(&checkpoints)).unwrap().valid);
}

/// A log as the version before this one wrote it.
const FIRST_FORMAT: [(&str, &str); 2] = [
    (
        "audit-00000000000000000001.jsonl",
        "{\"seq\":1,\"prev\":\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\",\"time\":\"2026-01-01T00:00:00.000Z\",\"event\":\"log.started\"}\n",
    ),
    (
        "head.json",
        "{\"schema_version\":1,\"chain\":\"sha256\",\"events\":1,\"first\":1,\"size\":150,\"last\":150,\"seal\":\"SEAL\"}\n",
    ),
];

#[test]
fn a_log_in_the_first_format_is_read_verified_and_archived() {
    let world = world();
    let folder = world.path("log");
    fs::create_dir(&folder).unwrap();
    let line = FIRST_FORMAT[0].1;
    let seal =
        skill::Digest::of(format!("openskills log head\n1\n{}\n{line}", line.len()).as_bytes());
    for (name, text) in FIRST_FORMAT {
        let text = text.replace("SEAL", seal.to_string().trim_start_matches("sha256:"));
        fs::write(folder.join(name), text.replace("150", &line.len().to_string())).unwrap();
    }
    let report = verify(&source(&world), None).unwrap();
    assert!(report.valid && report.events == 1, "{report:?}");
    let log = Log::new(world.root().join("log"), LogOptions::default());
    log.append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
    let entries: Vec<_> = source(&world).entries(1).unwrap().map(|entry| entry.unwrap()).collect();
    let previous = entries[0].fields["previous"]["folder"].as_str().unwrap();
    assert_eq!(fs::read_to_string(folder.join(previous).join(FIRST_FORMAT[0].0)).unwrap(), line);
    let archived = Source::at(&AbsPath::new(folder.join(previous)).unwrap()).unwrap();
    assert!(verify(&archived, None).unwrap().valid);
    assert!(verify(&source(&world), None).unwrap().valid);
}
