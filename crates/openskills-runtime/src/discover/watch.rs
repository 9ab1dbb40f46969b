//! Notices when skills change, and discovers them again.

#![expect(clippy::disallowed_methods, reason = "the edge: the clock")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use notify::event::ModifyKind;
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use skill_fs::AbsPath;

use crate::{Change, Event, OpenSkillRuntime, RuntimeError};

/// Changes that follow each other this closely are one change.
const QUIET: Duration = Duration::from_millis(200);
/// Changes that never end are looked at after this time all the same.
const AT_MOST: Duration = Duration::from_secs(2);
/// More folders than this are not watched one by one.
const MAX_FOLDERS: usize = 4_096;

/// What a watcher tells.
#[derive(Debug, Clone, Copy)]
pub enum Watching<'a> {
    /// What is new, changed or gone. The first time it may be nothing.
    News(&'a [Event]),
    /// Skills could not be looked at; the next change is waited for.
    Failed(&'a RuntimeError),
    /// A moment without change, at least twice a second, so that a host can stop.
    Quiet,
}

/// Who is told of changes.
pub(crate) type OnChange<'a> = dyn FnMut(&OpenSkillRuntime, Watching<'_>) -> ControlFlow<()> + 'a;

/// A folder to watch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Watched {
    pub(crate) folder: AbsPath,
    pub(crate) with_everything_below: bool,
}

impl Watched {
    /// Returns a folder to watch alone.
    pub(crate) fn plain(folder: AbsPath) -> Self {
        Self { folder, with_everything_below: false }
    }

    /// Returns a folder to watch with everything below it.
    pub(crate) fn below(folder: AbsPath) -> Self {
        Self { folder, with_everything_below: true }
    }
}

/// What happened.
#[derive(Debug, Default)]
struct Changes {
    paths: Vec<PathBuf>,
    /// Those that went, or got another name: what stands there now is not watched yet.
    gone: Vec<PathBuf>,
}

impl Changes {
    fn add(&mut self, event: notify::Result<notify::Event>) {
        let Ok(event) = event else { return };
        let is_gone =
            matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        if is_gone {
            self.gone.extend(event.paths.iter().cloned());
        }
        self.paths.extend(event.paths);
    }
}

/// Discovers the skills, and again whenever they change, until `on_change` breaks off.
pub(crate) fn watch(
    runtime: &mut OpenSkillRuntime,
    on_change: &mut OnChange<'_>,
) -> Result<(), RuntimeError> {
    let setup = |error: &notify::Error| RuntimeError::Setup {
        message: format!("cannot watch for changes: {error}"),
        hint: None,
    };
    let (send, receive) = channel();
    // What a link leads to is watched by its own path, if it was found at all.
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(send, config).map_err(|error| setup(&error))?;
    let mut watched = BTreeSet::new();
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut found = Ok(runtime.rediscover()?);
    loop {
        // What changed before a folder was watched is seen by looking once more.
        if renew(&mut watcher, &mut watched, runtime.watched()?)
            && let Ok(events) = &mut found
        {
            events.extend(runtime.rediscover()?);
        }
        let told = match &found {
            Ok(events) => on_change(runtime, Watching::News(events)),
            Err(error) => on_change(runtime, Watching::Failed(error)),
        };
        if told.is_break() {
            return Ok(());
        }
        let changes = match wait(&receive, || on_change(runtime, Watching::Quiet)) {
            ControlFlow::Continue(changes) => changes,
            ControlFlow::Break(()) => return Ok(()),
        };
        watched.retain(|watched: &Watched| {
            let is_there =
                !changes.gone.iter().any(|gone| watched.folder.as_path().starts_with(gone));
            if !is_there {
                let _ = watcher.unwatch(watched.folder.as_path());
            }
            is_there
        });
        paths.extend(changes.paths);
        found = runtime.rediscover();
        if let Ok(events) = &mut found {
            add_touched(runtime, &std::mem::take(&mut paths), events);
        }
    }
}

/// What changed beside a SKILL.md makes another version of the skill as well.
fn add_touched(runtime: &mut OpenSkillRuntime, paths: &[PathBuf], events: &mut Vec<Event>) {
    let told: BTreeSet<String> =
        events.iter().filter_map(Event::skill_id).map(str::to_owned).collect();
    for skill in runtime.skills_at(paths) {
        if !told.contains(&skill.id) {
            let event = Event::discovered(&skill, Change::Changed, Timestamp::now());
            runtime.record_discoveries(std::slice::from_ref(&event));
            events.push(event);
        }
    }
}

/// Waits until something changed and all has been quiet for a while; returns what changed.
fn wait(
    receive: &Receiver<notify::Result<notify::Event>>,
    mut idle: impl FnMut() -> ControlFlow<()>,
) -> ControlFlow<(), Changes> {
    let mut changes = Changes::default();
    loop {
        match receive.recv_timeout(AT_MOST / 4) {
            Ok(event) if is_change(&event) => {
                changes.add(event);
                break;
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => idle()?,
            Err(RecvTimeoutError::Disconnected) => return ControlFlow::Break(()),
        }
    }
    let started = Instant::now();
    while started.elapsed() < AT_MOST {
        match receive.recv_timeout(QUIET) {
            Ok(event) if is_change(&event) => {
                changes.add(event);
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    for paths in [&mut changes.paths, &mut changes.gone] {
        paths.sort_unstable();
        paths.dedup();
    }
    ControlFlow::Continue(changes)
}

/// Reading a file is no change; what cannot be told counts as one.
fn is_change(event: &notify::Result<notify::Event>) -> bool {
    !matches!(event, Ok(event) if event.kind.is_access())
}

/// Makes the watches fit. A folder that cannot be watched, because it is gone or there are too many, is left out:
/// what changes there is seen with the next change elsewhere. The folders of skills come first. Returns true if a folder
/// is watched that was not.
fn renew(
    watcher: &mut RecommendedWatcher,
    watched: &mut BTreeSet<Watched>,
    wanted: Vec<Watched>,
) -> bool {
    let wanted: BTreeSet<Watched> = wanted.into_iter().take(MAX_FOLDERS).collect();
    for old in watched.iter().filter(|old| !wanted.contains(old)) {
        let _ = watcher.unwatch(old.folder.as_path());
    }
    let mut kept = BTreeSet::new();
    let mut has_new = false;
    for folder in wanted {
        let mode = if folder.with_everything_below {
            RecursiveMode::Recursive
        } else {
            RecursiveMode::NonRecursive
        };
        let is_new = !watched.contains(&folder);
        if !is_new || watcher.watch(folder.folder.as_path(), mode).is_ok() {
            has_new |= is_new;
            kept.insert(folder);
        }
    }
    *watched = kept;
    has_new
}
