//! `.git` at the top of a skill's folder is not part of the skill, and no path leads into it.

use std::fs;
use std::os::unix::fs::symlink;

use skill_fs::{
    AbsPath, Digests, FsError, Root, WalkLimits, content_digest, digests, fingerprint, list_files,
    version_digests, walk,
};
use testkit::TestEnv;

use crate::{abs, open, rel};

const SECRET: &str = "url = https://user:canary@example.com/x.git\n";

/// A skill that is a checkout, with a nested repository and one with a similar name.
fn checkout() -> TestEnv {
    let env = TestEnv::with(
        "//- /skill/SKILL.md\nhello\n//- /skill/.github/a.yml\nA\n//- /skill/deep/.git/config\ndeep\n//- /skill/.GIT/config\nsimilar\n//- /skill/.gitignore\nx\n",
    );
    env.write("skill/.git/HEAD", b"ref: refs/heads/main\n");
    env.write("skill/.git/objects/info/packs", b"");
    env.write("skill/.git/refs/heads/main", b"x\n");
    env.write("skill/.git/config", SECRET.as_bytes());
    env.write("skill/.git/hooks/pre-commit.sample", b"\x00\x01");
    env
}

/// Otherwise files could be hidden in a folder or file that is merely named `.git`.
#[test]
fn a_dot_git_that_is_not_a_repository_is_part_of_the_skill() {
    let env = TestEnv::with(
        "//- /skill/SKILL.md\nhello\n//- /skill/.git/x.sh\necho\n//- /skill/.git/HEAD\nx\n",
    );
    let before = both(&skill(&env)).unwrap();
    assert!(list_files(&skill(&env), &WalkLimits::SKILL).unwrap().contains(&rel(".git/x.sh")));
    env.write("skill/.git/x.sh", b"echo other\n");
    assert_ne!(both(&skill(&env)).unwrap(), before);
    fs::remove_dir_all(env.path("skill/.git")).unwrap();
    env.write("skill/.git", b"echo evil\n");
    assert_eq!(skill(&env).read(&rel(".git"), 100).unwrap(), b"echo evil\n");
}

fn skill(env: &TestEnv) -> Root {
    open(env, "skill").as_skill()
}

fn both(root: &Root) -> Result<Digests, FsError> {
    digests(root, &walk(root, &WalkLimits::SKILL)?)
}

#[test]
fn the_repository_of_a_skill_is_neither_listed_nor_read() {
    let env = checkout();
    let root = skill(&env);
    let files: Vec<String> =
        list_files(&root, &WalkLimits::SKILL).unwrap().iter().map(ToString::to_string).collect();
    // A nested repository, and one with another name, are part of the skill.
    assert_eq!(
        files,
        [".GIT/config", ".github/a.yml", ".gitignore", "SKILL.md", "deep/.git/config"]
    );
    let walked = walk(&root, &WalkLimits::SKILL).unwrap();
    assert!(walked.iter().all(|entry| entry.path.parts().next() != Some(".git")));
    assert!(root.entries().unwrap().named.iter().all(|(name, _)| name != ".git"));
    for path in [".git/config", ".git", ".git/hooks/pre-commit.sample"] {
        assert!(matches!(root.read(&rel(path), 1000), Err(FsError::Escapes { .. })), "{path}");
        assert!(root.is_repository(&rel(path)) && root.has(&rel(path)).is_err(), "{path}");
    }
    assert!(matches!(root.child(".git"), Err(FsError::Escapes { .. })));
    for path in files {
        assert!(root.read(&rel(&path), 1000).is_ok(), "{path}");
    }
    // Opened as a plain folder, all of it is visible.
    assert_eq!(open(&env, "skill").read(&rel(".git/config"), 1000).unwrap(), SECRET.as_bytes());
}

