use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use skill_fs::{ReplaceMethod, Replaced, Written, replace_folder, replace_folder_by, write_file};
use testkit::{TestEnv, write_tree};

use crate::abs;

#[test]
fn a_file_is_written_only_when_it_differs() {
    let env = TestEnv::new();
    let path = abs(env.path("f.json"));
    assert_eq!(write_file(&path, b"one").unwrap(), Written::Created);
    let first = fs::metadata(path.as_path()).unwrap();
    assert_eq!(write_file(&path, b"one").unwrap(), Written::Unchanged);
    let second = fs::metadata(path.as_path()).unwrap();
    assert_eq!((first.ino(), first.mtime_nsec()), (second.ino(), second.mtime_nsec()));
    fs::set_permissions(path.as_path(), PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(write_file(&path, b"two").unwrap(), Written::Replaced);
    assert_eq!(fs::read(path.as_path()).unwrap(), b"two");
    assert_eq!(fs::metadata(path.as_path()).unwrap().permissions().mode() & 0o777, 0o666);
    assert_eq!(fs::read_dir(env.work()).unwrap().count(), 1, "no temporary file is left");
}

/// A killed writer leaves a temporary file, which the next one removes. If the writer is still running, the next one
/// waits.
#[test]
fn leftovers_of_killed_writers_are_removed_and_running_writers_awaited() {
    let env = TestEnv::with("//- /.csk-f.json.tmp\nhalf\n");
    let path = abs(env.path("f.json"));
    assert_eq!(write_file(&path, b"one").unwrap(), Written::Created);
    assert_eq!(env.run("find", ". -type f").stdout, "./f.json\n");
    // A hard link to another file is unlinked; the other file is not written.
    env.write("mine", b"mine");
    fs::hard_link(env.path("mine"), env.path(".csk-f.json.tmp")).unwrap();
    assert_eq!(write_file(&path, b"two").unwrap(), Written::Replaced);
    assert_eq!(fs::read(env.path("mine")).unwrap(), b"mine");
    let other = fs::File::create(env.path(".csk-f.json.tmp")).unwrap();
    other.lock().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_file(&path, b"three").unwrap());
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(fs::read(path.as_path()).unwrap(), b"two");
        drop(other);
        assert_eq!(writer.join().unwrap(), Written::Replaced);
    });
    // Concurrent writers: each writes the whole file, and no temporary file is left.
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = &path;
            scope.spawn(move || {
                for round in 0..50 {
                    write_file(path, format!("{number} {round}").repeat(100).as_bytes()).unwrap();
                }
            });
        }
    });
    assert_eq!(env.run("ls", "-A").stdout, "f.json\nmine\n");
    symlink("mine", env.path(".csk-f.json.tmp")).unwrap();
    let error = write_file(&path, b"four").unwrap_err().to_string();
    assert!(error.contains("is not a regular file"), "{error}");
    assert_eq!(fs::read(env.path("mine")).unwrap(), b"mine");
}

#[test]
fn a_failed_write_changes_nothing() {
    let env = TestEnv::with("//- /folder/x\n");
    symlink("folder/x", env.path("link")).unwrap();
    assert_eq!(env.run("mkfifo", "fifo").code, Some(0));
    for name in ["folder", "link", "fifo"] {
        let error = write_file(&abs(env.path(name)), b"two").unwrap_err().to_string();
        assert!(error.contains(&format!("/{name}` is ")), "{error}");
    }
    assert!(write_file(&abs(env.path("none/f")), b"x").is_err());
    assert_eq!(env.run("find", ". -type f").stdout, "./folder/x\n");
}

fn listing(env: &TestEnv, folder: &str) -> String {
    let files = env.run_args(
        "sh",
        &["-c", &format!("cd {folder} && find . ! -type d | sort | xargs grep -H ''")],
    );
    files.stdout
}

const OLD: &str = "//- /t/SKILL.md\nold\n//- /t/gone/deep/x\nold\n//- /t/kept/a\nold\n//- /t/turn/into-file\nold\n//- /t/turn2\nold\n";
const NEW: &str = "//- /s/SKILL.md\nnew\n//- /s/kept/a\nnew\n//- /s/kept/b\nnew\n//- /s/turn\nnew\n//- /s/turn2/into-folder\nnew\n";

