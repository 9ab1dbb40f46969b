//! Attacks by scripts. Each test also runs the attack without a sandbox and checks that it works there, otherwise it
//! would prove nothing.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};

use sandbox::Tier;

use crate::world::{CANARY, World, output};

const BOTH: [Tier; 2] = [Tier::A, Tier::B];

/// Checks that a script prints the canary without a sandbox, and does not print it in one.
pub(crate) fn cannot_read(world: &World, script: &str) {
    let seen = world.unsandboxed(script);
    assert!(seen.contains(CANARY), "the attack does not work without a sandbox: {script}: {seen}");
    for tier in BOTH {
        let seen = output(&world.sandboxed(tier, script));
        assert!(!seen.contains(CANARY), "{tier:?}: {script}: {seen}");
    }
}

#[test]
fn files_that_were_not_granted_cannot_be_read() {
    let world = World::new();
    let root = world.path("").display().to_string();
    symlink(world.path("home/.ssh/id"), world.path("work/link")).unwrap();
    fs::write("/tmp/sandbox-canary", CANARY).unwrap();
    for script in [
        format!("cat {root}home/.ssh/id"),
        format!("cat {root}home/.aws/credentials"),
        format!("cat {root}other-skill/SKILL.md"),
        "cat ../.env".to_owned(),
        "cat link".to_owned(),
        "cat /tmp/sandbox-canary".to_owned(),
        format!("python3 -c \"print(open('{root}home/.ssh/id').read())\""),
        format!("exec 9<{root}.env; cat <&9"),
        format!("ln {root}.env here 2>/dev/null || cp {root}.env here; cat here; rm -f here"),
    ] {
        cannot_read(&world, &script);
    }
    fs::remove_file("/tmp/sandbox-canary").unwrap();
    for tier in BOTH {
        let seen = output(
            &world.sandboxed(tier, "cat /etc/shadow; head -c1 /dev/sda /dev/vda 2>&1; ls /root"),
        );
        assert!(!seen.contains("root:") && !seen.contains(".bashrc"), "{tier:?}: {seen}");
    }
    // Tier A also hides that the files exist.
    let listed = format!("ls -la {root}home; stat -c %s {root}home/.ssh/id");
    assert!(world.unsandboxed(&listed).contains(".ssh"));
    let seen = output(&world.sandboxed(Tier::A, &listed));
    assert!(seen.contains("No such file"), "{seen}");
}

#[test]
fn other_processes_cannot_be_inspected_or_signaled() {
    let world = World::new();
    let mut victim = Command::new("sleep").arg("600").env("SECRET", CANARY).spawn().unwrap();
    let pid = victim.id();
    cannot_read(&world, &format!("tr '\\\\0' '\\\\n' < /proc/{pid}/environ"));
    for tier in BOTH {
        for script in [
            format!("kill -9 {pid}"),
            "kill -9 -1".to_owned(),
            format!("python3 -c \"import os; os.kill({pid}, 9)\""),
            format!(
                "python3 -c \"import os, signal; f = os.pidfd_open({pid}); \
                 signal.pidfd_send_signal(f, 9)\""
            ),
        ] {
            world.sandboxed(tier, &script);
            assert!(victim.try_wait().unwrap().is_none(), "{tier:?}: {script}");
        }
    }
    // The attack works without a sandbox.
    world.unsandboxed(&format!("kill -9 {pid}"));
    assert!(victim.wait().unwrap().code().is_none());
}

