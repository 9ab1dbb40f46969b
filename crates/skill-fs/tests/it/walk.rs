use std::os::unix::fs::symlink;

use skill_fs::{FsError, Kind, WalkLimits, walk};
use testkit::TestEnv;

use crate::open;

#[test]
fn every_entry_is_listed_in_order_and_no_symlink_is_followed() {
    let env =
        TestEnv::with("//- /s/SKILL.md\nhello\n//- /s/a/b.md\n//- /s/a-b.md\n//- /s/run.sh\n");
    symlink("/etc", env.path("s/out")).unwrap();
    assert_eq!(env.run("chmod", "755 s/run.sh").code, Some(0));
    assert_eq!(env.run("mkfifo", "s/pipe").code, Some(0));
    let entries = walk(&open(&env, "s"), &WalkLimits::SKILL).unwrap();
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| match &entry.kind {
            Kind::Folder => format!("{}/", entry.path),
            Kind::File { size, executable } => {
                format!("{} {size}{}", entry.path, if *executable { " x" } else { "" })
            }
            Kind::Link(target) => format!("{} -> {target}", entry.path),
            Kind::Other(kind) => format!("{} is {kind}", entry.path),
        })
        .collect();
    assert_eq!(
        shown,
        ["SKILL.md 6", "a/", "a-b.md 0", "a/b.md 0", "out -> /etc", "pipe is a FIFO", "run.sh 0 x"]
    );
}

#[test]
fn limits_are_enforced_and_reported() {
    let env = TestEnv::with("//- /s/1/2/3/x\n//- /s/a\n//- /s/b\n");
    let root = open(&env, "s");
    let error = walk(&root, &WalkLimits { depth: 3, ..WalkLimits::SKILL }).unwrap_err().to_string();
    assert!(error.contains("3` contains more than 3 nested folder levels"), "{error}");
    let error = walk(&root, &WalkLimits { entries: 4, ..WalkLimits::SKILL }).unwrap_err();
    assert!(matches!(error, FsError::Limit { what: "entries", limit: 4, .. }));
    assert_eq!(walk(&root, &WalkLimits { depth: 4, entries: 6, bytes: 0 }).unwrap().len(), 6);
}

#[test]
fn a_file_larger_than_a_skill_may_be_is_not_read() {
    let env = TestEnv::with("//- /s/SKILL.md\nhello\n");
    std::fs::File::create(env.path("s/huge")).unwrap().set_len(100 << 30).unwrap();
    let error = walk(&open(&env, "s"), &WalkLimits::SKILL).unwrap_err();
    assert!(matches!(error, FsError::Limit { what: "bytes", .. }), "{error}");
}

#[test]
fn names_not_allowed_in_a_skill_are_refused() {
    for name in [&b"a\xffb"[..], b"a\\b", b"a\nb", b"a\x1bb"] {
        let env = TestEnv::new();
        let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
        std::fs::write(env.work().join(name), "").unwrap();
        assert!(
            matches!(walk(&open(&env, ""), &WalkLimits::SKILL), Err(FsError::BadName { .. })),
            "{name:?}"
        );
    }
}