#[test]
fn no_symlink_leads_into_the_repository() {
    let env = checkout();
    fs::create_dir(env.path("skill/a")).unwrap();
    fs::create_dir(env.path("skill/a/b")).unwrap();
    symlink("a/b", env.path("skill/way")).unwrap();
    let good = both(&skill(&env)).unwrap();
    let link = |name: &str, target: &str| symlink(target, env.path("skill").join(name)).unwrap();
    for (name, target, read) in [
        ("link", ".git/config", "link"),
        ("folder", ".git", "folder/config"),
        ("a/up", "../.git/config", "a/up"),
        ("round", "./a/../.git//config", "round"),
        // The folder before `..` is a link itself.
        ("through", "way/../../.git/config", "through"),
        ("chain", ".git/config", "second"),
    ] {
        link(name, target);
        if read == "second" {
            link("second", name);
        }
        let root = skill(&env);
        assert!(matches!(root.read(&rel(read), 1000), Err(FsError::Escapes { .. })), "{name}");
        assert!(matches!(both(&root), Err(FsError::Escapes { .. })), "{name}");
        assert!(matches!(content_digest(&root), Err(FsError::Escapes { .. })), "{name}");
        // The digests that only distinguish versions do not read it either.
        let version = || version_digests(&root, &walk(&root, &WalkLimits::SKILL).unwrap()).unwrap();
        let before = version();
        env.write("skill/.git/config", b"other");
        assert_eq!(version(), before, "{name}");
        env.write("skill/.git/config", SECRET.as_bytes());
        fs::remove_file(env.path("skill").join(name)).unwrap();
        fs::remove_file(env.path("skill/second")).ok();
    }
    assert_eq!(both(&skill(&env)).unwrap(), good);
    // Other symlinks are unaffected.
    for (name, target) in [("one", "SKILL.md"), ("two", "a/../one"), ("here", "."), ("lost", "no")]
    {
        link(name, target);
    }
    let root = skill(&env);
    assert_eq!(root.read(&rel("two"), 100).unwrap(), b"hello\n");
    assert!(matches!(root.read(&rel("lost"), 100), Err(FsError::NotFound { .. })));
    assert_eq!(both(&root).unwrap(), {
        let whole = open(&env, "skill");
        let entries = walk(&root, &WalkLimits::SKILL).unwrap();
        digests(&whole, &entries).unwrap()
    });
}

/// Whatever `.git` is: a folder, the file of a linked worktree, a symlink to anywhere.
#[test]
fn digests_cover_everything_but_the_repository() {
    let env = checkout();
    let all_digests = || {
        let root = skill(&env);
        let fingerprint = fingerprint(&root).unwrap().unwrap().digest;
        (both(&root).unwrap(), content_digest(&root).unwrap(), fingerprint)
    };
    let before = all_digests();
    env.write("skill/.git/FETCH_HEAD", b"new");
    assert_eq!(all_digests(), before);
    fs::remove_dir_all(env.path("skill/.git")).unwrap();
    assert_eq!(all_digests(), before);
    env.write("skill/.git", b"gitdir: ../x\n");
    assert_eq!(all_digests(), before);
    assert!(matches!(skill(&env).read(&rel(".git"), 100), Err(FsError::Escapes { .. })));
    fs::remove_file(env.path("skill/.git")).unwrap();
    symlink("/etc", env.path("skill/.git")).unwrap();
    assert_eq!(all_digests(), before);
    fs::remove_file(env.path("skill/.git")).unwrap();
    // The digests of the plain folder do cover it: a skill that csk installed has no repository.
    env.write("skill/.git/config", b"x");
    let whole: AbsPath = abs(env.path("skill"));
    assert_ne!(both(&Root::open(&whole).unwrap()).unwrap(), before.0);
    for path in ["skill/.GIT/config", "skill/deep/.git/config", "skill/.github/a.yml"] {
        let old = fs::read(env.path(path)).unwrap();
        env.write(path, b"changed");
        assert_ne!(all_digests().0.bundle, before.0.bundle, "{path}");
        env.write(path, &old);
    }
}

/// A file system that folds names exposes the repository under other names. A hard link simulates this: it is the same
/// file, and only the inode shows it.
#[test]
fn another_name_of_the_repository_is_recognized() {
    let env = TestEnv::with("//- /skill/SKILL.md\nhello\n");
    env.write("skill/.git", b"gitdir: ../x\n");
    for name in [".GIT", "git~1", ".g\u{200c}it"] {
        fs::hard_link(env.path("skill/.git"), env.path("skill").join(name)).unwrap();
        let root = skill(&env);
        assert!(root.is_repository(&rel(name)), "{name}");
        assert!(matches!(root.read(&rel(name), 100), Err(FsError::Escapes { .. })), "{name}");
        fs::remove_file(env.path("skill").join(name)).unwrap();
    }
}
