//! What Landlock does not restrict: extended attributes, inotify, leases, file flags and link targets. In tier B the
//! seccomp filter blocks these, or they are listed as limitations.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::{Tier, Workspace, Writes};

use crate::attacks::cannot_read;
use crate::world::{CANARY, World, output, run};

const BOTH: [Tier; 2] = [Tier::A, Tier::B];

#[test]
fn attributes_of_files_that_were_not_granted_cannot_be_read() {
    let world = World::new();
    let path = world.path("home/.ssh/id").display().to_string();
    let set = format!(
        "python3 -c \"import os; os.setxattr('{path}', 'user.{CANARY}', b'{CANARY}'); print('set')\""
    );
    if !world.unsandboxed(&set).contains("set") {
        testkit::skip("attributes in the sandbox", "the file system has no extended attributes");
        return;
    }
    symlink(&path, world.path("work/link")).unwrap();
    let get = format!("'user.{CANARY}'[:5] + '{}' + '{}'", &CANARY[..3], &CANARY[3..]);
    // Prints only the error number, because Python's error messages contain the name of the attribute.
    let python = |code: &str| {
        format!("python3 -c \"import os\ntry: {code}\nexcept OSError as e: print(e.errno)\"")
    };
    for code in [
        format!("print(os.getxattr('{path}', {get}))"),
        format!("print(os.getxattr('{path}', {get}, follow_symlinks=False))"),
        format!("print(os.listxattr('{path}'))"),
        format!("print(os.listxattr('{path}', follow_symlinks=False))"),
        "print(os.listxattr('link'))".to_owned(),
        format!("f = os.open('{path}', os.O_PATH); print(os.listxattr('/proc/self/fd/%d' % f))"),
    ] {
        cannot_read(&world, &python(&code));
    }
    // The call that newer kernels have: listxattrat.
    let newer =
        format!("print(ctypes.CDLL(None).syscall(465, -100, b'{path}', 0, b, 999)); print(b.raw)");
    let script =
        format!("python3 -c \"import ctypes; b = ctypes.create_string_buffer(999); {newer}\"");
    if world.unsandboxed(&script).contains(CANARY) {
        cannot_read(&world, &script);
    } else {
        testkit::skip("listxattrat in the sandbox", "the kernel does not support it");
    }
}

#[test]
fn other_programs_cannot_be_watched() {
    let world = World::new();
    let folder = world.path("home/.ssh").display().to_string();
    // Prints the name of a file that another program writes.
    let script = format!(
        "python3 -c \"import ctypes, os, select\nc = ctypes.CDLL(None)\nf = c.inotify_init1(0)\n\
         if f < 0: f = c.syscall(253)\nw = c.inotify_add_watch(f, b'{folder}', 0xfff)\n\
         if f >= 0 and select.select([f], [], [], 5)[0]: print(os.read(f, 999))\""
    );
    let watched = |run: &dyn Fn() -> String| {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    fs::write(world.path("home/.ssh/written-now"), "x").unwrap();
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let seen = run();
            is_over.store(true, Ordering::Relaxed);
            seen
        })
    };
    let seen = watched(&|| world.unsandboxed(&script));
    assert!(seen.contains("written-now"), "the attack does not work without a sandbox: {seen}");
    for tier in BOTH {
        let seen = watched(&|| output(&world.sandboxed(tier, &script)));
        assert!(!seen.contains("written-now"), "{tier:?}: {seen}");
    }
    // Other ways to watch files, and to make other programs wait for a file.
    world.write("work/file", "x");
    for (way, code) in [
        ("dnotify", "f = os.open('.', 0); fcntl.fcntl(f, 1026, 0x8000003f)"),
        ("lease", "f = os.open('file', 0); fcntl.fcntl(f, 1024, 0)"),
        ("fanotify", "assert ctypes.CDLL(None).fanotify_init(0x200, 0) >= 0"),
    ] {
        let script = format!(
            "python3 -c \"import ctypes, fcntl, os, signal; signal.signal(signal.SIGIO, signal.SIG_IGN); {code}; \
             print('ma' + 'de')\""
        );
        // Not every kernel supports all of them, or allows them for every user.
        if !world.unsandboxed(&script).contains("made") {
            testkit::skip("a way to watch files", &format!("{way} is not available"));
            continue;
        }
        for tier in BOTH {
            let seen = output(&world.sandboxed(tier, &script));
            assert!(!seen.contains("made"), "{tier:?}: {way}: {seen}");
        }
    }
}

#[test]
fn flags_of_read_only_files_cannot_be_changed() {
    let world = World::new();
    world.write("work/file", "x");
    let file = world.path("work/file").display().to_string();
    let flags = || world.unsandboxed(&format!("lsattr -p {file}"));
    let before = flags();
    // FS_IOC_SETFLAGS with the nodump flag, and the same with FS_IOC_FSSETXATTR.
    let by_flags = format!(
        "python3 -c \"import fcntl, os, struct; f = os.open('{file}', 0); b = bytearray(8); \
         fcntl.ioctl(f, 0x80086601, b); n = struct.unpack('i', b[:4])[0]; \
         fcntl.ioctl(f, 0x40086602, struct.pack('ii', n | 0x40, 0))\""
    );
    let by_attributes = format!(
        "python3 -c \"import fcntl, os, struct; f = os.open('{file}', 0); b = bytearray(28); \
         fcntl.ioctl(f, 0x801c581f, b); n = struct.unpack('I', b[:4])[0]; b[:4] = struct.pack('I', n | 0x80); \
         fcntl.ioctl(f, 0x401c5820, bytes(b))\""
    );
    for script in [format!("chattr +d {file}"), by_flags, by_attributes] {
        for tier in BOTH {
            let mut spec = world.spec("/bin/bash", &["-c", &script]);
            spec.strongest = tier;
            spec.workspace = Some(Workspace { path: world.path("work"), writes: Writes::Never });
            run(&spec);
            assert_eq!(flags(), before, "{tier:?}: {script}");
        }
        world.unsandboxed(&script);
        if flags() == before {
            testkit::skip("file flags in the sandbox", "the file system does not support them");
            continue;
        }
        world.unsandboxed(&format!("chattr -d {file}"));
        assert_eq!(flags(), before);
    }
}

#[test]
fn what_tier_b_does_not_hide_is_listed_as_a_limitation() {
    let world = World::new();
    symlink(CANARY, world.path("home/.ssh/current")).unwrap();
    let script = format!("readlink {}", world.path("home/.ssh/current").display());
    assert!(!output(&world.sandboxed(Tier::A, &script)).contains(CANARY));
    let limitations = Tier::B.limitations().join("\n");
    // A filter cannot tell which link is read, and programs read links all the time.
    assert!(output(&world.sandboxed(Tier::B, &script)).contains(CANARY));
    assert!(limitations.contains("symbolic link"), "{limitations}");
    let script = format!("stat -c %s {}", world.path("home/.ssh/id").display());
    assert!(!output(&world.sandboxed(Tier::A, &script)).contains("14"));
    assert!(output(&world.sandboxed(Tier::B, &script)).contains("14"));
    assert!(limitations.contains("stat"), "{limitations}");
    assert!(Tier::A.limitations().is_empty());
}
