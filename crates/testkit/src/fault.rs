//! Injects faults with `strace`: kills a program, or lets a system call fail, at each of its changes in turn.

#![expect(clippy::disallowed_methods, reason = "reads the output of strace")]

use std::fs;

use crate::env::{Run, TestEnv};

/// The system calls that change something. Opening a file for writing is covered by the write after it.
const CHANGES: [&str; 16] = [
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "symlink",
    "symlinkat",
    "link",
    "linkat",
    "write",
    "ftruncate",
    "fchmod",
    "copy_file_range",
];

/// More calls of one kind than any tested command makes; guards against an endless loop.
const MAX_CALLS: usize = 400;

/// What happens at the chosen system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process that makes it is killed.
    Kill,
    /// It fails with "permission denied".
    Deny,
}

impl Fault {
    fn action(self) -> &'static str {
        match self {
            Self::Kill => "signal=KILL",
            Self::Deny => "error=EACCES",
        }
    }

    /// The text that `strace` writes when it injected the fault.
    fn trace(self) -> &'static str {
        match self {
            Self::Kill => "+++ killed by SIGKILL",
            Self::Deny => "(INJECTED)",
        }
    }
}

impl TestEnv {
    /// Reports whether faults can be injected on this machine.
    pub fn has_faults(&self) -> bool {
        self.command("strace", &["--version"]).output().is_ok_and(|output| output.status.success())
    }

    /// Runs `call` once for each change that it makes, with `fault` at that change; returns the number of changes.
    ///
    /// Before each run, the work folder and the home are restored, so that writes to the home fail as well. `check`
    /// gets a label of the change and the result of the run.
    pub fn at_each_change(
        &self,
        fault: Fault,
        call: &[&str],
        mut check: impl FnMut(&str, &Run),
    ) -> usize {
        self.shell(
            "rm -rf ../kept && mkdir ../kept && cp -a . ../kept/work && cp -a ../home ../kept/home",
        );
        let trace = self.path("strace.out");
        let output = trace.to_string_lossy().into_owned();
        let mut count = 0;
        for kind in CHANGES {
            // `when` counts per thread; the first number that is not reached was the last call of this kind.
            for number in 1.. {
                assert!(number < MAX_CALLS, "{kind} is called without end");
                self.shell("find . ../home -mindepth 1 -delete");
                self.shell("cp -a ../kept/work/. . && cp -a ../kept/home/. ../home");
                let only = format!("trace={kind}");
                let inject = format!("inject={kind}:{}:when={number}", fault.action());
                let mut arguments = vec!["-f", "-q", "-o", &output, "-e", &only, "-e", &inject];
                arguments.extend(call);
                let mut command = self.command("strace", &arguments);
                // One thread, so that the numbers refer to the same calls in each run.
                command.env("RAYON_NUM_THREADS", "1");
                let run = self.output(&mut command);
                if !fs::read_to_string(&trace).is_ok_and(|text| text.contains(fault.trace())) {
                    break;
                }
                count += 1;
                check(&format!("{kind} {number}"), &run);
            }
        }
        count
    }

    fn shell(&self, line: &str) {
        let run = self.run_args("sh", &["-c", line]);
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    }
}
