//! Reading files of a skill, and everything that must be refused.

use std::fs;
use std::os::unix::net::UnixListener;

use openskills_runtime::{Depth, Invoker, MAX_RESOURCE_BYTES, ReadOptions};

use crate::{World, skill};

const NESTED: ReadOptions =
    ReadOptions { depth: Depth::Nested, max_bytes: MAX_RESOURCE_BYTES, invoker: Invoker::Model };

#[test]
fn files_are_read_and_each_read_is_an_event() {
    let world = World::new(&skill("s/x", "x"));
    world.add("//- /s/x/references/a.md\nA.\n//- /s/x/b.md\nB.\n");
    world.link("references/a.md", "s/x/inside.md");
    let mut runtime = world.discover_in("s");
    for (path, text) in [("references/a.md", "A.\n"), ("./b.md", "B.\n"), ("inside.md", "A.\n")] {
        let (resource, event) = runtime.read_resource("x", path, &ReadOptions::default()).unwrap();
        assert_eq!(resource.text(), Some(text), "{path}");
        let event = serde_json::to_value(openskills_runtime::Event::ResourceRead(event)).unwrap();
        assert_eq!(event["event"], "skill.resource_read");
        assert_eq!((event["skillId"].as_str(), event["size"].as_u64()), (Some("s/x"), Some(3)));
        assert_eq!(event["sha256"], skill::Digest::of(text.as_bytes()).to_string());
    }
    fs::write(world.path("s/x/image.png"), b"\x89PNG\0\xff").unwrap();
    let (resource, _) = runtime.read_resource("x", "image.png", &ReadOptions::default()).unwrap();
    assert_eq!(resource.text(), None, "it is not text");
    let paths: Vec<String> =
        runtime.files("x").unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(paths, ["SKILL.md", "b.md", "image.png", "inside.md", "references/a.md"]);
}

#[test]
fn invalid_resource_paths_are_refused() {
    let world = World::new(&skill("s/x", "x"));
    world.add("//- /secret\nSecret.\n//- /s/x/a/b/deep.md\nDeep.\n//- /s/x/a/b/c/deeper.md\nD.\n");
    world.link("/etc/passwd", "s/x/passwd");
    world.link("../../secret", "s/x/secret");
    world.link("../..", "s/x/up");
    world.link("loop", "s/x/loop");
    world.link("/proc/self", "s/x/proc");
    let fifo = world.path("s/x/fifo");
    assert_eq!(world.env.run_args("mkfifo", &[fifo.to_str().unwrap()]).code, Some(0));
    let _socket = UnixListener::bind(world.path("s/x/socket")).unwrap();
    fs::File::create(world.path("s/x/large")).unwrap().set_len(MAX_RESOURCE_BYTES + 1).unwrap();
    let mut runtime = world.discover_in("s");
    for (path, code, message) in [
        ("../../secret", "permission-denied", "contains `..`"),
        ("a/../../../secret", "permission-denied", "contains `..`"),
        ("/etc/passwd", "permission-denied", "cannot read `/etc/passwd` in `s/x`"),
        ("passwd", "permission-denied", "a symlink that points outside the skill"),
        ("secret", "permission-denied", "a symlink that points outside the skill"),
        ("up/secret", "permission-denied", "a symlink that points outside the skill"),
        ("loop", "permission-denied", "a symlink that points outside the skill"),
        ("proc/environ", "permission-denied", "a symlink that points outside the skill"),
        ("fifo", "permission-denied", "a FIFO, socket or device"),
        ("socket", "permission-denied", "a socket"),
        ("a", "permission-denied", "it is a folder"),
        ("large", "permission-denied", "(limit: 8 MiB)"),
        ("a\\..\\b", "permission-denied", "cannot read"),
        ("a\0b", "permission-denied", "cannot read"),
        ("", "permission-denied", "cannot read"),
        ("none.md", "resource-not-found", "has no file `none.md`"),
        ("SKILL.md/x", "resource-not-found", "has no file"),
    ] {
        let error = runtime.read_resource("x", path, &NESTED).map(drop).unwrap_err();
        assert_eq!(error.code(), code, "{path}: {error}");
        assert!(error.to_string().contains(message), "{path}: {error}");
        assert!(!error.to_string().contains("Secret"), "{path}");
    }
    let error = runtime.read_resource("x", "a/b/deep.md", &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("more than one folder deep"), "{error}");
    assert!(error.hint().unwrap().contains("--nested"));
    let (resource, _) = runtime.read_resource("x", "a/b/c/deeper.md", &NESTED).unwrap();
    assert_eq!(resource.text(), Some("D.\n"));
    let error = runtime.read_resource("x", "deep.md", &NESTED).unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean `a/b/deep.md`?");
}
