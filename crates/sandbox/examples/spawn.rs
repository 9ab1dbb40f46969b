//! Measures how long it takes to start a program that does nothing: without a sandbox, in both tiers, and in bubblewrap
//! with the same isolation. Prints the minimum of COUNT runs in microseconds, one measurement per line, for
//! `bench/run`.
//!
//!     spawn COUNT

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark program")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::{Spec, Tier};

const BWRAP: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--clearenv",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/sbin",
    "/sbin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--ro-bind",
    "/etc/ld.so.cache",
    "/etc/ld.so.cache",
    "--ro-bind",
    "/etc/alternatives",
    "/etc/alternatives",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "--chdir",
    "/",
    "/bin/true",
];

fn main() {
    sandbox::init();
    let count: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    let least = |run: &dyn Fn() -> bool| -> Option<Duration> {
        (0..count)
            .map(|_| {
                let start = Instant::now();
                run().then(|| start.elapsed())
            })
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .min()
    };
    let program = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let sandboxed = |tier: Tier| {
        let mut spec = Spec::new("/bin/true");
        spec.strongest = tier;
        sandbox::start(&spec)
            .and_then(sandbox::Running::wait)
            .is_ok_and(|outcome| outcome.tier == Some(tier))
    };
    let show = |name: &str, time: Option<Duration>| match time {
        Some(time) => println!("{name}\t{}", time.as_micros()),
        None => println!("{name}\t-"),
    };
    show("posix_spawn", least(&|| program("/bin/true", &[])));
    show("tier A", least(&|| sandboxed(Tier::A)));
    show("tier B", least(&|| sandboxed(Tier::B)));
    show("bwrap", least(&|| program("bwrap", BWRAP)));
}
