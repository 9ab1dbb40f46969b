//! The control groups of a run are removed, however it ends; other groups are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sandbox::{Ended, Limits, Running, Spec, Tier};

use crate::world::{World, output};

/// Returns the folders in which runs create their groups: one per line of `/proc/self/cgroup`.
fn bases() -> Vec<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let base = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let mount = Path::new("/sys/fs/cgroup");
        match names {
            "" => Some(mount.join(path)),
            names => {
                let name = names.split(',').find(|name| ["memory", "pids"].contains(name))?;
                Some(mount.join(name).join(path))
            }
        }
    };
    own.lines().filter_map(base).collect()
}

/// Returns the existing groups of a run whose script printed its `/proc/self/cgroup`.
fn groups_of(printed: &str) -> Vec<PathBuf> {
    let named = printed.lines().filter_map(|line| line.rsplit_once("/openskills-"));
    let names: Vec<String> = named.map(|(_, name)| format!("openskills-{name}")).collect();
    let exists = |folder: &PathBuf| folder.exists();
    let join = |base: PathBuf| names.iter().map(|name| base.join(name)).collect::<Vec<_>>();
    bases().into_iter().flat_map(join).filter(exists).collect()
}

fn spec(world: &World, then: &str, limits: Limits) -> Spec {
    // Another process's folder in /proc is not granted, so the shell itself reads the file.
    let script = format!("while read -r line; do echo \"$line\"; done < /proc/self/cgroup; {then}");
    let mut spec = world.spec("/bin/bash", &["-c", &script]);
    (spec.strongest, spec.limits, spec.workspace) = (Tier::B, limits, None);
    spec.cwd = "/".into();
    spec
}

/// Returns true if runs can have groups on this machine; otherwise reports that the test is skipped.
fn has_groups(world: &World) -> bool {
    let outcome = sandbox::start(&spec(world, "", Limits::default())).unwrap().wait().unwrap();
    let has = output(&outcome).contains("/openskills-");
    if !has {
        testkit::skip("control groups of runs", "control groups cannot be created");
    }
    has
}

/// Waits until a run of this test has a group; returns the process id of its stage, and its groups.
fn wait_for_groups(before: &[PathBuf]) -> (i32, Vec<PathBuf>) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let new: Vec<PathBuf> = all().into_iter().filter(|group| !before.contains(group)).collect();
        let stage = new.iter().find_map(|group| {
            let name = group.file_name()?.to_str()?.strip_prefix("openskills-")?;
            let stage: i32 = name.split('-').next()?.parse().ok()?;
            let parent = fs::read_to_string(format!("/proc/{stage}/status")).ok()?;
            let parent = parent.lines().find_map(|line| line.strip_prefix("PPid:\t"))?.to_owned();
            // The script of this test is recognized by its arguments.
            let procs = fs::read_to_string(group.join("cgroup.procs")).ok()?;
            let is_ours = procs.lines().any(|pid| {
                fs::read_to_string(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| line.contains("7393.5"))
            });
            (parent == std::process::id().to_string() && is_ours).then_some(stage)
        });
        if let Some(stage) = stage {
            let own = format!("openskills-{stage}-");
            let is_own = |group: &PathBuf| {
                group.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own))
            };
            return (stage, new.into_iter().filter(is_own).collect());
        }
        assert!(Instant::now() < end, "no group was created");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all() -> Vec<PathBuf> {
    let entries = bases().into_iter().filter_map(|base| fs::read_dir(base).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_run = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("openskills-"))
    };
    paths.filter(is_run).collect()
}

