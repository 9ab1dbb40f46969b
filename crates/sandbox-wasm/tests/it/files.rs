//! A program can read its skill, access its workspace as granted, and nothing else on the disk.

use sandbox::Writes;

use crate::guests::{World, wat};

const READ: &str = "(i64.const 2)";
const WRITE: &str = "(i64.const 64)";
/// The flag to create a file.
const CREATE: &str = "(i32.const 1)";
const NO_FLAGS: &str = "(i32.const 0)";

/// Opens files one after the other, and returns the result code of each: `00` if it was opened.
fn opened(world: &World, files: &[(u32, &str, &str, &str)]) -> Vec<String> {
    let (mut data, mut calls) = (String::new(), String::new());
    for (number, (folder, path, flags, rights)) in files.iter().enumerate() {
        let at = 1000 + 200 * number;
        data += &format!("(data (i32.const {at}) {path:?})");
        let length = path.len();
        calls += &format!(
            "(call $open (i32.const {folder}) (i32.const {at}) (i32.const {length}) {flags} {rights})"
        );
    }
    world.lines(&wat("", &format!(r#"{data} (func (export "_start") {calls})"#)))
}

#[test]
fn files_outside_cannot_be_read() {
    let world = World::new();
    // Descriptor 3 is the skill, 4 the workspace.
    let codes = opened(
        &world,
        &[
            (3, "data.txt", NO_FLAGS, READ),
            (4, "notes.txt", NO_FLAGS, READ),
            (3, "../beside/secret.txt", NO_FLAGS, READ),
            (3, "link", NO_FLAGS, READ),
            (4, "away/secret.txt", NO_FLAGS, READ),
            (4, "../beside/secret.txt", NO_FLAGS, READ),
            (4, world.root().join("beside/secret.txt").to_str().unwrap(), NO_FLAGS, READ),
            (3, "/etc/passwd", NO_FLAGS, READ),
            (0, "data.txt", NO_FLAGS, READ),
            (6, "data.txt", NO_FLAGS, READ),
        ],
    );
    assert_eq!(codes[..2], ["00", "00"]);
    assert!(codes[2..].iter().all(|code| code != "00"), "{codes:?}");
}

#[test]
fn the_skill_is_read_only_and_the_workspace_is_writable_only_if_granted() {
    let mut world = World::new();
    let tries = [
        (3, "data.txt", NO_FLAGS, WRITE),
        (3, "new.txt", CREATE, WRITE),
        (4, "notes.txt", NO_FLAGS, WRITE),
        (4, "new.txt", CREATE, WRITE),
        (4, "away/new.txt", CREATE, WRITE),
    ];
    let codes = opened(&world, &tries);
    assert!(codes[0] != "00" && codes[1] != "00" && codes[4] != "00", "{codes:?}");
    assert_eq!(codes[2..4], ["00", "00"]);
    assert!(
        !world.root().join("skill/new.txt").exists()
            && !world.root().join("beside/new.txt").exists()
    );
    assert!(world.root().join("work/new.txt").exists());
    world.spec.workspace.as_mut().unwrap().writes = Writes::Never;
    let codes =
        opened(&world, &[(4, "notes.txt", NO_FLAGS, READ), (4, "other.txt", CREATE, WRITE)]);
    assert!(codes[0] == "00" && codes[1] != "00", "{codes:?}");
    assert!(!world.root().join("work/other.txt").exists());
}

#[test]
fn entries_of_the_skill_folder_cannot_be_changed() {
    let world = World::new();
    let before = std::fs::metadata(world.root().join("skill/data.txt")).unwrap();
    let imports = r#"
      (import "wasi_snapshot_preview1" "path_unlink_file" (func $unlink (param i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "path_create_directory" (func $mkdir (param i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "path_rename" (func $rename (param i32 i32 i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "path_symlink" (func $symlink (param i32 i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "path_link" (func $link (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "path_filestat_set_times"
        (func $times (param i32 i32 i32 i32 i64 i64 i32) (result i32)))"#;
    let codes = world.lines(&wat(
        imports,
        r#"(data (i32.const 100) "data.txtother")
      (func (export "_start")
        (call $number (call $unlink (i32.const 3) (i32.const 100) (i32.const 8)))
        (call $number (call $mkdir (i32.const 3) (i32.const 108) (i32.const 5)))
        (call $number (call $rename
          (i32.const 3) (i32.const 100) (i32.const 8) (i32.const 4) (i32.const 108) (i32.const 5)))
        (call $number (call $rename
          (i32.const 3) (i32.const 100) (i32.const 8) (i32.const 3) (i32.const 108) (i32.const 5)))
        (call $number (call $symlink (i32.const 100) (i32.const 8) (i32.const 3) (i32.const 108) (i32.const 5)))
        (call $number (call $link
          (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 8) (i32.const 4) (i32.const 108) (i32.const 5)))
        (call $number (call $times
          (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 8) (i64.const 5) (i64.const 5) (i32.const 5))))"#,
    ));
    assert_eq!(codes.len(), 7);
    assert!(codes.iter().all(|code| code != "00"), "{codes:?}");
    let after = std::fs::metadata(world.root().join("skill/data.txt")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    let names: Vec<_> = std::fs::read_dir(world.root().join("work")).unwrap().collect();
    assert_eq!(names.len(), 2);
}

#[test]
fn other_readable_folders_are_granted_read_only_under_their_own_paths() {
    let mut world = World::new();
    let (folder, file) = (world.root().join("beside"), world.root().join("beside/secret.txt"));
    world.spec.read.extend([folder, file.clone()]);
    // Folders are in the order of the specification, so descriptor 4 is this one, and 5 the workspace.
    let codes = opened(
        &world,
        &[
            (4, "secret.txt", NO_FLAGS, READ),
            (4, "new.txt", CREATE, WRITE),
            (5, "notes.txt", NO_FLAGS, READ),
        ],
    );
    assert!(codes[0] == "00" && codes[1] != "00" && codes[2] == "00", "{codes:?}");
    let job = sandbox_wasm::Job::in_process(&world.spec, &world.guest()).unwrap();
    assert_eq!(job.skipped_paths(), [file]);
}

#[test]
fn layers_and_the_network_are_refused_without_the_stage() {
    let mut world = World::new();
    world.spec.workspace.as_mut().unwrap().writes = Writes::Layer;
    let error = sandbox_wasm::Job::in_process(&world.spec, &world.guest()).unwrap_err().to_string();
    assert!(error.contains("stage"), "{error}");
    world.spec.workspace = None;
    world.spec.network = sandbox::Network::Proxy;
    let error = sandbox_wasm::Job::in_process(&world.spec, &world.guest()).unwrap_err().to_string();
    assert!(error.contains("network"), "{error}");
}
