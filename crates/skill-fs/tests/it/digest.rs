use std::os::unix::fs::symlink;

use skill::Digest;
use skill_fs::{FsError, Root, WalkLimits, content_digest, digests, walk};
use testkit::TestEnv;

use crate::open;

fn bundle_digest(root: &Root) -> Result<Digest, FsError> {
    digests(root, &walk(root, &WalkLimits::SKILL)?).map(|digests| digests.bundle)
}

const TREE: &str = "\
//- /s/SKILL.md
hello
//- /s/.csk-install.json
{}
";

fn tree() -> TestEnv {
    let env = TestEnv::with(TREE);
    env.write("s/references/b.md", b"B");
    env.write("s/references/sub/a.md", b"");
    env
}

#[test]
fn the_content_digest_equals_one_computed_by_hand() {
    // printf 'SKILL.md\0hello\n\0references/b.md\0B\0references/sub/a.md\0' | sha256sum
    let golden = "sha256:e99f5f43462d6b5b67b0343e9991e59a7f9d6eb551ca519c046efbcdaa63c3a3";
    assert_eq!(content_digest(&open(&tree(), "s")).unwrap().to_string(), golden);
}

#[test]
fn the_content_digest_covers_what_the_reference_algorithm_covers() {
    let env = tree();
    let digest = || content_digest(&open(&env, "s")).unwrap();
    let before = digest();
    env.write("s/.csk-install.json", b"other");
    assert_eq!(digest(), before, "the marker is not covered");
    assert_eq!(env.run("chmod", "755 s/references/b.md").code, Some(0));
    assert_eq!(digest(), before, "modes are not covered");
    env.write("s/references/.csk-install.json", b"");
    assert_ne!(digest(), before, "only the marker at the root is excluded");
}

#[test]
fn a_symlink_inside_counts_as_its_file_and_one_leading_out_is_refused() {
    let env = tree();
    symlink("b.md", env.path("s/references/c.md")).unwrap();
    let linked = content_digest(&open(&env, "s")).unwrap();
    std::fs::remove_file(env.path("s/references/c.md")).unwrap();
    env.write("s/references/c.md", b"B");
    assert_eq!(content_digest(&open(&env, "s")).unwrap(), linked);
    symlink("/etc/hostname", env.path("s/out")).unwrap();
    assert!(matches!(content_digest(&open(&env, "s")), Err(FsError::Escapes { .. })));
}

#[test]
fn the_bundle_digest_covers_everything_but_the_marker() {
    let env = tree();
    let digest = || bundle_digest(&open(&env, "s")).unwrap();
    let mut seen = vec![digest()];
    env.write("s/.csk-install.json", b"other");
    assert_eq!(digest(), seen[0], "the marker is not covered");
    env.write("s/references/b.md", b"b");
    seen.push(digest());
    assert_eq!(env.run("chmod", "755 s/references/b.md").code, Some(0));
    seen.push(digest());
    symlink("b.md", env.path("s/references/c.md")).unwrap();
    seen.push(digest());
    std::fs::remove_file(env.path("s/references/c.md")).unwrap();
    symlink("sub/a.md", env.path("s/references/c.md")).unwrap();
    seen.push(digest());
    env.write("s/references/.csk-install.json", b"");
    seen.push(digest());
    for (index, digest) in seen.iter().enumerate() {
        assert!(!seen[index + 1..].contains(digest), "change {index} was not detected");
    }
}

#[test]
fn digests_do_not_block_on_a_fifo() {
    let env = tree();
    assert_eq!(env.run("mkfifo", "s/fifo").code, Some(0));
    assert!(matches!(
        content_digest(&open(&env, "s")),
        Err(FsError::NotRegular { kind: "a FIFO", .. })
    ));
    assert!(matches!(
        bundle_digest(&open(&env, "s")),
        Err(FsError::NotRegular { kind: "a FIFO", .. })
    ));
}
