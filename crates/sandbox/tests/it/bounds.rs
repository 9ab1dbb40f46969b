//! Time, memory, processes and output are bounded, and nothing outlives a run.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use sandbox::{Ended, Guarantee, Limits, SandboxError, Spec, Tier, Workspace, Writes};

use crate::world::{World, good, output, run};

const BOTH: [Tier; 2] = [Tier::A, Tier::B];

fn bounded(world: &World, tier: Tier, limits: Limits, script: &str) -> Spec {
    let mut spec = world.spec("/bin/bash", &["-c", script]);
    spec.limits = limits;
    spec.strongest = tier;
    if tier == Tier::B {
        spec.workspace = Some(Workspace { path: world.path("work"), writes: Writes::Direct });
    }
    spec
}

/// Counts processes with a mark in their arguments.
fn living(mark: &str) -> usize {
    let output = Command::new("pgrep").args(["-fc", mark]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0)
}

#[test]
fn time_ends_a_run_and_everything_that_it_started() {
    let world = World::new();
    for (tier, mark) in [(Tier::A, "7391.1"), (Tier::B, "7391.2")] {
        let limits = Limits { wall: Duration::from_millis(700), ..Limits::default() };
        let script = format!(
            "setsid sleep {mark} & (sleep {mark} &) ; nohup sleep {mark} >/dev/null 2>&1 & while :; do :; done"
        );
        let start = Instant::now();
        let outcome = run(&bounded(&world, tier, limits, &script));
        assert_eq!(outcome.ended, Ended::Timeout, "{tier:?}: {}", output(&outcome));
        assert!(start.elapsed() < Duration::from_millis(1700), "{tier:?}: {:?}", start.elapsed());
        assert_eq!(living(&format!("sleep {mark}")), 0, "{tier:?}");
        // Nor does anything outlive a good end, not even what holds the output open.
        let script = format!("setsid sleep {mark} & sleep {mark} & echo done");
        let outcome = run(&bounded(&world, tier, Limits::default(), &script));
        assert_eq!(good(&outcome), "done\n");
        assert_eq!(living(&format!("sleep {mark}")), 0, "{tier:?}");
    }
}

#[test]
fn a_run_ends_with_whoever_wants_it() {
    let world = World::new();
    for (tier, mark) in [(Tier::A, "7392.1"), (Tier::B, "7392.2")] {
        let running = sandbox::start(&bounded(
            &world,
            tier,
            Limits::default(),
            &format!("setsid sleep {mark} & sleep {mark}"),
        ))
        .unwrap();
        running.cancel();
        assert_eq!(running.wait().unwrap().ended, Ended::Cancelled, "{tier:?}");
        assert_eq!(living(&format!("sleep {mark}")), 0);
        drop(
            sandbox::start(&bounded(&world, tier, Limits::default(), &format!("sleep {mark}")))
                .unwrap(),
        );
        assert_eq!(living(&format!("sleep {mark}")), 0, "{tier:?}: dropped");
    }
}

#[test]
fn output_is_kept_in_part_and_too_much_ends_the_run() {
    let world = World::new();
    for tier in BOTH {
        let limits = Limits { output_kept: 1000, output_most: 4 << 20, ..Limits::default() };
        let outcome =
            run(&bounded(&world, tier, limits, "head -c 1000000 /dev/zero; echo error >&2"));
        assert_eq!((outcome.stdout.bytes.len(), outcome.stdout.total), (1000, 1_000_000));
        assert!(outcome.stdout.is_cut() && !outcome.stderr.is_cut());
        let outcome = run(&bounded(&world, tier, limits, "cat /dev/zero"));
        assert_eq!(outcome.ended, Ended::Output, "{tier:?}");
    }
}

