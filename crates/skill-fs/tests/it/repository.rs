//! `.git` at the top of a skill's folder is no part of the skill, and nothing leads into it.

use std::fs;
use std::os::unix::fs::symlink;

use skill_fs::{
    AbsPath, Digests, FsError, Root, WalkLimits, content_digest, digests, fingerprint, list_files,
    version_digests, walk,
};
use testkit::TestEnv;

use crate::{abs, open, rel};

const SECRET: &str = "url = https://user:canary@example.com/x.git\n";

/// A skill that is a checkout, with a repository deeper inside and one that is nearly called so.
fn checkout() -> TestEnv {
    let env = TestEnv::with(
        "//- /skill/SKILL.md\nhello\n//- /skill/.github/a.yml\nA\n//- /skill/deep/.git/config\ndeep\n//- /skill/.GIT/config\nnearly\n//- /skill/.gitignore\nx\n",
    );
    env.write("skill/.git/HEAD", b"ref: refs/heads/main\n");
    env.write("skill/.git/objects/info/packs", b"");
    env.write("skill/.git/refs/heads/main", b"x\n");
    env.write("skill/.git/config", SECRET.as_bytes());
    env.write("skill/.git/hooks/pre-commit.sample", b"\x00\x01");
    env
}

/// A folder or a file that is only called so would be a place to hide in.
#[test]
fn what_is_called_so_and_is_no_repository_is_a_part_of_the_skill() {
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
    // Deeper, and under another name, it is a part like any other.
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
    // Whoever looks at the folder as a folder sees all of it.
    assert_eq!(open(&env, "skill").read(&rel(".git/config"), 1000).unwrap(), SECRET.as_bytes());
}

#[test]
fn no_link_leads_into_the_repository() {
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
        // What only tells versions apart does not read it either.
        let version = || version_digests(&root, &walk(&root, &WalkLimits::SKILL).unwrap()).unwrap();
        let before = version();
        env.write("skill/.git/config", b"other");
        assert_eq!(version(), before, "{name}");
        env.write("skill/.git/config", SECRET.as_bytes());
        fs::remove_file(env.path("skill").join(name)).unwrap();
        fs::remove_file(env.path("skill/second")).ok();
    }
    assert_eq!(both(&skill(&env)).unwrap(), good);
    // Other links stay what they are.
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

/// Whatever stands there under that name: a folder, the file of a worktree, a link that leads anywhere.
#[test]
fn no_digest_covers_the_repository_and_every_digest_the_rest() {
    let env = checkout();
    let look = || {
        let root = skill(&env);
        let print = fingerprint(&root).unwrap().unwrap().digest;
        (both(&root).unwrap(), content_digest(&root).unwrap(), print)
    };
    let before = look();
    env.write("skill/.git/FETCH_HEAD", b"new");
    assert_eq!(look(), before);
    fs::remove_dir_all(env.path("skill/.git")).unwrap();
    assert_eq!(look(), before);
    env.write("skill/.git", b"gitdir: ../x\n");
    assert_eq!(look(), before);
    assert!(matches!(skill(&env).read(&rel(".git"), 100), Err(FsError::Escapes { .. })));
    fs::remove_file(env.path("skill/.git")).unwrap();
    symlink("/etc", env.path("skill/.git")).unwrap();
    assert_eq!(look(), before);
    fs::remove_file(env.path("skill/.git")).unwrap();
    // The folder as a folder is another matter: what csk installed has none.
    env.write("skill/.git/config", b"x");
    let whole: AbsPath = abs(env.path("skill"));
    assert_ne!(both(&Root::open(&whole).unwrap()).unwrap(), before.0);
    for path in ["skill/.GIT/config", "skill/deep/.git/config", "skill/.github/a.yml"] {
        let old = fs::read(env.path(path)).unwrap();
        env.write(path, b"changed");
        assert_ne!(look().0.bundle, before.0.bundle, "{path}");
        env.write(path, &old);
    }
}

/// A file system that folds names hands out the repository under other names. Here a hard link stands for that: it
/// is the same file, and nothing else tells.
#[test]
fn another_name_of_the_same_file_is_the_repository() {
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
