//! The audit log: nothing is lost, and nothing can be changed without showing.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use openskills_runtime::log::{
    Key, Log, LogError, LogOptions, Source, Sync, archive, stats, verify,
};
use openskills_runtime::{ActivationFailure, Event, ExecutionRecord, ExitStatus, ScriptExecution};
use skill_fs::AbsPath;
use skill_state::SkillSource;

use crate::{World, skill};

fn event(number: usize) -> Event {
    Event::ActivationFailed(ActivationFailure {
        name: format!("skill-{number}"),
        skill_id: None,
        session_id: "session".to_owned(),
        task_id: None,
        code: "skill-not-found".to_owned(),
        reason: "x".repeat(number % 50),
    })
}

fn folder(world: &World) -> AbsPath {
    world.root().join("log")
}

fn log_of(world: &World, events: usize) -> Log {
    let log = Log::new(folder(world), LogOptions::default());
    for number in 0..events {
        log.append(&[event(number)], Timestamp::UNIX_EPOCH).unwrap();
    }
    log
}

fn file(world: &World) -> PathBuf {
    world.path("log/audit-00000000000000000001.jsonl")
}

fn lines(world: &World) -> Vec<String> {
    fs::read_to_string(file(world)).unwrap().lines().map(str::to_owned).collect()
}

