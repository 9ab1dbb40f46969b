//! A machine for attacks: a home with secrets, a workspace, a skill, and a way to run a script with and without a sandbox.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Once;

use sandbox::{Ended, Guarantee, Outcome, Spec, Tier, Workspace, Writes};

/// What must never be seen in the output of a script.
pub(crate) const CANARY: &str = "canary-4c1d9e";

/// A scratch folder that is no temporary folder of the system's, since those are hidden by the sandbox anyway.
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
        // Another user, whom the suite is run as too, has a folder of its own.
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

    /// Returns what runs a script of the skill.
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

    /// Runs a script in bash, without any sandbox, as the attacker wishes it were.
    pub(crate) fn free(&self, script: &str) -> String {
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

    /// Runs a script in bash, in a sandbox.
    pub(crate) fn held(&self, tier: Tier, script: &str) -> Outcome {
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

/// Returns all output of a run.
pub(crate) fn output(outcome: &Outcome) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&outcome.stdout.bytes) + &text(&outcome.stderr.bytes)
}

/// Makes sure that a run ended well.
pub(crate) fn good(outcome: &Outcome) -> String {
    let told = output(outcome);
    assert_eq!(outcome.ended, Ended::Exited(0), "{told}");
    told
}
