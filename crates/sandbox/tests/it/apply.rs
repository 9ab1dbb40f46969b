//! The changes of a run are inspected and applied outside of the sandbox.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use sandbox::{ApplyError, Layer, Limits};

use crate::world::World;

/// Runs a script; returns its layer, and the changes as lines.
fn changed(world: &World, script: &str) -> (Layer, String) {
    let mut spec = world.spec("/bin/bash", &["-c", script]);
    spec.limits = Limits::default();
    let mut running = sandbox::start(&spec).unwrap();
    let layer = running.take_layer().unwrap();
    let outcome = running.wait().unwrap();
    let changes = layer.changes().unwrap();
    let lines = changes.iter().map(|change| {
        let refused = change.refused.as_ref().map(|_| " refused").unwrap_or_default();
        format!("{} {}{refused}\n", change.kind.as_str(), change.path.display())
    });
    let lines = lines.collect();
    assert_eq!(crate::world::output(&outcome), "");
    (layer, lines)
}

/// A small workspace is copied for the run; a large one gets an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

fn world(size: Size) -> World {
    let world = World::new();
    if size == Size::Large {
        fs::create_dir(world.path("work/bulk")).unwrap();
        (0..300).for_each(|at| world.write(&format!("work/bulk/{at}"), "x"));
    }
    world
}

#[test]
fn changes_are_listed_and_applied() {
    check_changes(Size::Small);
    check_changes(Size::Large);
}

