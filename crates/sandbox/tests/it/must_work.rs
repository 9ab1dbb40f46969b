//! Honest scripts work in the sandbox.

use std::fs;

use sandbox::{Ended, Tier};

use crate::world::{World, output, run, successful_output};

fn python(world: &World, script: &str) -> String {
    fs::write(world.path("skill/run.py"), script).unwrap();
    let path = world.path("skill/run.py");
    successful_output(&run(&world.spec("/usr/bin/env", &["python3", path.to_str().unwrap()])))
}

#[test]
fn python_works() {
    let world = World::new();
    if !std::path::Path::new("/usr/bin/python3").exists() {
        testkit::skip("python in the sandbox", "`/usr/bin/python3` is not installed");
        return;
    }
    fs::write(world.path("skill/sibling.py"), "value = 7\n").unwrap();
    fs::write(world.path("skill/data.json"), "{\"a\": \"ü\"}").unwrap();
    let script = r#"
import json, ssl, sqlite3, ctypes, tempfile, subprocess, threading, asyncio, os, pwd, sys, socket, mmap, zoneinfo
import multiprocessing
import sibling
assert sibling.value == 7
here = os.path.dirname(__file__)
assert json.load(open(here + "/data.json"))["a"] == "ü"
assert sqlite3.connect(":memory:").execute("select 1").fetchone() == (1,)
ctypes.CDLL(None).getpid()
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
assert subprocess.run(["cat"], input=b"x", capture_output=True).stdout == b"x"
assert subprocess.check_output("cat <(echo hi) | tr a-z A-Z", shell=True, executable="/bin/bash") == b"HI\n"
t = threading.Thread(target=lambda: None); t.start(); t.join()
async def main():
    p = await asyncio.create_subprocess_exec("true"); await p.wait()
asyncio.run(main())
lock = multiprocessing.Lock()
with lock: pass
with multiprocessing.get_context("fork").Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
assert pwd.getpwuid(os.getuid()).pw_name == "skill"
zoneinfo.ZoneInfo("Europe/Berlin")
os.urandom(4); open("/dev/null", "w").write("x")
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); m.close()
s = socket.socket(socket.AF_UNIX); s.bind("/tmp/own"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("/tmp/own")
assert not sys.stdin.isatty() and sys.getfilesystemencoding() == "utf-8"
open("result ü.txt", "w").write("done")
assert os.path.expanduser("~") == "/tmp/home"
print("all good")
"#;
    assert_eq!(python(&world, script), "all good\n");
}

#[test]
fn bash_and_node_and_git_work() {
    let world = World::new();
    let seen = successful_output(&world.sandboxed(
        Tier::A,
        "set -e; f=$(mktemp); cat > $f <<'E'\nhere\nE\ncat $f; diff <(echo a) <(echo a); mkdir 'a b'; \
         echo x > 'a b/ü'; cat 'a b/ü'; git init -q . && git status --short | head -1",
    ));
    assert_eq!(seen, "here\nx\n?? \"a b/\"\n");
    if std::path::Path::new("/usr/bin/node").exists() {
        let seen = successful_output(&world.sandboxed(
            Tier::A,
            "node -e \"const {execSync} = require('child_process'); const {Worker} = require('worker_threads'); \
             console.log(execSync('echo child').toString().trim()); \
             new Worker('console.log(1)', {eval: true}).on('exit', () => console.log('worker'))\"",
        ));
        assert!(seen.contains("child") && seen.contains("worker"), "{seen}");
    } else {
        testkit::skip("node in the sandbox", "`node` is not installed");
    }
}

#[test]
fn exit_codes_input_and_binary_output_are_passed_through() {
    let world = World::new();
    for tier in [Tier::A, Tier::B] {
        for (script, ended) in [
            ("exit 0", Ended::Exited(0)),
            ("exit 1", Ended::Exited(1)),
            ("exit 42", Ended::Exited(42)),
            ("kill -9 $$", Ended::Signalled(9)),
            ("kill -TERM $$", Ended::Signalled(15)),
        ] {
            assert_eq!(world.sandboxed(tier, script).ended, ended, "{tier:?}: {script}");
        }
        let outcome = world.sandboxed(tier, "printf '\\377\\376'; printf err >&2");
        assert_eq!(outcome.stdout.bytes, b"\xff\xfe");
        assert_eq!(outcome.stderr.bytes, b"err");
    }
    let mut spec = world.spec("/bin/cat", &[]);
    spec.stdin = sandbox::Stdin::Bytes(vec![b'x'; 1 << 20]);
    let outcome = run(&spec);
    assert_eq!(outcome.stdout.total, 1 << 20, "{}", output(&outcome).len());
}

#[test]
fn ordinary_programs_work_in_tier_b() {
    let world = World::new();
    world.write("work/data.txt", "one\ntwo\n");
    std::os::unix::fs::symlink("data.txt", world.path("work/link")).unwrap();
    // Programs that try extended attributes, inotify, file flags and link targets, and work without them.
    let script = "set -e; cp -a data.txt copy; cp --reflink=auto data.txt again; mv again moved; ls -la > list; \
                  readlink link; realpath -e link > real; \
                  tar cf all.tar data.txt link; tar tf all.tar; sed -i s/one/1/ copy; cat copy; sort -o copy copy; \
                  wc -l < copy; \
                  python3 -c \"import os, shutil, tempfile; shutil.copy2('data.txt', 'second'); \
                  shutil.copytree('.', tempfile.mkdtemp() + '/t', symlinks=True); \
                  print(os.path.basename(os.path.realpath('link')), os.isatty(0))\"; \
                  git init -q . && git add data.txt link && git status --short | head -2";
    let seen = successful_output(&world.sandboxed(Tier::B, script));
    assert_eq!(seen, "data.txt\ndata.txt\nlink\n1\ntwo\n2\ndata.txt False\nA  data.txt\nA  link\n");
}
