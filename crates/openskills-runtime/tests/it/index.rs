//! The cached index and when it is used.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use openskills_runtime::{Change, Event, OpenSkillRuntime, RuntimeConfig};

use crate::{World, discover, ids, skill};

/// Returns the cache files of the index.
fn index_files(world: &World) -> Vec<PathBuf> {
    let folder = world.path("home/.cache/openskills/index");
    fs::read_dir(folder)
        .map(|all| all.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default()
}

/// Waits until a file is old enough that any later write changes its stamp, so that its cached record is used.
fn settle(world: &World, file: &str) {
    let changed = || {
        let metadata = fs::metadata(world.path(file)).unwrap();
        SystemTime::UNIX_EPOCH
            + Duration::new(metadata.ctime() as u64, metadata.ctime_nsec() as u32)
    };
    while SystemTime::now().duration_since(changed()).unwrap_or_default()
        < Duration::from_millis(2_050)
    {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the skills that a discovery reports as new or changed.
fn news(world: &World) -> Vec<(String, Change)> {
    let mut runtime = OpenSkillRuntime::with_config(world.config());
    let events = runtime.rediscover().unwrap();
    let news = events.into_iter().map(|event| match event {
        Event::Discovered { skill_id, change, .. } => (skill_id, change),
        other => panic!("{other:?}"),
    });
    news.collect()
}

#[test]
fn cached_records_are_used_until_the_file_changes() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    assert_eq!(news(&world), [("personal/x".to_owned(), Change::New)]);
    assert_eq!(news(&world), [], "nothing is new the second time");
    settle(&world, "home/.claude/skills/x/SKILL.md");
    assert_eq!(news(&world), []);
    let files = index_files(&world);
    assert_eq!(files.len(), 1, "one for the only root that has skills");
    let before = fs::metadata(&files[0]).unwrap();
    world.discover();
    let after = fs::metadata(&files[0]).unwrap();
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec()),
        "nothing is written if nothing changed"
    );

    // The stamp is unchanged, so the result comes from the cache.
    let text = fs::read_to_string(world.path("home/.claude/skills/x/SKILL.md")).unwrap();
    let runtime = world.discover();
    assert_eq!(runtime.skill("x").unwrap().description, "Does x in home/.claude/skills/x.");

    // An edit with the same length and a restored mtime is still detected by the ctime.
    let file = world.path("home/.claude/skills/x/SKILL.md");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, text.replace("Does", "Did.")).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    let runtime = world.discover();
    assert_eq!(runtime.skill("x").unwrap().description, "Did. x in home/.claude/skills/x.");
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), modified);
}

#[test]
fn an_edit_in_the_same_second_is_detected() {
    let world = World::new("");
    let file = world.path("home/.claude/skills/x/SKILL.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    // Faster than the timestamp resolution of file systems: records of such recent files are not used.
    for round in 0..200 {
        let text = format!("---\nname: x\ndescription: version {round:03}\n---\nBody.\n");
        fs::write(&file, text).unwrap();
        let runtime = world.discover();
        assert_eq!(runtime.skill("x").unwrap().description, format!("version {round:03}"));
    }
}

#[test]
fn changes_are_reported_once() {
    let world = World::new(
        &[skill("home/.claude/skills/x", "x"), skill("home/.claude/skills/y", "y")].concat(),
    );
    assert_eq!(news(&world).len(), 2);
    world.add(&skill("home/.claude/skills/z", "z"));
    assert_eq!(news(&world), [("personal/z".to_owned(), Change::New)]);
    fs::write(
        world.path("home/.claude/skills/y/SKILL.md"),
        "---\nname: y\ndescription: new\n---\n",
    )
    .unwrap();
    assert_eq!(news(&world), [("personal/y".to_owned(), Change::Changed)]);
    fs::remove_dir_all(world.path("home/.claude/skills/x")).unwrap();
    let gone = |world: &World| {
        let events = OpenSkillRuntime::with_config(world.config()).rediscover().unwrap();
        let gone = events.into_iter().map(|event| match event {
            Event::Removed { skill_id, path, .. } => (skill_id, path),
            other => panic!("{other:?}"),
        });
        gone.collect::<Vec<_>>()
    };
    // The first discovery afterwards reports the removal, once.
    let path = world.path("home/.claude/skills/x").display().to_string();
    assert_eq!(gone(&world), [("personal/x".to_owned(), path)]);
    assert_eq!(news(&world), []);
    assert_eq!(ids(&world.discover()), "personal/y user\npersonal/z user\n");
    // A skill that returns is new again.
    world.add(&skill("home/.claude/skills/x", "x"));
    assert_eq!(news(&world), [("personal/x".to_owned(), Change::New)]);
}

#[test]
fn a_long_lived_runtime_reports_additions_changes_and_removals() {
    let world = World::new(
        &[skill("home/.claude/skills/x", "x"), skill("home/.claude/skills/y", "y")].concat(),
    );
    let mut runtime =
        OpenSkillRuntime::with_config(RuntimeConfig { keep_index: false, ..world.config() });
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    runtime.on_event(move |event| sink.lock().unwrap().push(serde_json::to_value(event).unwrap()));
    runtime.discover_skills().unwrap();
    runtime.discover_skills().unwrap();
    world.add(&skill("home/.claude/skills/z", "z"));
    fs::write(
        world.path("home/.claude/skills/y/SKILL.md"),
        "---\nname: y\ndescription: new\n---\n",
    )
    .unwrap();
    fs::remove_dir_all(world.path("home/.claude/skills/x")).unwrap();
    runtime.discover_skills().unwrap();
    let events = events.lock().unwrap();
    let reported: Vec<String> = events
        .iter()
        .map(|event| {
            format!(
                "{} {} {}",
                event["event"].as_str().unwrap(),
                event["skillId"].as_str().unwrap(),
                event["change"].as_str().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            "skill.discovered personal/x new",
            "skill.discovered personal/y new",
            "skill.discovered personal/y changed",
            "skill.discovered personal/z new",
            "skill.removed personal/x -",
        ]
    );
    assert!(index_files(&world).is_empty(), "the host disabled the cache");
}

#[test]
fn damaged_and_foreign_cache_files_are_ignored() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    settle(&world, "home/.claude/skills/x/SKILL.md");
    world.discover();
    let file = index_files(&world).pop().unwrap();
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 0x55;
    let another = [b"openskills index 99.0.0\n".as_slice(), &whole[20..]].concat();
    for bytes in
        [&damaged, &whole[..whole.len() / 2].to_vec(), &b"not ours".to_vec(), &Vec::new(), &another]
    {
        fs::write(&file, bytes).unwrap();
        let runtime = world.discover();
        assert_eq!(runtime.skill("x").unwrap().description, "Does x in home/.claude/skills/x.");
        assert_eq!(fs::read(&file).unwrap(), whole, "it is rewritten");
    }
    // Anything other than a regular file is not replaced.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let runtime = world.discover();
    assert!(runtime.skill("x").is_ok());
    assert!(runtime.cache_error().is_some(), "the reason is available");
    fs::remove_dir(&file).unwrap();
    world.link("/etc/passwd", "home/.cache/openskills/index/link");
    fs::rename(world.path("home/.cache/openskills/index/link"), &file).unwrap();
    assert!(world.discover().skill("x").is_ok());
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink(), "foreign files are not replaced");
}