#[test]
fn nothing_outside_the_workspace_is_written() {
    let world = World::new();
    let root = world.path("").display().to_string();
    fs::write(world.path("skill/run.sh"), "original\n").unwrap();
    fs::create_dir_all(world.path("work/.git/hooks")).unwrap();
    fs::write(world.path("work/.git/hooks/pre-commit"), "original\n").unwrap();
    let victims = ["skill/run.sh", "home/.bashrc", "home/.ssh/id"];
    let state = |name: &str| {
        let metadata = fs::symlink_metadata(world.path(name)).unwrap();
        (
            fs::read(world.path(name)).unwrap(),
            metadata.mode(),
            metadata.mtime_nsec(),
            metadata.mtime(),
        )
    };
    for name in victims {
        let path = format!("{root}{name}");
        for script in [
            format!("echo evil >> {path}"),
            format!("chmod 777 {path}"),
            format!("touch -d 2001-01-01 {path}"),
            format!("rm -f {path}"),
            format!("mv {path} {path}.gone"),
            format!("chmod u+s {path}"),
            format!(
                "setfattr -n user.x -v y {path} || \
                 python3 -c \"import os; os.setxattr('{path}', 'user.x', b'y')\""
            ),
        ] {
            let original = state(name);
            // In tier A the files do not exist. In tier B some calls succeed without effect.
            world.sandboxed(Tier::A, &script);
            assert_eq!(state(name), original, "A: {script}");
            world.sandboxed(Tier::B, &script);
            assert_eq!(state(name), original, "B: {script}");
        }
    }
    let path = format!("{root}home/.bashrc");
    world.unsandboxed(&format!("echo evil >> {path}; chmod 777 {path}"));
    assert!(
        fs::read_to_string(world.path("home/.bashrc")).unwrap().contains("evil"),
        "the attack works without a sandbox"
    );
    for tier in BOTH {
        for script in [
            "echo x > /etc/sandbox-evil",
            "echo x > /usr/bin/sandbox-evil",
            "echo x > /sandbox-evil",
            "mkdir /usr/evil",
        ] {
            world.sandboxed(tier, script);
        }
    }
    for path in ["/etc/sandbox-evil", "/usr/bin/sandbox-evil", "/sandbox-evil", "/usr/evil"] {
        assert!(!std::path::Path::new(path).exists(), "{path}");
    }
    // The sandbox has its own /dev/shm and /tmp.
    world.sandboxed(Tier::A, "echo evil > /dev/shm/sandbox-evil; echo evil > /tmp/sandbox-evil");
    assert!(
        !std::path::Path::new("/dev/shm/sandbox-evil").exists()
            && !std::path::Path::new("/tmp/sandbox-evil").exists()
    );
}

#[test]
fn the_workspace_is_unchanged_until_changes_are_applied() {
    let world = World::new();
    world.write("work/kept", "original\n");
    world.sandboxed(
        Tier::A,
        "echo evil > kept; echo new > new; mkdir d; rm -f kept; ln -s /etc/passwd l",
    );
    assert_eq!(fs::read_to_string(world.path("work/kept")).unwrap(), "original\n");
    assert_eq!(fs::read_dir(world.path("work")).unwrap().count(), 1);
}

#[test]
fn direct_writes_cannot_change_protected_names() {
    use sandbox::{Workspace, Writes};

    let world = World::new();
    fs::create_dir_all(world.path("work/.git/hooks")).unwrap();
    world.write("work/.git/hooks/pre-commit", "original\n");
    world.write("work/.envrc", "original\n");
    let attacks = "echo evil > .git/hooks/pre-commit; echo evil > .envrc; mv .git moved; rm -rf .git; \
                   mv .envrc away; echo evil > plain";
    let mut spec = world.spec("/bin/bash", &["-c", attacks]);
    spec.workspace = Some(Workspace { path: world.path("work"), writes: Writes::Direct });
    let outcome = crate::world::run(&spec);
    assert_eq!(
        fs::read_to_string(world.path("work/plain")).unwrap(),
        "evil\n",
        "{}",
        output(&outcome)
    );
    assert_eq!(fs::read_to_string(world.path("work/.git/hooks/pre-commit")).unwrap(), "original\n");
    assert_eq!(fs::read_to_string(world.path("work/.envrc")).unwrap(), "original\n");
    world.unsandboxed(attacks);
    assert!(world.path("work/moved").exists(), "the attack works without a sandbox");
}

#[test]
fn there_is_no_network() {
    let world = World::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let attacks = [
        format!("echo {CANARY} > /dev/tcp/127.0.0.1/{tcp_port}"),
        format!(
            "python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', {tcp_port})); s.send(b'x'); \
             s.close()\""
        ),
        format!("echo {CANARY} > /dev/udp/127.0.0.1/{udp_port}"),
        format!("node -e \"fetch('http://127.0.0.1:{tcp_port}').catch(() => 0)\""),
    ];
    let received = || {
        let mut space = [0; 64];
        let by_tcp = tcp.accept().is_ok();
        by_tcp || udp.recv(&mut space).is_ok()
    };
    for script in &attacks {
        for tier in BOTH {
            world
                .sandboxed(tier, &format!("timeout 5 bash -c '{}'", script.replace('\'', "'\\''")));
            assert!(!received(), "{tier:?}: {script}");
        }
        world.unsandboxed(&format!("timeout 5 bash -c '{}'", script.replace('\'', "'\\''")));
        assert!(received(), "the attack does not work without a sandbox: {script}");
        while received() {}
    }
    // Sockets of other address families.
    for family in ["AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_ALG", "AF_VSOCK"] {
        let script = format!(
            "python3 -c \"import socket; socket.socket(socket.{family}, socket.SOCK_DGRAM if '{family}' != 'AF_ALG' \
             else socket.SOCK_SEQPACKET); print('made')\""
        );
        for tier in BOTH {
            let outcome = world.sandboxed(tier, &script);
            assert!(!output(&outcome).contains("made"), "{tier:?}: {family}");
            let reported = outcome.violations.iter().any(|violation| violation.call == "socket");
            assert!(reported, "{tier:?}: {family}: {:?}", outcome.violations);
        }
    }
}

