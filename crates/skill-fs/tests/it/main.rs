//! Tests of the file system layer, on real files.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod atomic;
mod digest;
mod find;
mod lock;
mod repository;
mod root;
mod walk;

use std::path::Path;

use skill::RelPath;
use skill_fs::{AbsPath, Root};
use testkit::TestEnv;

fn abs(path: impl AsRef<Path>) -> AbsPath {
    AbsPath::new(path.as_ref()).unwrap()
}

fn rel(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

fn open(env: &TestEnv, path: &str) -> Root {
    Root::open(&abs(env.path(path))).unwrap()
}