#[test]
fn a_folder_with_a_different_skill_is_read_again() {
    let world =
        World::new(&[skill("home/.claude/skills/x", "x"), skill("elsewhere/y", "y")].concat());
    settle(&world, "elsewhere/y/SKILL.md");
    world.discover();
    fs::remove_dir_all(world.path("home/.claude/skills/x")).unwrap();
    fs::rename(world.path("elsewhere/y"), world.path("home/.claude/skills/x")).unwrap();
    assert_eq!(ids(&world.discover()), "personal/y user\n");
}

#[test]
fn a_symlink_to_a_cached_file_is_not_trusted() {
    let world = World::new(&skill("work/.claude/skills/x", "x"));
    settle(&world, "work/.claude/skills/x/SKILL.md");
    world.discover();
    // The same file by its stamp, but now outside of the skill.
    fs::rename(world.path("work/.claude/skills/x"), world.path("moved")).unwrap();
    world.link("../../../../moved/SKILL.md", "work/.claude/skills/x/SKILL.md");
    let runtime = world.discover();
    assert_eq!(ids(&runtime), "");
    assert!(crate::problems(&world, &runtime).contains("link-escapes"));
}

#[test]
fn hashes_are_cached_until_something_changes() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    world.add("//- /home/.claude/skills/x/references/a.md\nA.\n");
    settle(&world, "home/.claude/skills/x/references/a.md");
    let hash = || {
        let runtime = world.discover();
        runtime.hash(runtime.skill("x").unwrap()).unwrap()
    };
    let first = hash();
    assert_eq!(hash(), first);
    // It is the same digest as in an install marker.
    let root = skill_fs::Root::open(&world.root().join("home/.claude/skills/x")).unwrap();
    assert_eq!(first, skill_fs::content_digest(&root).unwrap().to_string());
    fs::write(world.path("home/.claude/skills/x/references/a.md"), "B.\n").unwrap();
    assert_ne!(hash(), first, "changes to other files count");
    let entries = world.discover();
    let entry = &entries.index_entries(&entries.list_skills())[0];
    assert_eq!(entry.hash.as_deref(), Some(hash().as_str()));
    let json = serde_json::to_value(entry).unwrap();
    for key in ["skillId", "name", "description", "source", "path", "hash", "lastModified"] {
        assert!(json[key].is_string(), "{key}");
    }
}

#[test]
fn discovery_works_without_a_cache_folder() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    let mut config = world.config();
    config.places.as_mut().unwrap().cache = None;
    assert_eq!(ids(&discover(config)), "personal/x user\n");
    // A file in place of the folder.
    fs::create_dir_all(world.path("home/.cache")).unwrap();
    fs::write(world.path("home/.cache/openskills"), "").unwrap();
    let runtime = world.discover();
    assert_eq!(ids(&runtime), "personal/x user\n");
    assert!(runtime.cache_error().is_some());
}
