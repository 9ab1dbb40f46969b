//! What is kept from one start to the next, and when it is believed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use openskills_runtime::{Change, Event, OpenSkillRuntime, RuntimeConfig};

use crate::{World, discover, ids, skill};

/// Returns the files of the index.
fn index_files(world: &World) -> Vec<PathBuf> {
    let folder = world.path("home/.cache/openskills/index");
    fs::read_dir(folder)
        .map(|all| all.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default()
}

/// Waits until a file is so old that every later write shows: then it is believed.
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

/// Returns what a discovery tells to be new.
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
fn what_is_known_is_believed_until_the_file_changes() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    assert_eq!(news(&world), [("personal/x".to_owned(), Change::New)]);
    assert_eq!(news(&world), [], "nothing is new the second time");
    settle(&world, "home/.claude/skills/x/SKILL.md");
    assert_eq!(news(&world), []);
    let files = index_files(&world);
    assert_eq!(files.len(), 1, "one for the one place that has skills");
    let before = fs::metadata(&files[0]).unwrap();
    world.discover();
    let after = fs::metadata(&files[0]).unwrap();
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec()),
        "nothing is written when nothing changed"
    );

    // Unreadable to a reader, but its stamp is known: the answer comes from the index.
    let text = fs::read_to_string(world.path("home/.claude/skills/x/SKILL.md")).unwrap();
    let runtime = world.discover();
    assert_eq!(runtime.skill("x").unwrap().description, "Does x in home/.claude/skills/x.");

    // An edit of the same length, its time set back to what it was: the kernel's own time tells.
    let file = world.path("home/.claude/skills/x/SKILL.md");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, text.replace("Does", "Did.")).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    let runtime = world.discover();
    assert_eq!(runtime.skill("x").unwrap().description, "Did. x in home/.claude/skills/x.");
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), modified);
}

#[test]
fn an_edit_in_the_same_second_is_seen() {
    let world = World::new("");
    let file = world.path("home/.claude/skills/x/SKILL.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    // Faster than any clock of a file system: what is so young is never believed.
    for round in 0..200 {
        let text = format!("---\nname: x\ndescription: version {round:03}\n---\nBody.\n");
        fs::write(&file, text).unwrap();
        let runtime = world.discover();
        assert_eq!(runtime.skill("x").unwrap().description, format!("version {round:03}"));
    }
}

#[test]
fn news_are_told_once() {
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
    // What went is told by whoever looks first, once.
    let path = world.path("home/.claude/skills/x").display().to_string();
    assert_eq!(gone(&world), [("personal/x".to_owned(), path)]);
    assert_eq!(news(&world), []);
    assert_eq!(ids(&world.discover()), "personal/y user\npersonal/z user\n");
    // A skill that comes back is new again.
    world.add(&skill("home/.claude/skills/x", "x"));
    assert_eq!(news(&world), [("personal/x".to_owned(), Change::New)]);
}

#[test]
fn a_long_lived_runtime_tells_what_came_changed_and_went() {
    let world = World::new(
        &[skill("home/.claude/skills/x", "x"), skill("home/.claude/skills/y", "y")].concat(),
    );
    let mut runtime =
        OpenSkillRuntime::with_config(RuntimeConfig { keep_index: false, ..world.config() });
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    runtime.on_event(move |event| ear.lock().unwrap().push(serde_json::to_value(event).unwrap()));
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
    let heard = heard.lock().unwrap();
    let told: Vec<String> = heard
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
        told,
        [
            "skill.discovered personal/x new",
            "skill.discovered personal/y new",
            "skill.discovered personal/y changed",
            "skill.discovered personal/z new",
            "skill.removed personal/x -",
        ]
    );
    assert!(index_files(&world).is_empty(), "nothing is kept if the host says so");
}

#[test]
fn damaged_and_foreign_files_are_ignored() {
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
        assert_eq!(fs::read(&file).unwrap(), whole, "it is written anew");
    }
    // What is no file is left alone.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let runtime = world.discover();
    assert!(runtime.skill("x").is_ok());
    assert!(runtime.not_kept().is_some(), "and the reason is there to be told");
    fs::remove_dir(&file).unwrap();
    world.link("/etc/passwd", "home/.cache/openskills/index/link");
    fs::rename(world.path("home/.cache/openskills/index/link"), &file).unwrap();
    assert!(world.discover().skill("x").is_ok());
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink(), "what is not ours is not replaced");
}

#[test]
fn a_folder_that_became_another_skill_is_read_again() {
    let world =
        World::new(&[skill("home/.claude/skills/x", "x"), skill("elsewhere/y", "y")].concat());
    settle(&world, "elsewhere/y/SKILL.md");
    world.discover();
    fs::remove_dir_all(world.path("home/.claude/skills/x")).unwrap();
    fs::rename(world.path("elsewhere/y"), world.path("home/.claude/skills/x")).unwrap();
    assert_eq!(ids(&world.discover()), "personal/y user\n");
}

#[test]
fn a_link_to_a_file_that_is_known_is_not_believed() {
    let world = World::new(&skill("work/.claude/skills/x", "x"));
    settle(&world, "work/.claude/skills/x/SKILL.md");
    world.discover();
    // The very file, by its stamp, but outside of the skill now.
    fs::rename(world.path("work/.claude/skills/x"), world.path("moved")).unwrap();
    world.link("../../../../moved/SKILL.md", "work/.claude/skills/x/SKILL.md");
    let runtime = world.discover();
    assert_eq!(ids(&runtime), "");
    assert!(crate::problems(&world, &runtime).contains("link-escapes"));
}

#[test]
fn a_hash_is_computed_once_and_again_after_any_change() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    world.add("//- /home/.claude/skills/x/references/a.md\nA.\n");
    settle(&world, "home/.claude/skills/x/references/a.md");
    let hash = || {
        let runtime = world.discover();
        runtime.hash(runtime.skill("x").unwrap()).unwrap()
    };
    let first = hash();
    assert_eq!(hash(), first);
    // It is the digest of an install marker.
    let root = skill_fs::Root::open(&world.root().join("home/.claude/skills/x")).unwrap();
    assert_eq!(first, skill_fs::content_digest(&root).unwrap().to_string());
    fs::write(world.path("home/.claude/skills/x/references/a.md"), "B.\n").unwrap();
    assert_ne!(hash(), first, "a change of another file counts");
    let entries = world.discover();
    let entry = &entries.index_entries(&entries.list_skills())[0];
    assert_eq!(entry.hash.as_deref(), Some(hash().as_str()));
    let json = serde_json::to_value(entry).unwrap();
    for key in ["skillId", "name", "description", "source", "path", "hash", "lastModified"] {
        assert!(json[key].is_string(), "{key}");
    }
}

#[test]
fn no_cache_folder_is_no_problem() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    let mut config = world.config();
    config.places.as_mut().unwrap().cache = None;
    assert_eq!(ids(&discover(config)), "personal/x user\n");
    // A file where the folder should be.
    fs::create_dir_all(world.path("home/.cache")).unwrap();
    fs::write(world.path("home/.cache/openskills"), "").unwrap();
    let runtime = world.discover();
    assert_eq!(ids(&runtime), "personal/x user\n");
    assert!(runtime.not_kept().is_some());
}
