//! Modules for the tests, assembled from the text format, and functions that run them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{Limits, Spec, Workspace, Writes};
use sandbox_wasm::{Artifact, Guest, Job, Report, compile, run};

/// What most modules need: WASI functions, a memory, and functions that write text and numbers.
const PRELUDE: &str = r#"
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 2)
  (func $put (param $fd i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  ;; Writes a number as two hexadecimal digits and a line feed.
  (func $digit (param $n i32) (result i32)
    (select (i32.add (local.get $n) (i32.const 48)) (i32.add (local.get $n) (i32.const 87))
      (i32.lt_u (local.get $n) (i32.const 10))))
  (func $number (param $n i32)
    (i32.store8 (i32.const 16) (call $digit (i32.shr_u (i32.and (local.get $n) (i32.const 255)) (i32.const 4))))
    (i32.store8 (i32.const 17) (call $digit (i32.and (local.get $n) (i32.const 15))))
    (i32.store8 (i32.const 18) (i32.const 10))
    (call $put (i32.const 1) (i32.const 16) (i32.const 3)))
  ;; Opens a file below a folder, and writes the result code.
  (func $open (param $folder i32) (param $at i32) (param $length i32) (param $flags i32) (param $rights i64)
    (call $number (call $path_open (local.get $folder) (i32.const 0) (local.get $at) (local.get $length)
      (local.get $flags) (local.get $rights) (local.get $rights) (i32.const 0) (i32.const 12))))
"#;

/// Assembles a module from further imports, the prelude and the rest. Imports must come first.
pub(crate) fn wat(imports: &str, rest: &str) -> Vec<u8> {
    let text = format!("(module {imports} {PRELUDE} {rest})");
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Assembles a module with this code as its `_start` function.
pub(crate) fn start_function(rest: &str) -> Vec<u8> {
    wat("", &format!(r#"(func (export "_start") {rest})"#))
}

pub(crate) fn hello() -> Vec<u8> {
    let rest = r#"(data (i32.const 100) "{\"hello\": 1}\n")
      (func (export "_start") (call $put (i32.const 1) (i32.const 100) (i32.const 13)))"#;
    wat("", rest)
}

/// A skill, a workspace and another folder beside them.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) spec: Spec,
    pub(crate) seed: Option<u64>,
}

impl World {
    pub(crate) fn new() -> Self {
        // Not below /tmp, because a run inside the stage has its own /tmp.
        let base = std::env::var_os("SANDBOX_TEST_FOLDER").map(PathBuf::from);
        let base = base.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned());
        let folder = tempfile::tempdir_in(base).unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["skill", "work", "beside"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("skill/data.txt"), "of the skill").unwrap();
        std::fs::write(root.join("work/notes.txt"), "of the workspace").unwrap();
        std::fs::write(root.join("beside/secret.txt"), "CANARY").unwrap();
        std::os::unix::fs::symlink("../beside/secret.txt", root.join("skill/link")).unwrap();
        std::os::unix::fs::symlink(root.join("beside"), root.join("work/away")).unwrap();
        let mut spec = Spec::new(root.join("skill/wasm/skill.wasm"));
        spec.read = vec![root.join("skill")];
        spec.workspace = Some(Workspace { path: root.join("work"), writes: Writes::Direct });
        spec.limits =
            Limits { wall: Duration::from_secs(20), memory: 16 << 20, ..Limits::default() };
        Self { folder, spec, seed: None }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn guest(&self) -> Guest {
        Guest { skill: self.root().join("skill"), seed: self.seed }
    }

    /// Runs a module in this process.
    pub(crate) fn run(&self, wasm: &[u8]) -> Report {
        self.run_code(&compile(wasm).unwrap())
    }

    pub(crate) fn run_code(&self, code: &Artifact) -> Report {
        run(&Job::in_process(&self.spec, &self.guest()).unwrap(), code).unwrap()
    }

    /// Returns what a module writes, line by line.
    pub(crate) fn lines(&self, wasm: &[u8]) -> Vec<String> {
        let report = self.run(wasm);
        assert_eq!(report.ended, sandbox::Ended::Exited(0), "{report:?}");
        text(&report.stdout.bytes).lines().map(str::to_owned).collect()
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
