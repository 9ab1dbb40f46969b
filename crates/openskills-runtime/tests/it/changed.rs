//! Skills that change between discovery and use: the change is detected, and nothing outside the skill is read.

use std::fs;

use openskills_runtime::{OpenSkillRuntime, ReadOptions};

use crate::{World, skill};

/// Discovers `s/x`, changes it, and expects every use of it to fail with the expected message.
fn check(change: impl FnOnce(&World), expected: &str) {
    let world = World::new(&[skill("s/x", "x"), skill("outside/x", "secret")].concat());
    world.add("//- /s/x/references/a.md\nInside.\n//- /outside/x/references/a.md\nSecret.\n");
    let mut runtime = world.discover_in("s");
    change(&world);
    let errors = [
        runtime.activate_skill("x").map(|loaded| loaded.content).unwrap_err(),
        runtime
            .read_resource("x", "references/a.md", &ReadOptions::default())
            .map(drop)
            .unwrap_err(),
        runtime.files("x").map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), "skill-changed", "{error}");
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("Secret") && !text.contains("secret"), "{text}");
        assert_eq!(error.hint().unwrap(), "run the command again");
    }
    rediscover(&mut runtime);
}

/// Search reads only discovered files.
#[test]
fn search_does_not_follow_symlinks() {
    let world = World::new(&[skill("s/x", "x"), skill("outside/x", "x")].concat());
    let runtime = world.discover_in("s");
    assert_eq!(runtime.search("outside").len(), 0);
    fs::remove_dir_all(world.path("s/x")).unwrap();
    world.link("../outside/x", "s/x");
    assert_eq!(runtime.search("outside").len(), 0);
}

/// After another discovery, the skills can be used again.
fn rediscover(runtime: &mut OpenSkillRuntime) {
    runtime.discover_skills().unwrap();
    if let Some(skill) = runtime.list_skills().first() {
        assert!(runtime.activate_skill(&skill.id).is_ok());
    }
}

#[test]
fn an_edit_is_detected() {
    check(
        |world| {
            let text = "---\nname: x\ndescription: other\n---\n";
            fs::write(world.path("s/x/SKILL.md"), text).unwrap();
        },
        "its SKILL.md was modified or replaced",
    );
}

#[test]
fn an_edit_that_keeps_size_and_mtime_is_detected() {
    check(
        |world| {
            let file = world.path("s/x/SKILL.md");
            let modified = fs::metadata(&file).unwrap().modified().unwrap();
            let text = fs::read_to_string(&file).unwrap().replace("Body", "Evil");
            std::thread::sleep(std::time::Duration::from_millis(30));
            fs::write(&file, text).unwrap();
            fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        },
        "its SKILL.md was modified or replaced",
    );
}

#[test]
fn a_rename_is_detected() {
    check(|world| fs::rename(world.path("s/x"), world.path("s/y")).unwrap(), "its folder is gone");
}

#[test]
fn a_deletion_is_detected() {
    check(|world| fs::remove_dir_all(world.path("s/x")).unwrap(), "its folder is gone");
    check(|world| fs::remove_file(world.path("s/x/SKILL.md")).unwrap(), "its SKILL.md is gone");
}

#[test]
fn a_symlink_replacing_the_folder_is_detected() {
    check(
        |world| {
            fs::remove_dir_all(world.path("s/x")).unwrap();
            world.link("../outside/x", "s/x");
        },
        "its folder was replaced by a symlink",
    );
}

#[test]
fn a_symlink_replacing_a_parent_folder_is_detected() {
    check(
        |world| {
            fs::rename(world.path("s"), world.path("moved")).unwrap();
            world.link("outside", "s");
        },
        "its folder was replaced by a symlink",
    );
}

#[test]
fn a_symlink_replacing_the_file_is_detected() {
    check(
        |world| {
            fs::remove_file(world.path("s/x/SKILL.md")).unwrap();
            world.link("../../outside/x/SKILL.md", "s/x/SKILL.md");
        },
        "its SKILL.md is a symlink that points outside the skill",
    );
}

#[test]
fn a_file_replacing_the_folder_is_detected() {
    check(
        |world| {
            fs::remove_dir_all(world.path("s/x")).unwrap();
            fs::write(world.path("s/x"), "").unwrap();
        },
        "its path is no longer a folder",
    );
}

#[test]
fn replacing_a_file_with_an_identical_one_is_detected() {
    check(
        |world| {
            let file = world.path("s/x/SKILL.md");
            let text = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            fs::write(&file, text).unwrap();
        },
        "its SKILL.md was modified or replaced",
    );
}