#[test]
fn groups_are_removed_however_a_run_ends() {
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let short = Limits { wall: Duration::from_millis(300), ..Limits::default() };
    let outcome = |running: Running| running.wait().unwrap();
    for (then, limits, ended) in [
        ("true", Limits::default(), Ended::Exited(0)),
        ("exit 3", Limits::default(), Ended::Exited(3)),
        ("kill -9 $$", Limits::default(), Ended::Signalled(9)),
        ("sleep 60", short, Ended::Timeout),
        ("(setsid sleep 60 &) ; sleep 60 & :", Limits::default(), Ended::Exited(0)),
    ] {
        let outcome = outcome(sandbox::start(&spec(&world, then, limits)).unwrap());
        let printed = output(&outcome);
        assert_eq!(outcome.ended, ended, "{printed}");
        assert!(printed.contains("/openskills-"), "{printed}");
        assert_eq!(groups_of(&printed), Vec::<PathBuf>::new(), "{then}");
    }
    // Cancelled and dropped.
    let before = all();
    let running = sandbox::start(&spec(&world, "sleep 7393.5", Limits::default())).unwrap();
    let (_, groups) = wait_for_groups(&before);
    assert!(!groups.is_empty());
    running.cancel();
    assert_eq!(running.wait().unwrap().ended, Ended::Cancelled);
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    let running = sandbox::start(&spec(&world, "sleep 7393.5", Limits::default())).unwrap();
    let (_, groups) = wait_for_groups(&before);
    drop(running);
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    // The stage itself is killed, so it cannot report anything.
    let running = sandbox::start(&spec(&world, "sleep 7393.5", Limits::default())).unwrap();
    let (stage, groups) = wait_for_groups(&before);
    std::process::Command::new("kill").args(["-9", &stage.to_string()]).status().unwrap();
    running.wait().unwrap();
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
}

#[test]
fn a_later_run_removes_groups_of_killed_runs_and_keeps_others() {
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let long_ago = (now - Duration::from_secs(3600)).as_nanos();
    let (now, own) = (now.as_nanos(), std::process::id());
    // Groups can be created in some of the folders only.
    let is_writable = |base: &PathBuf| {
        let probe = base.join(format!("probe-{own}-{now}"));
        fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).is_ok()
    };
    // The maximum process id is 4194304.
    let dead = [format!("openskills-4194305-{now}"), format!("openskills-{own}-{long_ago}")];
    let kept = [format!("openskills-{own}-{now}"), format!("other-4194305-{now}")];
    let controllers = |base: &PathBuf| {
        let text = base.to_string_lossy();
        text.contains("/memory")
            || text.contains("/pids")
            || base.join("cgroup.controllers").exists()
    };
    let bases: Vec<PathBuf> = bases().into_iter().filter(controllers).filter(is_writable).collect();
    let used: Vec<&PathBuf> = bases.iter().filter(|base| !base.ends_with("unified")).collect();
    for (base, name) in
        used.iter().flat_map(|base| dead.iter().chain(&kept).map(move |name| (base, name)))
    {
        fs::create_dir(base.join(name)).unwrap();
    }
    // Other runs do not remove the groups of a run that is still running.
    let before = all();
    let active_run = sandbox::start(&spec(&world, "sleep 7393.5", Limits::default())).unwrap();
    let (_, groups) = wait_for_groups(&before);
    sandbox::start(&spec(&world, "", Limits::default())).unwrap().wait().unwrap();
    let left = |names: &[String]| {
        let paths = used.iter().flat_map(|base| names.iter().map(|name| base.join(name)));
        paths.filter(|path| path.exists()).count()
    };
    let (dead_left, kept_left) = (left(&dead), left(&kept));
    for path in used.iter().flat_map(|base| kept.iter().map(|name| base.join(name))) {
        let _ = fs::remove_dir(path);
    }
    assert_eq!(dead_left, 0);
    assert_eq!(kept_left, kept.len() * used.len());
    assert!(groups.iter().all(|group| group.exists()), "{groups:?}");
    drop(active_run);
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
}

/// A stage that was started in advance is used for one run, together with the groups that it created. A run in tier B
/// does not use it, because it has created namespaces.
#[test]
fn a_prepared_stage_is_used_for_one_run() {
    let world = World::new();
    for tier in [Tier::B, Tier::A, Tier::A] {
        sandbox::prepare(sandbox::Streams::Captured);
        let mut spec = world.spec("/bin/sh", &["-c", "echo $$"]);
        spec.strongest = tier;
        let outcome = sandbox::start(&spec).unwrap().wait().unwrap();
        assert_eq!(outcome.ended, Ended::Exited(0), "{}", output(&outcome));
        assert_eq!(outcome.tier, Some(tier));
        if tier == Tier::A {
            assert!(output(&outcome).starts_with("2\n"), "{}", output(&outcome));
        }
    }
    let limits = Limits { memory: 64 << 20, ..Limits::default() };
    sandbox::prepare(sandbox::Streams::Captured);
    let mut spec = world.spec("/usr/bin/python3", &["-c", "x = b'y' * (200 << 20)"]);
    (spec.strongest, spec.limits) = (Tier::A, limits);
    let outcome = sandbox::start(&spec).unwrap().wait().unwrap();
    assert_ne!(outcome.ended, Ended::Exited(0), "the limits of the specification apply");
}