#[test]
fn memory_and_processes_are_bounded() {
    let world = World::new();
    let limits = Limits { memory: 100 << 20, pids: 60, ..Limits::default() };
    let hungry = "python3 -c \"x = bytearray(1)\nwhile True: x += b'y' * (1 << 20)\"";
    let outcome = run(&bounded(&world, Tier::A, limits, hungry));
    assert_eq!(outcome.ended, Ended::Memory, "{}", output(&outcome));
    let bomb = "f() { f | f & }; f; for i in $(seq 200); do sleep 5 & done; wait";
    let limits = Limits { wall: Duration::from_secs(3), ..limits };
    let start = Instant::now();
    let outcome = run(&bounded(&world, Tier::A, limits, bomb));
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", outcome.ended);
    let limits = Limits { temporary: 1 << 20, ..Limits::default() };
    let outcome = run(&bounded(&world, Tier::A, limits, "head -c 5000000 /dev/zero > /tmp/full"));
    assert!(output(&outcome).contains("No space left"), "{}", output(&outcome));
}

#[test]
fn fifty_at_once_do_not_see_each_other() {
    let world = World::new();
    let runs: Vec<_> = (0..50)
        .map(|number| {
            let script = format!("echo {number} > /tmp/mine; sleep 0.2; cat /tmp/mine; ls /tmp | wc -l; ls /proc | grep -c '^[0-9]'");
            sandbox::start(&bounded(&world, Tier::A, Limits::default(), &script)).unwrap()
        })
        .collect();
    for (number, running) in runs.into_iter().enumerate() {
        let seen = good(&running.wait().unwrap());
        let mut lines = seen.lines();
        assert_eq!(lines.next(), Some(number.to_string().as_str()));
        // Where the tests' own folder is below it, that is there as well.
        let own = 2 + usize::from(world.path("work").starts_with("/tmp"));
        assert_eq!(lines.next(), Some(own.to_string().as_str()), "its file and its home");
        let processes: usize = lines.next().unwrap().parse().unwrap();
        assert!(processes < 8, "{processes}");
    }
}

#[test]
fn what_cannot_be_guaranteed_does_not_start() {
    let world = World::new();
    let marker = world.path("work/started");
    let script = format!("echo x > {}", marker.display());
    let mut spec = bounded(&world, Tier::B, Limits::default(), &script);
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
    assert!(marker.exists(), "what it may run it runs");
}

#[test]
fn bad_input_is_a_clear_error() {
    let world = World::new();
    let told = |change: &dyn Fn(&mut Spec)| {
        let mut spec = world.spec("/bin/true", &[]);
        change(&mut spec);
        sandbox::start(&spec).unwrap_err().to_string()
    };
    let work = |path: &str| Some(Workspace { path: path.into(), writes: Writes::Layer });
    assert!(
        told(&|spec| spec.program = "/nowhere".into())
            .contains("/nowhere cannot be started: No such file")
    );
    assert!(told(&|spec| spec.workspace = work("/")).contains("it is everything"));
    assert!(told(&|spec| spec.workspace = work("/proc")).contains("it is the system's own"));
    assert!(told(&|spec| spec.read = vec!["/etc".into()]).contains("it is the system's own"));
    assert!(
        told(&|spec| spec.read = vec!["relative".into()]).contains("not a plain absolute path")
    );
    assert!(told(&|spec| spec.args = vec!["a\0b".into()]).contains("null byte"));
    assert!(told(&|spec| spec.cwd = "/nowhere".into()).contains("No such file"));
    let plain = world.path("skill/plain");
    fs::write(&plain, "echo x").unwrap();
    assert!(told(&|spec| spec.program.clone_from(&plain)).contains("Permission denied"));
}

#[test]
fn an_odd_name_and_many_children_do_not_outlive_a_run() {
    let world = World::new();
    for tier in BOTH {
        let limits = Limits { wall: Duration::from_millis(800), ..Limits::default() };
        let script = "python3 -c \"import ctypes, os, time\nctypes.CDLL(None).prctl(15, b'\\xff\\xfe\\xfd')\nos.setsid() if os.fork() == 0 else None\ntime.sleep(20)\"";
        let start = Instant::now();
        let outcome = run(&bounded(&world, tier, limits, script));
        assert_eq!(outcome.ended, Ended::Timeout, "{tier:?}: {}", output(&outcome));
        assert!(start.elapsed() < Duration::from_secs(3), "{tier:?}: {:?}", start.elapsed());
    }
}
