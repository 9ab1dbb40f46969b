//! Watches for changes and rediscovers skills.

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

/// Changes within this time are reported together.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The maximum delay before continuous changes are reported.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// The maximum number of watched folders.
const MAX_FOLDERS: usize = 4_096;

/// What a watcher reports.
#[derive(Debug, Clone, Copy)]
pub enum WatchUpdate<'a> {
    /// Skills were added, changed or removed. The first report may be empty.
    Changed(&'a [Event]),
    /// Discovery failed; the watcher waits for the next change.
    Failed(&'a RuntimeError),
    /// Nothing changed. Sent at least twice a second, so that a host can stop watching.
    Idle,
}

/// The callback that receives updates.
pub(crate) type OnChange<'a> =
    dyn FnMut(&OpenSkillRuntime, WatchUpdate<'_>) -> ControlFlow<()> + 'a;

/// A folder to watch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Watched {
    pub(crate) folder: AbsPath,
    pub(crate) is_recursive: bool,
}

impl Watched {
    /// Returns a folder to watch without its subfolders.
    pub(crate) fn plain(folder: AbsPath) -> Self {
        Self { folder, is_recursive: false }
    }

    /// Returns a folder to watch recursively.
    pub(crate) fn below(folder: AbsPath) -> Self {
        Self { folder, is_recursive: true }
    }
}

/// The changed paths.
#[derive(Debug, Default)]
struct Changes {
    paths: Vec<PathBuf>,
    /// Removed or renamed paths. Their replacements are not watched yet.
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

/// Discovers skills and repeats that whenever they change, until `on_change` returns `Break`.
pub(crate) fn watch(
    runtime: &mut OpenSkillRuntime,
    on_change: &mut OnChange<'_>,
) -> Result<(), RuntimeError> {
    let setup = |error: &notify::Error| RuntimeError::Setup {
        message: format!("cannot watch for changes: {error}"),
        hint: None,
    };
    let (send, receive) = channel();
    // The targets of symlinks are watched by their real path, if they contain skills.
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(send, config).map_err(|error| setup(&error))?;
    let mut watched = BTreeSet::new();
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut found = Ok(runtime.rediscover()?);
    loop {
        // Discover again to catch changes that happened before the folder was watched.
        if renew(&mut watcher, &mut watched, runtime.watched()?)
            && let Ok(events) = &mut found
        {
            events.extend(runtime.rediscover()?);
        }
        let reported = match &found {
            Ok(events) => on_change(runtime, WatchUpdate::Changed(events)),
            Err(error) => on_change(runtime, WatchUpdate::Failed(error)),
        };
        if reported.is_break() {
            return Ok(());
        }
        let changes = match wait(&receive, || on_change(runtime, WatchUpdate::Idle)) {
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

/// Adds events for skills of which a file other than SKILL.md changed.
fn add_touched(runtime: &mut OpenSkillRuntime, paths: &[PathBuf], events: &mut Vec<Event>) {
    let reported: BTreeSet<String> =
        events.iter().filter_map(Event::skill_id).map(str::to_owned).collect();
    for skill in runtime.skills_at(paths) {
        if !reported.contains(&skill.id) {
            let event = Event::discovered(&skill, Change::Changed, Timestamp::now());
            runtime.record_discoveries(std::slice::from_ref(&event));
            events.push(event);
        }
    }
}

/// PendingStep until something changed and all has been quiet for a while; returns what changed.
fn wait(
    receive: &Receiver<notify::Result<notify::Event>>,
    mut idle: impl FnMut() -> ControlFlow<()>,
) -> ControlFlow<(), Changes> {
    let mut changes = Changes::default();
    loop {
        match receive.recv_timeout(MAX_DELAY / 4) {
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
    while started.elapsed() < MAX_DELAY {
        match receive.recv_timeout(DEBOUNCE) {
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

/// Returns true if an event is a change. Reads are not; errors are treated as changes.
fn is_change(event: &notify::Result<notify::Event>) -> bool {
    !matches!(event, Ok(event) if event.kind.is_access())
}

/// Updates the watched folders; returns true if any were added. Folders that cannot be watched, because they are gone
/// or there are too many, are skipped; changes there are noticed with the next change elsewhere. Skill folders come
/// first.
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
        let mode = if folder.is_recursive {
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