fn write(world: &World, lines: &[String]) {
    fs::write(file(world), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
}

/// Returns what is found wrong: the events that are named, and the messages.
fn problems(world: &World, key: Option<&Key>) -> Vec<String> {
    let report = verify(&Source::Folder(folder(world)), key).unwrap();
    assert_eq!(report.valid, report.problems.is_empty());
    report.problems.into_iter().map(|problem| problem.message).collect()
}

#[test]
fn edited_removed_moved_and_truncated_events_are_reported() {
    let world = World::new("");
    log_of(&world, 20);
    assert_eq!(problems(&world, None), [] as [&str; 0]);
    let whole = lines(&world);
    assert_eq!(whole.len(), 21, "the first event is the log's own");
    let check = |change: &dyn Fn(&mut Vec<String>), expected: &[&str]| {
        let mut lines = whole.clone();
        change(&mut lines);
        write(&world, &lines);
        assert_eq!(problems(&world, None), expected);
    };
    check(
        &|lines| lines[6] = lines[6].replace("skill-5", "skill-9"),
        &["event 7 was changed: event 8 records a different digest for it"],
    );
    check(&|lines| drop(lines.remove(6)), &["event 7 is missing"]);
    check(&|lines| drop(lines.drain(6..9)), &["events 7 to 9 are missing"]);
    check(
        &|lines| lines.swap(6, 7),
        &["event 7 is missing", "event 7 comes after event 8", "event 8 is missing"],
    );
    check(&|lines| lines.insert(8, lines[7].clone()), &["event 8 comes after event 8"]);
    check(&|lines| lines.truncate(20), &["event 21 was removed from the end"]);
    check(&|lines| lines.truncate(2), &["events 3 to 21 were removed from the end"]);
    check(
        &|lines| lines[20] = lines[20].replace("skill-19", "skill-1"),
        &["event 21 or head.json was changed"],
    );
    check(
        &|lines| lines[0] = lines[0].replace("sha256:e3", "sha256:00"),
        &["event 1 was changed", "event 1 was changed: event 2 records a different digest for it"],
    );
    check(
        &|lines| lines[3] = "{}".to_owned(),
        &["the line is not a valid event", "event 4 is missing"],
    );
    // What is broken is not added to.
    let log = Log::new(folder(&world), LogOptions::default());
    for change in
        [&(|lines: &mut Vec<String>| lines.truncate(20)) as &dyn Fn(&mut Vec<String>), &|lines| {
            lines[20] = lines[20].replace("skill-19", "skill-1");
        }]
    {
        let mut lines = whole.clone();
        change(&mut lines);
        write(&world, &lines);
        let refused = log.append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(matches!(refused, LogError::Broken { .. }), "{refused}");
    }
    write(&world, &whole);
    fs::remove_file(world.path("log/head.json")).unwrap();
    assert!(problems(&world, None)[0].contains("the file is missing"));
    assert!(log.append(&[event(1)], Timestamp::UNIX_EPOCH).is_err(), "a log without its head");
    // It can be put aside, and the next one says so.
    let aside = archive(&log, Timestamp::UNIX_EPOCH).unwrap().unwrap();
    assert!(aside.join("audit-00000000000000000001.jsonl").as_path().exists());
    log.append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(problems(&world, None), [] as [&str; 0]);
    assert!(lines(&world)[0].contains(r#""previous":{"folder":"archive-"#));
}

#[test]
fn a_rewritten_log_is_detected_only_with_a_key() {
    let world =
        World::new("//- /key\n0123456789012345678901234567890123456789\n//- /short\n0123\n");
    let path = |name: &str| AbsPath::new(world.path(name)).unwrap();
    assert!(matches!(Key::load(&path("key")), Err(LogError::Key { .. })), "others may read it");
    for name in ["key", "short"] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert!(matches!(Key::load(&path("short")), Err(LogError::Key { .. })), "too short");
    let key = Key::load(&path("key")).unwrap();
    let keyed =
        || Log::new(folder(&world), LogOptions { key: Some(key.clone()), ..LogOptions::default() });
    for number in 0..5 {
        keyed().append(&[event(number)], Timestamp::UNIX_EPOCH).unwrap();
    }
    assert_eq!(problems(&world, Some(&key)), [] as [&str; 0]);
    // Without the key nothing can be said, and nothing be added.
    assert!(!problems(&world, None).is_empty());
    let plain = Log::new(folder(&world), LogOptions::default());
    let refused = plain.append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap_err();
    assert!(matches!(refused, LogError::ChainMismatch { .. }), "{refused}");
    // A whole new log, made by one who has no key.
    fs::remove_dir_all(world.path("log")).unwrap();
    log_of(&world, 5);
    assert_eq!(problems(&world, None), [] as [&str; 0], "a plain chain cannot show it");
    assert_eq!(
        problems(&world, Some(&key)),
        ["the log is chained with sha256; it was written without a key"]
    );
    // The tail is cut, and the head is put back as far as that can be done without the key.
    fs::remove_dir_all(world.path("log")).unwrap();
    keyed().append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
    let old = fs::read_to_string(file(&world)).unwrap();
    keyed().append(&[event(2)], Timestamp::UNIX_EPOCH).unwrap();
    let all = fs::read_to_string(file(&world)).unwrap();
    let link = all[old.len()..].split("hmac-sha256:").nth(1).unwrap()[..64].to_owned();
    let head = fs::read_to_string(world.path("log/head.json")).unwrap();
    let mut head: serde_json::Value = serde_json::from_str(&head).unwrap();
    head["events"] = 2.into();
    head["size"] = old.len().into();
    head["last"] = old.lines().last().map(|line| line.len() + 1).into();
    head["seal"] = link.into();
    fs::write(world.path("log/head.json"), head.to_string()).unwrap();
    fs::write(file(&world), old).unwrap();
    assert_eq!(problems(&world, Some(&key)), ["event 2 or head.json was changed"]);
    // An empty head written without the key hides nothing.
    fs::remove_dir_all(world.path("log")).unwrap();
    for number in 0..3 {
        keyed().append(&[event(number)], Timestamp::UNIX_EPOCH).unwrap();
    }
    let whole = fs::read_to_string(file(&world)).unwrap();
    let head = fs::read(world.path("log/head.json")).unwrap();
    let empty = r#"{"schema_version":1,"chain":"hmac-sha256","events":0,"first":1,"size":0,"last":0,"seal":"x"}"#;
    fs::write(world.path("log/head.json"), empty).unwrap();
    assert_eq!(problems(&world, Some(&key)), ["head.json does not belong to this log"]);
    // An old head with a new last event: the event is held by itself.
    fs::write(world.path("log/head.json"), &head).unwrap();
    keyed().append(&[event(3)], Timestamp::UNIX_EPOCH).unwrap();
    let more = fs::read_to_string(file(&world)).unwrap();
    fs::write(world.path("log/head.json"), &head).unwrap();
    fs::write(file(&world), more.replace("skill-3", "skill-9")).unwrap();
    assert_eq!(problems(&world, Some(&key)), ["event 5 was not written with the key"]);
    assert!(keyed().append(&[event(4)], Timestamp::UNIX_EPOCH).is_err(), "it is not taken over");
    assert!(more.starts_with(&whole));
}

#[test]
fn special_files_in_place_of_a_log_neither_block_nor_are_written() {
    use std::os::unix::fs::symlink;

    let world = World::new("");
    log_of(&world, 2);
    // A copy from an untrusted source.
    for (name, make) in [
        ("head.json", "fifo"),
        ("head.json", "zero"),
        ("audit-00000000000000000001.jsonl", "fifo"),
        (".lock", "link"),
        (".lock", "fifo"),
    ] {
        let folder = world.path("strange");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for file in ["head.json", "audit-00000000000000000001.jsonl"] {
            fs::copy(world.path("log").join(file), folder.join(file)).unwrap();
        }
        let _ = fs::remove_file(folder.join(name));
        match make {
            "fifo" => {
                assert!(Command::new("mkfifo").arg(folder.join(name)).status().unwrap().success());
            }
            "zero" => symlink("/dev/zero", folder.join(name)).unwrap(),
            _ => symlink(world.path("made"), folder.join(name)).unwrap(),
        }
        let source = Source::at(&AbsPath::new(&folder).unwrap()).unwrap();
        let looked = verify(&source, None);
        assert_eq!(looked.is_ok(), name == ".lock", "{name} {make}: {looked:?}");
        assert!(!world.path("made").exists(), "nothing is written through a link");
    }
    // Whatever blocks the log can be archived.
    for rubbish in [&b"\xff\xfe\x00"[..], b"", b"{}"] {
        let log = log_of(&world, 1);
        fs::write(world.path("log/head.json"), rubbish).unwrap();
        assert!(log.append(&[event(1)], Timestamp::UNIX_EPOCH).is_err());
        archive(&log, Timestamp::UNIX_EPOCH).unwrap().unwrap();
        log.append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(problems(&world, None), [] as [&str; 0]);
    }
    fs::write(world.path("log/audit-1.jsonl"), "").unwrap();
    let log = Log::new(folder(&world), LogOptions::default());
    archive(&log, Timestamp::UNIX_EPOCH).unwrap().unwrap();
    assert_eq!(
        problems(&world, None),
        [] as [&str; 0],
        "a file with another name is not part of the log"
    );
    // A reader that follows sees the next log.
    let source = Source::Folder(folder(&world));
    let mut entries = source.entries(1).unwrap();
    assert_eq!(entries.by_ref().count(), 1);
    log.append(&[event(1), event(2)], Timestamp::UNIX_EPOCH).unwrap();
    entries.more().unwrap();
    assert_eq!(entries.by_ref().count(), 2);
    archive(&log, Timestamp::UNIX_EPOCH).unwrap().unwrap();
    entries.more().unwrap();
    assert_eq!(entries.by_ref().count(), 1, "the first event of the new one");
}

#[test]
fn an_incomplete_line_is_dropped_and_recorded() {
    let world = World::new("");
    let log = log_of(&world, 3);
    let whole = fs::read(file(&world)).unwrap();
    let mut torn = fs::OpenOptions::new().append(true).open(file(&world)).unwrap();
    torn.write_all(b"{\"seq\":5,\"prev\":\"sha256:00").unwrap();
    assert_eq!(problems(&world, None), [] as [&str; 0], "what was written is whole");
    log.append(&[event(3)], Timestamp::UNIX_EPOCH).unwrap();
    let lines = lines(&world);
    assert_eq!(lines.len(), 6);
    assert!(
        lines[4].contains(r#""event":"log.recovered","bytes":26,"text":"{\"seq\":5"#),
        "{}",
        lines[4]
    );
    assert_eq!(problems(&world, None), [] as [&str; 0]);
    // A process that was killed between its event and the head: the event counts.
    let head = fs::read(world.path("log/head.json")).unwrap();
    log.append(&[event(4)], Timestamp::UNIX_EPOCH).unwrap();
    fs::write(world.path("log/head.json"), head).unwrap();
    log.append(&[event(5)], Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(problems(&world, None), [] as [&str; 0]);
    assert_eq!(self::lines(&world).len(), 8);
    // Something else after the end is not taken for an event.
    torn.write_all(b"{\"seq\":9,\"prev\":\"sha256:00\"}\n").unwrap();
    assert!(matches!(log.append(&[event(6)], Timestamp::UNIX_EPOCH), Err(LogError::Broken { .. })));
    assert!(whole.len() > 100);
}

#[test]
fn rotation_keeps_the_chain() {
    let world = World::new("");
    let options = || LogOptions { max_bytes: 2000, sync: Sync::Always, ..LogOptions::default() };
    for number in 0..50 {
        Log::new(folder(&world), options())
            .append(&[event(number)], Timestamp::UNIX_EPOCH)
            .unwrap();
    }
    let files = || -> Vec<String> {
        let names = fs::read_dir(world.path("log")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("audit-")).collect();
        names.sort();
        names
    };
    assert!(files().len() > 3);
    let report = verify(&Source::Folder(folder(&world)), None).unwrap();
    assert!(report.valid && report.events == 51 && report.files == files().len());
    let source = Source::Folder(folder(&world));
    let seen: Vec<u64> = source.entries(40).unwrap().map(|entry| entry.unwrap().seq).collect();
    assert_eq!(seen, (40..=51).collect::<Vec<u64>>());
    let mut last = source.last_entries(2).unwrap();
    assert_eq!(last.by_ref().map(|entry| entry.unwrap().seq).collect::<Vec<_>>(), [50, 51]);
    for number in 0..20 {
        Log::new(folder(&world), options())
            .append(&[event(number)], Timestamp::UNIX_EPOCH)
            .unwrap();
    }
    last.more().unwrap();
    let more: Vec<u64> = last.by_ref().map(|entry| entry.unwrap().seq).collect();
    assert_eq!(more, (52..=71).collect::<Vec<u64>>(), "what came meanwhile, over a rotation");
    // A process that was killed while it began a file: the next one goes on there, or begins it again.
    let names = files();
    let head = fs::read(world.path("log/head.json")).unwrap();
    let next = world.path("log/audit-00000000000000000072.jsonl");
    fs::write(&next, b"{\"seq\":72,").unwrap();
    Log::new(folder(&world), options()).append(&[event(1)], Timestamp::UNIX_EPOCH).unwrap();
    assert!(verify(&source, None).unwrap().valid);
    assert!(fs::read(world.path("log/head.json")).unwrap() != head);
    // A file in the middle is missed.
    fs::remove_file(world.path("log").join(&names[1])).unwrap();
    assert!(problems(&world, None)[0].contains("are missing"));
    fs::remove_file(world.path("log").join(&names[0])).unwrap();
    assert!(problems(&world, None)[0].starts_with("events 1 to "), "so is the first");
}

#[test]
fn a_full_disk_loses_no_event_and_stops_the_call() {
    let world = World::new("");
    log_of(&world, 2);
    let before = (fs::read(file(&world)).unwrap(), fs::read(world.path("log/head.json")).unwrap());
    // The kernel lets files of this child grow no further: the line is written in part, as on a full disk.
    let out = Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" log::append_in_another_process --exact --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env("APPEND_TO", folder(&world).as_str())
        .env("APPEND_COUNT", "10")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stdout);
    assert!(!out.status.success() && told.contains("cannot use the log"), "{told}");
    let now = fs::read(file(&world)).unwrap();
    assert!(now.starts_with(&before.0) && now.ends_with(b"\n"), "only whole lines");
    assert_eq!(problems(&world, None), [] as [&str; 0]);
}

/// Not a test of its own: what another process does.
#[test]
fn append_in_another_process() {
    let (Ok(folder), Ok(count)) = (std::env::var("APPEND_TO"), std::env::var("APPEND_COUNT"))
    else {
        return;
    };
    let log = Log::new(
        AbsPath::new(folder).unwrap(),
        LogOptions { max_bytes: 4 << 20, ..LogOptions::default() },
    );
    for number in 0..count.parse().unwrap() {
        let mut event = event(number);
        if let Event::ActivationFailed(failure) = &mut event {
            failure.session_id = std::process::id().to_string();
        }
        if let Err(error) = log.append(&[event], Timestamp::UNIX_EPOCH) {
            println!("{error}");
            std::process::exit(9);
        }
    }
}

#[test]
fn sixteen_processes_append_and_every_event_is_recorded_once() {
    const PROCESSES: usize = 16;
    const EVENTS: usize = 10_000;
    let world = World::new("");
    let children: Vec<_> = (0..PROCESSES)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["log::append_in_another_process", "--exact"])
                .env("APPEND_TO", folder(&world).as_str())
                .env("APPEND_COUNT", EVENTS.to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let ids: Vec<String> = children.iter().map(|child| child.id().to_string()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let source = Source::Folder(folder(&world));
    let report = verify(&source, None).unwrap();
    assert_eq!(report.problems, []);
    assert_eq!(report.events, (PROCESSES * EVENTS) as u64 + 1);
    assert!(report.files > 1, "it was rotated under way");
    let mut next = vec![0; PROCESSES];
    for entry in source.entries(2).unwrap() {
        let entry = entry.unwrap();
        let who = ids.iter().position(|id| entry.session_id() == Some(id)).unwrap();
        assert_eq!(entry.skill(), Some(format!("skill-{}", next[who]).as_str()));
        next[who] += 1;
    }
    assert_eq!(next, vec![EVENTS; PROCESSES]);
}

#[test]
fn every_action_is_logged_before_the_call_returns() {
    let world = World::new(&skill("home/.claude/skills/pdf", "pdf"));
    world.add("//- /home/.claude/skills/pdf/notes.md\nx\n");
    let mut runtime = world.discover();
    runtime.activate_skill("pdf").unwrap();
    runtime.activate_skill("ghp_0123456789abcdefghijABCDEFGHIJ").unwrap_err();
    runtime.read_resource("pdf", "notes.md", &openskills_runtime::ReadOptions::default()).unwrap();
    let log = world.root().join("home/.local/state/openskills/log");
    let source = Source::Folder(log.clone());
    let seen: Vec<String> = source.entries(1).unwrap().map(|entry| entry.unwrap().name).collect();
    assert_eq!(
        seen,
        [
            "log.started",
            "skill.discovered",
            "skill.activated",
            "skill.activation_failed",
            "skill.resource_read"
        ]
    );
    let text = fs::read_to_string(log.join("audit-00000000000000000001.jsonl").as_path()).unwrap();
    assert!(!text.contains("ghp_0123456789") && text.contains("[redacted]"), "{text}");
    let stats = stats(source.entries(1).unwrap()).unwrap();
    let pdf = &stats.skills["personal/pdf"];
    assert_eq!((pdf.activations, pdf.resource_reads, pdf.activation_failures), (1, 1, 0));
    assert_eq!(stats.skills["[redacted]"].activation_failures, 1);
    // A second look finds nothing new, and writes nothing.
    let size = text.len();
    world.discover();
    assert_eq!(
        fs::read_to_string(log.join("audit-00000000000000000001.jsonl").as_path()).unwrap().len(),
        size
    );
    // A log that cannot be written stops what it would be about.
    fs::write(log.join("head.json").as_path(), "not JSON").unwrap();
    let mut runtime = world.discover();
    for refused in [
        runtime.activate_skill("pdf").map(|_| ()).unwrap_err(),
        runtime
            .read_resource("pdf", "notes.md", &openskills_runtime::ReadOptions::default())
            .map(|_| ())
            .unwrap_err(),
        runtime
            .check_tool(
                &openskills_runtime::ToolContext {
                    skill: Some("pdf".to_owned()),
                    ..Default::default()
                },
                "Bash",
                &serde_json::json!({ "command": "ls" }),
            )
            .map(|_| ())
            .unwrap_err(),
    ] {
        assert_eq!(refused.code(), "log", "{refused}");
    }
}

#[test]
fn replay_reports_skills_as_same_drifted_or_gone() {
    use openskills_runtime::ReplayStatus;

    let world = World::new(&skill("home/.claude/skills/same", "same"));
    world.add(&skill("home/.claude/skills/drifts", "drifts"));
    world.add(&skill("home/.claude/skills/goes", "goes"));
    world.add(&skill("home/.claude/skills/breaks", "breaks"));
    let mut runtime = world.discover();
    for name in ["same", "drifts", "goes", "breaks"] {
        runtime.activate_skill(name).unwrap();
    }
    let plan = runtime
        .plan_run("same", None, openskills_runtime::permit::RequestedAccess::default())
        .unwrap();
    let log = world.root().join("home/.local/state/openskills/log");
    let record = ExecutionRecord {
        skill_id: "personal/same".to_owned(),
        version: String::new(),
        input_hash: String::new(),
        output_hash: String::new(),
        start_time_ms: 0,
        duration_ms: 1,
        arguments: Vec::new(),
        permissions_granted: Vec::new(),
        permissions_denied: Vec::new(),
        allow_degraded: Vec::new(),
        exit_status: ExitStatus::Timeout,
        stdout: String::new(),
        stderr: String::new(),
    };
    let executed = ScriptExecution {
        execution_id: "0".repeat(32),
        ended: openskills_runtime::ExecutionEnd::Timeout,
        may_have_written: false,
        skill_id: "personal/same".to_owned(),
        source: SkillSource::User,
        session_id: "s".to_owned(),
        task_id: None,
        script: "a.py".to_owned(),
        hash: plan.subject.content.to_string(),
        bundle_sha256: plan.subject.bundle.to_string(),
        enforced: Vec::new(),
        violations: Vec::new(),
        reached: Vec::new(),
        changes: Vec::new(),
        change_count: 0,
        writes: openskills_runtime::WriteMode::Dropped,
        wasm: None,
        record,
    };
    let event = Event::ScriptExecuted(Box::new(executed));
    Log::new(log.clone(), LogOptions::default()).append(&[event], Timestamp::UNIX_EPOCH).unwrap();
    world.add("//- /home/.claude/skills/drifts/more.md\nx\n");
    fs::remove_dir_all(world.path("home/.claude/skills/goes")).unwrap();
    fs::write(world.path("home/.claude/skills/breaks/SKILL.md"), "no frontmatter").unwrap();
    let runtime = world.discover();
    let source = Source::Folder(log.clone());
    let replayed = runtime.replay(&source, None).unwrap();
    let statuses: Vec<(&str, ReplayStatus)> =
        replayed.iter().map(|event| (event.skill_id.as_str(), event.status)).collect();
    assert_eq!(
        statuses,
        [
            ("personal/same", ReplayStatus::Same),
            ("personal/drifts", ReplayStatus::Drifted),
            ("personal/goes", ReplayStatus::Gone),
            ("personal/breaks", ReplayStatus::Drifted),
            ("personal/same", ReplayStatus::Same),
        ]
    );
    assert_eq!(runtime.replay(&source, None).unwrap(), replayed, "and again the same");
    assert_eq!(
        stats(source.entries(1).unwrap()).unwrap().skills["personal/same"].script_failures,
        1
    );
    // A script alone makes another version.
    world.add("//- /home/.claude/skills/same/scripts/new.py\nx\n");
    let fates = world.discover().replay(&source, None).unwrap();
    assert!(
        fates
            .iter()
            .filter(|event| event.skill_id == "personal/same")
            .all(|event| event.status == ReplayStatus::Drifted)
    );
    // A log that was changed is not replayed.
    let file = log.join("audit-00000000000000000001.jsonl");
    let text = fs::read_to_string(file.as_path()).unwrap();
    fs::write(file.as_path(), text.replace("personal/goes", "personal/same")).unwrap();
    assert_eq!(world.discover().replay(&source, None).unwrap_err().code(), "log");
}
