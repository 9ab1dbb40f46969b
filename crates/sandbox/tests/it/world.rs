//! The environment for attacks: a home folder with secrets, a workspace and a skill, and functions that run a script
//! with and without a sandbox.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Once;

use sandbox::{Ended, Guarantee, Outcome, Spec, Tier, Workspace, Writes};

/// A secret that must never appear in the output of a script.
pub(crate) const CANARY: &str = "canary-4c1d9e";

/// A scratch folder outside of the system's temporary folder, which the sandbox hides anyway.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

static HELPER: Once = Once::new();

impl World {
    pub(crate) fn new() -> Self {
        HELPER.call_once(|| {
            let stage = std::env::var_os("SANDBOX_TEST_STAGE").map(PathBuf::from);
            sandbox::use_helper(
                stage.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_sandbox-stage"))),
            );
        });
        // The suite also runs as another user, who needs a different folder.
        let base = std::env::var_os("SANDBOX_TEST_FOLDER").map(PathBuf::from);
        let base = base.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
        let folder = tempfile::Builder::new().prefix("world-").tempdir_in(base).unwrap();
        let world = Self { folder };
        for name in ["home/.ssh", "home/.aws", "work", "skill", "other-skill"] {
            fs::create_dir_all(world.path(name)).unwrap();
        }
        for name in [
            "home/.ssh/id",
            "home/.aws/credentials",
            "other-skill/SKILL.md",
            ".env",
            "home/.bashrc",
        ] {
            fs::write(world.path(name), format!("{CANARY}\n")).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Returns the specification for a program of the skill.
    pub(crate) fn spec(&self, program: &str, args: &[&str]) -> Spec {
        let mut spec = Spec::new(program);
        spec.args = args.iter().map(OsString::from).collect();
        spec.env = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/tmp/home"),
            ("TMPDIR", "/tmp"),
            ("LANG", "C.UTF-8"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        spec.read = vec![self.path("skill")];
        spec.workspace = Some(Workspace { path: self.path("work"), writes: Writes::Layer });
        spec.cwd = self.path("work");
        spec
    }

    /// Runs a script in bash without a sandbox, and returns its output.
    pub(crate) fn unsandboxed(&self, script: &str) -> String {
        let output = Command::new("/bin/bash")
            .args(["-c", script])
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("TMPDIR", "/tmp")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        text(&output.stdout) + &text(&output.stderr)
    }

    /// Runs a script in bash in a sandbox.
    pub(crate) fn sandboxed(&self, tier: Tier, script: &str) -> Outcome {
        let mut spec = self.spec("/bin/bash", &["-c", script]);
        if tier == Tier::B {
            spec.strongest = Tier::B;
            spec.workspace = Some(Workspace { path: self.path("work"), writes: Writes::Direct });
            spec.required = Guarantee::CORE.into_iter().collect();
        }
        let outcome = run(&spec);
        assert_eq!(outcome.tier, Some(tier));
        outcome
    }
}

pub(crate) fn run(spec: &Spec) -> Outcome {
    sandbox::start(spec).unwrap().wait().unwrap()
}

/// Returns the standard output and standard error of a run.
pub(crate) fn output(outcome: &Outcome) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&outcome.stdout.bytes) + &text(&outcome.stderr.bytes)
}

/// Checks that a run exited with code 0, and returns its output.
pub(crate) fn successful_output(outcome: &Outcome) -> String {
    let output = output(outcome);
    assert_eq!(outcome.ended, Ended::Exited(0), "{output}");
    output
}