#[test]
fn sockets_of_other_programs_cannot_be_reached() {
    let world = World::new();
    let path = world.path("work/socket");
    let stream = UnixListener::bind(&path).unwrap();
    stream.set_nonblocking(true).unwrap();
    let datagram = UnixDatagram::bind(world.path("work/datagram")).unwrap();
    datagram.set_nonblocking(true).unwrap();
    let connect = format!(
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{}'); s.send(b'x')\"",
        path.display()
    );
    let send = format!(
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); \
         s.sendto(b'x', '{}')\"",
        world.path("work/datagram").display()
    );
    let abstract_name = format!("sandbox-{}", std::process::id());
    for (script, received) in [
        (connect, (&|| stream.accept().is_ok()) as &dyn Fn() -> bool),
        (send, &|| datagram.recv(&mut [0; 8]).is_ok()),
    ] {
        // An overlay over the workspace shows the name of a socket, but connecting to it fails.
        for tier in BOTH {
            world.sandboxed(tier, &script);
            assert!(!received(), "{tier:?}: {script}");
        }
        world.unsandboxed(&script);
        assert!(received(), "the attack does not work without a sandbox: {script}");
    }
    let mut server = Command::new("python3")
        .args([
            "-c",
            &format!(
                "import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0{abstract_name}'); s.listen(); \
                 print('up', flush=True); c, _ = s.accept(); print(c.recv(9).decode(), flush=True)"
            ),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut up = [0; 3];
    server.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
    let script = format!(
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0{abstract_name}'); \
         s.send(b'reached')\""
    );
    for tier in BOTH {
        world.sandboxed(tier, &script);
        assert!(server.try_wait().unwrap().is_none(), "{tier:?}");
    }
    world.unsandboxed(&script);
    let mut printed = String::new();
    server.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    server.wait().unwrap();
    assert!(printed.contains("reached"), "the attack does not work without a sandbox");
}

#[test]
fn dangerous_system_calls_are_blocked_and_reported() {
    let world = World::new();
    let status = "grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status";
    for tier in BOTH {
        let seen = output(&world.sandboxed(tier, status));
        for expected in [
            "CapEff:\t0000000000000000",
            "CapPrm:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ] {
            assert!(seen.contains(expected), "{tier:?}: {seen}");
        }
        for (script, call) in [
            ("unshare -Ur true", "unshare"),
            ("mount -t tmpfs x /tmp", "mount"),
            (
                "strace -f true || python3 -c 'import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)'",
                "ptrace",
            ),
            ("python3 -c 'import ctypes; ctypes.CDLL(None).syscall(425, 8, 0)'", "io_uring_setup"),
            ("python3 -c 'import ctypes; ctypes.CDLL(None).syscall(321, 0, 0, 0)'", "bpf"),
            (
                "python3 -c 'import ctypes; ctypes.CDLL(None).syscall(298, 0, 0, 0, 0, 0)'",
                "perf_event_open",
            ),
            ("python3 -c 'import ctypes; ctypes.CDLL(None).syscall(323, 0)'", "userfaultfd"),
            ("python3 -c 'import ctypes; ctypes.CDLL(None).syscall(250, 0, 0)'", "keyctl"),
            (
                "python3 -c 'import ctypes; ctypes.CDLL(None).syscall(304, 0, 0, 0)'",
                "open_by_handle_at",
            ),
            ("python3 -c 'import ctypes; ctypes.CDLL(None).setns(0, 0)'", "setns"),
        ] {
            let outcome = world.sandboxed(tier, script);
            let reported = outcome.violations.iter().any(|violation| violation.call == call);
            assert!(reported, "{tier:?}: {script}: {:?} {}", outcome.violations, output(&outcome));
        }
    }
    // A setuid program has no effect.
    fs::copy("/usr/bin/id", world.path("skill/id")).unwrap();
    fs::set_permissions(world.path("skill/id"), fs::Permissions::from_mode(0o4755)).unwrap();
    let seen =
        output(&world.sandboxed(Tier::A, &format!("{}/id -u", world.path("skill").display())));
    assert_eq!(seen.trim(), "1000");
}

#[test]
fn nothing_is_inherited_from_the_caller() {
    let world = World::new();
    // The script looks for this process's environment and descriptors.
    let file = fs::File::open(world.path("home/.ssh/id")).unwrap();
    let script = "env; cat /proc/self/environ; ls -l /proc/self/fd; \
                  for fd in 3 4 5 6 7 8 9 10 11 12; do cat <&$fd; done 2>/dev/null; tty; \
                  head -c1 < /dev/stdin | wc -c";
    for tier in BOTH {
        let seen = output(&world.sandboxed(tier, script));
        assert!(!seen.contains(CANARY) && !seen.contains("CARGO"), "{tier:?}: {seen}");
        assert!(seen.contains("not a tty"), "{tier:?}: {seen}");
        assert!(!seen.contains("/home/.ssh"), "{tier:?}: {seen}");
    }
    drop(file);
}

#[test]
fn limits_of_other_processes_cannot_be_changed() {
    let world = World::new();
    let mut victim = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = victim.id();
    let limits = || fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let before = limits();
    let script = format!(
        "python3 -c \"import resource; resource.prlimit({pid}, resource.RLIMIT_CPU, (1, 1))\"; \
         python3 -c \"import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0)); \
         resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))\""
    );
    for tier in BOTH {
        world.sandboxed(tier, &script);
        assert_eq!(limits(), before, "{tier:?}");
    }
    world.unsandboxed(&format!(
        "python3 -c \"import resource; resource.prlimit({pid}, resource.RLIMIT_CPU, (100, 100))\""
    ));
    assert_ne!(limits(), before, "the attack works without a sandbox");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn tier_b_blocks_datagrams_and_shared_memory() {
    let world = World::new();
    let datagram = UnixDatagram::bind(world.path("work/datagram")).unwrap();
    datagram.set_nonblocking(true).unwrap();
    let send = format!(
        "python3 -c \"import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); \
         a.sendto(b'x', '{}')\"",
        world.path("work/datagram").display()
    );
    let received = || datagram.recv(&mut [0; 8]).is_ok();
    world.sandboxed(Tier::B, &send);
    assert!(!received());
    world.unsandboxed(&send);
    assert!(received(), "the attack works without a sandbox");
    let shared = "python3 -c \"import ctypes; c = ctypes.CDLL(None); \
                  print('made' if c.shmget(0, 4096, 0o1666) >= 0 else 'refused')\"";
    assert!(world.unsandboxed(shared).contains("made"), "the attack works without a sandbox");
    assert!(output(&world.sandboxed(Tier::B, shared)).contains("refused"));
    assert!(
        output(&world.sandboxed(Tier::A, shared)).contains("made"),
        "tier A has an IPC namespace"
    );
    let clean_up = "ipcs -m | awk '$3 == \"root\" && $5 == 4096 && $6 == 0 {print $2}' | xargs -r -n1 ipcrm -m";
    Command::new("bash").args(["-c", clean_up]).status().unwrap();
}

#[test]
fn setuid_bits_cannot_be_set_and_devices_cannot_be_changed() {
    let world = World::new();
    world.write("work/tool", "x");
    let script = "chmod u+s tool; \
                  python3 -c \"import os; os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755); \
                  os.chmod('tool', 0o6755)\"; \
                  chmod 600 /dev/null; touch -d 2001-01-01 /dev/null; echo x > /dev/null && echo written";
    let before = fs::metadata("/dev/null").unwrap();
    let mut spec = world.spec("/bin/bash", &["-c", script]);
    spec.workspace =
        Some(sandbox::Workspace { path: world.path("work"), writes: sandbox::Writes::Direct });
    let seen = output(&crate::world::run(&spec));
    assert!(seen.contains("written"), "{seen}");
    for name in ["work/tool", "work/made"] {
        let mode = fs::metadata(world.path(name)).map_or(0, |metadata| metadata.mode());
        assert_eq!(mode & 0o6000, 0, "{name}");
    }
    let after = fs::metadata("/dev/null").unwrap();
    assert_eq!((before.mode(), before.mtime()), (after.mode(), after.mtime()));
    world.unsandboxed("chmod u+s tool");
    assert_eq!(
        fs::metadata(world.path("work/tool")).unwrap().mode() & 0o4000,
        0o4000,
        "the attack works without a sandbox"
    );
}

#[test]
fn the_interpreter_the_system_and_own_limits_cannot_be_changed() {
    let world = World::new();
    fs::create_dir_all(world.path("prefix/lib/site-packages")).unwrap();
    let prefix = world.path("prefix").display().to_string();
    for tier in BOTH {
        let script = format!(
            "echo evil > {prefix}/lib/site-packages/evil.py; mkdir {prefix}/x; mknod {prefix}/dev c 1 3; \
             mknod dev c 1 3; \
             for f in /sys/fs/cgroup/*/openskills*/pids.max /sys/fs/cgroup/pids/pids.max \
             /proc/sys/kernel/hostname; do echo 1 > $f; done; \
             python3 -c \"import sysconfig, os; \
             open(os.path.join(sysconfig.get_paths()['purelib'], 'sandbox_evil.py'), 'w')\""
        );
        let mut spec = world.spec("/bin/bash", &["-c", &script]);
        spec.read.push(world.path("prefix"));
        spec.strongest = tier;
        crate::world::run(&spec);
        assert_eq!(
            fs::read_dir(world.path("prefix/lib/site-packages")).unwrap().count(),
            0,
            "{tier:?}"
        );
        assert_eq!(fs::read_dir(world.path("prefix")).unwrap().count(), 1, "{tier:?}");
    }
    world.unsandboxed(&format!("echo evil > {prefix}/lib/site-packages/evil.py"));
    assert!(
        world.path("prefix/lib/site-packages/evil.py").exists(),
        "the attack works without a sandbox"
    );
}

#[test]
fn memory_of_other_processes_cannot_be_read() {
    let world = World::new();
    let mut victim = Command::new("python3")
        .args([
            "-c",
            &format!(
                "import time; x = '{CANARY}' * 1000; print('up', flush=True); time.sleep(600)"
            ),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut up = [0; 2];
    victim.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
    let pid = victim.id();
    let script = format!(
        "python3 - <<'E'\nfor line in open('/proc/{pid}/maps'):\n\
         \x20 if 'rw-p' not in line: continue\n\
         \x20 a, b = (int(x, 16) for x in line.split()[0].split('-'))\n\
         \x20 m = open('/proc/{pid}/mem', 'rb'); m.seek(a)\n\
         \x20 try: d = m.read(b - a)\n\
         \x20 except OSError: continue\n\
         \x20 i = d.find(b'canary-')\n\
         \x20 if i >= 0: print(d[i:i+13].decode()); break\nE"
    );
    cannot_read(&world, &script);
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn other_ways_to_the_network_are_blocked() {
    let world = World::new();
    // Each script prints `reached` if it works; it is tried without a sandbox first.
    for (way, code) in [
        ("IPv6", "s = socket.socket(socket.AF_INET6); s.bind(('::1', 0)); s.listen()"),
        ("listening", "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()"),
        (
            "DNS",
            "socket.getaddrinfo('localhost', 80); s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
             s.connect(('127.0.0.53', 53))",
        ),
        (
            "ping",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) \
             if open('/proc/sys/net/ipv4/ping_group_range').read().split()[1] != '0' \
             else socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
        ),
        (
            "metadata",
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('169.254.169.254', 80))",
        ),
        ("raw packets", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    ] {
        let script = format!("python3 -c \"import socket; {code}; print('re' + 'ached')\"");
        let works = world.unsandboxed(&script).contains("reached");
        for tier in BOTH {
            let seen = output(&world.sandboxed(tier, &script));
            assert!(!seen.contains("reached"), "{tier:?}: {way}: {seen}");
        }
        // Not every machine supports these or allows them for every user.
        assert!(
            works || matches!(way, "ping" | "raw packets" | "IPv6" | "metadata" | "DNS"),
            "the attack does not work without a sandbox: {way}"
        );
    }
}

#[test]
fn descriptors_and_terminals_of_other_processes_cannot_be_used() {
    let world = World::new();
    let file = fs::File::open(world.path("home/.ssh/id")).unwrap();
    let own = std::process::id();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let script = format!(
        "python3 -c \"import ctypes, os; c = ctypes.CDLL(None, use_errno=True); p = os.pidfd_open({own}); \
         f = c.syscall(438, p, {number}, 0); print(os.read(f, 100) if f >= 0 else 'refused')\""
    );
    cannot_read(&world, &script);
    for tier in BOTH {
        let script = "python3 -c \"import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('typed')\"; cat < /dev/tty";
        let outcome = world.sandboxed(tier, script);
        assert!(!output(&outcome).contains("typed"), "{tier:?}");
    }
    drop(file);
}
