//! What a list of tools allows is tried in a real bash: it must start nothing but what the list names.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use openskills_runtime::policy::{Decision, Surroundings, ToolCall, ToolInput, decide};
use skill::AllowedTools;
use skill::capabilities::ToolLimits;

use crate::World;

/// Pieces that lines are made of: what a list of `git` allows, and everything that could make a shell do more.
const PIECES: &[&str] = &[
    "git",
    "git",
    "git",
    "evil",
    "rm",
    "sh",
    "timeout",
    "nice",
    "nohup",
    "env",
    "xargs",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\t",
    ";",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "$X",
    "${X}",
    "${X:-evil}",
    "{",
    "}",
    ",",
    "<",
    ">",
    ">>",
    "<(",
    "2>&1",
    "2>/dev/null",
    "out",
    "=",
    "LANG=C",
    "X=1",
    "#",
    "!",
    "*",
    "?",
    "[",
    "]",
    "(",
    "~",
    "-",
    "--",
    "-n",
    "5",
    "log",
    "status",
    "$",
    "é",
    "\u{a0}",
    "\r",
    "eval",
    "command",
    "exec",
    ".",
    "time",
    "-p",
];

/// A small generator of its own, so that a failure can be tried again by its number.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }
}

#[test]
fn what_is_allowed_starts_nothing_else_in_a_real_bash() {
    let world = World::new("");
    let bash = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| fs::metadata(path).is_ok());
    let Some(bash) = bash else {
        testkit::skip("rules tried in a real bash", "`bash` is not there");
        return;
    };
    let (bin, work) = (world.path("bin"), world.path("work"));
    fs::create_dir(&bin).unwrap();
    for name in ["git", "evil", "rm", "sh", "env", "xargs", "log", "status", "out"] {
        let script = format!("#!{bash}\nprintf '%s\\n' {name} >> \"$LOG\"\n");
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    // The real wrappers: what they start is what counts.
    for name in ["timeout", "nice", "nohup"] {
        let real = ["/usr/bin", "/bin"].map(|folder| PathBuf::from(folder).join(name));
        let real = real.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(real, bin.join(name)).unwrap();
    }
    let limits = ToolLimits::allowing(&AllowedTools::from_text("Bash(git:*)"));
    let around = Surroundings { workspace: work.clone(), home: None };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut allowed = 0;
    for _ in 0..60_000 {
        let length = 1 + random.next(9);
        let line: String = (0..length).map(|_| PIECES[random.next(PIECES.len())]).collect();
        let call = ToolCall { tool: "Bash".into(), input: ToolInput::Command(line.clone()) };
        if decide(&call, &limits, &around).decision != Decision::Allow {
            continue;
        }
        allowed += 1;
        let log = world.path(&format!("log-{allowed}"));
        let mut shell = Command::new(bash);
        shell.args(["--norc", "--noprofile", "-c", &line]).current_dir(&work).env_clear();
        shell.env("PATH", &bin).env("X", "; evil").env("LOG", &log);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        for program in fs::read_to_string(&log).unwrap_or_default().lines() {
            assert_eq!(program, "git", "{line:?} was allowed");
        }
        let left: Vec<_> =
            fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{line:?} was allowed and made {left:?}");
    }
    assert!(allowed > 100, "only {allowed} lines were allowed");
}
