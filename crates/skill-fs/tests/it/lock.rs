use std::fs;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use skill_fs::{AbsPath, Lock, LockError};
use testkit::TestEnv;

use crate::abs;

const SHORT: Duration = Duration::from_millis(60);
const LONG: Duration = Duration::from_secs(30);

fn lock_path(env: &TestEnv) -> AbsPath {
    abs(env.path(".lock"))
}

/// Returns the ID of a process that has ended.
fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

fn write_foreign(env: &TestEnv, pid: u32, age: Duration) {
    env.write(".lock", format!("{{\"pid\": {pid}, \"created_at\": 1767225600.25}}").as_bytes());
    let file = fs::File::options().write(true).open(env.path(".lock")).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn a_held_lock_is_reported_and_released_on_drop() {
    let env = TestEnv::new();
    let path = lock_path(&env);
    let lock = Lock::acquire(&path, SHORT).unwrap();
    let body = fs::read_to_string(path.as_path()).unwrap();
    assert!(
        body.contains("\"kind\":\"flock\"")
            && body.contains(&format!("\"pid\":{}", std::process::id())),
        "{body}"
    );
    let start = Instant::now();
    let error = Lock::acquire(&path, SHORT).unwrap_err();
    assert!(start.elapsed() >= SHORT);
    assert!(
        matches!(error, LockError::Held { pid: Some(pid), created_at: Some(_), .. } if pid == std::process::id())
    );
    drop(lock);
    assert!(!path.as_path().exists());
    Lock::acquire(&path, SHORT).unwrap();
}

#[test]
fn the_error_message_is_stable_for_scripts() {
    let held = LockError::Held { path: "/h/.lock".into(), pid: Some(7), created_at: Some(9) };
    assert_eq!(
        held.to_string(),
        "another csk process holds lock at /h/.lock; pid=7 created_at=9; remove it only after verifying the process is stale"
    );
    let unknown = LockError::Held { path: "/h/.lock".into(), pid: None, created_at: None };
    assert!(unknown.to_string().contains("pid=unknown created_at=unknown"));
}

#[test]
fn a_lock_file_left_by_our_dead_process_is_reused() {
    let env = TestEnv::new();
    env.write(".lock", b"");
    assert!(
        Lock::acquire(&lock_path(&env), SHORT).is_err(),
        "another implementation may be about to write"
    );
    Lock::acquire(&lock_path(&env), LONG).unwrap();
    let body = format!("{{\"created_at\":1,\"kind\":\"flock\",\"pid\":{}}}", std::process::id());
    env.write(".lock", body.as_bytes());
    Lock::acquire(&lock_path(&env), SHORT).unwrap();
}

#[test]
fn the_lock_of_another_implementation_is_respected() {
    let env = TestEnv::new();
    let hour = Duration::from_secs(3600);
    for (pid, age, held) in [
        (std::process::id(), hour, true),   // Its process is alive.
        (dead_pid(), Duration::ZERO, true), // It is recent.
        (dead_pid(), hour, false),          // Neither.
    ] {
        write_foreign(&env, pid, age);
        let result = Lock::acquire(&lock_path(&env), SHORT);
        assert_eq!(result.is_err(), held, "pid {pid}, {age:?}: {result:?}");
        if let Err(error) = result {
            assert!(
                error.to_string().contains(&format!("pid={pid} created_at=1767225600;")),
                "{error}"
            );
        }
    }
}

#[test]
fn a_malformed_field_does_not_hide_the_others() {
    let env = TestEnv::new();
    write_foreign(&env, std::process::id(), Duration::from_secs(3600));
    let body = format!("{{\"pid\": {}, \"created_at\": \"yesterday\"}}", std::process::id());
    let file = fs::File::options().write(true).truncate(true).open(env.path(".lock")).unwrap();
    std::io::Write::write_all(&mut &file, body.as_bytes()).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let error = Lock::acquire(&lock_path(&env), SHORT).unwrap_err();
    assert!(matches!(error, LockError::Held { pid: Some(_), created_at: None, .. }), "{error}");
}

#[test]
fn releasing_never_removes_the_lock_of_another_process() {
    let env = TestEnv::new();
    let path = lock_path(&env);
    let first = Lock::acquire(&path, SHORT).unwrap();
    fs::remove_file(path.as_path()).unwrap();
    let second = Lock::acquire(&path, SHORT).unwrap();
    drop(first);
    assert!(path.as_path().exists());
    assert!(Lock::acquire(&path, SHORT).is_err());
    drop(second);
}

#[test]
fn a_recent_file_with_other_text_counts_as_held() {
    let env = TestEnv::new();
    env.write(".lock", b"something else");
    let error = Lock::acquire(&lock_path(&env), SHORT).unwrap_err();
    assert!(matches!(error, LockError::Held { pid: None, .. }), "{error}");
}

#[test]
fn a_lock_that_cannot_be_created_fails_immediately() {
    let env = TestEnv::new();
    let start = Instant::now();
    let error = Lock::acquire(&abs(env.path("none/.lock")), LONG).unwrap_err();
    assert!(matches!(error, LockError::File(_)), "{error}");
    assert!(start.elapsed() < LONG);
}

#[test]
fn only_one_thread_holds_the_lock_at_a_time() {
    let env = TestEnv::new();
    let path = lock_path(&env);
    let counter = env.path("counter");
    fs::write(&counter, "0").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let _lock = Lock::acquire(&path, LONG).unwrap();
                    let number: u32 = fs::read_to_string(&counter).unwrap().parse().unwrap();
                    fs::write(&counter, (number + 1).to_string()).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&counter).unwrap(), "40");
}
