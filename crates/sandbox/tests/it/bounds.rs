//! Time, memory, processes and output are limited, and nothing outlives a run.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use sandbox::{Ended, Guarantee, Limits, SandboxError, Spec, Tier, Workspace, Writes};

use crate::world::{World, output, run, successful_output};

const BOTH: [Tier; 2] = [Tier::A, Tier::B];

fn limited(world: &World, tier: Tier, limits: Limits, script: &str) -> Spec {
    let mut spec = world.spec("/bin/bash", &["-c", script]);
    spec.limits = limits;
    spec.strongest = tier;
    if tier == Tier::B {
        spec.workspace = Some(Workspace { path: world.path("work"), writes: Writes::Direct });
    }
    spec
}

/// Counts the running processes with a mark in their arguments.
fn count_processes(mark: &str) -> usize {
    let output = Command::new("pgrep").args(["-fc", mark]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0)
}

#[test]
fn the_time_limit_kills_a_run_and_everything_that_it_started() {
    let world = World::new();
    for (tier, mark) in [(Tier::A, "7391.1"), (Tier::B, "7391.2")] {
        let limits = Limits { wall: Duration::from_millis(700), ..Limits::default() };
        let script = format!(
            "setsid sleep {mark} & (sleep {mark} &) ; nohup sleep {mark} >/dev/null 2>&1 & \
             while :; do :; done"
        );
        let start = Instant::now();
        let outcome = run(&limited(&world, tier, limits, &script));
        assert_eq!(outcome.ended, Ended::Timeout, "{tier:?}: {}", output(&outcome));
        assert!(start.elapsed() < Duration::from_millis(1700), "{tier:?}: {:?}", start.elapsed());
        assert_eq!(count_processes(&format!("sleep {mark}")), 0, "{tier:?}");
        // Nothing outlives a successful run either, not even processes that keep its output open.
        let script = format!("setsid sleep {mark} & sleep {mark} & echo done");
        let outcome = run(&limited(&world, tier, Limits::default(), &script));
        assert_eq!(successful_output(&outcome), "done\n");
        assert_eq!(count_processes(&format!("sleep {mark}")), 0, "{tier:?}");
    }
}

#[test]
fn cancelling_or_dropping_a_run_kills_it() {
    let world = World::new();
    for (tier, mark) in [(Tier::A, "7392.1"), (Tier::B, "7392.2")] {
        let running = sandbox::start(&limited(
            &world,
            tier,
            Limits::default(),
            &format!("setsid sleep {mark} & sleep {mark}"),
        ))
        .unwrap();
        running.cancel();
        assert_eq!(running.wait().unwrap().ended, Ended::Cancelled, "{tier:?}");
        assert_eq!(count_processes(&format!("sleep {mark}")), 0);
        drop(
            sandbox::start(&limited(&world, tier, Limits::default(), &format!("sleep {mark}")))
                .unwrap(),
        );
        assert_eq!(count_processes(&format!("sleep {mark}")), 0, "{tier:?}: dropped");
    }
}

#[test]
fn output_is_truncated_and_too_much_kills_the_run() {
    let world = World::new();
    for tier in BOTH {
        let limits = Limits { output_kept: 1000, output_max: 4 << 20, ..Limits::default() };
        let outcome =
            run(&limited(&world, tier, limits, "head -c 1000000 /dev/zero; echo error >&2"));
        assert_eq!((outcome.stdout.bytes.len(), outcome.stdout.total), (1000, 1_000_000));
        assert!(outcome.stdout.is_truncated() && !outcome.stderr.is_truncated());
        let outcome = run(&limited(&world, tier, limits, "cat /dev/zero"));
        assert_eq!(outcome.ended, Ended::Output, "{tier:?}");
    }
}

#[test]
fn memory_and_processes_are_limited() {
    let world = World::new();
    let limits = Limits { memory: 100 << 20, pids: 60, ..Limits::default() };
    let hungry = "python3 -c \"x = bytearray(1)\nwhile True: x += b'y' * (1 << 20)\"";
    let outcome = run(&limited(&world, Tier::A, limits, hungry));
    assert_eq!(outcome.ended, Ended::Memory, "{}", output(&outcome));
    let bomb = "f() { f | f & }; f; for i in $(seq 200); do sleep 5 & done; wait";
    let limits = Limits { wall: Duration::from_secs(3), ..limits };
    let start = Instant::now();
    let outcome = run(&limited(&world, Tier::A, limits, bomb));
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", outcome.ended);
    let limits = Limits { temporary: 1 << 20, ..Limits::default() };
    let outcome = run(&limited(&world, Tier::A, limits, "head -c 5000000 /dev/zero > /tmp/full"));
    assert!(output(&outcome).contains("No space left"), "{}", output(&outcome));
}