#[test]
fn both_methods_replace_the_whole_folder() {
    for (method, replaced) in [
        (ReplaceMethod::Exchange, Replaced::Exchanged),
        (ReplaceMethod::FileByFile, Replaced::FileByFile),
    ] {
        let env = TestEnv::with(OLD);
        write_tree(&env.work(), NEW);
        symlink("kept/a", env.path("s/link")).unwrap();
        let new = listing(&env, "s");
        let (staged, target) = (abs(env.path("s")), abs(env.path("t")));
        assert_eq!(replace_folder_by(method, &staged, &target).unwrap(), replaced);
        assert_eq!(listing(&env, "t"), new, "{method:?}");
        assert_eq!(fs::read_link(env.path("t/link")).unwrap().to_str(), Some("kept/a"));
        assert!(!env.path("t/gone").exists());
    }
}

#[test]
fn a_missing_target_folder_is_created() {
    for method in [ReplaceMethod::Exchange, ReplaceMethod::FileByFile] {
        let env = TestEnv::with(NEW);
        let replaced = replace_folder_by(method, &abs(env.path("s")), &abs(env.path("t"))).unwrap();
        assert_eq!(replaced, Replaced::Created);
        assert_eq!(fs::read(env.path("t/SKILL.md")).unwrap(), b"new\n");
        assert!(!env.path("s").exists());
    }
}

#[test]
fn a_reader_never_finds_the_skill_missing() {
    for method in [ReplaceMethod::Exchange, ReplaceMethod::FileByFile] {
        let env = TestEnv::with("//- /t/SKILL.md\n0\n");
        let file = env.path("t/SKILL.md");
        let done = AtomicBool::new(false);
        let reads = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) {
                    let text = fs::read_to_string(&file).expect("the file always exists");
                    assert!(text.ends_with('\n'), "half a file: {text:?}");
                    reads += 1;
                }
                reads
            });
            for number in 1..=300 {
                write_tree(
                    &env.work(),
                    &format!("//- /s/SKILL.md\n{number}\n//- /s/a/{number}\nx\n"),
                );
                replace_folder_by(method, &abs(env.path("s")), &abs(env.path("t"))).unwrap();
                fs::remove_dir_all(env.path("s")).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            reader.join().unwrap()
        });
        assert!(reads > 0);
        assert_eq!(fs::read_to_string(env.path("t/SKILL.md")).unwrap(), "300\n");
        assert_eq!(fs::read_dir(env.path("t/a")).unwrap().count(), 1);
    }
}

#[test]
fn a_missing_staged_folder_leaves_the_target_unchanged() {
    let env = TestEnv::with(OLD);
    let error = replace_folder(&abs(env.path("s")), &abs(env.path("t"))).unwrap_err().to_string();
    assert!(error.ends_with("/s` does not exist"), "{error}");
    assert_eq!(fs::read(env.path("t/SKILL.md")).unwrap(), b"old\n");
}

#[test]
fn a_file_or_symlink_is_not_replaced_by_a_folder() {
    let env = TestEnv::with(NEW);
    env.write("file", b"mine");
    symlink("file", env.path("link")).unwrap();
    for name in ["file", "link"] {
        for method in [ReplaceMethod::Exchange, ReplaceMethod::FileByFile] {
            assert!(replace_folder_by(method, &abs(env.path("s")), &abs(env.path(name))).is_err());
        }
    }
    assert_eq!(fs::read(env.path("link")).unwrap(), b"mine");
}

#[test]
fn replacing_across_file_systems_changes_nothing() {
    let env = TestEnv::with(OLD);
    let elsewhere = std::path::Path::new("/dev/shm");
    let differs = fs::metadata(elsewhere)
        .is_ok_and(|other| other.dev() != fs::metadata(env.work()).unwrap().dev());
    if !differs {
        return testkit::skip(
            "replacing_across_file_systems_changes_nothing",
            "/dev/shm is not another file system",
        );
    }
    let staged = elsewhere.join(format!("csk-test-{}", std::process::id()));
    write_tree(&staged, NEW);
    for method in [ReplaceMethod::Exchange, ReplaceMethod::FileByFile] {
        let before = listing(&env, "t");
        assert!(replace_folder_by(method, &abs(staged.join("s")), &abs(env.path("t"))).is_err());
        assert_eq!(listing(&env, "t"), before, "{method:?}");
    }
    fs::remove_dir_all(staged).unwrap();
}
