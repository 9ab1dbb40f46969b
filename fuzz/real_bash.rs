//! Lines that a list of `git` does not deny, tried in a real bash: it must start nothing but git, and write nothing. Used by the
//! fuzz target and, on random lines, by a test.
//!
//! A line that is to be asked about is tried as well: git's own ways to run programs are the reason to ask, and here git is a
//! script that has none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use openskills_runtime::policy::{CallContext, Decision, Launchers, ToolCall, ToolLists, decide};
use serde_json::json;
use skill::AllowedTools;
use skill::capabilities::ToolLimits;

/// Programs that note that they were started.
const TRIPWIRES: [&str; 11] =
    ["git", "evil", "rm", "sh", "env", "xargs", "log", "status", "out", "touch", "cat"];

/// A bash with nothing in reach but tripwires.
pub struct RealBash {
    bash: &'static str,
    bin: PathBuf,
    work: PathBuf,
    log: PathBuf,
}

impl RealBash {
    /// Makes one in a folder; `None` where there is no bash.
    pub fn new(folder: &Path) -> Option<Self> {
        let bash =
            ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists())?;
        let (bin, work, log) = (folder.join("bin"), folder.join("empty"), folder.join("started"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&work).unwrap();
        for name in TRIPWIRES {
            let script = format!("#!{bash}\nprintf '%s\\n' {name} >> \"$LOG\"\n");
            fs::write(bin.join(name), script).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        // The real wrappers: what they start is what counts.
        for name in ["timeout", "nice", "nohup"] {
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            symlink(real.iter().find(|path| path.exists())?, bin.join(name)).ok();
        }
        Some(Self { bash, bin, work, log })
    }

    /// Panics if a line that is not denied starts or writes anything. Returns true if it was tried.
    pub fn check(&self, line: &str) -> bool {
        let limits = ToolLimits::allowing(&AllowedTools::from_text("Bash(git:*)"));
        let around = CallContext::new(&self.work, &self.work, None, |_| None);
        let input = json!({ "command": line });
        let call = ToolCall::from_json("Bash", &input, &around, |_| None, |_| None);
        let (lists, launchers) = (ToolLists::Allowlist, Launchers::Ask);
        let verdict = decide(&call, &limits, lists, launchers, &around);
        if verdict.decision == Decision::Deny {
            return false;
        }
        let _ = fs::remove_file(&self.log);
        let mut shell = Command::new(self.bash);
        shell.args(["--norc", "--noprofile", "-c", line]).current_dir(&self.work).env_clear();
        shell.env("PATH", &self.bin).env("X", "; evil").env("LOG", &self.log);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        for program in fs::read_to_string(&self.log).unwrap_or_default().lines() {
            assert_eq!(program, "git", "{line:?} was not denied");
        }
        let left: Vec<_> =
            fs::read_dir(&self.work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{line:?} was not denied and made {left:?}");
        true
    }
}