#[test]
fn fifty_concurrent_runs_do_not_see_each_other() {
    let world = World::new();
    let runs: Vec<_> = (0..50)
        .map(|number| {
            let script = format!(
                "echo {number} > /tmp/mine; sleep 0.2; cat /tmp/mine; ls /tmp | wc -l; \
                 ls /proc | grep -c '^[0-9]'"
            );
            sandbox::start(&limited(&world, Tier::A, Limits::default(), &script)).unwrap()
        })
        .collect();
    for (number, running) in runs.into_iter().enumerate() {
        let seen = successful_output(&running.wait().unwrap());
        let mut lines = seen.lines();
        assert_eq!(lines.next(), Some(number.to_string().as_str()));
        // If the tests' folder is below /tmp, it is visible too.
        let own = 2 + usize::from(world.path("work").starts_with("/tmp"));
        assert_eq!(lines.next(), Some(own.to_string().as_str()), "its file and its home folder");
        let processes: usize = lines.next().unwrap().parse().unwrap();
        assert!(processes < 8, "{processes}");
    }
}

#[test]
fn a_run_does_not_start_without_a_required_guarantee() {
    let world = World::new();
    let marker = world.path("work/started");
    let script = format!("echo x > {}", marker.display());
    let mut spec = limited(&world, Tier::B, Limits::default(), &script);
    spec.required = Guarantee::ALL
        .into_iter()
        .filter(|guarantee| *guarantee != Guarantee::Mem)
        .collect::<BTreeSet<_>>();
    let refused = sandbox::start(&spec).unwrap_err();
    let SandboxError::Unavailable { missing, .. } = refused else { unreachable!("{refused}") };
    assert!(missing.contains(&Guarantee::MetadataHidden), "{missing:?}");
    assert!(!marker.exists());
    spec.required = Guarantee::CORE.into_iter().collect();
    run(&spec);
    assert!(marker.exists(), "it starts with the core guarantees");
}

#[test]
fn invalid_specifications_have_clear_errors() {
    let world = World::new();
    let error = |change: &dyn Fn(&mut Spec)| {
        let mut spec = world.spec("/bin/true", &[]);
        change(&mut spec);
        sandbox::start(&spec).unwrap_err().to_string()
    };
    let work = |path: &str| Some(Workspace { path: path.into(), writes: Writes::Layer });
    assert!(
        error(&|spec| spec.program = "/nowhere".into())
            .contains("cannot start `/nowhere`: No such file")
    );
    assert!(error(&|spec| spec.workspace = work("/")).contains("it is the root folder"));
    assert!(error(&|spec| spec.workspace = work("/proc")).contains("it is a system path"));
    assert!(error(&|spec| spec.read = vec!["/etc".into()]).contains("it is a system path"));
    assert!(
        error(&|spec| spec.read = vec!["relative".into()])
            .contains("not a normalized absolute path")
    );
    assert!(error(&|spec| spec.args = vec!["a\0b".into()]).contains("null byte"));
    assert!(error(&|spec| spec.cwd = "/nowhere".into()).contains("No such file"));
    let plain = world.path("skill/plain");
    fs::write(&plain, "echo x").unwrap();
    assert!(error(&|spec| spec.program.clone_from(&plain)).contains("Permission denied"));
}

#[test]
fn processes_with_odd_names_or_new_sessions_do_not_outlive_a_run() {
    let world = World::new();
    for tier in BOTH {
        let limits = Limits { wall: Duration::from_millis(800), ..Limits::default() };
        let script = "python3 -c \"import ctypes, os, time\nctypes.CDLL(None).prctl(15, b'\\xff\\xfe\\xfd')\n\
                      os.setsid() if os.fork() == 0 else None\ntime.sleep(20)\"";
        let start = Instant::now();
        let outcome = run(&limited(&world, tier, limits, script));
        assert_eq!(outcome.ended, Ended::Timeout, "{tier:?}: {}", output(&outcome));
        assert!(start.elapsed() < Duration::from_secs(3), "{tier:?}: {:?}", start.elapsed());
    }
}