fn check_changes(size: Size) {
    let world = world(size);
    for folder in ["work/old/deep", "work/replaced"] {
        fs::create_dir_all(world.path(folder)).unwrap();
    }
    for (name, text) in [
        ("work/kept", "kept"),
        ("work/edited", "before"),
        ("work/gone", "x"),
        ("work/old/deep/a", "x"),
        ("work/replaced/a", "x"),
        ("work/touched", "same"),
    ] {
        world.write(name, text);
    }
    let script = "printf after > edited; rm gone; rm -rf old; mkdir -p new/folder; \
                  printf x > 'new/folder/ü b'; chmod 755 'new/folder/ü b'; \
                  ln -s folder new/link; touch touched; rm -rf replaced; mkdir replaced; printf y > replaced/b";
    let (layer, lines) = changed(&world, script);
    assert_eq!(
        lines,
        "modified edited\ndeleted gone\nfolder new\nfolder new/folder\nadded new/folder/ü b\nlink new/link\n\
         deleted old\ndeleted old/deep\ndeleted old/deep/a\ndeleted replaced/a\nadded replaced/b\n"
    );
    assert_eq!(
        fs::read_to_string(world.path("work/edited")).unwrap(),
        "before",
        "nothing is applied yet"
    );
    assert_eq!(layer.read("edited".as_ref(), 3).unwrap(), b"aft");
    layer.apply(&layer.changes().unwrap()).unwrap();
    assert_eq!(fs::read_to_string(world.path("work/edited")).unwrap(), "after");
    assert!(!world.path("work/gone").exists() && !world.path("work/old").exists());
    assert_eq!(fs::read_to_string(world.path("work/replaced/b")).unwrap(), "y");
    assert!(!world.path("work/replaced/a").exists());
    let mode = fs::metadata(world.path("work/new/folder/ü b")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(fs::read_link(world.path("work/new/link")).unwrap().to_str(), Some("folder"));
    assert_eq!(
        fs::read_dir(world.path("work")).unwrap().count(),
        if size == Size::Large { 6 } else { 5 },
        "no other files are left behind"
    );
}

#[test]
fn a_refused_change_prevents_all_others_from_being_applied() {
    let world = World::new();
    for (script, refused) in [
        ("echo x > plain; ln -s /etc/passwd l", "link l refused"),
        ("echo x > plain; ln -s ../../x l", "link l refused"),
        ("echo x > plain; mkdir d; ln -s ../.. d/l", "link d/l refused"),
        (
            "echo x > plain; mkdir -p a/b; ln -s .. a/b/l; ln -s a/b/l/../../x esc",
            "link esc refused",
        ),
        ("echo x > plain; echo steer > CLAUDE.md", "added CLAUDE.md refused"),
        (
            "echo x > plain; mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/x' > docs/HEAD; \
             echo '[core]' > docs/config",
            "added docs/HEAD refused",
        ),
        (
            "echo x > plain; mkdir -p docs/Objects docs/Refs; echo 'ref: refs/heads/x' > docs/head; \
             echo '[core]' > docs/config",
            "added docs/config refused",
        ),
        ("echo x > plain; echo steer > AGENTſ.md", "added AGENTſ.md refused"),
        ("echo x > plain; echo e > .proﬁle", "added .proﬁle refused"),
        (
            "echo x > plain; mkdir \".gi\u{fe0f}t\"; echo e > \".gi\u{fe0f}t/config\"",
            "t/config refused",
        ),
        (
            "echo x > plain; mkdir \".g\u{34f}it\"; echo e > \".g\u{34f}it/config\"",
            "it/config refused",
        ),
        ("echo x > plain; mkfifo f", "added f refused"),
        ("echo x > plain; echo e > .tcshrc", "added .tcshrc refused"),
        (
            "echo x > plain; mkdir -p .config/fish; echo e > .config/fish/config.fish",
            "config.fish refused",
        ),
        (
            "echo x > plain; mkdir -p .github/workflows; echo e > .github/workflows/a.yml",
            "a.yml refused",
        ),
        ("echo x > plain; echo e > a.code-workspace", "added a.code-workspace refused"),
        ("echo x > plain; echo e > '.git\\hooks'", "hooks refused"),
        (
            "echo x > plain; mkdir -p sub/.git/hooks; echo e > sub/.git/hooks/pre-commit",
            "sub/.git/hooks/pre-commit refused",
        ),
        ("echo x > plain; echo e > .envrc", "added .envrc refused"),
        (
            "echo x > plain; mkdir .VSCODE; echo e > .VSCODE/tasks.json",
            ".VSCODE/tasks.json refused",
        ),
    ] {
        let (layer, lines) = changed(&world, script);
        assert!(lines.contains(refused), "{script}: {lines}");
        let error = layer.apply(&layer.changes().unwrap()).unwrap_err();
        assert!(matches!(error, ApplyError::Refused { .. }), "{error}");
        assert_eq!(fs::read_dir(world.path("work")).unwrap().count(), 0, "{script}");
    }
}

/// A link of the user may lead out of the workspace. A link of a run may not, not even through such a link.
#[test]
fn a_link_that_leads_out_through_another_link_is_refused() {
    for size in [Size::Small, Size::Large] {
        let world = world(size);
        fs::create_dir_all(world.path("work/sub")).unwrap();
        fs::create_dir_all(world.path("out")).unwrap();
        world.write("out/secret.txt", "s");
        symlink("../out", world.path("work/ex")).unwrap();
        symlink("sub", world.path("work/inside")).unwrap();
        symlink("inside/../../out", world.path("work/far")).unwrap();
        for script in [
            "ln -s ex/secret.txt n",
            "ln -s ex n",
            "ln -s far/secret.txt n",
            "ln -s sub/../ex n",
            "mkdir d; ln -s ../ex/secret.txt d/n",
            "ln -s m/secret.txt n; ln -s inside/../ex m",
            "ln -s n n",
        ] {
            let (layer, lines) = changed(&world, script);
            assert!(lines.contains("n refused"), "{size:?} {script}: {lines}");
            let error = layer.apply(&layer.changes().unwrap()).unwrap_err();
            assert!(matches!(error, ApplyError::Refused { .. }), "{error}");
        }
        let (layer, lines) = changed(&world, "echo x > sub/x; ln -s inside/x n; ln -s nowhere m");
        assert!(!lines.contains("refused"), "{lines}");
        layer.apply(&layer.changes().unwrap()).unwrap();
        assert_eq!(fs::read_to_string(world.path("work/n")).unwrap(), "x\n");
    }
}

#[test]
fn concurrent_changes_are_conflicts_and_links_are_not_followed() {
    check_conflicts(Size::Small);
    check_conflicts(Size::Large);
}

fn check_conflicts(size: Size) {
    let world = world(size);
    world.write("work/a", "before");
    world.write("work/b", "before");
    let (layer, _) = changed(&world, "echo run > a; echo run > b; echo run > c");
    world.write("work/b", "user");
    let error = layer.apply(&layer.changes().unwrap()).unwrap_err();
    assert!(matches!(error, ApplyError::Conflict { .. }), "{error}");
    assert_eq!(fs::read_to_string(world.path("work/a")).unwrap(), "before", "nothing is applied");
    world.write("work/b", "before");
    let (layer, _) = changed(&world, "echo run > c");
    world.write("work/c", "user");
    assert!(layer.apply(&layer.changes().unwrap()).is_err(), "it was created meanwhile");
    // A folder is replaced by a link after the changes were listed.
    fs::create_dir(world.path("work/d")).unwrap();
    let (layer, _) = changed(&world, "echo evil > d/authorized_keys");
    let changes = layer.changes().unwrap();
    fs::remove_dir(world.path("work/d")).unwrap();
    symlink(world.path("home/.ssh"), world.path("work/d")).unwrap();
    assert!(layer.apply(&changes).is_err());
    assert!(!world.path("home/.ssh/authorized_keys").exists());
}

/// The user's changes to files that the run did not touch are kept.
#[test]
fn files_that_a_run_did_not_touch_stay_unchanged() {
    for size in [Size::Small, Size::Large] {
        let world = world(size);
        for name in ["work/edited", "work/other", "work/third"] {
            world.write(name, "before");
        }
        symlink("other", world.path("work/link")).unwrap();
        let (layer, lines) = changed(&world, "echo run > edited");
        assert_eq!(lines, "modified edited\n");
        world.write("work/other", "user");
        world.write("work/new", "user");
        fs::remove_file(world.path("work/third")).unwrap();
        layer.apply(&layer.changes().unwrap()).unwrap();
        let read = |name: &str| fs::read_to_string(world.path(name)).unwrap();
        assert_eq!(read("work/edited"), "run\n");
        assert_eq!((read("work/other"), read("work/new")), ("user".into(), "user".into()));
        assert!(!world.path("work/third").exists());
        // The run removes a folder in which the user then creates a file.
        fs::create_dir(world.path("work/folder")).unwrap();
        let (layer, lines) = changed(&world, "rmdir folder; echo x > first");
        assert_eq!(lines, "added first\ndeleted folder\n");
        let changes = layer.changes().unwrap();
        world.write("work/folder/file", "user");
        assert!(matches!(layer.apply(&changes), Err(ApplyError::Conflict { .. })));
        assert!(!world.path("work/first").exists(), "nothing is applied");
        assert_eq!(read("work/folder/file"), "user");
    }
}

/// Renames an existing folder with `rename(2)`; `mv` would fall back to copying.
#[test]
fn folders_of_a_small_workspace_can_be_renamed() {
    let rename = "perl -e 'rename(\"folder\", \"moved\") or exit 7'";
    let world = world(Size::Small);
    fs::create_dir(world.path("work/folder")).unwrap();
    world.write("work/folder/a", "x");
    fs::set_permissions(world.path("work/folder/a"), fs::Permissions::from_mode(0o750)).unwrap();
    let (layer, lines) = changed(&world, rename);
    assert_eq!(lines, "deleted folder\ndeleted folder/a\nfolder moved\nadded moved/a\n");
    layer.apply(&layer.changes().unwrap()).unwrap();
    assert!(!world.path("work/folder").exists());
    let mode = fs::metadata(world.path("work/moved/a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    // The copies have the times of the original files, because programs compare them.
    let script = "test \"$(stat -c %Y moved/a)\" -lt 1000000001 || exit 9";
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options()
        .write(true)
        .open(world.path("work/moved/a"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    let outcome = world.sandboxed(sandbox::Tier::A, script);
    crate::world::successful_output(&outcome);
    // A workspace that cannot be copied, because it contains a socket, gets an overlay.
    fs::create_dir(world.path("work/folder")).unwrap();
    std::os::unix::net::UnixListener::bind(world.path("work/socket")).unwrap();
    let (_, lines) = changed(&world, &format!("{rename}; test $? = 7 && echo x > seen"));
    assert_eq!(lines, "added seen\n");
}

#[test]
fn a_socket_in_a_read_only_workspace_cannot_be_reached() {
    let world = World::new();
    let listener = std::os::unix::net::UnixListener::bind(world.path("work/socket")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let connect = "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"socket\"); \
                   s.send(b\"x\")'";
    world.unsandboxed(connect);
    assert!(listener.accept().is_ok(), "it works without a sandbox");
    let mut spec = world.spec("/bin/bash", &["-c", &format!("ls; {connect}; echo x > new")]);
    spec.workspace =
        Some(sandbox::Workspace { path: world.path("work"), writes: sandbox::Writes::Never });
    let outcome = crate::world::run(&spec);
    assert!(crate::world::output(&outcome).starts_with("socket\n"));
    assert!(listener.accept().is_err());
    assert!(!world.path("work/new").exists());
}

#[test]
fn files_replace_folders_and_too_large_or_deep_changes_are_refused() {
    check_replacements(Size::Small);
    check_replacements(Size::Large);
}

fn check_replacements(size: Size) {
    let world = world(size);
    world.write("work/file", "x");
    fs::create_dir(world.path("work/folder")).unwrap();
    world.write("work/folder/inner", "x");
    let (layer, _) =
        changed(&world, "rm file; mkdir file; echo y > file/new; rm -rf folder; echo z > folder");
    layer.apply(&layer.changes().unwrap()).unwrap();
    assert_eq!(fs::read_to_string(world.path("work/file/new")).unwrap(), "y\n");
    assert_eq!(fs::read_to_string(world.path("work/folder")).unwrap(), "z\n");
    fs::create_dir_all(world.path("work/d/sub")).unwrap();
    world.write("work/d/sub/old", "x");
    let (layer, lines) = changed(&world, "rm -rf d; mkdir -p d/sub; echo n > d/sub/new");
    assert_eq!(lines, "added d/sub/new\ndeleted d/sub/old\n", "its old content is deleted");
    drop(layer);
    let world = World::new();
    let (layer, _) = changed(&world, "truncate -s 900M sparse");
    assert!(matches!(layer.apply(&layer.changes().unwrap()), Err(ApplyError::TooLarge { .. })));
    let deep = "d=.; for i in $(seq 90); do d=$d/d; done; mkdir -p $d";
    let mut running = sandbox::start(&world.spec("/bin/bash", &["-c", deep])).unwrap();
    let layer = running.take_layer().unwrap();
    running.wait().unwrap();
    assert!(matches!(layer.changes(), Err(ApplyError::TooDeep { .. })));
}

/// Links are not followed: a file or folder that replaces a link is a change of its own, after the link's deletion.
#[test]
fn links_and_permissions_of_folders_are_changes() {
    for size in [Size::Small, Size::Large] {
        let world = world(size);
        world.write("work/file", "x");
        fs::create_dir(world.path("work/folder")).unwrap();
        world.write("work/folder/inner", "x");
        for name in ["to_file", "to_folder"] {
            symlink("file", world.path(&format!("work/{name}"))).unwrap();
        }
        fs::create_dir(world.path("work/closed")).unwrap();
        let rights = |name: &str, mode| {
            fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        rights("work/closed", 0o755);
        let script = "rm to_file; echo y > to_file; rm to_folder; mkdir to_folder; echo z > to_folder/new; \
                      rm file; ln -s to_file file; \
                      rm -rf folder; ln -s to_file folder; chmod 700 closed; echo c > closed/in; mkdir -m 710 made";
        let (layer, lines) = changed(&world, script);
        assert_eq!(
            lines,
            "mode closed\nadded closed/in\ndeleted file\nlink file\ndeleted folder\nlink folder\n\
             deleted folder/inner\nfolder made\n\
             deleted to_file\nadded to_file\ndeleted to_folder\nfolder to_folder\nadded to_folder/new\n",
            "{size:?}"
        );
        let changes = layer.changes().unwrap();
        // Permissions that the user changed are a conflict too.
        rights("work/closed", 0o711);
        assert!(matches!(layer.apply(&changes), Err(ApplyError::Conflict { .. })), "{size:?}");
        rights("work/closed", 0o755);
        layer.apply(&changes).unwrap();
        let mode = |name: &str| {
            fs::symlink_metadata(world.path(name)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode("work/closed"), mode("work/made")), (0o700, 0o710));
        let is_link = |name: &str| fs::symlink_metadata(world.path(name)).unwrap().is_symlink();
        assert!(is_link("work/file") && is_link("work/folder") && !is_link("work/to_file"));
        assert_eq!(fs::read_to_string(world.path("work/to_folder/new")).unwrap(), "z\n");
    }
}

/// Runs a script and returns its changes; calls `meanwhile` on the host before they are listed.
fn with_user(
    world: &World,
    script: &str,
    meanwhile: impl FnOnce(),
) -> (Layer, Vec<sandbox::Change>) {
    let script = format!("{script}; echo ready; read -r _");
    let mut spec = world.spec("/bin/bash", &["-c", &script]);
    spec.stdin = sandbox::Stdin::Bytes(b"go\n".to_vec());
    let mut running = sandbox::start(&spec).unwrap();
    let layer = running.take_layer().unwrap();
    let outcome = running.wait().unwrap();
    assert_eq!(crate::world::output(&outcome), "ready\n");
    meanwhile();
    let changes = layer.changes().unwrap();
    (layer, changes)
}

/// Files that the user moves into a folder that the run replaced or created are neither deleted nor overwritten.
#[test]
fn files_that_the_user_moved_meanwhile_are_kept() {
    for size in [Size::Small, Size::Large] {
        let world = world(size);
        fs::create_dir_all(world.path("work/build")).unwrap();
        fs::create_dir_all(world.path("work/precious/sub")).unwrap();
        world.write("work/build/old", "x");
        world.write("work/precious/t1", "user");
        world.write("work/precious/sub/t2", "user");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let script =
            "rm -rf build; mkdir build; echo new > build/new; mkdir out; echo run > out/t1";
        let (layer, changes) = with_user(&world, script, || {
            fs::rename(world.path("work/precious"), world.path("work/build/precious")).unwrap();
        });
        let done = layer.apply(&changes);
        let kept = |name: &str| fs::read_to_string(world.path(name)).unwrap();
        assert_eq!(kept("work/build/precious/t1"), "user", "{done:?}");
        assert_eq!(kept("work/build/precious/sub/t2"), "user");
        fs::rename(world.path("work/build/precious"), world.path("work/precious")).unwrap();
        let (layer, changes) = with_user(&world, "mkdir -p taken; echo run > taken/t1", || {
            fs::rename(world.path("work/precious"), world.path("work/taken")).unwrap();
        });
        assert!(matches!(layer.apply(&changes), Err(ApplyError::Conflict { .. })), "{size:?}");
        assert_eq!(kept("work/taken/t1"), "user");
    }
}

/// If one change cannot be applied, everything stays as it was, however late it fails.
#[test]
fn a_failure_partway_is_rolled_back() {
    let world = World::new();
    fs::create_dir(world.path("work/data")).unwrap();
    for name in ["data/p1", "data/p2", "edited"] {
        world.write(&format!("work/{name}"), "user");
    }
    fs::create_dir(world.path("work/closed")).unwrap();
    let tree = |world: &World| {
        let list = std::process::Command::new("find")
            .arg(world.path("work"))
            .arg("-printf")
            .arg("%P %s\n")
            .output()
            .unwrap();
        let mut lines: Vec<String> =
            String::from_utf8(list.stdout).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let (layer, _) = changed(&world, "mv data closed/data; echo run > edited; echo x > added");
    let changes = layer.changes().unwrap();
    let before = tree(&world);
    // Something creates the path that the last step needs: all steps before it are rolled back.
    fs::create_dir(world.path("work/closed/data")).unwrap();
    assert!(layer.apply(&changes).is_err());
    fs::remove_dir(world.path("work/closed/data")).unwrap();
    assert_eq!(tree(&world), before, "nothing is changed, and nothing is left behind");
    layer.apply(&changes).unwrap();
    assert_eq!(fs::read_to_string(world.path("work/closed/data/p1")).unwrap(), "user");
    // Root may write everywhere, so this would prove nothing.
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(world.path("work/closed"), fs::Permissions::from_mode(0o555)).unwrap();
        let (layer, _) = changed(&world, "mkdir closed/new; echo run > edited");
        let changes = layer.changes().unwrap();
        assert!(matches!(layer.apply(&changes), Err(ApplyError::Io { .. })));
        assert_eq!(fs::read_to_string(world.path("work/edited")).unwrap(), "run\n");
        fs::set_permissions(world.path("work/closed"), fs::Permissions::from_mode(0o755)).unwrap();
        let (layer, _) = changed(&world, "echo again > edited; echo z > zz; chmod 0 zz");
        assert!(layer.apply(&layer.changes().unwrap()).is_err());
        assert_eq!(
            fs::read_to_string(world.path("work/edited")).unwrap(),
            "run\n",
            "nothing is applied"
        );
    }
}

/// Hooks of a bare repository run as well. A file that became a folder is a conflict.
#[test]
fn bare_repositories_and_replaced_file_types_stay_unchanged() {
    let world = World::new();
    let made = std::process::Command::new("git")
        .args(["init", "-q", "--bare"])
        .arg(world.path("work/r.git"))
        .status();
    if made.is_ok_and(|status| status.success()) {
        let (layer, lines) =
            changed(&world, "mkdir -p r.git/hooks; echo x > r.git/hooks/post-update");
        assert!(lines.contains("refused"), "{lines}");
        assert!(layer.apply(&layer.changes().unwrap()).is_err());
        assert!(!world.path("work/r.git/hooks/post-update").exists());
    }
    let world = World::new();
    for name in ["f", "g"] {
        world.write(&format!("work/{name}"), "user");
    }
    let (layer, changes) = with_user(&world, "rm f; mkdir d; echo run > a", || {
        fs::remove_file(world.path("work/f")).unwrap();
        fs::create_dir(world.path("work/f")).unwrap();
    });
    assert!(matches!(layer.apply(&changes), Err(ApplyError::Conflict { .. })));
    assert!(world.path("work/f").is_dir() && !world.path("work/a").exists());
    let (layer, changes) = with_user(&world, "mkdir d", || world.write("work/d", "user"));
    assert!(matches!(layer.apply(&changes), Err(ApplyError::Conflict { .. })));
}

#[test]
fn the_target_of_a_protected_link_is_protected() {
    for size in [Size::Small, Size::Large] {
        let world = world(size);
        for folder in ["work/docs", "work/cfg"] {
            fs::create_dir_all(world.path(folder)).unwrap();
        }
        world.write("work/docs/AI.md", "x");
        world.write("work/docs/other", "x");
        symlink("docs/AI.md", world.path("work/AGENTS.md")).unwrap();
        symlink("cfg", world.path("work/.vscode")).unwrap();
        let script = "echo evil > AGENTS.md; echo x > .vscode/tasks.json; echo y > docs/other";
        let (layer, lines) = changed(&world, script);
        for refused in ["docs/AI.md refused\n", "cfg/tasks.json refused\n"] {
            assert!(lines.contains(refused), "{size:?}: {lines}");
        }
        assert!(lines.contains("docs/other\n"), "{size:?}: {lines}");
        let changes = layer.changes().unwrap();
        assert!(matches!(layer.apply(&changes), Err(ApplyError::Refused { .. })));
        assert_eq!(fs::read_to_string(world.path("work/docs/AI.md")).unwrap(), "x");
    }
}

/// The target is protected however the link leads to it: through other links, out of the workspace and back, or to a
/// file that does not exist yet.
#[test]
fn the_target_of_a_protected_link_is_protected_however_it_is_reached() {
    for size in [Size::Small, Size::Large] {
        for (target, script, refused) in [
            ("$PWD/r", "echo evil > r", "r"),
            ("../work/r", "echo evil > r", "r"),
            ("nothere/r", "ln -s c nothere", "nothere"),
            ("cur/r", "rm cur; ln -s c cur", "cur"),
            ("cur/r", "echo evil > a/r", "a/r"),
            ("a/r", "rm -r a; ln -s c a", "a"),
            ("notes.md", "echo evil > cmds/evil.md", "cmds/evil.md"),
            ("notes.md", "echo evil > conf/s.json", "conf/s.json"),
        ] {
            let world = world(size);
            for folder in ["work/a", "work/c", "work/cmds", "work/conf", "work/.claude"] {
                fs::create_dir_all(world.path(folder)).unwrap();
            }
            for file in ["work/r", "work/a/r", "work/c/r", "work/conf/s.json"] {
                world.write(file, "x");
            }
            symlink("../cmds", world.path("work/.claude/commands")).unwrap();
            symlink("../conf/s.json", world.path("work/.claude/settings.json")).unwrap();
            symlink("a", world.path("work/cur")).unwrap();
            let work = fs::canonicalize(world.path("work")).unwrap().display().to_string();
            symlink(target.replace("$PWD", &work), world.path("work/CLAUDE.md")).unwrap();
            let (_, lines) = changed(&world, script);
            let is_refused =
                lines.lines().any(|line| line.ends_with(&format!(" {refused} refused")));
            assert!(is_refused, "{size:?}: {target}: {script}: {lines}");
        }
    }
}

#[test]
fn content_that_changes_after_it_was_checked_is_checked_again() {
    let world = World::new();
    world.write("work/a", "x");
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(world.path("work")).env("HOME", world.path("home")).args(arguments);
        assert!(command.status().unwrap().success(), "git {arguments:?}");
    };
    git(&["init", "--quiet"]);
    let folder = world.path("layer");
    fs::create_dir(&folder).unwrap();
    let script = "mkdir .git/rebase-merge; echo noop > .git/rebase-merge/git-rebase-todo";
    let mut spec = world.spec("/bin/sh", &["-c", script]);
    spec.layer = sandbox::LayerStorage::Folder(folder.clone());
    spec.git = sandbox::GitData::Writable;
    let mut running = sandbox::start(&spec).unwrap();
    let layer = running.take_layer().unwrap();
    running.wait().unwrap();
    let changes = layer.changes().unwrap();
    assert!(changes.iter().all(|change| change.refused.is_none()), "{changes:?}");
    // As if a process in the background had written it in the meantime.
    let todo = folder.join("upper/.git/rebase-merge/git-rebase-todo");
    fs::write(&todo, "exec ./evil\n").unwrap();
    assert!(matches!(layer.apply(&changes), Err(ApplyError::Refused { .. })));
    assert!(!world.path("work/.git/rebase-merge").exists(), "nothing is applied in part");
    fs::write(&todo, "pick 1\n").unwrap();
    layer.apply(&changes).unwrap();
}

#[test]
fn holes_in_files_are_kept() {
    use std::os::unix::fs::MetadataExt;

    let world = World::new();
    let script = "truncate -s 40M sparse; printf end >> sparse; \
                  printf x | dd of=sparse bs=1 seek=20000000 conv=notrunc 2>/dev/null";
    let mut running = sandbox::start(&world.spec("/bin/sh", &["-c", script])).unwrap();
    let layer = running.take_layer().unwrap();
    running.wait().unwrap();
    layer.apply(&layer.changes().unwrap()).unwrap();
    let bytes = fs::read(world.path("work/sparse")).unwrap();
    let found = (bytes.len(), bytes[20_000_000], &bytes[40 << 20..]);
    assert_eq!(found, ((40 << 20) + 3, b'x', &b"end"[..]));
    let blocks = fs::metadata(world.path("work/sparse")).unwrap().blocks();
    assert!(blocks < 4096, "{blocks} blocks of 512 bytes");
}
